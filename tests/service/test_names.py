# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The syntax and the normal form of names."""

from __future__ import annotations

import pytest

from postroom_service import names

DOMAINS = {
    "EXAMPLE.Com": "example.com",
    "a-b.c--d.example": "a-b.c--d.example",
    "BÜCHER.example": "xn--bcher-kva.example",
    "bu\u0308cher.example": "xn--bcher-kva.example",
    "XN--BCHER-KVA.example": "xn--bcher-kva.example",
    "faß.example": "xn--fa-hia.example",
    "例え.テスト": "xn--r8jz45g.xn--zckzah",
    "1.2.example": "1.2.example",
    "x" * 63 + ".example": "x" * 63 + ".example",
    ".".join(["x" * 49] * 5 + ["abc"]): ".".join(["x" * 49] * 5 + ["abc"]),
}
BAD_DOMAINS = [
    *("", "com", "example.com.", "example..com", "-a.example", "a-.example", "a_b.example"),
    *(
        " example.com",
        "example.com\n",
        "exa\0mple.com",
        "*.example.com",
        "127.0.0.1",
        "a/b.example",
    ),
    *("x" * 64 + ".example", ".".join(["x" * 50] * 5), "ü" * 60 + ".example", "é" * 10_000),
    *("xn--a.example", "ab--c.example", "a\u200db.example", "\u212aiwi.example", "☃.example"),
    *("\u212aüche.example", "example。com", ".".join(["ü" * 30] * 7)),
]
ADDRESSES = {
    "Ann.B@EXAMPLE.com": "ann.b@example.com",
    "!#$%&'*+/=?^_`{|}~-@example.com": "!#$%&'*+/=?^_`{|}~-@example.com",
    "ann@bücher.example": "ann@xn--bcher-kva.example",
    "x" * 64 + "@example.com": "x" * 64 + "@example.com",
}
BAD_ADDRESSES = [
    *("", "ann", "ann@", "@example.com", "ann@com", ".ann@example.com", "ann.@example.com"),
    *("a..b@example.com", '"ann"@example.com', "an n@example.com", "ann@ example.com"),
    *("ann@example.com\n", "a@b@example.com", "änn@example.com", "\u212aim@example.com"),
    *("ann@[127.0.0.1]", "Ann <ann@example.com>", "a,b@example.com", "x" * 65 + "@example.com"),
    "x" * 10 + "@" + ".".join(["y" * 60] * 4) + ".com",
]


def test_domains_have_a_normal_form() -> None:
    """A domain is folded to lower-case A-labels, and folding it again changes nothing."""
    for text, normal in DOMAINS.items():
        assert names.domain(text) == names.domain(normal) == normal


@pytest.mark.parametrize("text", BAD_DOMAINS)
def test_bad_domains_are_refused(text: str) -> None:
    """Invalid domains raise InvalidName, and no path names them."""
    with pytest.raises(names.InvalidName):
        names.domain(text)
    assert names.any_name(text) is None


def test_addresses_have_a_normal_form() -> None:
    """An address is folded to lower case with its domain in normal form."""
    for text, normal in ADDRESSES.items():
        assert names.address(text) == names.address(normal) == names.any_name(text) == normal
        assert normal.endswith("@" + names.domain_of(normal))


@pytest.mark.parametrize("text", BAD_ADDRESSES)
def test_bad_addresses_are_refused(text: str) -> None:
    """Invalid addresses raise InvalidName."""
    with pytest.raises(names.InvalidName):
        names.address(text)
