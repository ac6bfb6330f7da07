# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What name servers' answers mean: MX records, servers that do not agree, and a domain's stage."""

from __future__ import annotations

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.postroom.email.plugins.module_utils._api.models import (
    DnsRecord,
    DnsRecordSet,
)
from ansible_collections.postroom.email.plugins.module_utils._api.names import parse_domain
from ansible_collections.postroom.email.plugins.module_utils._api.records import (
    criteria,
    judging,
    observed,
)
from ansible_collections.postroom.email.plugins.module_utils._api.records.sets import (
    Mx,
    Value,
    txt,
)

HOME = "example.com"
MX = criteria.Wanted(DnsRecord("MX", "@", "mail.example.net", 10), HOME)
OURS = Mx(10, "mail.example.net")
NS1 = observed.Server("ns1.example.net", "192.0.2.1")
NS2 = observed.Server("ns2.example.net", "192.0.2.2")
RESOLVER = observed.Server("", "192.0.2.53")
Seen = tuple[criteria.Wanted, observed.Observation]


def says(*values: Value, server: observed.Server = NS1, ttl: int = 300) -> observed.Answer:
    """Return a server's answer."""
    return observed.Answer(server, "answered", "", values, ttl if values else None)


def fails(kind: observed.Kind, detail: str, server: observed.Server = NS1) -> observed.Answer:
    """Return what is no answer."""
    return observed.Answer(server, kind, detail)


def judged(
    *answers: observed.Answer, resolved: tuple[observed.Answer, ...] = ()
) -> judging.Verdict:
    """Return the verdict on the MX record."""
    return judging.judge(MX, observed.Observation(HOME, "MX", answers, None, resolved))


def test_a_record_that_every_server_has_is_a_match() -> None:
    """With the servers by name, and nothing to do."""
    assert judged(says(OURS), says(OURS, server=NS2)) == judging.Verdict(
        MX.record,
        HOME,
        "match",
        ("10 mail.example.net.",),
        "ns1.example.net (192.0.2.1) and ns2.example.net (192.0.2.2) have it.",
        "",
        (
            judging.ServerVerdict(
                "ns1.example.net (192.0.2.1)",
                "match",
                ("10 mail.example.net.",),
                "the record is there",
            ),
            judging.ServerVerdict(
                "ns2.example.net (192.0.2.2)",
                "match",
                ("10 mail.example.net.",),
                "the record is there",
            ),
        ),
        held=True,
    )


@pytest.mark.parametrize(
    ("values", "status", "detail", "remedy"),
    [
        (
            [],
            "missing",
            "there is no MX record at example.com",
            "At example.com, add the record MX 10 mail.example.net.",
        ),
        (
            [Mx(20, "mail.example.net")],
            "conflict",
            "the MX record for mail.example.net has priority 20 in place of 10",
            (
                "At example.com, change the priority of the MX record for mail.example.net from 20 "
                "to 10."
            ),
        ),
        (
            [OURS, Mx(20, "mail.example.net")],
            "conflict",
            "the MX record for mail.example.net is there with priority 20, too",
            "At example.com, remove the record MX 20 mail.example.net.",
        ),
        (
            [Mx(5, "mail.example.net"), Mx(20, "mail.example.net")],
            "conflict",
            "the MX record for mail.example.net is there with priority 5 and 20, too",
            (
                "At example.com, remove the records MX 5 mail.example.net. and MX 20 "
                "mail.example.net., and add MX 10 mail.example.net."
            ),
        ),
        (
            [Mx(0, "")],
            "conflict",
            "a null MX record at example.com says that it takes no mail",
            "At example.com, remove the record MX 0 ., and add MX 10 mail.example.net.",
        ),
        (
            [OURS, Mx(0, "")],
            "conflict",
            "a null MX record at example.com says that it takes no mail",
            "At example.com, remove the record MX 0 .",
        ),
        (
            [Mx(30, "mx.example.org")],
            "conflict",
            "mail for example.com goes to mx.example.org (priority 30)",
            (
                "At example.com, remove the record MX 30 mx.example.org., and add MX 10 "
                "mail.example.net."
            ),
        ),
        (
            [OURS, Mx(10, "mx.example.org"), Mx(5, "old.example.org"), Mx(20, "b.example.org")],
            "conflict",
            (
                "mail for example.com goes to old.example.org (priority 5) and mx.example.org "
                "(priority 10)"
            ),
            "At example.com, remove the records MX 5 old.example.org. and MX 10 mx.example.org.",
        ),
    ],
)
def test_what_is_wrong_with_mx_records_is_said_with_what_to_do(
    values: list[Value], status: str, detail: str, remedy: str
) -> None:
    """One that is not there, ours with another priority, a null MX, and others' before ours."""
    verdict = judged(says(*values))
    assert (verdict.status, verdict.remedy) == (status, remedy)
    assert verdict.detail == f"ns1.example.net (192.0.2.1): {detail}."


def test_a_backup_that_comes_after_ours_is_advice() -> None:
    """Whoever tries it does so when ours can't be reached."""
    verdict = judged(says(OURS, Mx(20, "backup.example.org")))
    assert verdict.status == "match"
    assert verdict.advice == (
        (
            "backup.example.org (priority 20) takes mail while the service can't be reached. "
            "Remove its MX record if it is no backup of yours."
        ),
    )


def test_other_records_of_the_service_are_no_rivals() -> None:
    """A service may have several mail servers, of one priority, too."""
    rows = (MX.record, DnsRecord("MX", "@", "MX2.example.net.", 10), DnsRecord("TXT", "@", "x"))
    wanted = criteria.wanted_records(DnsRecordSet(parse_domain(HOME), rows))
    answer = says(OURS, Mx(10, "mx2.example.net"))
    observation = observed.Observation(HOME, "MX", (answer,))
    verdicts = [judging.judge(each, observation) for each in wanted[:2]]
    assert [(verdict.status, verdict.advice) for verdict in verdicts] == [("match", ())] * 2


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ((10, 15, 20), ["match", "match"]),
        ((10, 15), ["match", "missing"]),
        ((10, 10, 20), ["conflict", "conflict"]),
        ((15, 20), ["missing", "match"]),
        ((15,), ["conflict", "conflict"]),
    ],
)
def test_others_are_measured_by_the_first_of_the_service(
    found: tuple[int, ...], expected: list[str]
) -> None:
    """A backup between two mail servers of the service gets nothing while one can be reached."""
    hosts = {10: "mail.example.net", 20: "mx2.example.net"}
    foreign = [Mx(each, "mx.example.org") for each in found if each == 15 or found.count(each) > 1]
    rows = [DnsRecord("MX", "@", host, priority) for priority, host in hosts.items()]
    wanted = criteria.wanted_records(DnsRecordSet(parse_domain(HOME), tuple(rows)))
    ours = [Mx(each, hosts[each]) for each in set(found) & set(hosts)]
    observation = observed.Observation(HOME, "MX", (says(*ours, *foreign),))
    assert [judging.judge(each, observation).status for each in wanted] == expected


@pytest.mark.parametrize(
    ("answer", "words", "remedy"),
    [
        (fails("silent", "no answer came"), "told nothing (no answer came)", "See that these"),
        (fails("lame", "REFUSED"), "is not in charge of example.com (REFUSED)", "Check the option"),
        (fails("failed", "SERVFAIL"), "failed (SERVFAIL)", "Mend these servers, whose logs"),
        (fails("unfound", "no address"), "told nothing (no address)", "Check the option"),
        (fails("garbled", ""), "told nothing", "See that these servers answer for example.com"),
    ],
)
def test_what_is_no_answer_says_nothing_of_the_record(
    answer: observed.Answer, words: str, remedy: str
) -> None:
    """Alone it makes the record unknown; beside a match, it is advice."""
    verdict = judged(answer)
    assert verdict.status == "unknown"
    assert verdict.detail == f"ns1.example.net (192.0.2.1) {words}."
    assert verdict.remedy.startswith(remedy)
    beside = judged(answer, says(OURS, server=NS2))
    assert (beside.status, beside.detail) == ("match", "ns2.example.net (192.0.2.2) has it.")
    assert beside.advice == (
        (
            f"ns1.example.net (192.0.2.1) {words}, so whether the MX record at example.com is "
            "there, too, is not known."
        ),
    )
    assert judged(answer, says(server=NS2)).status == "missing"


def test_nobody_to_ask_is_unknown() -> None:
    """And says what would help: it is the domain that is delegated, not a name in it."""
    name = f"s._domainkey.{HOME}"
    wanted = criteria.Wanted(DnsRecord("TXT", "s._domainkey", "v=DKIM1; k=rsa; p=AAAA"), name)
    verdict = judging.judge(wanted, observed.Observation(name, "TXT"))
    assert verdict.status == "unknown"
    assert verdict.detail == f"No authoritative name server of {name} could be found."
    assert verdict.remedy == (
        "See that example.com is delegated, or give its name servers in the option nameservers."
    )


def test_servers_that_do_not_agree_are_told_apart() -> None:
    """The record is published already; what is behind has to catch up."""
    verdict = judged(says(OURS), says(server=NS2))
    assert verdict.status == "missing"
    assert verdict.detail == (
        "ns1.example.net (192.0.2.1): the record is there; ns2.example.net (192.0.2.2): there is "
        "no MX record at example.com."
    )
    assert verdict.remedy == (
        "Wait until the zone at ns2.example.net (192.0.2.2) is the one at ns1.example.net "
        "(192.0.2.1), or mend the transfer between them."
    )


def test_the_worst_of_several_wrongs_is_mended_first() -> None:
    """What draws mail away is worse than what is not there."""
    verdict = judged(says(), says(Mx(1, "mx.example.org"), server=NS2))
    assert verdict.status == "conflict"
    assert verdict.found == ("1 mx.example.org.",)
    assert verdict.remedy.startswith("At example.com, remove the record MX 1 mx.example.org.")


def test_a_long_ttl_is_told_while_something_has_to_change() -> None:
    """What is there stays in resolvers for as long; what is right may stay."""
    long = judged(says(Mx(1, "mx.example.org"), ttl=172800))
    assert long.advice == (
        (
            "Resolvers may keep what is at example.com now for 48 hours after a change: its TTL is "
            "172800 s. Lower it before you change it."
        ),
    )
    assert judged(says(Mx(1, "mx.example.org"), ttl=86400)).advice == ()
    assert judged(says(OURS, ttl=172800)).advice == ()


def test_signatures_that_do_not_hold_are_a_conflict() -> None:
    """The records are there for whoever does not validate, and for nobody else."""
    verdict = judged(says(OURS), resolved=(fails("bogus", "SERVFAIL", RESOLVER),))
    assert verdict.status == "conflict"
    assert verdict.detail == (
        "The authoritative name servers have it, but its DNSSEC signatures do not hold at "
        "192.0.2.53, so mail servers that validate do without it."
    )
    assert verdict.remedy == (
        "Have the zone of example.com signed anew, or have the DS record at its registrar replaced "
        "by one for the zone's key, or removed."
    )


def test_a_resolver_that_is_behind_is_advice() -> None:
    """It keeps what it knew, which is no mistake of anybody."""
    verdict = judged(says(OURS), resolved=(says(server=RESOLVER),))
    assert verdict.status == "match"
    assert verdict.advice == (
        (
            "192.0.2.53, a resolver, does not give the MX record at example.com yet. It may keep "
            "what it knew until that is too old."
        ),
    )


@pytest.mark.parametrize(
    ("resolved", "expected"),
    [
        ([says(OURS)], True),
        ([says(OURS), fails("silent", "")], True),
        ([fails("silent", "")], False),
        ([], False),
        ([says(OURS), says()], False),
        ([says(OURS), fails("bogus", "SERVFAIL")], False),
    ],
)
def test_a_record_is_resolved_where_every_resolver_that_told_gives_it(
    resolved: list[observed.Answer], expected: bool
) -> None:
    """One that can't be reached is no witness, and one witness there has to be."""
    observation = observed.Observation(HOME, "MX", (says(OURS),), None, tuple(resolved))
    assert judging.is_resolved(MX, observation) is expected


@pytest.mark.parametrize(
    ("answers", "resolved", "expected"),
    [
        ([says(OURS), says(OURS)], True, "active"),
        ([says(OURS), says(OURS)], False, "published"),
        ([says(OURS), fails("silent", "")], True, "unknown"),
        ([says(), fails("silent", "")], False, "created"),
        ([says(OURS), says(Mx(0, ""))], True, "created"),
        ([], True, "unknown"),
    ],
)
def test_the_stage_is_as_far_as_the_last_record(
    answers: list[observed.Answer], resolved: bool, expected: str
) -> None:
    """Something known to be wrong comes before something that is not known."""
    verdicts = [judged(answer) for answer in answers]
    assert judging.stage(verdicts, resolved=resolved) == expected


values = st.lists(
    st.one_of(
        st.builds(Mx, st.integers(0, 65535), st.sampled_from(["", "mail.example.net", "x.y"])),
        st.builds(txt, st.sampled_from(["v=spf1 ~all", "v=DKIM1; p=", 'v=DKIM1; "p=\udc80']))
        | st.builds(txt, st.text(st.characters(max_codepoint=255), max_size=40)),
    ),
    max_size=4,
).map(tuple)
aliases = st.none() | st.just("other.example.org")
untold = st.builds(
    observed.Answer,
    st.just(NS1),
    st.sampled_from(sorted(set(get_args(observed.Kind)) - {"answered"})),
    st.sampled_from(["", "REFUSED"]),
    values,
    st.none() | st.integers(0, 2**31 - 1),
    aliases,
)
told = st.builds(
    observed.Answer, st.just(NS2), st.just("answered"), st.just(""), values, st.none(), aliases
)
wanted = st.sampled_from(
    [
        MX,
        criteria.Wanted(DnsRecord("TXT", "@", "v=spf1 include:example.net ~all"), HOME),
        criteria.Wanted(DnsRecord("TXT", "s._domainkey", "v=DKIM1; k=rsa; p=AAAA"), f"s.{HOME}"),
        criteria.Wanted(DnsRecord("TXT", "@", "anything else"), HOME),
    ]
)


def observations(answers: st.SearchStrategy[observed.Answer]) -> st.SearchStrategy[Seen]:
    """Return how to make up what is seen of a record, with these answers of authorities."""
    return st.builds(
        lambda each, *rest: (each, observed.Observation(each.name, "", *rest)),
        wanted,
        st.lists(answers, max_size=4).map(tuple),
        st.none() | told,
        st.lists(untold | told, max_size=4).map(tuple),
    )


@given(observations(untold))
def test_where_nobody_answers_nothing_is_missing(seen: Seen) -> None:
    """Whatever else came, from whom: it is unknown, and so is the domain's stage."""
    verdict = judging.judge(*seen)
    assert verdict.status == "unknown"
    assert verdict.found == ()
    assert judging.stage([verdict], resolved=True) == "unknown"


@given(observations(untold | told))
def test_any_answers_come_to_a_verdict(seen: Seen) -> None:
    """With a remedy exactly where there is something to do, in text that can be printed."""
    verdict = judging.judge(*seen)
    assert (verdict.status == "match") == (not verdict.remedy)
    assert "\n" not in verdict.detail + verdict.remedy
    assert all(value.isprintable() for value in verdict.found)
    assert judging.is_resolved(*seen) in {True, False}
