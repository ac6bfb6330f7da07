# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Verdicts on records from the answers of name servers, and advice on what is missing."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from typing import get_args

import pytest

from ansible_collections.postroom.email.plugins.module_utils._api.dns import (
    answers as observed,
)
from ansible_collections.postroom.email.plugins.module_utils._api.dns import (
    compare as criteria,
)
from ansible_collections.postroom.email.plugins.module_utils._api.dns import (
    spf_lookups as lookups,
)
from ansible_collections.postroom.email.plugins.module_utils._api.dns import (
    verdict as judging,
)
from ansible_collections.postroom.email.plugins.module_utils._api.dns.rrset import Mx, Value, txt
from ansible_collections.postroom.email.plugins.module_utils._api.dns.spf_lookups import Lookup
from ansible_collections.postroom.email.plugins.module_utils._api.dns.verify import dmarc_advice
from ansible_collections.postroom.email.plugins.module_utils._api.models import (
    DnsRecord,
    DnsRecordSet,
)
from ansible_collections.postroom.email.plugins.module_utils._api.names import parse_domain

HOME = "example.com"
SIGNER = "service._domainkey.example.com"
NS1 = observed.Server("ns1.example.net", "192.0.2.1")
NS2 = observed.Server("ns2.example.net", "192.0.2.2")
RESOLVER = observed.Server("", "192.0.2.53")
KEY = base64.b64encode(bytes(range(256)) * 2)[:392].decode()
WANTED_KEY = f"v=DKIM1; k=rsa; p={KEY}"
INCLUDE = "v=spf1 include:spf.example.net ~all"
OURS = Mx(10, "mail.example.net")


def wants(name: str, value: Value) -> criteria.Wanted:
    """Return a wanted record."""
    return criteria.Wanted(name, value, (value,), HOME)


MX = wants(HOME, OURS)
SPF = wants(HOME, txt(INCLUDE))
DKIM = wants(SIGNER, txt(WANTED_KEY))
OTHER = wants(HOME, txt("site-verification=1"))


def says(
    *values: Value | str,
    server: observed.Server = NS1,
    ttl: int = 300,
    alias: str | None = None,
    detail: str = "",
) -> observed.Answer:
    """Return the answer of a server."""
    found = tuple(txt(value) if isinstance(value, str) else value for value in values)
    return observed.Answer(server, "answered", detail, found, ttl if values else None, alias)


def fails(kind: observed.Kind, detail: str, server: observed.Server = NS1) -> observed.Answer:
    """Return a failed query."""
    return observed.Answer(server, kind, detail)


def judged(
    *answers: observed.Answer,
    wanted: criteria.Wanted = MX,
    wildcard: observed.Answer | None = None,
    resolved: tuple[observed.Answer, ...] = (),
    cost: lookups.Cost | None = None,
) -> judging.Verdict:
    """Return the verdict on one record."""
    seen = observed.Observation(*wanted.key, answers, wildcard, resolved)
    return judging.judge(wanted, seen, cost)


def fixed(*records: str) -> str:
    """Return the remedy that publishes these MX records and removes those after a minus."""
    removed = [f"MX {one[1:]}" for one in records if one.startswith("-")]
    added = [f"add MX {one}" for one in records if not one.startswith("-")]
    words = [f"remove the record{'s' * (len(removed) > 1)} {' and '.join(removed)}", *added]
    return f"At example.com, {', and '.join(words)}"


ASTRAY = says(alias="key.example.net", detail="no resolver tells what is there")
LARGE = " ".join(f"ip4:198.51.100.{number}" for number in range(25))
SERVICE = "10 mail.example.net."
RIVAL, BACKUP = Mx(10, "mx.example.org"), Mx(20, "b.example.org")

#: The record, the values at its name, and the verdict: status, code and words of the remedy.
VALUES: list[tuple[criteria.Wanted, list[Value | str], str, str, str]] = [
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
        "conflict",
        "spf_after_all",
        f"TXT {INCLUDE[:-4]}-all",
    ),
    (
        SPF,
        ["v=spf1 include:spf.example.net a include:spf.example.net -all"],
        "conflict",
        "spf_repeated",
        "TXT v=spf1 include:spf.example.net a -all",
    ),
    (SPF, [INCLUDE, "v=spf1 a -all"], "conflict", "spf_several", "v=spf1 a include:spf.example"),
    (
        SPF,
        ["v=spf1 -include:spf.example.net ~all"],
        "conflict",
        "spf_contradicts",
        "Replace -include:spf.example.net by include:spf.example.net",
    ),
    (SPF, ["v=spf1 ipv4:192.0.2.1"], "conflict", "spf_invalid", "Correct its name"),
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
    """All but a match come with a remedy, which is the record to publish if there is one."""
    wanted, values, status, code, remedy = VALUES[row]
    verdict = judged(says(*values), wanted=wanted)
    assert (verdict.status, verdict.code, verdict.servers[0].code) == (status, code, code)
    assert verdict.detail.startswith("ns1.example.net (192.0.2.1)")
    assert remedy in verdict.remedy
    assert ("and add" in verdict.remedy) is ("and add" in remedy)
    assert bool(verdict.remedy) is (status != "match")


@pytest.mark.parametrize("row", range(len(VALUES)))
def test_the_edit_makes_the_record_right(row: int) -> None:
    """Publishing it leaves the records of others, and nothing else to change."""
    wanted, values, status, code, _remedy = VALUES[row]
    held = says(*values).values
    compared = criteria.compare(wanted, held)
    if compared.values is None:
        assert code in {"mx_null", "spf_several", "spf_contradicts", "spf_invalid"}
        return
    assert bool(compared.change) is (compared.values != held)
    again = criteria.compare(wanted, compared.values)
    assert (again.held, again.change, again.values) == (True, "", compared.values)
    assert again.status == "match" or code == "mx_rivals"
    assert status == "match" or set(held) - set(compared.values) <= set(held)


#: The text of an SPF record with the service, what it costs, and words of the advice.
ADVICE: list[tuple[str, lookups.Cost | None, str]] = [
    (INCLUDE, lookups.Cost(10, 2), ""),
    ("v=spf1 include:spf.example.net redirect=other.example.org", None, ""),
    ("v=spf1 include:spf.example.net ?all", None, "lets anyone send with ?all"),
    ("v=spf1 include:spf.example.net", None, "has no all"),
    (f"v=spf1 {LARGE} include:spf.example.net ~all", None, "bytes"),
    (INCLUDE, lookups.Cost(1, 0, failed=tuple("abcd")), "a, b, c and 1 more"),
    (INCLUDE, lookups.Cost(1, 0, unfollowed=("a:%{d}.x",)), "a:%{d}.x leads depends on"),
    (INCLUDE, lookups.Cost(3, 0, voids_ipv6=3), "For a sender of IPv6, 3 of the DNS look-ups"),
]


@pytest.mark.parametrize("row", range(len(ADVICE)))
def test_an_spf_record_that_includes_the_service_is_a_match(row: int) -> None:
    """What lets anyone send, does not fit into UDP, or may cost too much is advice."""
    text, cost, words = ADVICE[row]
    verdict = judged(says("unrelated", text), wanted=SPF, cost=cost)
    assert (verdict.status, verdict.remedy) == ("match", "")
    assert len(verdict.advice) == bool(words)
    assert words in str(verdict.advice)


@pytest.mark.parametrize(
    ("cost", "why", "remedy"),
    [
        (lookups.Cost(11, 3), "more than 10 DNS look-ups", "write ip4 and ip6"),
        (lookups.Cost(10, 3), "3 of its DNS look-ups find nothing", "do not exist any more"),
        (lookups.Cost(2, 0, "a.example has x"), "a.example has x", "the term that leads there"),
    ],
)
def test_costly_spf_records_are_conflicts(cost: lookups.Cost, why: str, remedy: str) -> None:
    """Because of its DNS look-ups."""
    verdict = judged(says(INCLUDE), wanted=SPF, cost=cost)
    assert verdict.status == "conflict"
    assert verdict.code == "spf_rejected"
    assert why in verdict.detail
    assert remedy in verdict.remedy


def test_a_record_that_every_server_has_is_a_match() -> None:
    """The verdict lists the servers, and there is nothing to do."""
    verdict = judged(says(OURS), says(OURS, server=NS2))
    assert verdict[:4] == (MX, "match", "present", ("10 mail.example.net.",))
    assert (verdict.remedy, verdict.held) == ("", True)
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
    """A foreign one between two of the service's gets no mail while one can be reached.

    A positive number is a foreign mail server, a negative one takes the service's away.
    """
    ours = {10: "mail.example.net", 20: "MX2.example.net."}
    rows = [DnsRecord("MX", "@", host, priority) for priority, host in ours.items()]
    records = DnsRecordSet(parse_domain(HOME), (*rows, DnsRecord("TXT", "@", "x")))
    wanted = criteria.wanted_records(records)
    there = [Mx(n, host.lower().rstrip(".")) for n, host in ours.items() if -n not in found]
    answer = says(*there, *(Mx(n, "mx.example.org") for n in found if n > 0))
    assert [judged(answer, wanted=each).status for each in wanted[:2]] == expected


@pytest.mark.parametrize(
    ("answer", "words", "remedy"),
    [
        (fails("silent", "no answer came"), "no answer (no answer came)", "Ensure that these"),
        (fails("garbled", "odd"), "no answer (odd)", "Ensure that these"),
        (fails("lame", "REFUSED"), "not authoritative for example.com (REFUSED)", "Check the"),
        (fails("failed", "SERVFAIL"), "failed (SERVFAIL)", "Fix these servers"),
        (fails("unfound", ""), "no answer", "Check the option"),
    ],
)
def test_a_failed_query_proves_nothing(answer: observed.Answer, words: str, remedy: str) -> None:
    """Alone it makes the record unknown; beside a match, it is advice."""
    verdict = judged(answer)
    assert (verdict.status, verdict.found) == ("unknown", ())
    assert words in verdict.detail
    assert verdict.remedy.startswith(remedy)
    beside = judged(answer, says(OURS, server=NS2))
    assert (beside.status, beside.detail) == ("match", "ns2.example.net (192.0.2.2) has it.")
    assert words in beside.advice[0]
    assert judged(answer, says(server=NS2)).status == "missing"


def test_without_an_authoritative_server_the_record_is_unknown() -> None:
    """The domain must be delegated, not a name in it."""
    verdict = judged(wanted=DKIM)
    assert (verdict.status, verdict.code) == ("unknown", "no_nameservers")
    assert f"No authoritative name server of {SIGNER}" in verdict.detail
    assert "example.com is delegated" in verdict.remedy


def test_servers_that_disagree_are_listed() -> None:
    """The record is already published; the zone transfer lags or fails."""
    verdict = judged(says(OURS), says(server=NS2))
    assert (verdict.status, verdict.code) == ("missing", "servers_disagree")
    ns1, ns2 = verdict.detail.split(";")
    assert ns1 == "ns1.example.net (192.0.2.1): the record is there"
    assert "ns2.example.net (192.0.2.2): there is no MX record" in ns2
    assert verdict.remedy.startswith("Wait until ns2.example.net")


def test_the_worst_problem_comes_first() -> None:
    """A conflict is worse than a missing record."""
    verdict = judged(says(), says(Mx(1, "mx.example.org"), server=NS2))
    assert (verdict.status, verdict.found) == ("conflict", ("1 mx.example.org.",))
    assert verdict.remedy.startswith("At example.com, remove the record MX 1 mx.example.org.")


def test_a_backup_and_a_long_ttl_are_advice() -> None:
    """A backup gets mail while the service fails; resolvers cache old records for over a day."""
    (advice,) = judged(says(OURS, BACKUP)).advice
    assert advice.startswith("b.example.org (priority 20) takes mail")
    (advice,) = judged(says(Mx(1, "mx.example.org"), ttl=172800)).advice
    assert "48 hours" in advice
    assert judged(says(Mx(1, "mx.example.org"), ttl=86400)).advice == ()
    assert judged(says(OURS, ttl=172800)).advice == ()


def test_resolvers_confirm_the_record() -> None:
    """Bogus DNSSEC signatures are a conflict; a resolver that lags is advice."""
    bogus = judged(says(OURS), resolved=(fails("bogus", "SERVFAIL", RESOLVER),))
    assert (bogus.status, bogus.code) == ("conflict", "dnssec")
    assert "192.0.2.53 rejects its DNSSEC signatures" in bogus.detail
    assert "DS record" in bogus.remedy
    behind = judged(says(OURS), resolved=(says(server=RESOLVER), says(RIVAL)))
    assert (behind.status, len(behind.advice)) == ("match", 2)
    assert behind.advice[0].startswith("192.0.2.53, a resolver, does not give the MX record")


@pytest.mark.parametrize(
    ("resolved", "expected"),
    [
        ([says(OURS), fails("silent", "")], True),
        ([fails("silent", "")], False),
        ([], False),
        ([says(OURS), says()], False),
        ([says(OURS), fails("bogus", "SERVFAIL")], False),
    ],
)
def test_resolved_records(resolved: list[observed.Answer], expected: bool) -> None:
    """At least one must answer."""
    observation = observed.Observation(HOME, "MX", (says(OURS),), None, tuple(resolved))
    assert judging.is_resolved(MX, observation) is expected


@pytest.mark.parametrize(
    ("answers", "resolved", "expected"),
    [
        ([says(OURS), says(OURS)], True, "active"),
        ([says(OURS)], False, "published"),
        ([says(OURS), fails("silent", "")], True, "unknown"),
        ([says(), fails("silent", "")], False, "created"),
        ([says(OURS), says(Mx(0, ""))], True, "created"),
        ([], True, "unknown"),
    ],
)
def test_the_stage_is_that_of_the_last_record(
    answers: list[observed.Answer], resolved: bool, expected: str
) -> None:
    """A known problem comes before an unknown record."""
    verdicts = [judged(answer) for answer in answers]
    assert judging.stage(verdicts, resolved=resolved) == expected


@pytest.mark.parametrize(
    ("wanted", "answer", "status", "detail", "remedy"),
    [
        (SPF, says(alias="a.example"), "conflict", "(CNAME) of a.example", "by A and AAAA"),
        (SPF, ASTRAY, "conflict", "(CNAME) of key.example.net", "by A and AAAA records"),
        (DKIM, says(WANTED_KEY, alias="key.example.net"), "match", "", ""),
        (
            DKIM,
            says("x", alias="key.example.net"),
            "conflict",
            "no DKIM record at key.example.net",
            f"At {SIGNER}, replace the CNAME record by TXT {WANTED_KEY}",
        ),
        (DKIM, ASTRAY, "unknown", "of key.example.net, and no resolver tells", "resolvers"),
    ],
)
def test_only_a_key_may_be_behind_an_alias(
    wanted: criteria.Wanted, answer: observed.Answer, status: str, detail: str, remedy: str
) -> None:
    """Services rotate keys so; beside any other CNAME record there can be no record."""
    verdict = judged(answer, wanted=wanted)
    assert verdict.status == status
    assert detail in verdict.detail
    assert remedy in verdict.remedy


RENAMED = observed.Redirection("DNAME", "_domainkey.example.com", "service.keys.example")
DELEGATED = observed.Redirection("NS", "_domainkey.example.com", "ns1.keys.example")
AT_ALIAS = says(alias=RENAMED.target)._replace(redirection=RENAMED)


@pytest.mark.parametrize(
    ("answer", "status", "detail", "remedy"),
    [
        (AT_ALIAS, "conflict", "no DKIM record at service.keys", "key at service.keys.example,"),
        (AT_ALIAS._replace(values=(txt(WANTED_KEY),)), "match", "", ""),
        (AT_ALIAS._replace(detail="unsure"), "unknown", "and unsure", "the option resolvers"),
        (says()._replace(redirection=DELEGATED), "missing", "(NS)", "name servers ns1.keys"),
        (says(WANTED_KEY)._replace(redirection=DELEGATED), "match", "", ""),
        (says("v=DKIM1; p=BB")._replace(redirection=DELEGATED), "conflict", "(NS)", "eplace the"),
        (fails("lame", "")._replace(redirection=DELEGATED), "unknown", "(NS)", "option resolvers"),
    ],
)
def test_a_key_may_be_kept_elsewhere(
    answer: observed.Answer, status: str, detail: str, remedy: str
) -> None:
    """The DNAME record or the delegation is named, with where to publish the key instead."""
    verdict = judged(answer, wanted=DKIM)
    assert verdict.status == status
    assert "_domainkey.example.com" in verdict.detail or status == "match"
    assert detail in verdict.detail
    assert remedy in verdict.remedy


@pytest.mark.parametrize(
    ("answer", "wildcard", "is_wildcard"),
    [
        (says("a", "b"), says("b", "a"), True),
        (ASTRAY, says(alias="key.example.net"), True),
        (says("a", "b"), says("c"), False),
        (says("a"), observed.Answer(NS1, "silent", "", (txt("a"),)), False),
        (says(), says(), False),
        (says(WANTED_KEY), says(WANTED_KEY), False),
    ],
)
def test_an_answer_from_a_wildcard_is_not_the_record(
    answer: observed.Answer, wildcard: observed.Answer, is_wildcard: bool
) -> None:
    """The name itself is free, even if the wildcard's records would conflict; a match is one."""
    verdict = judged(answer, wanted=DKIM, wildcard=wildcard)
    assert (verdict.code == "wildcard") is is_wildcard
    assert not is_wildcard or verdict.status == "missing"
    assert judged(says(OURS), wildcard=says(OURS)).status == "match"


@pytest.mark.parametrize("wanted", [MX, SPF, DKIM, OTHER])
@pytest.mark.parametrize("kind", sorted(get_args(observed.Kind)))
def test_hostile_values_are_printable(wanted: criteria.Wanted, kind: observed.Kind) -> None:
    """If no server answers, the record is unknown."""
    values: tuple[Value, ...] = (
        Mx(0, ""),
        *map(txt, ["v=spf1 \x00\n~all", 'v=DKIM1; "p=\udc80', "\x1b[2J", ""]),
    )
    told = observed.Answer(NS1, kind, "", values, 2**31 - 1, "other.example.org")
    verdict = judged(told, wanted=wanted, resolved=(told,))
    assert (verdict.detail + verdict.remedy + "".join(verdict.found)).isprintable()
    assert verdict.remedy
    assert (verdict.status == "unknown") is (kind != "answered")


def resolver(texts: Mapping[str, str], failing: str = "") -> Callable[[str, str], Lookup]:
    """Return a resolver that knows these texts, and fails for one name."""

    def ask(name: str, _kind: str) -> Lookup:
        if name == failing:
            return Lookup("failed")
        return Lookup("found", (texts[name],)) if name in texts else Lookup("void")

    return ask


@pytest.mark.parametrize(
    ("texts", "failing", "is_advised"),
    [
        ({"_dmarc.a.b.example.com": "v=DMARC1; p=none"}, "", False),
        ({"_dmarc.example.com": "V=dmarc1; p=reject"}, "", False),
        ({"_dmarc.com": "v=DMARC1; p=reject"}, "", True),
        ({"_dmarc.a.b.example.com": "v=spf1 -all"}, "", True),
        ({}, "_dmarc.b.example.com", False),
    ],
)
def test_a_missing_dmarc_record_is_advised(
    texts: dict[str, str], failing: str, is_advised: bool
) -> None:
    """It also applies to the domains below it; a failed query is no missing record."""
    advice = dmarc_advice("a.b.example.com", resolver(texts, failing))
    assert bool(advice) is is_advised
    assert all(text.endswith("TXT v=DMARC1; p=none") for text in advice)
