# Copyright (c) 2026, Postroom contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Record every event that a callback plugin receives, as the plugin of a job runner does."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from ansible.plugins.callback import CallbackBase

DOCUMENTATION = """
name: every_event
type: notification
short_description: Write down every event
description: Appends each event as a line of JSON to the file that POSTROOM_TEST_EVENTS names.
"""


class CallbackModule(CallbackBase):  # type: ignore[misc]
    """Append each event to a file."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "notification"
    CALLBACK_NAME = "every_event"
    CALLBACK_NEEDS_ENABLED = True

    def v2_on_any(self, *args: Any, **kwargs: Any) -> None:
        """Record an event of any kind."""
        event = [_told(value) for value in [*args, *kwargs.values()]]
        with Path(os.environ["POSTROOM_TEST_EVENTS"]).open("a", encoding="utf-8") as file:
            file.write(json.dumps(event, default=str, ensure_ascii=False) + "\n")


def _told(value: Any) -> Any:
    """Return the contents of a result or task, or the text of any other event.

    A task's arguments are recorded as written in the playbook. Like a job runner, this does not
    record the arguments that the module received, which are part of a result.
    """
    if hasattr(value, "_result"):
        return {"result": value._result, "task": value._task.get_name()}
    if hasattr(value, "args") and hasattr(value, "action"):
        return {"name": value.get_name(), "action": value.action, "args": value.args}
    return str(value)
