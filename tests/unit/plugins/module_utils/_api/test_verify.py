# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Verdicts on records, based on the answers of name servers."""

from __future__ import annotations

import base64
from typing import get_args

import pytest

from ansible_collections.postroom.email.plugins.module_utils._api.dns.compare import (
    WantedRecord,
    compare,
    wanted_records,
)
from ansible_collections.postroom.email.plugins.module_utils._api.dns.observe import Observation
from ansible_collections.postroom.email.plugins.module_utils._api.dns.query import (
    Answer,
    Kind,
    Server,
)
from ansible_collections.postroom.email.plugins.module_utils._api.dns.record_types import (
    Mx,
    Redirection,
    Value,
    txt,
)
from ansible_collections.postroom.email.plugins.module_utils._api.dns.verify import (
    Verdict,
    is_resolved,
    judge,
    stage_of,
)
from ansible_collections.postroom.email.plugins.module_utils._api.errors import NameServersNotFound
from ansible_collections.postroom.email.plugins.module_utils._api.models import (
    DnsRecord,
    RequiredRecords,
)
from ansible_collections.postroom.email.plugins.module_utils._api.names import parse_domain

HOME = "example.com"
SIGNER = "service._domainkey.example.com"
NS1 = Server("ns1.example.net", "192.0.2.1")
NS2 = Server("ns2.example.net", "192.0.2.2")
RESOLVER = Server("", "192.0.2.53")
KEY = base64.b64encode(bytes(range(256)) * 2)[:392].decode()
WANTED_KEY = f"v=DKIM1; k=rsa; p={KEY}"
INCLUDE = "v=spf1 include:spf.example.net ~all"
OURS = Mx(10, "mail.example.net")


def wants(name: str, value: Value) -> WantedRecord:
    """Return a required record."""
    return WantedRecord(name, value, (value,), HOME)


MX = wants(HOME, OURS)
SPF = wants(HOME, txt(INCLUDE))
DKIM = wants(SIGNER, txt(WANTED_KEY))
OTHER = wants(HOME, txt("site-verification=1"))


def response(
    *values: Value | str,
    server: Server = NS1,
    ttl: int = 300,
    alias: str | None = None,
    detail: str = "",
) -> Answer:
    """Return a server's answer."""
    found = tuple(txt(value) if isinstance(value, str) else value for value in values)
    above = Redirection("CNAME", SIGNER, alias) if alias else None
    return Answer(server, "answered", detail, found, ttl if values else None, above)


def fails(kind: Kind, detail: str, server: Server = NS1) -> Answer:
    """Return a failed query."""
    return Answer(server, kind, detail)


def judged(
    *answers: Answer,
    wanted: WantedRecord = MX,
    wildcard: Answer | None = None,
    resolved: tuple[Answer, ...] = (),
) -> Verdict:
    """Return the verdict on a record."""
    return judge(wanted, Observation(answers, wildcard, resolved))


def fixed(*records: str) -> str:
    """Return the remedy that publishes these MX records and removes those with a leading minus."""
    removed = [f"MX {one[1:]}" for one in records if one.startswith("-")]
    added = [f"add MX {one}" for one in records if not one.startswith("-")]
    words = [f"remove the record{'s' * (len(removed) > 1)} {' and '.join(removed)}", *added]
    return f"At example.com, {', and '.join(words)}"


ASTRAY = response(alias="key.example.net", detail="no resolver knows the target")
SERVICE = "10 mail.example.net."
RIVAL, BACKUP = Mx(10, "mx.example.org"), Mx(20, "b.example.org")

#: The record, the values at its name, and the verdict: status, code and words of the remedy.
VALUES: list[tuple[WantedRecord, list[Value | str], str, str, str]] = [
    (MX, [], "missing", "mx_missing", f"add the record MX {SERVICE}"),
    (MX, [Mx(20, "mail.example.net")], "conflict", "mx_priority", "from 20 to 10"),
    (
        MX,
        [OURS, Mx(20, "mail.example.net")],
        "conflict",
        "mx_repeated",
        "At example.com, remove the record MX 20 mail.example.net.",
    ),
    (MX, [Mx(0, "")], "conflict", "mx_null", fixed("-0 .", SERVICE)),
    (MX, [OURS, Mx(0, "")], "conflict", "mx_null", fixed("-0 .")),
    (
        MX,
        [OURS, RIVAL, Mx(5, "a.example.org"), BACKUP],
        "conflict",
        "mx_rivals",
        fixed("-5 a.example.org.", "-10 mx.example.org."),
    ),
    (SPF, ["x", "v=spf10 -all"], "missing", "spf_missing", f"add the record TXT {INCLUDE}"),
    (
        SPF,
        ["v=spf1 a -all"],
        "missing",
        "spf_incomplete",
        "TXT v=spf1 a include:spf.example.net -all",
    ),
    (
        SPF,
        ["v=spf1 -all include:spf.example.net"],
        "missing",
        "spf_incomplete",
        f"TXT {INCLUDE[:-4]}-all",
    ),
    (SPF, [INCLUDE, "v=spf1 a -all"], "conflict", "spf_several", "Merge the terms"),
    (
        SPF,
        ["v=spf1 -include:spf.example.net ~all"],
        "conflict",
        "spf_contradicts",
        "Replace -include:spf.example.net with include:spf.example.net",
    ),
    (SPF, ["v=spf1 ipv4:192.0.2.1"], "conflict", "spf_invalid", "Correct or remove"),
    (DKIM, ["x", f"k=rsa; p={KEY[:100]} {KEY[100:]}; n=note"], "match", "present", ""),
    (DKIM, ["some other text"], "missing", "dkim_missing", f"TXT {WANTED_KEY}"),
    (DKIM, ["v=DKIM1; k=rsa; p=BBBB"], "conflict", "dkim_other_key", f"TXT {WANTED_KEY}"),
    (DKIM, [WANTED_KEY, "v=DKIM1; k=rsa; p=AAAA"], "conflict", "dkim_several", "TXT v=DKIM1"),
    (OTHER, ["site-verification=1", INCLUDE], "match", "present", ""),
    (
        OTHER,
        ["site-verification=2"],
        "missing",
        "txt_missing",
        "the record TXT site-verification=1",
    ),
]


@pytest.mark.parametrize("row", range(len(VALUES)))
def test_values_are_judged(row: int) -> None:
    """Every verdict except a match has a remedy."""
    wanted, values, status, code, remedy = VALUES[row]
    verdict = judged(response(*values), wanted=wanted)
    assert (verdict.status, verdict.code, verdict.servers[0].code) == (status, code, code)
    assert verdict.detail.startswith("ns1.example.net (192.0.2.1)")
    assert remedy in verdict.remedy
    assert ("and add" in verdict.remedy) is ("and add" in remedy)
    assert bool(verdict.remedy) is (status != "match")


@pytest.mark.parametrize("row", range(len(VALUES)))
def test_the_edit_makes_the_record_right(row: int) -> None:
    """Following the remedy corrects the record and keeps other clients' records."""
    wanted, values, status, code, _remedy = VALUES[row]
    held = response(*values).values
    compared = compare(wanted, held)
    if compared.values is None:
        assert code in {"mx_null", "spf_several", "spf_contradicts", "spf_invalid"}
        return
    assert bool(compared.change) is (compared.values != held)
    again = compare(wanted, compared.values)
    assert (again.is_published, again.change, again.values) == (True, "", compared.values)
    assert again.status == "match" or code == "mx_rivals"
    assert status == "match" or set(held) - set(compared.values) <= set(held)


def test_a_record_that_every_server_has_is_a_match() -> None:
    """A record that every server returns is a match, and the verdict lists the servers."""
    verdict = judged(response(OURS), response(OURS, server=NS2))
    assert verdict[:4] == (MX, "match", "present", ("10 mail.example.net.",))
    assert (verdict.remedy, verdict.is_published) == ("", True)
    assert [(one.server, one.status, one.found) for one in verdict.servers] == [
        (f"ns{n}.example.net (192.0.2.{n})", "match", ("10 mail.example.net.",)) for n in (1, 2)
    ]


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ([], ["match", "match"]),
        ([15], ["match", "match"]),
        ([10], ["conflict", "conflict"]),
        ([15, -10], ["missing", "match"]),
        ([15, -20], ["match", "missing"]),
        ([15, -10, -20], ["conflict", "conflict"]),
    ],
)
def test_others_rank_against_the_service(found: list[int], expected: list[str]) -> None:
    """Another mail server ranked between the service's own gets no mail and doesn't conflict.

    A positive number is the priority of another mail server. A negative number removes one of the
    service's own.
    """
    ours = {10: "mail.example.net", 20: "MX2.example.net."}
    rows = [DnsRecord("MX", "@", host, priority) for priority, host in ours.items()]
    records = RequiredRecords(parse_domain(HOME), (*rows, DnsRecord("TXT", "@", "x")))
    wanted = wanted_records(records)
    there = [Mx(n, host.lower().rstrip(".")) for n, host in ours.items() if -n not in found]
    answer = response(*there, *(Mx(n, "mx.example.org") for n in found if n > 0))
    assert [judged(answer, wanted=each).status for each in wanted[:2]] == expected


@pytest.mark.parametrize(
    ("answer", "words", "remedy"),
    [
        (fails("silent", "no answer came"), "no answer (no answer came)", "Ensure that these"),
        (fails("garbled", "odd"), "no answer (odd)", "Ensure that these"),
        (fails("lame", "REFUSED"), "not authoritative for example.com (REFUSED)", "Check the"),
        (fails("failed", "SERVFAIL"), "failed (SERVFAIL)", "Check the logs"),
        (fails("unfound", ""), "no answer", "Check the option"),
    ],
)
def test_a_failed_query_proves_nothing(answer: Answer, words: str, remedy: str) -> None:
    """A failed query proves nothing. If all queries for a record failed, the record is unknown."""
    verdict = judged(answer)
    assert (verdict.status, verdict.found) == ("unknown", ())
    assert words in verdict.detail
    assert verdict.remedy.startswith(remedy)
    beside = judged(answer, response(OURS, server=NS2))
    assert (beside.status, beside.detail) == ("match", "ns2.example.net (192.0.2.2) has it.")
    assert judged(answer, response(server=NS2)).status == "missing"


def test_without_an_authoritative_server_the_record_is_unknown() -> None:
    """If no name servers were found, the record is unknown, and the verdict gives the reason."""
    problem = NameServersNotFound("There is no zone.", "Set nameservers.")
    verdict = judge(DKIM, Observation(problem=problem))
    assert (verdict.status, verdict.code) == ("unknown", "no_nameservers")
    assert (verdict.detail, verdict.remedy) == (problem.cause, problem.remedy)


def test_servers_that_disagree_are_listed() -> None:
    """If servers disagree, the verdict lists them and recommends waiting for the zone transfer."""
    verdict = judged(response(OURS), response(server=NS2))
    assert (verdict.status, verdict.code) == ("missing", "servers_disagree")
    ns1, ns2 = verdict.detail.split(";")
    assert ns1 == "ns1.example.net (192.0.2.1): the record is published"
    assert "ns2.example.net (192.0.2.2): there is no MX record" in ns2
    assert verdict.remedy.startswith("Wait until ns2.example.net")


def test_the_worst_problem_comes_first() -> None:
    """If servers report different problems, the worst one determines the verdict."""
    verdict = judged(response(), response(Mx(1, "mx.example.org"), server=NS2))
    assert (verdict.status, verdict.found) == ("conflict", ("1 mx.example.org.",))
    assert verdict.remedy.startswith("At example.com, remove the record MX 1 mx.example.org.")


def test_resolvers_confirm_the_record() -> None:
    """A resolver that rejects the DNSSEC signatures causes a conflict."""
    bogus = judged(response(OURS), resolved=(fails("bogus", "SERVFAIL", RESOLVER),))
    assert (bogus.status, bogus.code) == ("conflict", "dnssec")
    assert "192.0.2.53 rejects its DNSSEC signatures" in bogus.detail
    assert "DS record" in bogus.remedy


@pytest.mark.parametrize(
    ("resolved", "expected"),
    [
        ([response(OURS), fails("silent", "")], True),
        ([fails("silent", "")], False),
        ([], False),
        ([response(OURS), response()], False),
        ([response(OURS), fails("bogus", "SERVFAIL")], False),
    ],
)
def test_resolved_records(resolved: list[Answer], expected: bool) -> None:
    """A record counts as resolved if at least one resolver confirms it and none contradicts it."""
    observation = Observation((response(OURS),), None, tuple(resolved))
    assert is_resolved(MX, observation) is expected


@pytest.mark.parametrize(
    ("answers", "resolved", "expected"),
    [
        ([response(OURS), response(OURS)], True, "active"),
        ([response(OURS)], False, "published"),
        ([response(OURS), fails("silent", "")], True, "unknown"),
        ([response(), fails("silent", "")], False, "created"),
        ([response(OURS), response(Mx(0, ""))], True, "created"),
        ([], True, "unknown"),
    ],
)
def test_the_stage_is_that_of_the_last_record(
    answers: list[Answer], resolved: bool, expected: str
) -> None:
    """The worst record determines the stage. A known problem is worse than an unknown record."""
    verdicts = [judged(answer) for answer in answers]
    assert stage_of(verdicts, resolved=resolved) == expected


CNAME = response(alias="key.example.net")
RENAMED = Redirection("DNAME", "_domainkey.example.com", "service.keys.example")
DELEGATED = Redirection("NS", "_domainkey.example.com", "ns1.keys.example")


@pytest.mark.parametrize(
    "above", [RENAMED, DELEGATED, Redirection("CNAME", SIGNER, "key.example.net")]
)
@pytest.mark.parametrize(
    ("wanted", "answer", "status", "code"),
    [
        (SPF, response(INCLUDE), "conflict", "elsewhere"),
        (SPF, response(), "conflict", "elsewhere"),
        (DKIM, response(WANTED_KEY), "match", "present"),
        (DKIM, response("x"), "conflict", "elsewhere"),
        (DKIM, response("v=DKIM1; p=BB"), "conflict", "elsewhere"),
        (DKIM, response(detail="no resolver answered"), "unknown", "unresolved"),
        (DKIM, fails("lame", "REFUSED"), "unknown", "unresolved"),
    ],
)
def test_only_a_key_may_be_kept_elsewhere(
    above: Redirection, wanted: WantedRecord, answer: Answer, status: str, code: str
) -> None:
    """Only a DKIM key may be behind an alias, because services use aliases to rotate keys."""
    verdict = judged(answer._replace(redirection=above), wanted=wanted)
    assert (verdict.status, verdict.code) == (status, code)
    assert status == "match" or f"{above.type} record at {above.owner}" in verdict.detail


@pytest.mark.parametrize(
    ("answer", "wildcard", "is_wildcard"),
    [
        (response("a", "b"), response("b", "a"), True),
        (ASTRAY, response(alias="key.example.net"), True),
        (response("a", "b"), response("c"), False),
        (response("a"), Answer(NS1, "silent", "", (txt("a"),)), False),
        (response(), response(), False),
        (response(WANTED_KEY), response(WANTED_KEY), False),
    ],
)
def test_an_answer_from_a_wildcard_is_not_the_record(
    answer: Answer, wildcard: Answer, is_wildcard: bool
) -> None:
    """A wildcard's answer that does not match counts as a missing record."""
    verdict = judged(answer, wanted=DKIM, wildcard=wildcard)
    assert (verdict.code == "wildcard") is is_wildcard
    assert not is_wildcard or verdict.status == "missing"
    assert judged(response(OURS), wildcard=response(OURS)).status == "match"


@pytest.mark.parametrize("wanted", [MX, SPF, DKIM, OTHER])
@pytest.mark.parametrize("kind", sorted(get_args(Kind)))
def test_hostile_values_are_printable(wanted: WantedRecord, kind: Kind) -> None:
    """Verdicts on hostile values are printable."""
    values: tuple[Value, ...] = (
        Mx(0, ""),
        *map(txt, ["v=spf1 \x00\n~all", 'v=DKIM1; "p=\udc80', "\x1b[2J", ""]),
    )
    hostile = Answer(NS1, kind, "", values, 2**31 - 1, RENAMED)
    verdict = judged(hostile, wanted=wanted, resolved=(hostile,))
    assert (verdict.detail + verdict.remedy + "".join(verdict.found)).isprintable()
    assert verdict.remedy
    assert (verdict.status == "unknown") is (kind != "answered")
