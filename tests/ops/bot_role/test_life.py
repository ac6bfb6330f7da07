# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The life of a bot on a host, from its installation to its removal, in the order of this file."""

from __future__ import annotations

import socket
import stat
from pathlib import Path

from ansible_collections.postroom.email.tests.ops.bot_role.host import (
    NAME,
    Host,
    has_user,
    is_running,
    lasting_port,
    owner_of_process,
    recap_of,
)
from ansible_collections.postroom.email.tests.ops.bot_role.wheels import LATER_VERSION
from ansible_collections.postroom.email.tests.ops.runner.job import Account, job_of, run_job
from ansible_collections.postroom.email.tests.support.company import ALICE
from ansible_collections.postroom.email.tests.support.secrets import leaks

STAGED = Path("/run", f"{NAME}.staged")
NOT_ACCEPTED = "Slack does not accept slack_bot_token"
WRONG_TOKEN = "xoxb-wrong-INDIA-4417-kqzx-9930"


def mode(path: Path) -> int:
    """Return the permissions of a file or a folder."""
    return stat.S_IMODE(path.stat().st_mode)


def stage_a_secret() -> Path:
    """Leave a secret where runs stage them, and return its file."""
    file = STAGED / "credentials" / "postroom_bot_api_token"
    file.parent.mkdir(parents=True)
    file.write_text("of another time", "utf-8")
    return file


def test_it_works_for_people(host: Host) -> None:
    """Installed, it is ready, and does in Slack and at the mail service what it is there for."""
    assert host.result["action"] == "started"
    assert host.result["version"] == host.wheels.version
    assert host.result["ready"]["ready"] is True
    here = host.company
    assert here.alice.command("/email alias remove old@example.com").ok
    here.slack.wait_for_message(here.alice.direct_channel, "old@example.com")
    assert any("request.new" in line for line in host.audit())


def test_it_has_a_user_and_places_of_its_own(host: Host) -> None:
    """Its process is its user's, who alone reads its database, and its secrets but for root."""
    assert owner_of_process(host.pid) == NAME
    credentials = host.config / "credentials"
    assert (mode(host.data), mode(credentials)) == (0o700, 0o750)
    assert {mode(file) for file in credentials.iterdir()} == {0o640}
    assert {mode(file) for file in host.data.iterdir()} == {0o600}
    assert (host.data.owner(), host.data.group()) == (NAME, NAME)
    kept = [credentials, *credentials.iterdir()]
    assert {(place.owner(), place.group()) for place in kept} == {("root", NAME)}
    for file in (host.config / "settings.yml", host.config / "policy.yml"):
        assert (file.owner(), file.group(), mode(file)) == ("root", NAME, 0o640)


def test_a_second_run_changes_nothing(host: Host) -> None:
    """Nothing is written, and the same process goes on; the README's example comes to the same.

    What a run has left that was killed is gone.
    """
    before = host.pid
    left = stage_a_secret()
    run = host.deploy()
    assert not left.exists()
    assert (run.status, recap_of(run).changed) == (0, 0), run.output
    assert host.result["action"] == "none"
    shown = host.deploy_by_example()
    assert (shown.status, recap_of(shown).changed) == (0, 0), shown.output
    assert host.pid == before


def test_a_job_of_awx_does_the_same(host: Host, tmp_path: Path) -> None:
    """Other settings are put in force, a second job changes nothing, and no secret shows."""
    settings = host.settings(log_level="warning")
    job = job_of("deploy_bot", {**host.variables(), "bot_settings": settings})
    account = Account(host.company.mail.url, host.company.mail.token)
    first, again = (run_job(tmp_path / name, account, job) for name in ("first", "again"))
    assert (first.status, first.changed > 0) == ("successful", True), first.output
    assert (again.status, again.changed) == ("successful", 0), again.output
    for ended in (first, again):
        assert ended.leaks(account, *host.secrets.values()) == []
    assert host.deploy().status == 0


def test_check_mode_says_what_would_become(host: Host) -> None:
    """The settings' difference is shown, and neither they nor the process change."""
    settings, before = (host.config / "settings.yml").read_bytes(), host.pid
    run = host.deploy("--check", bot_settings=host.settings(log_level="debug"))
    assert (run.status, recap_of(run).changed) == (0, 1), run.output
    assert "+log_level: debug" in run.output
    assert host.result["action"] == "restarted"
    assert (host.config / "settings.yml").read_bytes() == settings
    assert host.pid == before


def test_an_edited_policy_is_read_anew(host: Host) -> None:
    """The process goes on with the new one."""
    before = host.pid
    text = host.policy.read_text("utf-8")
    host.policy.write_text(text.replace("requests_per_day: 1000", "requests_per_day: 999"), "utf-8")
    run = host.deploy()
    assert (run.status, recap_of(run).changed) == (0, 2), run.output
    assert host.result["action"] == "reloaded"
    host.company.slack.wait_for(lambda: "the policy was read anew" in host.log)
    assert host.pid == before


def test_a_policy_with_mistakes_is_refused(host: Host) -> None:
    """The bot says what is wrong with it, by the name given; file and process of before stay."""
    policy, before = (host.config / "policy.yml").read_bytes(), host.pid
    wrong = host.policy.parent / "wrong.yml"
    wrong.write_text("{version: 1, ruls: []}\n", "utf-8")
    run = host.deploy(bot_policy=wrong.name)
    assert run.status != 0
    assert f"what is to be put in force, so nothing was: {wrong.name}" in run.output
    assert (host.config / "policy.yml").read_bytes() == policy
    assert host.pid == before
    assert host.readiness()["policy"] == "ok"
    assert not STAGED.exists()


def test_a_taken_port_leaves_the_bot_as_it_was(host: Host) -> None:
    """It is not even stopped, and another run finds nothing to do."""
    taken, before = lasting_port(), host.pid
    with socket.create_server(("127.0.0.1", taken)):
        run = host.deploy(bot_settings=host.settings(admin_port=taken))
    assert run.status != 0
    assert f"Another program on {NAME}-host listens on port {taken}." in run.output
    assert host.pid == before
    assert host.is_done()
    assert f"admin_port: {taken}" not in (host.config / "settings.yml").read_text("utf-8")


def test_a_secret_that_is_refused_leaves_the_bot_as_it_was(host: Host) -> None:
    """The bot asks with it first, says so, and goes on with those that are good."""
    before = host.pid
    run = host.deploy(bot_secrets={**host.secrets, "slack_bot_token": WRONG_TOKEN})
    assert run.status != 0
    assert f"so nothing was: postroom-bot: {NOT_ACCEPTED}" in run.output
    assert host.pid == before
    assert host.is_ready()
    kept = host.config / "credentials" / "postroom_bot_slack_bot_token"
    assert kept.read_text("utf-8") == host.secrets["slack_bot_token"]


def test_log_and_pid_file_can_be_moved(host: Host) -> None:
    """The process of the earlier ones is ended, and nothing of them stays."""
    before = host.pid
    log, pid = host.place / "moved.log", host.place / "moved.pid"
    run = host.deploy(bot_log_file=str(log), bot_pid_file=str(pid))
    assert run.status == 0, run.output
    assert host.result["action"] == "restarted"
    assert not is_running(before)
    assert is_running(int(pid.read_text("utf-8")))
    assert log.owner() == NAME
    assert not {"bot.log", "bot.pid"} & {entry.name for entry in host.place.iterdir()}


def test_a_bot_that_does_not_get_ready_is_told_of(host: Host) -> None:
    """Where nobody was to ask first: why comes first, and the log is that of this start alone."""
    secrets = {**host.secrets, "slack_bot_token": WRONG_TOKEN}
    run = host.deploy(bot_secrets=secrets, bot_ready_timeout=5, bot_check_online=False)
    assert run.status != 0
    told = f"The bot on {NAME}-host did not get ready in 5 seconds: postroom-bot: {NOT_ACCEPTED}"
    assert told in run.output
    shown = run.output.partition("Its log since it was told to start ends with: ")[2]
    assert shown.splitlines()[0].count("postroom-bot: ") == 1
    assert "the policy was read anew" not in shown.splitlines()[0]


def test_an_upgrade_keeps_the_database(host: Host) -> None:
    """A later version begins where the one before ended, even badly; going back is refused."""
    audit = host.audit()
    run = host.deploy(bot_package=str(host.wheels.later))
    assert run.status == 0, run.output
    assert (host.result["action"], host.result["version"]) == ("restarted", LATER_VERSION)
    assert host.audit() == audit
    assert len(list((host.place / "home").glob("venv-*"))) == 1

    refused = host.deploy()
    assert refused.status != 0
    assert "which this version doesn't know: run the version that made it" in refused.output
    assert is_running(host.pid)
    assert host.is_done()
    here = host.company
    here.slack.wait_for(lambda: here.alice.command("/email help").ok)
    assert host.audit() == audit
    assert here.aliases() == [ALICE]


def test_no_secret_shows_anywhere(host: Host, tmp_path: Path) -> None:
    """What was printed at the highest verbosity, and every file but their own, is free of it."""
    printed = tmp_path / "printed"
    printed.write_text("\n".join(host.outputs), "utf-8")
    secrets = [*host.secrets.values(), WRONG_TOKEN]
    process = Path("/proc", str(host.pid))
    places = [printed, process / "cmdline", process / "environ"]
    places += [entry for entry in host.place.iterdir() if entry != host.config]
    places += [entry for entry in host.config.iterdir() if entry.name != "credentials"]
    assert leaks(secrets, places) == []
    assert len(leaks(secrets, [host.config])) >= len(host.secrets)


def test_removal_leaves_nothing_but_the_database(host: Host) -> None:
    """Root alone keeps it, until it is told to delete that, too; what others put there stays.

    So does somebody else's log that is named by mistake, where the bot's own goes.
    """
    pid = host.pid
    mail_log = host.place / "controller" / "mail.log"
    mail_log.touch()
    foreign = [host.place / "home" / "venv-of-others", host.config / "notes"]
    for folder in foreign:
        folder.mkdir()
    left = stage_a_secret()
    run = host.deploy(bot_state="absent", bot_log_file=str(mail_log))
    assert run.status == 0, run.output
    assert host.result == {"state": "absent", "action": "removed"}
    assert not is_running(pid)
    assert not has_user()
    assert not left.exists()
    assert mail_log.exists()
    there = [entry for folder in foreign for entry in folder.parent.iterdir()]
    assert [entry for entry in there if entry.name != f".made-for-{NAME}"] == foreign
    foreign[0].rmdir()
    assert {entry.owner() for entry in (host.data, *host.data.iterdir())} == {"root"}
    assert (host.data / "postroom-bot.sqlite3").is_file()
    purged = host.deploy(bot_state="absent", bot_purge_data=True)
    assert (purged.status, recap_of(purged).changed) == (0, 2), purged.output
    assert {entry.name for entry in host.place.iterdir()} == {"controller", "config"}
