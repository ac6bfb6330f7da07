# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Load and validate the policy file. Each error has a line number and a remedy.

Anchors, aliases and tags are rejected, so that the policy is exactly what the file shows.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple, get_args

from pydantic import BaseModel, ValidationError

from postroom_bot.domain import Action, Quorum
from postroom_bot.policy.engine import FLOOR, raised_quorum
from postroom_bot.policy.model import EVERYONE, Policy, RequestTiming, Rule, unknown_group
from postroom_client.yaml_reader import Malformed, line_finder, parse_yaml, read_text

_NO_VALUE = (
    "The value is missing. Enter a value, or remove the key if it is optional. Outside quotes, # "
    "begins a comment."
)
_EMPTY = (
    "The policy file is empty. Start from the example at "
    "https://github.com/postroom/email/blob/main/bot/examples/policy.yml."
)
_MAPPING = "Must be a mapping: keys with values, one per line."
#: Messages for pydantic's error types whose own message would be unclear for a YAML file.
_MESSAGES = {
    "missing": "This key is required. Add it.",
    "string_type": "Must be a string. Quote it if it looks like a number.",
    "bool_type": "Must be true or false.",
    "model_type": _MAPPING,
    "mapping_type": _MAPPING,
    "dict_type": _MAPPING,
    "tuple_type": "Must be a list.",
    "too_short": "Must not be empty. Add an item, or remove the key if it is optional.",
    "int_type": "Must be a whole number, without quotes or leading zeros.",
    "string_pattern_mismatch": "The value does not have the required form.",
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

    :raises PolicyError: if the file is invalid. If it can't be read as plain data, the exception
        has one error, otherwise all errors. Relations between keys are checked only if every key is
        valid.
    """
    try:
        text = read_text(path)
    except Malformed as error:
        raise PolicyError([Problem(error.line, "", str(error))], path) from None
    return parse(text, path)


def parse(text: str, path: Path | None = None) -> Policy:
    """Parse the text of a policy file, or raise PolicyError if the text is invalid.

    :param path: the file to name in error messages
    """
    try:
        data = parse_yaml(text, plain=True)
    except Malformed as error:
        raise PolicyError([Problem(error.line, "", str(error))], path) from None
    if data is None:
        raise PolicyError([Problem(None, "", _EMPTY)], path)
    policy: Policy | None = None
    # Of several errors in one place, the first is reported.
    errors = dict.fromkeys(_paths_without_value(data, ()), _NO_VALUE)
    try:
        policy = Policy.model_validate(data)
        found = iter(()) if errors else cross_key_problems(policy)
    except ValidationError as error:
        found = _problems_of_keys(error)
    for key_path, sentence in found:
        errors.setdefault(key_path, sentence)
    if policy is None or errors:
        line_of = line_finder(text)
        problems = [Problem(line_of(at), _key_text(data, at), one) for at, one in errors.items()]
        raise PolicyError(sorted(problems, key=lambda one: one.line or 0), path)
    return policy


def _paths_without_value(data: Any, path: KeyPath) -> Iterator[KeyPath]:
    """Yield the path of each null. pydantic would accept null for optional keys."""
    if data is None:
        yield path
    elif isinstance(data, dict | list):
        for step, value in data.items() if isinstance(data, dict) else enumerate(data):
            yield from _paths_without_value(value, (*path, step))


def _key_text(data: Any, path: KeyPath) -> str:
    """Return a path as text, such as ``rules.own-aliases.own``, with the names of rules."""
    words: list[str] = []
    for step in path:
        try:
            data = data[step]
        except (KeyError, IndexError, TypeError):
            data = None
        if isinstance(step, str):
            words.append(step)
        else:
            name = data.get("name") if isinstance(data, dict) else None
            words.append(name if isinstance(name, str) else str(step + 1))
    return ".".join(words)


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


def cross_key_problems(policy: Policy) -> FoundProblems:
    """Yield the errors that involve several keys, each of which is valid on its own."""
    owners: dict[str, str] = {}
    for user, mailbox in policy.identity.pinned.items():
        first = owners.setdefault(mailbox, user)
        if first != user:
            text = f"{mailbox} is already pinned to {first}. Pin each mailbox to only one user."
            yield ("identity", "pinned", user), text
    for name, group in policy.groups.items():
        if name == EVERYONE:
            yield ("groups", name), "This group is built in. Choose another name."
        elif not group.users and not group.usergroups:
            yield ("groups", name), "The group has no members. List users or usergroups."
    automatic = [rule for rule in policy.rules if rule.automatic]
    approvers = Quorum(policy.approvers, FLOOR)
    too_few = _too_few(policy, approvers, automatic) if automatic else ""
    if text := unknown_group(policy, policy.approvers) or too_few:
        yield ("approvers",), text
    yield from ((("requests", key), text) for key, text in _of_times(policy.requests))
    names = [rule.name for rule in policy.rules]
    for number, rule in enumerate(policy.rules):
        if rule.name in names[:number]:
            yield ("rules", number, "name"), "Another rule has the same name. Choose another name."
        yield from ((("rules", number, *key), text) for key, text in _of_rule(policy, rule))


def _of_times(times: RequestTiming) -> Iterator[tuple[str, str]]:
    if times.remind_after >= times.expire_after:
        yield (
            "remind_after",
            "Requests would expire before the reminder. Set a time shorter than expire_after.",
        )
    if times.retention < timedelta(days=1):
        yield (
            "retention",
            "The limit on requests per day counts the requests of 24 hours. Set at least 24h.",
        )


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
    if len(members) - (1 if among else 0) >= quorum.approvals:
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
    yield from _of_approvals(policy, rule)
    if rule.own is not None and not all(action.has_mailbox for action in rule.actions):
        text = "Only mailboxes have owners. Limit actions to: alias.add, alias.remove, password."
        yield ("own",), text
    if rule.destinations != "any" and set(rule.actions) != {Action.FORWARD_ADD}:
        text = "This condition is only for new forwarders. Set actions: [forward.add]."
        yield ("destinations",), text
    adds = any(action.adds for action in rule.actions)
    if rule.requires_end_date and (rule.deny is not None or not adds):
        text = "Only alias.add and forward.add have end dates, in rules that allow them."
        yield ("end_date" if rule.max_days is None else "max_days",), f"{text} Remove this key."
    if rule.automatic and (why := _certain_floor(rule)):
        yield ("automatic",), f"Two approvals are always required for {why}"


def _of_approvals(policy: Policy, rule: Rule) -> FoundProblems:
    for group in rule.approvals or {}:
        if text := unknown_group(policy, group):
            yield ("approvals", group), text
    only_own_password = set(rule.actions) == {Action.PASSWORD} and rule.own is True
    may_be_raised = rule.approvals and (rule.reserved or not only_own_password)
    for quorum in raised_quorum(policy, rule.quorum) if may_be_raised else rule.quorum:
        if text := _too_few(policy, quorum, [rule]):
            yield ("approvals", quorum.group), text


def _certain_floor(rule: Rule) -> str:
    """Return which of the rule's requests can't be automatic, with the remedy, or ""."""
    if rule.reserved:
        return "reserved names. Use approvals instead of automatic."
    if Action.PASSWORD in rule.actions and rule.own is not True:
        return "the password of another mailbox. Set own: true, or use approvals."
    if Action.FORWARD_ADD in rule.actions and rule.destinations != "internal":
        return "forwarding to other domains. Set destinations: internal, or use approvals."
    return ""
