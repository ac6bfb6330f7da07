# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The stand-in for AWX lists as AWX does: by filters, in pages, and to whom may see it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ansible_collections.postroom.email.tests.fakes.awx.controller import Controller
from ansible_collections.postroom.email.tests.ops.awx.asking import Asker


@pytest.fixture
def asker(controller: Controller) -> Iterator[Asker]:
    """Give the superuser of a controller with three teams in one organization, one in another."""
    asker = Asker(controller)
    one, other = (asker.make("organizations", name=name) for name in ("One", "Other"))
    for name in ("a", "b", "c"):
        asker.make("teams", name=name, organization=one)
    asker.make("teams", name="a", organization=other)
    yield asker
    asker.close()


def names(asker: Asker, query: str) -> list[str]:
    """Return the names on a page of teams."""
    said = asker.ask("GET", f"teams/?{query}")
    assert said.status == 200, said.body
    return [row["name"] for row in said.body["results"]]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("", ["a", "b", "c", "a"]),
        ("name=a", ["a", "a"]),
        ("name__exact=a&organization__name=One", ["a"]),
        ("or__name=b&or__id=0", ["b"]),
        ("order_by=-name&page_size=2", ["c", "b"]),
    ],
)
def test_filters_choose(asker: Asker, query: str, found: list[str]) -> None:
    """By a field, by a field of what it refers to, and by either of two."""
    assert names(asker, query) == found


@pytest.mark.parametrize(
    ("query", "status"), [("colour=red", 400), ("name__name=a", 400), ("page=9", 404)]
)
def test_a_query_is_refused(asker: Asker, query: str, status: int) -> None:
    """There is no such field, or no such page."""
    assert asker.ask("GET", f"teams/?{query}").status == status


def test_pages_lead_on(asker: Asker) -> None:
    """Each page has the address of the next one, until the last."""
    first = asker.ask("GET", "teams/?page_size=3").body
    assert (first["count"], len(first["results"]), first["previous"]) == (4, 3, None)
    following = asker.ask("GET", first["next"].removeprefix("/api/v2/")).body
    assert [row["name"] for row in following["results"]] == ["a"]
    assert following["next"] is None


def test_who_is_unknown_is_not_let_in(asker: Asker) -> None:
    """Without a token, or with a wrong one, there is nothing but status 401."""
    for token in ("", "another"):
        stranger = Asker(asker.controller, token)
        assert stranger.ask("GET", "teams/").status == 401
        stranger.close()


def test_what_is_gone_is_nowhere(asker: Asker) -> None:
    """A deleted resource is in no list, and not under its address."""
    team = asker.ask("GET", "teams/?name=b").body["results"][0]["id"]
    assert asker.ask("DELETE", f"teams/{team}/").status == 204
    assert asker.ask("GET", f"teams/{team}/").status == 404
    assert names(asker, "name=b") == []
