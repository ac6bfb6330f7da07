# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Logging to standard error as JSON or text, with one line per event.

A record's extra `fields` are added to its line. For exceptions, the type and the traceback are
logged, but not the message, because it may contain sensitive values.
"""

from __future__ import annotations

import json
import logging
import sys
import threading
import time
import traceback
from collections.abc import Callable
from typing import Any

_FRAMES = 8

Redact = Callable[[str], str]


def configure(*, program: str, style: str, level: str, redact: Redact = str) -> None:
    """Log the program's own records, and warnings and errors from libraries, to standard error.

    :param program: the name of the program's logger
    :param style: ``json`` or ``text``
    :param level: the lowest level to log, such as ``info``
    :param redact: a function that removes secrets from a string
    """

    def is_own_or_warning(record: logging.LogRecord) -> bool:
        return record.levelno >= logging.WARNING or record.name.partition(".")[0] == program

    handler = logging.StreamHandler(sys.stderr)
    handler.addFilter(is_own_or_warning)
    handler.setFormatter(_Formatter(redact, as_json=style == "json"))
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    logging.captureWarnings(capture=True)


def log_crashes(program: str) -> None:
    """Log uncaught exceptions instead of printing tracebacks that contain their messages."""

    def log(error: BaseException | None) -> None:
        logging.getLogger(program).critical("uncaught exception", exc_info=error)

    sys.excepthook = lambda _kind, error, _trace: log(error)
    threading.excepthook = lambda crash: log(crash.exc_value)


class _Formatter(logging.Formatter):
    """A formatter that writes each record as one line: as JSON, or as text with key=value pairs."""

    def __init__(self, redact: Redact, *, as_json: bool) -> None:
        super().__init__()
        self._redact = redact
        self._as_json = as_json

    def format(self, record: logging.LogRecord) -> str:
        """Return a record as one line."""
        fields: dict[str, Any] = {"event": record.getMessage(), "logger": record.name}
        fields |= getattr(record, "fields", {})
        if record.exc_info and record.exc_info[1] is not None:
            fields |= failure(record.exc_info[1])
        shown = {
            key: value if isinstance(value, (int, float, type(None))) else self._redact(str(value))
            for key, value in fields.items()
        }
        at = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        at += f".{int(record.msecs):03d}Z"
        if self._as_json:
            return json.dumps({"time": at, "level": record.levelname.lower(), **shown})
        event = " ".join(str(shown.pop("event")).splitlines())
        pairs = " ".join(f"{key}={value}" for key, value in shown.items())
        return f"{at} {record.levelname:7} {event} {pairs}"


def failure(error: BaseException) -> dict[str, str]:
    """Return an exception's type and the innermost frames of its traceback, as log fields."""
    frames = traceback.extract_tb(error.__traceback__)[-_FRAMES:]
    where = [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames]
    return {"exception": type(error).__name__, "where": " < ".join(reversed(where))}
