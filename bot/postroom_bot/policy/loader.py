# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Load and validate the policy file. All errors are reported together, with line numbers.

Anchors, aliases and scalars with unknown tags are rejected, so that the policy is exactly what the
file shows.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, get_args

import yaml
from pydantic import BaseModel, ValidationError

from postroom_bot.domain import Action, Quorum
from postroom_bot.policy.engine import FLOOR, raised_quorum
from postroom_bot.policy.model import EVERYONE, Policy, Rule, unknown_group

_MAX_BYTES = 256 * 1024
_MAX_DEPTH = 12
_NO_VALUE = (
    "The value is missing or invalid. Enter a valid value, or remove the key. Outside quotes, "
    "# begins a comment."
)
_MAPPING = "Must be a mapping: keys with values, one per line."
#: Messages for pydantic's error types whose own message would be unclear for a YAML file.
_MESSAGES = {
    "missing": "This key is required. Add it.",
    "string_type": "Must be a string. Quote it if it looks like a number or a date.",
    "bool_type": "Must be true or false.",
    "model_type": _MAPPING,
    "mapping_type": _MAPPING,
    "dict_type": _MAPPING,
    "tuple_type": "Must be a list.",
    "too_short": "Must not be empty. Add an item, or remove the key.",
}

#: The path to a part of the file: keys and zero-based list indices.
KeyPath = tuple[str | int, ...]
#: The path and the message of each error.
FoundProblems = Iterator[tuple[KeyPath, str]]

log = logging.getLogger(__name__)


class Problem(NamedTuple):
    """An error in a policy file.

    :param line: the line number, starting at 1; None for the whole file
    :param where: the key, such as ``rules.own-aliases.own``; "" for the whole file
    :param text: the error and the remedy
    """

    line: int | None
    where: str
    text: str

    def __str__(self) -> str:
        """Return the problem as one line."""
        place = f"line {self.line}" if self.line else ""
        return ": ".join(part for part in (place, self.where, self.text) if part)


class PolicyError(Exception):
    """The policy file is invalid. ``problems`` lists the errors, sorted by line number."""

    def __init__(self, problems: Iterable[Problem], path: Path | None = None) -> None:
        self.problems = tuple(problems)
        #: A message for each problem, with the file, the line and the key.
        self.sentences = tuple(f"{path}: {one}" if path else str(one) for one in self.problems)
        super().__init__("\n".join(self.sentences))


class PolicyReloader:
    """A thread-safe holder of the current policy, which can be reloaded from its file.

    :raises PolicyError: if the file is invalid
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._policy = load(path)
        #: For `/readyz`: "ok", or a note that the file has errors, which have been logged.
        self.status = "ok"

    def current(self) -> Policy:
        """Return the current policy."""
        return self._policy

    def reload(self) -> None:
        """Reload the policy file. If the file has errors, keep the previous policy."""
        try:
            self._policy = load(self._path)
        except PolicyError as error:
            log.warning("the policy was not reloaded because the file has errors:")
            for sentence in error.sentences:
                log.warning("%s", sentence)
            self.status = "the file has errors (see the log); the previous policy is still in force"
        else:
            log.info("the policy was reloaded: %s", self._policy.digest)
            self.status = "ok"


def load(path: Path) -> Policy:
    """Load a policy file.

    :raises PolicyError: if the file is invalid; lists all errors. Relations between keys are
        checked only if every key is valid.
    """
    try:
        with path.open("rb") as file:
            raw = file.read(_MAX_BYTES + 1)
        if len(raw) > _MAX_BYTES:
            raise _broken(f"The policy file is larger than {_MAX_BYTES // 1024} KiB. Shorten it.")
        return parse(raw.decode("utf-8-sig"))
    except OSError as error:
        problems = _broken(f"The policy file can't be read ({error.strerror}).").problems
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        problems = _broken("The policy file is not UTF-8. Save it as UTF-8.", line).problems
    except PolicyError as error:
        problems = error.problems
    raise PolicyError(problems, path)


def parse(text: str) -> Policy:
    """Parse the text of a policy file, or raise PolicyError if the text is invalid."""
    document = _Document(text)
    policy: Policy | None = None
    try:
        policy = Policy.model_validate(document.data)
        found = iter(()) if document.errors else cross_key_problems(policy)
    except ValidationError as error:
        found = _problems_of_keys(error)
    for path, sentence in found:
        document.add_problem(path, sentence)
    if policy is None or document.errors:
        raise PolicyError(sorted(document.problems(), key=lambda one: one.line or 0))
    return policy


def _broken(text: str, line: int | None = None) -> PolicyError:
    return PolicyError([Problem(line, "", text)])


def _problems_of_keys(error: ValidationError) -> FoundProblems:
    """Yield the path of each pydantic error, with pydantic's message or a clearer message."""
    found = error.errors(include_url=False, include_input=False)
    # pydantic adds "[key]" to the location if the key itself is invalid.
    paths = [tuple(step for step in one["loc"] if step != "[key]") for one in found]
    for path, one in zip(paths, found, strict=True):
        # pydantic also reports a list as too short if all its items are invalid.
        if one["type"] == "too_short" and any(w[: len(path)] == path != w for w in paths):
            continue
        model: type[BaseModel] = Policy
        examples: list[Any] | None = None
        # Group names and rule indices are not fields of a model.
        for step in (path[0], *path[2:]) if path[:1] in {("groups",), ("rules",)} else path:
            if field := model.model_fields.get(str(step)):
                examples = field.examples
                kinds = (field.annotation, *get_args(field.annotation))
                inner = (k for k in kinds if isinstance(k, type) and issubclass(k, BaseModel))
                model = next(inner, model)
        text = _MESSAGES.get(one["type"], f"{one['msg']}.")
        if one["type"] == "value_error":
            text = str(one["ctx"]["error"])
        elif one["type"] == "extra_forbidden":
            text = f"Unknown key. The valid keys are: {', '.join(sorted(model.model_fields))}."
        elif examples:
            text += f" Example: {json.dumps(examples[0])}"
        yield path, text


class _Document:
    """A YAML file as plain data, with the line number and any error of each part."""

    def __init__(self, text: str) -> None:
        self._lines: dict[KeyPath, int] = {}
        self.errors: dict[KeyPath, tuple[int, str]] = {}
        try:
            _check_events(text)
            self._loader = yaml.SafeLoader(text)
            root = self._loader.get_single_node()
        except yaml.YAMLError as error:
            mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", None)
            about = problem or getattr(error, "reason", None) or "it ends early"
            remedy = "Check the indentation, quotes and brackets."
            if "'\\t'" in about:
                remedy = "Use spaces, not tabs."
            line = mark.line + 1 if mark else None
            raise _broken(f"Not valid YAML: {about}. {remedy}", line) from None
        if root is None:
            raise _broken("The policy file is empty. Start from the example in the documentation.")
        self.data = self._value(root, ())

    def add_problem(self, path: KeyPath, text: str, line: int | None = None) -> None:
        """Record an error at a path. Only the first error at each path is kept."""
        upwards = (path[:length] for length in range(len(path), -1, -1))
        nearest = next(self._lines[one] for one in upwards if one in self._lines)
        self.errors.setdefault(path, (line or nearest, text))

    def problems(self) -> Iterator[Problem]:
        """Yield the errors as Problem objects, which identify rules by name."""
        for path, (line, text) in self.errors.items():
            words: list[str] = []
            part: Any = self.data
            for step in path:
                try:
                    part = part[step]
                except (KeyError, IndexError, TypeError):
                    part = None
                if isinstance(step, str):
                    words.append(step)
                else:
                    name = part.get("name") if isinstance(part, dict) else None
                    words.append(name if isinstance(name, str) else str(step + 1))
            yield Problem(line, ".".join(words), text)

    def _value(self, node: yaml.Node, path: KeyPath) -> Any:
        self._lines.setdefault(path, node.start_mark.line + 1)
        if isinstance(node, yaml.SequenceNode):
            return [self._value(item, (*path, n)) for n, item in enumerate(node.value)]
        if not isinstance(node, yaml.MappingNode):
            value = self._scalar(node)
            if value is None:
                self.add_problem(path, _NO_VALUE)
            return value
        found: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key, line = self._scalar(key_node), key_node.start_mark.line + 1
            if not isinstance(key, str):
                text = "A key must be a string. Quote it if YAML reads it as another type."
                self.add_problem((*path, "?" if key is None else str(key)), text, line)
            elif key in found:
                self.add_problem((*path, key), "This key occurs twice. Keep one of them.", line)
            else:
                self._lines[(*path, key)] = line
                found[key] = self._value(value_node, (*path, key))
        return found

    def _scalar(self, node: yaml.Node) -> Any:
        """Return a scalar's value, or None if the value is invalid or the node is not a scalar."""
        if not isinstance(node, yaml.ScalarNode):
            return None
        try:
            return self._loader.construct_object(node)
        except (yaml.YAMLError, ValueError, OverflowError):
            return None


def _check_events(text: str) -> None:
    """Raise PolicyError for anchors, aliases and deep nesting."""
    depth = 0
    for event in yaml.parse(text, Loader=yaml.SafeLoader):
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        line = event.start_mark.line + 1 if event.start_mark else None
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            raise _broken("Anchors (&) and aliases (*) aren't supported. Repeat the value.", line)
        if depth > _MAX_DEPTH:
            raise _broken("The nesting is too deep. Check brackets and indentation.", line)


def cross_key_problems(policy: Policy) -> FoundProblems:
    """Yield the errors that involve several keys, each of which is valid on its own."""
    owners: dict[str, str] = {}
    for user, mailbox in policy.identity.pinned.items():
        first = owners.setdefault(mailbox, user)
        if first != user:
            text = f"{mailbox} is already pinned to {first}. A mailbox can have only one owner."
            yield ("identity", "pinned", user), text
    for name, group in policy.groups.items():
        if name == EVERYONE:
            yield ("groups", name), "This group is built in. Choose another name."
        elif not group.users and not group.usergroups:
            yield ("groups", name), "The group has no members. List users or usergroups."
    automatic = [rule for rule in policy.rules if rule.automatic]
    approvers = Quorum(policy.approvers, FLOOR)
    if text := unknown_group(policy, policy.approvers) or _too_few(policy, approvers, automatic):
        yield ("approvers",), text
    if policy.requests.remind_after >= policy.requests.expire_after:
        text = "Requests would expire before the reminder. Set a time shorter than expire_after."
        yield ("requests", "remind_after"), text
    names = [rule.name for rule in policy.rules]
    for number, rule in enumerate(policy.rules):
        if rule.name in names[:number]:
            yield ("rules", number, "name"), "Another rule has the same name. Choose another name."
        yield from ((("rules", number, *key), text) for key, text in _of_rule(policy, rule))


def _too_few(policy: Policy, quorum: Quorum, rules: Sequence[Rule]) -> str:
    """Return the reason why a group is too small for the rules' approvals, or an empty string.

    Requesters can't approve their own requests. If all requesters are members of the group, each
    request therefore has one approver fewer. Groups with Slack user groups are not checked, because
    only Slack knows their members.
    """
    group = policy.groups.get(quorum.group)
    if group is None or group.usergroups:
        return ""
    members = set(group.users)
    groups = [policy.groups.get(name) for rule in rules for name in rule.groups]
    known = all(one is not None and not one.usergroups for one in groups)
    requesters = {user for one in groups if one for user in one.users}
    among = known and bool(requesters) and requesters <= members
    if len(members) - among >= quorum.approvals:
        return ""
    approvals = f"{quorum.approvals} approval{'' if quorum.approvals == 1 else 's'}"
    size = f"{len(members)} member{'' if len(members) == 1 else 's'}"
    why = ". All requesters are members, and they can't approve their own requests" if among else ""
    return (
        f"{approvals} from {quorum.group} may be required here, but the group has {size}{why}. "
        "Add members or a user group."
    )


def _of_rule(policy: Policy, rule: Rule) -> FoundProblems:
    for place, group in enumerate(rule.groups):
        if text := unknown_group(policy, group):
            yield ("groups", place), text
    for group in rule.approvals or {}:
        if text := unknown_group(policy, group):
            yield ("approvals", group), text
    only_own_password = set(rule.actions) == {Action.PASSWORD} and rule.own is True
    may_be_raised = rule.approvals and (rule.reserved or not only_own_password)
    for quorum in raised_quorum(policy, rule.quorum) if may_be_raised else rule.quorum:
        if text := _too_few(policy, quorum, [rule]):
            yield ("approvals", quorum.group), text
    if rule.own is not None and not all(action.has_mailbox for action in rule.actions):
        text = "Only mailboxes have owners. Limit actions to: alias.add, alias.remove, password."
        yield ("own",), text
    if rule.destinations != "any" and set(rule.actions) != {Action.FORWARD_ADD}:
        text = "This condition is only for new forwarders. Set actions: [forward.add]."
        yield ("destinations",), text
    if rule.automatic and (why := _certain_floor(rule)):
        yield ("automatic",), f"Two approvals are always required for {why}"


def _certain_floor(rule: Rule) -> str:
    """Return which of the rule's requests can't be automatic, with the remedy, or ""."""
    if rule.reserved:
        return "reserved names. Use approvals instead of automatic."
    if Action.PASSWORD in rule.actions and rule.own is not True:
        return "the password of another mailbox. Add own: true, or use approvals."
    if Action.FORWARD_ADD in rule.actions and rule.destinations != "internal":
        return "forwarding to other domains. Add destinations: internal, or use approvals."
    return ""
