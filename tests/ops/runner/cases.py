# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What each playbook is given as a job, and the tenant that all of them begin with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ansible_collections.postroom.email.tests.support import repository
from ansible_collections.postroom.email.tests.support.site import Site

PASSWORDS: Mapping[str, str | list[str]] = {
    "alice@example.com": "Zx9#kPq!secret-ALPHA-7731-wvut",
    "bob@example.com": [
        'qT"b\\s/ü&=?+%41#{}<é>secret-BRAVO-5519',
        "secret-CHARLIE-2207: with 'quotes', commas\tand a tab",
    ],
}
#: What somebody types into a survey.
TYPED = "{{ 7 * 7 }} typed-secret-DELTA-9136 %41"


@dataclass(frozen=True)
class Case:
    """A job.

    :param variables: answers of the survey, as it gives them, and the job template's variables
    :param changed: how many tasks change something when it runs for the first time
    :param passwords: what the credential's file holds
    :param asks_dns: whether it asks name servers
    :param missing: what of the tenant is not there yet
    :param writes: the file that it writes, in the project, where the job runs
    :param secrets: what it is given as a secret beside the credential
    """

    variables: Mapping[str, Any]
    changed: int
    passwords: Mapping[str, Any] = field(default_factory=dict)
    asks_dns: bool = False
    missing: tuple[str, ...] = ()
    writes: str = ""
    secrets: tuple[str, ...] = ()
    inventory: str = "json"


CASES = {
    "add_alias": Case(
        {"mail_alias": "hello@example.com", "mail_mailbox": "alice@example.com"}, changed=1
    ),
    "converge": Case(
        {"mail_definition_files": "tenant.yml"},
        changed=1,
        passwords=PASSWORDS,
        missing=("bob@example.com",),
    ),
    "drift": Case({"mail_definition_files": "tenant.yml"}, changed=0),
    "export": Case({"mail_definition_file": "exported.yml"}, changed=1, writes="exported.yml"),
    "forwarder": Case(
        {
            "mail_forwarder": "team@example.com",
            "mail_members": "alice@example.com\npartner@example.net\n",
        },
        changed=1,
    ),
    "offboard_mailbox": Case(
        {"mail_mailbox": "alice@example.com", "mail_colleague": "bob@example.com"}, changed=3
    ),
    "onboard_domain": Case(
        {"mail_domain": "new.example"}, changed=1, asks_dns=True, inventory="source"
    ),
    "onboard_mailbox": Case(
        {
            "mail_mailbox": "carol@example.com",
            "mail_aliases": "hello@example.com\nhi@example.com",
            "mail_forwarders": "team@example.com",
            "vault_mail_password": TYPED,
        },
        changed=2,
        secrets=(TYPED,),
    ),
    "remove_alias": Case(
        {"mail_alias": "sales@example.com", "mail_mailbox": "alice@example.com"}, changed=1
    ),
    "report": Case(
        {"mail_report_file": "report.html", "mail_definition_files": "tenant.yml"},
        changed=1,
        asks_dns=True,
        writes="report.html",
    ),
    "rotate_passwords": Case(
        {"mail_mailboxes": "alice@example.com\nbob@example.com"}, changed=1, passwords=PASSWORDS
    ),
}


def fill(site: Site, case: Case) -> None:
    """Make the tenant what the project's definition says, but for what is to be missing."""
    site.create("example.com", "bob@example.com")
    site.create("alice@example.com", emails=["alice@example.com", "sales@example.com"])
    site.create("team@example.com", members=["alice@example.com", "bob@example.com"])
    for name in case.missing:
        site.delete(name)


def arguments(playbook: str) -> dict[str, Any]:
    """Return what a playbook's argument file holds."""
    found: dict[str, Any] = repository.read_yaml(f"playbooks/arguments/{playbook}.yml")
    return found


def unanswered(playbook: str, nothing: str | None) -> dict[str, str | None]:
    """Return the questions of a playbook that nobody has to answer, as they arrive then."""
    options = arguments(playbook)["options"].items()
    return {
        name: nothing
        for name, option in options
        if "survey" in option and not option.get("required", False)
    }
