# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The role with each provider: published, published again, withdrawn, and others' records kept."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import pytest

from ansible_collections.postroom.email.tests.dns.role.lives import (
    THEIR_MX,
    THEIR_SPF,
    THEIR_TEXT,
    Held,
    Step,
    World,
    running_world,
)
from ansible_collections.postroom.email.tests.dns.role.providers import PROVIDERS, Provider
from ansible_collections.postroom.email.tests.dns.role.rig import joined
from ansible_collections.postroom.email.tests.support.service import RunningService

MX = "10 mail.postroom.test."
MERGED_SPF = '"v=spf1 mx include:spf.postroom.test -all"'
THEIRS = Held((THEIR_MX,), tuple(sorted((THEIR_SPF, THEIR_TEXT))), ())


class Life(NamedTuple):
    """The steps of all domains, in their order."""

    world: World
    would: Step
    publish: Step
    again: Step
    exchange: Step
    withdraw: Step
    barred: Step


@pytest.fixture(scope="module")
def lives(service: RunningService, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Life]:
    """Live through all steps at all providers."""
    with running_world(service, tmp_path_factory.mktemp("lives")) as world:
        would, publish, again = (
            world.step("--check", "--diff", "-vvv"),
            world.step("-vvv"),
            world.step(),
        )
        world.exchange_keys()
        exchange, withdraw = world.step(), world.step(dns_state="absent")
        yield Life(world, would, publish, again, exchange, withdraw, world.barred())


@pytest.fixture(params=PROVIDERS)
def name(request: pytest.FixtureRequest, lives: Life) -> str:
    """Return the name of a provider, or skip where its program is not installed."""
    name: str = request.param
    if name not in lives.world.providers:
        pytest.skip(f"the server for {name} is not installed")
    return name


@pytest.fixture
def provider(name: str, lives: Life) -> Provider:
    """Return the provider."""
    return lives.world.providers[name]


def test_check_mode(lives: Life, name: str) -> None:
    """Check mode tells of the change, shows it, and sends nothing that could be one."""
    assert lives.would.run[name].recap.changed > 0
    assert lives.would.held[name] == THEIRS
    assert not lives.would.writes.get(name)
    (told,) = lives.would.run[name].result.values()
    assert [change["action"] for change in told["changes"]] == ["update", "update", "create"]


def test_publishing(lives: Life, name: str) -> None:
    """The service's records stand beside those of others, and its key is whole."""
    assert lives.publish.run[name].recap.changed > 0
    assert_published(lives.publish, name)


def test_publishing_again(lives: Life, name: str) -> None:
    """A second run changes nothing, and writes nothing."""
    assert lives.again.run[name].recap.changed == 0
    assert lives.again.held == lives.publish.held
    assert not lives.again.writes.get(name)
    (told,) = lives.again.run[name].result.values()
    assert told["changes"] == []


def test_another_key(lives: Life, name: str) -> None:
    """A key of 4096 bits takes the place of the one of 2048, and is whole."""
    assert lives.exchange.run[name].recap.changed > 0
    assert lives.exchange.keys != lives.publish.keys
    assert_published(lives.exchange, name)


def test_withdrawing(lives: Life, name: str) -> None:
    """What is left is what was there before, and not one record less."""
    assert lives.withdraw.run[name].recap.changed > 0
    assert lives.withdraw.held[name] == THEIRS


def test_what_only_an_owner_can_decide(lives: Life, name: str) -> None:
    """A CNAME, a null MX and two SPF records below a zone are named, and nothing is written."""
    words = lives.barred.run.failure(name)
    assert "the name is an alias (CNAME) of keys.example.net" in words
    assert "a null MX record (0 .) says that the domain takes no mail" in words
    assert "There are 2 SPF records" in words
    assert lives.barred.held[name] == (("0 .",), ('"v=spf1 -all"', THEIR_SPF), ())


def test_a_failure_at_cloudflare_loses_nothing(lives: Life) -> None:
    """The SPF record that is there goes only once the merged one is there."""
    assert "Record quota exceeded" in lives.barred.run.failure("full")
    assert lives.barred.held["full"].texts == (THEIR_SPF,)


def test_no_secret_is_shown(lives: Life, provider: Provider) -> None:
    """Not even the most talkative runs show what the provider is reached with."""
    for step in (lives.would, lives.publish):
        assert provider.secret not in step.run.output


def test_what_name_servers_hold(lives: Life, name: str, provider: Provider) -> None:
    """Where they can be asked, the role waits for them, but not for what others have there."""
    (told,) = lives.publish.run[name].result.values()
    if not provider.answers:
        assert told["stage"] is None
        return
    assert told["stage"] == "created"
    assert [record["status"] for record in told["records"]] == ["conflict", "match", "match"]
    assert "first.example.net" in told["records"][0]["detail"]


def assert_published(step: Step, name: str) -> None:
    """See what has to be there after publishing."""
    mx, texts, dkim = step.held[name]
    assert set(mx) == {MX, THEIR_MX}
    assert texts == tuple(sorted((MERGED_SPF, THEIR_TEXT)))
    assert [joined(value) for value in dkim] == [step.keys[name]]
