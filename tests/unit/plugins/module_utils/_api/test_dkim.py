# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""DKIM keys compared: what is the same, and what became of a key that is not."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.postroom.email.plugins.module_utils._api.records import dkim

# As long as a key of 2048 bits; all RSA keys of one length begin alike.
BEGINNING = "MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA"
KEY = BEGINNING + base64.b64encode(bytes(range(255))).decode() + "IDAQAB"
OTHER = BEGINNING + base64.b64encode(bytes(range(255, 0, -1))).decode() + "IDAQAB"
WANTED = f"v=DKIM1; k=rsa; p={KEY}"
SHORT = "v=DKIM1; k=ed25519; p=11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo="

PIECES = st.sampled_from([
    "v", "=", "DKIM1", ";", " ", "k", "rsa", "p", KEY[:80], "h", "s", "t", "y", "sha256", ":", "*",
    '"', "\\", "\t", "\n", "n", "é", "\udce9", "\x00", "email",
])  # fmt: skip
NEARLY = st.lists(PIECES, max_size=16).map("".join)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("v=DKIM1; p=ab", {"v": "DKIM1", "p": "ab"}),
        (" v = DKIM1 ;\tp=a b ;", {"v": "DKIM1", "p": "a b"}),
        ("p=", {"p": ""}),
        ("p=a=b", {"p": "a=b"}),
        ("P=1; p=2", {"P": "1", "p": "2"}),
        ("a_1=x; ;b=y", None),
        ("p=1; p=2", None),
        ("1a=x", None),
        ("a-b=x", None),
        ("p", None),
        ("=x", None),
        ("p=\xe9", None),
        ("", None),
        (";", None),
    ],
)
def test_lists_of_tags(text: str, expected: dict[str, str] | None) -> None:
    """Spaces around do not matter, names have a case, a tag stands once."""
    assert dkim.parse_tags(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        WANTED,
        f"v=DKIM1;k=rsa;p={KEY};",
        f" v = DKIM1 ; p = {KEY} ; k = rsa ",
        f"v=DKIM1; p={KEY}",
        f"p={KEY}",
        f"k=rsa; p={KEY[:255]} {KEY[255:]}",
        f"v=DKIM1; k=rsa; p={KEY[:100]}\t\r\n {KEY[100:]}",
        f'v=DKIM1; n=a "quoted" note; t=s; g=*; x=y; p={KEY}',
        f"v=DKIM1; h=sha1:sha256; s=email; p={KEY}",
        f"v=DKIM1; h = sha256 : sha1; s=other : *; t=s; p={KEY}",
    ],
)  # fmt: skip
def test_the_same_key_in_other_words(text: str) -> None:
    """Spaces, order, defaults and tags that change nothing; other texts do not count."""
    found = ["google-site-verification=abc", text, "v=spf1 -all", "v=DMARC1; p=none"]
    assert dkim.compare(WANTED, found) == ("match", "the key is there", "", ())
    assert dkim.same_key(WANTED, text)


@pytest.mark.parametrize("found", [[], ["v=spf1 -all"], ["v=DMARC1; p=none", "MS=ms1", ""]])
def test_no_key(found: list[str]) -> None:
    """Where nothing at the name is meant to be a key, it is missing."""
    verdict = dkim.compare(WANTED, found)
    assert verdict.status == "missing"
    assert verdict.detail == "there is no DKIM key at the name"
    assert verdict.remedy == "Add the record that the service asks for."


@pytest.mark.parametrize(
    ("text", "detail", "remedy"),
    [
        ("v=DKIM1; k=rsa; p=", "is revoked: its tag p is empty", "Replace the record"),
        ("p= ;", "is revoked", "Replace the record"),
        ("v=DKIM1; k=rsa", "has no key, which is its tag p", "Replace the record"),
        (f"v=DKIM1; p={OTHER}", "another key is published", "Replace the record"),
        (SHORT, "of the type ed25519, not rsa", "Replace the record"),
        (f"v=DKIM1; k=RSA; p={KEY}", "of the type RSA, not rsa", "Replace the record"),
        (f"v=DKIM1; p={KEY[:237]}", "was cut after 237 of 390 characters", "Enter the whole text"),
        (f"v=DKIM1; p={KEY.rstrip('B')}", "was cut after 389 of", "Enter the whole text"),
        (f"v=DKIM1; p={KEY[:237]}{KEY[260:]}", "one up to character 237 and", "in their order"),
        (f"v=DKIM1; p={KEY}{KEY[255:]}", "one up to character 390 and", "in their order"),
        (f'v=DKIM1; p={KEY[:237]}" "{KEY[237:]}', "itself holds quotes, so", "without them"),
        (f'"{WANTED}"', "itself holds quotes, so", "without them"),
        (f"v=DKIM1\\; k=rsa\\; p={KEY}", "itself holds backslashes, so", "without them"),
        (f'"v=DKIM1\\; k=rsa\\; p={KEY}"', "itself holds quotes and backslashes", "without them"),
        (f"p={KEY}; k=rsa; v=DKIM1", "does not begin with v=DKIM1", "Replace the record"),
        (f"v=DKIM2; p={KEY}", "does not begin with v=DKIM1", "Replace the record"),
        (f"v=dkim1; p={KEY}", "does not begin with v=DKIM1", "Replace the record"),
        (f"v=DKIM1; p={KEY[:9]}; p={KEY}", "has the tag p more than once", "Replace the record"),
        (f"v=DKIM1 k=rsa; p={KEY};;", "is not a list of tags", "Replace the record"),
        (f"v=DKIM1; p={KEY[:99]};{KEY[99:]}", "is not a list of tags", "Replace the record"),
        (f"k=rsa; p={KEY}\xa0", "is not a list of tags", "Replace the record"),
        (f"v=DKIM1; h=sha1; p={KEY}", "allows only the hashes h=sha1", "Add sha256 to the tag h"),
        (f"v=DKIM1; h=; p={KEY}", "allows only the hashes h=", "Add sha256 to the tag h"),
        (f"v=DKIM1; s=a:b; p={KEY}", "only for the services s=a:b", "Add email to the tag s"),
        (f"v=DKIM1; s={'x' * 99}; p={KEY}", "xxx...", "Add email to the tag s"),
    ],
)
def test_a_key_that_does_not_do(text: str, detail: str, remedy: str) -> None:
    """Each way to be wrong has its own words, and the remedy is one sentence."""
    verdict = dkim.compare(WANTED, ["v=spf1 -all", text])
    assert verdict.status == "conflict"
    assert detail in verdict.detail
    assert remedy in verdict.remedy
    assert verdict.remedy.endswith(".")
    assert not verdict.detail.endswith(".")


def test_two_keys_at_a_selector() -> None:
    """Receivers may take either, so one has to go; which, depends on whether ours is there."""
    both = dkim.compare(WANTED, [f"v=DKIM1; p={OTHER}", f"v=DKIM1;p={KEY}"])
    assert both.status == "conflict"
    assert both.detail.startswith("there are 2 DKIM keys, and receivers may take any")
    assert both.remedy == "Leave only the one that the service asks for."
    neither = dkim.compare(WANTED, [f"v=DKIM1; p={OTHER}", "v=DKIM1; p="])
    assert neither.remedy == "Replace them by the one that the service asks for."


def test_messages_hold_only_the_beginnings_of_keys() -> None:
    """They are long, and look alike; what is no key stays, and so does what comes after."""
    assert dkim.abridged(f"TXT v=DKIM1; p={KEY}; t=s") == f"TXT v=DKIM1; p={KEY[:20]}...; t=s"
    for text in (f"v=DKIM1; k=rsa; p={KEY[:30]}", f"{'label' * 12}.example", "v=spf1 ~all"):
        assert dkim.abridged(text) == text


def test_testing_is_advised_against() -> None:
    """A key with t=y is the key, but receivers may take unsigned mail as well."""
    verdict = dkim.compare(WANTED, [f"v=DKIM1; t=y:s; p={KEY}"])
    assert verdict.status == "match"
    assert verdict.advice[0].endswith("only being tested. Remove y from t.")
    asked = f"v=DKIM1; t=y; p={KEY}"
    assert dkim.compare(asked, [f"v=DKIM1;t=y;p={KEY}"]).advice == ()


def test_keys_of_another_type_are_wanted_as_well() -> None:
    """An Ed25519 key is 44 characters, and is compared like any other."""
    assert dkim.compare(SHORT, [SHORT.replace(" ", "")]).status == "match"
    assert "of the type rsa, not ed25519" in dkim.compare(SHORT, [WANTED]).detail
    assert "cut after 20 of 44" in dkim.compare(SHORT, [SHORT[:-24]]).detail
    assert "another key" in dkim.compare(SHORT, [SHORT.replace("qYA", "qYB")]).detail


@pytest.mark.parametrize("wanted", ["no tags", "v=DKIM1; p=", "v=DKIM1; s=tlsrpt; p=ab"])
def test_whatever_is_wanted_matches_itself(wanted: str) -> None:
    """Even what is no key that mail is judged by: the service knows what it asks for."""
    assert dkim.compare(wanted, [wanted]).status == "match"
    assert dkim.compare(wanted, [WANTED]).status == "conflict"
    assert dkim.same_key(wanted, wanted)
    assert not dkim.same_key(wanted, WANTED)


@given(st.one_of(st.text(), NEARLY), st.lists(st.one_of(st.text(), NEARLY), max_size=3))
def test_any_texts_get_a_verdict(wanted: str, found: list[str]) -> None:
    """Nothing is raised, a text matches itself, and whatever is not a match says what to do."""
    verdict = dkim.compare(wanted, found)
    assert bool(verdict.remedy) is (verdict.status != "match")
    assert "\n" not in verdict.detail + verdict.remedy
    assert dkim.compare(wanted, [wanted]).status == "match"
