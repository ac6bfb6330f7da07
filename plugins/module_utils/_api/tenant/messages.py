# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""The texts of reasons, problems and refusals, keyed by code. ``problems.py`` defines the types."""

from __future__ import annotations

from collections.abc import Iterable

from ..names import Name

_MAX_LISTED = 10

#: The reasons why a principal changes, keyed by code.
REASONS = {
    "missing": "does not exist",
    "declared_absent": "declared absent",
    "expired": "expired on {date}",
    "undeclared": "not declared",
    "domain_deleted": "its domain {domain} is deleted",
    "add_alias": "missing {names}",
    "remove_alias": "alias {name} {why}",
    "add_member": "missing {names}",
    "remove_member": "undeclared {names}",
    "replace_passwords": "passwords replaced",
    "alias_moves": "moves to {owner}",
    "alias_domain_deleted": "is on the deleted domain {domain}",
}

#: The problems in a definition or its plan, keyed by code.
PROBLEMS = {
    "unreadable_file": "{text}",
    "unknown_key": "Unknown key. The known keys are: {known}.",
    "secret_key": "A definition contains no secrets. Set the option passwords instead.",
    "missing_key": "The {kind} has no {key}. Add {key}: {example}.",
    "wrong_value": "This must be {expected}, not {found}. {remedy}",
    "invalid_name": "{text}",
    "name_too_long": "This name has {length} characters (max {allowed}). Shorten it.",
    "text_after_name": (
        "There is text after the address. Write only the address, and set passwords with the "
        "option passwords."
    ),
    "time_without_zone": "The time {time} needs a zone. Write {time}Z for UTC, or {time}+01:00.",
    "force_without_absent": "force requires state: absent. Remove force, or add state: absent.",
    "absent_with": "An absent {kind} can't have {part}. Remove {part} or state: absent.",
    "duplicate": "{name} is declared twice, first as {first} in {place}. Keep one of the two.",
    "two_kinds": "{name} can't be a {kind}, because it is a {first} in {place}. Keep one.",
    "contradiction": (
        "{name} {here} here, but {there} in {place}. Declare the same in both, or remove one."
    ),
    "own_alias": "{address} is the primary address of this {kind}. Remove the alias.",
    "alias_of_two": (
        "{address} is also an alias of the {kind} {owner}, declared in {place}. Keep only one."
    ),
    "alias_is_primary": (
        "{address} is also the primary address of a {kind}, declared in {place}. Remove the alias."
    ),
    "domain_absent": (
        "{address}: its domain {domain} is declared absent in {place}. Remove one of the two."
    ),
    "wrong_kind": (
        "{name} is a {found}, not a {kind}. Choose another name, or delete the {found}{loss} first."
    ),
    "wrong_kind_absent": (
        "{name} is a {found}, not a {kind}, and was not deleted. Check the name and the kind."
    ),
    "not_a_mailbox": (
        "{name} is a {found}, not a mailbox. Name a mailbox. To change a forwarder's aliases, use "
        "the module email_forwarder or a definition."
    ),
    "mailbox_missing": "The mailbox {name} does not exist. Create it first.",
    "password_missing": "{names}: a new mailbox needs a password. Set passwords.",
    "domain_missing": (
        "{names}: the domain {domain} is not registered in this tenant. Add the domain, or check "
        "its spelling."
    ),
    "domain_purged": (
        "{names}: the domain {domain} is not declared and would be purged. Add it to domains, or "
        "to ignore."
    ),
    "domain_in_use": (
        "The domain {domain} still holds {holders}. Delete them first, or set force: true to "
        "delete all of them with the domain, including stored mail."
    ),
    "domain_in_use_unmanaged": (
        "The domain {domain} still holds {holders}, which can't be deleted here. Delete them "
        "manually first."
    ),
    "domain_in_use_undeclared": (
        "The domain {domain} is not declared and would be purged, but it holds {holders}. A "
        "domain that is not empty is never purged: declare it with state: absent, or add it to "
        "ignore."
    ),
    "domain_in_use_ignored": (
        "The domain {domain} is declared absent with everything on it, but ignore keeps "
        "{holders}. Declare them absent, or remove them from ignore."
    ),
    "address_in_use": (
        "{address} is already in use: it delivers to the {kind} {owner}. Choose another address, "
        "or remove it there first."
    ),
    "address_in_use_undeclared": (
        "{address} is already in use: it delivers to the {kind} {owner}, which is not declared. "
        "Declare it as well, or remove the address there first."
    ),
    "alias_in_use": (
        "{address} is already an alias of the {kind} {owner}. Set move: true to move it here."
    ),
    "alias_in_use_unlisted": (
        "{address} is already an alias of the {kind} {owner}, which is declared without aliases. "
        "Declare its aliases without this address, or remove the address there first."
    ),
    "primary_address_in_use": (
        "{address} is the primary address of the {kind} {owner} and can't be moved. Choose "
        "another address."
    ),
    "primary_address": "{address} is the primary address. Delete the mailbox to remove it.",
    "no_members": "The forwarder {name} has no members. Set members, or set state: absent.",
    "forwarding_loop": "Mail to {name} would loop: {way}. Remove one of these from members.",
    "member_missing": (
        "{member} is a member of the forwarder {name}, but no mailbox or forwarder has this "
        "address, so mail to {name} would bounce. Create it, remove it from the members, or check "
        "its spelling."
    ),
    "member_removed": (
        "{member} is a member of the forwarder {name}, but the {lost} would be removed ({why}), "
        "so mail to {name} would bounce. Remove it from the members{or_keep}."
    ),
    "too_many_deletions": (
        "{counts} would be deleted without being named in the definition: {names}. "
        "max_deletions allows {allowed}. Review the plan in check mode. If it is right, set "
        "max_deletions: {total}. Otherwise, narrow scope or declare them."
    ),
    "percentage_exceeded": (
        "{percent:.3g} % of all {kinds} ({count} of {existing}) would be deleted without being "
        "named in the definition. max_delete_percent allows {allowed:g}. Review the plan in check "
        "mode, and raise the limit only if the plan is right."
    ),
    "purge_without_aliases": (
        "purge_aliases has no effect without aliases. Set aliases to the addresses to keep, or "
        "to an empty list to remove all."
    ),
    "idle_pattern": "{option}: {pattern} matches nothing in the tenant or in the plan. Check it.",
}

#: Problems that an earlier task may solve in a real run, so that check mode only warns about them.
PREREQUISITES = {
    "mailbox_missing": "The mailbox {name} does not exist yet",
    "password_missing": "{names}: a new mailbox needs a password. Set passwords",
    "domain_missing": "The domain {domain} is not registered yet",
    "no_members": "The forwarder {name} does not exist yet",
}


def counted(noun: str, names: Iterable[Name]) -> str:
    """Return names with their noun, such as ``alias a@example.com``, or an empty string."""
    names = sorted(names)
    if not names:
        return ""
    plural = {"alias": "aliases"}.get(noun, f"{noun}s")
    return f"{noun if len(names) == 1 else plural} {first_ten(map(str, names))}"


def first_ten(items: Iterable[str]) -> str:
    """Return the first ten items, separated by commas, and the number of other items."""
    items = list(items)
    shown = ", ".join(items[:_MAX_LISTED])
    more = len(items) - _MAX_LISTED
    return f"{shown} and {more} more" if more > 0 else shown
