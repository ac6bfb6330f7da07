# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What holds of every policy and every wish, however strange."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from typing import Any

from hypothesis import event, given, settings
from hypothesis import strategies as st

from ansible_collections.postroom.email.tests.bot.policy.policies import (
    ALICE,
    ALL_AUTOMATIC,
    FACTS,
    allowing_rules,
    data_of,
    denying_rules,
    facts,
    forwarding,
    people,
    policy_of,
    rules,
    wishes,
)
from postroom_bot.model import Action, Decision, Person, Verdict, Wish
from postroom_bot.names import BadName, address
from postroom_bot.policy.decide import Facts, decide, weigh
from postroom_bot.policy.explain import explain
from postroom_bot.policy.model import Policy
from postroom_bot.policy.names import RESERVED

policies = rules.map(lambda found: policy_of(*found))
#: What tells a reader nothing, or another thing than it is.
UNSEEN = ["\u200b", "\u200d", "\u202e", "\u2066", "\u00ad", "\u0301", "\ufeff", "\x00", "\x7f"]
HOMOGLYPHS = str.maketrans("aceiopsxy", "асеіорѕху")  # noqa: RUF001 - that is the point
LOOKS = {"a": "4", "b": "8", "e": "3", "i": "1", "l": "1", "m": "rn", "o": "0", "s": "5", "t": "7"}


def _full_width(text: str) -> str:
    return "".join(chr(ord(c) + 0xFEE0) if c.isalnum() else c for c in text)


def _signs_between(data: st.DataObject, name: str, signs: Iterable[str]) -> str:
    chosen = st.lists(st.sampled_from(["", *signs]), min_size=len(name), max_size=len(name))
    between = data.draw(chosen)
    return "".join(letter + sign for letter, sign in zip(name, between, strict=True)).rstrip(".")


@st.composite
def disguises(draw: st.DrawFn) -> str:
    """Return a reserved name in one of the ways in which it can be hidden, or several."""
    name = draw(st.sampled_from(sorted(RESERVED)))
    data = draw(st.data())
    ways: dict[str, Any] = {
        "case": lambda text: "".join(draw(st.sampled_from([c, c.upper()])) for c in text),
        "signs": lambda text: _signs_between(data, text, [".", "-", "_", "'", "="]),
        "tag": lambda text: text + "+" + draw(st.sampled_from(["", "x", "a.b", "root"])),
        "tag alone": lambda text: f"+{text}",
        "looks": lambda text: "".join(draw(st.sampled_from([c, LOOKS.get(c, c)])) for c in text),
        "digits": lambda text: text + draw(st.sampled_from(["", "1", "24"])),
        "full width": _full_width,
        "homoglyphs": lambda text: text.translate(HOMOGLYPHS),
        "unseen": lambda text: _signs_between(data, text, UNSEEN),
        "decomposed": lambda text: unicodedata.normalize("NFD", text.replace("a", "á")),
    }
    # First what changes letters; what is put between them would hide them from it.
    for way in draw(st.lists(st.sampled_from(list(ways)), max_size=1)):
        name = ways[way](name)
    for way in draw(st.sampled_from([[], ["case"], ["signs"], ["tag"], ["signs", "tag"]])):
        name = ways[way](name)
    return name


@settings(max_examples=1000, deadline=None)
@given(local=disguises(), action=st.sampled_from(list(Action)))
def test_no_disguise_gets_a_reserved_name_without_two_people(local: str, action: Action) -> None:
    """Neither as it was typed nor as the bot reads it, though the policy allows everything."""
    typed = f"{local}@example.com"
    for target in (typed, _read(typed)):
        wish = Wish(action, target, None, ("bob@example.com",))
        decision = decide(policy_of(*ALL_AUTOMATIC), ALICE, wish, FACTS)
        event(decision.verdict)
        assert decision.verdict is not Verdict.ALLOW
        assert decision.verdict is Verdict.DENY or decision.approvals_needed >= 2


def _read(typed: str) -> str:
    try:
        return address(typed)
    except BadName:
        return typed


texts = st.text(max_size=80) | st.text("admin.+@-_<>|`\u202e\x00*", max_size=40)


@settings(max_examples=500, deadline=None)
@given(policies, people, facts, st.sampled_from(list(Action)), texts, st.none() | texts, texts)
def test_nothing_that_is_typed_breaks_it(
    policy: Policy,
    person: Person,
    known: Facts,
    action: Action,
    target: str,
    mailbox: str | None,
    destination: str,
) -> None:
    """Every text gets a decision, and every explanation ends with it."""
    wish = Wish(action, target, mailbox, (destination,))
    decision = decide(policy, person, wish, known)
    assert decision.reason
    assert explain(policy, person, wish, known)


@settings(max_examples=500, deadline=None)
@given(rules, denying_rules, st.integers(0, 5), people, wishes, facts)
def test_a_denial_is_never_outdone(
    found: list[dict[str, Any]],
    denial: dict[str, Any],
    place: int,
    person: Person,
    wish: Wish,
    known: Facts,
) -> None:
    """What a denying rule alone denies stays denied with any others, wherever it stands."""
    with_allowance = policy_of(denial, *ALL_AUTOMATIC)
    if decide(with_allowance, person, wish, known).verdict is Verdict.DENY:
        together = policy_of(*found[:place], denial, *found[place:])
        assert decide(together, person, wish, known).verdict is Verdict.DENY


@settings(max_examples=300, deadline=None)
@given(st.lists(denying_rules, min_size=1), people, wishes, facts)
def test_nothing_is_allowed_by_default(
    found: list[dict[str, Any]], person: Person, wish: Wish, known: Facts
) -> None:
    """A policy that only denies allows nobody anything."""
    assert decide(policy_of(*found), person, wish, known).verdict is Verdict.DENY


@settings(max_examples=500, deadline=None)
@given(st.lists(allowing_rules, min_size=1, max_size=5), people, wishes, facts)
def test_the_first_rule_that_fits_alone_decides(
    found: list[dict[str, Any]], person: Person, wish: Wish, known: Facts
) -> None:
    """Rules that each deny a wish by themselves are passed over; the next one decides as alone."""
    alone = [decide(policy_of(rule), person, wish, known) for rule in found]
    fitting = [one for one in alone if one.verdict is not Verdict.DENY]
    decision = decide(policy_of(*found), person, wish, known)
    event(decision.verdict)
    if not fitting:
        assert decision.verdict is Verdict.DENY
    else:
        assert _effect(decision) == _effect(fitting[0])
        assert decision.rule == f"rule-{alone.index(fitting[0]) + 1}"


def _effect(decision: Decision) -> tuple[Any, ...]:
    return decision.verdict, decision.quorum, decision.warnings, decision.reason


@settings(max_examples=500, deadline=None)
@given(policies, people, wishes, facts)
def test_what_needs_two_people_never_has_fewer(
    policy: Policy, person: Person, wish: Wish, known: Facts
) -> None:
    """Passwords of others and mail that leaves need two approvals, of groups that there are."""
    decision = decide(policy, person, wish, known)
    if decision.verdict is Verdict.DENY:
        return
    leaves = any(not one.endswith(tuple(known.own_domains)) for one in wish.destinations)
    of_another = wish.target not in ("", person.mailbox)
    if (wish.action is Action.FORWARD_ADD and leaves) or (
        wish.action is Action.PASSWORD and of_another
    ):
        assert decision.approvals_needed >= 2
    assert (decision.verdict is Verdict.APPROVE) == bool(decision.quorum)
    assert {one.group for one in decision.quorum} <= policy.groups.keys()


@settings(max_examples=500, deadline=None)
@given(policies, people, wishes, facts)
def test_an_explanation_agrees_with_the_decision(
    policy: Policy, person: Person, wish: Wish, known: Facts
) -> None:
    """It names what decided, every rule once, and why those before did not."""
    decision = decide(policy, person, wish, known)
    steps = weigh(policy, person, wish, known).steps
    assert [step.name for step in steps if step.decides] == [decision.rule] == [steps[-1].name]
    lines = explain(policy, person, wish, known)
    left = lines[-1].removeprefix("Not asked any more: ").removesuffix(".").split(", ")
    asked = [line.partition(": ")[0] for line in lines]
    assert all([*asked, *left].count(rule.name) == 1 for rule in policy.rules)
    verdict = {"allow": "Allowed at once", "approve": "Allowed with", "deny": "Denied"}
    assert lines[0].startswith(verdict[decision.verdict])
    assert f" by {decision.rule}: {decision.reason}" in lines[0]


@settings(max_examples=300, deadline=None)
@given(rules, people, wishes, facts)
def test_the_digest_depends_on_meaning_alone(
    found: list[dict[str, Any]], person: Person, wish: Wish, known: Facts
) -> None:
    """The order of keys does not matter; equal policies decide alike and name the same digest."""
    data = data_of(*found)
    turned = {key: data[key] for key in reversed(data)}
    first, second = Policy.model_validate(data), Policy.model_validate(turned)
    assert first.digest == second.digest
    assert decide(first, person, wish, known) == decide(second, person, wish, known)


def test_an_alias_for_a_reserved_name_is_never_automatic_for_forwarders_either() -> None:
    """Every reserved name, as it is, for a forwarder within the own domains."""
    for name in sorted(RESERVED):
        wish = forwarding(f"{name}@example.com", "bob@example.com")
        assert decide(policy_of(*ALL_AUTOMATIC), ALICE, wish, FACTS).approvals_needed == 2
