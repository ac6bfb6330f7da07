# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The inventory plugin: its files, the facts of each domain, and the listed domains."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from ansible.errors import AnsibleParserError
from ansible.inventory.data import InventoryData
from ansible.parsing.dataloader import DataLoader

from ansible_collections.postroom.email.plugins.inventory.email_domains import InventoryModule
from ansible_collections.postroom.email.plugins.module_utils._api.errors import (
    Forbidden,
    Unauthorized,
)
from ansible_collections.postroom.email.plugins.plugin_utils._domain_facts import (
    gather,
    is_gathered,
)
from ansible_collections.postroom.email.tests.fakes.mail_api.in_memory_service import (
    InMemoryService,
    domain,
    forwarder,
    mailbox,
)
from ansible_collections.postroom.email.tests.fakes.mail_api.scripted import problem
from ansible_collections.postroom.email.tests.fakes.nameserver.behaviors import answer, refused
from ansible_collections.postroom.email.tests.fakes.nameserver.server import fake_nameserver
from ansible_collections.postroom.email.tests.support.clients import TOKEN, Connect, Serve

pytestmark = pytest.mark.matrix


def test_a_file_is_known_by_its_name(tmp_path: Path) -> None:
    """An inventory file must exist, and its name must end in email_domains.yml or .yaml."""
    names = "email_domains.yml", "some.email_domains.yaml", "email_domains.json"
    files = [tmp_path / name for name in names]
    assert not any(InventoryModule().verify_file(str(file)) for file in files)
    for file in files:
        file.touch()
    assert [InventoryModule().verify_file(str(file)) for file in files] == [True, True, False]


MX = answer("10 mail.example.net.")
SPF = answer('"v=spf1 include:example.net ~all"')


def options(**some: Any) -> dict[str, Any]:
    """Return the options with their defaults."""
    usual = {"domains": ["*"], "exclude": [], "stage": False, "nameservers": [], "resolvers": []}
    usual["stage_timeout"] = 60
    return {**usual, **some}


def tenant() -> InMemoryService:
    """Return a tenant with three domains, one of which is empty."""
    return InMemoryService(
        None,
        domain("one.example"),
        domain("xn--bcher-kva.example"),
        domain("Two.example"),
        mailbox("ann@one.example", "hi@one.example", "ho@Two.example"),
        mailbox("bob@one.example"),
        forwarder("all@two.example", "ann@one.example"),
        {**domain("list"), "type": "list"},
    )


def test_what_is_at_a_domain_is_counted(serve: Serve, connect: Connect) -> None:
    """Mailboxes, forwarders and aliases are each counted for the domain of their own address."""
    domains, warnings = gather(connect(serve(tenant())), options())
    assert domains == {
        "one.example": {"email_mailboxes": 2, "email_forwarders": 0, "email_aliases": 1},
        "two.example": {"email_mailboxes": 0, "email_forwarders": 1, "email_aliases": 1},
        "xn--bcher-kva.example": {"email_mailboxes": 0, "email_forwarders": 0, "email_aliases": 0},
    }
    assert warnings == []


@pytest.mark.parametrize(
    ("some", "left"),
    [
        ({"domains": ["one.example", "bücher.*"]}, ["one.example", "xn--bcher-kva.example"]),
        ({"exclude": ["*o.example", "B\u00fccher.example"]}, ["one.example"]),
        ({"domains": ["T*"], "exclude": ["*.example"]}, []),
    ],
)
def test_patterns_choose_domains(
    some: dict[str, Any], left: list[str], serve: Serve, connect: Connect
) -> None:
    """Patterns include or exclude domains in any spelling."""
    domains, _warnings = gather(connect(serve(tenant())), options(**some))
    assert list(domains) == left


def test_an_unknown_name_is_warned_of(serve: Serve, connect: Connect) -> None:
    """A name that is not a domain of the tenant causes a warning. A pattern does not."""
    some = options(domains=["o*", "two.example"], exclude=["ome.example", "*.test"])
    _domains, (warning,) = gather(connect(serve(tenant())), some)
    assert warning.startswith("exclude: ome.example is not a domain of the tenant")


@pytest.mark.parametrize("odd", ["{{ 7 * 7 }}.example", "a b.example"])
def test_an_invalid_domain_name_is_no_host(odd: str, serve: Serve, connect: Connect) -> None:
    """An invalid domain name is skipped with a warning, because Ansible might misinterpret it."""
    service = InMemoryService(None, domain("a.example"), domain(odd))
    domains, warnings = gather(connect(serve(service)), options())
    assert list(domains) == ["a.example"]
    assert warnings[0].startswith(repr(odd))


def test_the_stage_is_what_name_servers_say(serve: Serve, connect: Connect) -> None:
    """Only selected domains are queried, and the name servers' answers determine their stages."""
    service = InMemoryService(
        None, *map(domain, ("new.example", "old.example", "shy.example", "x.y"))
    )
    behaviors = {
        ("old.example", "MX"): MX,
        ("old.example", "TXT"): SPF,
        ("shy.example", "*"): refused,
        ("*", "*"): answer("20 mx.elsewhere.example."),
    }
    server = serve(service)
    with fake_nameserver(behaviors) as nameserver:
        wanted = options(stage=True, nameservers=[str(nameserver)], exclude=["x.y"])
        domains, _warnings = gather(connect(server), wanted)
    assert {name: facts["email_stage"] for name, facts in domains.items()} == {
        "new.example": "created",
        "old.example": "published",
        "shy.example": "unknown",
    }
    assert domains["shy.example"]["email_stage_reason"] == "no_answer"
    assert is_gathered(domains)
    assert sorted(server.lines[1:]) == [
        f"GET /api/dns/{name}.example" for name in ("new", "old", "shy")
    ]


def test_stages_have_one_deadline(serve: Serve, connect: Connect) -> None:
    """After the deadline, no domain is looked up, and a single warning gives the reason."""
    service = InMemoryService(None, *(domain(f"d{number}.example") for number in range(40)))
    server = serve(service)
    domains, (warning,) = gather(connect(server), options(stage=True, stage_timeout=0))
    assert len(server.lines) == 1
    assert {facts["email_stage_reason"] for facts in domains.values()} == {"timed_out"}
    assert len(domains) == 40
    assert "40 domains, including 'd0.example'" in warning


def test_what_is_deleted_meanwhile_is_no_host(serve: Serve, connect: Connect) -> None:
    """A domain that is deleted while the inventory is read is left out with a warning."""
    service = InMemoryService(None, *map(domain, ("a.example", "b.example")))
    service.interfere("GET", lambda: service.principals.pop("b.example"))
    with fake_nameserver({("*", "*"): refused}) as nameserver:
        wanted = options(stage=True, nameservers=[str(nameserver)])
        domains, (warning,) = gather(connect(serve(service)), wanted)
    assert list(domains) == ["a.example"]
    assert is_gathered(domains)
    assert "'b.example' was deleted" in warning


@pytest.mark.parametrize(
    "planted",
    [
        None,
        {"{{ 7 * 7 }}.example": {"email_aliases": 0}},
        {7: {"email_aliases": 0}},
        {"a.example": {"email_aliases": "{{ 7 * 7 }}"}},
        {"a.example": {"email_stage": "{{ 7 * 7 }}"}},
        {"a.example": {"email_stage_reason": "{{ 7 * 7 }}"}},
        {"a.example": {"ansible_connection": 1}},
    ],
)
def test_what_was_not_gathered_is_known(planted: object) -> None:
    """Cached data is rejected if it contains templates or variables that the plugin doesn't set."""
    assert is_gathered({"a.example": {"email_aliases": 0, "email_stage": "active"}})
    assert not is_gathered(planted)


def test_no_half_an_inventory(serve: Serve, connect: Connect) -> None:
    """If one domain's records can't be read, there is a warning, but all domains are listed."""
    service = InMemoryService(None, domain("a.example"), domain("b.example"))
    service.disturb("GET", problem(500, "Out of keys."), skip=2)
    with fake_nameserver({("*", "*"): answer("20 mx.elsewhere.example.")}) as nameserver:
        wanted = options(stage=True, nameservers=[str(nameserver)])
        domains, warnings = gather(connect(serve(service)), wanted)
    assert list(domains) == ["a.example", "b.example"]
    assert sorted(facts["email_stage"] for facts in domains.values()) == ["created", "unknown"]
    assert "no_records" in {facts.get("email_stage_reason") for facts in domains.values()}
    (warning,) = warnings
    assert warning.startswith("The stage of '")
    assert "(Out of keys)" in warning


@pytest.mark.parametrize("status", [401, 403])
def test_a_refused_token_fails_the_inventory(status: int, serve: Serve, connect: Connect) -> None:
    """A rejected token makes the inventory fail, because it affects all domains."""
    service = InMemoryService(None, domain("a.example"))
    service.disturb("GET", problem(status), skip=1)
    with pytest.raises((Unauthorized, Forbidden)):
        gather(connect(serve(service)), options(stage=True, nameservers=["127.0.0.1:5353"]))


class Inventory(InventoryModule):
    """The plugin with a test's options. It records its warnings."""

    def __init__(self, url: str, **some: Any) -> None:
        super().__init__()
        connection = {"api_url": url, "api_token": TOKEN, "validate_certs": True, "ca_path": None}
        limits = {"timeout": 9.0, "retries": 0, "cache": True, "strict": True}
        shapes: dict[str, Any] = {"compose": {}, "groups": {}, "keyed_groups": []}
        self.given = {**options(), **connection, **limits, **shapes, **some}
        self.warnings: list[str] = []
        self.display = self
        self._cache: dict[str, Any] = {}

    def get_option(self, name: str) -> Any:
        """Return one of the test's options."""
        return self.given[name]

    def warning(self, text: str) -> None:
        """Record a warning."""
        self.warnings.append(text)

    def _read_config_data(self, path: str) -> None:
        """Do not read a file."""

    def hosts(self) -> list[str]:
        """Return the added hosts."""
        inventory = InventoryData()
        self.parse(inventory, DataLoader(), "email_domains.yml")
        return list(inventory.hosts)


def test_an_inventory_is_read_once_for_its_cache(serve: Serve) -> None:
    """The inventory is read once and then cached, together with its warnings."""
    server = serve(InMemoryService(None, domain("a.example")))
    plugin = Inventory(server.url, exclude=["b.example"])
    assert [plugin.hosts(), plugin.hosts()] == [["a.example"]] * 2
    assert server.lines == ["GET /api/principal"]
    (warning,) = plugin.warnings
    assert warning.startswith("exclude: b.example")


@pytest.mark.parametrize(
    ("some", "words"),
    [
        ({"api_token": ""}, "api_token is required"),
        ({"api_url": "mail.example"}, "api_url: 'mail.example'"),
        ({"domains": [7]}, "domains: 7 must be a string"),
        ({"exclude": [["one.example"]]}, r"exclude: \['one.example'\] must be a string"),
        ({"stage": True, "resolvers": ["x y"]}, "resolvers: 'x y' is"),
    ],
)
def test_an_unusable_option_fails_the_inventory(some: dict[str, Any], words: str) -> None:
    """The error for an unusable option names the option."""
    with pytest.raises(AnsibleParserError, match=f"^{words}"):
        Inventory("http://127.0.0.1:9", **some).hosts()


def test_a_missing_library_fails_the_inventory(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error for a missing library names the library."""
    monkeypatch.setitem(sys.modules, "httpx", None)
    with pytest.raises(AnsibleParserError, match="httpx"):
        Inventory("http://127.0.0.1:9").hosts()
