# Copyright (c) 2026, Postroom contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the documentation of every module shares."""

from __future__ import annotations


class ModuleDocFragment:
    """Options and attributes of modules that speak to the service."""

    DOCUMENTATION = r"""
options:
  api_url:
    description:
      - Address of the email service, with its scheme, such as V(https://mail.example.com).
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
      - Leave this on outside of tests. To trust an authority of your own, set O(ca_path).
    type: bool
    default: true
  ca_path:
    description:
      - File with the certificates of the authorities to trust, in PEM form.
      - By default those of the system are trusted.
    type: path
  timeout:
    description:
      - Seconds that the whole task may take on the service, with all of its requests and retries.
      - A single write may take half of what is left, so that there is time to ask what became of
        it; a read may take all of it.
    type: float
    default: 30.0
  retries:
    description:
      - How often a request may be repeated after a failure that passes, such as a refused
        connection, throttling, or a gateway without backend.
      - Between attempts the task waits, for as long as the service asks where it does.
    type: int
    default: 4
notes:
  - On the machine of Ansible the module runs inside Ansible's worker, without a process of its own,
    where that makes no difference but in speed. The variable C(postroom_in_process=false) or the
    environment variable E(POSTROOM_IN_PROCESS=0) of Ansible switches that off.
requirements:
  - dnspython >= 2.6.1 (for M(postroom.email.email_dns_records) to ask and change name servers)
  - httpx >= 0.27
  - idna >= 3.7 (for names that are not ASCII)
"""

    ATTRIBUTES = r"""
attributes:
  check_mode:
    support: full
    description: Can run in C(check_mode) and return the changed status without changing anything.
    details:
      - In check mode something that an earlier task of the play may be about to make, such as
        the domain of a new mailbox, is reported as a warning where a real run fails.
      - What an earlier task would have freed still counts as there, such as an alias that it would
        have removed, a mailbox that it would have deleted or a domain that it would have emptied.
        A task that needs it gone fails in check mode, though it succeeds in a real run.
  diff_mode:
    support: full
    description: Returns what has changed, or would change, when in diff mode.
  action_group:
    support: full
    description: Use C(group/postroom.email.api) in C(module_defaults) to set the options of
      the connection once.
    membership:
      - postroom.email.api
"""

    # For modules that only read.
    READ_ONLY = r"""
attributes:
  check_mode:
    support: full
    description: Can run in C(check_mode) and return the changed status without changing anything.
    details:
      - This module changes nothing in either mode.
  diff_mode:
    support: N/A
    description: Returns what has changed, or would change, when in diff mode.
  action_group:
    support: full
    description: Use C(group/postroom.email.api) in C(module_defaults) to set the options of
      the connection once.
    membership:
      - postroom.email.api
"""
