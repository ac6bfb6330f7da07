# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Comparing DKIM keys, and planning to publish and withdraw records."""

from __future__ import annotations

import base64

import pytest

from ansible_collections.postroom.email.plugins.module_utils._api.dns import dkim
from ansible_collections.postroom.email.plugins.module_utils._api.dns.compare import (
    Comparison,
    WantedRecord,
    compare,
)
from ansible_collections.postroom.email.plugins.module_utils._api.dns.publish import (
    RecordPlan,
    plan_absence,
    plan_presence,
)
from ansible_collections.postroom.email.plugins.module_utils._api.dns.record_types import (
    Mx,
    RecordSet,
    Redirection,
    Txt,
    Value,
    txt,
)
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

# These keys are as long as 2,048-bit keys. All RSA keys of the same length start with the same
# characters.
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
    """Keys count as the same if they differ only in spaces, order, defaults or harmless tags."""
    compared = with_key("google-site-verification=abc", text, "v=spf1 -all", "v=DMARC1; p=none")
    assert (compared.status, compared.change) == ("match", "")
    assert dkim.same_key(WANTED, text)


def with_key(*found: str, wanted: str = WANTED) -> Comparison:
    """Compare the required key with these texts."""
    return compare(WantedRecord(SELECTOR, txt(wanted), (txt(wanted),)), list(map(txt, found)))


@pytest.mark.parametrize("found", [[], ["v=DMARC1; p=none", "MS=ms1", ""]])
def test_no_key(found: list[str]) -> None:
    """If none of the texts at a name is a DKIM key, the key counts as missing and is added."""
    compared = with_key(*found)
    assert (compared.status, compared.code) == ("missing", "dkim_missing")
    assert compared.values == tuple(map(txt, [*found, WANTED]))


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("v=DKIM1; k=rsa; p=", "dkim_revoked"),
        ("v=DKIM1; k=rsa", "dkim_other_key"),
        (f"v=DKIM1; p={OTHER_KEY}", "dkim_other_key"),
        (SHORT, "dkim_other_key"),
        (f"v=DKIM1; k=RSA; p={RSA}", "dkim_other_key"),
        (f"v=DKIM1; p={RSA[:237]}", "dkim_truncated"),
        (f"v=DKIM1; p={RSA[:237]}{RSA[260:]}", "dkim_other_key"),
        (f'v=DKIM1; p={RSA[:237]}" "{RSA[237:]}', "dkim_quoted"),
        (f"v=DKIM1\\; k=rsa\\; p={RSA}", "dkim_quoted"),
        (f"p={RSA}; k=rsa; v=DKIM1", "dkim_other_key"),
        (f"v=DKIM1; p={RSA[:9]}; p={RSA}", "dkim_other_key"),
        (f"v=DKIM1 k=rsa; p={RSA};;", "dkim_other_key"),
        (f"v=DKIM1; h=sha1; p={RSA}", "dkim_other_key"),
        (f"v=DKIM1; s=a:b; p={RSA}", "dkim_other_key"),
    ],
)
def test_an_unusable_key(text: str, code: str) -> None:
    """An unusable key is replaced."""
    compared = with_key("v=spf1 -all", text)
    assert (compared.status, compared.code, compared.change) == ("conflict", code, code)
    assert compared.remedy.startswith(f"At {SELECTOR}, ")
    assert compared.values == (txt("v=spf1 -all"), txt(WANTED))


def test_two_keys_at_a_selector() -> None:
    """If there are two keys, only the required one is kept, because receivers may use either."""
    ours = f"v=DKIM1;p={RSA}"
    both = with_key(f"v=DKIM1; p={OTHER_KEY}", ours)
    assert (both.status, both.code, both.values) == ("conflict", "dkim_several", (txt(ours),))
    neither = with_key(f"v=DKIM1; p={OTHER_KEY}", "v=DKIM1; p=")
    assert (neither.code, neither.values) == ("dkim_several", (txt(WANTED),))


def test_messages_hold_only_the_beginnings_of_keys() -> None:
    """Messages shorten keys and leave other text unchanged."""
    assert dkim.abridged(f"TXT v=DKIM1; p={RSA}; t=s") == f"TXT v=DKIM1; p={RSA[:20]}...; t=s"
    for text in (f"v=DKIM1; k=rsa; p={RSA[:30]}", f"{'label' * 12}.example", "v=spf1 ~all"):
        assert dkim.abridged(text) == text


def test_keys_of_another_type_are_wanted_as_well() -> None:
    """Ed25519 keys are compared as well."""
    assert with_key(SHORT.replace(" ", ""), wanted=SHORT).status == "match"
    assert with_key(WANTED, wanted=SHORT).code == "dkim_other_key"
    assert "20 of 44" in with_key(SHORT[:-24], wanted=SHORT).detail
    assert with_key(SHORT.replace("qYA", "qYB"), wanted=SHORT).code == "dkim_other_key"


@pytest.mark.parametrize("wanted", ["no tags", "v=DKIM1; p=", "v=DKIM1; s=tlsrpt; p=ab"])
def test_whatever_is_wanted_matches_itself(wanted: str) -> None:
    """Whatever the service requires matches itself, even if it is not a usable key."""
    assert dkim.problem(wanted, wanted) is None
    assert dkim.problem(wanted, WANTED) is not None
    assert dkim.same_key(wanted, wanted)
    assert not dkim.same_key(wanted, WANTED)


OTHER = Mx(20, "mx.other.example")
NOTE = Txt((b"cut ", b"by its owner \xff"))


def present(*found: RecordSet) -> RecordPlan:
    """Return a plan to publish records. Required sets that are not given already exist."""
    return plan_presence(wanted(), current(*wanted()) | current(*found), {})


def absent(*found: RecordSet) -> RecordPlan:
    """Return a plan to withdraw records."""
    return plan_absence(wanted(), current(*found), {})


def test_an_expensive_spf_record_is_not_written() -> None:
    """An SPF record with too many lookups is not written, but the other records are."""

    def ask(name: str, kind: str) -> tuple[str, ...]:
        assert kind == "TXT"
        terms = " include:leaf.example" * int(name[1]) if name[1].isdigit() else ""
        return (f"v=spf1{terms} -all",)

    for before, advised in (
        ("v=spf1 include:s9.example -all", False),
        ("v=spf1 include:s8.example -all", True),
    ):
        plan = plan_presence(wanted(), current(texts(before)), {}, ask=ask)
        written = [change.subject.type for change in plan.changes]
        assert written == (["MX", "TXT", "TXT"] if advised else ["MX", "TXT"])
        assert len(plan.refused) == (not advised)
        assert all("(include:s9.example 10, include:spf" in text for text in plan.refused.values())


def test_missing_record_sets_are_created() -> None:
    """Missing record sets are created in the service's order, and a second run changes nothing."""
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
    assert plan.changes[2].subject.name == SELECTOR
    assert present() == RecordPlan()


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
        (keys(KEY, key(seed="other")), [txt(KEY)], "dkim_several"),
        (keys(NOTE, "v=DKIM1; p="), [NOTE, txt(KEY)], "dkim_revoked"),
        (keys(NOTE), [NOTE, txt(KEY)], "dkim_missing"),
        (mx(OURS, ttl=60), [OURS], "ttl"),
    ],
)
def test_a_record_set_is_changed(found: RecordSet, after: list[Value], code: str) -> None:
    """The service's wrong values are replaced. Other clients' values keep their position."""
    (change,) = present(found).changes
    assert change.after == found._replace(values=tuple(after), ttl=3600)
    assert change.code == code
    assert change.reason
    assert not present(change.after).changes


def test_a_set_that_others_share_keeps_its_ttl() -> None:
    """A record set with other clients' values keeps its TTL."""
    assert not present(texts(SPF, NOTE, ttl=60)).changes
    (change,) = present(texts(NOTE, ttl=60)).changes
    assert change.after == texts(NOTE, SPF, ttl=60)


@pytest.mark.parametrize(
    ("found", "record", "words"),
    [
        (mx(OURS, Mx(5, "a.b")), "the record for a.b (priority 5)", "first"),
        (mx(OURS, Mx(10, "a.b")), "the record for a.b (priority 10)", "part of the mail"),
        (mx(OURS, Mx(20, "a.b")), "the record for a.b (priority 20)", "be reached"),
    ],
)
def test_a_doubtful_record_is_warned_of(found: RecordSet, record: str, words: str) -> None:
    """A doubtful record causes a warning, even if nothing changes."""
    (warning,) = present(found).warnings
    assert warning.startswith("example.com MX: ")
    assert record in warning
    assert words in warning
    assert not absent(found).warnings


@pytest.mark.parametrize("same", [f"{KEY};t=s", Txt((KEY[:100].encode(), KEY[100:].encode()))])
def test_an_equivalent_key_stays(same: Txt | str) -> None:
    """A key that differs only in harmless tags or splits is not changed, but can be withdrawn."""
    assert not present(keys(same)).changes
    assert [change.action for change in absent(keys(same)).changes] == ["delete"]


@pytest.mark.parametrize(
    ("found", "words"),
    [
        ([texts("v=spf1 -include:spf.example.net -all")], ["example.com TXT: ", "-include"]),
        ([texts("v=spf1 ipv4:192.0.2.1 -all")], ["example.com TXT: ", '"ipv4:192.0.2.1"']),
        (
            [mx(Mx(0, "")), texts("v=spf1 a", "v=spf1 mx")],
            ["example.com MX: A null MX", "example.com TXT: There are 2"],
        ),
    ],
)
def test_owners_decisions_are_refused(found: list[RecordSet], words: list[str]) -> None:
    """All problems that need the owner's decision are reported together, each with a remedy."""
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
    """Only the DKIM key may be behind an alias, and withdrawing it keeps the alias."""
    above = {name: Redirection("CNAME", name, "key.example.net")}
    if is_left:
        plan = plan_presence(wanted(), {}, above, {name: behind})
        assert [change.subject.name for change in plan.changes] == [DOMAIN, DOMAIN]
    else:
        with pytest.raises(Refused, match=f"the CNAME record at {name} leads to key.example.net"):
            plan_presence(wanted(), {}, above, {name: behind})
    plan = plan_absence(wanted(), {}, above)
    assert not plan.changes
    assert all("is not changed" in warning for warning in plan.warnings)


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
        # Records that are not exactly the service's belong to other clients.
        (mx(OTHER, Mx(20, "mail.example.net"), Mx(0, "")), None),
        (texts(NOTE, "v=spf1 ~all", "v=spf1 mx -all"), None),
        (keys(NOTE, key(seed="other"), "v=DKIM1; p="), None),
    ],
)
def test_the_services_records_are_withdrawn(found: RecordSet, after: list[Value] | None) -> None:
    """Only the service's records are withdrawn. A set with no other records is deleted."""
    plan = absent(found)
    if after is None:
        assert plan == RecordPlan()
    else:
        (change,) = plan.changes
        assert change.action == ("update" if after else "delete")
        assert change.after == (found._replace(values=tuple(after)) if after else None)
        assert change.after is None or absent(change.after) == RecordPlan()


def test_an_invalid_spf_record_is_not_withdrawn_from() -> None:
    """An invalid SPF record is kept, with a warning, while the other records are withdrawn."""
    plan = absent(mx(OURS), texts("v=spf1 ipv4:192.0.2.1 include:spf.example.net"))
    assert [str(change.subject) for change in plan.changes] == ["example.com MX"]
    assert [change.code for change in plan.changes] == ["mx_withdrawn"]
    (warning,) = plan.warnings
    assert "is not changed. The SPF term" in warning


def test_the_service_may_want_more_records() -> None:
    """The service may require more records, such as several mail servers."""
    proof = (texts(SPF, "service-proof=1"),)
    both = (mx(OURS, Mx(20, "mail.example.net"), Mx(20, "mail2.example.net")),)
    for more in (proof, both):
        assert not plan_presence(more, current(*more), {}).changes
        (change,) = plan_presence(more, {}, {}).changes
        assert change.after == more[0]
    (gone,) = plan_absence(proof, current(texts(NOTE, "service-proof=1")), {}).changes
    assert gone.after == texts(NOTE)


def test_the_diff_is_lines_of_a_zone_file() -> None:
    """The diff shows record sets as lines of a zone file."""
    (changed,) = present(mx(OTHER, ttl=60)).diff
    before = "example.com. 60 IN MX 20 mx.other.example.\n"
    assert changed == {
        "before_header": "record set example.com MX",
        "after_header": "record set example.com MX",
        "before": before,
        "after": f"{before}example.com. 60 IN MX 10 mail.example.net.\n",
    }
    (gone,) = absent(mx(OURS)).diff
    assert gone["after"] == ""
