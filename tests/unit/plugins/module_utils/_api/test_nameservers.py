# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What name servers are asked with: addresses, keys, and the library that need not be there."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.postroom.email.plugins.module_utils._api.errors import (
    InvalidInput,
)
from ansible_collections.postroom.email.plugins.module_utils._api.nameservers.finding import (
    Given,
    parse_address,
    parse_server,
    system_resolvers,
)
from ansible_collections.postroom.email.plugins.module_utils._api.nameservers.keys import Key
from ansible_collections.postroom.email.plugins.module_utils._api.nameservers.library import (
    ALGORITHMS,
)
from ansible_collections.postroom.email.plugins.module_utils._api.nameservers.wildcards import (
    probes_of,
)
from ansible_collections.postroom.email.plugins.module_utils._api.records.observed import Server

CANARY = "Y2FuYXJ5LXRzaWctc2VjcmV0LTc3MTE="

SERVERS = {
    "ns1.example.net": Given("ns1.example.net"),
    " NS1.Example.NET. ": Given("ns1.example.net"),
    "ns1.example.net:5353": Given("ns1.example.net", 5353),
    "ns1.example.net.:5353": Given("ns1.example.net", 5353),
    "localhost": Given("localhost"),
    "ns_1.example": Given("ns_1.example"),
    "192.0.2.1": Given("192.0.2.1"),
    "192.0.2.1:5353": Given("192.0.2.1", 5353),
    "2001:db8::1": Given("2001:db8::1"),
    "2001:DB8::1": Given("2001:db8::1"),
    "[2001:db8::1]": Given("2001:db8::1"),
    "[2001:db8::1]:5353": Given("2001:db8::1", 5353),
    "fe80::1%eth0": Given("fe80::1%eth0"),
}


@pytest.mark.parametrize("text", SERVERS)
def test_servers_as_people_write_them(text: str) -> None:
    """A host or an address is read, with its port."""
    assert parse_server(text, "nameservers") == SERVERS[text]


NO_SERVERS = [
    "",
    ".",
    "ns1..example.net",
    "-ns1.example.net",
    "ns1.example.net:",
    "ns1.example.net:0",
    "ns1.example.net:65536",
    "ns1.example.net:domain",
    "ns1 example.net",
    "https://ns1.example.net",
    "ns1.example.net/53",
    "192.0.2.300",
    "192.0.2",
    "192.0.2.1:53:53",
    "[192.0.2.1]:53",
    "[ns1.example.net]:53",
    "[2001:db8::1",
    "[2001:db8::1]53",
    "2001:db8::1:::53",
    "m\u00fcller.example",
    "a" * 64 + ".example",
    ".".join(["abcdefghi"] * 26),
]


@pytest.mark.parametrize("text", NO_SERVERS)
def test_what_is_no_server(text: str) -> None:
    """Anything else is told with the option and examples of what to write."""
    with pytest.raises(InvalidInput) as caught:
        parse_server(text, "nameservers")

    assert str(caught.value) == (
        f"nameservers: {text!r} is not a name server. Give a host name or an address, and the port "
        "where it is not 53, such as ns1.example.net, 192.0.2.1, 192.0.2.1:5353 or "
        "[2001:db8::1]:5353."
    )


@given(st.text(st.sampled_from("a1:.[]-%"), max_size=20))
def test_servers_are_read_or_refused(text: str) -> None:
    """Whatever an option holds, it is a host and a port, or an error of ours."""
    try:
        found = parse_server(text, "nameservers")
    except InvalidInput:
        return
    assert found.host
    assert 0 < found.port < 65536


def test_resolvers_are_addresses() -> None:
    """A resolver has an address: there is nobody to ask for that of a name."""
    assert parse_address("192.0.2.1:5353", "resolvers") == Server("", "192.0.2.1", 5353)
    assert parse_address("::1", "resolvers") == Server("", "::1")

    with pytest.raises(InvalidInput, match=r"^resolvers: 'dns\.example' is not the address of a"):
        parse_address("dns.example", "resolvers")


def test_the_resolvers_of_a_machine(tmp_path: Path) -> None:
    """The system's resolvers are those of its file, in order."""
    path = tmp_path / "resolv.conf"
    path.write_text("search example.com\nnameserver 192.0.2.1\nnameserver 2001:db8::1\n")

    assert system_resolvers(str(path)) == (Server("", "192.0.2.1"), Server("", "2001:db8::1"))


@pytest.mark.parametrize("text", [None, "", "search example.com\n", "nameserver dns.example\n"])
def test_a_machine_without_resolvers(tmp_path: Path, text: str | None) -> None:
    """Where there are none, there are none to ask."""
    path = tmp_path / "resolv.conf"
    if text is not None:
        path.write_text(text)

    assert system_resolvers(str(path)) == ()


@pytest.mark.parametrize("length", [1, 240, 241])
def test_names_that_are_not_there(length: int) -> None:
    """One is below a name and one beside it, and both fit into DNS."""
    parent = ".".join(["a" * 63] * 3 + ["a" * (length - 192)]) if length > 1 else "test"
    name = f"own.{parent}"
    below, beside = probes_of(name)

    assert below.endswith(name if length == 1 else parent)
    assert beside.endswith(f".{parent}")
    assert name not in (below, beside)
    assert max(len(below), len(beside)) <= 253
    assert probes_of(name) != (below, beside)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_key(algorithm: str) -> None:
    """A key shows its name, and never its secret."""
    key = Key("mail.example.com", CANARY, algorithm)

    assert "mail.example.com" in repr(key)
    assert CANARY not in f"{key!r} {key}"


WRONG_KEYS = {
    "md5": (("mail", CANARY, "hmac-md5"), "tsig_algorithm: 'hmac-md5' is not one of hmac-sha256,"),
    "sha1": (("mail", CANARY, "hmac-sha1"), "tsig_algorithm: 'hmac-sha1' is not one of"),
    "no name": (("", CANARY), "tsig_name: '' cannot be the name of a key."),
    "the root": ((".", CANARY), "tsig_name: '.' cannot be the name of a key."),
    "an empty label": (("a..b", CANARY), "tsig_name: 'a..b' cannot be the name of a key."),
    "a long label": (("a" * 64, CANARY), "cannot be the name of a key."),
    "no secret": (("mail", ""), "tsig_secret: it is not base64."),
    "no base64": (("mail", f"{CANARY}!"), "tsig_secret: it is not base64."),
    "a part of base64": (("mail", CANARY[:-2]), "tsig_secret: it is not base64."),
    "no ASCII": (("mail", f"{CANARY}\u00fc"), "tsig_secret: it is not base64."),
}


@pytest.mark.parametrize(("parts", "message"), WRONG_KEYS.values(), ids=WRONG_KEYS)
def test_what_is_no_key(parts: tuple[str, ...], message: str) -> None:
    """A key that cannot be one is told by option, without its secret."""
    with pytest.raises(InvalidInput) as caught:
        Key(*parts)

    assert message in str(caught.value)
    assert CANARY[:-2] not in f"{caught.value!r} {caught.value.__context__!r}"


def test_the_library_need_not_be_there() -> None:
    """All of it can be imported without dnspython, and says so when it is needed."""
    program = """
import sys
sys.modules["dns"] = None
from ansible_collections.postroom.email.plugins.module_utils._api.nameservers import (
    asking, finding, library, resolving, updating,
)
try:
    library.require()
except ImportError as error:
    print(error.name)
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={"PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.stdout, done.stderr) == ("dnspython\n", "")
