# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Generate the bot's reference, `docs/reference/bot.md`, from its code.

A test checks that the page is current.
"""

from __future__ import annotations

import runpy
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
if __name__ == "__main__":
    # conftest.py makes the bot importable.
    runpy.run_path(str(ROOT / "tests" / "conftest.py"))

import click  # noqa: E402
from pydantic.fields import FieldInfo  # noqa: E402

from postroom_bot import cli, config  # noqa: E402
from postroom_bot.ops.metrics import Metrics  # noqa: E402
from postroom_bot.slack.manifest import SCOPES  # noqa: E402
from postroom_bot.store.audit import EVENTS  # noqa: E402
from postroom_bot.ui.parser import COMMAND, SUBCOMMANDS  # noqa: E402

HEAD = """\
# Reference of the bot

<!-- Written by tools/bot_reference.py from the bot's code. -->

[Your first request in Slack](../tutorials/first-request.md) shows how to install the bot and
[Operate the bot](../guides/bot-operation.md) how to run it. [The policy](policy.md) has its own
reference.
"""
SLASH = f"`{COMMAND}` alone opens a menu. Only the person who types a command sees the response."
SETTINGS = f"""\
Each setting is a key of the settings file, and has an environment variable with the prefix
`{config.PREFIX}`. A secret can also be in a file of its own. Name this file after the variable in
lower case, and put it into `{config.CONTAINER_SECRETS}` or the directory that the environment
variable `CREDENTIALS_DIRECTORY` names. Environment variables take precedence over these files,
which take precedence over the settings file. Settings without a default are required; unknown
settings are errors. Error messages never contain a setting's value."""
COMMANDS = f"""\
`--config FILE` names the settings file, before or after the command. Without it, the
program reads the file that the environment variable `{config.CONFIG_VARIABLE}` names."""
METRICS = """\
`/metrics` has these metrics for Prometheus. No label identifies a person or an address."""
AUDIT = """\
Each row has a number, the time, the actor, the event, the request, details and a hash."""


def page() -> str:
    """Return the complete page."""
    parts = [
        ("Slash commands", SLASH, table(("Command", "Description"), slash_commands())),
        ("Settings", SETTINGS, table(("Setting", "Default", "Description"), settings())),
        ("Commands of the program", COMMANDS, table(("Command", "Description"), commands())),
        ("Exit statuses", "", table(("Status", "Meaning"), exit_statuses())),
        ("Metrics", METRICS, table(("Metric", "Labels", "Description"), metrics())),
        ("Audit events", AUDIT, table(("Event", "Description"), code_first(EVENTS.items()))),
        ("OAuth scopes", "", table(("Scope", "Purpose"), code_first(SCOPES.items()))),
    ]
    sections = (
        "\n\n".join(filter(None, (f"## {title}", about, rows))) for title, about, rows in parts
    )
    return "\n".join([HEAD, *(f"{section}\n" for section in sections)])


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a Markdown table."""
    head = tuple(head)
    lines = [head, ["---"] * len(head), *([cell.replace("|", r"\|") for cell in r] for r in rows)]
    return "\n".join(f"| {' | '.join(line)} |".replace("|  |", "| |") for line in lines)


def code_first(rows: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Yield the rows with the first cell formatted as code."""
    for name, description in rows:
        yield f"`{name}`", description


def slash_commands() -> Iterator[tuple[str, str]]:
    """Yield a row for each form of the slash command."""
    yield from ((f"`{COMMAND} {one.usage}`", one.summary) for one in SUBCOMMANDS)


def settings() -> Iterator[tuple[str, str, str]]:
    """Yield a row for each setting."""
    for name, field in config.Settings.model_fields.items():
        text = [" ".join((field.description or "").split())]
        if name in config.REQUIRED_WITH:
            setting, value = config.REQUIRED_WITH[name]
            text.append(f"Required if `{setting}` is `{value}`.")
        if config.is_secret(field.annotation):
            text.append("Secret.")
        yield f"`{name}`", _default(field), " ".join(text)


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    if isinstance(field.default, bool):
        return f"`{str(field.default).lower()}`"
    return "" if field.default is None else f"`{field.default}`"


def commands() -> Iterator[tuple[str, str]]:
    """Yield a row for each command of the program, including its options."""
    yield from _commands(cli.cli, "")


def _commands(group: click.Group, prefix: str) -> Iterator[tuple[str, str]]:
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from _commands(command, f"{prefix}{name} ")
            continue
        parameters = [one for one in command.params if one.name != "file"]
        usage = " ".join([f"{prefix}{name}", *map(_usage, parameters)])
        options = [one for one in parameters if isinstance(one, click.Option)]
        details = "; ".join(f"`{option.opts[0]}`: {option.help}" for option in options)
        about = " ".join((command.help or "").split())
        yield f"`{usage}`", f"{about} {details}{'.' if details else ''}".rstrip()


def _usage(parameter: click.Parameter) -> str:
    if isinstance(parameter, click.Argument):
        return str(parameter.metavar)
    value = f" {parameter.metavar}" if parameter.metavar else ""
    return f"[{parameter.opts[0]}{value}]"


def exit_statuses() -> Iterator[tuple[str, str]]:
    """Yield a row for each exit status."""
    yield from ((f"{status}", meaning) for status, meaning in cli.EXIT_STATUSES.items())


def metrics() -> Iterator[tuple[str, str, str]]:
    """Yield a row for each metric."""
    for metric in vars(Metrics()).values():
        if hasattr(metric, "_labelnames"):
            yield _metric(metric)


def _metric(metric: Any) -> tuple[str, str, str]:
    family = metric.describe()[0]
    name = f"{family.name}_total" if family.type == "counter" else family.name
    labels = ", ".join(f"`{label}`" for label in metric._labelnames)  # noqa: SLF001
    return f"`{name}`", labels, family.documentation


if __name__ == "__main__":
    (ROOT / "docs" / "reference" / "bot.md").write_text(page(), "utf-8")
