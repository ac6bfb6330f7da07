#!/usr/bin/python
# Copyright (c) 2026, Postroom contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: email_tenant
short_description: Apply a tenant definition
version_added: 0.1.0
description:
  - Converges all domains, mailboxes, aliases and forwarders of a tenant in one task, from one or
    more definition files, or from options of the same form.
  - Everything is validated before the first write. All errors in the definition are reported
    together, each with file, line and remedy, before the first request; then all conflicts with
    the current state of the tenant. Nothing is changed until there are no errors.
  - One request lists the tenant, regardless of its size. Two more, by type, check that the list is complete
    before anything is created or deleted. Changes are made concurrently, in the order of their dependencies.
    Deletions come last, with domains at the end.
  - Objects that are not in the definition are not changed, except for those that O(purge) deletes.
author:
  - Postroom contributors (@postroom)
extends_documentation_fragment:
  - postroom.email.api
  - postroom.email.api.attributes
requirements:
  - PyYAML >= 6 (for definition files in YAML; ansible-core includes it)
options:
  definition_files:
    description:
      - Definition files in YAML or JSON. They are read on the host that runs the module, and merged
        with each other and with O(domains), O(mailboxes) and O(forwarders). They are not templated.
      - An object may be in several files, such as one that an administrator edits and one that a
        program writes. Its aliases and members are then combined. If the files contradict each
        other, for example in C(expires), the module fails and changes nothing.
      - The reference of the format is C(docs/definition.md) of the collection. Editors can validate
        files with C(schemas/definition.schema.json).
    type: list
    elements: path
    aliases: [definition_file]
  domains:
    description:
      - Domains, each a name or a dictionary with C(name), C(state) and C(force).
      - With C(state=absent) the domain is deleted if it is empty, or with C(force=true) together
        with its contents. The plan is refused if the contents include something that matches
        O(ignore).
    type: list
    elements: raw
  mailboxes:
    description:
      - Mailboxes, each an address or a dictionary with C(name), C(state) and C(aliases).
      - With C(state=absent) the mailbox is deleted together with B(the mail that is stored in it).
      - An alias is an address or a dictionary with C(address), C(state) and C(expires). Aliases
        that are not declared are kept, unless O(purge) includes V(alias).
      - An alias that another object declares is moved to that object, if its current owner is
        declared with a list of C(aliases) or is declared absent. Otherwise the plan is refused.
    type: list
    elements: raw
  forwarders:
    description:
      - Forwarders, each a dictionary with C(name), C(members), C(aliases), C(state) and
        C(expires). Members that are not declared are removed.
      - After its C(expires) date, a forwarder or an alias is treated as C(state=absent).
    type: list
    elements: raw
  passwords:
    description:
      - Passwords by mailbox. Each is a string, or a list of several passwords that are all valid.
      - A mailbox can't be created without a password. Passwords are not part of the definition, so
        that the definition can be shared.
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
      - Kinds of objects to delete if they are not in the definition. By default nothing is deleted.
      - V(alias) applies to the aliases of mailboxes and forwarders whose C(aliases) are declared.
      - A domain that is not empty is never purged, even if its contents would be purged as well. The
        plan is refused until the domain is declared (with C(state=absent) to delete it) or matches
        O(ignore).
      - A member of a declared forwarder is never purged. The plan is refused until it is declared,
        removed from the forwarder, or matches O(ignore).
    type: list
    elements: str
    choices: [alias, mailbox, forwarder, domain]
    default: []
  scope:
    description:
      - Patterns such as V(*@example.com). Only objects that match a pattern are purged. A pattern
        that names a domain and matches nothing causes a warning.
    type: list
    elements: str
    default: ["*"]
  ignore:
    description:
      - Patterns such as V(postmaster@*). Objects that match a pattern are not purged, and neither are
        mailboxes and forwarders with such an alias. They are not deleted with a domain by C(force)
        either.
      - RV(undeclared) omits objects whose own name matches.
    type: list
    elements: str
    default: []
  max_deletions:
    description:
      - Maximum number of objects that O(purge) and C(force) together may delete. An alias counts as
        one object. Objects that are declared absent or have expired do not count.
      - A plan that exceeds the limit is refused. Check mode shows it, with a warning.
    type: int
    default: 0
  max_delete_percent:
    description:
      - Also refuse a plan in which O(purge) and C(force) delete more than this percentage of the
        mailboxes, forwarders, domains or aliases of the tenant. It applies to each kind separately.
    type: float
  expected_plan:
    description:
      - The RV(plan_digest) of the plan that was reviewed. If the current plan differs, the task fails
        and changes nothing. A plan without changes is always accepted.
      - The digest does not depend on the passwords of new mailboxes, so the review does not need them.
    type: str
  concurrency:
    description:
      - Number of concurrent changes, 1 to 64. A higher value helps if the network latency is high. If
        the service throttles requests, all changes slow down.
    type: int
    default: 8
  report_unchanged:
    description:
      - Whether RV(results) includes unchanged objects. If V(false), they are only counted.
    type: bool
    default: false
notes:
  - O(timeout) limits reading the tenant, and then each change. It does not limit the whole run. The
    task keyword C(timeout) ends the run as soon as the current requests have been answered.
  - With O(update_password=probe), O(timeout) also limits each login. Mail servers delay the answer to
    a wrong password, so don't set it below V(30).
  - If a change fails, only the changes that depend on it are skipped. Run the task again to apply
    the rest.
  - To stop a run, press Ctrl-C or send SIGTERM to C(ansible-playbook). If it is killed or loses its
    terminal, a run in the worker process of Ansible stops at the next change, and a module process
    runs to its end.
  - Progress is shown if the task runs in the worker process of Ansible, as tasks on the controller
    do.
  - In check mode, exceeded limits and missing passwords are warnings, so that the plan can be
    reviewed.
seealso:
  - module: postroom.email.email_info
    description: Exports a tenant as a definition with
      O(postroom.email.email_info#module:as=definition).
"""

EXAMPLES = r"""
- name: Apply a definition
  postroom.email.email_tenant:
    definition_files: [mail/tenant.yml]
    passwords: "{{ vault_passwords }}"

- name: Apply a definition without a file
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

- name: Show what would change, and list undeclared objects
  postroom.email.email_tenant:
    definition_files: [mail/tenant.yml]
  check_mode: true
  register: plan

- name: Apply only that plan
  postroom.email.email_tenant:
    definition_files: [mail/tenant.yml]
    passwords: "{{ vault_passwords }}"
    expected_plan: "{{ plan.plan_digest }}"

- name: Delete at most ten undeclared aliases
  postroom.email.email_tenant:
    definition_files: [mail/tenant.yml]
    passwords: "{{ vault_passwords }}"
    purge: [alias]
    ignore: ["postmaster@*", "abuse@*"]
    max_deletions: 10
"""

RETURN = r"""
plan_digest:
  description: Digest that identifies the plan, for O(expected_plan).
  returned: when a plan was made
  type: str
  sample: v2:sha256:6ad0a4e2b1f3ab1d21b0cd45a9ad3a9ad7b5d6c8b4de9f0d5d6c9a7a1c3b2e1f
summary:
  description: Number of objects by outcome. In check mode, the expected outcome.
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
      description: Declared objects that needed no change.
      type: int
      returned: always
      sample: 120
    failed:
      description: Objects whose change failed.
      type: int
      returned: always
      sample: 0
    not_attempted:
      description: Objects whose change was skipped because a change that it depends on failed.
      type: int
      returned: always
      sample: 0
results:
  description: Outcome of each object; includes unchanged objects with O(report_unchanged=true).
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
      description: Desired state of the object. One of V(present) and V(absent).
      type: str
      returned: always
      sample: present
    outcome:
      description: One of V(changed), V(unchanged), V(failed) and V(not_attempted).
      type: str
      returned: always
      sample: changed
    reason:
      description: Reason of the outcome.
      type: str
      returned: always
      sample: it lacks the alias sales@example.com
undeclared:
  description:
    - Objects of the tenant that are not in the definition and do not match O(ignore), including
      those that were purged. Kinds of objects that this collection does not manage are omitted.
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
  description: Errors in the definition, or reasons why the plan is refused.
  returned: when nothing was changed because of a problem
  type: list
  elements: dict
  contains:
    code:
      description: What is wrong, as a code. V(invalid_definition) for errors in the definition itself.
      type: str
      returned: always
      sample: address_in_use_undeclared
    file:
      description: The definition file; null for the options of the task.
      type: str
      returned: always
      sample: mail/tenant.yml
    line:
      description: The line number, from 1; null if it is unknown.
      type: int
      returned: always
      sample: 12
    where:
      description: Path of the entry in the definition.
      type: str
      returned: always
      sample: mailboxes[3].aliases[0]
    text:
      description: The problem and its remedy.
      type: str
      returned: always
      sample: "The address sales@example.com is declared twice."
changes:
  description:
    - The changes in order. In check mode, the changes that would be made.
    - After a failure, the changes that were made before it and were kept.
  returned: success or failure
  type: list
  elements: dict
  contains:
    action:
      description: The action. One of V(create), V(update) and V(delete).
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
  description: Details of the request that failed, or the reason why no request was sent.
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
      description: HTTP status of the response; null if no response was received.
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
      description: Error message of the service, without secrets.
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
