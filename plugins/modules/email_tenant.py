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
  - Makes all domains, mailboxes, aliases and forwarders of a tenant match a definition in one task.
    The definition comes from files, or from options in the same format. Undeclared objects are not
    changed unless O(purge) deletes them.
  - Everything is validated before the first write. All errors in the definition are reported
    together, with file, line and remedy, before the first request. Conflicts with the tenant's
    current state are reported together after that request.
  - One request lists the tenant's objects. Before anything is created or deleted, two more
    requests, one for domains and one for mailboxes and forwarders, check that the list is complete.
    Changes are made concurrently, in the order of their dependencies, with deletions last.
author: [Postroom contributors (@postroom)]
extends_documentation_fragment:
  - postroom.email.api
  - postroom.email.api.attributes
requirements:
  - pydantic >= 2.7
  - PyYAML >= 6 (for definition files in YAML; ansible-core includes it)
options:
  definition_files:
    description:
      - Definition files in YAML or JSON on the host that runs the module. They are not templated.
        The collection documents the format in C(docs/reference/definition.md). Editors can validate
        files with C(schemas/definition.schema.json).
      - Files are merged with each other and with O(domains), O(mailboxes) and O(forwarders). If an
        object is declared in several files, its aliases and members are combined. If files
        contradict each other, for example in C(expires), the module fails and changes nothing.
    type: list
    elements: path
    aliases: [definition_file]
  domains:
    description:
      - Domains, in the format of O(definition_files). Each is a name or a dictionary.
      - With C(state=absent), the domain is deleted if it is empty. If C(force=true) is also set,
        the domain is deleted together with its contents, unless O(ignore) matches some of them.
    type: list
    elements: raw
  mailboxes:
    description:
      - Mailboxes, in the format of O(definition_files). Each is an address or a dictionary.
      - With C(state=absent), the mailbox is deleted together with B(the mail that is stored in it).
      - Aliases that are not declared are kept, unless O(purge) includes V(alias).
      - If another object declares an alias, the alias is moved to that object, provided that the
        current owner is declared absent or has a declared list of C(aliases). Otherwise, the plan
        is refused.
    type: list
    elements: raw
  forwarders:
    description:
      - Forwarders, in the format of O(definition_files). Each is a dictionary. Members that are
        not declared are removed.
      - After its C(expires) date, a forwarder or an alias is treated as C(state=absent).
    type: list
    elements: raw
  passwords:
    description:
      - Passwords, keyed by mailbox. Each value is a string, or a list of passwords that are all
        valid.
      - Passwords are required to create mailboxes. They are not part of the definition, so that you
        can share the definition.
    type: dict
  update_password:
    description:
      - When to set O(passwords). V(on_create) sets the passwords only when a mailbox is created.
      - V(always) replaces the passwords of all declared mailboxes in each run, and reports a change
        each time.
      - V(probe), which was added in version 0.2.0, logs in once over IMAP to each declared mailbox
        that exists, with the first of its O(passwords), even in check mode. If the server refuses
        the password, all passwords of the mailbox are set. If a login fails for another reason, the
        module fails and changes nothing. To replace a password other than the first, use V(always).
      - At most three logins are made at a time. Several wrong passwords make mail servers delay all
        logins. After three wrong passwords in a row, the passwords of the remaining mailboxes are
        therefore set without a login.
    type: str
    choices: [on_create, always, probe]
    default: on_create
  imap_host:
    description:
      - IMAP server for O(update_password=probe). O(validate_certs) and O(ca_path) also apply to it.
      - The default is the host in the MX record that the service returns for the mailbox's domain.
    type: str
    version_added: 0.2.0
  imap_port:
    description: Port of the IMAP server, which must use implicit TLS.
    type: int
    default: 993
    version_added: 0.2.0
  purge:
    description:
      - Kinds of objects to delete if they are not in the definition. By default, nothing is
        deleted.
      - V(alias) applies to the aliases of mailboxes and forwarders whose C(aliases) are declared.
      - A domain that is not empty is never purged. The plan is refused until the domain matches
        O(ignore) or is declared. To delete it, declare it with C(state=absent).
      - A member of a declared forwarder is not purged either. The plan is refused until the member
        matches O(ignore), is declared, or is removed from the forwarder.
    type: list
    elements: str
    choices: [alias, mailbox, forwarder, domain]
    default: []
  scope:
    description: Patterns such as V(*@example.com). Only objects that match a pattern are purged. A
      pattern that names a domain and matches nothing causes a warning.
    type: list
    elements: str
    default: ["*"]
  ignore:
    description: Patterns such as V(postmaster@*). Matching objects are never purged, and C(force)
      does not delete them together with their domain. Mailboxes and forwarders that have a
      matching alias are also kept. RV(undeclared) omits objects whose own name matches.
    type: list
    elements: str
    default: []
  max_deletions:
    description:
      - Maximum number of objects that O(purge) and C(force) together may delete. Each alias counts
        as one object. Objects that are declared absent or have expired do not count.
      - A plan that exceeds the limit is refused. In check mode, it is shown with a warning.
    type: int
    default: 0
  max_delete_percent:
    description: Maximum percentage of the tenant's mailboxes, forwarders, domains or aliases that
      O(purge) and C(force) together may delete. Each kind is counted separately. A plan that
      exceeds the limit is refused.
    type: float
  expected_plan:
    description: The RV(plan_digest) of the plan that was reviewed. If the current plan is different
      and is not empty, the task fails and changes nothing. The digest does not depend on the
      passwords of new mailboxes, so they are not needed for the review.
    type: str
  concurrency:
    description: Number of concurrent changes, 1 to 64. A higher value helps if the network latency is
      high. If the service throttles requests, the module slows down all changes.
    type: int
    default: 8
  report_unchanged:
    description: Whether RV(results) includes unchanged objects. If V(false), they are only counted.
    type: bool
    default: false
notes:
  - O(timeout) applies to reading the tenant and then to each change, but not to the whole run. The
    task keyword C(timeout) ends the run as soon as the current requests have been answered.
  - With O(update_password=probe), O(timeout) also limits each login. Mail servers delay the answer
    to a wrong password, so don't set O(timeout) below V(30).
  - If a change fails, the module skips only the changes that depend on it. It skips all remaining
    changes if the service has become unusable, for example because it refuses the token or does not
    respond. Run the task again to apply the rest.
  - To stop a run, press Ctrl-C or send SIGTERM to C(ansible-playbook). If C(ansible-playbook) is
    killed or loses its terminal, a run in Ansible's worker process stops at the next change, but a
    separate module process runs to completion.
  - Progress is shown if the task runs in Ansible's worker process, as it does on the controller.
  - In check mode, exceeded limits and missing passwords are warnings, so that the plan can be
    reviewed.
seealso:
  - module: postroom.email.email_info
    description: Exports a tenant as a definition with
      O(postroom.email.email_info#module:as=definition).
"""

EXAMPLES = r"""
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
  description: Digest that identifies the plan, for use in O(expected_plan).
  returned: when a plan was made
  type: str
summary:
  description: Number of objects by outcome; in check mode, by expected outcome.
  returned: when a plan was made
  type: dict
  contains:
    created: {description: Created objects., returned: always, type: int}
    updated: {description: Changed objects., returned: always, type: int}
    deleted: {description: Deleted objects., returned: always, type: int}
    unchanged: {description: Declared objects that needed no change., returned: always, type: int}
    failed: {description: Objects whose change failed., returned: always, type: int}
    not_attempted: {description: Objects whose change was not attempted., returned: always, type: int}
results:
  description: Outcome of each object; includes unchanged objects with O(report_unchanged=true).
  returned: when a plan was made
  type: list
  elements: dict
  contains:
    kind: {description: "V(domain), V(mailbox) or V(forwarder).", returned: always, type: str}
    name: {description: Name of the object., returned: always, type: str}
    state: {description: "Desired state, V(present) or V(absent).", returned: always, type: str}
    outcome: {description: "V(changed), V(unchanged), V(failed) or V(not_attempted).", returned: always, type: str}
    reason: {description: Reason for the outcome., returned: always, type: str}
undeclared:
  description: Objects that are not in the definition and do not match O(ignore), including those
    that were purged. Kinds that this collection does not manage are omitted.
  returned: when a plan was made
  type: dict
  contains:
    domains: {description: Names of domains., returned: always, type: list, elements: str}
    mailboxes: {description: Names of mailboxes., returned: always, type: list, elements: str}
    forwarders: {description: Names of forwarders., returned: always, type: list, elements: str}
    aliases:
      description: Undeclared aliases of objects whose aliases are declared.
      returned: always
      type: list
      elements: dict
      contains:
        address: {description: The alias., returned: always, type: str}
        owner: {description: The mailbox or forwarder that has the alias., returned: always, type: str}
problems:
  description: Errors in the definition, or reasons why the plan is refused.
  returned: when nothing was changed because of a problem
  type: list
  elements: dict
  contains:
    code: {description: "Kind of the problem, such as V(unknown_key).", returned: always, type: str}
    file: {description: The definition file; null for the options of the task., returned: always, type: str}
    line: {description: "Line number, from 1; null if it is unknown.", returned: always, type: int}
    where: {description: "Path in the definition, such as V(mailboxes[3].aliases[0]).", returned: always, type: str}
    text: {description: The problem and its remedy., returned: always, type: str}
changes:
  description: The changes in order. In check mode, these are the planned changes; after a failure, they
    are the changes made before the failure.
  returned: success or failure
  type: list
  elements: dict
  contains:
    action: {description: "V(create), V(update) or V(delete).", returned: always, type: str}
    kind: {description: "V(domain), V(mailbox) or V(forwarder).", returned: always, type: str}
    name: {description: Name of the object., returned: always, type: str}
    reason: {description: Reasons for the change., returned: always, type: str}
    code: {description: "Code of the first reason, such as V(add_alias).", returned: always, type: str}
    reasons:
      description: The reasons for the change.
      returned: always
      type: list
      elements: dict
      contains:
        code: {description: Code of the reason., returned: always, type: str}
        text: {description: The reason., returned: always, type: str}
failure:
  description: Details of the failure.
  returned: failure
  type: dict
  contains:
    code: {description: "Stable identifier to use in conditions, such as V(unauthorized).", returned: always, type: str}
    kind: {description: "Class of the error, such as V(Unauthorized).", returned: always, type: str}
    status: {description: HTTP status; null if there was no response., returned: when a request failed, type: int}
    method: {description: HTTP method., returned: when a request failed, type: str}
    path: {description: Path of the request., returned: when a request failed, type: str}
    detail: {description: "The service's message, without secrets.", returned: when a request failed, type: str}
"""

from datetime import datetime, timezone
from typing import Any

from ..module_utils._api.client.client import Client
from ..module_utils._api.errors import InvalidInput
from ..module_utils._api.models import SECTIONS
from ..module_utils._api.tenant.apply import Report
from ..module_utils._api.tenant.converge_tenant import (
    converge_tenant,
    raise_if_incomplete,
    without_garbage_collection,
)
from ..module_utils._api.tenant.declared import Passwords
from ..module_utils._api.tenant.plan import as_diff
from ..module_utils._api.tenant.problems import Source
from ..module_utils._api.tenant.purge import KINDS, Purge
from ..module_utils._api.tenant.read_definition import load_source, read_definition
from ..module_utils._module import Outcome, Params, run_module
from ..module_utils._passwords import (
    PASSWORD_OPTIONS,
    login_probe,
    read_passwords,
    replaces_passwords,
)

ARGUMENT_SPEC: dict[str, Any] = {
    "definition_files": {"type": "list", "elements": "path", "aliases": ["definition_file"]},
    **{section: {"type": "list", "elements": "raw"} for section in SECTIONS.values()},
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
    """Make the tenant match its definition.

    :param report: a function that is called with the number of finished changes and the total
    """
    purge = Purge(
        frozenset(params["purge"]),
        tuple(params["scope"]),
        tuple(params["ignore"]),
        params["max_deletions"],
        params["max_delete_percent"],
    )
    with without_garbage_collection():
        passwords = Passwords(read_passwords(params["passwords"] or {}), replaces_passwords(params))
        definition = read_definition(_sources(params), datetime.now(timezone.utc))
    found = converge_tenant(
        client,
        definition,
        purge,
        passwords,
        dry_run=check_mode,
        expected_plan=params["expected_plan"],
        concurrency=params["concurrency"],
        report=report,
        probe=login_probe(params, client.with_new_deadline),
    )
    raise_if_incomplete(found, unchanged=params["report_unchanged"])
    values = found.values(unchanged=params["report_unchanged"])
    return Outcome(bool(found.done), values, as_diff(found.done), found.warnings)


def _sources(params: Params) -> list[Source]:
    sections = SECTIONS.values()
    inline = {section: params[section] for section in sections if params[section] is not None}
    files = params["definition_files"] or ()
    if not inline and not files:
        raise InvalidInput(
            "definition_files: nothing is declared. Name at least one file, or set domains, "
            "mailboxes or forwarders."
        )
    try:
        return [*map(load_source, files), Source(None, inline)]
    except ImportError:
        raise InvalidInput(
            "definition_files: reading YAML requires the Python package PyYAML on the host that "
            "runs the module. Install it, or write the definition as JSON to a file named *.json."
        ) from None


def main() -> None:
    run_module(ensure_tenant, ARGUMENT_SPEC)


if __name__ == "__main__":
    main()
