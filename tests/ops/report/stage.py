# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""A tenant whose domains are at every stage, its name servers, and its report in a browser.

active.example     published, and a resolver gives all of it
published.example  published, and no resolver gives it
created.example    with the mail and the SPF record of an earlier provider, and without a key
torn.example       with two SPF records, and with another key
unknown.example    of which the name server knows nothing
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page

from ansible_collections.postroom.email.plugins.module_utils._api.records.notation import (
    quoted,
    txt_strings,
)
from ansible_collections.postroom.email.tests.support.bind import running
from ansible_collections.postroom.email.tests.support.desk import Desk
from ansible_collections.postroom.email.tests.support.playbooks import Run
from ansible_collections.postroom.email.tests.support.recorder import Recorder
from ansible_collections.postroom.email.tests.support.service import RunningService
from ansible_collections.postroom.email.tests.support.site import Api

DOMAINS = (
    "active.example",
    "published.example",
    "created.example",
    "torn.example",
    "unknown.example",
)
MAILBOXES = {
    "ann@active.example": ["hello@active.example", "sales@created.example"],
    "bob@active.example": [],
    # As the service takes them, and special to HTML, to templates or to YAML.
    "o'neil&co@created.example": ["&amp@torn.example", "{{7*7}}@created.example"],
}
FORWARDERS = {"team@active.example": ["ann@active.example", "desk@partner.example"]}
DEFINITION = {
    "domains": [*DOMAINS, "new.example"],
    "mailboxes": ["ann@active.example", "zoe@active.example"],
    "forwarders": [{"name": "team@active.example", "members": ["ann@active.example"]}],
}
#: What no page may make an element of.
MARKUP = "<i id=planted>"
PASSWORDS = {"zoe@active.example": "canary-Xq7/Zt2!pW9v-of-nobody"}
DATE = "2026-11-21 20:12 UTC"


@dataclass
class Stage:
    """The tenant, and where it is reported from.

    :param api: the service by hand
    :param recorder: what playbooks reach it through
    :param asked: variables that say whom to ask
    """

    api: Api
    recorder: Recorder
    desk: Desk
    asked: dict[str, list[str]]

    @property
    def folder(self) -> Path:
        """The folder that playbooks run in."""
        return self.desk.folder

    def report(self, file: str, *options: str, **variables: object) -> Run:
        """Write a report, at a date that is always the same."""
        given = {"mail_report_date": DATE, **self.asked, **variables}
        return self.desk.play("report", *options, mail_report_file=file, **given)


@dataclass
class Leaf:
    """A page in a browser.

    :param requests: the addresses that it fetched, its own first
    :param complaints: messages of the browser's console
    """

    page: Page
    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    @classmethod
    @contextmanager
    def opened(cls, browser: Browser, file: Path, **options: Any) -> Iterator[Leaf]:
        """Open a file until the block ends, with options of Playwright's contexts."""
        context = browser.new_context(**options)
        leaf = cls(context.new_page())
        leaf.page.on("request", lambda request: leaf.requests.append(request.url))
        leaf.page.on("console", lambda message: leaf.complaints.append(message.text))
        leaf.page.goto(file.as_uri())
        yield leaf
        context.close()

    def unfold(self) -> None:
        """Unfold every list."""
        self.page.evaluate("document.querySelectorAll('details').forEach(it => { it.open = true })")

    def texts(self, selector: str) -> list[str]:
        """Return the texts of all elements, folded ones too, with single spaces."""
        found = self.page.locator(selector).all_text_contents()
        return [" ".join(text.split()) for text in found]

    def ask(self, expression: str) -> Any:
        """Return the value of a JavaScript expression."""
        return self.page.evaluate(expression)


@contextmanager
def staged(service: RunningService, recorder: Recorder, folder: Path) -> Iterator[Stage]:
    """Set the tenant up, and its name servers, until the block ends."""
    with closing(Api(service.url, service.token)) as api:
        api.clear()
        for domain in DOMAINS:
            api.create(domain)
        for name, aliases in MAILBOXES.items():
            api.create(name, emails=[name, *aliases])
        for name, members in FORWARDERS.items():
            api.create(name, members=members)
        resolved = {"active.example": _whole(api, "active.example")}
        with running(folder, _zones(api)) as bind, running(folder, resolved) as resolver:
            asked = {"dns_nameservers": [str(bind)], "dns_resolvers": [str(resolver)]}
            desk = Desk(folder, recorder.url, service.token)
            desk.save("tenant.yml", DEFINITION)
            yield Stage(api, recorder, desk, asked)


def wanted(api: Api, domain: str) -> tuple[str, str]:
    """Return the texts that the service asks to publish for a domain: SPF and DKIM."""
    spf, dkim = api.call("GET", f"/api/dns/{domain}")["txt"]
    return str(spf["value"]), str(dkim["value"])


def plant(
    service: RunningService,
    domain: str,
    mailboxes: Mapping[str, Sequence[str]],
    members: Mapping[str, Sequence[str]],
    other_domain: str,
) -> None:
    """Insert mailboxes with aliases, forwarders with members, and a domain into the database.

    The service would refuse some of the names, and is slower for thousands.
    """
    kinds = {**dict.fromkeys(mailboxes, "mailbox"), **dict.fromkeys(members, "forwarder")}
    addresses = [(name, name, 0) for name in kinds]
    addresses += [(alias, name, 1) for name, aliases in mailboxes.items() for alias in aliases]
    rows = [
        (kind, name, f"planted-{number}", domain)
        for number, (name, kind) in enumerate(kinds.items())
    ]
    targets = [(target, name) for name, targets in members.items() for target in targets]
    with closing(sqlite3.connect(service.database)) as database, database:
        database.executemany(_PRINCIPAL, rows)
        database.executemany(_ADDRESS, [(a, place, name) for a, name, place in addresses])
        database.executemany(_MEMBER, targets)
        database.execute(_DOMAIN, (other_domain, "planted-domain", domain))


_PRINCIPAL = """
    INSERT INTO principal (tenant_id, domain_id, kind, name, uid, created_at)
    SELECT tenant_id, id, ?, ?, ?, 0 FROM principal WHERE name = ?
"""
_DOMAIN = """
    INSERT INTO principal (tenant_id, kind, name, uid, created_at)
    SELECT tenant_id, kind, ?, ?, 0 FROM principal WHERE name = ?
"""
_ADDRESS = """
    INSERT INTO address (address, position, principal_id, domain_id)
    SELECT ?, ?, id, domain_id FROM principal WHERE name = ?
"""
_MEMBER = """
    INSERT INTO member (address, position, principal_id)
    SELECT ?, 0, id FROM principal WHERE name = ?
"""


def _zones(api: Api) -> dict[str, str]:
    earlier = '@ MX 20 mx.earlier.example.\n@ TXT "v=spf1 mx -all"'
    torn = f'@ TXT "v=spf1 -all"\n@ TXT "v=spf1 {MARKUP} -all"\n@ MX 10 mail.postroom.test.'
    other = f"service._domainkey TXT \"v=DKIM1; n='{MARKUP}' {{{{ 7*7 }}}}; p=MIIBCgKCAQEA\""
    return {
        "active.example": _whole(api, "active.example"),
        "published.example": _whole(api, "published.example"),
        "created.example": earlier,
        "torn.example": f"{torn}\n{other}",
    }


def _whole(api: Api, domain: str) -> str:
    spf, dkim = wanted(api, domain)
    key = quoted(txt_strings(dkim))
    return f'@ MX 10 mail.postroom.test.\n@ TXT "{spf}"\nservice._domainkey TXT {key}'
