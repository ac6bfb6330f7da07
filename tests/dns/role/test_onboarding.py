# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Taking domains on: registered, published on a real name server, and told how far they are."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.postroom.email.tests.dns.role.rig import dkim_text
from ansible_collections.postroom.email.tests.support import bind
from ansible_collections.postroom.email.tests.support.desk import Desk, words
from ansible_collections.postroom.email.tests.support.playbooks import Run, read_recap
from ansible_collections.postroom.email.tests.support.recorder import Recorder, recording
from ansible_collections.postroom.email.tests.support.service import RunningService

ONE, TWO, PASTED = "one.onboarded.example", "xn--bcher-kva.example", "pasted.example"
KEY = bind.new_key("mail")
SPF = '"v=spf1 include:spf.postroom.test ~all"'


@pytest.fixture
def recorder(service: RunningService) -> Iterator[Recorder]:
    """Run a recorder in front of the service."""
    with recording(service.url) as recorder:
        yield recorder


@pytest.fixture
def desk(recorder: Recorder, service: RunningService, tmp_path: Path) -> Desk:
    """Give a folder to run playbooks in."""
    return Desk(tmp_path, recorder.url, service.token)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[bind.BindServer]:
    """Run a name server that holds the domains, one of them with records of others."""
    theirs = '@ TXT "v=spf1 mx -all"'
    with bind.running(tmp_path, {ONE: "", TWO: theirs, PASTED: ""}, keys=[KEY]) as server:
        yield server


def changed(told: Run) -> dict[str, int]:
    """Return how much was changed for each host, and see that nothing failed."""
    recaps = {line.split()[0]: read_recap(line) for line in told.output.splitlines() if line}
    counts = {host: recap for host, recap in recaps.items() if recap is not None}
    assert told.status == 0, told.output
    return {host: recap.changed for host, recap in counts.items()}


def asking(server: bind.BindServer) -> dict[str, Any]:
    """Return the variables of the role that have the tests ask nobody else."""
    return {"dns_nameservers": [str(server)], "dns_resolvers": [str(server)]}


def test_domains_of_an_inventory(
    desk: Desk, recorder: Recorder, service: RunningService, server: bind.BindServer
) -> None:
    """Each host's domain is registered, published at the host's provider, and told of, once."""
    publishing = {
        "dns_provider": "rfc2136", "dns_update_server": str(server), "dns_tsig_name": KEY.name,
        "dns_tsig_secret": KEY.secret,
    }  # fmt: skip
    hosts = {"one": {"email_domain": ONE}, "two": {"email_domain": "Bücher.example"}}
    hosts["three"] = {"email_domain": PASTED, "dns_provider": "none"}
    desk.save("hosts.yml", {"domains": {"hosts": hosts, "vars": publishing}})
    given = {"mail_hosts": "domains", "mail_domain": "", **asking(server)}
    with recorder.forbidding_writes():
        told = desk.play("onboard_domain", "-i", "hosts.yml", "--check", **given)
    assert changed(told) == {"one": 1, "two": 1, "three": 1}
    assert f"{ONE} is to be registered. Its records are known after that." in words(told)
    assert server.lookup(ONE, "MX") == ()
    told = desk.play("onboard_domain", "-i", "hosts.yml", "-vvvv", "--diff", **given)
    assert changed(told) == {"one": 2, "two": 2, "three": 1}
    assert KEY.secret not in told.output
    assert service.token not in told.output
    assert f"{ONE} is active: its records are published, and resolvers see them." in words(told)
    assert f"MX {TWO}: match" in words(told)
    assert f"{PASTED} is registered, and its records are not all published." in words(told)
    assert server.lookup(ONE, "MX") == ("10 mail.postroom.test.",)
    assert server.lookup(TWO, "TXT") == ('"v=spf1 mx include:spf.postroom.test -all"',)
    told = desk.play("onboard_domain", "-i", "hosts.yml", **given)
    assert changed(told) == {"one": 0, "two": 0, "three": 0}


def test_a_domain_without_a_provider(
    desk: Desk, service: RunningService, server: bind.BindServer
) -> None:
    """Here and without an inventory: what to paste is printed, and what is missing is told."""
    domain = "pasted.example"
    # As it comes with a form.
    told = desk.play("onboard_domain", mail_domain=f" {domain}\n", **asking(server))
    assert told.status == 0, told.output
    assert f"{domain}: do this at the DNS provider that holds the zone." in words(told)
    assert dkim_text(service, domain) in told.output
    assert f"MX {domain}: missing: " in words(told)
    assert f"At {domain}, add the record MX 10 mail.postroom.test." in words(told)
    # Then it is a host of the inventory of domains.
    desk.save("mail.email_domains.yml", {"plugin": "postroom.email.email_domains"})
    given = {"mail_hosts": domain, "dns_verify": False}
    told = desk.play("onboard_domain", "-i", "mail.email_domains.yml", **given)
    assert changed(told) == {domain: 0}
    assert f"{domain} is registered, and nobody was asked for its records." in words(told)
    assert f"MX {domain}: not looked at" in words(told)
    assert "What is there now was not looked up, as dns_verify is off:" in words(told)


def test_a_domain_is_needed(desk: Desk, recorder: Recorder) -> None:
    """One for each host; the sentence says how to give it."""
    desk.save("hosts.yml", {"all": {"hosts": {"one": {}, "two": {"email_domain": ONE}}}})
    with recorder.forbidding_writes():
        told = desk.play("onboard_domain", mail_domain=None)
        assert told.status == 2
        assert "Give mail_domain, such as -e mail_domain=example.com, or a host" in words(told)
        given = {"mail_hosts": "all", "mail_domain": ONE}
        told = desk.play("onboard_domain", "-i", "hosts.yml", **given)
        assert told.status == 2
        assert "mail_domain names one domain and mail_hosts 2 hosts. Leave mail_domain" in words(
            told
        )
        given = {"mail_hosts": "nowhere", "mail_domain": f" {ONE}\n"}
        told = desk.play("onboard_domain", "-i", "hosts.yml", **given)
        assert told.status == 2
        assert f"matches it. Leave it out, or name a host. {ONE} was not taken on." in words(told)
        slips = {
            "cloudfare": "got: cloudfare. Correct it. Nothing was changed.",
            "cloudflare": "dns_cloudflare_api_token is not set, and dns_provider=cloudflare",
        }
        for provider, sentence in slips.items():
            told = desk.play("onboard_domain", mail_domain=ONE, dns_provider=provider)
            assert told.status == 2
            assert sentence in words(told)
        told = desk.play("onboard_domain", mail_domain=ONE, dns_verify="maybe")
        assert "'maybe' is not a valid boolean." in words(told)
        told = desk.play("onboard_domain", "-i", "hosts.yml", mail_hosts="nowhere")
        assert told.status == 0, told.output
        assert "no host of the inventory matches it. No domain was taken on." in words(told)
