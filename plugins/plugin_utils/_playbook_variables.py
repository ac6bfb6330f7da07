# Copyright (c) 2026, Postroom contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Help with the variables that the collection's playbooks and roles pass to modules."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from ansible import context
from ansible.utils.vars import load_extra_vars

_PREFIXES = ("mail_", "vault_mail_")
#: Options of an account file, which people give to every playbook.
_ACCOUNT = ("account", "passwords")


def with_variables(message: str, variables: Mapping[str, str]) -> str:
    """Return a message that also names the variable for each option it mentions.

    :param variables: the variable by the name of the option
    """
    named = [
        f"{option} with {variable}"
        for option, variable in variables.items()
        if re.search(rf"\b{option}\b", message)
    ]
    if not named:
        return message
    return f"{message}{chr(10) if chr(10) in message else ' '}Set {', '.join(named)}."


def unused_variables(loader: Any, playbook: Path, options: Mapping[str, str]) -> Iterator[str]:
    """Yield a warning for each extra variable that looks like an option and does nothing.

    :param loader: Ansible's DataLoader
    :param playbook: the playbook's file in ``playbooks/arguments``
    :param options: the variable by the name of the module's option
    """
    known = {file.stem: _options(loader, file) for file in playbook.parent.glob("*.yml")}
    used = known[playbook.stem].union(*(known[name] for name in _ACCOUNT))
    everywhere = set().union(*known.values())
    # A file of variables may serve several playbooks.
    typed = " ".join(text for text in context.CLIARGS.get("extra_vars", ()) if text[:1] != "@")
    for name in sorted(load_extra_vars(loader).keys() - used):
        if name in options:
            yield f"The variable {name} is not used: it is an option. Set {options[name]}."
        elif name in everywhere:
            if name in typed:
                users = ", ".join(sorted(each for each in known if name in known[each]))
                yield f"The variable {name} is not used here, only in: {users}."
        elif name.startswith(_PREFIXES):
            close = get_close_matches(name, used, n=1)
            meant = f" Did you mean {close[0]}?" if close else ""
            yield f"No playbook of the collection uses the variable {name}.{meant}"


def _options(loader: Any, file: Path) -> set[str]:
    described = loader.load_from_file(str(file))
    shared = (file.with_name(f"{name}.yml") for name in described.get("options_from", ()))
    return set(described["options"]).union(*(_options(loader, one) for one in shared))
