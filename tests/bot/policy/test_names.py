# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Addresses as the bot takes them, and names that are more than names."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom_bot.names import BadName, address, domain, domain_of, local_of
from postroom_bot.policy.names import RESERVED, disguised, is_reserved, is_sensitive


@pytest.mark.parametrize(
    ("typed", "key"),
    [
        ("Alice@Example.COM", "alice@example.com"),
        (" o'brien+x_1=y.z-1@example.com ", "o'brien+x_1=y.z-1@example.com"),
        ("alice@bücher.example", "alice@xn--bcher-kva.example"),
        ("alice@xn--bcher-kva.example.", "alice@xn--bcher-kva.example"),
    ],
)
def test_an_address_has_one_key(typed: str, key: str) -> None:
    """Case and the spelling of the domain do not matter, and a key is its own key."""
    assert address(typed) == address(key) == key


@pytest.mark.parametrize(
    "typed",
    [
        *("", "alice", "@example.com", "alice@", "alice@example", "a@b@example.com"),
        *("<mailto:alice@example.com|alice@example.com>", "<alice@example.com>", "a|b@example.com"),
        *('"a b"@example.com', "a b@example.com", "alice@exa mple.com", "{a}@example.com"),
        *("a`b@example.com", "a*@example.com", "a&b@example.com", "$a@example.com"),
        *("alice@example.com\n", "al\u200bice@example.com", "alice@exam\u200bple.com"),
        *("alice\u202e@example.com", "\uff41lice@example.com", "älice@example.com"),
        *("al\x00ice@example.com", "alice@example.com\u2028", "alice@-example.com", "\ud800@a.b"),
        *("alice@" + "a" * 250 + ".example", "a" * 65 + "@example.com", "a" * 100_000),
    ],
)
def test_what_is_no_address_is_refused(typed: str) -> None:
    """The sentence shows no sign that cannot be seen, and ends as a sentence."""
    with pytest.raises(BadName) as caught:
        address(typed)
    said = str(caught.value)
    assert said.endswith(".")
    assert said.isprintable()
    assert len(said) < 600


@given(st.text(max_size=400))
def test_any_text_is_taken_or_refused(typed: str) -> None:
    """What is taken is plain: ASCII, in lower case, one @ and no sign of markup."""
    for read in (address, domain):
        try:
            key = read(typed)
        except BadName:
            continue
        assert key.isascii()
        assert key == key.lower() == read(key)
        assert not set(key) & set('<>|&`*{}\\"!?;$ ')


def test_a_domain_has_one_key() -> None:
    """What is none is refused in a sentence."""
    assert domain("BÜCHER.example") == "xn--bcher-kva.example"
    with pytest.raises(BadName, match=r"is not a domain name\. Write it in full"):
        domain("http://example.com/")


def test_a_key_has_two_parts() -> None:
    """They are what stands around the @."""
    assert (local_of("a+b@example.com"), domain_of("a+b@example.com")) == ("a+b", "example.com")


@pytest.mark.parametrize(
    ("local", "name"),
    [
        ("Post.Master+news", "postmaster"),
        ("a_d-m.i'n", "admin"),
        ("+root", "root"),
        ("++", ""),
        ("sales", "sales"),
    ],
)
def test_a_disguise_is_taken_off(local: str, name: str) -> None:
    """Case, signs between letters and tags go."""
    assert disguised(local) == name


def test_what_certificate_authorities_mail_is_reserved() -> None:
    """The names that the CA/Browser Forum lists, and the ones that once worked."""
    listed = {"admin", "administrator", "webmaster", "hostmaster", "postmaster"}
    assert listed | {"root", "abuse", "ssladmin", "dmarc", "tlsrpt"} <= RESERVED
    assert all(disguised(name) == name for name in RESERVED)


def test_what_cannot_be_read_is_reserved() -> None:
    """Letters of another script, and nothing but signs, could be anything."""
    assert is_reserved("s\u0430les")
    assert is_reserved("...")


def test_a_policy_adds_names() -> None:
    """They are compared as the built-in ones are."""
    assert is_reserved("v.p.n+x", ["V-PN"])
    assert is_sensitive("vpn-team", ["V-PN"])
    assert is_sensitive("press-office", patterns=["press*"])
    assert not is_reserved("vpn")
    assert not is_sensitive("press-office")


@pytest.mark.parametrize(
    "local",
    [
        *("ceo", "the.ceo", "ceo2", "payroll", "hr-payroll", "invoices", "it-admin", "admin-team"),
        *("adm1n", "adrnin", "r00t", "p0stmaster", "vvebmaster", "postmaster1", "adm1n24"),
    ],
)
def test_what_is_believed_is_sensitive(local: str) -> None:
    """Also where it only looks like it, or is a word among others."""
    assert is_sensitive(local)
    assert not is_reserved(local)


@pytest.mark.parametrize(
    "local", ["alice", "sales", "info", "support", "ann.lee", "o'brien", "project-x", "m.smith2"]
)
def test_most_names_are_names(local: str) -> None:
    """People and departments are neither reserved nor sensitive."""
    assert not is_sensitive(local)
    assert not is_reserved(local)
