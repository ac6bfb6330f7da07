# Copyright (c) 2026, Postroom contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Surveys of AWX out of argument files, which say what a playbook takes.

AWX is lenient where it stores a survey: a default that does not fit its own question is stored, and
left out without a word when a job is launched. It is refused here.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ansible_collections.postroom.email.plugins.module_utils._api.errors import InvalidInput

#: How AWX asks for a value of each of Ansible's types. It has no form for mappings.
_KINDS = {
    "str": "text",
    "path": "text",
    "list": "textarea",
    "int": "integer",
    "float": "float",
    "bool": "multiplechoice",
}
_TEXTS = ("text", "textarea")
#: AWX compares an answer with the choices, and those are texts.
_TRUTH = {True: "true", False: "false"}
_KEYS = ("question", "description", "type", "min", "max")
_VARIABLE = re.compile(r"[a-z][a-z0-9_]*\Z")
#: AWX takes a default that begins so for one that it has encrypted before.
_ENCRYPTED = "$encrypted$"


class _Asked(NamedTuple):
    """An option that AWX asks for.

    :param place: where it stands, for messages
    :param kind: AWX's word for the form of the answer
    :param choices: what can be answered, empty where anything can
    """

    place: str
    option: Mapping[str, Any]
    survey: Mapping[str, Any]
    kind: str
    choices: Sequence[str]

    def wrong(self, what: str) -> InvalidInput:
        """Return an error that tells where it is."""
        return InvalidInput(f"{self.place}{what}")


def survey_spec(arguments: Any) -> dict[str, Any]:
    """Return the survey for what a playbook takes, as AWX stores it.

    Where nothing is asked, its ``spec`` is empty. AWX refuses such a survey.

    :param arguments: what an argument file holds, valid by ``schemas/arguments.schema.json``
    :raises InvalidInput: if it is malformed in what a survey needs
    """
    options = _mapping(_mapping(arguments, "The argument file").get("options"), "options")
    spec = []
    for variable, option in options.items():
        place = f"options.{variable}"
        if "survey" in _mapping(option, place):
            if not _VARIABLE.match(str(variable)):
                raise InvalidInput(f"{place}: this is no name of a variable.")
            spec.append({"variable": variable, **_question(_asked(place, option))})
    return {"name": "", "description": "", "spec": spec}


def _asked(place: str, option: Mapping[str, Any]) -> _Asked:
    survey = _mapping(option["survey"], f"{place}.survey")
    unknown = [str(key) for key in survey if key not in _KEYS]
    if unknown:
        raise InvalidInput(
            f"{place}.survey: {', '.join(unknown)} is not known. Known here are {', '.join(_KEYS)}."
        )
    if option.get("no_log"):
        _check_secret(place, option)
        return _Asked(place, option, survey, "password", ())
    return _Asked(place, option, survey, _kind(place, option), _choices(place, option))


def _check_secret(place: str, option: Mapping[str, Any]) -> None:
    if option.get("type") != "str" or "default" in option or "choices" in option:
        raise InvalidInput(
            f"{place}: AWX asks for a secret as a text without default and choices. "
            "Make it one, or leave out survey."
        )


def _kind(place: str, option: Mapping[str, Any]) -> str:
    kind = _KINDS.get(str(option.get("type")))
    if kind is None:
        raise InvalidInput(
            f"{place}.type: AWX cannot ask for {option.get('type')!r}. "
            f"Give one of {', '.join(_KINDS)}, or leave out survey."
        )
    if option["type"] == "list" and option.get("elements") not in ("str", "path"):
        raise InvalidInput(
            f"{place}.elements: AWX asks for lists of texts. Give str or path, or leave out survey."
        )
    if "choices" in option:
        return "multiselect" if option["type"] == "list" else "multiplechoice"
    given = option["survey"].get("type", kind)
    if given != kind and (given not in _TEXTS or kind not in _TEXTS):
        raise InvalidInput(
            f"{place}.survey.type: it can be text or textarea, and only for a text or a list."
        )
    return str(given)


def _choices(place: str, option: Mapping[str, Any]) -> Sequence[str]:
    if "choices" not in option:
        return list(_TRUTH.values()) if option["type"] == "bool" else ()
    choices = option["choices"]
    if option["type"] not in ("str", "list"):
        raise InvalidInput(f"{place}.choices: only a text or a list can have them.")
    if not isinstance(choices, list) or not choices or not all(map(_is_line, choices)):
        raise InvalidInput(f"{place}.choices: give a list of texts, each in one line.")
    return choices


def _question(asked: _Asked) -> dict[str, Any]:
    required = asked.option.get("required", False)
    if not isinstance(required, bool):
        raise asked.wrong(".required: give true or false.")
    question: dict[str, Any] = {
        "question_name": _name(asked),
        "question_description": _help(asked),
        "required": required,
        "type": asked.kind,
    }
    if asked.choices:
        question["choices"] = list(asked.choices)
    limits = _limits(asked)
    return {**question, **limits, **_default(asked, limits)}


def _name(asked: _Asked) -> str:
    name = asked.survey.get("question")
    if not _is_line(name):
        raise asked.wrong(".survey.question: give what AWX is to ask, in one line.")
    return str(name)


def _help(asked: _Asked) -> str:
    described = asked.survey.get("description", asked.option.get("description"))
    paragraphs = described if isinstance(described, list) else [described]
    if not all(isinstance(paragraph, str) for paragraph in paragraphs):
        raise asked.wrong(".description: give a text, or a list of them.")
    return " ".join(paragraphs)


def _limits(asked: _Asked) -> dict[str, int]:
    limits = {key: asked.survey[key] for key in ("min", "max") if key in asked.survey}
    if limits and asked.choices:
        raise asked.wrong(".survey: where there are choices, leave out min and max.")
    if not all(map(_is_whole, limits.values())):
        raise asked.wrong(".survey: min and max are whole numbers.")
    lowest = min(limits.values(), default=0)
    if asked.kind in (*_TEXTS, "password") and lowest < 0:
        raise asked.wrong(".survey: min and max are lengths of the text, at least 0.")
    if limits.get("min", lowest) > lowest:
        raise asked.wrong(".survey: min is more than max.")
    return limits


def _default(asked: _Asked, limits: Mapping[str, int]) -> dict[str, Any]:
    """Return the default as AWX wants it; one that is empty is none."""
    if "default" not in asked.option:
        return {}
    default = asked.option["default"]
    if asked.kind == "integer" and _is_whole(default):
        _check_limits(asked, limits, default)
        return {"default": default}
    if asked.kind == "float" and _is_number(default):
        _check_limits(asked, limits, default)
        return {"default": float(default)}
    text = _default_text(asked, default)
    if text and asked.kind in _TEXTS:
        _check_limits(asked, limits, len(text))
    return {"default": text} if text else {}


def _default_text(asked: _Asked, default: Any) -> str:
    """Return the default of a text, or of choices, of which AWX wants one a line."""
    shape = asked.option["type"]
    if shape == "list" and isinstance(default, list) and all(map(_is_line, default)):
        text = _joined(asked, default)
    elif shape == "bool" and isinstance(default, bool):
        text = _TRUTH[default]
    elif shape in ("str", "path") and isinstance(default, str):
        text = default
    else:
        raise asked.wrong(f".default: {default!r} is not of the type {shape}.")
    if text.startswith(_ENCRYPTED) or (asked.kind == "text" and len(text.splitlines()) > 1):
        raise asked.wrong(f".default: AWX does not take {text!r} as the default of a text.")
    if asked.choices:
        _check_chosen(asked, default if shape == "list" else [text])
    return text


def _joined(asked: _Asked, entries: Sequence[str]) -> str:
    if not asked.choices and any("," in entry for entry in entries):
        raise asked.wrong(".default: an entry has a comma, which would part it in the answer.")
    return ("," if asked.kind == "text" else "\n").join(entries)


def _check_chosen(asked: _Asked, chosen: Iterable[str]) -> None:
    if not {*chosen} <= {*asked.choices}:
        raise asked.wrong(".default: it is not among the choices.")


def _check_limits(asked: _Asked, limits: Mapping[str, int], size: float) -> None:
    if not limits.get("min", size) <= size <= limits.get("max", size):
        raise asked.wrong(".default: it is not between the survey's min and max.")


def _is_whole(value: Any) -> bool:
    """Return whether it is a whole number; for Python a boolean is one."""
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    """Return whether it is a number that is finite as a float."""
    return (_is_whole(value) or isinstance(value, float)) and abs(value) <= sys.float_info.max


def _is_line(value: Any) -> bool:
    """Return whether it is text in one line, as AWX parts lines."""
    return isinstance(value, str) and value.splitlines() == [value.strip()]


def _mapping(value: Any, what: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise InvalidInput(f"{what}: this is no mapping. See the schema of argument files.")
    return value
