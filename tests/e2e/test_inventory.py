# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The domains of a tenant as an inventory, as ansible-inventory and playbooks read it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.postroom.email.plugins.inventory.email_domains import EXAMPLES
from ansible_collections.postroom.email.tests.fakes.mail_api.scripted import problem
from ansible_collections.postroom.email.tests.fakes.mail_api.spoiler import spoiled
from ansible_collections.postroom.email.tests.fakes.nameserver.habits import answer
from ansible_collections.postroom.email.tests.fakes.nameserver.server import misbehaving
from ansible_collections.postroom.email.tests.support.desk import words
from ansible_collections.postroom.email.tests.support.playbooks import Run, environment, run
from ansible_collections.postroom.email.tests.support.secrets import leaks
from ansible_collections.postroom.email.tests.support.site import Site

CACHED = {"cache": True, "cache_plugin": "ansible.builtin.jsonfile", "cache_connection": "cache"}
VAULT_PASSWORD = "of-the-vault"


class Inventory:
    """A folder with an inventory file, and the tenant that it is of."""

    def __init__(self, folder: Path, site: Site) -> None:
        self.folder = folder
        self.file = folder / "email_domains.yml"
        self.env = environment(folder, POSTROOM_API_URL=site.url, POSTROOM_API_TOKEN=site.token)
        # What can't be parsed is an error here, and not an empty inventory with a warning.
        self.env["ANSIBLE_INVENTORY_ANY_UNPARSED_IS_FAILED"] = "true"

    def save(self, **options: Any) -> None:
        """Write the inventory file."""
        data = {"plugin": "postroom.email.email_domains", **options}
        self.file.write_text(yaml.safe_dump(data), "utf-8")

    def ask(self, *arguments: str, program: str = "inventory") -> Run:
        """Run ansible-inventory, or another of Ansible's programs, with the inventory."""
        command = [sys.executable, "-m", "ansible", program, "-i", str(self.file), *arguments]
        return run(command, self.env, self.folder)

    def listing(self) -> dict[str, Any]:
        """Return the whole inventory."""
        told = self.ask("--list")
        assert told.status == 0, told.output
        found: dict[str, Any] = json.loads(told.output)
        return found

    def hosts(self, group: str = "email_domains") -> list[str]:
        """Return the hosts of a group."""
        found: list[str] = self.listing()[group]["hosts"]
        return found


@pytest.fixture
def inventory(tmp_path: Path, site: Site) -> Inventory:
    """Return a folder, and a tenant with two domains."""
    site.create("one.example", "two.example", "bob@one.example")
    site.create("ann@one.example", emails=["ann@one.example", "hi@two.example"])
    site.create("all@one.example", members=["ann@one.example"])
    site.recorder.take()
    return Inventory(tmp_path, site)


@pytest.mark.matrix
def test_domains_are_hosts_with_groups_of_ones_own(inventory: Inventory, site: Site) -> None:
    """They have their variables, and go into groups by them."""
    inventory.save(
        strict=True,
        compose={"dns_domains": "[email_domain]"},
        groups={"unused": "email_mailboxes + email_aliases + email_forwarders == 0"},
        keyed_groups=[{"key": "email_domain.split('.') | last", "prefix": "tld"}],
    )
    site.create("empty.test")
    with site.recorder.forbidding_writes():
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
    graph = inventory.ask("--graph").output
    assert "@email_domains:\n  |  |--empty.test\n  |  |--one.example\n" in graph


def test_a_task_of_a_domain_runs_here(inventory: Inventory) -> None:
    """On Ansible's own Python, where the libraries of the modules are, for a slice of domains."""
    inventory.save()
    (inventory.folder / "play.yml").write_text(
        """
- hosts: email_domains:&*.example:!two.example
  gather_facts: false
  tasks:
    - postroom.email.email_info:
        domains: ["{{ email_domain }}"]
        kinds: [mailbox]
      register: found
    - ansible.builtin.assert:
        that:
          - ansible_python_interpreter == ansible_playbook_python
          - found.mailboxes | length == email_mailboxes
""",
        "utf-8",
    )
    told = inventory.ask("play.yml", program="playbook")
    assert (told.status, told.recap.ok) == (0, 2), told.output


@pytest.mark.matrix
def test_the_token_may_come_from_anywhere(inventory: Inventory, site: Site) -> None:
    """From a lookup, or from a vault; it is preferred to the environment's, and never shown."""
    token = inventory.env.pop("POSTROOM_API_TOKEN")
    inventory.env["MAIL_TOKEN"] = token
    inventory.save(
        api_token="{{ lookup('ansible.builtin.env', 'MAIL_TOKEN') }}",
        api_url=site.url.replace("127.0.0.1", "{{ [127, 0, 0, 1] | join('.') }}"),
        **CACHED,
    )
    told = inventory.ask("--list", "-vvvv")
    assert (told.status, '"one.example"' in told.output) == (0, True), told.output
    assert leaks([token], [inventory.folder]) == []
    assert token not in told.output
    (inventory.folder / "password").write_text(VAULT_PASSWORD, "utf-8")
    vault = ["encrypt_string", "--vault-id", "password", token]
    done = run([sys.executable, "-m", "ansible", "vault", *vault], inventory.env, inventory.folder)
    encrypted = done.output[done.output.index("!vault") :]
    inventory.file.write_text(
        f"plugin: postroom.email.email_domains\napi_token: {encrypted}\n", "utf-8"
    )
    told = inventory.ask("--list", "--vault-id", "password")
    assert (told.status, '"one.example"' in told.output) == (0, True), told.output


@pytest.mark.matrix
def test_what_is_cached_is_not_asked_for_again(inventory: Inventory, site: Site) -> None:
    """Until the cache is flushed, or another tenant or another choice of domains is wanted."""
    inventory.save(**CACHED)
    assert inventory.hosts() == ["one.example", "two.example"]
    assert len(site.recorder.take()) == 1
    site.create("new.example")
    inventory.save(**CACHED, groups={"first": "email_domain is match('one')"})
    assert inventory.hosts() == ["one.example", "two.example"]
    assert inventory.hosts("first") == ["one.example"]
    assert site.recorder.take() == []
    inventory.save(**CACHED, exclude=["one.*"])
    assert inventory.hosts() == ["new.example", "two.example"]
    inventory.save(**CACHED)
    (inventory.folder / "play.yml").write_text("- hosts: all\n", "utf-8")
    flushed = inventory.ask("play.yml", "--list-hosts", "--flush-cache", program="playbook")
    assert "new.example" in flushed.output
    assert len(inventory.hosts()) == 3
    assert len(site.recorder.take()) == 2
    inventory.env["POSTROOM_API_TOKEN"] = "of-another-tenant-4711"
    assert "was answered with status 401" in words(inventory.ask("--list"))
    assert leaks([site.token, "of-another-tenant-4711"], [inventory.folder]) == []


def test_what_is_planted_in_the_cache_is_not_taken(inventory: Inventory, site: Site) -> None:
    """Where it holds a host that is no domain, the service is asked again."""
    inventory.save(**CACHED)
    assert inventory.hosts() == ["one.example", "two.example"]
    (cache,) = (inventory.folder / "cache").iterdir()
    kept = cache.read_text("utf-8")
    cache.write_text(kept.replace("one.example", "{{7*7}}.example"), "utf-8")
    assert cache.read_text("utf-8") != kept
    site.recorder.take()
    assert inventory.hosts() == ["one.example", "two.example"]
    assert len(site.recorder.take()) == 1
    assert cache.read_text("utf-8") == kept


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"api_url": ""}, "api_url: it is not set. Set it in "),
        ({"api_url": "mail.example"}, "api_url"),
        ({"api_token": "{{ none_of_these }}"}, "none_of_these"),
        ({"domains": [1]}, "domains: 1 is not a text. Put it in quotes, or correct it."),
        ({"exclude": [["one.example"]]}, "exclude: ['one.example'] is not a text."),
        ({"stage": True, "resolvers": ["x y"]}, "resolvers: 'x y' is not the address"),
        ({"strict": True, "compose": {"x": "email_nothing"}}, "email_nothing"),
    ],
)
def test_what_is_wrong_is_told(
    options: dict[str, Any], sentence: str, inventory: Inventory
) -> None:
    """In a sentence, and not with a traceback; no half an inventory is made."""
    inventory.save(**options)
    told = inventory.ask("--list")
    assert told.status != 0, told.output
    assert sentence in words(told)
    assert "Traceback" not in told.output
    assert inventory.env["POSTROOM_API_TOKEN"] not in told.output


def test_a_stage_is_a_variable_too(inventory: Inventory) -> None:
    """Groups can be made of what the name servers say, which is remembered as well."""
    groups = [{"key": "email_stage", "prefix": "stage"}]
    with misbehaving({("one.example", "*"): answer("20 mx.elsewhere.example.")}) as nameserver:
        servers = {"stage": True, "nameservers": [str(nameserver)]}
        inventory.save(**servers, **CACHED, keyed_groups=groups)
        assert inventory.hosts("stage_unknown") == ["two.example"]
        asked = len(nameserver.asked)
        assert inventory.hosts("stage_created") == ["one.example"]
        assert len(nameserver.asked) == asked > 0


def test_a_domain_that_cannot_be_looked_at_is_told(inventory: Inventory, site: Site) -> None:
    """Where the service can't give the records of one domain, the others have their stages."""
    with (
        spoiled(site.url) as spoiler,
        misbehaving({("*", "*"): answer("20 mx.elsewhere.example.")}) as nameserver,
    ):
        spoiler.spoil(problem(500), part="GET /api/dns/two.example", times=9)
        stage = {"stage": True, "nameservers": [str(nameserver)]}
        keyed = [{"key": "email_stage", "prefix": "stage"}]
        inventory.save(**stage, api_url=spoiler.url, keyed_groups=keyed)
        told = inventory.ask("--list")
    assert told.status == 0, told.output
    assert "The stage of 'two.example' is unknown: " in words(told)
    found = json.loads(told.output[told.output.index("{\n") :])
    assert found["stage_unknown"]["hosts"] == ["two.example"]
    assert found["stage_created"]["hosts"] == ["one.example"]


def test_the_documented_examples_work(inventory: Inventory, site: Site) -> None:
    """Both files of the plugin's documentation make the hosts and groups that they speak of."""
    plain, grouped = yaml.safe_load_all(EXAMPLES)
    site.create("example.com", "x.test.example")
    inventory.env["MAIL_TOKEN"] = site.token
    with misbehaving({("*", "*"): answer("20 mx.elsewhere.example.")}) as nameserver:
        here = {"nameservers": [str(nameserver)], "cache_connection": "cache", "strict": True}
        inventory.save(**plain)
        assert len(inventory.hosts()) == 4
        inventory.save(**{**grouped, **here, "api_url": site.url})
        found = inventory.listing()
    assert found["stage_created"]["hosts"] == ["example.com", "one.example", "two.example"]
    assert found["tld_com"]["hosts"] == found["unused"]["hosts"] == ["example.com"]


@pytest.mark.parametrize("name", ["api_url", "api_token"])
def test_address_and_token_are_needed(name: str, inventory: Inventory) -> None:
    """Without them the sentence names the option, the file and the variable."""
    inventory.save()
    del inventory.env[f"POSTROOM_{name.upper()}"]
    told = inventory.ask("--list")
    assert told.status != 0
    sentence = (
        f"{name}: it is not set. Set it in {inventory.file}, or set POSTROOM_{name.upper()} in"
    )
    # Some versions break lines even within the path.
    assert sentence.replace(" ", "") in "".join(told.output.split())
