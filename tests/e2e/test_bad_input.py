# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Bad input gives one sentence that names the object and the remedy, and changes nothing."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ansible_collections.postroom.email.tests.support.mistakes import (
    EVERY,
    FIRST,
    INFO_ADDRESS,
    SECOND,
    THIRD,
    Bad,
)
from ansible_collections.postroom.email.tests.support.recorder import Recorder
from ansible_collections.postroom.email.tests.support.service import RunningService
from ansible_collections.postroom.email.tests.support.site import Site


@pytest.fixture(scope="module")
def inhabited(service: RunningService, recorder: Recorder) -> Iterator[Site]:
    """Return a tenant that all tests of this file share, for none of them may change it."""
    site = Site(service.url, service.token, recorder)
    site.clear()
    site.create("one.example", "two.example")
    site.create("ann@one.example", emails=["ann@one.example", INFO_ADDRESS, "ann@two.example"])
    site.create("bob@one.example", "cat@two.example")
    site.create(FIRST, members=[SECOND])
    site.create(SECOND, members=[THIRD])
    site.create("all@one.example", members=["ann@one.example"])
    yield site
    site.close()


@pytest.mark.parametrize("bad", EVERY, ids=str)
def test_bad_input(inhabited: Site, bad: Bad) -> None:
    """A task that can't be done says why, names what to do, and writes nothing."""
    before = inhabited.listing()
    inhabited.recorder.take()
    result = inhabited.run(bad.module, **bad.options)
    assert (result["msg"], result["failed"], result["changed"]) == (bad.says, True, False)
    assert inhabited.recorder.take_writes() == []
    assert inhabited.listing() == before


@pytest.mark.parametrize("bad", EVERY, ids=str)
def test_check_mode_tells_before(inhabited: Site, bad: Bad) -> None:
    """Check mode fails in the same words; where an earlier task may help, it warns with them."""
    with inhabited.recorder.forbidding_writes():
        result = inhabited.run(bad.module, check=True, **bad.options)
    assert result["failed"] is not bad.prerequisite
    # The form of a warning depends on the ansible-core.
    assert bad.says in (str(result["warnings"]) if bad.prerequisite else result["msg"])
