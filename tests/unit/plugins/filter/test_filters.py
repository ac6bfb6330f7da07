# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The filters: what they return, and what they say of what they cannot take."""

from __future__ import annotations

import copy
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest
import yaml
from ansible.errors import AnsibleFilterError
from ansible.utils.display import Display
from jinja2 import StrictUndefined
from jinja2.exceptions import UndefinedError

from ansible_collections.postroom.email.plugins.filter import (
    name_key,
    password_map,
    record_sets,
    records_for,
    spf_merge,
    survey_spec,
    txt_strings,
    zone_text,
)
from ansible_collections.postroom.email.plugins.module_utils._api.records.shapes import PROVIDERS
from ansible_collections.postroom.email.tests.support.recordsets import (
    DOMAIN,
    KEY,
    SELECTOR,
    SPF,
    key,
    neutral,
)

MODULES = (
    name_key, password_map, record_sets, records_for, spf_merge, survey_spec, txt_strings, zone_text
)  # fmt: skip
MERGED = "v=spf1 mx include:spf.example.net ~all"
CURRENT: list[dict[str, Any]] = [
    {"name": "Example.com.", "type": "MX", "ttl": "60", "value": ["20 MX.other.example."]},
    {"record": DOMAIN, "type": "TXT", "ttl": 60, "value": ["a note", '"v=spf1 mx " "~all"']},
    {},
]


def filters() -> dict[str, Callable[..., Any]]:
    """Return all filters, by name."""
    return {
        name: function
        for module in MODULES
        for name, function in module.FilterModule().filters().items()
    }


FILTERS = filters()


@pytest.fixture(autouse=True)
def warned(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Collect what is warned of."""
    warnings: list[str] = []
    monkeypatch.setattr(Display, "warning", lambda self, text, *args, **more: warnings.append(text))
    return warnings


def work_in(current: Any = (), state: str = "present") -> list[dict[str, Any]]:
    """Return the record sets to write."""
    rows: list[dict[str, Any]] = FILTERS["record_sets"](neutral(), current, state)
    return rows


def test_record_sets_are_created_whole() -> None:
    """In the order of the records, ready to be written."""
    rows = work_in()
    assert [(row["name"], row["type"], row["action"]) for row in rows] == [
        (DOMAIN, "MX", "create"),
        (DOMAIN, "TXT", "create"),
        (SELECTOR, "TXT", "create"),
    ]
    assert rows[0] == {
        "name": DOMAIN, "type": "MX", "ttl": 3600, "value": ["10 mail.example.net."],
        "action": "create", "reason": "it lacks the mail server mail.example.net (priority 10)",
        "before": None,
    }  # fmt: skip


def test_what_is_there_stays_as_it_was_written() -> None:
    """The service's records come beside it, and the SPF record is merged."""
    servers, notes, _key = work_in(CURRENT)
    assert servers["value"] == ["20 MX.other.example.", "10 mail.example.net."]
    assert servers["ttl"] == 60
    assert servers["before"] == {"ttl": 60, "value": ["20 MX.other.example."]}
    assert notes["value"] == ['"a note"', f'"{MERGED}"']
    assert notes["action"] == "update"


def test_a_second_run_has_nothing_to_do() -> None:
    """And a third one withdraws, so that what was there before is left."""
    there = work_in(CURRENT)
    again = work_in(there)
    assert [row["action"] for row in again] == ["none"] * 3
    assert [row["value"] for row in again] == [row["value"] for row in there]
    assert FILTERS["records_for"](again, "nsupdate") == []
    servers, notes, selector = work_in(there, "absent")
    assert (servers["action"], servers["value"]) == ("update", ["20 MX.other.example."])
    assert (notes["action"], notes["value"]) == ("update", ['"a note"', '"v=spf1 mx ~all"'])
    assert (selector["action"], selector["value"]) == ("delete", [])


def test_input_is_left_alone() -> None:
    """What is passed may be somebody's variable."""
    records, current = neutral(), copy.deepcopy(CURRENT)
    rows = FILTERS["record_sets"](records, current)
    assert (records, current) == (neutral(), CURRENT)
    before = copy.deepcopy(rows)
    for provider in PROVIDERS:
        FILTERS["records_for"](rows, provider, DOMAIN)
    assert rows == before


def verified(*statuses: str, **more: Any) -> list[dict[str, Any]]:
    """Return what the service asks for, as the module returns it once it has looked."""
    looked = {"detail": "ns1 told nothing (no answer).", "servers": [], **more}
    records = zip(neutral(), statuses, strict=True)
    return [record | looked | {"status": status} for record, status in records]


@pytest.mark.parametrize("state", ["present", "absent"])
def test_what_nobody_told_is_not_overwritten(state: str) -> None:
    """It may hold records of others, which a whole set would replace."""
    with pytest.raises(AnsibleFilterError) as caught:
        FILTERS["record_sets"](verified("match", "unknown", "missing"), [], state)
    assert str(caught.value) == (
        "example.com TXT: what is there is not known. ns1 told nothing (no answer). Verify again "
        "once the name servers answer, for records of others could be lost."
    )


def test_what_servers_do_not_agree_on_is_not_overwritten() -> None:
    """Out of what an old and a new one hold, no record set can be made."""
    held = {"ns1": ["a", "b"], "ns2": ["b", "a"], "ns3": ["c"], "ns4": []}
    servers = [{"server": s, "status": "conflict", "found": f} for s, f in held.items()]
    silent = {"server": "ns5", "status": "unknown", "found": []}
    with pytest.raises(AnsibleFilterError) as caught:
        FILTERS["record_sets"](verified("match", "conflict", "match", servers=servers))
    assert str(caught.value).startswith(
        "example.com MX: the name servers do not agree on what is there: ns3 has other records "
        "than ns1. Verify again once they do. example.com TXT: the"
    )
    agreeing = [*servers[:2], silent]
    rows = FILTERS["record_sets"](verified("missing", "missing", "missing", servers=agreeing))
    assert {row["action"] for row in rows} == {"create"}


def test_an_alias_of_the_right_key_stays() -> None:
    """It was verified that it leads there; otherwise it is in the way."""
    alias = [{"name": SELECTOR, "type": "CNAME", "value": ["keys.example.net."]}]
    rows = FILTERS["record_sets"](verified("missing", "missing", "match"), alias)
    assert [row["action"] for row in rows] == ["create", "create", "none"]
    assert len(FILTERS["records_for"](rows, "nsupdate")) == 2
    with pytest.raises(AnsibleFilterError, match="is an alias"):
        FILTERS["record_sets"](verified("missing", "missing", "conflict"), alias)


def test_escapes_of_route53_go_out_as_they_came() -> None:
    """In between they are as in a zone file."""
    there = [{"name": DOMAIN, "type": "TXT", "value": [r'"caf\303\251"']}]
    rows = FILTERS["record_sets"](neutral(), there, escapes="octal")
    assert rows[1]["value"][0] == r'"caf\195\169"'
    calls = FILTERS["records_for"](rows, "route53")
    assert calls[1]["value"][0] == r'"caf\303\251"'


def test_comments_stay_with_their_records() -> None:
    """And are left out where there are none."""
    records = [{"value": "20 mx.other.example.", "comment": "until May"}]
    there = [{"name": DOMAIN, "type": "MX", "records": records}]
    servers, notes, _key = work_in(there)
    assert servers["comments"] == ["until May", None]
    assert servers["before"]["comments"] == ["until May"]
    assert "comments" not in notes


def test_mail_servers_of_others_are_warned_of(warned: list[str]) -> None:
    """As a task's warning."""
    work_in(CURRENT)
    (warning,) = warned
    assert warning.startswith("example.com MX: mx.other.example (priority 20) is kept")


def test_providers_get_their_options() -> None:
    """Keys arrive as strings in quotes that together are the key."""
    rows = FILTERS["record_sets"](neutral(4096))
    (options,) = FILTERS["records_for"](rows[2:], "route53", zone=DOMAIN)
    (value,) = options["value"]
    assert "".join(value.strip('"').split('" "')) == key(4096)


def test_spf_records_are_merged() -> None:
    """Out of a list or of one text, bare or in quotes."""
    merge = FILTERS["spf_merge"]
    assert merge(["a note", '"v=spf1 mx " "~all"'], SPF) == MERGED
    assert merge("v=spf1 mx ~all", f'"{SPF}"') == MERGED
    assert merge([], SPF) == SPF


def test_texts_are_cut_into_strings() -> None:
    """Of at most 255 bytes; quotes are read first."""
    strings = FILTERS["txt_strings"](KEY)
    assert "".join(strings) == KEY
    assert [len(string) for string in strings] == [255, len(KEY) - 255]
    assert FILTERS["txt_strings"]('"one" "two"') == ["onetwo"]


def test_zone_text_takes_records_and_record_sets() -> None:
    """They come to the same lines."""
    text = FILTERS["zone_text"]
    lines = text(neutral()).splitlines()
    assert lines[0].split() == ["example.com.", "3600", "IN", "MX", "10", "mail.example.net."]
    assert text(work_in()).splitlines() == lines
    assert text([{"name": "a.b", "type": "TXT", "value": ["x"]}], ttl=5) == 'a.b. 5 IN TXT "x"\n'


@pytest.mark.parametrize(
    ("name", "args", "sentence"),
    [
        ("spf_merge", (5, SPF),
         "input: this is neither a text nor a list of texts. Give one of them."),
        ("spf_merge", (["a", 7], SPF), "input, item 2: this is no text. Give a text."),
        ("spf_merge", ([],),
         ("spf_merge: missing a required argument: 'wanted'. See its arguments: ansible-doc -t "
          "filter postroom.email.spf_merge")),
        ("spf_merge", ([], SPF, 7), "spf_merge: too many positional arguments. See its"),
        ("spf_merge", ([], None), "wanted: this is no text. Give a text."),
        ("spf_merge", (["v=spf1 a", "v=spf1 mx"], SPF), "There are 2 SPF records"),
        ("survey_spec", ("options: {}",), "The argument file: this is no mapping."),
        ("txt_strings", (["x"],), "input: this is no text. Give a text."),
        ("zone_text", (7,), "input: this is no list. Give a list."),
        ("zone_text", ([], "1h"), "option ttl: ttl is '1h'. Give a number of seconds."),
        ("record_sets", (None,), "input: this is no list. Give a list."),
        ("record_sets", ("x",), "input: this is no list. Give a list."),
        ("record_sets", (neutral(), "x"), "current: this is no list. Give a list."),
        ("record_sets", (neutral(), [{}, "x"]),
         "current, item 2: this is no mapping. Give name, type and values."),
        ("record_sets", ([], [], "gone"), "state: 'gone' is not known. Give present or absent."),
        ("record_sets", ([], [], "absent", "hex"),
         "escapes: 'hex' is not known. Give decimal or octal."),
        ("record_sets", (neutral(), [{"name": DOMAIN, "type": "CNAME", "value": "a.b."}]),
         "example.com: the name is an alias (CNAME) of a.b"),
        ("record_sets", (neutral(), [{"name": DOMAIN, "type": "MX", "value": "0 ."}]),
         "example.com MX: a null MX record (0 .) says that the domain takes no mail."),
        ("records_for", (neutral(), "route53"),
         ("input, item 1: it has no action, so it does not come from record_sets. Pass the "
          "records through record_sets first.")),
        ("records_for", ([], "bind"), "provider: 'bind' is not known. Give one of cloudflare"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_told_in_a_sentence(
    name: str, args: tuple[Any, ...], sentence: str
) -> None:
    """As an error of the filter, without a trace of our own errors."""
    with pytest.raises(AnsibleFilterError) as caught:
        FILTERS[name](*args)
    assert str(caught.value).startswith(sentence)


@pytest.mark.parametrize("name", FILTERS)
def test_an_undefined_variable_is_named(name: str) -> None:
    """Up to ansible-core 2.18 filters get it."""
    with pytest.raises(UndefinedError, match="'nope' is undefined"):
        FILTERS[name](StrictUndefined(name="nope"), "nsupdate")


@pytest.mark.parametrize("module", MODULES)
def test_filters_are_documented(module: ModuleType) -> None:
    """Under their names, with the options that they have."""
    documented = yaml.safe_load(module.DOCUMENTATION)
    (name,) = module.FilterModule().filters()
    assert documented["name"] == name
    function = FILTERS[name].__wrapped__  # type: ignore[attr-defined]
    count = function.__code__.co_argcount
    options = [option for option in documented["options"] if option != "_input"]
    assert options == list(function.__code__.co_varnames[1:count])


def test_all_providers_are_documented() -> None:
    """They are the choices."""
    provider = yaml.safe_load(records_for.DOCUMENTATION)["options"]["provider"]
    assert provider["choices"] == list(PROVIDERS)
