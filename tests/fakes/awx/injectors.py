# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""AWX's rules for credential types: their inputs, their templates, and what a job gets of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import SimpleNamespace
from typing import Any

import jsonschema
from jinja2 import StrictUndefined, TemplateError, TemplateSyntaxError
from jinja2.sandbox import ImmutableSandboxedEnvironment

_TEXTS = {"type": "object", "additionalProperties": False}
_NAME = "^[a-zA-Z_]+[a-zA-Z0-9_]*$"
INPUTS = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "required": {"type": "array", "items": {"type": "string"}},
        "fields": {
            "type": "array",
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["id", "label"],
                "properties": {
                    "id": {"type": "string", "pattern": _NAME},
                    "type": {"enum": ["string", "boolean"]},
                    "format": {"enum": ["ssh_private_key", "url"]},
                    "choices": {"type": "array", "minItems": 1, "items": {"type": "string"}},
                    "label": {"type": "string"},
                    "help_text": {"type": "string"},
                    "multiline": {"type": "boolean"},
                    "secret": {"type": "boolean"},
                    "ask_at_runtime": {"type": "boolean"},
                    "default": {},
                },
            },
        },
    },
}
INJECTORS = {
    **_TEXTS,
    "properties": {
        "file": {
            **_TEXTS,
            "patternProperties": {
                r"^template(\.[a-zA-Z_]+[a-zA-Z0-9_]*)?$": {"type": "string"},
            },
        },
        "env": {
            **_TEXTS,
            "patternProperties": {_NAME: {"type": "string", "pattern": "^[\x00-\x7f]*$"}},
        },
        "extra_vars": {**_TEXTS, "patternProperties": {_NAME: {"type": "string"}}},
    },
}
#: Some of the variables that AWX lets no credential set.
_FORBIDDEN = {"VIRTUAL_ENV", "PATH", "PYTHONPATH", "JOB_ID", "INVENTORY_ID", "HOME", "AWX_HOST"}


def problem_of_inputs(inputs: Mapping[str, Any]) -> str | None:
    """Return what AWX has against a credential type's inputs, or None."""
    broken = _broken(inputs, INPUTS)
    if broken is not None:
        return broken
    ids = [one["id"] for one in inputs.get("fields", ())]
    if "tower" in ids:
        return '"tower" is a reserved field name'
    twice = next((id_ for id_ in ids if ids.count(id_) > 1), None)
    if twice is not None:
        return f"field IDs must be unique ({twice})"
    return next(_misplaced(inputs), None)


def problem_of_injectors(inputs: Mapping[str, Any], injectors: Mapping[str, Any]) -> str | None:
    """Return what AWX has against a credential type's injectors, or None."""
    broken = _broken(injectors, INJECTORS)
    if broken is not None:
        return broken
    files = injectors.get("file", {})
    if "template" in files and len(files) > 1:
        return "Must use multi-file syntax when injecting multiple files"
    for variable in injectors.get("env", {}):
        if variable.startswith("ANSIBLE_") or variable in _FORBIDDEN:
            return f"Environment variable {variable} is not allowed to be used in credentials."
    values = {one["id"]: "EXAMPLE" for one in inputs.get("fields", ())}
    names = dict.fromkeys(files, "EXAMPLE_FILENAME")
    for kind, templates in injectors.items():
        for key, template in templates.items():
            problem = _problem_of_template(template, _namespace(values, names))
            if problem is not None:
                return problem.format(key=key, kind=kind)
    return None


def injected(
    injectors: Mapping[str, Any], values: Mapping[str, Any], folder: str
) -> dict[str, dict[str, str]]:
    """Return what a job gets: ``file`` by label, ``env`` and ``extra_vars``.

    :param values: the credential's inputs, secrets in plain
    :param folder: where the files are to be, for their paths
    """
    names = {label: f"{folder}/{label.replace('.', '_')}" for label in injectors.get("file", {})}
    namespace = _namespace(values, names)
    environment = ImmutableSandboxedEnvironment()
    return {
        kind: {
            key: environment.from_string(template).render(namespace)
            for key, template in injectors.get(kind, {}).items()
        }
        for kind in ("file", "env", "extra_vars")
    }


def _broken(value: Any, schema: Mapping[str, Any]) -> str | None:
    error = next(iter(jsonschema.Draft7Validator(schema).iter_errors(value)), None)
    return None if error is None else error.message


def _misplaced(inputs: Mapping[str, Any]) -> Iterator[str]:
    for one in inputs.get("fields", ()):
        for key in ("choices", "multiline", "format", "secret"):
            if key in one and one.get("type", "string") != "string":
                yield f"{key} not allowed for {one['type']} type ({one['id']})"


def _namespace(values: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """Return what templates see; a file without a label is the only one."""
    labelled = {key.partition(".")[2]: name for key, name in names.items()}
    filename: Any = labelled.get("") or SimpleNamespace(**labelled)
    return {**values, "tower": SimpleNamespace(filename=filename)}


def _problem_of_template(template: str, namespace: Mapping[str, Any]) -> str | None:
    environment = ImmutableSandboxedEnvironment(undefined=StrictUndefined)
    try:
        environment.from_string(template).render(namespace)
    except TemplateSyntaxError as error:
        return f"Syntax error rendering template for {{key}} inside of {{kind}} ({error.message})"
    except TemplateError as error:
        return f"{{key}} uses an undefined field ({error.message})"
    return None
