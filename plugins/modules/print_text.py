#!/usr/bin/python
# Copyright (c) 2026, Postroom contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: print_text
short_description: Print text so that it can be copied from the output
version_added: 1.0.0
description:
  - Prints a text as it is, on any number of lines. M(ansible.builtin.debug) prints most texts as JSON,
    with C(\n) for line breaks and C(\") for quotes, so that its output can't be pasted into a zone
    file.
  - The text is printed with every stdout callback, and also if unchanged tasks are not displayed.
  - Control characters other than line breaks and tabs are printed as escapes such as C(\x1b).
author: [Postroom contributors (@postroom)]
options:
  text:
    description: Text to print. An empty text prints nothing.
    type: str
    required: true
attributes:
  action:
    support: full
    description: Indicates this has a corresponding action plugin so some parts of the options can be
      executed on the controller.
  check_mode:
    support: full
    description: Can run in C(check_mode) and return changed status without changing anything.
    details: [This module never changes anything.]
  diff_mode:
    support: N/A
    description: Will return details on what has changed (or possibly needs changing in
      check_mode), when in diff mode.
notes:
  - With C(no_log), the text is not printed.
  - A stdout callback that prints JSON, such as P(ansible.posix.json#callback), does not know about the text, so the
    whole output is then no longer JSON. The result also contains the text.
seealso:
  - module: ansible.builtin.debug
"""

EXAMPLES = r"""
- name: Get the DNS records
  postroom.email.email_dns_records:
    domain: example.com
  register: dns

- name: Print them as lines of a zone file
  postroom.email.print_text:
    text: "{{ dns.zone }}"
"""

RETURN = r"""
text: {description: The text., returned: success, type: str}
"""

# The action plugin of the same name does the work. Without an annotation or import, ansible-test
# accepts that this file contains no module.
ARGUMENT_SPEC = {"text": {"type": "str", "required": True}}
