# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The results and errors of the filters."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from ansible.errors import AnsibleFilterError
from ansible.utils.display import Display
from jinja2 import StrictUndefined
from jinja2.exceptions import UndefinedError

from ansible_collections.postroom.email.plugins.filter import (
    name_key,
    password_map,
    record_sets,
    spf_merge,
    survey_spec,
    txt_strings,
    zone_text,
)
from ansible_collections.postroom.email.plugins.module_utils._api.errors import Refused
from ansible_collections.postroom.email.tests.support.recordsets import (
    DOMAIN,
    KEY,
    SELECTOR,
    SPF,
    neutral,
)

pytestmark = pytest.mark.matrix
MODULES = (
    name_key,
    password_map,
    record_sets,
    spf_merge,
    survey_spec,
    txt_strings,
    zone_text,
)
MERGED = "v=spf1 mx include:spf.example.net ~all"
CURRENT: list[dict[str, Any]] = [
    {"name": "Example.com.", "type": "MX", "ttl": "60", "value": ["20 MX.other.example."]},
    {"record": DOMAIN, "type": "TXT", "ttl": 60, "value": ["a note", '"v=spf1 mx " "~all"']},
    {},
]


#: The filters, keyed by name.
FILTERS: dict[str, Callable[..., Any]] = {
    name: function
    for module in MODULES
    for name, function in module.FilterModule().filters().items()
}


@pytest.fixture(autouse=True)
def warned(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Provide a list that collects warnings."""
    warnings: list[str] = []
    monkeypatch.setattr(Display, "warning", lambda self, text, *args, **more: warnings.append(text))
    return warnings


def work_in(current: Any = (), state: str = "present") -> list[dict[str, Any]]:
    """Return the record sets to write."""
    # No resolver answers at this address.
    resolvers = ["127.0.0.1:1"]
    rows: list[dict[str, Any]] = FILTERS["record_sets"](
        neutral(), current, state, resolvers=resolvers
    )
    return rows


def test_record_sets_are_merged_and_withdrawn(warned: list[str]) -> None:
    """The service's records are merged with other clients' records, and later withdrawn."""
    (created,) = [row for row in work_in() if row["type"] == "MX"]
    assert created == {
        "name": DOMAIN,
        "type": "MX",
        "ttl": 3600,
        "value": ["10 mail.example.net."],
        "action": "create",
        "reason": "it lacks the mail server mail.example.net (priority 10)",
        "before": None,
    }
    there = work_in(CURRENT)
    assert warned[0].startswith("example.com MX: the record for mx.other.example (priority 20)")
    servers, notes, _key = there
    assert servers["value"] == ["20 MX.other.example.", "10 mail.example.net."]
    assert servers["before"] == {"ttl": 60, "value": ["20 MX.other.example."]}
    assert (notes["action"], notes["value"]) == ("update", ['"a note"', f'"{MERGED}"'])
    again = work_in(there)
    assert [row["action"] for row in again] == ["none"] * 3
    assert [row["value"] for row in again] == [row["value"] for row in there]
    servers, notes, selector = work_in(there, "absent")
    assert (servers["action"], servers["value"]) == ("update", ["20 MX.other.example."])
    assert (notes["action"], notes["value"]) == ("update", ['"a note"', '"v=spf1 mx ~all"'])
    assert (selector["action"], selector["value"]) == ("delete", [])


def verified(*statuses: str, **more: Any) -> list[dict[str, Any]]:
    """Return the service's records as the module returns them after verification."""
    looked = {"detail": "ns1 sent nothing (no answer).", "servers": [], **more}
    records = zip(neutral(), statuses, strict=True)
    return [record | looked | {"status": status} for record, status in records]


@pytest.mark.parametrize("state", ["present", "absent"])
def test_what_nobody_told_is_not_overwritten(state: str) -> None:
    """An unknown record set is not overwritten, because it may contain other clients' records."""
    with pytest.raises(AnsibleFilterError) as caught:
        FILTERS["record_sets"](verified("match", "unknown", "missing"), [], state)
    assert str(caught.value).startswith(
        "example.com TXT: the current records are not known. ns1 sent"
    )


def test_what_servers_do_not_agree_on_is_not_overwritten() -> None:
    """If name servers disagree about a record set, the set is not overwritten."""
    held = {"ns1": ["a", "b"], "ns2": ["b", "a"], "ns3": ["c"], "ns4": []}
    servers = [{"server": s, "status": "conflict", "found": f} for s, f in held.items()]
    silent = {"server": "ns5", "status": "unknown", "found": []}
    with pytest.raises(AnsibleFilterError) as caught:
        FILTERS["record_sets"](verified("match", "conflict", "match", servers=servers))
    assert "example.com MX: the name servers disagree" in str(caught.value)
    assert "ns3 and ns1 have different records" in str(caught.value)
    agreeing = [*servers[:2], silent]
    rows = FILTERS["record_sets"](verified("missing", "missing", "missing", servers=agreeing))
    assert {row["action"] for row in rows} == {"create"}


def test_doubtful_records_are_refused() -> None:
    """Record sets that are unknown or that differ between servers are refused."""

    def record(status: str, *servers: tuple[str, list[str]]) -> dict[str, Any]:
        found = [
            {"server": f"ns{place}", "status": one, "found": values}
            for place, (one, values) in enumerate(servers)
        ]
        found_by = {"fqdn": DOMAIN, "type": "TXT", "status": status, "detail": "SERVFAIL."}
        return found_by | {"servers": found}

    same = record("match", ("match", ["a", "b"]), ("match", ["b", "a"]), ("unknown", []))
    assert record_sets._verified_matches([same, {"fqdn": DOMAIN, "type": "MX"}]) == {
        (DOMAIN, "TXT")
    }
    for doubtful, words in (
        (record("unknown"), f"{DOMAIN} TXT: the current records are not known. SERVFAIL. Wri"),
        (record("match", ("match", ["a"]), ("match", ["b"])), "ns1 and ns0 have different"),
    ):
        with pytest.raises(Refused, match=words):
            record_sets._verified_matches([same, doubtful])
    mail = {"fqdn": DOMAIN, "type": "MX", "status": "match"}
    assert record_sets._verified_matches([same, record("missing"), mail]) == {(DOMAIN, "MX")}


def test_an_alias_of_the_right_key_stays() -> None:
    """An alias is kept if it leads to the right key. Otherwise, it causes an error."""
    alias = [{"name": SELECTOR, "type": "CNAME", "value": ["keys.example.net."]}]
    rows = FILTERS["record_sets"](verified("missing", "missing", "match"), alias)
    assert [row["action"] for row in rows] == ["create", "create", "none"]
    with pytest.raises(AnsibleFilterError, match=r"keys\.example\.net"):
        FILTERS["record_sets"](verified("missing", "missing", "conflict"), alias)


def test_texts_are_merged_split_and_shown() -> None:
    """The `spf_merge`, `txt_strings` and `zone_text` filters merge, split and format texts."""
    merge, strings, text = (FILTERS[name] for name in ("spf_merge", "txt_strings", "zone_text"))
    assert merge(["a note", '"v=spf1 mx " "~all"'], SPF) == MERGED
    assert merge("v=spf1 mx ~all", f'"{SPF}"') == MERGED
    assert merge([], SPF) == SPF
    assert strings(KEY) == [KEY[:255], KEY[255:]]
    assert strings('"one" "two"') == ["onetwo"]
    lines = text(neutral()).splitlines()
    assert lines[0].split() == ["example.com.", "3600", "IN", "MX", "10", "mail.example.net."]
    assert text(work_in()).splitlines() == lines
    assert text([{"name": "a.b", "type": "TXT", "value": ["x"]}], ttl=5) == 'a.b. 5 IN TXT "x"\n'


@pytest.mark.parametrize(
    ("name", "args", "words"),
    [
        ("spf_merge", (5, SPF), "input: this must be a list"),
        ("spf_merge", ([],), "spf_merge: missing a required argument: 'wanted'"),
        ("spf_merge", (["v=spf1 a", "v=spf1 mx"], SPF), "There are 2 SPF records"),
        ("txt_strings", (["x"],), "input: this must be a string"),
        ("zone_text", ([], "1h"), "option ttl: ttl is '1h'"),
        ("record_sets", (neutral(), [{}, "x"]), "current, item 2: this must be a mapping"),
        ("record_sets", ([], [], "gone"), "state: 'gone' is unknown"),
        ("record_sets", ([], [], "absent", "hex"), "escapes: 'hex' is unknown"),
    ],
)
def test_an_error_is_one_of_the_filter(name: str, args: tuple[Any, ...], words: str) -> None:
    """A filter's error message names the argument."""
    with pytest.raises(AnsibleFilterError) as caught:
        FILTERS[name](*args)
    assert str(caught.value).startswith(words)


@pytest.mark.parametrize("name", FILTERS)
def test_an_undefined_variable_is_named(name: str) -> None:
    """An undefined variable, which ansible-core 2.18 passes to filters, is reported by name."""
    with pytest.raises(UndefinedError, match="'nope' is undefined"):
        FILTERS[name](StrictUndefined(name="nope"), "powerdns")


ANN = "ann@xn--bcher-kva.example"
STRAY = "stray-secret-LIMA-9083"
NO_YAML = "passwords: This is not valid YAML"
NO_MAP = "passwords: This must be a map of addresses to passwords. For each mailbox, write a line"


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("Ann@Bücher.example", ANN),
        (f" {ANN.upper()}.", ANN),
        ("Example.COM", "example.com"),
        ('"Odd"@far.example', '"odd"@far.example'),
        ("", ""),
    ],
)
def test_a_name_has_one_spelling(name: str, key: str) -> None:
    """All spellings of a name have the same key, even if no definition could contain the name."""
    assert FILTERS["name_key"](name) == key
    with pytest.raises(AnsibleFilterError, match="the name must be a string"):
        FILTERS["name_key"]([name])


@pytest.mark.parametrize(
    "given",
    [
        {"Ann@Bücher.example": "a: b", "bob@one.example": ["1", "{{ 2 }}"]},
        'Ann@Bücher.example: "a: b"\nbob@one.example: [1, "{{ 2 }}"]\n',
        json.dumps({ANN: "a: b", "BOB@one.example": ["1", "{{ 2 }}"]}),
    ],
)
def test_passwords_are_read(given: Any) -> None:
    """Passwords are read from a map, YAML or JSON, and numbers are kept as written."""
    assert [FILTERS["password_map"](text) for text in ("", "\n# none yet\n", "{}")] == [{}] * 3
    assert FILTERS["password_map"](None) == FILTERS["password_map"]({}) == {}
    assert FILTERS["password_map"](given) == {ANN: ["a: b"], "bob@one.example": ["1", "{{ 2 }}"]}


class Encrypted:
    """A string with its own encryption, as ansible-core up to 2.18 represents it."""

    __ENCRYPTED__ = True

    def __init__(self, text: str = "plain") -> None:
        """Store the decrypted value."""
        self._text = text

    def __str__(self) -> str:
        """Decrypt the value."""
        return self._text


def test_passwords_may_be_encrypted() -> None:
    """Passwords may be encrypted individually, or all together as one string."""
    assert FILTERS["password_map"](Encrypted(f"{ANN}: plain")) == {ANN: ["plain"]}
    given = {ANN: Encrypted(), "bob@one.example": [Encrypted(), "too"]}
    assert FILTERS["password_map"](given) == {ANN: ["plain"], "bob@one.example": ["plain", "too"]}


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (f"{ANN}: !{STRAY}\n", f"{NO_YAML} (see line 1)."),
        (f"{ANN}: a\n{STRAY}: a\n\n{STRAY}: b\n", "passwords: A key occurs twice, on lines 2"),
        (STRAY, NO_MAP),
        (f"{STRAY}: {ANN}\n", "passwords: A key is not an email address. Write each entry as"),
        ({ANN: STRAY, "Ann@Bücher.example": STRAY}, "passwords: Ann@Bücher.example is the same"),
    ],
)
def test_nothing_of_what_is_wrong_is_shown(given: Any, sentence: str) -> None:
    """An error about passwords never shows any part of them."""
    with pytest.raises(AnsibleFilterError) as caught:
        FILTERS["password_map"](given)
    assert str(caught.value).startswith(sentence)
    assert STRAY not in str(caught.value)
    assert caught.value.__cause__ is None
