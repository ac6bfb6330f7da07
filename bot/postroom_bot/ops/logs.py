# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The bot's log, with secrets redacted.

Slack's libraries log complete payloads at the info and debug levels, so only their warnings and
errors are logged. In every line, configured secrets and text that looks like a secret are redacted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from postroom_common import logs

PROGRAM = "postroom_bot"
HIDDEN = "[hidden]"

_SECRET = re.compile(
    r"""
      xox[a-z]-[\w.-]{5,}\w                 # Slack tokens, but not a prefix on its own
    | xapp-[\w-]{6,}
    | (?<=bearer\s)[^\s"',]+                # the value of an Authorization header
    | (?<=basic\s)[a-z0-9+/=]{8,}
    | https?://hooks\.slack\.com/[^\s"',]*  # anyone with this URL can post
    | https?://[^\s"',]*/(?:response|commands|actions)/[^\s"',]*
    | wss?://[^\s"',]+                      # contains a ticket
    # The user and password in a URL. A URL that was parsed as a file name has lost a slash.
    | (?:(?<=://)|(?<=:/)(?!/))[^\s/:@"']*:[^\s@"']+(?=@)
    """,
    re.IGNORECASE | re.VERBOSE,
)
_RESPONSE_URL = re.compile(r"""(response_url["']?\s*[:=]\s*["']?)[^\s"',}]+""", re.IGNORECASE)


def configure(*, style: str, level: str, secrets: Iterable[str] = ()) -> None:
    """Send all logs of the process to standard error.

    :param style: ``json`` or ``text``
    :param level: the minimum level, such as ``info``
    """
    logs.configure(program=PROGRAM, style=style, level=level, redact=Redactor(secrets))


class Redactor:
    """A callable that redacts secrets in text."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        # Longest first, because one secret may contain another.
        known = sorted((re.escape(one) for one in secrets if one), key=len, reverse=True)
        self._known = re.compile("|".join(known)) if known else None

    def __call__(self, text: str) -> str:
        """Return the text with secrets redacted."""
        if self._known is not None:
            text = self._known.sub(HIDDEN, text)
        return _RESPONSE_URL.sub(rf"\g<1>{HIDDEN}", _SECRET.sub(HIDDEN, text))
