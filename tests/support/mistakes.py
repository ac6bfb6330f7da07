# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tasks that can't be done in the tenant of the end-to-end tests, and what each must say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ansible_collections.postroom.email.tests.support.tenant_mistakes import TENANT_MISTAKES

DOMAIN, MAILBOX, ALIAS, FORWARDER = (
    "email_domain",
    "email_mailbox",
    "email_alias",
    "email_forwarder",
)
DNS, INFO, TENANT = "email_dns_records", "email_info", "email_tenant"
PASSWORDS = ["correct-horse/battery#staple"]
FAR = ["x@far.example"]


@dataclass(frozen=True)
class Bad:
    """A task that can't be done, and what it must say.

    :param prerequisite: what is missing may come with an earlier task, so that check mode, in
        which that one made nothing, only warns
    """

    module: str
    options: dict[str, Any]
    says: str
    prerequisite: bool = False

    def __str__(self) -> str:
        return f"{self.module}: {self.says}"


WRITE_ADDRESS = "Write it in full, such as alice@example.com."
WRITE_DOMAIN = (
    "Write it in full, such as example.com, in letters, digits and inner hyphens, "
    "without scheme or path."
)
WRITE_URL = "Write it with its scheme and host, such as https://mail.example.com."
ASCII_ONLY = (
    "is not an email address that the service can hold. "
    "Before the @ use 1 to 64 ASCII letters, digits, or signs such as . _ + and -."
)
REGISTER = "is not registered in this tenant. Register it first, or check its spelling."
CHOOSE = "Choose another address, or free it there first."
NO_FORWARDER = (
    "is a forwarder, not a mailbox. "
    "It is never converted: choose another name, or delete the forwarder first."
)
NO_MAILBOX = (
    "is a mailbox, not a forwarder. It is never converted: choose another name, "
    "or delete the mailbox and the mail stored in it first."
)
LEFT_ALONE = "It is left alone: check the name and the kind."
NAME_A_MAILBOX = "Name a mailbox; the aliases of a forwarder are set with the forwarder."
NAME_ONE = "Name at least one destination in members, or set state to absent."
TAKE_OUT = "Take one of these out of members."
DELETE_FIRST = (
    "Delete these first, or set force to true to delete all of them with the domain, "
    "stored mail included."
)


def no_at(option: str, text: str) -> str:
    """Return what is said of an address without an @."""
    return f"{option}: {text!r} is not an email address, for it has no @. {WRITE_ADDRESS}"


def no_domain(option: str, text: str, hint: str = "") -> str:
    """Return what is said of a domain that is none."""
    return f"{option}: {text!r} is not a domain name. {hint}{WRITE_DOMAIN}"


LOOKS_LIKE_ADDRESS = "It looks like an email address. "


def new(name: str, **more: Any) -> dict[str, Any]:
    """Return the options of a mailbox that could be created but for its name."""
    return {"name": name, "passwords": PASSWORDS, **more}


MALFORMED = [
    Bad(MAILBOX, new("ann"), no_at("name", "ann")),
    Bad(MAILBOX, new(""), no_at("name", "")),
    Bad(MAILBOX, {"name": "ann@one.example", "aliases": ["hi"]}, no_at("aliases", "hi")),
    Bad(FORWARDER, {"name": "all", "members": FAR}, no_at("name", "all")),
    Bad(FORWARDER, {"name": "new@one.example", "members": ["bob"]}, no_at("members", "bob")),
    Bad(ALIAS, {"address": "hi", "mailbox": "ann@one.example"}, no_at("address", "hi")),
    Bad(ALIAS, {"address": "hi@one.example", "mailbox": "ann"}, no_at("mailbox", "ann")),
    Bad(MAILBOX, new("änn@one.example"), f"name: 'änn@one.example' {ASCII_ONLY}"),
    Bad(MAILBOX, new("an n@one.example"), f"name: 'an n@one.example' {ASCII_ONLY}"),
    Bad(MAILBOX, new("ann@@one.example"), f"name: 'ann@@one.example' {ASCII_ONLY}"),
    Bad(MAILBOX, new("@one.example"), f"name: '@one.example' {ASCII_ONLY}"),
    Bad(MAILBOX, new(f"{'y' * 65}@one.example"), f"name: '{'y' * 65}@one.example' {ASCII_ONLY}"),
    *(
        Bad(
            MAILBOX,
            new(name),
            f"name: {name!r} is not an email address, for there is no domain name after the @. "
            f"{WRITE_ADDRESS}",
        )
        for name in ("ann@", "ann@localhost", "ann@one..example", "ann@one.42")
    ),
    *(
        Bad(DOMAIN, {"name": name}, no_domain("name", name))
        for name in ("localhost", "https://one.example/", "-x.example", "x_y.example", "☃.example")
    ),
    Bad(
        DOMAIN,
        {"name": "bob@one.example"},
        no_domain("name", "bob@one.example", LOOKS_LIKE_ADDRESS),
    ),
    Bad(
        DOMAIN,
        {"name": "bob@one.example", "state": "absent", "force": True},
        no_domain("name", "bob@one.example", LOOKS_LIKE_ADDRESS),
    ),
    Bad(
        DNS,
        {"domain": "bob@one.example"},
        no_domain("domain", "bob@one.example", LOOKS_LIKE_ADDRESS),
    ),
    Bad(
        DNS,
        {"domain": "one.example", "ttl": -1},
        "ttl: -1 is out of range. Give seconds from 0 to 2147483647.",
    ),
    Bad(
        INFO,
        {"domains": ["bob@one.example"]},
        no_domain("domains", "bob@one.example", LOOKS_LIKE_ADDRESS),
    ),
    Bad(
        MAILBOX,
        {"name": "new@one.example", "passwords": [*PASSWORDS, ""]},
        "passwords: entry 2 of 2 is empty. Give each password in full, or leave the entry out.",
    ),
    Bad(
        MAILBOX,
        {"name": "ann@one.example", "update_password": "always"},
        "passwords: there is none to set, though update_password is always. "
        "Give at least one, or leave update_password out.",
    ),
    Bad(
        DOMAIN,
        {"name": "xn--a.example"},
        no_domain("name", "xn--a.example"),
    ),
]

UNREGISTERED = [
    Bad(MAILBOX, new("new@no.example"), f"new@no.example: the domain no.example {REGISTER}", True),
    Bad(
        MAILBOX,
        {"name": "ann@one.example", "aliases": ["a@no.example", "b@no.example"]},
        f"a@no.example, b@no.example: the domain no.example {REGISTER}",
        True,
    ),
    Bad(
        ALIAS,
        {"address": "hi@no.example", "mailbox": "ann@one.example"},
        f"hi@no.example: the domain no.example {REGISTER}",
        True,
    ),
    Bad(
        FORWARDER,
        {"name": "new@no.example", "members": FAR},
        f"new@no.example: the domain no.example {REGISTER}",
        True,
    ),
    Bad(
        ALIAS,
        {"address": "hi@one.example", "mailbox": "new@one.example"},
        "The mailbox new@one.example does not exist. Create it first.",
        True,
    ),
    Bad(
        DNS,
        {"domain": "no.example"},
        "no.example is not registered in this tenant. Register it first.",
        True,
    ),
]


def taken(address: str, owner: str) -> str:
    """Return what is said of an address that another principal has."""
    return f"{address} is taken: it delivers to the {owner}. {CHOOSE}"


def primary(address: str, owner: str) -> str:
    """Return what is said of an alias that is a primary address."""
    told = f"it is the primary address of the {owner}, which is never moved."
    return f"{address} is taken: {told} Choose another address."


ANN, ALL, BOB = "mailbox ann@one.example", "forwarder all@one.example", "mailbox bob@one.example"
INFO_ADDRESS = "info@one.example"

TAKEN = [
    Bad(MAILBOX, new(INFO_ADDRESS), taken(INFO_ADDRESS, ANN)),
    Bad(MAILBOX, {"name": "bob@one.example", "aliases": [INFO_ADDRESS]}, taken(INFO_ADDRESS, ANN)),
    Bad(FORWARDER, {"name": INFO_ADDRESS, "members": FAR}, taken(INFO_ADDRESS, ANN)),
    Bad(
        ALIAS,
        {"address": INFO_ADDRESS, "mailbox": "bob@one.example"},
        f"{INFO_ADDRESS} is taken: it is an alias of the {ANN}. Set move to true to move it here.",
    ),
    Bad(
        ALIAS,
        {"address": "all@one.example", "mailbox": "ann@one.example"},
        primary("all@one.example", ALL),
    ),
    # A primary address is never moved.
    Bad(
        ALIAS,
        {"address": "all@one.example", "mailbox": "ann@one.example", "move": True},
        primary("all@one.example", ALL),
    ),
    Bad(
        ALIAS,
        {"address": "bob@one.example", "mailbox": "ann@one.example", "move": True},
        primary("bob@one.example", BOB),
    ),
]

WRONG_KIND = [
    Bad(MAILBOX, new("all@one.example"), f"all@one.example {NO_FORWARDER}"),
    Bad(
        MAILBOX,
        {"name": "all@one.example", "state": "absent"},
        f"all@one.example is a forwarder, not a mailbox. {LEFT_ALONE}",
    ),
    Bad(FORWARDER, {"name": "bob@one.example", "members": FAR}, f"bob@one.example {NO_MAILBOX}"),
    Bad(
        FORWARDER,
        {"name": "bob@one.example", "state": "absent"},
        f"bob@one.example is a mailbox, not a forwarder. {LEFT_ALONE}",
    ),
    Bad(
        ALIAS,
        {"address": "hi@one.example", "mailbox": "all@one.example"},
        f"all@one.example is a forwarder, not a mailbox. {NAME_A_MAILBOX}",
    ),
    Bad(
        ALIAS,
        {"address": "bob@one.example", "mailbox": "bob@one.example", "state": "absent"},
        "bob@one.example is the mailbox's primary address and stays while the mailbox does. "
        "Delete the mailbox instead.",
    ),
]


def circle(*path: str) -> str:
    """Return what is said of mail that comes back."""
    return f"Mail to {path[0]} would run in a circle: {' -> '.join(path)}. {TAKE_OUT}"


FIRST, SECOND, THIRD = "first@one.example", "second@one.example", "third@one.example"

UNFIT = [
    Bad(
        MAILBOX,
        {"name": "new@one.example"},
        "The mailbox new@one.example does not exist yet and "
        "can't be created without a password. Set passwords to a list of at least one.",
        True,
    ),
    Bad(
        MAILBOX,
        {"name": "new@one.example", "passwords": []},
        "The mailbox new@one.example does "
        "not exist yet and can't be created without a password. "
        "Set passwords to a list of at least one.",
        True,
    ),
    Bad(
        FORWARDER,
        {"name": "all@one.example", "members": []},
        f"The forwarder all@one.example would be left without members. {NAME_ONE}",
    ),
    Bad(
        FORWARDER,
        {"name": "new@one.example", "members": []},
        f"The forwarder new@one.example has no members. {NAME_ONE}",
    ),
    Bad(
        FORWARDER,
        {"name": "new@one.example"},
        f"The forwarder new@one.example has no members. {NAME_ONE}",
        True,
    ),
    Bad(FORWARDER, {"name": THIRD, "members": [THIRD]}, circle(THIRD, THIRD)),
    Bad(FORWARDER, {"name": THIRD, "members": [FIRST]}, circle(THIRD, FIRST, SECOND, THIRD)),
    Bad(
        FORWARDER,
        {"name": SECOND, "members": [THIRD], "aliases": [THIRD]},
        circle(SECOND, THIRD),
    ),
    Bad(
        DOMAIN,
        {"name": "two.example", "state": "absent"},
        "The domain two.example still holds 2 objects: alias ann@two.example of the mailbox "
        f"ann@one.example, mailbox cat@two.example. {DELETE_FIRST}",
    ),
]

ACCESS = [
    Bad(
        MAILBOX,
        new("new@one.example", api_token="a-token-that-nobody-issued"),
        "Reading new@one.example was answered with status 401 (The token is unknown, expired or "
        "revoked). "
        "Check api_token: it is wrong, expired or revoked.",
    ),
    *(
        Bad(
            MAILBOX,
            new("new@one.example", api_token=token),
            "api_token: it is empty or holds spaces, line breaks or non-ASCII characters. "
            "Give the token alone, as the service issued it.",
        )
        for token in ("", "Bearer of-news", "line-and-break\n", "tökén-with-umlauts")
    ),
    *(
        Bad(
            MAILBOX,
            new("new@one.example", api_url=url),
            f"api_url: {url!r} is not a web address. {WRITE_URL}",
        )
        for url in ("mail.example.com", "localhost:8025", "ftp://mail.example.com", "", "https://")
    ),
    Bad(
        MAILBOX,
        new("new@one.example", api_url="https://me:s3cr3t-in-url@mail.example.com"),
        "api_url: the address of mail.example.com holds a user, a query or a fragment. "
        f"Leave that out. {WRITE_URL}",
    ),
    Bad(
        MAILBOX,
        new("new@one.example", api_url="https://127.0.0.1", ca_path="/no/such/file.pem"),
        "ca_path: /no/such/file.pem can't be used (No such file or directory). "
        "Give a readable file of certificates.",
    ),
    *(
        Bad(
            MAILBOX,
            new("new@one.example", **numbers),
            f"timeout: {numbers['timeout']} can't be used. Give seconds above 0 and up to 86400.",
        )
        for numbers in ({"timeout": 0}, {"timeout": "nan"}, {"timeout": "inf"})
    ),
    Bad(
        MAILBOX,
        new("new@one.example", retries=-1),
        "retries: -1 can't be used. Give 0 or more.",
    ),
]

WHOLE_TENANT = [
    Bad(TENANT, options, says, prerequisite) for options, says, prerequisite in TENANT_MISTAKES
]

EVERY = [*MALFORMED, *UNREGISTERED, *TAKEN, *WRONG_KIND, *UNFIT, *ACCESS, *WHOLE_TENANT]
