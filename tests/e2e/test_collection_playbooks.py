# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The `converge`, `drift`, `export`, `add_alias`, `remove_alias` and `forwarder` playbooks."""

from __future__ import annotations

import json
import re

import pytest

from ansible_collections.postroom.email.tests.fakes.http_server import Reply, Request, serving
from ansible_collections.postroom.email.tests.support.collection_playbooks import (
    PlaybookRunner,
    output_text,
)
from ansible_collections.postroom.email.tests.support.tenant import RecordedTenant

JSON = {"Content-Type": "application/json"}
PASSWORD = "correct-horse/battery#staple"
#: Names with characters that have a special meaning in YAML, templates, shells or patterns.
ODD = ("null", "1e3", "~", "*a", "{{x}}", "#tag", "o'neil", "&a")


def assert_refused(runner: PlaybookRunner, playbook: str, variable: str, **given: object) -> None:
    """Assert that a playbook fails, and that the message names the invalid variable."""
    done = runner.play(playbook, **given)
    assert done.status == 2, done.output
    assert variable in output_text(done)


@pytest.mark.matrix
def test_a_round_trip(runner: PlaybookRunner, tenant: RecordedTenant) -> None:
    """An exported definition has no drift, and converging it changes nothing."""
    tenant.create("one.example", "xn--bcher-kva.example")
    tenant.create("ann@one.example", emails=["ann@one.example", *(f"{o}@one.example" for o in ODD)])
    tenant.create("all@one.example", members=["ann@one.example", "{{x}}@far.example"])
    done = runner.play("export", mail_definition_file="tenant.yml")
    assert (done.status, done.recap.changed) == (0, 1), done.output
    assert (runner.folder / "tenant.yml").stat().st_mode & 0o777 == 0o600
    members = ["ann@one.example", "{{x}}@far.example"]
    assert runner.load("tenant.yml") == {
        "domains": ["one.example", "xn--bcher-kva.example"],
        "mailboxes": [
            {"name": "ann@one.example", "aliases": sorted(f"{odd}@one.example" for odd in ODD)}
        ],
        "forwarders": [{"name": "all@one.example", "members": members, "aliases": []}],
    }
    with tenant.recorder.forbidding_writes():
        done = runner.play("drift", mail_definition_files="tenant.yml")
        assert (done.status, done.recap.changed) == (0, 0), done.output
        done = runner.play("converge", mail_definition_files=["tenant.yml"])
        assert (done.status, done.recap.changed) == (0, 0), done.output


@pytest.mark.full
def test_an_export_overwrites_only_on_request(
    runner: PlaybookRunner, tenant: RecordedTenant
) -> None:
    """An export overwrites an existing file only if mail_overwrite is set."""
    tenant.create("one.example", "two.example", "ann@two.example")
    runner.save("mine.yml", "mine")
    assert_refused(runner, "export", "mail_definition_file", mail_definition_file="")
    assert_refused(runner, "export", "mine.yml", mail_definition_file="mine.yml")
    given: dict[str, object] = {
        "mail_definition_file": "mine.yml",
        "mail_file_mode": "0640",
        "mail_overwrite": True,
    }
    slips: dict[str, object] = {
        "mail_overwrite": "yess",
        "mail_file_mode": 640,
        "mail_domains": "two.example,tow.example",
    }
    for name, slip in slips.items():
        named = "tow.example" if name == "mail_domains" else name
        assert_refused(runner, "export", named, **{**given, name: slip})
        assert runner.load("mine.yml") == "mine"
    done = runner.play("export", mail_domains=["two.example"], **given)
    assert done.status == 0, done.output
    assert (runner.folder / "mine.yml").stat().st_mode & 0o777 == 0o640
    assert runner.load("mine.yml") == {
        "domains": ["two.example"],
        "mailboxes": [{"name": "ann@two.example", "aliases": []}],
        "forwarders": [],
    }


def test_drift_is_reported_with_its_direction(
    runner: PlaybookRunner, tenant: RecordedTenant
) -> None:
    """Drift makes the run fail and is written to the report file, except for ignored names."""
    tenant.create("one.example", "old.example", "zoe@old.example", "bob@one.example")
    tenant.create("xn--bcher-kva.example", "eve@xn--bcher-kva.example")
    tenant.create("ann@one.example", emails=["ann@one.example", "hi@one.example", "ho@one.example"])
    tenant.create("all@one.example", members=["ann@one.example"])
    boxes = [
        {"name": "ann@one.example", "aliases": ["hi@one.example"]},
        {"name": "bob@one.example", "state": "absent"},
        "cat@new.example",
    ]
    runner.save("tenant.yml", {"domains": ["one.example", "new.example"], "mailboxes": boxes})
    forwarders = [{"name": "all@one.example", "members": ["x@far.example"]}]
    runner.save("more.yml", {"forwarders": forwarders})
    given: dict[str, object] = {
        "mail_definition_files": "tenant.yml, more.yml",
        "mail_report_file": "drift.txt",
        # Names match in any spelling, and a dot in a pattern matches only a dot.
        "mail_ignore": ["Bücher.example", "*@bücher.example", "z*.old"],
    }
    with tenant.recorder.forbidding_writes():
        done = runner.play("drift", **given)
    assert (done.status, done.recap.changed, done.recap.failed) == (2, 1, 1), done.output
    report = (runner.folder / "drift.txt").read_text("utf-8").splitlines()
    assert {": ".join(line.split(": ")[:2]) for line in report} == {
        "missing: domain new.example",
        "missing: mailbox cat@new.example",
        "differs: forwarder all@one.example",
        "declared absent: mailbox bob@one.example",
        "not declared: alias ho@one.example of ann@one.example",
        "not declared: domain old.example",
        "not declared: mailbox zoe@old.example",
    }
    # The line is in the report and in the error message.
    assert all(done.output.count(line) > 1 for line in report)


@pytest.mark.matrix
@pytest.mark.full
def test_the_definition_of_a_bot_is_merged(runner: PlaybookRunner, tenant: RecordedTenant) -> None:
    """The bot's definition is merged with the files; without it, nothing can be undone."""
    tenant.create("one.example", "bob@one.example")
    tenant.create("ann@one.example", emails=["ann@one.example", "hi@one.example"])
    mailboxes = [{"name": "ann@one.example", "aliases": []}, "bob@one.example"]
    runner.save("tenant.yml", {"domains": ["one.example"], "mailboxes": mailboxes})
    chat = {"mailboxes": [{"name": "ann@one.example", "aliases": ["hi@one.example"]}]}
    body = json.dumps({**chat, "forwarders": []}).encode()
    works = {"works": True}

    def reply(request: Request) -> Reply:
        is_right = request.headers["authorization"] == f"Bearer {PASSWORD}"
        return Reply(200 if works["works"] and is_right else 401, body, JSON)

    with serving(reply) as server, tenant.recorder.forbidding_writes():
        given: dict[str, object] = {
            "mail_definition_files": "tenant.yml",
            "mail_bot_url": f"{server.url}/definition",
            "vault_mail_bot_token": PASSWORD,
        }
        purge = {**given, "mail_purge": "alias", "mail_max_deletions": 1}
        for playbook, variables in (("drift", given), ("converge", purge)):
            done = runner.play(playbook, "-vvv", **variables)
            assert (done.status, done.recap.changed) == (0, 0), done.output
            assert PASSWORD not in done.output
        works["works"] = False
        done = runner.play("drift", **given)
        assert done.status == 2
        assert "not compared: undeclared mailboxes" in output_text(done)
        assert "hi@one.example" not in done.output
        assert_refused(runner, "converge", "does not accept vault_mail_bot_token", **purge)


def test_converge_applies_only_the_reviewed_plan(
    runner: PlaybookRunner, tenant: RecordedTenant
) -> None:
    """`converge` refuses a plan that differs from the reviewed plan or that purges too much."""
    tenant.create("one.example", "bob@one.example")
    runner.save("tenant.yml", {"domains": ["one.example"], "mailboxes": ["ann@one.example"]})
    given: dict[str, object] = {
        "mail_definition_files": "tenant.yml",
        "vault_mail_passwords": {"ann@one.example": PASSWORD},
        "mail_purge": "mailbox",
        "mail_max_deletions": 1,
    }
    with tenant.recorder.forbidding_writes():
        done = runner.play("converge", "--check", "--diff", **given)
    assert done.status == 0, done.output
    assert "create: 1, update: 0, delete: 1, unchanged: 1" in done.output
    (digest,) = re.findall(r"plan_digest: (v2:sha256:\w+)", done.output)
    # The next step of a workflow uses this result.
    assert f'"mail_expected_plan": "{digest}"' in done.output
    with tenant.recorder.forbidding_writes():
        other = {**given, "mail_expected_plan": f"v2:sha256:{0:064}"}
        assert_refused(runner, "converge", "not the expected plan", **other)
    done = runner.play("converge", mail_expected_plan=digest, **given)
    assert (done.status, done.recap.changed) == (0, 1), done.output
    assert set(tenant.listing()) == {"one.example", "ann@one.example"}
    assert PASSWORD not in done.output


@pytest.mark.matrix
def test_messages_name_the_variables_that_work(
    runner: PlaybookRunner, tenant: RecordedTenant
) -> None:
    """Messages use the names of the playbook's variables, and warn of unused or misspelled ones."""
    tenant.create("one.example", "bob@one.example")
    runner.save("tenant.yml", {"domains": ["one.example"]})
    given: dict[str, object] = {"mail_definition_files": "tenant.yml", "mail_purge": "mailbox"}
    slips = [f"-e{name}=1" for name in ("max_deletions", "mail_max_deletion", "mail_alias")]
    done = runner.play("converge", *slips, **given)
    assert done.status == 2, done.output
    for expected in (
        "declare them. Set scope with mail_scope, max_deletions with mail_max_deletions.",
        "variable max_deletions is not used: it is a module option. Set mail_max_deletions.",
        "No playbook uses the variable mail_max_deletion. Did you mean mail_max_deletions?",
        "variable mail_alias is not used here. It is only used in: add_alias, remove_alias.",
    ):
        assert expected in output_text(done), done.output
    runner.save("new.yml", {"mailboxes": ["ann@one.example", "cat@one.example"]})
    for options, status in (((), 2), (("--check",), 0)):
        done = runner.play("converge", *options, mail_definition_files="new.yml")
        assert done.status == status, done.output
        missing = "ann@one.example, cat@one.example: a new mailbox needs a password."
        remedy = "Set mail_passwords_file or vault_mail_passwords."
        assert f"{missing} {remedy}" in output_text(done)
        assert "Set passwords" not in done.output
    runner.save("passwords.yml", ["no map"])
    done = runner.play("converge", mail_passwords_file="passwords.yml", **given)
    assert "mail_passwords_file: This must be a map" in output_text(done)
    done = runner.play("converge", mail_max_deletions=1, **given)
    assert done.status == 0, done.output
    assert "WARNING" not in done.output
    assert "bob@one.example" not in tenant.listing()


@pytest.mark.full
@pytest.mark.parametrize(
    ("given", "stays", "shown"),
    [
        ({"mail_max_deletions": 0}, True, "max_deletions allows 0"),
        ({"mail_scope": []}, True, "unchanged: 1"),
        ({"mail_ignore": "bob@*"}, True, "unchanged: 1"),
        ({"mail_max_delete_percent": 0}, True, "max_delete_percent allows 0"),
        ({"mail_scope": "", "mail_max_delete_percent": None}, False, "delete: 1"),
    ],
)
def test_purge_limits_of_converge(
    given: dict[str, object],
    stays: bool,
    shown: str,
    runner: PlaybookRunner,
    tenant: RecordedTenant,
) -> None:
    """With an empty scope or a limit of 0, nothing is purged. A blank answer sets no limit."""
    tenant.create("one.example", "bob@one.example")
    runner.save("tenant.yml", {"domains": ["one.example"]})
    wanted = {"mail_definition_files": "tenant.yml", "mail_purge": ["mailbox"]}
    done = runner.play("converge", **{"mail_max_deletions": 1, **wanted, **given})
    assert shown in output_text(done)
    assert ("bob@one.example" in tenant.listing()) == stays


@pytest.mark.full
def test_wrong_answers_name_their_variables(runner: PlaybookRunner, tenant: RecordedTenant) -> None:
    """Error messages name the playbook's variable, not the option of the role or module."""
    runner.save("tenant.yml", {"domains": []})
    (runner.folder / "logs").mkdir()
    slips: list[tuple[str, str, object]] = [
        ("converge", "mail_max_deletions", "abc"),
        ("converge", "mail_max_delete_percent", "1/2"),
        ("converge", "mail_purge", "alias, aliases"),
        ("converge", "mail_definition_files", []),
        ("drift", "mail_definition_files", None),
        ("drift", "mail_report_file", "none/file"),
        ("drift", "mail_report_file", "./tenant.yml"),
        ("report", "mail_report_file", "logs"),
        ("report", "mail_report_file", ["logs/file"]),
        ("forwarder", "mail_purge_members", "ture"),
        ("forwarder", "mail_forwarder", " \n"),
        ("add_alias", "mail_alias", 7),
        ("remove_alias", "mail_mailbox", "a@one.example,b@one.example"),
    ]
    given = {
        "mail_definition_files": "tenant.yml",
        "mail_forwarder": "all@one.example",
        "mail_alias": "hi@one.example",
        "mail_mailbox": "ann@one.example",
    }
    with tenant.recorder.forbidding_writes():
        for playbook, name, slip in slips:
            assert_refused(runner, playbook, name, **{**given, name: slip})
        unanswered = {"mail_api_url": "", "vault_mail_token": None, "mail_purge": "alias, mailbox"}
        limits = {"mail_max_deletions": "1", "mail_max_delete_percent": 12.5}
        done = runner.play("converge", **given, **unanswered, **limits)
        assert done.status == 0, done.output
    assert list((runner.folder / "logs").iterdir()) == []
    assert runner.load("tenant.yml") == {"domains": []}


def test_one_alias_comes_and_goes(runner: PlaybookRunner, tenant: RecordedTenant) -> None:
    """The playbooks add an alias, refuse to take it from another mailbox, and remove it."""
    tenant.create("one.example", "ann@one.example")
    tenant.create("bob@one.example", emails=["bob@one.example", "ho@one.example"])
    given = {"mail_alias": "hi@one.example\n", "mail_mailbox": " ann@one.example"}
    with tenant.recorder.forbidding_writes():
        done = runner.play("add_alias", "--check", **given)
        assert (done.status, done.recap.changed) == (0, 1), done.output
    assert runner.play("add_alias", **given).recap.changed == 1
    assert tenant.listing()["ann@one.example"]["emails"] == {"ann@one.example", "hi@one.example"}
    done = runner.play("remove_alias", **{**given, "mail_alias": "ho@one.example"})
    assert (done.status, done.recap.changed) == (0, 0), done.output
    assert "ho@one.example is an alias of bob@one.example" in output_text(done)
    assert runner.play("remove_alias", **given).recap.changed == 1
    assert tenant.listing()["ann@one.example"]["emails"] == {"ann@one.example"}


@pytest.mark.full
def test_an_alias_moves_on_request(runner: PlaybookRunner, tenant: RecordedTenant) -> None:
    """An alias is moved from one mailbox to another only if mail_move is set."""
    tenant.create("one.example", "ann@one.example")
    tenant.create("bob@one.example", emails=["bob@one.example", "hi@one.example"])
    given = {"mail_alias": "hi@one.example", "mail_mailbox": "ann@one.example"}
    assert_refused(runner, "add_alias", "hi@one.example is already an alias", **given)
    assert runner.play("add_alias", **given, mail_move="yes").recap.changed == 1
    assert runner.play("add_alias", **given).recap.changed == 0
    absent = {"mail_mailbox": "none@one.example", "mail_alias": "hi@none.example"}
    for name, value in absent.items():
        assert_refused(runner, "remove_alias", f"Check {name}", **{**given, name: value})


def test_one_forwarder_comes_and_goes(runner: PlaybookRunner, tenant: RecordedTenant) -> None:
    """A forwarder's members can be a list or text. By default, they replace the current members."""
    tenant.create("one.example", "ann@one.example")
    team = {"mail_forwarder": " all@one.example\n"}
    runner.play("forwarder", **team, mail_members=["ann@one.example", "x@far.example"])
    done = runner.play(
        "forwarder", **team, mail_members=" y@far.example,\n", mail_purge_members="no"
    )
    assert (done.status, done.recap.changed) == (0, 1), done.output
    assert len(tenant.listing()["all@one.example"]["members"]) == 3
    unanswered = {"mail_state": "", "mail_purge_members": ""}
    runner.play("forwarder", **team, mail_members="y@far.example\r\nz@far.example", **unanswered)
    assert tenant.listing()["all@one.example"]["members"] == {"y@far.example", "z@far.example"}
    done = runner.play("forwarder", **team, mail_members="", mail_state="absent")
    assert (done.status, done.recap.changed) == (0, 1), done.output
    assert "all@one.example" not in tenant.listing()
