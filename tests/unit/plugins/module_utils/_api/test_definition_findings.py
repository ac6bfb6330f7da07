# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Whatever is wrong with a definition is told: each mistake with its file, line and place."""

from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.postroom.email.plugins.module_utils._api.definition.file import load
from ansible_collections.postroom.email.plugins.module_utils._api.definition.model import (
    Definition,
    InvalidDefinition,
    Source,
)
from ansible_collections.postroom.email.plugins.module_utils._api.definition.reading import (
    read_definition,
)

NOW = datetime(2026, 6, 1, 12, tzinfo=timezone.utc)
TIME = "Write a date such as 2026-12-31, or a time with its zone such as 2026-12-31T18:00:00+01:00."
NO_SECRETS = (
    "A definition holds no secrets. Drop this key, and give passwords with the option passwords."
)

# What is written in one file, and what is said of it: after the file's name, line and place.
ONE_FILE: dict[str, list[str]] = {
    "mailboxs: [x]": ["1: mailboxs: This key is not known. Did you mean mailboxes?"],
    "zebra: hunter2": [
        "1: zebra: This key is not known. Known here are domains, mailboxes and forwarders."
    ],
    "passwords: {alice@example.com: hunter2}": [f"1: passwords: {NO_SECRETS}"],
    "mailboxes:\n- name: alice@example.com\n  password: hunter2": [
        f"3: mailboxes[0].password: {NO_SECRETS}"
    ],
    "mailboxes: alice@example.com": [
        (
            "1: mailboxes: A list is needed here, not text. Write each entry in a line of its own, "
            "after a hyphen."
        )
    ],
    "domains:\nmailboxes: {}": [
        "1: domains: A list is needed here, not null. Write [] for an empty list, or drop the key.",
        (
            "2: mailboxes: A list is needed here, not a mapping. Write each entry in a line of its "
            "own, after a hyphen."
        ),
    ],
    "domains:\n- no\n- null\n- [a.example]\n- name: yes\n- state: absent": [
        (
            "2: domains[0]: A domain is needed here, not false (as YAML reads no, off and false). "
            "Write example.com, or a mapping with the key name."
        ),
        (
            "3: domains[1]: A domain is needed here, not null. Write example.com, or a mapping "
            "with the key name."
        ),
        (
            "4: domains[2]: A domain is needed here, not a list. Write example.com, or a mapping "
            "with the key name."
        ),
        (
            "5: domains[3].name: A domain name is needed here, not true (as YAML reads yes, on and "
            "true). Write it as text, such as example.com."
        ),
        "6: domains[4]: The domain has no name. Add name: example.com.",
    ],
    "domains: [localhost, alice@example.com]": [
        (
            "1: domains[0]: 'localhost' is not a domain name. Write it in full, such as "
            "example.com, in letters, digits and inner hyphens, without scheme or path."
        ),
        (
            "1: domains[1]: 'alice@example.com' is not a domain name. It looks like an email "
            "address. Write it in full, such as example.com, in letters, digits and inner hyphens, "
            "without scheme or path."
        ),
    ],
    "mailboxes:\n- alice\n- name: 'b: c@example.com'": [
        (
            "2: mailboxes[0]: 'alice' is not an email address, for it has no @. Write it in full, "
            "such as alice@example.com."
        ),
        (
            "3: mailboxes[1].name: 'b: c@example.com' is not an email address that the service can "
            "hold. Before the @ use 1 to 64 ASCII letters, digits, or signs such as . _ + and -."
        ),
    ],
    f"mailboxes: [{'a' * 501}]": [
        "1: mailboxes[0]: An email address has no 501 characters. Shorten it."
    ],
    "mailboxes:\n- nmae: alice@example.com\n- address: b@example.com\n- expires: 2026-12-31": [
        "2: mailboxes[0].nmae: This key is not known. Did you mean name?",
        "3: mailboxes[1].address: This key is not known. Did you mean name?",
        "4: mailboxes[2].expires: This key is not known. Known here are name, state and aliases.",
        "4: mailboxes[2]: The mailbox has no name. Add name: alice@example.com.",
    ],
    "mailboxes:\n- name: a@example.com\n  state: presnt\n- name: b@example.com\n  state: no": [
        "3: mailboxes[0].state: A state is needed here, not 'presnt'. Write present or absent.",
        (
            "5: mailboxes[1].state: A state is needed here, not false (as YAML reads no, off and "
            "false). Write present or absent."
        ),
    ],
    "mailboxes:\n- name: a@example.com\n  aliases:\n  - b\n  - [c]\n  - {}\n  - name: d@x.test": [
        (
            "4: mailboxes[0].aliases[0]: 'b' is not an email address, for it has no @. Write it in "
            "full, such as alice@example.com."
        ),
        (
            "5: mailboxes[0].aliases[1]: An alias is needed here, not a list. Write "
            "alice@example.com, or a mapping with the key address."
        ),
        "6: mailboxes[0].aliases[2]: The alias has no address. Add address: alice@example.com.",
        "7: mailboxes[0].aliases[3].name: This key is not known. Did you mean address?",
    ],
    "forwarders:\n- name: a@example.com\n  members: b@example.com\n- c@example.com": [
        (
            "3: forwarders[0].members: A list is needed here, not text. Write each entry in a line "
            "of its own, after a hyphen."
        ),
        (
            "4: forwarders[1]: The forwarder c@example.com has no members, so that its mail would "
            "go nowhere. Add members, or declare it with state: absent."
        ),
    ],
    "forwarders:\n- {name: a@example.com, members: [{name: b@example.com}, ~]}": [
        (
            "2: forwarders[0].members[0]: An email address is needed here, not a mapping. Write it "
            "as text, such as alice@example.com."
        ),
        (
            "2: forwarders[0].members[1]: An email address is needed here, not null. Write it as "
            "text, such as alice@example.com."
        ),
    ],
    "domains:\n- {name: a.example, force: true}\n- {name: b.example, force: 'yes'}": [
        (
            "2: domains[0].force: Only what is to be absent can be forced. Drop force, or add "
            "state: absent."
        ),
        "3: domains[1].force: true or false is needed here, not text.",
    ],
    "forwarders:\n"
    "- {name: a@example.com, members: [x@example.net], expires: 31.12.2026}\n"
    "- {name: b@example.com, members: [x@example.net], expires: 2026-12-31T10:00:00}\n"
    "- {name: c@example.com, members: [x@example.net], expires: 2026-02-30}\n"
    "- {name: d@example.com, members: [x@example.net], expires: ~}\n"
    "- {name: e@example.com, state: absent, expires: 2026-12-31}": [
        f"2: forwarders[0].expires: A date or time is needed here, not '31.12.2026'. {TIME}",
        (
            "3: forwarders[1].expires: The time 2026-12-31T10:00:00 has no zone. Add one, such as "
            "2026-12-31T10:00:00Z for UTC, or 2026-12-31T10:00:00+01:00."
        ),
        f"4: forwarders[2].expires: A date or time is needed here, not '2026-02-30'. {TIME}",
        f"5: forwarders[3].expires: A date or time is needed here, not null. {TIME}",
        "6: forwarders[4].expires: What is absent can't expire. Drop expires, or state: absent.",
    ],
    "forwarders:\n"
    "- {name: a@example.com, state: absent, aliases: [b@example.com], members: [c@example.com]}": [
        (
            "2: forwarders[0].aliases: The forwarder is to be absent and can't have aliases. Drop "
            "them, or state: absent."
        ),
        (
            "2: forwarders[0].members: The forwarder is to be absent and can't have members. Drop "
            "them, or state: absent."
        ),
    ],
    "domains: [a.example]\nmailboxes:\n- alice@example.com\n- bob@example.com\n"
    "- Alice@example.com\n- bob@example.com": [
        (
            "5: mailboxes[2]: Alice@example.com is the same as alice@example.com, which is "
            "declared in mailboxes[0] (line 3). Keep one of the two."
        ),
        (
            "6: mailboxes[3]: bob@example.com is declared twice, first in mailboxes[1] (line 4). "
            "Keep one of the two."
        ),
    ],
    "domains:\n- b\u00fccher.example\n- xn--bcher-kva.example": [
        (
            "3: domains[1]: xn--bcher-kva.example is the same as b\u00fccher.example, which is "
            "declared in domains[0] (line 2). Keep one of the two."
        )
    ],
    "mailboxes:\n- a@example.com\nforwarders:\n- {name: a@example.com, members: [b@example.net]}": [
        (
            "4: forwarders[0]: a@example.com can't be a forwarder, for it is a mailbox in "
            "mailboxes[0] (line 2). Keep one of the two."
        )
    ],
    "mailboxes:\n- name: a@example.com\n  aliases:\n  - c@example.com\n  - C@example.com\n"
    "  - A@example.com\n- name: b@example.com\n  aliases: [c@example.com, a@example.com]": [
        (
            "5: mailboxes[0].aliases[1]: C@example.com is the same as c@example.com, which is "
            "declared in mailboxes[0].aliases[0] (line 4). Keep one of the two."
        ),
        (
            "6: mailboxes[0].aliases[2]: A@example.com is the mailbox's own primary address, which "
            "can be no alias of it. Drop the alias."
        ),
        (
            "8: mailboxes[1].aliases[0]: c@example.com is an alias of the mailbox a@example.com "
            "too, declared in mailboxes[0].aliases[0] (line 4). An address can be in one place "
            "only: drop it in one of the two."
        ),
        (
            "8: mailboxes[1].aliases[1]: a@example.com is the primary address of a mailbox, "
            "declared in mailboxes[0] (line 2). An address can be in one place only: drop it in "
            "one of the two."
        ),
    ],
    "domains:\n- {name: Old.example, state: absent}\nmailboxes:\n- name: a@old.example\n"
    "- name: b@example.com\n  aliases: [c@old.example]": [
        (
            "4: mailboxes[0]: a@old.example is to be present, but its domain Old.example is to be "
            "absent, as declared in domains[0] (line 2). Drop one of the two."
        ),
        (
            "6: mailboxes[1].aliases[0]: c@old.example is to be present, but its domain "
            "Old.example is to be absent, as declared in domains[0] (line 2). Drop one of the two."
        ),
    ],
    "forwarders:\n- name: a@example.com\n  aliases: [b@example.com]\n"
    "  members: [a@example.com, B@example.com, c@example.net, C@example.net]": [
        (
            "4: forwarders[0].members[3]: C@example.net is the same as c@example.net, which is "
            "declared in forwarders[0].members[2] (line 4). Keep one of the two."
        ),
        (
            "4: forwarders[0].members[0]: The forwarder a@example.com would forward to itself. "
            "Drop this member."
        ),
        (
            "4: forwarders[0].members[1]: The forwarder a@example.com would forward to itself "
            "(B@example.com is an alias of a@example.com). Drop this member."
        ),
    ],
    "forwarders:\n"
    "- {name: a@example.com, members: [b@example.com, d@example.net]}\n"
    "- {name: b@example.com, members: [c@example.com]}\n"
    "- {name: c@example.com, aliases: [x@example.com], members: [Y@example.com]}\n"
    "- {name: e@example.com, members: [x@example.com]}\n"
    "- {name: d@example.com, aliases: [y@example.com], members: [b@example.com]}": [
        (
            "6: forwarders[4].members[0]: Mail would go round in a loop: b@example.com -> "
            "c@example.com -> d@example.com -> b@example.com. Drop this member."
        )
    ],
}

# What a first and a second file hold, and what is said of the second.
TWO_FILES: dict[tuple[str, str], list[str]] = {
    ("domains: [a.example]", "domains: [{name: A.example, state: absent}]"): [
        (
            "1: domains[0]: A.example is to be absent here and is to be present in domains[0] "
            "(line 1, in 1.yml). Say the same in both, or drop one."
        )
    ],
    (
        "domains: [{name: a.example, state: absent, force: true}]",
        "domains: [{name: a.example, state: absent, force: false}]",
    ): [
        (
            "1: domains[0]: a.example has force: false here and has force: true in domains[0] "
            "(line 1, in 1.yml). Say the same in both, or drop one."
        )
    ],
    (
        "mailboxes: [{name: a@a.example, aliases: [b@a.example, c@a.example]}]",
        (
            "mailboxes: [{name: a@a.example, aliases: [{address: b@a.example, state: absent}, "
            "{address: c@a.example, expires: 2026-12-31}]}]"
        ),
    ): [
        (
            "1: mailboxes[0].aliases[0]: b@a.example is to be absent here and is to be present in "
            "mailboxes[0].aliases[0] (line 1, in 1.yml). Say the same in both, or drop one."
        ),
        (
            "1: mailboxes[0].aliases[1]: c@a.example expires on 2026-12-31 here and never expires "
            "in mailboxes[0].aliases[1] (line 1, in 1.yml). Say the same in both, or drop one."
        ),
    ],
    (
        "forwarders: [{name: a@a.example, members: [b@b.example], expires: 2026-12-31}]",
        "forwarders: [{name: a@a.example, expires: 2027-12-31}]",
    ): [
        (
            "1: forwarders[0]: a@a.example expires on 2027-12-31 here and expires on 2026-12-31 in "
            "forwarders[0] (line 1, in 1.yml). Say the same in both, or drop one."
        )
    ],
    ("mailboxes: [a@a.example]", "forwarders: [{name: a@a.example, members: [b@b.example]}]"): [
        (
            "1: forwarders[0]: a@a.example can't be a forwarder, for it is a mailbox in "
            "mailboxes[0] (line 1, in 1.yml). Keep one of the two."
        )
    ],
    ("mailboxes: [b@a.example]", "mailboxes: [{name: a@a.example, aliases: [B@a.example]}]"): [
        (
            "1: mailboxes[0].aliases[0]: B@a.example is the primary address of a mailbox, declared "
            "in mailboxes[0] (line 1, in 1.yml). An address can be in one place only: drop it in "
            "one of the two."
        )
    ],
}


def read(folder: Path, *texts: str) -> Definition:
    """Read texts as files 1.yml, 2.yml and so on."""
    sources = []
    for number, text in enumerate(texts, 1):
        (folder / f"{number}.yml").write_text(text, encoding="utf-8")
        sources.append(load(str(folder / f"{number}.yml")))
    return read_definition(sources, NOW)


def inline(**lists: Any) -> Definition:
    """Read the options of a task."""
    return read_definition([Source(None, lists)], NOW)


def findings(folder: Path, *texts: str) -> list[str]:
    """Return what is said of files, without the folder."""
    with pytest.raises(InvalidDefinition) as caught:
        read(folder, *texts)
    found = [str(finding) for finding in caught.value.findings]
    assert "hunter2" not in str(caught.value)
    assert len(caught.value.details["problems"]) == len(found)
    return [text.replace(f"{folder}/", "") for text in found]


@pytest.mark.parametrize("text", ONE_FILE, ids=lambda text: text[:30])
def test_what_is_wrong_with_a_file_is_told(text: str, tmp_path: Path) -> None:
    """All of it, in order, with line, place, reason and remedy."""
    assert findings(tmp_path, text) == [f"1.yml:{finding}" for finding in ONE_FILE[text]]


@pytest.mark.parametrize("texts", TWO_FILES, ids=lambda texts: texts[1][:40])
def test_what_contradicts_another_file_is_told(texts: tuple[str, str], tmp_path: Path) -> None:
    """Both places are named."""
    assert findings(tmp_path, *texts) == [f"2.yml:{finding}" for finding in TWO_FILES[texts]]


def test_what_is_wrong_with_options_is_told_without_a_file() -> None:
    """A number is one there, and the other place is in the options of the task."""
    with pytest.raises(InvalidDefinition) as caught:
        inline(mailboxes=[5, "a@a.example", "A@a.example"])
    assert str(caught.value).splitlines() == [
        "There are 2 problems; nothing was changed.",
        (
            "1. mailboxes[0]: A mailbox is needed here, not a number. Write alice@example.com, or "
            "a mapping with the key name."
        ),
        (
            "2. mailboxes[2]: A@a.example is the same as a@a.example, which is declared in "
            "mailboxes[1]. Keep one of the two."
        ),
    ]


def test_a_contradiction_of_options_and_file_names_both(tmp_path: Path) -> None:
    """Whichever of the two comes first."""
    (tmp_path / "1.yml").write_text("domains: [a.example]")
    absent = Source(None, {"domains": [{"name": "a.example", "state": "absent"}]})
    with pytest.raises(InvalidDefinition, match=r"present in domains\[0\] \(line 1, in .*1.yml\)"):
        read_definition([load(str(tmp_path / "1.yml")), absent], NOW)
    with pytest.raises(InvalidDefinition, match=r"in domains\[0\] \(in the options of the task\)"):
        read_definition([absent, load(str(tmp_path / "1.yml"))], NOW)


def test_a_place_is_told_as_data(tmp_path: Path) -> None:
    """The rows that a module returns."""
    with pytest.raises(InvalidDefinition) as caught:
        read(tmp_path, "mailboxes:\n- nmae: a@a.example\n- name: b@a.example")
    assert caught.value.details["problems"] == [
        {
            "file": str(tmp_path / "1.yml"),
            "line": 2,
            "where": "mailboxes[0].nmae",
            "text": "This key is not known. Did you mean name?",
        }
    ]


def test_the_key_of_a_schema_is_let_pass(tmp_path: Path) -> None:
    """At the top, where editors look for it."""
    assert read(tmp_path, "$schema: https://schema.example\n") == Definition({}, {})
    [finding] = findings(tmp_path, "domains: [{name: a.example, $schema: x}]")
    assert "This key is not known" in finding
