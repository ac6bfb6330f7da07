# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The report on a tenant whose domains are in different stages, shown in a browser.

active.example     published, and the resolver returns all records
published.example  published, but the resolver returns no records
created.example    has an earlier provider's MX and SPF records, and no key
torn.example       has two SPF records and a different key
unknown.example    is unknown to the name server
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from ansible_collections.postroom.email.plugins.module_utils._api.dns.notations import as_rdata
from ansible_collections.postroom.email.plugins.module_utils._api.dns.record_types import txt
from ansible_collections.postroom.email.tests.support import repository
from ansible_collections.postroom.email.tests.support.bind import running
from ansible_collections.postroom.email.tests.support.browser import browser
from ansible_collections.postroom.email.tests.support.collection_playbooks import (
    PlaybookRunner,
    output_text,
)
from ansible_collections.postroom.email.tests.support.fixtures import direct, service
from ansible_collections.postroom.email.tests.support.playbooks import Run
from ansible_collections.postroom.email.tests.support.recording_proxy import Recorder
from ansible_collections.postroom.email.tests.support.secrets import leaks
from ansible_collections.postroom.email.tests.support.service import RunningService
from ansible_collections.postroom.email.tests.support.tenant import Api
from ansible_collections.postroom.email.tests.support.tenant_fixtures import recorder

__all__ = ["browser", "direct", "recorder", "service"]

DOMAINS = [f"{name}.example" for name in ("active", "published", "created", "torn", "unknown")]
MAILBOXES = {
    "ann@active.example": ["hello@active.example", "sales@created.example"],
    "bob@active.example": [],
    # Names that the service accepts although they are special in HTML, templates or YAML.
    "o'neil&co@created.example": ["&amp@torn.example", "{{7*7}}@created.example"],
}
MEMBERS = ["ann@active.example", "desk@partner.example"]
DEFINITION = {
    "domains": [*DOMAINS, "new.example"],
    "mailboxes": ["ann@active.example", "zoe@active.example"],
    "forwarders": [{"name": "team@active.example", "members": ["ann@active.example"]}],
}
#: Markup that must never create an element on a page.
MARKUP = "<i id=planted>"
PASSWORDS = {"zoe@active.example": "canary-Xq7/Zt2!pW9v-of-nobody"}
DATE = "2026-11-21 20:12 UTC"
MERGED = "v=spf1 mx include:spf.postroom.test -all"


@dataclass
class ReportRun:
    """The tenant, its required records, and the run that wrote the report.

    :param queried: the variables with the name server and the resolver
    :param wanted: the SPF and the DKIM record of each domain
    """

    recorder: Recorder
    runner: PlaybookRunner
    queried: dict[str, list[str]]
    wanted: dict[str, tuple[str, str]]

    def report(self, file: str, *options: str, **variables: object) -> Run:
        """Write a report with a fixed date."""
        given = {"mail_report_date": DATE, **self.queried, **variables}
        return self.runner.play("report", *options, mail_report_file=file, **given)


@pytest.fixture(scope="module")
def report_run(
    service: RunningService, recorder: Recorder, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ReportRun]:
    """Set up the tenant, a name server and a resolver."""
    folder = tmp_path_factory.mktemp("project")
    wanted: dict[str, tuple[str, str]] = {}
    with closing(Api(service.url, service.token)) as api:
        for domain in DOMAINS:
            api.create(domain)
            wanted[domain] = tuple(
                row["value"] for row in api.call("GET", f"/api/dns/{domain}")["txt"]
            )
        for name, aliases in MAILBOXES.items():
            api.create(name, emails=[name, *aliases])
        api.create("team@active.example", members=MEMBERS)
    zones = {
        domain: f'@ MX 10 mail.postroom.test.\n@ TXT "{wanted[domain][0]}"\n'
        f"service._domainkey TXT {as_rdata(txt(wanted[domain][1]))}"
        for domain in ("active.example", "published.example")
    }
    resolved = {"active.example": zones["active.example"]}
    zones["created.example"] = '@ MX 20 mx.earlier.example.\n@ TXT "v=spf1 mx -all"'
    zones["torn.example"] = (
        f'@ TXT "v=spf1 -all"\n@ TXT "v=spf1 {MARKUP} -all"\n@ MX 10 mail.postroom.test.\n'
        f"service._domainkey TXT \"v=DKIM1; n='{MARKUP}' {{{{ 7*7 }}}}; p=MIIBCgKCAQEA\""
    )
    with running(folder, zones) as bind, running(folder, resolved) as resolver:
        queried = {"dns_nameservers": [str(bind)], "dns_resolvers": [str(resolver)]}
        runner = PlaybookRunner(folder, recorder.url, service.token)
        runner.save("tenant.yml", DEFINITION)
        yield ReportRun(recorder, runner, queried, wanted)


@pytest.fixture(scope="module")
def run(report_run: ReportRun, service: RunningService) -> Run:
    """Write the report with the tenant's definition and all secrets."""
    secrets = {"vault_mail_token": service.token, "vault_mail_passwords": PASSWORDS}
    files = {"mail_definition_files": "tenant.yml"}
    run = report_run.report("report.html", "-vvv", **files, **secrets)
    assert (run.status, run.recap.changed) == (0, 1), run.output
    return run


@pytest.fixture(scope="module")
def written(report_run: ReportRun, run: Run) -> Path:
    """Provide the path of the report."""
    return report_run.runner.folder / "report.html"


@pytest.fixture
def page(browser: Browser, written: Path) -> Iterator[Page]:
    """Open the report in a desktop browser."""
    with browser.new_page() as page:
        page.goto(written.as_uri())
        yield page


def texts(page: Page, selector: str) -> list[str]:
    """Return the texts of all elements, including collapsed ones, with whitespace normalized."""
    return [" ".join(text.split()) for text in page.locator(selector).all_text_contents()]


def records(page: Page, domain: str) -> list[str]:
    """Return the texts of a domain's records."""
    return texts(page, f"details:has(> summary h3:text-is('{domain}')) .record")


def test_a_second_run_changes_nothing(report_run: ReportRun, written: Path) -> None:
    """A second run changes neither the tenant nor the report.

    Only its owner can read the report.
    """
    before = written.read_bytes()
    with report_run.recorder.forbidding_writes():
        run = report_run.report("report.html", mail_definition_files=["tenant.yml"])
    assert (run.status, run.recap.changed) == (0, 0), run.output
    assert written.read_bytes() == before
    assert written.stat().st_mode & 0o777 == 0o600


def test_check_mode_writes_nothing(report_run: ReportRun) -> None:
    """Check mode predicts the change. Without a report file, the playbook fails."""
    run = report_run.report("unwritten.html", "--check", mail_verify_dns=False)
    assert (run.status, run.recap.changed) == (0, 1), run.output
    assert not (report_run.runner.folder / "unwritten.html").exists()
    refused = report_run.runner.play("report", mail_report_file="")
    assert refused.status == 2
    assert "mail_report_file" in output_text(refused)


def test_no_secret_leaks(written: Path, run: Run, service: RunningService) -> None:
    """The page and the output contain neither the token nor a password."""
    output = written.with_name("output.txt")
    output.write_text(run.output, "utf-8")
    assert leaks([service.token, *PASSWORDS.values()], [written, output]) == []


def test_figures_and_stages(page: Page, report_run: ReportRun) -> None:
    """The page shows totals, the service, the date, and each domain's stage and counts."""
    # The numbers of domains, records to fix, mailboxes, aliases, forwarders and differences.
    assert texts(page, ".figures dd") == ["5", "5", "3", "4", "1", "5"]
    assert texts(page, "header p") == [f"{report_run.recorder.url}, as of {DATE}"]
    assert texts(page, "section[aria-labelledby=domains] tbody tr") == [
        "active.example active 0 2 1",
        "created.example created 3 1 0",
        "published.example published 0 0 0",
        "torn.example created 2 0 0",
        "unknown.example unknown not known 0 0",
    ]


def test_a_record_to_fix_has_the_value_to_paste(page: Page, report_run: ReportRun) -> None:
    """A record to fix is shown with the value to publish, merged with the current SPF record."""
    spf, dkim = report_run.wanted["created.example"]
    mx_text, spf_text, dkim_text = records(page, "created.example")
    assert mx_text.startswith("MX at created.example conflict")
    assert "20 mx.earlier.example" in mx_text
    assert spf_text.startswith("SPF at created.example missing")
    assert f'created.example. 3600 IN TXT "{MERGED}"' in spf_text
    assert spf not in spf_text
    assert f"Value {dkim} " in dkim_text
    assert f'"{dkim[:255]}" "{dkim[255:]}"' in dkim_text


def test_a_record_without_a_remedy_has_nothing_to_paste(page: Page, report_run: ReportRun) -> None:
    """A record that needs the owner's decision has no value to paste. All text is escaped."""
    spf_text, dkim_text, mx_text = records(page, "torn.example")
    assert "2 SPF records" in spf_text
    assert "Value" not in spf_text
    assert f"Value {report_run.wanted['torn.example'][1]} " in dkim_text
    assert mx_text.startswith("MX at torn.example correct")
    assert f'"v=spf1 {MARKUP} -all"' in spf_text
    assert f"n='{MARKUP}' {{{{ 7*7 }}}};" in dkim_text
    assert page.locator("#planted").count() == 0
    # A name server that does not know a domain proves nothing about its records.
    unknown = records(page, "unknown.example")
    assert ["not known" in text and "missing" not in text for text in unknown] == [True] * 3


def test_addresses_and_drift(page: Page) -> None:
    """The page lists the aliases of mailboxes, the members of forwarders and the drift."""
    assert texts(page, "table.mailboxes tbody th") == list(MAILBOXES)
    aliases = [alias for some in MAILBOXES.values() for alias in some]
    assert texts(page, "table.mailboxes td li") == aliases
    assert texts(page, "table.forwarders td li") == MEMBERS
    places = texts(page, ".drift li")
    assert "domain new.example" in places
    assert any("desk@partner.example" in place for place in places)
    counts = texts(page, "section[aria-labelledby=drift] summary")
    assert [re.findall(r"\d+", count) for count in counts] == [["2"], ["1"], ["2"]]


def test_nothing_is_fetched(browser: Browser, written: Path) -> None:
    """The page is self-contained, and its content security policy forbids scripts and requests."""
    text = written.read_text("utf-8")
    assert "default-src 'none'" in text
    assert "<script" not in text
    assert re.findall(r"(?:src|href)=\"(?!#|data:,\")[^\"]*", text) == []
    requests: list[str] = []
    with browser.new_page() as page:
        page.on("request", lambda request: requests.append(request.url))
        page.goto(written.as_uri())
    assert requests == [written.as_uri()]


def test_an_empty_tenant_has_a_report(
    service: RunningService, browser: Browser, tmp_path: Path
) -> None:
    """The report on an empty tenant shows totals of 0 and compares nothing."""
    runner = PlaybookRunner(tmp_path, service.url, service.new_token("empty"))
    run = runner.play("report", mail_report_file="empty.html", mail_report_date=DATE)
    assert (run.status, run.recap.changed) == (0, 1), run.output
    with browser.new_page() as page:
        page.goto((tmp_path / "empty.html").as_uri())
        assert texts(page, ".figures dd") == ["0", "0", "0", "0", "0", "not compared"]


@pytest.mark.parametrize("has_library", [True, False])
def test_without_queries(
    report_run: ReportRun,
    service: RunningService,
    browser: Browser,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    has_library: bool,
) -> None:
    """Without mail_verify_dns or dnspython, values are shown, but statuses are unknown."""
    if not has_library:
        (tmp_path / "dns").mkdir()
        (tmp_path / "dns" / "__init__.py").write_text("raise ImportError")
        monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    runner = PlaybookRunner(tmp_path, report_run.recorder.url, service.token)
    verify = "false" if has_library else "true"
    run = runner.play(
        "report", mail_report_file="blind.html", mail_verify_dns=verify, mail_file_mode="0644"
    )
    assert (run.status, run.recap.changed) == (0, 1), run.output
    file = tmp_path / "blind.html"
    assert file.stat().st_mode & 0o777 == 0o644
    with browser.new_page() as page:
        page.goto(file.as_uri())
        assert set(texts(page, ".status")) == {"not checked"}
        assert texts(page, ".figures dd")[1] == "not known"
        assert page.locator(".record .paste").count() > 0
        notes = [note for note in texts(page, "details > .note") if "dnspython" in note]
        assert len(notes) == (0 if has_library else 5)


ROOT = "roles/tenant/templates/"
TEMPLATES = [
    file.as_posix().removeprefix(ROOT)
    for file in repository.files()
    if file.as_posix().startswith((f"{ROOT}report.", f"{ROOT}report/"))
    and file.suffix == ".j2"
    # This template produces text, which is escaped where it is inserted.
    and file.stem != "pasting"
]
TEXTS = {name: repository.read(ROOT + name) for name in TEMPLATES}
#: Functions that return HTML: the templates' own macros, directly or from an imported module.
MACROS = "|".join(re.findall(r"\{%-? macro (\w+)\(", "".join(TEXTS.values())))
#: An expression that ends with the `e` filter, only calls a macro, or has literal results.
SAFE = re.compile(
    rf"(?!.*( if | or |[~+]))(.+\| e|(\w+\.)?({MACROS})\(.*\))|'[^']*' if [^']+ else '[^']*'",
    re.DOTALL,
)


def test_every_value_is_escaped() -> None:
    """Each value in the templates is escaped with the `e` filter or comes from a macro."""
    assert len(TEMPLATES) == 6
    assert {"counted", "listed", "show", "tables"} <= {*MACROS.split("|")}
    for name, text in TEXTS.items():
        values = re.findall(r"\{\{-?\s*(.*?)\s*-?\}\}", text, re.DOTALL)
        assert [value for value in values if not SAFE.fullmatch(value)] == [], name
        assert not re.search(r"\|\s*safe\b|\{%-?\s*(filter|call)\b", text), name
