# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The process's log: one line an event, as JSON or as text, with no secret in it.

Slack's libraries log whole payloads when they are told to say more, so only their warnings and
errors are let through, whatever the level. What is left is searched for anything that looks like a
secret, or is known to be one.
"""

from __future__ import annotations

import json
import logging
import re
import sys
import threading
import time
import traceback
from collections.abc import Iterable
from typing import Any

OWN = "postroom_bot"
HIDDEN = "[hidden]"
_FRAMES = 8

_SECRET = re.compile(
    r"""
      xox[a-z]-[\w.-]{6,}                   # Slack's tokens, not what they begin with
    | xapp-[\w-]{6,}
    | (?<=bearer\s)[^\s"',]+                # the value of an Authorization header
    | (?<=basic\s)[a-z0-9+/=]{8,}
    | https?://hooks\.slack\.com/[^\s"',]*  # who has such an address may post
    | https?://[^\s"',]*/(?:response|commands|actions)/[^\s"',]*
    | wss?://[^\s"',]+                      # holds a ticket
    # User and password in an address, which as a file's name has lost a slash.
    | (?:(?<=://)|(?<=:/)(?!/))[^\s/:@"']*:[^\s@"']+(?=@)
    """,
    re.IGNORECASE | re.VERBOSE,
)
_RESPONSE_URL = re.compile(r"""(response_url["']?\s*[:=]\s*["']?)[^\s"',}]+""", re.IGNORECASE)


def configure(*, style: str, level: str, secrets: Iterable[str] = ()) -> None:
    """Send all logs of the process to standard error.

    :param style: ``json`` or ``text``
    :param secrets: what has to be hidden wherever it appears
    """
    redact = Redactor(secrets)
    handler = logging.StreamHandler(sys.stderr)
    handler.addFilter(_is_ours_or_grave)
    handler.setFormatter(JsonFormatter(redact) if style == "json" else TextFormatter(redact))
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    logging.captureWarnings(capture=True)


def log_crashes() -> None:
    """Log errors that nobody caught, in the place of Python's own way, which repeats their text."""
    sys.excepthook = lambda _kind, error, _trace: _crashed(error)
    threading.excepthook = lambda crash: _crashed(crash.exc_value)


def _crashed(error: BaseException | None) -> None:
    logging.getLogger(OWN).critical("stopped by a mistake in the bot", exc_info=error)


class Redactor:
    """Replaces what must not be read."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        # The longest first: one may be a part of another.
        known = sorted((re.escape(one) for one in secrets if one), key=len, reverse=True)
        self._known = re.compile("|".join(known)) if known else None

    def __call__(self, text: str) -> str:
        """Return the text without secrets."""
        if self._known is not None:
            text = self._known.sub(HIDDEN, text)
        return _RESPONSE_URL.sub(rf"\g<1>{HIDDEN}", _SECRET.sub(HIDDEN, text))


class _Formatter(logging.Formatter):
    def __init__(self, redact: Redactor) -> None:
        super().__init__()
        self._redact = redact

    def _fields(self, record: logging.LogRecord) -> dict[str, str]:
        fields = {"event": record.getMessage(), "logger": record.name}
        extra = getattr(record, "fields", {})
        fields.update({key: str(value) for key, value in extra.items()})
        if record.exc_info and record.exc_info[1] is not None:
            fields.update(_failure(record.exc_info[1]))
        return {key: self._redact(value) for key, value in fields.items()}


class JsonFormatter(_Formatter):
    """One JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        """Render a record."""
        head = {"time": _time(record), "level": record.levelname.lower()}
        return json.dumps({**head, **self._fields(record)})


class TextFormatter(_Formatter):
    """Words and key=value pairs, for people."""

    def format(self, record: logging.LogRecord) -> str:
        """Render a record."""
        fields = self._fields(record)
        event = " ".join(fields.pop("event").splitlines())
        pairs = " ".join(f"{key}={value}" for key, value in fields.items())
        return f"{_time(record)} {record.levelname:7} {event} {pairs}"


def _is_ours_or_grave(record: logging.LogRecord) -> bool:
    return record.levelno >= logging.WARNING or record.name.partition(".")[0] == OWN


def _failure(error: BaseException) -> dict[str, Any]:
    """Tell where the code failed, not with which values: an exception's text may quote them."""
    frames = traceback.extract_tb(error.__traceback__)[-_FRAMES:]
    where = [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames]
    return {"exception": type(error).__name__, "where": " < ".join(reversed(where))}


def _time(record: logging.LogRecord) -> str:
    whole = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
    return f"{whole}.{int(record.msecs):03d}Z"
