# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""DKIM keys compared, and plans to publish and withdraw records."""

from __future__ import annotations

import base64
import re

import pytest

from ansible_collections.postroom.email.plugins.module_utils._api.dns import dkim
from ansible_collections.postroom.email.plugins.module_utils._api.dns.compare import (
    Comparison,
    Wanted,
    compare,
)
from ansible_collections.postroom.email.plugins.module_utils._api.dns.plan import (
    Publication,
    Surroundings,
    as_diff,
    plan_absence,
    plan_presence,
)
from ansible_collections.postroom.email.plugins.module_utils._api.dns.rrset import (
    Mx,
    RecordSet,
    Txt,
    Value,
    txt,
)
from ansible_collections.postroom.email.plugins.module_utils._api.dns.spf_check import checker
from ansible_collections.postroom.email.plugins.module_utils._api.dns.spf_lookups import Lookup
from ansible_collections.postroom.email.plugins.module_utils._api.errors import Refused
from ansible_collections.postroom.email.tests.support.recordsets import (
    DOMAIN,
    KEY,
    OURS,
    SELECTOR,
    SPF,
    current,
    key,
    keys,
    mx,
    texts,
    wanted,
)

# As long as a key of 2048 bits; all RSA keys of one length begin alike.
BEGINNING = "MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA"
RSA = BEGINNING + base64.b64encode(bytes(range(255))).decode() + "IDAQAB"
OTHER_KEY = BEGINNING + base64.b64encode(bytes(range(255, 0, -1))).decode() + "IDAQAB"
WANTED = f"v=DKIM1; k=rsa; p={RSA}"
SHORT = "v=DKIM1; k=ed25519; p=11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo="


@pytest.mark.parametrize(
    "text",
    [
        WANTED,
        f"p={RSA}",
        f"v=DKIM1; k=rsa; p={RSA[:100]}\t\r\n {RSA[100:]}",
        f'v=DKIM1; n=a "quoted" note; t=s; g=*; x=y; p={RSA}',
        f"v=DKIM1; h=sha1:sha256; s=email; p={RSA}",
        f"v=DKIM1; h = sha256 : sha1; s=other : *; t=s; p={RSA}",
    ],
)
def test_the_same_key_in_other_words(text: str) -> None:
    """Spaces, order, defaults and tags that change nothing; other texts do not count."""
    compared = with_key("google-site-verification=abc", text, "v=spf1 -all", "v=DMARC1; p=none")
    assert (compared.status, compared.change, compared.advice) == ("match", "", ())
    assert dkim.same_key(WANTED, text)


def with_key(*found: str, wanted: str = WANTED) -> Comparison:
    """Compare a wanted key with texts."""
    return compare(Wanted(SELECTOR, txt(wanted), (txt(wanted),)), list(map(txt, found)))


@pytest.mark.parametrize("found", [[], ["v=DMARC1; p=none", "MS=ms1", ""]])
def test_no_key(found: list[str]) -> None:
    """If nothing at the name is meant to be a key, it is missing, and added."""
    compared = with_key(*found)
    assert (compared.status, compared.code) == ("missing", "dkim_missing")
    assert compared.values == tuple(map(txt, [*found, WANTED]))


@pytest.mark.parametrize(
    ("text", "code", "detail"),
    [
        ("v=DKIM1; k=rsa; p=", "dkim_revoked", ""),
        ("v=DKIM1; k=rsa", "dkim_no_key", ""),
        (f"v=DKIM1; p={OTHER_KEY}", "dkim_other_key", ""),
        (SHORT, "dkim_type", "ed25519, not rsa"),
        (f"v=DKIM1; k=RSA; p={RSA}", "dkim_type", "RSA, not rsa"),
        (f"v=DKIM1; p={RSA[:237]}", "dkim_truncated", "237 of 390 characters"),
        (f"v=DKIM1; p={RSA[:237]}{RSA[260:]}", "dkim_altered", "up to character 237 and"),
        (f'v=DKIM1; p={RSA[:237]}" "{RSA[237:]}', "dkim_quoted", "contains quotes,"),
        (f"v=DKIM1\\; k=rsa\\; p={RSA}", "dkim_quoted", "contains backslashes,"),
        (f"p={RSA}; k=rsa; v=DKIM1", "dkim_version", ""),
        (f"v=DKIM1; p={RSA[:9]}; p={RSA}", "dkim_repeated_tag", "the tag p"),
        (f"v=DKIM1 k=rsa; p={RSA};;", "dkim_malformed", ""),
        (f"v=DKIM1; h=sha1; p={RSA}", "dkim_hash", "h=sha1"),
        (f"v=DKIM1; s=a:b; p={RSA}", "dkim_service", "s=a:b"),
    ],
)
def test_a_key_that_does_not_do(text: str, code: str, detail: str) -> None:
    """Each kind of conflict has its own code, and the edit replaces the key."""
    compared = with_key("v=spf1 -all", text)
    assert (compared.status, compared.code, compared.change) == ("conflict", code, code)
    assert detail in compared.detail
    assert compared.remedy.startswith(f"At {SELECTOR}: ")
    assert compared.values == (txt("v=spf1 -all"), txt(WANTED))


def test_two_keys_at_a_selector() -> None:
    """Receivers may take either, so the edit leaves only the wanted one, in its current words."""
    ours = f"v=DKIM1;p={RSA}"
    both = with_key(f"v=DKIM1; p={OTHER_KEY}", ours)
    assert (both.status, both.code, both.values) == ("conflict", "dkim_several", (txt(ours),))
    neither = with_key(f"v=DKIM1; p={OTHER_KEY}", "v=DKIM1; p=")
    assert (neither.code, neither.values) == ("dkim_several", (txt(WANTED),))


def test_messages_hold_only_the_beginnings_of_keys() -> None:
    """They are long, and look alike; what is no key stays, and so does what comes after."""
    assert dkim.abridged(f"TXT v=DKIM1; p={RSA}; t=s") == f"TXT v=DKIM1; p={RSA[:20]}...; t=s"
    for text in (f"v=DKIM1; k=rsa; p={RSA[:30]}", f"{'label' * 12}.example", "v=spf1 ~all"):
        assert dkim.abridged(text) == text


def test_testing_is_advised_against() -> None:
    """A key with t=y is the key, but receivers may take unsigned mail as well."""
    compared = with_key(f"v=DKIM1; t=y:s; p={RSA}")
    assert (compared.status, len(compared.advice)) == ("match", 1)
    assert with_key(f"v=DKIM1;t=y;p={RSA}", wanted=f"v=DKIM1; t=y; p={RSA}").advice == ()


def test_keys_of_another_type_are_wanted_as_well() -> None:
    """An Ed25519 key is 44 characters, and is compared like any other."""
    assert with_key(SHORT.replace(" ", ""), wanted=SHORT).status == "match"
    assert with_key(WANTED, wanted=SHORT).code == "dkim_type"
    assert "20 of 44" in with_key(SHORT[:-24], wanted=SHORT).detail
    assert with_key(SHORT.replace("qYA", "qYB"), wanted=SHORT).code == "dkim_other_key"


@pytest.mark.parametrize("wanted", ["no tags", "v=DKIM1; p=", "v=DKIM1; s=tlsrpt; p=ab"])
def test_whatever_is_wanted_matches_itself(wanted: str) -> None:
    """Even what is no key that mail is judged by: the service knows what it asks for."""
    assert dkim.problem(wanted, wanted) is None
    assert dkim.problem(wanted, WANTED) is not None
    assert dkim.same_key(wanted, wanted)
    assert not dkim.same_key(wanted, WANTED)


OTHER = Mx(20, "mx.other.example")
NOTE = Txt((b"cut ", b"by its owner \xff"))
LONG = "v=spf1 " + " ".join(f"ip4:192.0.{n}.0/24" for n in range(30)) + f" {SPF[7:]}"


def present(*found: RecordSet) -> Publication:
    """Plan to publish; wanted sets that are not given exist already."""
    return plan_presence(wanted(), current(*wanted()) | current(*found), {})


def absent(*found: RecordSet) -> Publication:
    """Plan to withdraw."""
    return plan_absence(wanted(), current(*found), {})


def test_an_expensive_spf_record_is_neither_written_nor_suggested() -> None:
    """MX and DKIM are planned; the message names the terms that take the look-ups."""

    def ask(name: str, kind: str) -> Lookup:
        assert kind == "TXT"
        terms = " include:leaf.example" * int(name[1]) if name[1].isdigit() else ""
        return Lookup("found", (f"v=spf1{terms} -all",))

    check = checker(ask, 5)
    for before, advised in (
        ("v=spf1 include:s9.example -all", False),
        ("v=spf1 include:s8.example -all", True),
    ):
        plan = plan_presence(wanted(), current(texts(before)), {}, check=check)
        written = [change.subject.type for change in plan.changes]
        assert written == (["MX", "TXT", "TXT"] if advised else ["MX", "TXT"])
        assert len(plan.refused) == (not advised)
        assert all("(include:s9.example 10, include:spf" in text for text in plan.refused.values())
    two = ["v=spf1 include:s5.example -all", "v=spf1 include:s4.example -all"]
    with pytest.raises(Refused, match=r"there are 2 SPF records.*First take out") as caught:
        plan_presence(wanted(), current(texts(*two)), {}, check=check)
    assert "Replace them" not in str(caught.value)


#: Where the service sends from, and what owners' records lead to.
SENDERS = {
    ("spf.example.net", "TXT"): ("v=spf1 -ip4:192.0.2.99 a:out.example.net ip6:2001:db8::/48",),
    ("out.example.net", "A"): ("192.0.2.7",),
    ("mail.example.com", "A"): ("192.0.2.7",),
    (DOMAIN, "A"): ("192.0.2.7",),
    ("open.example", "TXT"): ("v=spf1 +all",),
    ("closed.example", "TXT"): ("v=spf1 ip4:198.51.100.0/24 -all",),
    ("odd.example", "TXT"): ("v=spf1 -a:unknown.example ip4:198.51.100.0/24 -all",),
}


def ask_senders(name: str, kind: str) -> Lookup:
    """Return what is known of senders; every other question fails."""
    found = SENDERS.get((name, kind))
    return Lookup("found", found) if found else Lookup("failed")


@pytest.mark.parametrize(
    ("terms", "refused"),
    [
        ("-ip4:192.0.2.0/24 {} -all", "192.0.2.7"),
        ("mx:198.51.100.1.example -ip4:192.0.2.0/24 {}", ""),
        ("a:mail.example.com -ip4:192.0.2.0/24 {} -all", ""),
        ("-ip4:192.0.2.0/24 include:unknown.example {}", "192.0.2.7"),
        ("-ip4:198.51.100.0/24 ip4:192.0.2.0/29 ~ip6:2001:db8:0:1::/64 {}", "2001:db8:0:1::/64"),
        ("?a:mail.example.com {}", "192.0.2.7"),
        ("ip4:192.0.2.0/25 ip4:192.0.2.128/25 -ip4:192.0.2.0/24 {}", ""),
        ("-ip4:192.0.2.99 -exists:%{{i}}.example.com -include:unknown.example {}", ""),
        ("include:spf.example.net -ip4:192.0.2.0/24 {}", ""),
        ("?a {}", "192.0.2.7"),
        ("include:open.example -ip4:192.0.2.0/24 {}", ""),
        ("include:closed.example -ip4:192.0.2.0/24 {}", "192.0.2.7"),
        ("include:odd.example -ip4:192.0.2.0/24 {}", ""),
    ],
)
@pytest.mark.parametrize("is_merged", [True, False])
def test_terms_that_refuse_the_services_mail(terms: str, refused: str, is_merged: bool) -> None:
    """They are a conflict if known to match its addresses; the suggested record is accepted."""
    check = checker(ask_senders, 5)
    text = f"v=spf1 {' '.join(terms.format('include:spf.example.net' * is_merged).split())}"
    if not refused:
        plan_presence(wanted(), current(texts(text)), {}, check=check)
        return
    with pytest.raises(Refused, match=f"matches {re.escape(refused)}, a sender") as caught:
        plan_presence(wanted(), current(texts(text)), {}, check=check)
    suggested = str(caught.value)[str(caught.value).index("v=spf1") :]
    plan = plan_presence(wanted(), current(*wanted(), texts(suggested)), {}, check=check)
    assert plan == Publication()


def test_missing_record_sets_are_created() -> None:
    """Whole sets, in the service's order, each with its reason; a second run changes nothing."""
    for found in ((), (mx(), texts(), keys())):
        plan = plan_presence(wanted(), current(*found), {})
        assert [(change.action, change.after) for change in plan.changes] == [
            ("create", record_set) for record_set in wanted()
        ]
        codes = [change.code for change in plan.changes]
        assert codes == ["mx_missing", "spf_missing", "dkim_missing"]
    row = plan.changes[2].as_dict()
    assert (row["action"], row["name"], row["code"]) == (
        "create",
        f"{SELECTOR} TXT",
        "dkim_missing",
    )
    assert plan.changes[2].subject.as_dict()["name"] == SELECTOR
    assert present() == Publication()


@pytest.mark.parametrize(
    ("found", "after", "code"),
    [
        (mx(Mx(20, OURS.exchange)), [OURS], "mx_priority"),
        (mx(OURS, Mx(5, OURS.exchange)), [OURS], "mx_repeated"),
        (mx(OTHER), [OTHER, OURS], "mx_missing"),
        (
            texts(NOTE, "v=spf1 mx -all", "x"),
            [NOTE, txt("v=spf1 mx include:spf.example.net -all"), txt("x")],
            "spf_incomplete",
        ),
        (
            texts("v=spf1 include:spf.example.net include:SPF.example.net -all"),
            [txt("v=spf1 include:spf.example.net -all")],
            "spf_repeated",
        ),
        (keys(KEY, key(seed="other")), [txt(KEY)], "dkim_several"),
        (keys(NOTE, "v=DKIM1; p="), [NOTE, txt(KEY)], "dkim_revoked"),
        (keys(NOTE), [NOTE, txt(KEY)], "dkim_missing"),
        (mx(OURS, ttl=60), [OURS], "ttl"),
    ],
)
def test_a_record_set_is_changed(found: RecordSet, after: list[Value], code: str) -> None:
    """Values of others stay in their place; wrong values of the service are replaced."""
    (change,) = present(found).changes
    assert change.after == found._replace(values=tuple(after), ttl=3600)
    assert change.code == code
    assert change.reason
    assert not present(change.after).changes


def test_a_set_that_others_share_keeps_its_ttl() -> None:
    """Also when the service's record is added."""
    assert not present(texts(SPF, NOTE, ttl=60)).changes
    (change,) = present(texts(NOTE, ttl=60)).changes
    assert change.after == texts(NOTE, SPF, ttl=60)


@pytest.mark.parametrize(
    ("found", "start", "words"),
    [
        (mx(OURS, Mx(5, "a.b")), "example.com MX: a.b (priority 5) is kept", "first"),
        (mx(OURS, Mx(10, "a.b")), "example.com MX: a.b (priority 10) is kept", "a part"),
        (mx(OURS, Mx(20, "a.b")), "example.com MX: a.b (priority 20) is kept", "be reached"),
        (texts(LONG), "example.com TXT: The SPF record has 5", " bytes"),
    ],
)
def test_a_doubtful_record_is_warned_of(found: RecordSet, start: str, words: str) -> None:
    """Also if nothing changes."""
    (warning,) = present(found).warnings
    assert warning.startswith(start)
    assert words in warning
    assert not absent(found).warnings


@pytest.mark.parametrize("same", [f"{KEY};t=s", Txt((KEY[:100].encode(), KEY[100:].encode()))])
def test_an_equivalent_key_stays(same: Txt | str) -> None:
    """Harmless tags and other splits change nothing; the key is withdrawn with them."""
    assert not present(keys(same)).changes
    assert [change.action for change in absent(keys(same)).changes] == ["delete"]


@pytest.mark.parametrize(
    ("found", "words"),
    [
        ([texts("v=spf1 -include:spf.example.net -all")], ["example.com TXT: ", "-include"]),
        ([texts("v=spf1 ipv4:192.0.2.1 -all")], ["example.com TXT: the SPF record", "Correct"]),
        (
            [mx(Mx(0, "")), texts("v=spf1 a", "v=spf1 mx")],
            ["example.com MX: a null MX", "example.com TXT: there are 2", "by this one: v=spf1"],
        ),
    ],
)
def test_owners_decisions_are_refused(found: list[RecordSet], words: list[str]) -> None:
    """All problems are reported together, each with its place and a remedy."""
    with pytest.raises(Refused) as caught:
        present(*found)
    assert [word for word in words if word not in str(caught.value)] == []


@pytest.mark.parametrize(
    ("name", "behind", "is_left"),
    [
        (SELECTOR, [f"{KEY}; t=s", "a note"], True),
        (SELECTOR, [KEY, key(seed="x")], False),
        (SELECTOR, [], False),
        (DOMAIN, [SPF, KEY], False),
    ],
)
def test_only_the_key_may_be_an_alias(name: str, behind: list[str], is_left: bool) -> None:
    """No record can be beside a CNAME record; withdrawing leaves it alone."""
    aliases = {name: "key.example.net"}
    if is_left:
        plan = plan_presence(wanted(), {}, aliases, Surroundings({name: behind}))
        assert [change.subject.name for change in plan.changes] == [DOMAIN, DOMAIN]
    else:
        with pytest.raises(Refused) as caught:
            plan_presence(wanted(), {}, aliases, Surroundings({name: behind}))
        assert str(caught.value).startswith(f"{name}: the name is an alias (CNAME) of key.example")
        assert str(caught.value).count("CNAME) of") == 1
    assert plan_absence(wanted(), {}, aliases) == Publication()


def test_addresses_by_a_wildcard_are_warned_of() -> None:
    """Each such name is the last warning."""
    plan = plan_presence(wanted(), current(mx(OTHER)), {}, Surroundings(covered=[DOMAIN]))
    assert len(plan.warnings) == 2
    assert plan.warnings[1].startswith("example.com has addresses by a wildcard only")


@pytest.mark.parametrize(
    ("found", "after"),
    [
        (wanted()[0], []),
        (wanted()[1], []),
        (wanted()[2], []),
        (texts(NOTE, f"v=spf1 mx {SPF[7:]}"), [NOTE, txt("v=spf1 mx ~all")]),
        (texts(NOTE, "v=spf1 include:SPF.example.net ~all"), [NOTE]),
        (texts(f"v=spf1 mx {SPF[7:]}", "v=spf1 mx ~all"), [txt("v=spf1 mx ~all")]),
        (texts("v=spf1 include:spf.example.net -all"), [txt("v=spf1 -all")]),
        # What is not exactly the service's belongs to others.
        (mx(OTHER, Mx(20, "mail.example.net"), Mx(0, "")), None),
        (texts(NOTE, "v=spf1 ~all", "v=spf1 mx -all"), None),
        (keys(NOTE, key(seed="other"), "v=DKIM1; p="), None),
    ],
)
def test_the_services_records_are_withdrawn(found: RecordSet, after: list[Value] | None) -> None:
    """A set that holds nothing else is deleted."""
    plan = absent(found)
    if after is None:
        assert plan == Publication()
    else:
        (change,) = plan.changes
        assert change.action == ("update" if after else "delete")
        assert change.after == (found._replace(values=tuple(after)) if after else None)
        assert change.after is None or absent(change.after) == Publication()


def test_an_invalid_spf_record_is_not_withdrawn_from() -> None:
    """It is warned of, and the other records are withdrawn."""
    plan = absent(mx(OURS), texts("v=spf1 ipv4:192.0.2.1 include:spf.example.net"))
    assert [str(change.subject) for change in plan.changes] == ["example.com MX"]
    assert [change.code for change in plan.changes] == ["mx_withdrawn"]
    (warning,) = plan.warnings
    assert "cannot be read and stays as it is. The SPF term" in warning


def test_the_service_may_want_more_records() -> None:
    """A proof of ownership, or several mail servers with several priorities."""
    proof = (texts(SPF, "service-proof=1"),)
    both = (mx(OURS, Mx(20, "mail.example.net"), Mx(20, "mail2.example.net")),)
    for more in (proof, both):
        assert not plan_presence(more, current(*more), {}).changes
        (change,) = plan_presence(more, {}, {}).changes
        assert change.after == more[0]
    (gone,) = plan_absence(proof, current(texts(NOTE, "service-proof=1")), {}).changes
    assert gone.after == texts(NOTE)


def test_the_diff_is_lines_of_a_zone_file() -> None:
    """Before and after, whole sets."""
    (changed,) = as_diff(present(mx(OTHER, ttl=60)))
    before = "example.com. 60 IN MX 20 mx.other.example.\n"
    assert changed == {
        "before_header": "record set example.com MX",
        "after_header": "record set example.com MX",
        "before": before,
        "after": f"{before}example.com. 60 IN MX 10 mail.example.net.\n",
    }
    (gone,) = as_diff(absent(mx(OURS)))
    assert gone["after"] == ""
