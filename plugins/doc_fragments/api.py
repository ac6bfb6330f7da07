# Copyright (c) 2026, Postroom contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  api_url:
    description:
      - URL of the email service, such as V(https://mail.example.com).
      - If not set, the environment variable E(POSTROOM_API_URL) is used.
    type: str
    required: true
  api_token:
    description:
      - Bearer token of the tenant.
      - If not set, the environment variable E(POSTROOM_API_TOKEN) is used.
    type: str
    required: true
  validate_certs:
    description:
      - Whether to verify the certificate of the service.
      - Disable verification only in tests. To trust a private certificate authority, set
        O(ca_path).
    type: bool
    default: true
  ca_path:
    description: PEM file with the certificates of the authorities to trust. By default, the
      system's certificate authorities are trusted.
    type: path
  timeout:
    description:
      - Time limit in seconds for the whole task, including all requests and retries.
      - A single write may use at most half of the remaining time, so that the module can still
        check the result if the write times out.
    type: float
    default: 30.0
  retries:
    description:
      - Maximum number of times to retry a request after a transient failure, such as a refused
        connection, throttling or a gateway error.
      - Before a retry, the module waits at least as long as a C(Retry-After) header in the response
        requests. If this exceeds O(timeout), the task fails immediately.
    type: int
    default: 4
attributes:
  action_group:
    support: full
    description: Use C(group/postroom.email.api) in C(module_defaults) to set the connection
      options for several tasks.
    membership: [postroom.email.api]
notes:
  - On the controller, the module runs inside Ansible's worker process, because a separate process
    is slower. It runs in a separate process only if the result could otherwise differ, or if you
    set the variable C(postroom_in_process=false) or the environment variable
    E(POSTROOM_IN_PROCESS=0).
requirements:
  - dnspython >= 2.6.1 (for M(postroom.email.email_dns_records) to query and update name servers)
  - httpx >= 0.27
  - idna >= 3.7 (for internationalized names)
"""

    ATTRIBUTES = r"""
attributes:
  check_mode:
    support: full
    description: Can run in C(check_mode) and return changed status without changing anything.
    details:
      - In check mode, a task does not see the changes that earlier tasks would have made. If an
        object is missing, but an earlier task might create it, the module warns instead of failing.
        If an earlier task would remove an object, this task still finds the object and may fail.
  diff_mode:
    support: full
    description: Will return details on what has changed (or possibly needs changing in
      check_mode), when in diff mode.
"""

    READ_ONLY = r"""
attributes:
  check_mode:
    support: full
    description: Can run in C(check_mode) and return changed status without changing anything.
    details: [This module never changes anything.]
  diff_mode:
    support: N/A
    description: Will return details on what has changed (or possibly needs changing in
      check_mode), when in diff mode.
"""
