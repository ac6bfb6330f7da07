# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Every error of the client core has plain words of its own for people."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from ansible_collections.postroom.email.plugins.module_utils._api import errors
from postroom_bot.executors.base import TryLater, WontDo
from postroom_bot.executors.troubles import in_plain_words

INSIDE = "hi@example.com is an alias of the mailbox bob@example.com"
FINAL = {
    errors.AlreadyExists: "`hi@example.com` already delivers somewhere else.",
    errors.NotFound: "What this is about is no longer there.",
    errors.Rejected: "The mail service does not accept this for `hi@example.com`.",
    errors.Refused: "The mail service does not accept this for `hi@example.com`.",
    errors.InvalidInput: "The mail service does not accept this for `hi@example.com`.",
}
BY_OPERATOR = (errors.Unauthorized, errors.Forbidden, errors.UntrustedCertificate)


def kinds(kind: type[errors.PostroomError]) -> Iterator[type[errors.PostroomError]]:
    """Yield a kind of error and all kinds of it."""
    yield kind
    for child in kind.__subclasses__():
        if child.__module__ == errors.__name__:
            yield from kinds(child)


def beside(kind: type[errors.PostroomError]) -> tuple[object, ...]:
    """Return what such an error has beside its words."""
    if issubclass(kind, errors.ServiceError):
        return (errors.Failure("", 503, "GET", "/", ""),)
    return ("Give others.",) if kind is errors.NameServersNotFound else ()


@pytest.mark.parametrize("kind", list(kinds(errors.PostroomError)))
def test_each_error_is_translated(
    kind: type[errors.PostroomError], caplog: pytest.LogCaptureFixture
) -> None:
    """Its own words, which may name anybody, are for the log."""
    error = kind(INSIDE, *beside(kind))
    with pytest.raises((TryLater, WontDo)) as raised, in_plain_words("hi@example.com"):
        raise error
    told = raised.value
    assert "bob" not in str(told)
    assert isinstance(told, WontDo) is (kind in FINAL)
    assert str(told).startswith(FINAL.get(kind, "The mail service does not "))
    assert told.__suppress_context__
    (record,) = caplog.records
    assert INSIDE in record.getMessage()
    assert (record.levelno == logging.ERROR) is issubclass(kind, BY_OPERATOR)
