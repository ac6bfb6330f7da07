# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Names that get certificates or trust, in every disguise and by every way in.

What can't be read as an address is refused before it is a request. Nobody knows then that somebody
tried something forbidden, and the text may be a password: so it is in no row of the audit either.
"""

from __future__ import annotations

import pytest

from ansible_collections.postroom.email.tests.bot.threats.scene import APPROVE, Scene, number_in
from ansible_collections.postroom.email.tests.fakes.slack.person import Person
from postroom_bot.__main__ import main

RESERVED = "is a reserved name, and no rule gives it to you."
NO_ADDRESS = "That is not an email address."

NAMES = [
    *("admin", "administrator", "hostmaster", "postmaster", "webmaster", "abuse", "root"),
    *("ssladmin", "dmarc", "tlsrpt", "security", "mailer-daemon", "noreply", "pki"),
]
#: All of these are read as the name that they are.
DISGUISES = [
    "AdMiN@example.com",
    "a.d.m.i.n@example.com",
    "admin+sales@example.com",
    "+admin@example.com",
    "host_-_master@example.com",
    "admin@EXAMPLE.COM",
    "admin@example.com.",
    "admin@example.com...",
    "'admin@example.com'",
    "(admin@example.com)",
    "admin@\uff45\uff58\uff41\uff4d\uff50\uff4c\uff45.com",
]
#: And none of these is read at all.
UNREADABLE = {
    "full-width": "\uff41\uff44\uff4d\uff49\uff4e@example.com",
    "homoglyph": "\u0430dmin@example.com",
    "dotless-i": "adm\u0131n@example.com",
    "zero-width": "ad\u200bmin@example.com",
    "right-to-left": "\u202eadmin@example.com",
    "combining": "a\u0301dmin@example.com",
    "soft-hyphen": "ad\u00admin@example.com",
    "quoted": '"admin"@example.com',
    "a-labels": "admin@xn--exmple-cua\u200b.com",
    "two-signs": "admin@@example.com",
    "percent": "admin%example.com@example.com",
    "control": "admin\x00@example.com",
}
#: Domains that only look like ours.
LOOKALIKE_DOMAINS = [
    "admin@ex\u0430mple.com",
    "admin@examp1e.com",
    "admin@example.com.evil.example",
]
TRUSTED = ["ceo", "payroll", "payroll-team", "adrnin", "adm1n", "p0stmaster", "press-admin"]


def _is_refused(scene: Scene, person: Person, says: str = RESERVED) -> None:
    """See that the one thing that somebody asked for was refused with these words."""
    (row,) = scene.requests_of(person)
    scene.refuses(person, row["id"], says)
    assert scene.request(row["id"])["card_ts"] is None


@pytest.mark.parametrize("name", NAMES)
def test_nobody_gets_a_reserved_name(scene: Scene, alice: Person, name: str) -> None:
    """The requester is told, the audit has the rule, and no card is posted."""
    with scene.no_effect():
        alice.command(f"/email alias add {name}@example.com")
        _is_refused(scene, alice)
    (row,) = scene.requests_of(alice)
    assert row["rule"] == "<reserved>"


@pytest.mark.parametrize("address", DISGUISES)
def test_a_typed_disguise_is_seen_through(scene: Scene, alice: Person, address: str) -> None:
    """Case, dots, tags, signs round it, and a domain that is ours in other letters."""
    with scene.no_effect():
        alice.command(f"/email alias add {address}")
        _is_refused(scene, alice)


@pytest.mark.parametrize("address", DISGUISES)
def test_a_disguise_in_a_form_is_seen_through(scene: Scene, alice: Person, address: str) -> None:
    """What comes from a window goes through the same reading."""
    with scene.no_effect():
        scene.form(alice, "alias_add", {"address": address})
        _is_refused(scene, alice)


@pytest.mark.parametrize("address", [*DISGUISES, *(f"{name}@example.com" for name in NAMES)])
def test_a_disguise_is_explained(
    scene: Scene, address: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whoever writes the policy sees why: the dry run decides as the bot does."""
    policy = str(scene.bot.policy_file)
    words = ["--mailbox", "a@example.com", "alias", "add", address]
    assert main(["explain", "--policy", policy, *words]) == 0
    assert "Denied by <reserved>" in capsys.readouterr().out


def test_the_program_itself_explains(scene: Scene) -> None:
    """The same from a process of its own, with the running bot's settings."""
    words = ("--mailbox", "a@example.com", "alias", "add", "A.d.m.i.n+x@example.com")
    told = scene.bot.command("explain", *words)
    assert (told.returncode, told.stderr) == (0, "")
    assert RESERVED in told.stdout


@pytest.mark.parametrize(
    "text",
    [
        "alias add <mailto:Admin@example.com|Admin@example.com>",
        "alias add <mailto:sales@example.com|admin@example.com>",
        "alias add &lt;admin@example.com&gt;",
        "forward add <mailto:admin@example.com|admin@example.com> to x@example.com",
        "forward add post.master@example.com to x@example.com",
    ],
)
def test_a_link_stands_for_what_people_see(scene: Scene, alice: Person, text: str) -> None:
    """Slack's wrapping is taken off; what the link is labelled with counts, as on the card."""
    with scene.no_effect():
        scene.deliver(alice, text)
        _is_refused(scene, alice)


def test_a_link_that_hides_a_name_gives_only_what_people_see(scene: Scene, alice: Person) -> None:
    """The address behind a label is used for nothing."""
    shown = scene.fresh()
    scene.deliver(alice, f"alias add <mailto:admin@example.com|{shown}>")
    (row,) = scene.requests_of(alice)
    asked = scene.card_of(row["id"])
    assert row["target"] == shown
    assert "admin@" not in asked.card.text


@pytest.mark.parametrize("address", UNREADABLE.values(), ids=UNREADABLE)
def test_what_can_not_be_read_is_no_request(scene: Scene, alice: Person, address: str) -> None:
    """Signs that look like others, that can't be seen or that turn the reading round."""
    with scene.no_effect():
        ack = alice.command(f"/email alias add {address}")
        assert NO_ADDRESS in ack.body["text"]
        form = scene.form(alice, "alias_add", {"address": address})
        assert NO_ADDRESS in form.body["errors"]["address"]
    assert scene.requests_of(alice) == []
    assert address not in str(ack.body) + str(form.body)


@pytest.mark.parametrize("address", UNREADABLE.values(), ids=UNREADABLE)
def test_what_can_not_be_read_is_not_explained(
    scene: Scene, address: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The dry run refuses it as the bot does."""
    policy = str(scene.bot.policy_file)
    words = ["--mailbox", "a@example.com", "alias", "add", address]
    assert main(["explain", "--policy", policy, *words]) == 2
    assert NO_ADDRESS in capsys.readouterr().err


@pytest.mark.parametrize("address", LOOKALIKE_DOMAINS)
def test_a_domain_that_looks_like_ours_is_not_ours(
    scene: Scene, alice: Person, address: str
) -> None:
    """The sentence shows the domain as it is compared."""
    with scene.no_effect():
        alice.command(f"/email alias add {address}")
        _is_refused(scene, alice, "is not one of our mail domains.")


@pytest.mark.parametrize("name", TRUSTED)
def test_a_name_that_colleagues_believe_needs_two(
    scene: Scene, alice: Person, bob: Person, carol: Person, name: str
) -> None:
    """The rule says one approval; the floor says two, and the card says why."""
    address = f"{name}@example.com"
    asked = scene.ask(alice, f"alias add {address}")
    assert "Waiting for 2 approvals from admins." in asked.card.text
    assert "is a name that people trust, or looks like one." in asked.card.text
    with scene.no_effect():
        bob.press(asked.card, APPROVE)
        scene.audited("vote.counted", bob.id, number=asked.id)
        assert scene.request(asked.id)["state"] == "pending"
    carol.press(asked.card, APPROVE)
    scene.comes_to(asked.id, "done")
    assert scene.delivers(address) == alice.user.email


def test_no_rule_is_automatic_for_such_a_name(scene: Scene, alice: Person) -> None:
    """Where the rule asks for nobody, the policy's approvers are asked, two of them."""
    automatic = scene.policy.replace(
        "actions: [alias.add], own: true, approvals: {admins: 1}",
        "actions: [alias.add], own: true, automatic: true",
    )
    assert automatic != scene.policy
    with scene.in_force(automatic):
        with scene.no_effect():
            asked = scene.ask(alice, "alias add cfo@example.com")
            assert "Waiting for 2 approvals from admins." in asked.card.text
        free = scene.fresh()
        alice.command(f"/email alias add {free}")
        scene.until(lambda: scene.delivers(free) == alice.user.email)


def test_a_rule_that_gives_a_reserved_name_still_needs_two(
    scene: Scene, alice: Person, bob: Person
) -> None:
    """Only a rule that says so gives one, and the card warns of what it is worth."""
    rule = "  - {name: the-reserved, reserved: true, approvals: {admins: 1}}\n"
    with scene.in_force(scene.policy + rule), scene.no_effect():
        asked = scene.ask(alice, "alias add hostmaster@example.com")
        assert "Waiting for 2 approvals from admins." in asked.card.text
        assert "can get certificates or trust in the name of the domain" in asked.card.text
        bob.press(asked.card, APPROVE)
        scene.audited("vote.counted", bob.id, number=asked.id)
        assert scene.request(asked.id)["state"] == "pending"
        alice.command(f"/email cancel {asked.id}")


def test_a_freed_address_is_not_taken_by_another(scene: Scene, alice: Person, bob: Person) -> None:
    """What somebody gave up is kept free for a while, from all but themselves."""
    address, mallory = scene.fresh(), scene.hire()
    asked = scene.ask(alice, f"alias add {address}")
    bob.press(asked.card, APPROVE)
    scene.comes_to(asked.id, "done")
    scene.comes_to(number_in(alice.command(f"/email alias remove {address}")), "done")
    assert scene.delivers(address) is None
    with scene.no_effect():
        mallory.command(f"/email alias add {address}")
        _is_refused(scene, mallory, "was given up a short while ago and is kept free.")
        mallory.command(f"/email forward add {address} to {mallory.user.email}")
        scene.until(lambda: len(scene.requests_of(mallory)) == 2)
        for row in scene.requests_of(mallory):
            scene.refuses(mallory, row["id"], "is kept free.")
    again = scene.ask(alice, f"alias add {address} because I want it back")
    bob.press(again.card, APPROVE)
    scene.comes_to(again.id, "done")
    assert scene.delivers(address) == alice.user.email
