# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What is said of records that real name servers hold, or do not."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ansible_collections.postroom.email.plugins.module_utils._api.applying.observing import Asked
from ansible_collections.postroom.email.plugins.module_utils._api.errors import InvalidInput
from ansible_collections.postroom.email.plugins.module_utils._api.records.notation import (
    quoted,
    txt_strings,
)
from ansible_collections.postroom.email.plugins.module_utils._api.records.sets import Mx, txt
from ansible_collections.postroom.email.tests.dns.verification.scene import (
    DKIM,
    SECONDS,
    published,
    seen,
    shortfall,
    statuses,
    zone,
)
from ansible_collections.postroom.email.tests.support.bind import BindServer, running

#: As if somebody had given the lines of a zone file where a provider adds the quotes.
IN_QUOTES = quoted(txt_strings(quoted(txt_strings(DKIM))))
#: Domains within a zone of their own name, or within wild.example.
ZONES = {
    "right.example": published("right.example"),
    "bare.example": "",
    "null.example": zone("null.example", mx="0 ."),
    "rival.example": zone("rival.example", mx="10 mail.example.net.;5 mx.example.org."),
    "backup.example": zone("backup.example", mx="10 mail.example.net.;50 mx.example.org."),
    "moved.example": zone("moved.example", mx="20 mail.example.net."),
    "other.example": zone("other.example", spf="v=spf1 a -all"),
    "late.example": zone("late.example", spf="v=spf1 a -all include:spf.example.net"),
    "two.example": zone("two.example", beside='@ 300 TXT "v=spf1 a -all"'),
    "revoked.example": zone("revoked.example", dkim='"v=DKIM1; k=rsa; p="'),
    "wrong.example": zone("wrong.example", dkim='"v=DKIM1; k=rsa; p=MIIBCgKCAQEA"'),
    "cut.example": zone("cut.example", dkim=quoted(txt_strings(DKIM)[:1])),
    "marks.example": zone("marks.example", dkim=IN_QUOTES),
    # Without quotes, a zone file's semicolon begins a comment.
    "unquoted.example": zone("unquoted.example", dkim=DKIM.split(";")[0]),
    "escaped.example": zone("escaped.example", dkim=quoted(txt_strings(DKIM.replace(";", "\\;")))),
    "swapped.example": zone("swapped.example", dkim=quoted(txt_strings(DKIM)[::-1])),
    "slow.example": zone("slow.example", beside="@ 172800 MX 5 old.example.org.").replace(
        "300 IN MX", "172800 IN MX"
    ),
    "alias.example": "\n".join(
        [
            "shop IN CNAME shops.example.org.",
            zone("inside.alias.example").rsplit("service.", 1)[0],
            "service._domainkey.inside 300 IN CNAME key",
            f"key 300 IN TXT {quoted(txt_strings(DKIM))}",
            zone("astray.alias.example").rsplit("service.", 1)[0],
            "service._domainkey.astray 300 IN CNAME nothing",
        ]
    ),
    "wildalias.example": "* 300 IN CNAME parking.example.org.",
    "wild.example": (
        '* 300 IN MX 1 parking.example.org.\n* 300 IN TXT "v=spf1 -all"\nwww IN A 127.0.0.1\n'
        # As the wildcard answers for others.
        'own 300 IN TXT "v=spf1 -all"'
    ),
}


@pytest.fixture(scope="module")
def bind(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BindServer]:
    """Run an authority for all of these."""
    with running(tmp_path_factory.mktemp("bind"), ZONES) as server:
        yield server


def test_records_that_are_there_are_a_match(bind: BindServer) -> None:
    """All three, with what is there as it is; the stage is as far as the servers can tell."""
    verification = seen("right.example", bind)
    assert statuses(verification) == ["match"] * 3
    assert verification.verified
    assert verification.stage == "published"
    assert shortfall(verification) == ""
    assert verification.verdicts[0].detail == f"{bind} has it."
    current = verification.current["right.example", "MX"]
    assert current == ("right.example", "MX", 300, (Mx(10, "mail.example.net"),))
    assert verification.current["service._domainkey.right.example", "TXT"] is not None


def test_a_domain_without_records_is_created(bind: BindServer) -> None:
    """What is not there is known to be not there, and is told line by line."""
    verification = seen("bare.example", bind)
    assert statuses(verification) == ["missing"] * 3
    assert verification.stage == "created"
    assert verification.current["bare.example", "MX"] == ("bare.example", "MX", 0, ())
    assert shortfall(verification).splitlines()[0] == (
        f"bare.example MX (missing): {bind}: there is no MX record at bare.example. Add "
        "the record MX 10 mail.example.net."
    )


@pytest.mark.parametrize(
    ("domain", "place", "status", "words"),
    [
        ("null.example", 0, "conflict", "a null MX record at null.example says"),
        ("rival.example", 0, "conflict", "goes to mx.example.org (priority 5)"),
        ("moved.example", 0, "conflict", "has priority 20 in place of 10"),
        ("other.example", 1, "missing", "is without include:spf.example.net"),
        ("late.example", 1, "conflict", "has include:spf.example.net after all"),
        ("two.example", 1, "conflict", "there are 2 SPF records"),
        ("revoked.example", 2, "conflict", "the published key is revoked"),
        ("wrong.example", 2, "conflict", "another key is published"),
        ("cut.example", 2, "conflict", "the published key was cut after"),
        ("marks.example", 2, "conflict", "the published text itself holds quotes"),
        ("unquoted.example", 2, "conflict", "has no key, which is its tag p"),
        ("escaped.example", 2, "conflict", "the published text itself holds backslashes"),
        ("swapped.example", 2, "conflict", "the published key is not a list of tags"),
    ],
)
def test_what_is_wrong_is_said_of_the_record_it_is_wrong_with(
    bind: BindServer, domain: str, place: int, status: str, words: str
) -> None:
    """And of no other; what to do about it follows."""
    verification = seen(domain, bind)
    expected = ["match"] * 3
    expected[place] = status
    assert statuses(verification) == expected
    assert words in verification.verdicts[place].detail
    assert verification.verdicts[place].remedy
    assert verification.stage == "created"


def test_a_backup_is_no_rival(bind: BindServer) -> None:
    """It is there, and it is told."""
    verification = seen("backup.example", bind)
    assert statuses(verification) == ["match"] * 3
    assert "mx.example.org (priority 50) takes mail" in verification.advice[0]


def test_a_long_time_to_live_is_told_of_what_has_to_change(bind: BindServer) -> None:
    """Two days of it, in this case."""
    verification = seen("slow.example", bind)
    assert statuses(verification) == ["conflict", "match", "match"]
    assert "its TTL is 172800 s" in verification.advice[0]


def test_a_domain_that_is_an_alias_can_hold_nothing(bind: BindServer) -> None:
    """Its own records are in conflict; those below it are not there."""
    verification = seen("shop.alias.example", bind)
    assert statuses(verification) == ["conflict", "conflict", "missing"]
    assert "is an alias (CNAME) of shops.example.org" in verification.verdicts[0].detail
    assert verification.aliases == {"shop.alias.example": "shops.example.org"}


def test_a_key_behind_an_alias_counts(bind: BindServer) -> None:
    """Where the same server has it; and where nobody tells what is there, it is not known."""
    verification = seen("inside.alias.example", bind)
    assert statuses(verification) == ["match"] * 3
    astray = seen("astray.alias.example", bind)
    assert statuses(astray) == ["match", "match", "unknown"]
    assert astray.stage == "unknown"
    assert astray.verdicts[2].detail == (
        f"{bind} says that service._domainkey.astray.alias.example is an alias (CNAME) of "
        "nothing.alias.example, and no resolver tells what is there."
    )


def test_a_wildcard_is_told_apart(bind: BindServer) -> None:
    """It answers for every name that nobody has published, ours among them."""
    verification = seen("new.wild.example", bind)
    assert statuses(verification) == ["missing"] * 3
    assert all("a wildcard record answers" in each.detail for each in verification.verdicts)
    assert [each and each.values for each in verification.current.values()] == [()] * 3
    www = seen("www.wild.example", bind)
    assert "there is no MX record at www.wild.example" in www.verdicts[0].detail
    assert "wildcard" not in www.verdicts[0].detail


def test_the_same_as_a_wildcard_gives_may_be_published(bind: BindServer) -> None:
    """The record set is the name's own, then, and nothing may be written over it."""
    verification = seen("own.wild.example", bind)
    sets = [each and each.values for each in verification.current.values()]
    assert sets == [(), (txt("v=spf1 -all"),), ()]
    assert "wildcard" not in verification.verdicts[1].detail


def test_a_wildcard_alias_is_in_nobodys_way(bind: BindServer) -> None:
    """What is published at a name takes its place."""
    verification = seen("new.wildalias.example", bind)
    assert statuses(verification) == ["missing"] * 3
    assert "a wildcard record answers" in verification.verdicts[0].detail
    assert verification.aliases == {}


def test_servers_that_do_not_agree_are_shown(
    bind: BindServer, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """One is behind: each is asked, and each is told with what it has."""
    old = {"right.example": zone("right.example", mx="5 old.example.org.")}
    with running(tmp_path_factory.mktemp("old"), old) as behind:
        verification = seen("right.example", bind, behind)
    mx = verification.verdicts[0]
    assert statuses(verification) == ["conflict", "match", "match"]
    assert [each.status for each in mx.servers] == ["match", "conflict"]
    assert mx.found == ("10 mail.example.net.", "5 old.example.org.")
    assert mx.detail == (
        f"{bind}: the record is there; {behind}: mail for right.example goes to old.example.org "
        "(priority 5)."
    )
    assert mx.remedy == (
        f"Wait until the zone at {behind} is the one at {bind}, or mend the transfer between them."
    )
    both = (Mx(10, "mail.example.net"), Mx(5, "old.example.org"))
    assert verification.current["right.example", "MX"] == ("right.example", "MX", 300, both)


def test_a_server_that_is_no_authority_is_lame(bind: BindServer) -> None:
    """It refuses, and that says nothing of the domain."""
    verification = seen("elsewhere.example", bind)
    assert statuses(verification) == ["unknown"] * 3
    assert verification.stage == "unknown"
    assert (
        verification.verdicts[0].detail
        == f"{bind} is not in charge of elsewhere.example (REFUSED)."
    )
    assert verification.verdicts[2].remedy == (
        "Check the option nameservers or, where it is not set, the delegation of elsewhere.example."
    )
    assert verification.current["elsewhere.example", "MX"] is None


@pytest.mark.parametrize(
    ("option", "asked"),
    [
        ("nameservers", (["192.0.2.1", "not a server"], [])),
        ("resolvers", ([], ["192.0.2.1", "not a server"])),
    ],
)
def test_what_is_no_server_is_named_with_its_option(
    option: str, asked: tuple[list[str], list[str]]
) -> None:
    """Before anybody is asked."""
    with pytest.raises(InvalidInput, match=f"{option}: 'not a server' is not"):
        Asked.parse(*asked, SECONDS)
