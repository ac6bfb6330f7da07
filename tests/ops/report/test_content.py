# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What the report tells of a tenant whose domains are at every stage."""

from __future__ import annotations

from ansible_collections.postroom.email.tests.ops.report.browsing import Leaf
from ansible_collections.postroom.email.tests.ops.report.stage import DATE, MARKUP, Stage, wanted

MERGED = "v=spf1 mx include:spf.postroom.test -all"


def records(leaf: Leaf, domain: str) -> list[str]:
    """Return what is told of a domain's records, each in one line."""
    within = f"details:has(> summary h3:text-is('{domain}')) .record"
    return leaf.texts(within)


def test_counts_and_date(page: Leaf, stage: Stage) -> None:
    """At the top there is what the tenant has, where, and as of when."""
    assert page.texts(".figures dt") == [
        "domains",
        "records to mend",
        "mailboxes",
        "aliases",
        "forwarder",
        "places of drift",
    ]
    assert page.texts(".figures dd") == ["5", "5", "3", "4", "1", "5"]
    assert page.texts("header p") == [f"{stage.recorder.url}, as of {DATE}"]
    assert page.page.title() == "Mail report"


def test_every_domain_has_its_stage(page: Leaf) -> None:
    """And how many records are to be mended, if that is known."""
    rows = page.texts("section[aria-labelledby=domains] tbody tr")
    assert rows == [
        "active.example active 0 2 1",
        "created.example created 3 1 0",
        "published.example published 0 0 0",
        "torn.example created 2 0 0",
        "unknown.example unknown not known 0 0",
    ]
    (note,) = page.texts("section[aria-label='In numbers'] .note")
    assert note.startswith("Of 1 domain it is not known whether all records are published")


def test_a_record_to_mend_has_its_remedy_and_what_to_paste(page: Leaf, stage: Stage) -> None:
    """The service's part is worked into the SPF record, and the key is there as one text."""
    spf, dkim = wanted(stage.api, "created.example")
    mx_told, spf_told, dkim_told = records(page, "created.example")
    assert mx_told.startswith("MX at created.example in conflict")
    assert "goes to mx.earlier.example (priority 20)" in mx_told
    assert "What to do: At created.example, remove the record MX 20 mx.earlier.exam" in mx_told
    assert "Found 20 mx.earlier.example. What belongs there: Type MX Name @ or in" in mx_told
    assert spf_told.startswith("SPF at created.example missing")
    assert f"Value {MERGED} As a line" in spf_told
    assert f'created.example. 3600 IN TXT "{MERGED}"' in spf_told
    assert spf not in spf_told
    assert (
        "At service._domainkey.created.example, add the record TXT with the value below."
        in dkim_told
    )
    assert f"Value {dkim} As a line" in dkim_told
    assert f'"{dkim[:255]}" "{dkim[255:]}"' in dkim_told


def test_what_only_the_owner_can_decide_has_nothing_to_paste(page: Leaf, stage: Stage) -> None:
    """A third SPF record would help as little as the second; another key is replaced."""
    spf_told, dkim_told, mx_told = records(page, "torn.example")
    assert "there are 2 SPF records at torn.example" in spf_told
    assert "Value" not in spf_told
    assert "another key is published" in dkim_told
    assert f"Value {wanted(stage.api, 'torn.example')[1]} " in dkim_told
    assert mx_told.startswith("MX at torn.example as it should be")
    # What somebody else has published stays a text.
    assert f'"v=spf1 {MARKUP} -all"' in spf_told
    assert f"n='{MARKUP}' {{{{ 7*7 }}}};" in dkim_told
    assert page.page.locator("#planted").count() == 0


def test_unknown_is_never_missing(page: Leaf) -> None:
    """A name server that does not know the domain says nothing of its records."""
    told = records(page, "unknown.example")
    assert len(told) == 3
    assert all("not known" in text and "missing" not in text for text in told)
    assert all("is not in charge of" in text for text in told)
    (note,) = page.texts("details:has(> summary h3:text-is('unknown.example')) > .note")
    assert note.startswith("If the domain has an SPF record already, put the service's part into")


def test_addresses(page: Leaf) -> None:
    """Mailboxes have their aliases, and forwarders their members, whatever is in their names."""
    assert page.texts("table.mailboxes caption") == [
        "Mailboxes of active.example",
        "Mailboxes of created.example",
    ]
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
    assert page.texts("table.forwarders tr") == [
        "AddressGoes to",
        "team@active.exampleann@active.exampledesk@partner.example",
    ]


def test_drift_is_told_in_words(page: Leaf) -> None:
    """By its direction."""
    summaries = page.texts("section[aria-labelledby=drift] summary")
    assert summaries == [
        "Declared, not there 2 places",
        "Differs 1 place",
        "There, not declared 2 places",
    ]
    places = page.texts(".drift li")
    assert (
        "forwarder team@active.example: it is not to have the member desk@partner.example" in places
    )
    assert "domain new.example" in places
