# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The report of a tenant whose domains are at every stage: runs, content and layout."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from ansible_collections.postroom.email.tests.ops.report.stage import (
    DATE,
    MARKUP,
    PASSWORDS,
    Leaf,
    Stage,
    wanted,
)
from ansible_collections.postroom.email.tests.support.desk import words
from ansible_collections.postroom.email.tests.support.playbooks import Run
from ansible_collections.postroom.email.tests.support.secrets import leaks
from ansible_collections.postroom.email.tests.support.service import RunningService

MERGED = "v=spf1 mx include:spf.postroom.test -all"
PHONE = {"viewport": {"width": 360, "height": 740}, "is_mobile": True, "has_touch": True}
#: Elements that reach beyond the right edge.
TOO_WIDE = """
    [...document.body.querySelectorAll("*")]
        .filter(it => it.getClientRects().length && !it.closest("thead, caption"))
        .filter(it => it.getBoundingClientRect().right > innerWidth + 0.5)
        .map(it => it.outerHTML.slice(0, 80))
"""
#: Requests an image, and waits for the page's policy to forbid it.
FORBIDDEN = """
    new Promise(done => {
        document.addEventListener("securitypolicyviolation", it => done(it.effectiveDirective))
        new Image().src = "http://127.0.0.1:9/planted.png"
    })
"""
LEVELS = "[...document.querySelectorAll('h1, h2, h3, h4, h5, h6')].map(it => +it.tagName[1])"
#: Tables without a caption, or with cells that no header cell names.
NAMELESS = """
    [...document.querySelectorAll("table")].filter(it =>
        !it.caption?.textContent.trim()
        || it.querySelectorAll("th:not([scope=col]):not([scope=row])").length
        || it.tHead.rows[0].cells.length !== it.tBodies[0].rows[0].cells.length
        || [...it.tBodies[0].rows].some(row => row.cells[0].scope !== "row")
    ).length
"""
#: Texts whose contrast with their background is below 4.5, which WCAG 2.2 requires at level AA.
FAINT = """
    (() => {
        const parts = colour => colour.match(/[0-9.]+/g).slice(0, 3).map(it => it / 255)
        const linear = it => it <= 0.04045 ? it / 12.92 : ((it + 0.055) / 1.055) ** 2.4
        const luminance = colour => {
            const [red, green, blue] = parts(colour).map(linear)
            return 0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05
        }
        const behind = it => {
            const colour = getComputedStyle(it).backgroundColor
            return colour === "rgba(0, 0, 0, 0)" ? behind(it.parentElement) : colour
        }
        const found = []
        const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
        while (texts.nextNode()) {
            const holder = texts.currentNode.parentElement
            if (!texts.currentNode.data.trim() || !holder.checkVisibility()) continue
            const both = [getComputedStyle(holder).color, behind(holder)].map(luminance)
            if (Math.max(...both) / Math.min(...both) < 4.5) found.push(texts.currentNode.data)
        }
        return found
    })()
"""


# --- runs --------------------------------------------------------------------------------------


def test_a_second_run_changes_nothing(stage: Stage, written: Path) -> None:
    """With the same date; the tenant is only read, and only its owner may read the file."""
    before = written.read_bytes()
    with stage.recorder.forbidding_writes():
        run = stage.report("report.html", mail_definition_files=["tenant.yml"])
    assert (run.status, run.recap.changed) == (0, 0), run.output
    assert written.read_bytes() == before
    assert written.stat().st_mode & 0o777 == 0o600


def test_check_mode_writes_nothing(stage: Stage) -> None:
    """It predicts the change; and without a file to write to, the playbook fails."""
    run = stage.report("unwritten.html", "--check", mail_verify_dns=False)
    assert (run.status, run.recap.changed) == (0, 1), run.output
    assert not (stage.folder / "unwritten.html").exists()
    refused = stage.desk.play("report", mail_report_file="")
    assert refused.status == 2
    assert "Give mail_report_file" in words(refused)


def test_no_secret_leaks(written: Path, run: Run, service: RunningService) -> None:
    """Page and output show neither the token nor a password, given as variables."""
    output = written.with_name("output.txt")
    output.write_text(run.output, "utf-8")
    assert leaks([service.token, *PASSWORDS.values()], [written, output]) == []


# --- content -----------------------------------------------------------------------------------


def records(leaf: Leaf, domain: str) -> list[str]:
    """Return the text of each record of a domain."""
    return leaf.texts(f"details:has(> summary h3:text-is('{domain}')) .record")


def test_figures_and_stages(page: Leaf, stage: Stage) -> None:
    """The page has totals, service and date, and each domain's stage and counts."""
    # Domains, records to fix, mailboxes, aliases, forwarders, drift.
    assert page.texts(".figures dd") == ["5", "5", "3", "4", "1", "5"]
    assert page.texts("header p") == [f"{stage.recorder.url}, as of {DATE}"]
    assert page.texts("section[aria-labelledby=domains] tbody tr") == [
        "active.example active 0 2 1",
        "created.example created 3 1 0",
        "published.example published 0 0 0",
        "torn.example created 2 0 0",
        "unknown.example unknown not known 0 0",
    ]
    # No status is only a colour or a mark.
    status = {"active", "as it should be", "created", "in conflict", "missing", "not known"}
    assert set(page.texts(".status")) == status | {"published", "unknown"}


def test_a_record_to_fix_has_the_value_to_paste(page: Leaf, stage: Stage) -> None:
    """SPF is merged with the record of the earlier provider, and the key is one value."""
    spf, dkim = wanted(stage.api, "created.example")
    mx_text, spf_text, dkim_text = records(page, "created.example")
    assert mx_text.startswith("MX at created.example in conflict")
    assert "20 mx.earlier.example" in mx_text
    assert spf_text.startswith("SPF at created.example missing")
    assert f'created.example. 3600 IN TXT "{MERGED}"' in spf_text
    assert spf not in spf_text
    assert f"Value {dkim} " in dkim_text
    assert f'"{dkim[:255]}" "{dkim[255:]}"' in dkim_text
    # A click selects the whole key, without line breaks.
    within = page.page.locator("details:has(> summary h3:text-is('created.example'))")
    within.locator(".long .paste").last.click()
    assert page.ask("getSelection().toString()") == dkim


def test_a_record_without_a_remedy_has_nothing_to_paste(page: Leaf, stage: Stage) -> None:
    """Only the owner can choose between two SPF records; another key is replaced."""
    spf_text, dkim_text, mx_text = records(page, "torn.example")
    assert "2 SPF records" in spf_text
    assert "Value" not in spf_text
    assert f"Value {wanted(stage.api, 'torn.example')[1]} " in dkim_text
    assert mx_text.startswith("MX at torn.example as it should be")
    # Published text stays text.
    assert f'"v=spf1 {MARKUP} -all"' in spf_text
    assert f"n='{MARKUP}' {{{{ 7*7 }}}};" in dkim_text
    assert page.page.locator("#planted").count() == 0
    # A name server that does not know the domain proves nothing about its records.
    texts = records(page, "unknown.example")
    assert len(texts) == 3
    assert all("not known" in text and "missing" not in text for text in texts)


def test_addresses_and_drift(page: Leaf) -> None:
    """Mailboxes have their aliases, forwarders their members, and drift has its direction."""
    assert page.texts("table.mailboxes tbody th") == [
        "ann@active.example",
        "bob@active.example",
        "o'neil&co@created.example",
    ]
    assert page.texts("table.mailboxes td li") == [
        "hello@active.example",
        "sales@created.example",
        "&amp@torn.example",
        "{{7*7}}@created.example",
    ]
    assert page.texts("table.forwarders td li") == ["ann@active.example", "desk@partner.example"]
    places = page.texts(".drift li")
    assert "domain new.example" in places
    assert any("desk@partner.example" in place for place in places)
    counts = page.texts("section[aria-labelledby=drift] summary")
    assert [re.findall(r"\d+", count) for count in counts] == [["2"], ["1"], ["2"]]


# --- layout ------------------------------------------------------------------------------------


def test_nothing_is_fetched(page: Leaf, written: Path) -> None:
    """The file is self-contained, and its policy forbids scripts and requests."""
    page.unfold()
    assert page.requests == [written.as_uri()]
    assert page.complaints == []
    text = written.read_text("utf-8")
    assert "default-src 'none'" in text
    assert "<script" not in text
    assert re.findall(r"(?:src|href)=\"(?!#|data:,\")[^\"]*", text) == []
    assert page.ask(FORBIDDEN) == "img-src"


def test_it_fits_a_phone(browser: Browser, written: Path) -> None:
    """At 360 pixels nothing scrolls sideways, and rows are cards."""
    with Leaf.opened(browser, written, **PHONE) as leaf:
        leaf.unfold()
        assert leaf.ask("document.documentElement.scrollWidth") == 360
        assert leaf.ask(TOO_WIDE) == []
        assert leaf.ask("getComputedStyle(document.querySelector('tbody tr')).display") == "block"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast(browser: Browser, written: Path, scheme: str) -> None:
    """Every text is readable in both colour schemes."""
    with Leaf.opened(browser, written, color_scheme=scheme) as leaf:
        leaf.unfold()
        paper = leaf.ask("getComputedStyle(document.body).backgroundColor")
        assert (sum(map(int, re.findall(r"\d+", paper)[:3])) > 380) is (scheme == "light")
        assert leaf.ask(FAINT) == []


def test_screen_readers_find_their_way(page: Leaf) -> None:
    """The page has a language, headings in order, named cells, and links that lead somewhere."""
    assert page.ask("document.documentElement.lang") == "en"
    levels = page.ask(LEVELS)
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    assert page.ask(NAMELESS) == 0
    ids = page.ask("[...document.querySelectorAll('[id]')].map(it => it.id)")
    assert len(ids) == len(set(ids))
    targets = page.ask("[...document.querySelectorAll('a')].map(it => it.hash.slice(1))")
    assert set() < set(targets) <= set(ids)


def test_print(page: Leaf) -> None:
    """A4 in black, with nothing folded away."""
    pdf = page.page.pdf(prefer_css_page_size=True)
    assert re.search(rb"/MediaBox \[0 0 59[45]\.\d+ 84[12]\.\d+\]", pdf)
    page.ask("document.querySelectorAll('.list').forEach(it => { it.open = false })")
    page.page.emulate_media(media="print")
    assert page.page.get_by_text("bob@active.example", exact=True).is_visible()
    colours = page.ask(
        "[...document.querySelectorAll('.status')].map(it => getComputedStyle(it).color)"
    )
    assert set(colours) == {"rgb(0, 0, 0)"}
