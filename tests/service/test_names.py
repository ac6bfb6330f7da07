# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The syntax and the normal form of names."""

from __future__ import annotations

import pytest

from postroom_service import names

DOMAINS = {
    "example.com": "example.com",
    "EXAMPLE.Com": "example.com",
    "a-b.c--d.example": "a-b.c--d.example",
    "bücher.example": "xn--bcher-kva.example",
    "BÜCHER.example": "xn--bcher-kva.example",
    "bu\u0308cher.example": "xn--bcher-kva.example",
    "XN--BCHER-KVA.example": "xn--bcher-kva.example",
    "faß.example": "xn--fa-hia.example",
    "例え.テスト": "xn--r8jz45g.xn--zckzah",
    "1.2.example": "1.2.example",
    "x" * 63 + ".example": "x" * 63 + ".example",
}

BAD_DOMAINS = [
    "",
    ".",
    "com",
    "example.com.",
    ".example.com",
    "example..com",
    "-a.example",
    "a-.example",
    "a_b.example",
    "a b.example",
    " example.com",
    "example.com\n",
    "exa\0mple.com",
    "*.example.com",
    "127.0.0.1",
    "a.b.42",
    "x" * 64 + ".example",
    ".".join(["x" * 50] * 6),
    "ü" * 60 + ".example",
    "xn--a.example",
    "xn--zzzzzz-.example",
    "ab--c.example",
    "a\u200db.example",
    "\u212aiwi.example",
    "\u212aüche.example",
    "☃.example",
    "example。com",
    "a/b.example",
    "é" * 10_000 + ".example",
]

ADDRESSES = {
    "ann@example.com": "ann@example.com",
    "Ann.B@EXAMPLE.com": "ann.b@example.com",
    "a+b=c/d?e@example.com": "a+b=c/d?e@example.com",
    "!#$%&'*+/=?^_`{|}~-@example.com": "!#$%&'*+/=?^_`{|}~-@example.com",
    "ann@bücher.example": "ann@xn--bcher-kva.example",
    "x" * 64 + "@example.com": "x" * 64 + "@example.com",
}

BAD_ADDRESSES = [
    "",
    "@",
    "ann",
    "ann@",
    "@example.com",
    "ann@com",
    ".ann@example.com",
    "ann.@example.com",
    "a..b@example.com",
    '"ann"@example.com',
    "an n@example.com",
    "ann@ example.com",
    "ann@example.com\n",
    "a@b@example.com",
    "änn@example.com",
    "\u212aim@example.com",
    "kim@\u212aiwi.example",
    "ann@[127.0.0.1]",
    "Ann <ann@example.com>",
    "a,b@example.com",
    "x" * 65 + "@example.com",
    "x" * 10 + "@" + ".".join(["y" * 60] * 4) + ".com",
]


@pytest.mark.parametrize(("text", "normal"), DOMAINS.items())
def test_domains_have_a_normal_form(text: str, normal: str) -> None:
    """A domain is folded to lower-case A-labels, and stays itself after that."""
    assert names.domain(text) == normal
    assert names.domain(normal) == normal


@pytest.mark.parametrize("text", BAD_DOMAINS)
def test_bad_domains_are_refused(text: str) -> None:
    """What isn't a mail domain is refused by a sentence that doesn't repeat it."""
    with pytest.raises(names.InvalidName) as caught:
        names.domain(text)
    assert str(caught.value).endswith(".")
    assert names.any_name(text) is None


@pytest.mark.parametrize(("text", "normal"), ADDRESSES.items())
def test_addresses_have_a_normal_form(text: str, normal: str) -> None:
    """An address is folded to lower case with its domain in normal form."""
    assert names.address(text) == normal
    assert names.address(normal) == normal
    assert names.any_name(text) == normal
    assert normal.endswith("@" + names.domain_of(normal))


@pytest.mark.parametrize("text", BAD_ADDRESSES)
def test_bad_addresses_are_refused(text: str) -> None:
    """What isn't an address is refused by a sentence that doesn't repeat it."""
    with pytest.raises(names.InvalidName) as caught:
        names.address(text)
    assert str(caught.value).endswith(".")
