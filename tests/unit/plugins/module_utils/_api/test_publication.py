# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Planning what is published and withdrawn: what changes, what stays, what is refused."""

from __future__ import annotations

import pytest

from ansible_collections.postroom.email.plugins.module_utils._api.errors import Refused
from ansible_collections.postroom.email.plugins.module_utils._api.planning.publication import (
    Publication,
    as_diff,
    plan_absence,
    plan_presence,
)
from ansible_collections.postroom.email.plugins.module_utils._api.records.sets import (
    Mx,
    RecordSet,
    Txt,
    Value,
    txt,
)
from ansible_collections.postroom.email.tests.support.recordsets import (
    DOMAIN,
    KEY,
    OURS,
    SELECTOR,
    SPF,
    TTL,
    current,
    key,
    keys,
    mx,
    texts,
    wanted,
)

OTHER = Mx(20, "mx.other.example")
NOTE = Txt((b"cut ", b"by its owner \xff"))


def present(*found: RecordSet) -> Publication:
    """Plan that the records are there."""
    return plan_presence(wanted(), current(*found), {})


def absent(*found: RecordSet) -> Publication:
    """Plan that they are gone."""
    return plan_absence(wanted(), current(*found), {})


def the_values(publication: Publication) -> tuple[Value, ...]:
    """Return the values of the one set that changes."""
    (change,) = publication.changes
    return change.after.values if change.after else ()


def reasons(publication: Publication) -> list[str]:
    """Return why, of all changes."""
    return [change.reason for change in publication.changes]


def test_everything_is_created_where_nothing_is() -> None:
    """Whole sets, in the service's order, each with its reason."""
    plan = present()
    assert [(change.action, change.before, change.after) for change in plan.changes] == [
        ("create", None, record_set) for record_set in wanted()
    ]
    assert reasons(plan) == [
        "it lacks the mail server mail.example.net (priority 10)",
        "it lacks the SPF record",
        "it lacks the DKIM key",
    ]
    assert plan.changes[2].as_dict() == {
        "action": "create",
        "kind": "record set",
        "name": f"{SELECTOR} TXT",
        "reason": "it lacks the DKIM key",
    }


def test_nothing_is_changed_where_all_is_there() -> None:
    """A second run has nothing to do."""
    assert present(*wanted()) == Publication()


def test_a_set_without_values_is_none() -> None:
    """Some sources tell of empty sets."""
    assert [change.action for change in present(mx(), texts(), keys()).changes] == ["create"] * 3


@pytest.mark.parametrize(
    ("found", "after", "reason"),
    [
        ([Mx(20, "mail.example.net")], [OURS],
         "its mail server mail.example.net (priority 20) is to have priority 10 only"),
        ([OURS, Mx(5, "mail.example.net")], [OURS],
         "its mail server mail.example.net (priority 5) is to have priority 10 only"),
        ([OTHER], [OTHER, OURS], "it lacks the mail server mail.example.net (priority 10)"),
    ],
)  # fmt: skip
def test_mail_servers_are_added_beside_others(
    found: list[Mx], after: list[Mx], reason: str
) -> None:
    """The service's has one priority; other people's stay."""
    plan = present(mx(*found), texts(SPF), keys(KEY))
    assert the_values(plan) == tuple(after)
    assert reasons(plan) == [reason]


@pytest.mark.parametrize(
    ("priority", "effect"),
    [
        (5, "gets the mail first"),
        (10, "gets a part of the mail"),
        (20, "gets mail while the service cannot be reached"),
    ],
)
def test_mail_servers_of_others_are_told_of(priority: int, effect: str) -> None:
    """What they mean goes by their priority."""
    found = mx(OURS, Mx(priority, "mx.other.example"))
    (warning,) = present(found, texts(SPF), keys(KEY)).warnings
    assert warning == (
        f"example.com MX: mx.other.example (priority {priority}) is kept and {effect}. "
        "Remove its record unless you want that."
    )
    assert not absent(found).warnings


@pytest.mark.parametrize(
    ("found", "after", "reason"),
    [
        ("v=spf1 mx -all", "v=spf1 mx include:spf.example.net -all",
         "its SPF record lacks include:spf.example.net"),
        ("v=spf1 -all include:spf.example.net", "v=spf1 include:spf.example.net -all",
         "its SPF record lacks include:spf.example.net"),
        ("v=spf1 include:spf.example.net include:SPF.example.net -all",
         "v=spf1 include:spf.example.net -all",
         "its SPF record names the service more than once"),
    ],
)  # fmt: skip
def test_the_spf_record_is_merged(found: str, after: str, reason: str) -> None:
    """In its place among the texts of others, which stay as they are cut."""
    plan = present(mx(OURS), texts(NOTE, found, "other"), keys(KEY))
    assert the_values(plan) == (NOTE, txt(after), txt("other"))
    assert reasons(plan) == [reason]


def test_a_long_spf_record_is_warned_of() -> None:
    """Whether it is written now or there already."""
    long = "v=spf1 " + " ".join(f"ip4:192.0.{n}.0/24" for n in range(30)) + f" {SPF[7:]}"
    (warning,) = present(mx(OURS), texts(long), keys(KEY)).warnings
    assert warning.startswith("example.com TXT: The SPF record has 5")


@pytest.mark.parametrize(
    ("found", "after", "reason"),
    [
        ([key(seed="other")], [txt(KEY)], "its DKIM key is not the service's"),
        ([KEY, key(seed="other")], [txt(KEY)], "it has other DKIM keys beside the service's"),
        ([NOTE, "v=DKIM1; p="], [NOTE, txt(KEY)], "its DKIM key is not the service's"),
        ([f'"{KEY}"'], [txt(KEY)], "its DKIM key is not the service's"),
        ([NOTE], [NOTE, txt(KEY)], "it lacks the DKIM key"),
    ],
)  # fmt: skip
def test_a_selector_has_one_key(found: list[Value | str], after: list[Value], reason: str) -> None:
    """Others are replaced, broken ones too; what is no key stays."""
    plan = present(mx(OURS), texts(SPF), keys(*found))
    assert the_values(plan) == tuple(after)
    assert reasons(plan) == [reason]


@pytest.mark.parametrize(
    "same", [KEY.replace("; ", ";"), f"{KEY};t=s", Txt((KEY[:100].encode(), KEY[100:].encode()))]
)
def test_the_same_key_in_other_words_stays(same: Txt | str) -> None:
    """Spaces, harmless tags and other cuts change nothing, and leave with the key."""
    assert not present(mx(OURS), texts(SPF), keys(same)).changes
    (withdrawn,) = absent(keys(same)).changes
    assert (withdrawn.action, withdrawn.reason) == (
        "delete",
        "it is not to have the service's DKIM key",
    )


def test_a_time_to_live_is_ours_where_all_values_are() -> None:
    """A set that others have a part in keeps theirs."""
    plan = present(mx(OURS, ttl=60), texts(SPF, NOTE, ttl=60), keys(KEY))
    (change,) = plan.changes
    assert change.after == mx(OURS)
    assert change.reason == "its TTL is 60 in place of 3600 seconds"
    (change,) = present(mx(OURS), texts(NOTE, ttl=60), keys(KEY)).changes
    assert change.after == texts(NOTE, SPF, ttl=60)


@pytest.mark.parametrize(
    ("found", "sentences"),
    [
        ([mx(Mx(0, ""))], ["example.com MX: a null MX record (0 .) says", "Delete it first"]),
        ([texts("v=spf1 mx -all", "v=spf1 a -all")],
         ["example.com TXT: There are 2 SPF records", "Replace them by this one: v=spf1"]),
        ([texts("v=spf1 -include:spf.example.net -all")],
         ["example.com TXT: The SPF record has -include", "Replace"]),
        ([texts("v=spf1 ipv4:192.0.2.1 -all")], ["example.com TXT: The SPF term", "Correct"]),
        ([mx(Mx(0, "")), texts("v=spf1 a", "v=spf1 mx")],
         ["example.com MX: a null MX", "example.com TXT: There are 2"]),
    ],
)  # fmt: skip
def test_what_only_the_owner_can_decide_is_refused(
    found: list[RecordSet], sentences: list[str]
) -> None:
    """All of it at once, each with its place and a remedy."""
    with pytest.raises(Refused) as caught:
        present(*found)
    for sentence in sentences:
        assert sentence in str(caught.value)


def test_an_alias_is_refused() -> None:
    """Once for its name, whatever is wanted there; withdrawing leaves it alone."""
    aliases = {DOMAIN: "web.example.net"}
    with pytest.raises(Refused) as caught:
        plan_presence(wanted(), {}, aliases)
    assert str(caught.value) == (
        "example.com: the name is an alias (CNAME) of web.example.net, and nothing else can be "
        "at it. Delete the CNAME record first."
    )
    assert plan_absence(wanted(), {}, aliases) == Publication()


@pytest.mark.parametrize(
    ("behind", "is_left"),
    [([KEY], True), ([f"{KEY}; t=s", "a note"], True), ([KEY, key(seed="x")], False), ([], False)],
)
def test_an_alias_of_the_key(behind: list[str], is_left: bool) -> None:
    """One that leads to the service's key and to no other is as good as the key."""
    aliases = {SELECTOR: "key.example.net"}
    if is_left:
        plan = plan_presence(wanted(), {}, aliases, {SELECTOR: behind})
        assert [str(change.subject) for change in plan.changes] == [
            "example.com MX",
            "example.com TXT",
        ]
    else:
        with pytest.raises(Refused, match=f"^{SELECTOR}: the name is an alias"):
            plan_presence(wanted(), {}, aliases, {SELECTOR: behind})


def test_only_a_key_may_be_behind_an_alias() -> None:
    """Whatever texts are there: where mail goes, and who sends it, is the domain's own."""
    with pytest.raises(Refused, match=rf"^{DOMAIN}: the name is an alias"):
        plan_presence(wanted(), {}, {DOMAIN: "web.example.net"}, {DOMAIN: [SPF, KEY]})


def test_addresses_by_a_wildcard_are_told() -> None:
    """Of each such name, as the last warning."""
    plan = plan_presence(wanted(), current(mx(OTHER)), {}, covered=[DOMAIN])
    assert len(plan.warnings) == 2
    assert plan.warnings[1].startswith("example.com has addresses by a wildcard only")


def test_everything_of_the_service_goes() -> None:
    """Sets that hold nothing else go whole."""
    plan = absent(*wanted())
    assert [(change.action, change.after) for change in plan.changes] == [("delete", None)] * 3
    assert reasons(plan) == [
        "it is not to have the mail server mail.example.net (priority 10)",
        "it is not to have the SPF record",
        "it is not to have the service's DKIM key",
    ]
    assert absent() == Publication()


@pytest.mark.parametrize(
    "found",
    [
        mx(OTHER, Mx(20, "mail.example.net"), Mx(0, "")),
        texts(NOTE, "v=spf1 ~all", "v=spf1 mx -all"),
        keys(NOTE, key(seed="other"), "v=DKIM1; p="),
    ],
)
def test_what_is_not_exactly_ours_stays(found: RecordSet) -> None:
    """Other priorities, records and keys are somebody's, whatever else is wrong with them."""
    assert absent(found) == Publication()


@pytest.mark.parametrize(
    ("found", "after"),
    [
        ([NOTE, f"v=spf1 mx {SPF[7:]}"], [NOTE, txt("v=spf1 mx ~all")]),
        ([NOTE, "v=spf1 include:SPF.example.net ~all"], [NOTE]),
        ([SPF, "v=spf1 mx -all"], [txt("v=spf1 mx -all")]),
        ([f"v=spf1 mx {SPF[7:]}", "v=spf1 mx ~all"], [txt("v=spf1 mx ~all")]),
        (["v=spf1 include:spf.example.net -all"], [txt("v=spf1 -all")]),
    ],
)
def test_the_terms_of_the_service_leave_spf(found: list[Value | str], after: list[Value]) -> None:
    """The rest stays, as far as it is more than what came with them."""
    assert the_values(absent(texts(*found))) == tuple(after)


def test_an_spf_record_that_cannot_be_read_stays() -> None:
    """It stops nothing else from being withdrawn."""
    plan = absent(mx(OURS), texts("v=spf1 ipv4:192.0.2.1 include:spf.example.net"))
    assert [str(change.subject) for change in plan.changes] == ["example.com MX"]
    (warning,) = plan.warnings
    assert "the SPF record cannot be read and stays as it is. The SPF term" in warning


def test_texts_of_no_known_kind_come_and_go() -> None:
    """The service may ask for a proof of ownership, too."""
    proof = (texts(SPF, "service-proof=1"),)
    (there,) = plan_presence(proof, current(texts(SPF)), {}).changes
    assert there.after == proof[0]
    assert not plan_presence(proof, current(*proof), {}).changes
    (gone,) = plan_absence(proof, current(texts(NOTE, "service-proof=1")), {}).changes
    assert gone.after == texts(NOTE)


def test_two_mail_servers_of_the_service_do_not_fight() -> None:
    """Both stay, and each may have the host of the other."""
    both = (mx(OURS, Mx(20, "mail.example.net"), Mx(20, "mail2.example.net")),)
    assert not plan_presence(both, current(*both), {}).changes
    (change,) = plan_presence(both, {}, {}).changes
    assert change.after == both[0]


def test_the_diff_is_lines_of_a_zone_file() -> None:
    """Before and after, whole sets."""
    assert as_diff(present(mx(OTHER, ttl=60), texts(SPF), keys(KEY))) == [
        {
            "before_header": "record set example.com MX",
            "after_header": "record set example.com MX",
            "before": "example.com. 60 IN MX 20 mx.other.example.\n",
            "after": (
                "example.com. 60 IN MX 20 mx.other.example.\n"
                "example.com. 60 IN MX 10 mail.example.net.\n"
            ),
        }
    ]
    (gone,) = as_diff(absent(mx(OURS)))
    assert (gone["before"], gone["after"]) == (
        f"example.com. {TTL} IN MX 10 mail.example.net.\n",
        "",
    )
