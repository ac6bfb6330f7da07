# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What can be wrong with a task of email_tenant in the tenant of the end-to-end tests."""

from __future__ import annotations

from typing import Any

SECRET = "correct-horse/battery#staple"
ANN, BOB = "ann@one.example", "bob@one.example"
FIRST, THIRD = "first@one.example", "third@one.example"

_PATTERN = "there is an empty pattern. Write one such as *@example.com."
_NO_TEXT = "is no text. Give a string, in quotes, or a list of strings."
_IN_FULL = "Write it in full, such as alice@example.com."


def with_ann(**options: Any) -> dict[str, Any]:
    """Return options that declare what is there, and more."""
    return {"mailboxes": [ANN], **options}


def password(value: Any, key: str = ANN) -> dict[str, Any]:
    """Return options with a password."""
    return with_ann(passwords={key: value})


#: The options, what must be said, and whether check mode only warns.
TENANT_MISTAKES: list[tuple[dict[str, Any], str, bool]] = [
    (
        {},
        (
            "definition_files: nothing is declared. Name at least one file, or give domains, "
            "mailboxes or forwarders."
        ),
        False,
    ),
    (
        {"definition_files": ["/no/such/tenant.yml"]},
        (
            "/no/such/tenant.yml: The file can't be read: No such file or directory. It is looked "
            "for where the module runs."
        ),
        False,
    ),
    *(
        (with_ann(concurrency=n), f"concurrency: {n} can't be used. Give 1 to 64.", False)
        for n in (0, 65, -1)
    ),
    (with_ann(max_deletions=-1), "max_deletions: -1 can't be used. Give 0 or more.", False),
    *(
        (
            with_ann(max_delete_percent=share),
            f"max_delete_percent: {share} can't be used. Give 0 to 100.",
            False,
        )
        for share in (-0.5, 100.5)
    ),
    (with_ann(scope=[""]), f"scope: {_PATTERN}", False),
    (with_ann(ignore=["*", " "]), f"ignore: {_PATTERN}", False),
    (
        password(SECRET, "ann"),
        (
            "passwords: A key is not an email address. Write address: password; the key is not "
            "shown here, for it may be a password."
        ),
        False,
    ),
    *(
        (password(value), f"passwords: The password of {ANN} {_NO_TEXT}", False)
        for value in (7, None, {"password": SECRET}, [[SECRET]], [SECRET, 7])
    ),
    (
        password([]),
        f"passwords: The list of {ANN} is empty. Give a password, or drop it.",
        False,
    ),
    *(
        (
            password(value),
            f"passwords: A password of {ANN} is empty. Give one, or drop the address.",
            False,
        )
        for value in ("", [SECRET, ""])
    ),
    (
        with_ann(passwords={ANN: SECRET, ANN.upper(): SECRET}),
        f"passwords: {ANN.upper()} is the same as {ANN}. Keep one of the two.",
        False,
    ),
    (
        {"mailboxes": ["ann"]},
        f"mailboxes[0]: 'ann' is not an email address, for it has no @. {_IN_FULL}",
        False,
    ),
    (
        {"mailboxes": [{"name": ANN, "password": SECRET}]},
        (
            "mailboxes[0].password: A definition holds no secrets. Drop this key, and give "
            "passwords with the option passwords."
        ),
        False,
    ),
    (
        {"mailboxes": [BOB, ANN, BOB], "forwarders": [ANN]},
        (
            "There are 2 problems; nothing was changed.\n"
            f"1. mailboxes[2]: {BOB} is declared twice, first in mailboxes[0]. Keep one of the "
            f"two.\n2. forwarders[0]: {ANN} can't be a forwarder, for it is a mailbox in "
            "mailboxes[1]. Keep one of the two."
        ),
        False,
    ),
    (
        {"mailboxes": [{"name": BOB, "aliases": ["info@one.example"]}]},
        (
            f"mailboxes[0].aliases[0]: info@one.example is taken: it delivers to the mailbox "
            f"{ANN}, which is not declared. Declare that too, so that the address can move, or "
            "free it there first."
        ),
        False,
    ),
    (
        {"forwarders": [{"name": BOB, "members": ["x@far.example"]}]},
        (
            f"forwarders[0]: {BOB} is a mailbox, not a forwarder. It is never converted: choose "
            "another name, or delete the mailbox and the mail stored in it first."
        ),
        False,
    ),
    (
        {"forwarders": [{"name": THIRD, "members": [FIRST]}]},
        (
            f"forwarders[0]: Mail to {THIRD} would run in a circle: {THIRD} -> {FIRST} -> "
            f"second@one.example -> {THIRD}. Take one of these out of members."
        ),
        False,
    ),
    (
        {"domains": [{"name": "two.example", "state": "absent"}]},
        (
            "domains[0]: The domain two.example is to be absent but holds 2 objects: alias "
            f"ann@two.example of the mailbox {ANN}, mailbox cat@two.example. Declare these absent "
            "too, or set force to true on the domain to delete all of them with it, stored mail "
            "included."
        ),
        False,
    ),
    (
        {"mailboxes": ["new@one.example"]},
        (
            "mailboxes[0]: The mailbox new@one.example does not exist yet and can't be created "
            "without a password. Give it one in passwords."
        ),
        True,
    ),
    (
        {"mailboxes": [{"name": ANN, "aliases": ["a@no.example", "b@no.example"]}]},
        (
            "mailboxes[0].aliases[0]: a@no.example and 1 more: the domain no.example is not "
            "registered in this tenant. Add it to domains, or check its spelling."
        ),
        True,
    ),
    (
        {"mailboxes": [ANN, BOB], "purge": ["mailbox"]},
        (
            "1 mailbox would be deleted without being named: mailbox cat@two.example. "
            "max_deletions allows 0. Look at the plan in check mode; if it is right, set "
            "max_deletions to 1, else narrow scope or declare them."
        ),
        True,
    ),
    (
        {
            "mailboxes": [ANN, BOB],
            "purge": ["mailbox"],
            "max_deletions": 1,
            "max_delete_percent": 33,
        },
        (
            "33.3 % of all mailboxes (1 of 3) would be deleted without being named. "
            "max_delete_percent allows 33. Look at the plan in check mode, and raise it only if "
            "the plan is right."
        ),
        True,
    ),
]
