# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Messages that name variables, and warnings about unused variables."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible import context
from ansible.parsing.dataloader import DataLoader

from ansible_collections.postroom.email.plugins.plugin_utils import _variable_hints

OPTIONS = {"scope": "mail_scope", "max_deletions": "mail_max_deletions"}


@pytest.mark.parametrize(
    ("message", "named"),
    [("The scope is wide.", ""), ("narrow scope", "scope with mail_scope")],
)
def test_an_option_in_a_message_gets_its_variable(message: str, named: str) -> None:
    """A message names the variable for each option that it mentions, but ignores common words."""
    found = _variable_hints.with_variables(message, OPTIONS)
    assert found == (f"{message}. Set {named}." if named else message)


def test_warnings_get_variables_in_each_format() -> None:
    """In warnings of each ansible-core version, the variable replaces the option to set."""
    given, expected = "ann: new. Set passwords. Run again.", "ann: new. Set mail_p or b. Run again."
    event = {"__ansible_type": "Event", "msg": given, "help_text": given}
    found = _variable_hints.warnings_with_variables(
        [given, {"event": event}], {"passwords": "mail_p or b"}
    )
    assert found == [expected, {"event": {**event, "msg": expected}}]


def test_variables_that_do_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """An unused variable causes a warning, unless it may belong to another playbook."""
    names = ("max_deletions", "mail_scop", "mail_alias", "mail_state", "mail_x", "mail_purge", "x")
    given = {"extra_vars": ("mail_alias=a", "@account.yml")}
    monkeypatch.setattr(_variable_hints, "load_extra_vars", lambda _: dict.fromkeys(names))
    monkeypatch.setattr(context, "CLIARGS", given)
    playbook = Path(__file__).resolve().parents[4] / "playbooks" / "arguments" / "converge.yml"
    found = list(_variable_hints.unused_variables(DataLoader(), playbook, OPTIONS))
    expected = ("add_alias, remove_alias", "mean mail_scope?", "Set mail_max_deletions.")
    assert [each in text for each, text in zip(expected, found, strict=True)] == [True] * 3
