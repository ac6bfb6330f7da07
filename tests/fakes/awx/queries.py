# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Lists of resources: filtered, in order, in pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from ansible_collections.postroom.email.tests.fakes.awx.kinds import KINDS
from ansible_collections.postroom.email.tests.fakes.awx.state import Row, State
from ansible_collections.postroom.email.tests.fakes.awx.web import PREFIX, Answer

_OF_PAGES = ("page", "page_size", "order_by")
_LONGEST = 200


class BadQuery(Exception):
    """AWX doesn't know what is asked for; the text is its sentence."""


def selected(
    state: State, rows: Sequence[tuple[str, Row]], query: Mapping[str, str]
) -> list[tuple[str, Row]]:
    """Return those of the resources that a query's filters let through.

    :raises BadQuery: one of the filters is for a field that there isn't
    """
    filters = {key: value for key, value in query.items() if key not in _OF_PAGES}
    either = {key[4:]: value for key, value in filters.items() if key.startswith("or__")}
    each = {key: value for key, value in filters.items() if not key.startswith("or__")}
    found = [
        (kind, row)
        for kind, row in rows
        if all(_fits(state, kind, row, key, value) for key, value in each.items())
        and (not either or any(_fits(state, kind, row, *one) for one in either.items()))
    ]
    ordered_by = query.get("order_by", "id")
    name = ordered_by.removeprefix("-")
    return sorted(found, key=lambda pair: pair[1][name], reverse=ordered_by.startswith("-"))


def page_of(shown: Sequence[Any], path: Sequence[str], query: Mapping[str, str]) -> Answer:
    """Answer with a page of what there is to show, or that there is no such page."""
    page, size = int(query.get("page", "1")), min(int(query.get("page_size", "25")), _LONGEST)
    start = (page - 1) * size
    if page > 1 and start >= len(shown):
        return 404, {"detail": "Invalid page."}

    def link(number: int) -> str:
        return f"{PREFIX}{'/'.join(path)}/?{urlencode({**query, 'page': number})}"

    return 200, {
        "count": len(shown),
        "next": link(page + 1) if start + size < len(shown) else None,
        "previous": link(page - 1) if page > 1 else None,
        "results": list(shown[start : start + size]),
    }


def _fits(state: State, kind: str, row: Row, key: str, value: str) -> bool:
    name, _joint, rest = key.removesuffix("__exact").partition("__")
    field = KINDS[kind].fields.get(name)
    if name not in row or (rest and (field is None or not field.to)):
        raise BadQuery(f"{KINDS[kind].type} has no field named '{key}'")
    if not rest or field is None:
        return str(row[name]) == value
    other = state.get(field.to, row[name])
    return other is not None and _fits(state, field.to, other, rest, value)
