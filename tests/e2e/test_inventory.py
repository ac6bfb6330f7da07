# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The inventory plugin in ansible-inventory and in playbooks."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.postroom.email.plugins.inventory.email_domains import EXAMPLES
from ansible_collections.postroom.email.tests.fakes.nameserver.behaviors import answer
from ansible_collections.postroom.email.tests.fakes.nameserver.server import fake_nameserver
from ansible_collections.postroom.email.tests.support.collection_playbooks import output_text
from ansible_collections.postroom.email.tests.support.playbooks import Run, environment, run
from ansible_collections.postroom.email.tests.support.secrets import leaks
from ansible_collections.postroom.email.tests.support.tenant import RecordedTenant

CACHED = {"cache": True, "cache_plugin": "ansible.builtin.jsonfile", "cache_connection": "cache"}


class Inventory:
    """A directory with an inventory file for a tenant."""

    def __init__(self, folder: Path, tenant: RecordedTenant) -> None:
        self.folder = folder
        self.file = folder / "email_domains.yml"
        self.env = environment(folder, POSTROOM_API_URL=tenant.url, POSTROOM_API_TOKEN=tenant.token)
        # With this setting, an invalid file is an error instead of an empty inventory with a
        # warning.
        self.env["ANSIBLE_INVENTORY_ANY_UNPARSED_IS_FAILED"] = "true"

    def save(self, **options: Any) -> None:
        """Write the inventory file."""
        data = {"plugin": "postroom.email.email_domains", **options}
        self.file.write_text(yaml.safe_dump(data), "utf-8")

    def ask(self, *arguments: str, program: str = "inventory") -> Run:
        """Run ansible-inventory, or another Ansible program, on the inventory."""
        command = [sys.executable, "-m", "ansible", program, "-i", str(self.file), *arguments]
        return run(command, self.env, self.folder)

    def listing(self) -> dict[str, Any]:
        """Return the complete inventory."""
        done = self.ask("--list")
        assert done.status == 0, done.output
        found: dict[str, Any] = json.loads(done.output)
        return found

    def hosts(self, group: str = "email_domains") -> list[str]:
        """Return the hosts in a group."""
        found: list[str] = self.listing()[group]["hosts"]
        return found


@pytest.fixture
def inventory(tmp_path: Path, tenant: RecordedTenant) -> Inventory:
    """Provide a directory with an inventory file for a tenant with two domains."""
    tenant.create("one.example", "two.example", "bob@one.example")
    tenant.create("ann@one.example", emails=["ann@one.example", "hi@two.example"])
    tenant.create("all@one.example", members=["ann@one.example"])
    tenant.recorder.take()
    return Inventory(tmp_path, tenant)


@pytest.mark.matrix
def test_domains_are_hosts(inventory: Inventory, tenant: RecordedTenant) -> None:
    """Each domain is a host, whose variables determine its groups."""
    inventory.save(
        strict=True,
        compose={"dns_domains": "[email_domain]"},
        groups={"unused": "email_mailboxes + email_aliases + email_forwarders == 0"},
        keyed_groups=[{"key": "email_domain.split('.') | last", "prefix": "tld"}],
    )
    tenant.create("empty.test")
    with tenant.recorder.forbidding_writes():
        found = inventory.listing()
    assert found["_meta"]["hostvars"]["one.example"] == {
        "ansible_connection": "local",
        "ansible_python_interpreter": "{{ ansible_playbook_python }}",
        "dns_domains": ["one.example"],
        "email_aliases": 0,
        "email_domain": "one.example",
        "email_forwarders": 1,
        "email_mailboxes": 2,
    }
    assert found["_meta"]["hostvars"]["two.example"]["email_aliases"] == 1
    assert found["unused"]["hosts"] == ["empty.test"]
    assert found["tld_example"]["hosts"] == ["one.example", "two.example"]


@pytest.mark.full
@pytest.mark.matrix
def test_the_token_of_the_file_takes_precedence(
    inventory: Inventory, tenant: RecordedTenant
) -> None:
    """The token in the file takes precedence and is never shown, even at -vvvv."""
    token = inventory.env.pop("POSTROOM_API_TOKEN")
    inventory.env["MAIL_TOKEN"] = token
    inventory.save(
        api_token="{{ lookup('ansible.builtin.env', 'MAIL_TOKEN') }}",
        api_url=tenant.url.replace("127.0.0.1", "{{ [127, 0, 0, 1] | join('.') }}"),
        **CACHED,
    )
    done = inventory.ask("--list", "-vvvv")
    assert (done.status, '"one.example"' in done.output) == (0, True), done.output
    assert leaks([token], [inventory.folder]) == []
    assert token not in done.output
    (inventory.folder / "password").write_text("of-the-vault", "utf-8")
    vault = ["encrypt_string", "--vault-id", "password", token]
    encrypted = run(
        [sys.executable, "-m", "ansible", "vault", *vault], inventory.env, inventory.folder
    ).output
    option = f"api_token: {encrypted[encrypted.index('!vault') :]}\n"
    inventory.file.write_text(f"plugin: postroom.email.email_domains\n{option}", "utf-8")
    done = inventory.ask("--list", "--vault-id", "password")
    assert (done.status, '"one.example"' in done.output) == (0, True), done.output


@pytest.mark.full
def test_cached_domains_are_not_read_again(inventory: Inventory, tenant: RecordedTenant) -> None:
    """Cached domains are reused until the options, the token or the cache change."""
    inventory.save(**CACHED)
    assert inventory.hosts() == ["one.example", "two.example"]
    assert len(tenant.recorder.take()) == 1
    tenant.create("new.example")
    inventory.save(**CACHED, groups={"first": "email_domain is match('one')"})
    assert inventory.hosts("first") == ["one.example"]
    assert tenant.recorder.take() == []
    (cache,) = (inventory.folder / "cache").iterdir()
    cache.write_text(cache.read_text("utf-8").replace("one.example", "{{7*7}}.example"), "utf-8")
    assert inventory.hosts() == ["new.example", "one.example", "two.example"]
    inventory.save(**CACHED, exclude=["one.*"])
    assert inventory.hosts() == ["new.example", "two.example"]
    assert len(tenant.recorder.take()) == 2
    inventory.save(**CACHED)
    tenant.create("newer.example")
    (inventory.folder / "play.yml").write_text("- hosts: all\n", "utf-8")
    flushed = inventory.ask("play.yml", "--list-hosts", "--flush-cache", program="playbook")
    assert "newer.example" in flushed.output
    inventory.env["POSTROOM_API_TOKEN"] = "of-another-tenant-4711"
    assert "failed with status 401" in output_text(inventory.ask("--list"))
    assert leaks([tenant.token, "of-another-tenant-4711"], [inventory.folder]) == []


def test_the_documented_examples_work(inventory: Inventory, tenant: RecordedTenant) -> None:
    """Both documented example files produce the hosts and groups that their comments describe."""
    plain, grouped = yaml.safe_load_all(EXAMPLES)
    tenant.create("example.com", "x.test.example")
    inventory.env["MAIL_TOKEN"] = tenant.token
    with fake_nameserver({("*", "*"): answer("20 mx.elsewhere.example.")}) as nameserver:
        here = {"nameservers": [str(nameserver)], "cache_connection": "cache", "strict": True}
        inventory.save(**plain)
        assert len(inventory.hosts()) == 4
        inventory.save(**{**grouped, **here, "api_url": tenant.url})
        found = inventory.listing()
    assert found["stage_created"]["hosts"] == ["example.com", "one.example", "two.example"]
    assert found["tld_com"]["hosts"] == found["unused"]["hosts"] == ["example.com"]
