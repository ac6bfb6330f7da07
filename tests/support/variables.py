# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Finds the variables that a playbook accepts: those that it uses but doesn't set itself.

Variable files, task files and templates with a constant path are part of the playbook. The
variables of roles are not part of the playbook, because argument specs declare them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from jinja2 import Environment, nodes
from jinja2.defaults import DEFAULT_NAMESPACE

from ansible_collections.postroom.email.tests.support import ansible_yaml

#: The mapping that contains the normalized variables. See playbooks/vars/answers.yml.
ANSWERS = "mail_answers"
#: Keys whose values are expressions without braces.
CONDITIONS = ("when", "that", "failed_when", "changed_when", "until", "var")
#: Names that Ansible and Jinja define, in addition to variables that begin with ``ansible_``.
GIVEN = {"groups", "hostvars", "inventory_hostname", "item", "lookup", "now", "omit", "query"}
GIVEN |= {"playbook_dir", *DEFAULT_NAMESPACE}
ROLES = ("ansible.builtin.import_role", "ansible.builtin.include_role")
TASKS = ("ansible.builtin.import_tasks", "ansible.builtin.include_tasks")
_TEMPLATE = re.compile(r"lookup\('ansible\.builtin\.template', '([\w./]+)'\)")


class Playbook:
    """A playbook, and the files that are part of it.

    :ivar used: the names of the variables in expressions
    :ivar set: the names of the variables that the playbook sets
    :ivar roles: the names of the collection's roles that the playbook runs
    :ivar swallowed: the names of the variables whose falsy values a default replaces
    """

    def __init__(self, file: Path) -> None:
        self._folder = file.parent
        self.used: set[str] = set()
        self.set: set[str] = set()
        self.roles: set[str] = set()
        self.swallowed: set[str] = set()
        self._shared: dict[str, Any] = {}
        self._walk(_load(file))
        self._walk_shared()

    @property
    def taken(self) -> set[str]:
        """The variables that the playbook uses but doesn't set, including its roles' facts."""
        others = self.used - self.set - GIVEN
        return {name for name in others if not name.startswith("ansible_")}

    def _walk(self, part: Any, *, condition: bool = False) -> None:
        if isinstance(part, dict):
            self._read_mapping(part)
            for key, value in part.items():
                self._walk(value, condition=key in CONDITIONS)
        elif isinstance(part, list):
            for value in part:
                self._walk(value, condition=condition)
        elif isinstance(part, str) and not isinstance(part, ansible_yaml.Unsafe):
            self._read_template(f"{{{{ {part} }}}}" if condition else part)

    def _walk_shared(self) -> None:
        """Read the variables in the shared files that the playbook uses."""
        self.set |= {*self._shared}
        while used := self._shared.keys() & self.used:
            for name in used:
                self._walk(self._shared.pop(name))

    def _read_mapping(self, part: dict[str, Any]) -> None:
        """Record the variables that a play or task sets, and read the files that it includes."""
        for key in ("vars", "ansible.builtin.set_fact"):
            self.set |= {*part.get(key, {})}
        self.set |= {
            part[key] for key in ("register", "loop_var") if isinstance(part.get(key), str)
        }
        for file in part.get("vars_files", []):
            self._shared |= _load(self._folder / file)
        for key in TASKS:
            if key in part:
                self._walk(_load(self._folder / part[key]))
        for key in ROLES:
            self.roles |= {part[key]["name"].rpartition(".")[2]} if key in part else set()
        if "ansible.builtin.template" in part:
            self._read_file(part["ansible.builtin.template"]["src"])

    def _read_file(self, template: str) -> None:
        self._read_template((self._folder / "templates" / template).read_text("utf-8"))

    def _read_template(self, text: str) -> None:
        # In playbooks, Ansible treats a backslash literally.
        tree = Environment(autoescape=True).parse(text.replace("\\", "\\\\"))
        self.used |= _names(tree)
        self.swallowed |= {*_swallowed(tree)}
        for template in _TEMPLATE.findall(text):
            self._read_file(template)


def _load(file: Path) -> Any:
    return ansible_yaml.load(file.read_text("utf-8"))


def _names(tree: nodes.Template) -> set[str]:
    """Return the names that a template reads but doesn't set itself."""
    names = list(tree.find_all(nodes.Name))
    own = {name.name for name in names if name.ctx == "store"}
    answers = {node.attr for node in tree.find_all(nodes.Getattr) if _variable(node) == node.attr}
    return ({name.name for name in names if name.ctx == "load"} | answers) - own


def _variable(node: nodes.Node) -> str | None:
    """Return the variable to which a name or an attribute of ANSWERS refers, or None."""
    if isinstance(node, nodes.Name):
        return node.name
    if isinstance(node, nodes.Getattr) and _variable(node.node) == ANSWERS:
        return node.attr
    return None


def _swallowed(tree: nodes.Template) -> Iterator[str]:
    """Yield the names in `NAME | default(X, true)` if X may be true."""
    for node in tree.find_all(nodes.Filter):
        is_default = node.name in ("default", "d") and len(node.args) == 2
        name = _variable(node.node) if is_default and node.node else None
        if name and _is_true(node.args[0]):
            yield name


def _is_true(expression: nodes.Expr) -> bool:
    """Return whether an expression is true or may be true."""
    try:
        return bool(expression.as_const())
    except nodes.Impossible:
        return True
