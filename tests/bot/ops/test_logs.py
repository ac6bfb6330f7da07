# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The log contains one line per event, and no line contains a secret."""

from __future__ import annotations

import io
import json
import logging
import sys
import threading
from collections.abc import Callable
from contextlib import redirect_stderr
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from slack_bolt import BoltContext, BoltRequest, BoltResponse
from slack_bolt.error import BoltUnhandledRequestError

from postroom_bot.ops import logs
from postroom_bot.ops.metrics import Metrics
from postroom_bot.slack.bolt_app import INTERNAL_ERROR, answer_error
from postroom_common.logs import log_crashes

SECRET = 'api-"quoted"-secret'


STYLES = pytest.mark.parametrize("style", ["json", "text"])


def written(style: str, work: Callable[[], None]) -> list[str]:
    """Call a function, and return the lines that it logs at the lowest level."""
    with redirect_stderr(io.StringIO()) as stream:
        # Remove pytest's handlers, which `configure` would close.
        logging.getLogger().handlers[:] = []
        logs.configure(style=style, level="debug", secrets=[SECRET])
        work()
    return stream.getvalue().splitlines()


@STYLES
@pytest.mark.parametrize(
    "secret",
    [
        "xoxb-1234-abcdef",
        "xapp-1-A123-456-abcdef",
        "Authorization: Bearer abc.def",
        "https://hooks.slack.com/commands/T1/2/abcdef",
        "response_url='https://example.com/abcdef'",
        "wss://wss-primary.slack.com/link/?ticket=abcdef",
        "postgresql://bot:abcdef@db/bot",
        "postgresql:/bot:abcdef@db/bot",
        SECRET,
    ],
)
def test_secrets_are_hidden(style: str, secret: str) -> None:
    """A secret is redacted in a message, in an argument and in an extra field."""

    def work() -> None:
        own = logging.getLogger("postroom_bot.test")
        own.info("it was\n%s indeed", secret)
        own.info(f"it was {secret} indeed")
        own.info("it was", extra={"fields": {"what": secret}})

    lines = written(style, work)
    assert len(lines) == 3
    for line in lines:
        assert style == "text" or json.loads(line)["level"] == "info"
        assert logs.HIDDEN in line
        assert "abc" not in line
        assert "quoted" not in line


def test_json_keeps_the_types_of_fields() -> None:
    """Numbers and null keep their types in JSON logs, and all other values become strings."""
    fields = {"status": 200, "ms": 1.5, "tenant": None, "path": Path("/healthz")}
    own = logging.getLogger("postroom_bot.test")
    (line,) = written("json", lambda: own.info("request", extra={"fields": fields}))
    assert json.loads(line).items() >= {**fields, "path": "/healthz"}.items()


@STYLES
def test_an_exception_is_logged_by_its_kind_and_place(
    style: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An exception is logged with its type and location, but without its text."""
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    monkeypatch.setattr(threading, "excepthook", threading.excepthook)

    def work() -> None:
        log_crashes(logs.PROGRAM)
        try:
            int("Hunter2")
        except ValueError as error:
            logging.getLogger("postroom_bot").exception("it failed")
            sys.excepthook(ValueError, error, None)
            crash = threading.ExceptHookArgs((ValueError, error, None, None))
            threading.excepthook(crash)

    lines = written(style, work)
    assert len(lines) == 3
    for line in lines:
        assert "ValueError" in line
        assert "test_logs.py" in line
        assert "Hunter2" not in line


def test_a_bug_in_a_listener_is_logged_and_answered() -> None:
    """A bug in a listener is logged without the error's text, and the user gets an answer."""
    context = BoltContext()
    waits = BoltResponse(status=200)
    bodies: list[tuple[dict[str, Any], BoltResponse | None]] = [
        ({"command": "/email"}, waits),
        ({"type": "view_submission"}, waits),
        ({"type": "shortcut"}, waits),
        ({"type": "event_callback"}, None),
    ]
    answers: list[BoltResponse | None] = []

    def work() -> None:
        metrics = Metrics()
        for body, response in bodies:
            answer = answer_error(metrics, ValueError("Hunter2"), body, context, response)
            answers.append(answer)
        nothing = BoltUnhandledRequestError(request=BoltRequest(body=""), current_response=None)
        answers.append(answer_error(metrics, nothing, {"type": "new"}, context, None))

    lines = written("json", work)
    command, submission, shortcut, other, unknown = answers
    assert command is not None
    assert submission is not None
    assert INTERNAL_ERROR in str(command.body)
    assert INTERNAL_ERROR in str(submission.body)
    assert shortcut is not None
    assert unknown is not None
    assert (shortcut.status, other, unknown.status) == (200, None, 200)
    assert len(lines) == 5
    assert "Hunter2" not in "".join(lines)


@STYLES
def test_only_warnings_of_others_are_let_through(
    style: str, request: pytest.FixtureRequest
) -> None:
    """Libraries log only warnings and errors, because their lower levels contain payloads."""

    def work() -> None:
        for name in ("slack_bolt.App", "slack_sdk.web", "httpx", "slack_bolt.postroom:x"):
            logger = logging.getLogger(name)
            # Restore the level, because other tests check what these loggers log.
            request.addfinalizer(partial(logger.setLevel, logger.level))
            logger.setLevel(logging.DEBUG)
            logger.debug("payload")
            logger.info("payload")
            logger.warning("trouble")

    lines = written(style, work)
    assert len(lines) == 4
    assert all("trouble" in line for line in lines)
