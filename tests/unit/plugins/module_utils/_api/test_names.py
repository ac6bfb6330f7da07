# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Names, addresses and name servers as users write them, and edits of lists."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.postroom.email.plugins.module_utils._api.dns import resolver
from ansible_collections.postroom.email.plugins.module_utils._api.dns.query import (
    Server,
    random_names,
)
from ansible_collections.postroom.email.plugins.module_utils._api.dns.update import TsigKey
from ansible_collections.postroom.email.plugins.module_utils._api.errors import InvalidInput
from ansible_collections.postroom.email.plugins.module_utils._api.models import (
    Edit,
    Forwarder,
    Mailbox,
)
from ansible_collections.postroom.email.plugins.module_utils._api.names import (
    parse_address,
    parse_domain,
    read_name,
)

DOMAINS = {
    "  Example.COM.\n": "example.com",
    "bücher.example": "xn--bcher-kva.example",
    "BÜCHER.example": "xn--bcher-kva.example",
    "xn--bcher-kva.EXAMPLE": "xn--bcher-kva.example",
    "straße.example": "xn--strae-oqa.example",
    "例え。テスト": "xn--r8jz45g.xn--zckzah",
    "1and1.example": "1and1.example",
    f"{'a' * 63}.example": f"{'a' * 63}.example",
}

NOT_DOMAINS = [
    *("", ".", "localhost", "a..b", ".example.com", "example.com..", "-a.example", "a-.example"),
    *("under_score.example", "exam ple.com", "https://example.com", "alice@example.com"),
    *("192.0.2.1", "*.example.com", f"{'a' * 64}.example", f"{'abcdefg.' * 32}example"),
    *("ex\x00ample.com", "exa\u200bmple\uff0f.com", "\u0338.example", "a\u3002\u3002b"),
]

ADDRESSES = {
    " Alice.B@Example.COM ": "alice.b@example.com",
    "alice@bücher.example": "alice@xn--bcher-kva.example",
    "o'neil+a/b=c@example.com": "o'neil+a/b=c@example.com",
    f"{'a' * 64}@example.com": f"{'a' * 64}@example.com",
}

NOT_ADDRESSES = [
    *("alice", "@example.com", "alice@localhost", "a b@example.com", "a@b@example.com"),
    *(".a@example.com", "a.@example.com", "a..b@example.com", "ä@example.com", "\u212a@a.example"),
    *(f"{'a' * 65}@example.com", "Al <al@example.com>", f"{'a' * 64}@{'abcdefg.' * 26}example"),
]


@pytest.mark.parametrize("text", DOMAINS)
def test_a_domain_has_one_key(text: str) -> None:
    """All spellings of a domain have the same key, and each name keeps its spelling."""
    name = parse_domain(text)
    assert name.key == DOMAINS[text]
    assert str(name) == text.strip().removesuffix(".")
    assert parse_domain(name.key) == name == read_name(text) == name.domain


@pytest.mark.parametrize("text", NOT_DOMAINS)
def test_an_invalid_domain_is_refused(text: str) -> None:
    """The error for an invalid domain names the option and quotes the text."""
    with pytest.raises(InvalidInput) as caught:
        parse_domain(text, "domains")
    assert str(caught.value).startswith("domains: ")
    assert repr(text)[:50] in str(caught.value)


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        (f"{'a' * 64}.example", "has more than 63 characters"),
        (f"{'abcdefg.' * 32}example", "has more than 253 characters"),
        ("a..example", "two in a row"),
        ("localhost", "has no dot"),
        ("a.1", "ends with a number"),
        ("-a.example", "its label '-a'"),
        ("a_b.example", "its label 'a_b' has characters other than letters"),
        ("example.münchen_x.de", "IDNA 2008 does not allow its label 'münchen_x'"),
        ("xn--53h.us", "IDNA 2008 does not allow its label 'xn--53h'"),
        ("a@b.example", "looks like an email address"),
    ],
)
def test_the_broken_rule_of_a_domain_is_named(text: str, rule: str) -> None:
    """The error for an invalid domain names the rule that it breaks, even within an address."""
    with pytest.raises(InvalidInput, match=rule):
        parse_domain(text)
    if "@" not in text:
        with pytest.raises(InvalidInput, match=rule):
            parse_address(f"alice@{text}")


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("alice", "has no @"),
        ("@a.example", "nothing before the @"),
        ("a@b@c.example", "more than one @"),
        (f"{'a' * 65}@a.example", "65 characters before the @"),
        ("a..b@a.example", "a dot can't be first"),
        ("a b@a.example", "' ' is not one of the ASCII"),
    ],
)
def test_the_broken_rule_of_an_address_is_named(text: str, rule: str) -> None:
    """The error for an invalid address names the rule that it breaks."""
    with pytest.raises(InvalidInput, match=rule):
        parse_address(text)


@pytest.mark.parametrize("text", ADDRESSES)
def test_an_address_has_one_key(text: str) -> None:
    """All spellings of an address have the same lower-case key with a normalized domain."""
    name = parse_address(text)
    assert name.key == ADDRESSES[text]
    assert str(name) == text.strip()
    assert parse_address(name.key) == name == read_name(text)
    assert name.domain == parse_domain(text.strip().rpartition("@")[2])


@pytest.mark.parametrize("text", NOT_ADDRESSES)
def test_an_invalid_address_is_refused(text: str) -> None:
    """The error for an invalid address names the option."""
    with pytest.raises(InvalidInput, match=r"^aliases: "):
        parse_address(text, "aliases")


@settings(max_examples=50)
@given(st.text(max_size=60) | st.from_regex(r"[A-Za-z0-9.+-]{1,9}@[a-zéöß-]{1,9}\.example"))
def test_normalising_is_idempotent_and_never_crashes(text: str) -> None:
    """Any text is refused or has a lower-case key, and normalizing that key changes nothing."""
    for parse in (parse_domain, parse_address):
        try:
            name = parse(text)
        except InvalidInput:
            continue
        assert parse(name.key) == name
        assert hash(parse(name.key)) == hash(name)
        assert name.key == name.key.lower()
        assert name.key.isascii()
    assert read_name(text).key == read_name(text).key.lower()


ME = parse_address("me@example.com")
POOL = [parse_address(f"{letter}@example.com") for letter in "abcdefgh"]


def test_an_edit_is_idempotent() -> None:
    """Repeating an edit changes nothing, and an edit keeps all other aliases and members."""
    a, b, c = (frozenset({name}) for name in POOL[:3])
    edit = Edit(add_aliases=a, remove_aliases=b, add_members=b, remove_members=a)
    before, after = Forwarder(ME, b | c, a | c), Forwarder(ME, a | c, b | c)
    assert edit.applied_to(before) == edit.applied_to(after) == after
    assert edit.applied_to(Mailbox(ME, b)) == Mailbox(ME, a)


HOME, OTHER = parse_domain("example.com"), parse_domain("example.com.au")
SALES = parse_address("sales@example.com.au")
BOX = Mailbox(ME, frozenset({SALES}))


CANARY = "Y2FuYXJ5LXRzaWctc2VjcmV0LTc3MTE="

SERVERS = {
    "ns1.example.net": Server("ns1.example.net", ""),
    " NS1.Example.NET. ": Server("ns1.example.net", ""),
    "ns1.example.net:5353": Server("ns1.example.net", "", 5353),
    "localhost": Server("localhost", ""),
    "192.0.2.1:5353": Server("", "192.0.2.1", 5353),
    "2001:db8::1": Server("", "2001:db8::1"),
    "[2001:db8::1]:5353": Server("", "2001:db8::1", 5353),
    "fe80::1%eth0": Server("", "fe80::1%eth0"),
}


@pytest.mark.parametrize("text", SERVERS)
def test_servers_as_people_write_them(text: str) -> None:
    """A name server can be given as a host or an address, with an optional port."""
    assert resolver.parse_server(text, "nameservers") == SERVERS[text]


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            ".",
            "ns1..example.net",
            "-ns1.example.net",
            "ns1.example.net:",
            "a" * 64 + ".example",
        ),
        *("ns1.example.net:0", "ns1.example.net:65536", "ns1.example.net:domain"),
        *("https://ns1.example.net", "192.0.2.1:53:53", "[192.0.2.1]:53", "[2001:db8::1"),
        *(
            "[2001:db8::1]53",
            "2001:db8::1:::53",
            "m\u00fcller.example",
            ".".join(["abcdefghi"] * 26),
        ),
    ],
)
def test_an_invalid_server_is_refused(text: str) -> None:
    """The error for an invalid server names the option and the value."""
    with pytest.raises(InvalidInput) as caught:
        resolver.parse_server(text, "nameservers")
    assert str(caught.value).startswith(f"nameservers: {text!r} is not a name server")


def test_resolvers_are_addresses() -> None:
    """A resolver must be given as an address, because looking up its name would need a resolver."""
    for text, server in (
        ("192.0.2.1:5353", Server("", "192.0.2.1", 5353)),
        ("::1", Server("", "::1")),
    ):
        assert resolver.parse_server(text, "resolvers", is_resolver=True) == server
    assert str(Server("", "::1", 5353)) == "[::1]:5353"


def test_the_resolvers_of_the_system(tmp_path: Path) -> None:
    """The system's resolvers, if there are any, are read from its file in order."""
    path = tmp_path / "resolv.conf"
    assert resolver.system_resolvers(str(path)) == ()
    path.write_text("search example.com\nnameserver dns.example\n")
    assert resolver.system_resolvers(str(path)) == ()
    path.write_text("search example.com\nnameserver 192.0.2.1\nnameserver ::1\n")
    assert resolver.system_resolvers(str(path)) == (Server("", "192.0.2.1"), Server("", "::1"))


@pytest.mark.parametrize("length", [1, 240, 241])
def test_names_that_are_not_there(length: int) -> None:
    """Random names are generated below a name and next to it, and are valid in DNS."""
    parent = ".".join(["a" * 63] * 3 + ["a" * (length - 192)]) if length > 1 else "test"
    name = f"own.{parent}"
    below, beside = random_names(name)

    assert below.endswith(name if length == 1 else parent)
    assert beside.endswith(f".{parent}")
    assert name not in (below, beside)
    assert max(len(below), len(beside)) <= 253
    assert random_names(name) != (below, beside)


WRONG_KEYS = {
    "an empty label": (("a..b", CANARY), "tsig_name: 'a..b' can't be the name of a key."),
    "no secret": (("mail", ""), "tsig_secret: it is not base64."),
    "no base64": (("mail", f"{CANARY}!"), "tsig_secret: it is not base64."),
}


@pytest.mark.parametrize(("parts", "message"), WRONG_KEYS.values(), ids=WRONG_KEYS)
def test_a_key_hides_its_secret(parts: tuple[str, ...], message: str) -> None:
    """Neither a key nor the error for an invalid key reveals the secret."""
    with pytest.raises(InvalidInput) as caught:
        TsigKey(*parts)
    assert message in str(caught.value)
    assert CANARY[:-2] not in f"{caught.value!r} {caught.value.__context__!r}"
    key = TsigKey("mail.example.com", CANARY)
    assert "mail.example.com" in repr(key)
    assert CANARY not in f"{key!r} {key}"
