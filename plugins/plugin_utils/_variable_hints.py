# Copyright (c) 2026, Postroom contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Add the names of playbook variables to messages, and warn about unused variables."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from ansible import context
from ansible.utils.vars import load_extra_vars

_PREFIXES = ("mail_", "vault_mail_")
#: The argument files that contain only options shared by several playbooks.
_SHARED = ("account", "connection", "passwords", "definition")
#: The text that must precede an option's name, if the name is a common word.
_MARKED = "(?:^|[Oo]ptions? |[Ss]et |narrow |[Rr]aise |[Ii]n )"


def with_variables(message: str, variables: Mapping[str, str]) -> str:
    """Add to a message the variable of each option that it mentions, unless it already contains it.

    :param variables: the variables, keyed by option
    """
    for option, variable in variables.items():
        message = re.sub(rf"\bSet {option}\.(?!\w)", f"Set {variable}.", message)
    named = [
        f"{option} with {variable}"
        for option, variable in variables.items()
        if re.search(rf"(?m){_MARKED if '_' not in option else ''}\b{option}\b", message)
        and f"{option} with {variable}" not in message
    ]
    if not named:
        return message
    end = "" if message.endswith(".") else "."
    separator = "\n" if "\n" in message else " "
    return f"{message}{end}{separator}Set {', '.join(named)}."


def warnings_with_variables(warnings: Any, variables: Mapping[str, str]) -> Any:
    """Add variables to the warnings in a module's result.

    Up to ansible-core 2.18, each warning is a string. Later, it is a mapping in which the string is
    nested as ``msg``.
    """
    if isinstance(warnings, str):
        return with_variables(warnings, variables)
    if isinstance(warnings, list):
        return [warnings_with_variables(each, variables) for each in warnings]
    if isinstance(warnings, dict):
        return {
            key: warnings_with_variables(value, variables)
            if key == "msg" or not isinstance(value, str)
            else value
            for key, value in warnings.items()
        }
    return warnings


def unused_variables(loader: Any, playbook: Path, options: Mapping[str, str]) -> Iterator[str]:
    """Yield a warning for each extra variable that looks like an option but has no effect.

    :param playbook: the playbook's file in ``playbooks/arguments``
    :param options: the variables, keyed by module option
    """
    known = {file.stem: _options(loader, file) for file in playbook.parent.glob("*.yml")}
    # The account file is used with every playbook.
    used = known[playbook.stem] | known["account"] | known["passwords"]
    for name in _SHARED:
        del known[name]
    everywhere = set().union(*known.values())
    for name in sorted(load_extra_vars(loader).keys() - used):
        if options.get(name) in used:
            yield f"The variable {name} is not used: it is a module option. Set {options[name]}."
        elif not name.startswith(_PREFIXES):
            continue
        elif name in everywhere:
            # A variables file may be shared by several playbooks.
            if _is_typed(name):
                users = ", ".join(sorted(each for each in known if name in known[each]))
                yield f"The variable {name} is not used here. It is only used in: {users}."
        elif close := get_close_matches(name, used, 1, 0.8):
            yield f"No playbook uses the variable {name}. Did you mean {close[0]}?"


def _is_typed(name: str) -> bool:
    """Return whether an extra variable is set on the command line and not in a file."""
    given = rf"(^|[\s{{,\"']){name}[\"']?\s*[=:]"
    texts = context.CLIARGS.get("extra_vars", ())
    return any(re.search(given, text) for text in texts if not text.startswith("@"))


def _options(loader: Any, file: Path) -> set[str]:
    described = loader.load_from_file(str(file))
    shared = (file.with_name(f"{name}.yml") for name in described.get("options_from", ()))
    return set(described["options"]).union(*(_options(loader, one) for one in shared))
