# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The report's templates escape whatever they put in. Ansible's templates do not by themselves."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from jinja2 import Environment, nodes

from ansible_collections.postroom.email.tests.support import repository

ROOT = "roles/tenant/templates/"
TEMPLATES = [
    file.as_posix().removeprefix(ROOT)
    for file in repository.files()
    if file.as_posix().startswith((f"{ROOT}report.", f"{ROOT}report/"))
    and file.suffix == ".j2"
    # It makes no HTML, but text that is escaped where it is put in.
    and file.stem != "pasting"
]


def parsed(text: str) -> nodes.Template:
    """Return a template as a tree."""
    return Environment(autoescape=False).parse(text)  # noqa: S701 - as in Ansible


TREES = {template: parsed(repository.read(ROOT + template)) for template in TEMPLATES}
#: What macros of these templates are called by: their own name, or a module's and theirs.
MACROS = {macro.name for tree in TREES.values() for macro in tree.find_all(nodes.Macro)}
MODULES = {
    imported.target
    for tree in TREES.values()
    for imported in tree.find_all(nodes.Import)
    if isinstance(imported.template, nodes.Const) and imported.template.value in TREES
}


def is_safe(node: nodes.Node) -> bool:
    """Tell whether an expression gives text that is safe in HTML.

    It is escaped at the very end, made by a macro of these templates, or literal.
    """
    if isinstance(node, nodes.Filter):
        return node.name == "e"
    if isinstance(node, nodes.Call):
        return is_macro(node.node)
    if isinstance(node, nodes.CondExpr):
        return is_safe(node.expr1) and node.expr2 is not None and is_safe(node.expr2)
    return isinstance(node, (nodes.TemplateData, nodes.Const))


def is_macro(node: nodes.Node) -> bool:
    """Tell whether it names a macro of these templates, which is looked at where it is defined."""
    if isinstance(node, nodes.Getattr):
        known = isinstance(node.node, nodes.Name) and node.node.name in MODULES
        return known and node.attr in MACROS
    return isinstance(node, nodes.Name) and node.name in MACROS


def unsafe(tree: nodes.Template) -> Iterator[nodes.Node]:
    """Yield what a template puts out unescaped, and what would make `e` or a check do nothing."""
    for output in tree.find_all(nodes.Output):
        yield from (node for node in output.nodes if not is_safe(node))
    yield from (node for node in tree.find_all(nodes.Filter) if node.name == "safe")
    yield from tree.find_all((nodes.FilterBlock, nodes.CallBlock))


@pytest.mark.parametrize("template", TEMPLATES)
def test_every_value_is_escaped(template: str) -> None:
    """It ends in the filter `e`, or is made of what does."""
    assert list(unsafe(TREES[template])) == []


def test_there_are_templates() -> None:
    """The check above looks at the page and all of its parts, and knows their macros."""
    assert len(TEMPLATES) == 6
    assert {"counted", "listed", "show", "tables"} <= MACROS
    assert {"words", "record_of", "addresses"} == MODULES


@pytest.mark.parametrize(
    "text",
    [
        "{{ name | e }}",
        "{{ (a ~ (b | upper) | default(c) ~ d) | e }}",
        "{{ ' open' if name else '' }}",
        "{{ 'a' if name else 'b' if other else 'c' }}",
        "{{ words.counted(name | length, name, name) }}",
        "{% macro m() %}{{ listed(name) }}{% endmacro %}",
    ],
)
def test_what_is_escaped_passes(text: str) -> None:
    """Whatever is within, what is at the end counts."""
    assert list(unsafe(parsed(text))) == []


@pytest.mark.parametrize(
    "text",
    [
        "{{ name }}",
        "{{ a ~ (b | e) ~ c | e }}",
        "{{ x | default(y) ~ z | e }}",
        "{{ words.status(a) ~ b ~ words.status(c) }}",
        "{{ name if name else other | e }}",
        "{{ other | e if name }}",
        "{{ name if name == 'a' else 'b' }}",
        "{{ name | e | replace('&lt;', '<') }}",
        "{{ name | safe | e }}",
        "{{ pasting.to_paste(name) }}",
        "{{ lookup('ansible.builtin.file', name) }}",
        "{% macro m() %}{{ name }}{% endmacro %}",
        "{% filter upper %}{{ name | e }}{% endfilter %}",
    ],
)
def test_what_is_not_escaped_is_found(text: str) -> None:
    """Also where the filter `e` has hold of a part only."""
    assert list(unsafe(parsed(text)))
