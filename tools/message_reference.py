# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Generate the reference of messages, `docs/reference/messages.md`, from the code.

A test checks that the page is current.
"""

from __future__ import annotations

import inspect
import re
import runpy
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT)]
if __name__ == "__main__":
    # conftest.py makes the collection and the bot importable.
    runpy.run_path(str(ROOT / "tests" / "conftest.py"))

from ansible_collections.postroom.email.plugins.module_utils._api import errors  # noqa: E402
from ansible_collections.postroom.email.plugins.module_utils._api.dns import (  # noqa: E402
    messages as dns,
)
from ansible_collections.postroom.email.plugins.module_utils._api.dns.spf import (  # noqa: E402
    SpfConflict,
    SpfError,
)
from ansible_collections.postroom.email.plugins.module_utils._api.tenant import (  # noqa: E402
    messages as tenant,
)
from ansible_collections.postroom.email.plugins.module_utils._api.tenant.problems import (  # noqa: E402
    InvalidDefinition,
)
from postroom_bot.ui.reason_texts import TEXTS  # noqa: E402
from tools.bot_reference import table  # noqa: E402

HEAD = """\
# Messages

<!-- Written by tools/message_reference.py from the code. -->

Codes are stable, so use them in conditions; texts may change. Names in braces, such as `{name}`,
are placeholders. [Troubleshooting](../guides/troubleshooting.md) explains the most common messages.
"""
FAILURES = """\
A failed task returns `failure` with a `code` and a `kind`, an older name for the same error. If a
request failed, `failure` also has `status`, `method`, `path` and `detail`. A refused request has no
effect. `changes` lists what was written before the failure. Modules read the current state before
they write, and change only what differs, so you can repeat every task."""
PROBLEMS = """\
The `code` and the `text` of each entry in `problems`, which lists the errors in a definition. Tasks
for a single object fail with the same texts."""
REASONS = "The `code` and the `reason` of each entry in `changes`."
VERDICTS = "The `code`, `detail` and `remedy` of each record that `email_dns_records` verifies."
BOT = "The bot shows these texts in Slack. It stores only the codes and their parameters."
CAUSE = ("Code", "Cause", "Remedy")
#: The format of a value in a template, such as `:time` in `{end:time}`.
_FORMAT = re.compile(r"(?<=\w):[^{}]*(?=})")

Rows = Iterator[tuple[str, ...]]


def page() -> str:
    """Return the complete page."""
    parts = [
        ("Failures", FAILURES, ("Code", "Kind", "Meaning"), sorted(failures())),
        ("Changes", REASONS, ("Code", "Reason"), reasons({**tenant.REASONS, **dns.REASONS})),
        ("Problems", PROBLEMS, CAUSE, split(tenant.PROBLEMS)),
        ("DNS records", VERDICTS, ("Code", "Detail", "Remedy"), verdicts()),
        ("The bot", BOT, CAUSE, split(TEXTS)),
    ]
    sections = (
        f"## {title}\n\n{about}\n\n{table(head, rows)}\n" for title, about, head, rows in parts
    )
    return "\n".join([HEAD, *sections])


def failures() -> Rows:
    """Yield a row for each exception that defines its own code."""
    known = [*vars(errors).values(), InvalidDefinition, SpfConflict, SpfError]
    for error in known:
        is_error = isinstance(error, type) and issubclass(error, errors.PostroomError)
        if is_error and error is not errors.PostroomError and "code" in vars(error):
            meaning = inspect.cleandoc(error.__doc__ or "").partition("\n:param")[0]
            text = " ".join(meaning.replace("``", "`").split())
            yield f"`{error.code}`", f"`{error.__name__}`", text


def reasons(texts: Mapping[str, str]) -> Rows:
    """Yield a row for each reason."""
    for code, text in texts.items():
        yield f"`{code}`", _FORMAT.sub("", text)


def split(texts: Mapping[str, str]) -> Rows:
    """Yield a row for each message, split into the cause (the first sentence) and the remedy."""
    for code, text in texts.items():
        cause, dot, remedy = _FORMAT.sub("", text).partition(". ")
        yield f"`{code}`", cause + dot.rstrip(), remedy


def verdicts() -> Rows:
    """Yield a row for each verdict on a DNS record."""
    for code, (detail, remedy) in dns.VERDICTS.items():
        yield f"`{code}`", detail, remedy


if __name__ == "__main__":
    (ROOT / "docs" / "reference" / "messages.md").write_text(page(), "utf-8")
