# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Names compare normalised and are shown as they were written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.postroom.email.plugins.module_utils._api.errors import InvalidInput
from ansible_collections.postroom.email.plugins.module_utils._api.names import (
    parse_address,
    parse_domain,
    read_name,
)

DOMAINS = {
    "example.com": "example.com",
    "Example.COM": "example.com",
    "example.com.": "example.com",
    "  example.com\n": "example.com",
    "bücher.example": "xn--bcher-kva.example",
    "BÜCHER.example": "xn--bcher-kva.example",
    "xn--bcher-kva.EXAMPLE": "xn--bcher-kva.example",
    "straße.example": "xn--strae-oqa.example",
    "例え。テスト": "xn--r8jz45g.xn--zckzah",
    "a.b.c.d.example": "a.b.c.d.example",
    "1and1.example": "1and1.example",
    f"{'a' * 63}.example": f"{'a' * 63}.example",
}

NO_DOMAINS = [
    "", ".", "localhost", "a..b", ".example.com", "example.com..", "-a.example", "a-.example",
    "under_score.example", "exam ple.com", "https://example.com", "example.com/path",
    "alice@example.com", "*.example.com", f"{'a' * 64}.example", f"{'abcdefg.' * 32}example",
    "ex\x00ample.com", "exa\u200bmple\uff0f.com", "\u0338.example", "a\u3002\u3002b",
]  # fmt: skip

ADDRESSES = {
    "alice@example.com": "alice@example.com",
    "Alice.B@Example.COM": "alice.b@example.com",
    "alice@bücher.example": "alice@xn--bcher-kva.example",
    "a+tag@example.com": "a+tag@example.com",
    "o'neil@example.com": "o'neil@example.com",
    "a/b=c@example.com": "a/b=c@example.com",
    " alice@example.com ": "alice@example.com",
    f"{'a' * 64}@example.com": f"{'a' * 64}@example.com",
}

NO_ADDRESSES = [
    "", "alice", "@example.com", "alice@", "alice@localhost", "a b@example.com", "a@b@example.com",
    ".a@example.com", "a.@example.com", "a..b@example.com", '"a b"@example.com', "ä@example.com",
    "a,b@example.com", "a\x00@example.com", f"{'a' * 65}@example.com", "Al <al@example.com>",
    f"{'a' * 64}@{'abcdefg.' * 26}example",
]  # fmt: skip


@pytest.mark.parametrize("text", DOMAINS)
def test_a_domain_has_one_key(text: str) -> None:
    """Case, the dot at the end, U-labels and A-labels make no difference; the spelling stays."""
    name = parse_domain(text)
    assert name.key == DOMAINS[text]
    assert str(name) == text.strip().removesuffix(".")
    assert parse_domain(name.key) == name == read_name(text) == name.domain


@pytest.mark.parametrize("text", NO_DOMAINS)
def test_what_is_no_domain_is_refused(text: str) -> None:
    """One sentence that names the option and the text."""
    with pytest.raises(InvalidInput) as caught:
        parse_domain(text, "domains")
    assert str(caught.value).startswith(f"domains: {text!r} is not a domain name.")


@pytest.mark.parametrize("text", ADDRESSES)
def test_an_address_has_one_key(text: str) -> None:
    """The local part is lower-cased, the domain as domains are."""
    name = parse_address(text)
    assert name.key == ADDRESSES[text]
    assert str(name) == text.strip()
    assert parse_address(name.key) == name == read_name(text)
    assert name.domain == parse_domain(text.strip().rpartition("@")[2])


@pytest.mark.parametrize("text", NO_ADDRESSES)
def test_what_is_no_address_is_refused(text: str) -> None:
    """One sentence that names the option."""
    with pytest.raises(InvalidInput, match=r"^aliases: "):
        parse_address(text, "aliases")


@pytest.mark.parametrize("text", ["", "@", "a@", "team", "Some Role", "a@b@c", "x" * 999, "ü@ü..ü"])
def test_any_answer_can_be_read(text: str) -> None:
    """What a service calls its things is never refused, and equals itself."""
    assert read_name(text) == read_name(text.upper()) == read_name(read_name(text).key)


LABELS = st.from_regex(r"[a-z0-9]([a-z0-9-]{0,10}[a-z0-9])?", fullmatch=True).filter(
    lambda label: label[2:4] != "--"
)
LETTERS = st.text("abcdeöüßéñøłčβдж", min_size=1, max_size=10)
HOSTS = st.lists(LABELS | LETTERS, min_size=1, max_size=3).map(
    lambda labels: ".".join([*labels, "example"])
)
LOCALS = st.from_regex(r"[A-Za-z0-9_+/=%-]+(\.[A-Za-z0-9_+-]+)?", fullmatch=True).filter(
    lambda local: len(local) <= 64
)
CASES = st.sampled_from([str.lower, str.upper, str.title, str.swapcase, str])


@given(HOSTS)
def test_normalising_is_idempotent(text: str) -> None:
    """The key of a key is the key, for both readers and in every case."""
    name = parse_domain(text)
    assert parse_domain(name.key).key == read_name(name.key).key == name.key
    assert name.key.isascii()
    assert name.key == name.key.lower()


@given(LOCALS, HOSTS, CASES)
def test_the_case_of_an_address_makes_no_difference(
    local: str, host: str, spell: type[str]
) -> None:
    """In either part; the sharp s aside, whose capitals are two letters."""
    host = host.replace("ß", "s")
    one, other = parse_address(f"{local}@{host}"), parse_address(spell(f"{local}@{host}"))
    assert one == other
    assert hash(one) == hash(other)
    assert {one, other} == {one}


@given(st.text(max_size=60))
def test_nothing_crashes_a_parser(text: str) -> None:
    """A text is a name or is refused, and what a service says is always read."""
    for parse in (parse_domain, parse_address):
        try:
            name = parse(text)
        except InvalidInput:
            continue
        assert parse(name.key) == name
    assert read_name(text).key == read_name(text).key.lower()
