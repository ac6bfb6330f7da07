# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The report's templates escape every value. Ansible's templates do not by default."""

from __future__ import annotations

from collections.abc import Iterator

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


def test_every_value_is_escaped() -> None:
    """Each value in the page and its parts ends in the filter `e`, or comes from a macro."""
    assert len(TEMPLATES) == 6
    assert {"counted", "listed", "show", "tables"} <= MACROS
    assert {"words", "record_of", "addresses"} == MODULES
    assert {name: [*unsafe(tree)] for name, tree in TREES.items() if any(unsafe(tree))} == {}


def test_the_check_finds_unescaped_values() -> None:
    """A value counts as escaped only if `e` is applied last, to all of it."""
    assert not [*unsafe(parsed("{{ (a ~ b) | e }} {{ words.counted(a) }} {{ 'a' if b else '' }}"))]
    for text in (
        "{{ a ~ (b | e) ~ c | e }}",
        "{{ name if name else other | e }}",
        "{{ name | e | replace('&lt;', '<') }}",
        "{{ name | safe | e }}",
        "{% filter upper %}{{ name | e }}{% endfilter %}",
    ):
        assert [*unsafe(parsed(text))], text
