# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Decisions: built-in controls, the first matching rule, minimum approvals and explanations."""

from __future__ import annotations

import itertools
import unicodedata
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.postroom.email.tests.bot.policy.policies import data_of, policy_of
from postroom_bot.addresses import InvalidAddress, address
from postroom_bot.domain import Action, Change, Person, Quorum, Reason, Verdict
from postroom_bot.policy.engine import Facts, decide
from postroom_bot.policy.explanation import explain
from postroom_bot.policy.model import Policy
from postroom_bot.policy.protected_names import RESERVED
from postroom_bot.ui import reason_texts
from postroom_bot.ui.reason_texts import plain_reason_text

OURS = frozenset({"example.com", "example.org"})
FACTS = Facts(own_domains=OURS, today=date(2026, 1, 31))
ALICE = Person("U0000000A", "alice@example.com", frozenset({"everyone"}))
ADMIN = Person("U00000001", "ann@example.com", frozenset({"everyone", "admins"}))
AUTOMATIC = {"automatic": True}
ALL_AUTOMATIC = ({"name": "all", **AUTOMATIC}, {"name": "b", "reserved": True, **AUTOMATIC})


def adding(target: str, mailbox: str | None = None) -> Change:
    """Return a change that adds an alias."""
    return Change(Action.ALIAS_ADD, target, mailbox)


def forwarding(target: str, *destinations: str) -> Change:
    """Return a change that adds a forwarder."""
    return Change(Action.FORWARD_ADD, target, destinations=destinations)


OPEN = policy_of(*ALL_AUTOMATIC)
X = adding("x@example.com")
PASSWORD_OF_BOB = Change(Action.PASSWORD, "bob@example.com")
BY_BOTH = (Quorum("security", 1), Quorum("admins", 1))


def rule_of(person: Person, change: Change, *rules: dict[str, Any], facts: Facts = FACTS) -> str:
    """Return the name of the rule that decides on a change."""
    return decide(policy_of(*rules), person, change, facts).rule


@pytest.mark.parametrize(
    ("change", "person", "facts", "rule"),
    [
        (X, replace(ALICE, obstacle=Reason("person.guest")), FACTS, "<person>"),
        (X, replace(ALICE, mailbox=None), FACTS, "<identity>"),
        (adding("säles@example.com"), ALICE, FACTS, "<invalid>"),
        (adding("sales@example.com", "<bob@example.com>"), ALICE, FACTS, "<invalid>"),
        (forwarding("team@example.com"), ALICE, FACTS, "<invalid>"),
        (forwarding("team@example.com", "a@b@example.net"), ALICE, FACTS, "<invalid>"),
        (adding("sales@example.net"), ALICE, FACTS, "<domain>"),
        (adding("sales@example.com", "bob@example.net"), ALICE, FACTS, "<domain>"),
        (X, ALICE, replace(FACTS, tombstone_owner="b@b.b"), "<tombstone>"),
        (X, ALICE, replace(FACTS, open_requests=5), "<limits>"),
        (X, ALICE, replace(FACTS, requests_today=20), "<limits>"),
        (X, ALICE, replace(FACTS, alias_count=20), "<limits>"),
    ],
)
def test_built_in_controls_come_before_all_rules(
    change: Change, person: Person, facts: Facts, rule: str
) -> None:
    """Each built-in control denies a change even if the policy allows everything."""
    decision = decide(OPEN, person, change, facts)
    assert (decision.verdict, decision.rule) == (Verdict.DENY, rule)
    assert decision.reason.code in reason_texts.TEXTS


def test_limits_allow_what_is_just_below_them() -> None:
    """A user just below a limit can make another request.

    The limit on aliases applies only to requests that add an alias.
    """
    facts = replace(FACTS, open_requests=4, requests_today=19, alias_count=19)
    assert decide(OPEN, ALICE, X, facts).verdict is Verdict.ALLOW
    removal = Change(Action.ALIAS_REMOVE, "x@example.com")
    assert decide(OPEN, ALICE, removal, replace(FACTS, alias_count=99)).verdict is Verdict.ALLOW
    assert decide(OPEN, ALICE, X, replace(FACTS, alias_count=None)).verdict is Verdict.ALLOW


def test_a_tombstone_keeps_an_address_from_others_only() -> None:
    """Only the last owner can use a reserved address. Removing an address is always allowed."""
    facts = replace(FACTS, tombstone_owner="alice@example.com")
    assert decide(OPEN, ALICE, X, facts).verdict is Verdict.ALLOW
    assert rule_of(ALICE, adding(X.target, "bob@example.com"), AUTOMATIC, facts=facts) == (
        "<tombstone>"
    )
    removal = Change(Action.ALIAS_REMOVE, "x@example.com", "bob@example.com")
    assert decide(OPEN, ALICE, removal, facts).verdict is Verdict.ALLOW
    forward = forwarding(X.target, "bob@example.com")
    assert decide(OPEN, ALICE, forward, facts).verdict is Verdict.ALLOW
    was_a_forwarder = replace(FACTS, tombstone_owner=X.target)
    assert decide(OPEN, ALICE, X, was_a_forwarder).rule == "<tombstone>"
    assert decide(OPEN, ALICE, forward, was_a_forwarder).verdict is Verdict.ALLOW


@pytest.mark.parametrize(
    ("condition", "fits", "does_not"),
    [
        ({"actions": ["alias.add"]}, X, Change(Action.PASSWORD, "")),
        ({"own": True}, X, adding("x@example.com", "bob@example.com")),
        (
            {"own": True},
            adding("x@example.com", "alice@example.com"),
            forwarding("x@example.com", "alice@example.com"),
        ),
        ({"own": False}, adding("x@example.com", "bob@example.com"), X),
        ({"domains": ["EXAMPLE.com"]}, X, adding("x@example.org")),
        ({"addresses": ["p-*@*"]}, adding("p-1@example.com"), X),
        (
            {"destinations": "internal"},
            forwarding("x@example.com", "a@example.org"),
            forwarding("x@example.com", "a@example.org", "a@example.net"),
        ),
        (
            {"destinations": "external"},
            forwarding("x@example.com", "a@example.org", "a@example.net"),
            forwarding("x@example.com", "a@example.org"),
        ),
        ({"reserved": True}, adding("root@example.com"), X),
        ({}, X, adding("root@example.com")),
    ],
)
def test_a_rule_applies_where_its_conditions_are_met(
    condition: dict[str, Any], fits: Change, does_not: Change
) -> None:
    """A rule applies only if all its conditions are met."""
    rule = {**condition, "approvals": {"admins": 2}}
    assert rule_of(ALICE, fits, rule) == "rule-1"
    assert rule_of(ALICE, does_not, rule) in {"<default>", "<reserved>"}


def test_denying_rules_come_first_and_then_the_first_match() -> None:
    """Rules that deny are evaluated first. Among the other rules, the first match decides."""
    password = {"actions": ["password"], "deny": "a"}
    policy = policy_of(AUTOMATIC, password, {"deny": "b"}, {"deny": "c"})
    decision = decide(policy, ALICE, X, FACTS)
    assert (decision.verdict, decision.rule) == (Verdict.DENY, "rule-3")
    assert decision.reason == Reason("policy.deny", {"text": "b"})
    lenient = {"addresses": ["x@*"], **AUTOMATIC}
    strict = {"approvals": {"admins": 3}}
    assert rule_of(ALICE, X, lenient, strict) == "rule-1"
    assert rule_of(ALICE, adding("y@example.com"), lenient, strict) == "rule-2"
    assert rule_of(ALICE, X, strict, lenient) == "rule-1"


def test_a_rule_applies_to_its_groups_and_names() -> None:
    """A rule applies only to its groups and names. By default, a request is denied."""
    rule = {"groups": ["security", "admins"], **AUTOMATIC}
    assert rule_of(ADMIN, X, rule) == "rule-1"
    decision = decide(policy_of(rule), ALICE, X, FACTS)
    assert (decision.verdict, decision.rule) == (Verdict.DENY, "<default>")
    assert decision.reason == Reason("policy.no_rule", {"approvers": "admins"})
    root = adding("root@example.com")
    assert rule_of(ALICE, root, {"deny": "No."}) == "rule-1"
    assert rule_of(ALICE, root, {"reserved": False, "deny": "No."}) == "<reserved>"


@pytest.mark.parametrize(
    ("change", "warning"),
    [
        (adding("post.master+x@example.com"), "warning.reserved"),
        (adding("payroll@example.com"), "warning.sensitive"),
        (Change(Action.ALIAS_REMOVE, "ceo@example.com"), "warning.sensitive"),
        (forwarding("x@example.com", "a@example.net"), "warning.external"),
        (PASSWORD_OF_BOB, "warning.password"),
    ],
)
def test_a_floor_raises_an_automatic_rule_to_two_approvals(change: Change, warning: str) -> None:
    """Sensitive changes still require two approvals, even if a rule allows them automatically."""
    decision = decide(OPEN, ALICE, change, FACTS)
    assert decision.verdict is Verdict.NEEDS_APPROVAL
    assert decision.quorum == (Quorum("admins", 2),)
    assert decision.warnings[0].code == warning
    assert decision.reason.code == "policy.two_approvers"
    known = decide(OPEN, ALICE, change, replace(FACTS, mailbox_owner_user="U00000002"))
    unknown = [one for one in decision.warnings if one not in known.warnings]
    assert len(unknown) == (change.action is Action.PASSWORD)
    params = {"mailbox": "bob@example.com"}
    assert all(one == Reason("warning.no_owner", params) for one in unknown)


def test_a_floor_adds_what_is_missing_to_the_first_group() -> None:
    """If a rule requires too few approvals, the missing ones are added to its first group."""
    for approvals, quorum in (
        ({"security": 1}, (Quorum("security", 2),)),
        ({"security": 3}, (Quorum("security", 3),)),
        ({"security": 1, "admins": 1}, BY_BOTH),
    ):
        decision = decide(policy_of({"approvals": approvals}), ALICE, PASSWORD_OF_BOB, FACTS)
        assert decision.quorum == quorum
        assert (decision.reason.code == "policy.two_approvers") == (
            quorum == (Quorum("security", 2),)
        )


def test_ones_own_password_needs_no_approval() -> None:
    """A person's new password needs no approval, unless the mailbox has a reserved name."""
    for local, verdict in (
        ("alice", Verdict.ALLOW),
        ("ceo", Verdict.ALLOW),
        ("admin", Verdict.NEEDS_APPROVAL),
    ):
        person = replace(ALICE, mailbox=f"{local}@example.com")
        for named in ("", f"{local}@example.com"):
            assert decide(OPEN, person, Change(Action.PASSWORD, named), FACTS).verdict is verdict


def test_a_decision_has_the_digest_of_its_policy() -> None:
    """A decision records the digest of its policy, and its card goes to the right channel."""
    digest = decide(OPEN, ALICE, X, FACTS).policy_digest
    data = data_of(*ALL_AUTOMATIC)
    assert digest == Policy.model_validate({key: data[key] for key in reversed(data)}).digest
    assert digest != policy_of(*ALL_AUTOMATIC, limits={"open_requests": 6}).digest
    assert OPEN.channel_of(BY_BOTH) == "C00000009"
    assert OPEN.channel_of(BY_BOTH[::-1]) == "C00000001"
    assert OPEN.channel_of(()) == "C00000001"


RULES = (
    {"name": "own-password", "actions": ["password"], "own": True, "automatic": True},
    {"name": "closed", "groups": ["security"], "deny": "Not for you."},
    {"name": "own-alias", "actions": ["alias.add"], "own": True, "approvals": {"admins": 1}},
    {"name": "rest", "approvals": {"admins": 1}},
)
CONTROLS = ["<person>", "<identity>", "<invalid>", "<domain>", "<tombstone>", "<limits>"]


def test_an_explanation_lists_each_step_to_the_decision() -> None:
    """An explanation shows the decision, its warnings, each step, and the rules not evaluated."""
    change = adding("payroll@example.com")
    lines = explain(policy_of(*RULES), ALICE, change, FACTS, plain_reason_text)
    assert lines[0].startswith("Allowed with approvals by own-alias: It needs 2 approvals")
    assert ("payroll@example.com" in lines[1], lines[2]) == (True, "")
    steps = [line.split(": ", 2)[:2] for line in lines[3:9]]
    assert [name for name, _ in steps] == CONTROLS
    # Controls that depend on the person, the address or the limits are assumed to pass, because the
    # policy file has no such facts.
    assert [said for _, said in steps] == [
        *("Assumed", "Passed", "Passed", "Passed", "Assumed", "Assumed")
    ]
    assert lines[9:] == [
        "closed: Does not match: the person is not in security.",
        "own-password: Does not match: the rule is for password.",
        f"own-alias: Matches. {lines[0].partition(': ')[2]}",
        "Not reached: rest.",
    ]


def test_an_explanation_ends_where_the_decision_is_made() -> None:
    """An explanation ends with the control that denies the change, or with the default."""
    lines = explain(policy_of(*RULES), ALICE, adding("x@example.net"), FACTS, plain_reason_text)
    assert lines[0].startswith("Denied by <domain>: ")
    assert [line.partition(":")[0] for line in lines[2:6]] == CONTROLS[:4]
    assert lines[6:] == ["Not reached: closed, own-password, own-alias, rest."]
    rule = {"actions": ["password"], "own": False, "domains": ["*.org"], "addresses": ["a@*"]}
    lines = explain(
        policy_of({**rule, "reserved": True, **AUTOMATIC}), ALICE, X, FACTS, plain_reason_text
    )
    assert [line.partition(":")[0] for line in lines[-2:]] == ["rule-1", "<default>"]
    for condition in ("password", "does not own", "*.org", "a@*", "reserved"):
        assert condition in lines[-2]


locals_ = st.sampled_from([*sorted(RESERVED), "sales", "ceo", "it-admin", "adm1n", "alice", "bob"])
domains = st.sampled_from(["example.com", "example.org", "other.example"])
addresses = st.builds(lambda local, domain: f"{local}@{domain}", locals_, domains)
groups = st.lists(st.sampled_from(["everyone", "admins", "security"]), min_size=1, max_size=2)
conditions = st.fixed_dictionaries(
    {},
    optional={
        "actions": st.lists(st.sampled_from(list(Action)), min_size=1, unique=True),
        "groups": groups,
        "own": st.booleans(),
        "domains": st.lists(st.sampled_from(["example.*", "*.org", "*"]), max_size=2),
        "addresses": st.lists(st.sampled_from(["s*@*", "*@example.com"]), max_size=2),
        "destinations": st.sampled_from(["internal", "external", "any"]),
        "reserved": st.booleans(),
    },
)
approvals = st.dictionaries(
    st.sampled_from(["admins", "security"]), st.integers(1, 3), min_size=1
).map(lambda quorum: {"approvals": quorum})
effects = st.just({"automatic": True}) | approvals | st.just({"deny": "No."})
rules = st.lists(st.builds(lambda a, b: {**a, **b}, conditions, effects), min_size=1, max_size=5)
people = st.builds(
    Person,
    user=st.just("U1"),
    mailbox=st.none() | st.sampled_from(["alice@example.com", "admin@example.com"]),
    groups=groups.map(lambda names: frozenset({"everyone", *names})),
)
changes_made = st.builds(
    Change,
    action=st.sampled_from(list(Action)),
    target=addresses | st.just(""),
    mailbox=st.none() | addresses,
    destinations=st.lists(addresses, max_size=2).map(tuple),
)
# Ways to disguise a name so that neither a reader nor a comparison recognizes it. Some of the
# resulting names are not even valid addresses.
HOMOGLYPHS = str.maketrans("aceiopsxy", "асеіорѕху")  # noqa: RUF001 - that is the point
LOOKS = str.maketrans("abeilost", "48311057")
DISGUISES: dict[str, Callable[[str], str]] = {
    "plain": str,
    "case": str.title,
    "more signs": "_-'=".join,
    "tags": "{}+a.b+root".format,
    "tag alone": "+{}".format,
    "digits": "{}24".format,
    "looks": lambda name: name.translate(LOOKS),
    "letters": lambda name: name.replace("m", "rn"),
    "full width": lambda name: "".join(chr(ord(sign) + 0xFEE0) for sign in name),
    "homoglyphs": lambda name: name.translate(HOMOGLYPHS),
    "decomposed": lambda name: unicodedata.normalize("NFD", name.replace("a", "á")),
    **{f"unseen {sign!a}": sign.join for sign in ("\u200b", "\u202e", "\u0301", "\x00")},
}


@pytest.mark.parametrize("way", DISGUISES)
def test_no_disguise_gets_a_reserved_name_without_two_approvals(way: str) -> None:
    """A disguised reserved name still needs two approvals, even if the policy allows the change."""
    policy = policy_of(*ALL_AUTOMATIC)
    for name, action in itertools.product(sorted(RESERVED), Action):
        typed = f"{DISGUISES[way](name)}@example.com"
        try:
            targets = (typed, address(typed))
        except InvalidAddress:
            targets = (typed, typed)
        for target in targets:
            change = Change(action, target, None, ("bob@example.com",))
            decision = decide(policy, ALICE, change, FACTS)
            assert (
                decision.verdict is Verdict.DENY
                or sum(one.approvals for one in decision.quorum) >= 2
            )


@settings(max_examples=120, deadline=None)
@given(rules, people, changes_made)
def test_decisions_of_any_policy(
    found: list[dict[str, Any]], person: Person, change: Change
) -> None:
    """Under any policy, passwords for other people and external forwarding need two approvals.

    The explanation names the deciding rule.
    """
    policy = policy_of(*found)
    decision = decide(policy, person, change, FACTS)
    if decision.verdict is not Verdict.DENY:
        leaves = any(not one.endswith(tuple(OURS)) for one in change.destinations)
        if (change.action is Action.FORWARD_ADD and leaves) or (
            change.action is Action.PASSWORD and change.target not in ("", person.mailbox)
        ):
            assert sum(one.approvals for one in decision.quorum) >= 2
    assert bool(decision.quorum) is (decision.verdict is Verdict.NEEDS_APPROVAL)
    assert {one.group for one in decision.quorum} <= policy.groups.keys()
    assert decision.steps[-1].name == decision.rule
    said = explain(policy, person, change, FACTS, plain_reason_text)[0]
    assert f" by {decision.rule}: {plain_reason_text(decision.reason)}" in said


@pytest.mark.parametrize(
    ("limit", "last_day", "code"),
    [
        ({}, None, "policy.no_approval"),
        ({"end_date": "required"}, None, "end.required"),
        ({"end_date": "required"}, date(2036, 1, 31), "policy.no_approval"),
        ({"max_days": 30}, None, "end.too_late"),
        ({"max_days": 30}, date(2026, 3, 2), "policy.no_approval"),
        ({"max_days": 30}, date(2026, 3, 3), "end.too_late"),
    ],
)
def test_a_rule_limits_how_long_its_additions_last(
    limit: dict[str, Any], last_day: date | None, code: str
) -> None:
    """A rule denies additions without an end date or with a late one, and never removals."""
    policy = policy_of({**AUTOMATIC, **limit, "name": "limited"}, {**AUTOMATIC, "name": "any"})
    change = replace(adding("x@example.com"), last_day=last_day)
    decision = decide(policy, ALICE, change, FACTS)
    assert (decision.rule, decision.reason.code) == ("limited", code)
    assert plain_reason_text(decision.reason)
    removal = replace(change, action=Action.ALIAS_REMOVE, last_day=None)
    assert decide(policy, ALICE, removal, FACTS).verdict is Verdict.ALLOW
