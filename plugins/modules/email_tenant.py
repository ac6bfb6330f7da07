#!/usr/bin/python
# Copyright (c) 2026, Postroom contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: email_tenant
short_description: Make a whole tenant what its definition says
version_added: 0.1.0
description:
  - Converges all domains, mailboxes, aliases and forwarders of a tenant in one task, from one or
    several definition files, or from options of the same form.
  - Everything is validated before the first write. All that is wrong with the definition is told
    at once, each with file, line and remedy, before anything is asked of the service; then all
    that does not fit the tenant. As long as anything is wrong, nothing is changed.
  - One request lists the tenant, however large it is. Changes are made several at a time, in the
    order in which they depend on each other; deletions come last, and domains at the very end.
  - What the definition does not name is left alone, unless O(purge) allows more.
author:
  - Postroom contributors (@postroom)
extends_documentation_fragment:
  - postroom.email.api
  - postroom.email.api.attributes
requirements:
  - PyYAML >= 6 (for definition files in YAML; ansible-core brings it along)
options:
  definition_files:
    description:
      - Files that define the tenant, in YAML or JSON. They are read where the module runs, and
        merged with each other and with O(domains), O(mailboxes) and O(forwarders). They are no
        templates.
      - An object may be in several of them, such as the administrator's file and one that a program
        wrote; its aliases and members are then joined. Where the files contradict each other, such
        as in C(expires), nothing is changed.
      - The reference of the format is C(docs/definition.md) of the collection; editors understand
        C(schemas/definition.schema.json).
    type: list
    elements: path
    aliases: [definition_file]
  domains:
    description:
      - Domains, each a name or a dictionary with C(name), C(state) and C(force).
      - With C(state=absent) the domain is deleted if nothing is left on it, and with C(force=true)
        along with all that it holds. The plan is refused if that is something that O(ignore) names.
    type: list
    elements: raw
  mailboxes:
    description:
      - Mailboxes, each an address or a dictionary with C(name), C(state) and C(aliases).
      - With C(state=absent) the mailbox is deleted, and B(the mail that is stored in it) with it.
      - An alias is an address or a dictionary with C(address), C(state) and C(expires). Aliases
        that are not declared stay, unless O(purge) names V(alias).
      - An alias that is declared elsewhere moves there, if its owner so far is declared with a list
        of C(aliases) or is to be deleted. Otherwise the plan is refused.
    type: list
    elements: raw
  forwarders:
    description:
      - Forwarders, each a dictionary with C(name), C(members), C(aliases), C(state) and
        C(expires). Members that are not declared are removed.
      - Past its date, C(expires), a forwarder or an alias counts as C(state=absent).
    type: list
    elements: raw
  passwords:
    description:
      - Passwords by mailbox. Each is a string, or a list of several that are all valid.
      - A mailbox can't be created without one. It has none in the definition, so that the definition
        can be shown.
    type: dict
  update_password:
    description:
      - When to set O(passwords). With V(on_create) they are set when a mailbox is created and not
        changed afterwards.
      - With V(always) those of all declared mailboxes are replaced in each run, which then reports
        a change each time.
      - With V(probe), which was added in version 0.2.0, the module logs in by IMAP to each declared
        mailbox that exists and has O(passwords), with the first of them, once, also in check mode.
        If the login works, the passwords of the mailbox are left alone. If the server refuses the
        password, all of them are set. If a login fails for another reason, the module fails and
        changes nothing.
      - At most three logins are made at a time. After three wrong passwords in a row, which make
        mail servers delay all logins, the module stops probing and sets the passwords of the
        remaining mailboxes.
      - Only the first password of a mailbox is probed. To replace another one, use V(always).
    type: str
    choices: [on_create, always, probe]
    default: on_create
  imap_host:
    description:
      - IMAP server for O(update_password=probe). O(validate_certs) and O(ca_path) apply to it as
        well.
      - By default it is, for each mailbox, the host in the MX record that the service returns for
        its domain.
    type: str
    version_added: 0.2.0
  imap_port:
    description: Port of the IMAP server, with TLS from the start.
    type: int
    default: 993
    version_added: 0.2.0
  purge:
    description:
      - Kinds of objects to delete where the definition does not name them. By default none is.
      - V(alias) is about aliases of mailboxes and forwarders whose C(aliases) are declared.
      - A domain that holds anything is never purged, not even if that would be purged as well. The
        plan is refused until the domain is declared, with C(state=absent) to delete it, or is in
        O(ignore).
      - Neither is a member of a declared forwarder. The plan is refused until it is declared, no
        member any more, or in O(ignore).
    type: list
    elements: str
    choices: [alias, mailbox, forwarder, domain]
    default: []
  scope:
    description:
      - Patterns such as V(*@example.com). Only what matches one of them is purged. One that names
        a domain and matches nothing is told by a warning.
    type: list
    elements: str
    default: ["*"]
  ignore:
    description:
      - Patterns such as V(postmaster@*). What matches one of them is not purged, and neither is a
        mailbox or forwarder with such an alias. Nor does it go with a domain by C(force).
      - RV(undeclared) leaves out what matches by its own name.
    type: list
    elements: str
    default: []
  max_deletions:
    description:
      - How many objects may be deleted without being named, by O(purge) and by C(force) together.
        An alias counts as one. What is declared absent, or has expired, is named and does not count.
      - If the plan has more, it is refused as a whole. Check mode shows it, with a warning.
    type: int
    default: 0
  max_delete_percent:
    description:
      - Also refuse a plan that deletes more than this share of the mailboxes, forwarders, domains or
        aliases that the tenant holds, in percent of each kind, without their being named.
    type: float
  expected_plan:
    description:
      - The RV(plan_digest) of the plan that was reviewed. If the plan is another one by now, nothing
        is changed and the task fails. A plan without changes is always accepted.
      - Passwords of mailboxes that are created don't count, so that the review needs none.
    type: str
  concurrency:
    description:
      - How many changes are made at a time, 1 to 64. It pays where the way to the service is long;
        a service that asks for fewer requests slows all of them down.
    type: int
    default: 8
  report_unchanged:
    description:
      - Whether RV(results) has a row for each object that is as it should be, too. Otherwise these
        are only counted.
    type: bool
    default: false
notes:
  - O(timeout) is the time for reading the tenant, and then for each single change. The whole run
    takes as long as it takes; the task keyword C(timeout) ends it, as soon as the requests that are
    under way have been answered.
  - With O(update_password=probe), each login has O(timeout), too. Mail servers delay the answer to
    a wrong password, so don't set it below V(30).
  - A change that fails stops those that need it and no others. Run again to finish the rest.
  - To stop a run, press Ctrl-C or end C(ansible-playbook) with SIGTERM. If it is killed or loses its
    terminal, a run inside of Ansible's own process stops with the next change; a module process
    goes on to its end.
  - Progress is shown where the task runs inside of Ansible's own process, as tasks on the local
    machine do.
  - In check mode limits that would be passed and passwords that are missing are warnings, so that
    the plan can be looked at.
seealso:
  - module: postroom.email.email_info
    description: With O(postroom.email.email_info#module:as=definition) it exports a tenant as a
      definition.
"""

EXAMPLES = r"""
- name: Converge a tenant from its definition
  postroom.email.email_tenant:
    definition_files: [mail/tenant.yml]
    passwords: "{{ vault_passwords }}"

- name: The same without a file
  postroom.email.email_tenant:
    domains: [example.com]
    mailboxes:
      - name: alice@example.com
        aliases:
          - sales@example.com
          - address: spring-fair@example.com
            expires: "2027-05-31"
    forwarders:
      - name: team@example.com
        members: [alice@example.com, partner@example.net]
    passwords: "{{ vault_passwords }}"

- name: What would change, and what is there that the definition does not name?
  postroom.email.email_tenant:
    definition_files: [mail/tenant.yml]
  check_mode: true
  register: plan

- name: Carry out that plan and no other
  postroom.email.email_tenant:
    definition_files: [mail/tenant.yml]
    passwords: "{{ vault_passwords }}"
    expected_plan: "{{ plan.plan_digest }}"

- name: Delete aliases that nobody declared, ten at most
  postroom.email.email_tenant:
    definition_files: [mail/tenant.yml]
    passwords: "{{ vault_passwords }}"
    purge: [alias]
    ignore: ["postmaster@*", "abuse@*"]
    max_deletions: 10
"""

RETURN = r"""
plan_digest:
  description: What tells this plan from every other, for O(expected_plan).
  returned: when a plan was made
  type: str
  sample: v2:sha256:6ad0a4e2b1f3ab1d21b0cd45a9ad3a9ad7b5d6c8b4de9f0d5d6c9a7a1c3b2e1f
summary:
  description: How many objects came to what, or would.
  returned: when a plan was made
  type: dict
  contains:
    created:
      description: Objects that were created.
      type: int
      returned: always
      sample: 2
    updated:
      description: Objects that were changed.
      type: int
      returned: always
      sample: 1
    deleted:
      description: Objects that were deleted.
      type: int
      returned: always
      sample: 0
    unchanged:
      description: Declared objects that were as they should be.
      type: int
      returned: always
      sample: 120
    failed:
      description: Objects whose change failed.
      type: int
      returned: always
      sample: 0
    not_attempted:
      description: Objects whose change was not attempted, because one that it needs had failed.
      type: int
      returned: always
      sample: 0
results:
  description: What became of each object, or would; of unchanged ones with O(report_unchanged).
  returned: when a plan was made
  type: list
  elements: dict
  contains:
    kind:
      description: Kind of the object. One of V(domain), V(mailbox) and V(forwarder).
      type: str
      returned: always
      sample: mailbox
    name:
      description: Name of the object.
      type: str
      returned: always
      sample: alice@example.com
    state:
      description: What the object is to be. One of V(present) and V(absent).
      type: str
      returned: always
      sample: present
    outcome:
      description: One of V(changed), V(unchanged), V(failed) and V(not_attempted).
      type: str
      returned: always
      sample: changed
    reason:
      description: Why.
      type: str
      returned: always
      sample: it lacks the alias sales@example.com
undeclared:
  description:
    - What the tenant held and neither the definition names nor O(ignore) matches, whether it was
      purged or not. Objects of kinds that this collection does not manage are not in it.
  returned: when a plan was made
  type: dict
  contains:
    domains:
      description: Names of domains.
      type: list
      elements: str
      returned: always
      sample: []
    mailboxes:
      description: Names of mailboxes.
      type: list
      elements: str
      returned: always
      sample: [bob@example.com]
    forwarders:
      description: Names of forwarders.
      type: list
      elements: str
      returned: always
      sample: []
    aliases:
      description: Aliases of declared objects whose aliases are declared.
      type: list
      elements: dict
      returned: always
      contains:
        address:
          description: The alias.
          type: str
          returned: always
          sample: info@example.com
        owner:
          description: The mailbox or forwarder that has it.
          type: str
          returned: always
          sample: alice@example.com
problems:
  description: What is wrong with the definition, or stands against the plan.
  returned: when nothing was changed because of it
  type: list
  elements: dict
  contains:
    file:
      description: The definition file; null for the options of the task.
      type: str
      returned: always
      sample: mail/tenant.yml
    line:
      description: The line in it, from 1; null where it is not known.
      type: int
      returned: always
      sample: 12
    where:
      description: The way to it.
      type: str
      returned: always
      sample: mailboxes[3].aliases[0]
    text:
      description: What is wrong and what to do.
      type: str
      returned: always
      sample: "The address sales@example.com is declared twice."
changes:
  description:
    - What was changed, or would be in check mode, in order.
    - After a failure, what had been changed before it and stands.
  returned: success or failure
  type: list
  elements: dict
  contains:
    action:
      description: What was done. One of V(create), V(update) and V(delete).
      type: str
      returned: always
      sample: update
    kind:
      description: Kind of the object. One of V(domain), V(mailbox) and V(forwarder).
      type: str
      returned: always
      sample: mailbox
    name:
      description: Name of the object.
      type: str
      returned: always
      sample: alice@example.com
    reason:
      description: Why it is needed.
      type: str
      returned: always
      sample: missing alias sales@example.com
    code:
      description:
        - The reason as a code, the first one if there are several.
        - One of V(missing), V(declared_absent), V(expired), V(undeclared), V(domain_deleted),
          V(add_alias), V(remove_alias), V(add_member), V(remove_member), V(replace_passwords).
      type: str
      returned: always
      sample: add_alias
failure:
  description: How a request to the service failed, or why none was sent.
  returned: failure
  type: dict
  contains:
    code:
      description:
        - Stable identifier of the failure, such as V(unauthorized), V(unreachable) or V(refused).
        - Test this in conditions, because messages may change.
      type: str
      returned: always
      sample: unauthorized
    kind:
      description: Class of the failure, such as V(Unauthorized), V(Unreachable) or V(Refused).
      type: str
      returned: always
      sample: Unauthorized
    status:
      description: HTTP status of the answer; null where none came.
      type: int
      returned: when a request failed
      sample: 401
    method:
      description: HTTP method of the request.
      type: str
      returned: when a request failed
      sample: GET
    path:
      description: Path of the request.
      type: str
      returned: when a request failed
      sample: /api/principal
    detail:
      description: What the service said of it, without secrets.
      type: str
      returned: when a request failed
      sample: The token is not known.
"""

from typing import Any

from ansible_collections.postroom.email.plugins.module_utils._api.client.client import Client
from ansible_collections.postroom.email.plugins.module_utils._api.tenant.apply import Report
from ansible_collections.postroom.email.plugins.module_utils._api.tenant.changes import as_diff
from ansible_collections.postroom.email.plugins.module_utils._api.tenant.converge import (
    converge_tenant,
    raise_if_incomplete,
)
from ansible_collections.postroom.email.plugins.module_utils._api.tenant.purge import KINDS
from ansible_collections.postroom.email.plugins.module_utils._module import (
    Outcome,
    Params,
    run_module,
)
from ansible_collections.postroom.email.plugins.module_utils._passwords import (
    PASSWORD_OPTIONS,
    login_probe,
)
from ansible_collections.postroom.email.plugins.module_utils._wanted import (
    PARTS,
    wanted_tenant,
)

ARGUMENT_SPEC: dict[str, Any] = {
    "definition_files": {"type": "list", "elements": "path", "aliases": ["definition_file"]},
    **{part: {"type": "list", "elements": "raw"} for part in PARTS},
    "passwords": {"type": "dict", "no_log": True},
    **PASSWORD_OPTIONS,
    "purge": {"type": "list", "elements": "str", "choices": list(KINDS), "default": []},
    "scope": {"type": "list", "elements": "str", "default": ["*"]},
    "ignore": {"type": "list", "elements": "str", "default": []},
    "max_deletions": {"type": "int", "default": 0},
    "max_delete_percent": {"type": "float"},
    "expected_plan": {"type": "str"},
    "concurrency": {"type": "int", "default": 8},
    "report_unchanged": {"type": "bool", "default": False},
}


def ensure_tenant(
    client: Client, params: Params, *, check_mode: bool, report: Report | None = None
) -> Outcome:
    """Make the tenant what the definition says.

    :param report: is told, as the work goes on, how many changes are through and of how many
    """
    found = converge_tenant(
        client,
        wanted_tenant(params),
        dry_run=check_mode,
        report=report,
        probe=login_probe(params, lambda: client.with_timeout(client.timeout)),
    )
    raise_if_incomplete(found, unchanged=params["report_unchanged"])
    values = found.values(unchanged=params["report_unchanged"])
    return Outcome(bool(found.done), values, as_diff(found.done), found.warnings)


def main() -> None:
    """Run the module."""
    run_module(ensure_tenant, ARGUMENT_SPEC)


if __name__ == "__main__":
    main()
