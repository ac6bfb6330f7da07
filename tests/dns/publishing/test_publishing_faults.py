# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Whatever becomes of an update on its way, what is told of it is true."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ansible_collections.postroom.email.plugins.module_utils._api import errors
from ansible_collections.postroom.email.tests.dns.publishing.stage import (
    HOME,
    SELECTOR,
    Stage,
    all_of_it,
    keys_apart,
    mx,
    records_of,
    stage_with,
)
from ansible_collections.postroom.email.tests.support.bind import Zone

SPLIT = "split.example"
QUICK = 1.0


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    """Run a name server with a zone, and one whose keys are kept apart."""
    delegating, keys = keys_apart(SPLIT)
    zones: dict[str, Zone | str] = {
        HOME: "",
        SPLIT: delegating,
        f"_domainkey.{SPLIT}": Zone(keys, policy='grant "somebody" zonesub ANY;'),
    }
    with stage_with(tmp_path, zones) as stage:
        yield stage


def test_an_answer_is_lost(stage: Stage) -> None:
    """The update was carried out: that is seen at the next look, and it is not sent again."""
    stage.gate.lost_answers = 1
    done = stage.publish(records_of(HOME), server=stage.server(seconds=QUICK))
    assert len(done.publication.changes) == 3
    assert stage.gate.updates == 1
    assert stage.held() == all_of_it()


def test_an_update_is_lost(stage: Stage) -> None:
    """It is sent again, and told once."""
    stage.gate.lost_updates = 1
    done = stage.publish(records_of(HOME), server=stage.server(seconds=QUICK))
    assert [change.action for change in done.publication.changes] == ["create"] * 3
    assert stage.gate.updates == 2
    assert stage.held() == all_of_it()


def test_an_answer_is_lost_when_time_is_short(stage: Stage) -> None:
    """The update does not get all of it, so that what became of it can be seen."""
    stage.gate.lost_answers = 1
    until = time.monotonic() + 4.0
    done = stage.publish(records_of(HOME), server=stage.server(seconds=10.0, until=until))
    assert len(done.publication.changes) == 3
    assert stage.gate.updates == 1


def test_a_slow_server_gets_no_more_time(stage: Stage) -> None:
    """All questions together have the time that is given for the task."""
    stage.gate.delay = 0.4
    for seconds, most in ((1.0, 3), (0.0, 0)):
        stage.front.asked.clear()
        until = time.monotonic() + seconds
        with pytest.raises(errors.NameServerError, match=r"[tT]he time was up"):
            stage.publish(records_of(HOME), server=stage.server(until=until))
        assert len(stage.front.asked) <= most
    assert stage.gate.updates == 0


def test_the_name_server_falls_silent(stage: Stage) -> None:
    """Where nobody can be asked any more, it is said that nobody knows what was written."""

    def fall_silent() -> None:
        stage.gate.is_silent = True

    stage.gate.before_update = fall_silent
    with pytest.raises(errors.NoAnswer, match=f"Whether {HOME} MX, .* is not known") as caught:
        stage.publish(records_of(HOME), server=stage.server(seconds=QUICK), seconds=3.0)
    assert caught.value.unsure
    assert not caught.value.done


def test_silence_from_the_beginning(stage: Stage) -> None:
    """Nothing was sent that could have been written, and so nothing is said of that."""
    stage.gate.is_silent = True
    with pytest.raises(errors.NoAnswer) as caught:
        stage.publish(records_of(HOME), server=stage.server(seconds=QUICK))
    assert not caught.value.unsure
    assert stage.gate.updates == 0


def test_somebody_is_faster(stage: Stage) -> None:
    """What came meanwhile is in the plan of the next attempt, and stays."""
    stage.gate.before_update = _once(
        lambda: stage.bind.change(HOME, add=[f'{HOME}. 60 TXT "v=spf1 a -all"'])
    )
    done = stage.publish(records_of(HOME))
    assert stage.gate.updates == 2
    assert stage.held()["TXT"] == ('"v=spf1 a include:mail.example.net -all"',)
    assert [change.action for change in done.publication.changes] == ["create", "update", "create"]


def test_somebody_is_always_faster(stage: Stage) -> None:
    """It ends when the time is up, with nothing written, and says what to do."""
    rivals = iter(range(1000))

    def disturb() -> None:
        stage.bind.change(HOME, add=[f"{HOME}. 60 MX 50 m{next(rivals)}.example.org."])

    stage.gate.before_update = disturb
    with pytest.raises(errors.ZoneChanged) as caught:
        stage.publish(records_of(HOME), seconds=1.0)
    assert not caught.value.done
    assert not caught.value.unsure
    assert stage.gate.updates > 2
    assert set(mx()).isdisjoint(stage.held()["MX"])


def test_what_was_done_before_a_failure_is_told(stage: Stage) -> None:
    """Of two zones the second refuses: what is in the first one stands."""
    with pytest.raises(errors.UpdateRefused, match="_domainkey") as caught:
        stage.publish(records_of(SPLIT))
    assert [change["name"] for change in caught.value.done] == [f"{SPLIT} MX", f"{SPLIT} TXT"]
    held = stage.held(SPLIT)
    assert (bool(held["MX"]), bool(held["TXT"]), held["DKIM"]) == (True, True, ())
    assert f"{SELECTOR}.{SPLIT}" not in str(caught.value.done)


def _once(action: Callable[[], None]) -> Callable[[], None]:
    left = [action]
    return lambda: left.pop()() if left else None
