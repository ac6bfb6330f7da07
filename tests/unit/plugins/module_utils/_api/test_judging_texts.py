# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What name servers' answers mean: SPF and DKIM records, aliases and wildcards."""

from __future__ import annotations

import base64

import pytest

from ansible_collections.postroom.email.plugins.module_utils._api.models import DnsRecord
from ansible_collections.postroom.email.plugins.module_utils._api.records import (
    criteria,
    judging,
    lookups,
    observed,
)
from ansible_collections.postroom.email.plugins.module_utils._api.records.sets import Mx, txt

HOME = "example.com"
SIGNER = "service._domainkey.example.com"
SERVER = observed.Server("ns1.example.net", "192.0.2.1")
AT = "ns1.example.net (192.0.2.1): "
KEY = base64.b64encode(bytes(range(256)) * 2)[:392].decode()
WANTED_KEY = f"v=DKIM1; k=rsa; p={KEY}"
INCLUDE = "v=spf1 include:spf.example.net ~all"

MX = criteria.Wanted(DnsRecord("MX", "@", "mail.example.net", 10), HOME)
SPF = criteria.Wanted(DnsRecord("TXT", "@", INCLUDE), HOME)
DKIM = criteria.Wanted(DnsRecord("TXT", "service._domainkey", WANTED_KEY), SIGNER)
OTHER = criteria.Wanted(DnsRecord("TXT", "@", "site-verification=1"), HOME)


def says(*texts: str, alias: str | None = None) -> observed.Answer:
    """Return an answer that holds texts."""
    values = tuple(txt(text) for text in texts)
    return observed.Answer(SERVER, "answered", "", values, 300, alias)


def judged(
    wanted: criteria.Wanted,
    answer: observed.Answer,
    wildcard: observed.Answer | None = None,
    cost: lookups.Cost | None = None,
) -> judging.Verdict:
    """Return the verdict on one record."""
    seen = observed.Observation(wanted.name, wanted.record.type, (answer,), wildcard)
    return judging.judge(wanted, seen, cost)


@pytest.mark.parametrize(
    ("texts", "status", "detail", "remedy"),
    [
        (
            ["another text", "v=spf10 -all"],
            "missing",
            "there is no SPF record at example.com",
            "At example.com, add the record TXT v=spf1 include:spf.example.net ~all",
        ),
        (
            ["v=spf1 a -all"],
            "missing",
            "the SPF record at example.com is without include:spf.example.net",
            "At example.com, replace the SPF record by TXT v=spf1 a include:spf.example.net -all",
        ),
        (
            ["v=spf1 a -all include:spf.example.net"],
            "conflict",
            (
                "the SPF record at example.com has include:spf.example.net after all, where "
                "receivers do not look"
            ),
            "At example.com, replace the SPF record by TXT v=spf1 a include:spf.example.net -all",
        ),
        (
            ["v=spf1 include:spf.example.net a include:spf.example.net -all"],
            "conflict",
            (
                "the SPF record at example.com has include:spf.example.net more than once, and "
                "receivers look it up each time"
            ),
            "At example.com, replace the SPF record by TXT v=spf1 include:spf.example.net a -all",
        ),
        (
            [INCLUDE, "v=spf1 a -all"],
            "conflict",
            "there are 2 SPF records at example.com, and receivers then heed none",
            (
                "There are 2 SPF records, and receivers then heed none of them. Replace them by "
                "this one: v=spf1 a include:spf.example.net -all"
            ),
        ),
        (
            ["v=spf1 inclde:spf.example.net ~all"],
            "conflict",
            "the SPF record at example.com can't be read by receivers",
            (
                'The SPF term "inclde:spf.example.net" is no mechanism of SPF. Correct its name, '
                "or remove it."
            ),
        ),
        (
            ["v=spf1 -include:spf.example.net ~all"],
            "conflict",
            "the SPF record at example.com says otherwise of the service",
            (
                "The SPF record has -include:spf.example.net where the service asks for "
                "include:spf.example.net. Replace -include:spf.example.net by "
                "include:spf.example.net in it, or remove -include:spf.example.net."
            ),
        ),
    ],
)
def test_what_is_wrong_with_spf_is_said_with_the_text_to_publish(
    texts: list[str], status: str, detail: str, remedy: str
) -> None:
    """None, one without the service, one that ends before it, several, and broken ones."""
    verdict = judged(SPF, says(*texts))
    assert (verdict.status, verdict.detail) == (status, f"{AT}{detail}.")
    assert verdict.remedy == remedy


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        (INCLUDE, None),
        ("v=spf1 ip4:192.0.2.0/24 +INCLUDE:SPF.example.net. -all", None),
        ("v=spf1 include:spf.example.net redirect=other.example.org", None),
        (
            "v=spf1 include:spf.example.net all",
            "The SPF record at example.com lets anybody send with all. End it in ~all or -all.",
        ),
        (
            "v=spf1 include:spf.example.net ?all",
            "The SPF record at example.com lets anybody send with ?all. End it in ~all or -all.",
        ),
        (
            "v=spf1 include:spf.example.net",
            "The SPF record at example.com has no all, so it forbids nobody. End it in ~all.",
        ),
    ],
)
def test_an_spf_record_with_the_service_in_it_is_a_match(text: str, advice: str | None) -> None:
    """The rest is its owner's; what lets anybody send is worth a word."""
    verdict = judged(SPF, says("unrelated", text))
    assert (verdict.status, verdict.remedy) == ("match", "")
    assert verdict.advice == ((advice,) if advice else ())


def test_a_large_spf_record_is_a_match_with_advice() -> None:
    """It may not fit into an answer over UDP."""
    networks = " ".join(f"ip4:198.51.100.{number}" for number in range(25))
    verdict = judged(SPF, says(f"v=spf1 {networks} include:spf.example.net ~all"))
    assert verdict.status == "match"
    assert len(verdict.advice) == 1


@pytest.mark.parametrize(
    ("cost", "why", "remedy"),
    [
        (
            lookups.Cost(11, 3),
            "it takes more than 10 DNS look-ups",
            "take out what no mail of yours needs, or write ip4 and ip6 for include, a and mx",
        ),
        (
            lookups.Cost(10, 3),
            "3 of its DNS look-ups find nothing, and 2 may",
            "take out the terms whose domains do not exist any more",
        ),
        (
            lookups.Cost(2, 0, "a.example has include:b.example, but b.example has none"),
            "a.example has include:b.example, but b.example has none",
            "take out the term that leads there, or have that record mended",
        ),
    ],
)
def test_an_spf_record_that_costs_too_much_is_a_conflict(
    cost: lookups.Cost, why: str, remedy: str
) -> None:
    """Receivers give it up, and then it is as if it were not there, or worse."""
    verdict = judged(SPF, says(INCLUDE), cost=cost)
    assert verdict.status == "conflict"
    assert verdict.detail == (
        f"The SPF record at example.com is there, but receivers reject it: {why}."
    )
    assert verdict.remedy == f"At example.com, mend the SPF record: {remedy}."
    assert judged(SPF, says(INCLUDE), cost=lookups.Cost(10, 2)).status == "match"


UNCOUNTED = (
    "The DNS look-ups of the SPF record at example.com could not be counted to the end, so they "
    "may be more than the 10 that receivers allow: "
)
OTHER_RESOLVERS = "Give others in the option resolvers."


@pytest.mark.parametrize(
    ("cost", "advice"),
    [
        (
            lookups.Cost(1, 0, failed=("a.example",)),
            f"{UNCOUNTED}no resolver told of a.example. {OTHER_RESOLVERS}",
        ),
        (
            lookups.Cost(5, 0, failed=("a.example", "b.example", "c.example", "d.example")),
            (
                f"{UNCOUNTED}no resolver told of a.example, b.example, c.example and 1 more. "
                f"{OTHER_RESOLVERS}"
            ),
        ),
        (
            lookups.Cost(1, 0, unfollowed=("include:%{d}.example",)),
            f"{UNCOUNTED}where include:%{{d}}.example leads depends on the sender.",
        ),
        (
            lookups.Cost(3, 0, voids_ipv6=3),
            (
                "For a sender of IPv6, 3 of the DNS look-ups of the SPF record at example.com find "
                "nothing, and some receivers allow 2. Write ip4 for a and mx of hosts that have no "
                "address of IPv6."
            ),
        ),
    ],
)
def test_look_ups_that_may_be_too_many_are_advice(cost: lookups.Cost, advice: str) -> None:
    """What could not be counted, and what receivers of IPv6 alone may mind."""
    verdict = judged(SPF, says(INCLUDE), cost=cost)
    assert (verdict.status, verdict.advice) == ("match", (advice,))


@pytest.mark.parametrize("text", [WANTED_KEY, f"k=rsa; p={KEY[:100]} {KEY[100:]}; s=email; n=note"])
def test_a_key_that_says_the_same_is_a_match(text: str) -> None:
    """Spaces, order and harmless tags are its owner's."""
    verdict = judged(DKIM, says("unrelated", text))
    assert (verdict.status, verdict.remedy, verdict.advice) == ("match", "", ())


def test_a_key_that_is_not_there_is_missing() -> None:
    """Whatever else the name holds."""
    verdict = judged(DKIM, says("some other text"))
    assert verdict.status == "missing"
    assert verdict.detail == f"{AT}there is no DKIM record at {SIGNER}."
    assert verdict.remedy == f"At {SIGNER}, add the record TXT {WANTED_KEY}"


@pytest.mark.parametrize(
    ("text", "detail"),
    [
        ("v=DKIM1; p=", "the published key is revoked: its tag p is empty"),
        (
            f"v=DKIM1; k=rsa; p={KEY[:200]}",
            "the published key was cut after 200 of 392 characters",
        ),
        ("v=DKIM1; k=rsa; p=BBBB", "another key is published"),
        (
            f'"v=DKIM1; k=rsa; p={KEY[:100]}" "{KEY[100:]}"',
            "the published text itself holds quotes, so receivers cannot read the key",
        ),
        (
            f"v=DKIM1\\; k=rsa\\; p={KEY}",
            "the published text itself holds backslashes, so receivers cannot read the key",
        ),
        (f"v=DKIM1; k=ed25519; p={KEY}", "the published key is of the type ed25519, not rsa"),
    ],
)
def test_what_became_of_a_key_is_said_with_what_to_publish(text: str, detail: str) -> None:
    """Revoked, cut, another, in quotes that are part of it, or of another sort."""
    verdict = judged(DKIM, says("unrelated", text))
    assert verdict.status == "conflict"
    assert verdict.detail == f"{AT}at {SIGNER} {detail}."
    assert verdict.remedy.startswith(f"At {SIGNER}: ")
    assert verdict.remedy.endswith(f" The wanted record is TXT {WANTED_KEY}")


def test_two_keys_under_one_selector_are_a_conflict() -> None:
    """A receiver may take either."""
    verdict = judged(DKIM, says(WANTED_KEY, "v=DKIM1; k=rsa; p=AAAA"))
    assert verdict.status == "conflict"
    assert verdict.detail == (
        f"{AT}at {SIGNER} there are 2 DKIM keys, and receivers may take any of them."
    )


def test_any_other_text_is_wanted_as_it_is() -> None:
    """A service may ask for more than the contract shows."""
    assert judged(OTHER, says("site-verification=1", INCLUDE)).status == "match"
    verdict = judged(OTHER, says("site-verification=2"))
    assert verdict.status == "missing"
    assert verdict.remedy == "At example.com, add the record TXT site-verification=1"


@pytest.mark.parametrize("texts", [[], [INCLUDE]])
def test_a_domain_that_is_an_alias_is_a_conflict(texts: list[str]) -> None:
    """Whatever is found behind the alias: no record may stand beside it."""
    verdict = judged(SPF, says(*texts, alias="shop.example.org"))
    assert verdict.status == "conflict"
    assert verdict.detail == (
        f"{AT}example.com is an alias (CNAME) of shop.example.org, so it can hold no other record."
    )
    assert verdict.remedy == (
        "At example.com, replace the CNAME record by A and AAAA records, and add TXT "
        "v=spf1 include:spf.example.net ~all"
    )


def test_a_key_may_be_published_behind_an_alias() -> None:
    """That is how services change keys on their own; without a key there, it is in the way."""
    assert judged(DKIM, says(WANTED_KEY, alias="key.example.net")).status == "match"
    verdict = judged(DKIM, says("nothing", alias="key.example.net"))
    assert verdict.status == "conflict"
    assert verdict.detail == (
        f"{AT}{SIGNER} is an alias (CNAME) of key.example.net, and there is no DKIM record at "
        "key.example.net."
    )
    assert verdict.remedy == f"At {SIGNER}, replace the CNAME record by TXT {WANTED_KEY}"


def test_a_key_behind_an_alias_may_not_be_known() -> None:
    """Then nothing is known of it; a domain that is an alias is wrong all the same."""
    astray = says(alias="key.example.net")._replace(detail="no resolver tells what is there")
    verdict = judged(DKIM, astray)
    assert verdict.status == "unknown"
    assert verdict.detail == (
        f"ns1.example.net (192.0.2.1) says that {SIGNER} is an alias (CNAME) of "
        "key.example.net, and no resolver tells what is there."
    )
    assert verdict.remedy == (
        "Set the option resolvers to some that can look up key.example.net, and run again."
    )
    assert judged(DKIM, astray, says(alias="key.example.net")).status == "missing"
    assert judged(SPF, astray).status == "conflict"


@pytest.mark.parametrize(
    ("answer", "wildcard"),
    [
        (says("a", "b"), says("b", "a")),
        (says("v=DKIM1; p="), says("v=DKIM1; p=")),
        (says(alias="parking.example.org"), says(alias="parking.example.org")),
    ],
)
def test_a_wildcard_is_not_the_record(answer: observed.Answer, wildcard: observed.Answer) -> None:
    """Even where it gives what would be in conflict: the name itself is free."""
    verdict = judged(DKIM, answer, wildcard)
    assert verdict.status == "missing"
    assert verdict.detail == (
        f"{AT}nothing is published at {SIGNER} itself: a wildcard record answers."
    )
    assert verdict.remedy == f"At {SIGNER}, add the record TXT {WANTED_KEY}"


@pytest.mark.parametrize(
    "wildcard",
    [None, says(), says("c"), observed.Answer(SERVER, "silent", "", (txt("a"), txt("b")))],
)
def test_what_no_wildcard_gives_is_of_the_name_itself(wildcard: observed.Answer | None) -> None:
    """So it is judged as it stands, and so is nothing at all."""
    assert "wildcard" not in judged(DKIM, says("a", "b"), wildcard).detail
    assert "wildcard" not in judged(DKIM, says(), wildcard).detail


def test_a_wildcard_that_gives_what_is_wanted_will_do() -> None:
    """Receivers can't tell."""
    assert judged(DKIM, says(WANTED_KEY), says(WANTED_KEY)).status == "match"
    mx = observed.Answer(SERVER, "answered", "", (Mx(10, "mail.example.net"),), 300)
    assert judged(MX, mx, mx).status == "match"
