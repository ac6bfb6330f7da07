# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The `onboard_domain` playbook and the DNS guide, with a real name server."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.postroom.email.tests.docs import fenced_blocks
from ansible_collections.postroom.email.tests.docs.guide_runner import Reader
from ansible_collections.postroom.email.tests.support import bind
from ansible_collections.postroom.email.tests.support.collection_playbooks import (
    PlaybookRunner,
    output_text,
)
from ansible_collections.postroom.email.tests.support.playbooks import Run, read_recap
from ansible_collections.postroom.email.tests.support.recording_proxy import Recorder
from ansible_collections.postroom.email.tests.support.service import RunningService, running_service
from ansible_collections.postroom.email.tests.support.tenant import Api

ONE, TWO, PASTED = "one.onboarded.example", "xn--bcher-kva.example", "pasted.example"
KEY = bind.new_key("mail")
GUIDE = fenced_blocks.CHECKOUT / "docs" / "guides" / "dns.md"
#: The section with a zone and a server to try the guide with. tests/hosts runs its commands.
TRIAL = "A name server for trials"
GRANTS = re.compile(r"^\s*(grant .*;)$", re.MULTILINE)


@pytest.fixture
def runner(recorder: Recorder, service: RunningService, tmp_path: Path) -> PlaybookRunner:
    """Provide a directory for running playbooks."""
    return PlaybookRunner(tmp_path, recorder.url, service.token)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[bind.BindServer]:
    """Run a name server that hosts the domains, one of which already has records."""
    theirs = '@ TXT "v=spf1 mx -all"'
    with bind.running(tmp_path, {ONE: "", TWO: theirs, PASTED: ""}, keys=[KEY]) as server:
        yield server


def changed(run: Run) -> dict[str, int]:
    """Return the number of changes that a successful run made on each host."""
    assert run.status == 0, run.output
    recaps = {line.split()[0]: read_recap(line) for line in run.output.splitlines() if line}
    return {host: recap.changed for host, recap in recaps.items() if recap is not None}


def test_domains_of_an_inventory(
    runner: PlaybookRunner, recorder: Recorder, service: RunningService, server: bind.BindServer
) -> None:
    """Each host's domain is registered and published at its provider exactly once."""
    publishing = {"dns_provider": "rfc2136", "dns_update_server": str(server)}
    publishing |= {"dns_tsig_name": KEY.name, "dns_tsig_secret": KEY.secret}
    hosts = {"one": {"email_domain": ONE}, "two": {"email_domain": "Bücher.example"}}
    hosts["three"] = {"email_domain": PASTED, "dns_provider": "none"}
    runner.save("hosts.yml", {"domains": {"hosts": hosts, "vars": publishing}})
    asked = {"dns_nameservers": [str(server)], "dns_resolvers": [str(server)]}
    given = {"mail_hosts": "domains", "mail_domain": "", **asked}
    with recorder.forbidding_writes():
        would = runner.play("onboard_domain", "-i", "hosts.yml", "--check", **given)
    assert changed(would) == {"one": 1, "two": 1, "three": 1}
    assert server.lookup(ONE, "MX") == ()
    done = runner.play("onboard_domain", "-i", "hosts.yml", "-vvvv", "--diff", **given)
    assert changed(done) == {"one": 2, "two": 2, "three": 1}
    assert KEY.secret not in done.output
    assert service.token not in done.output
    assert f"{ONE} is active" in output_text(done)
    assert f"MX {TWO}: match" in output_text(done)
    assert f"MX {PASTED}: missing: " in output_text(done)
    assert f"{PASTED}: make these changes at the DNS provider" in output_text(done)
    assert server.lookup(ONE, "MX") == ("10 mail.postroom.test.",)
    assert server.lookup(TWO, "TXT") == ('"v=spf1 mx include:spf.postroom.test -all"',)
    again = runner.play("onboard_domain", "-i", "hosts.yml", **given)
    assert changed(again) == {"one": 0, "two": 0, "three": 0}


def test_one_domain(runner: PlaybookRunner, server: bind.BindServer) -> None:
    """A domain can be given as a variable, or as a host from the inventory plugin."""
    asked = {"dns_nameservers": [str(server)], "dns_resolvers": [str(server)]}
    done = runner.play("onboard_domain", mail_domain=f" {PASTED}\n", **asked)
    assert done.status == 0, done.output
    assert f"At {PASTED}, add the record MX 10 mail.postroom.test." in output_text(done)
    runner.save("mail.email_domains.yml", {"plugin": "postroom.email.email_domains"})
    given = {"mail_hosts": PASTED, "dns_verify": False}
    again = runner.play("onboard_domain", "-i", "mail.email_domains.yml", **given)
    assert changed(again) == {PASTED: 0}
    assert f"MX {PASTED}: not checked" in output_text(again)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"mail_domain": None}, "Set mail_domain"),
        ({"mail_hosts": "all", "mail_domain": ONE}, "mail_domain is one domain"),
        ({"mail_hosts": "nowhere", "mail_domain": f" {ONE}\n"}, f"{ONE} was not onboarded."),
        (
            {"mail_domain": ONE, "dns_provider": "cloudflare"},
            "dns_cloudflare_api_token is required",
        ),
        ({"mail_hosts": "nowhere"}, "No domain was onboarded."),
    ],
)
def test_mistakes_change_nothing(
    runner: PlaybookRunner, recorder: Recorder, given: dict[str, Any], message: str
) -> None:
    """A missing, ambiguous or misspelled variable is reported before any domain is registered."""
    runner.save("hosts.yml", {"all": {"hosts": {"one": {}, "two": {"email_domain": ONE}}}})
    options = ("-i", "hosts.yml") if "mail_hosts" in given else ()
    with recorder.forbidding_writes():
        run = runner.play("onboard_domain", *options, **given)
    assert run.status == (0 if given == {"mail_hosts": "nowhere"} else 2)
    assert message in output_text(run)


def test_the_guide_does_what_it_says(tmp_path: Path) -> None:
    """With the guide's zone and rules, the playbook can change only the domain's own records."""
    files = {b.file_name: b.text for b in fenced_blocks.blocks(section=TRIAL, file=GUIDE)}
    text = f"{files['/var/lib/bind/example.com.zone']}@ TXT theirs"
    rules = "\n".join(GRANTS.findall(files["/etc/bind/named.conf.local"]))
    zone = bind.Zone(text, policy=rules)
    folder, key = tmp_path / "desk", bind.new_key("mail-records")
    folder.mkdir()
    with (
        running_service(tmp_path / "service") as service,
        bind.running(tmp_path, {"example.com": zone}, keys=[key]) as server,
    ):
        with contextlib.closing(Api(service.url, service.token)) as api:
            api.create("example.com")
        addresses = dict.fromkeys(("192.0.2.53", "192.0.2.54"), str(server))
        reader = Reader(folder, service, {**addresses, "the-secret-of-the-key": key.secret})
        reader.follow(GUIDE)
        assert server.lookup("example.com", "TXT") == ('"theirs"',)
