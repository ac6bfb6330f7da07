# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""A bot on a host from installation to removal, in the order of the tests in this file."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from ansible_collections.postroom.email.tests.ops.bot_role.host import (
    LATER_VERSION,
    NAME,
    Host,
    build_wheels,
    is_running,
    lasting_port,
    recap_of,
)
from ansible_collections.postroom.email.tests.ops.runner.job import Account, job_of, run_job
from ansible_collections.postroom.email.tests.support.company import ALICE, open_company
from ansible_collections.postroom.email.tests.support.secrets import leaks

STAGED = Path("/run", f"{NAME}.staged")
NOT_ACCEPTED = "Slack rejected slack_bot_token"
WRONG_TOKEN = "xoxb-wrong-INDIA-4417-kqzx-9930"
PROGRAMS = ("start-stop-daemon", "setpriv", "useradd")
_SUITABLE = "import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))"


def missing() -> str:
    """Return the reason why the bot can't be deployed on this machine, or an empty string."""
    if os.geteuid() != 0:
        return "only root can make the bot's user"
    for program in PROGRAMS:
        if shutil.which(program) is None:
            return f"needs {program}"
    python = subprocess.run(["/usr/bin/python3", "-c", _SUITABLE], check=False, capture_output=True)
    return "needs Python 3.11 with venv as /usr/bin/python3" if python.returncode else ""


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    """Provide a host on which the bot is running and ready.

    The bot's group existed before the installation.
    """
    if reason := missing():
        pytest.skip(reason)
    built = build_wheels(tmp_path_factory.mktemp("wheels"))
    # pytest's own directory can't be used, because the bot's user has no access to it.
    with (
        tempfile.TemporaryDirectory(prefix="postroom-host-") as folder,
        open_company(tmp_path_factory.mktemp("company")) as company,
    ):
        Path(folder).chmod(0o755)
        found = Host(Path(folder), company, built)
        try:
            # If a test run is killed, it leaves the bot's user behind, but no directories.
            subprocess.run(["userdel", NAME], check=False, capture_output=True)
            subprocess.run(["groupadd", "--system", "--force", NAME], check=True)
            installed = found.deploy()
            assert installed.status == 0, installed.output
            yield found
        finally:
            removed = found.deploy(bot_state="absent", bot_purge_data=True)
            assert removed.status == 0, removed.output


def access(path: Path) -> tuple[str, str, int]:
    """Return the owner, group and mode of a file or directory."""
    return path.owner(), path.group(), path.stat().st_mode & 0o777


def stage_a_secret() -> Path:
    """Create a file with a secret, as an interrupted run would leave it. Return the file's path."""
    file = STAGED / "credentials" / "postroom_bot_api_token"
    file.parent.mkdir(parents=True)
    file.write_text("of another time", "utf-8")
    return file


def test_an_installed_bot_works(host: Host) -> None:
    """An installed bot is ready, and a Slack command updates the mail service and the audit log."""
    assert host.result["action"] == "started"
    assert host.result["version"] == host.wheels.version
    assert host.result["ready"]["ready"] is True
    company = host.company
    assert company.alice.command("/email alias remove old@example.com").ok
    company.slack.wait_for_message(company.alice.direct_channel, "old@example.com")
    assert any("request.new" in line for line in host.audit())


def test_files_belong_to_the_bot_s_user(host: Host) -> None:
    """Only the bot's user can read the database, and that user can't change the secrets."""
    assert Path("/proc", str(host.pid)).owner() == NAME
    assert access(host.data) == (NAME, NAME, 0o700)
    assert {access(file)[2] for file in host.data.iterdir()} == {0o600}
    credentials = host.config / "credentials"
    assert access(credentials) == ("root", NAME, 0o750)
    files = [*credentials.iterdir(), host.config / "settings.yml", host.config / "policy.yml"]
    assert {access(file) for file in files} == {("root", NAME, 0o640)}


def test_a_second_run_changes_nothing(host: Host) -> None:
    """A second run changes nothing, and removes the temporary files of an interrupted run."""
    before, left = host.pid, stage_a_secret()
    run = host.deploy()
    assert not left.exists()
    assert (run.status, recap_of(run).changed) == (0, 0), run.output
    assert host.result["action"] == "none"
    next_steps = run.output.rpartition("TASK [postroom.email.bot : Show what to do next")[2]
    assert "is ready. Next:\n" in next_steps
    assert f"are in {host.config}/credentials." in next_steps
    example = host.deploy_by_example()
    assert (example.status, recap_of(example).changed) == (0, 0), example.output
    assert host.pid == before


def test_a_job_of_awx_deploys(host: Host, tmp_path: Path) -> None:
    """A job in AWX applies other settings and reveals no secret."""
    settings = host.settings(log_level="warning")
    job = job_of("deploy_bot", {**host.variables(), "bot_settings": settings})
    account = Account(host.company.mail.url, host.company.mail.token)
    ended = run_job(tmp_path / "job", account, job)
    assert (ended.status, ended.changed > 0) == ("successful", True), ended.output
    assert ended.leaks(account, *host.secrets.values()) == []


def test_check_mode_predicts_the_changes(host: Host) -> None:
    """Check mode shows a diff of the settings, but changes neither the settings nor the process."""
    settings, before = (host.config / "settings.yml").read_bytes(), host.pid
    run = host.deploy("--check")
    assert (run.status, recap_of(run).changed) == (0, 1), run.output
    assert "is ready. Next:" not in run.output
    assert "-log_level: warning" in run.output
    assert host.result["action"] == "restarted"
    assert (host.config / "settings.yml").read_bytes() == settings
    assert host.pid == before


def test_log_and_pid_file_can_be_moved(host: Host) -> None:
    """If the log and the PID file are moved, the bot is restarted and the old files are removed."""
    before = host.pid
    host.log_file, host.pid_file = host.place / "moved.log", host.place / "moved.pid"
    run = host.deploy()
    assert run.status == 0, run.output
    assert host.result["action"] == "restarted"
    assert not is_running(before)
    assert is_running(host.pid)
    assert host.log_file.owner() == NAME
    assert not {"bot.log", "bot.pid"} & {entry.name for entry in host.place.iterdir()}


def test_an_edited_policy_is_reloaded(host: Host) -> None:
    """A changed policy is reloaded without restarting the bot."""
    before = host.pid
    text = host.policy.read_text("utf-8")
    host.policy.write_text(text.replace("requests_per_day: 1000", "requests_per_day: 999"), "utf-8")
    run = host.deploy()
    assert (run.status, recap_of(run).changed) == (0, 2), run.output
    assert host.result["action"] == "reloaded"
    host.company.slack.wait_for(lambda: "the policy was reloaded" in host.log)
    assert host.pid == before


def test_wrong_input_leaves_the_bot_as_it_was(host: Host) -> None:
    """An invalid policy, a port in use and a rejected token are detected before any change."""
    before = host.pid
    files = [file for file in host.config.rglob("*") if file.is_file()]
    contents = [file.read_bytes() for file in files]
    wrong = host.policy.parent / "wrong.yml"
    wrong.write_text("{version: 1, ruls: []}\n", "utf-8")
    policy = host.deploy(bot_policy=wrong.name)
    assert f"so the role did not apply it: {wrong.name}" in policy.output
    with socket.create_server(("127.0.0.1", lasting_port())) as server:
        taken = server.getsockname()[1]
        port = host.deploy(bot_settings=host.settings(admin_port=taken))
    assert f"listens on port {taken}." in port.output
    secret = host.deploy(bot_secrets={**host.secrets, "slack_bot_token": WRONG_TOKEN})
    assert f"so the role did not apply it: postroom-bot: {NOT_ACCEPTED}" in secret.output
    assert 0 not in (policy.status, port.status, secret.status)
    assert [file.read_bytes() for file in files] == contents
    assert host.pid == before
    assert host.readiness()["ready"]
    assert not STAGED.exists()
    assert (host.place / "home" / "done").exists()


def test_a_bot_that_does_not_get_ready_is_reported(host: Host) -> None:
    """If the bot does not become ready, the message has the reason and the log of this start."""
    secrets = {**host.secrets, "slack_bot_token": WRONG_TOKEN}
    run = host.deploy(bot_secrets=secrets, bot_ready_timeout=5, bot_check_online=False)
    assert run.status != 0
    assert f"was not ready after 5 seconds: postroom-bot: {NOT_ACCEPTED}" in run.output
    log = run.output.partition("The bot's log since the start ends with: ")[2].splitlines()[0]
    assert log.count("postroom-bot: ") == 1
    assert "the policy was reloaded" not in log


def test_an_upgrade_keeps_the_database(host: Host) -> None:
    """An upgrade keeps the database and replaces a failed bot, while a downgrade is refused."""
    audit = host.audit()
    run = host.deploy(bot_package=str(host.wheels.later))
    assert run.status == 0, run.output
    assert (host.result["action"], host.result["version"]) == ("restarted", LATER_VERSION)
    assert host.audit() == audit
    assert len(list((host.place / "home").glob("venv-*"))) == 1

    refused = host.deploy()
    assert refused.status != 0
    assert "run the version that created it" in refused.output
    assert is_running(host.pid)
    company = host.company
    company.slack.wait_for(lambda: company.alice.command("/email help").ok)
    assert host.audit() == audit
    assert company.aliases() == [ALICE]


def test_no_secret_leaks(host: Host, tmp_path: Path) -> None:
    """Secrets are only in their own files, and never in the output at the highest verbosity."""
    printed = tmp_path / "printed"
    printed.write_text("\n".join(host.outputs), "utf-8")
    secrets = [*host.secrets.values(), WRONG_TOKEN]
    process = Path("/proc", str(host.pid))
    places = [printed, process / "cmdline", process / "environ"]
    places += [entry for entry in host.place.iterdir() if entry != host.config]
    places += [entry for entry in host.config.iterdir() if entry.name != "credentials"]
    assert leaks(secrets, places) == []
    assert len(leaks(secrets, [host.config])) >= len(host.secrets)


def test_removal_leaves_only_the_database(host: Host) -> None:
    """Removal keeps the database, which only root can read, and files that others have created."""
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
    assert NAME not in {user.pw_name for user in pwd.getpwall()}
    assert not left.exists()
    assert mail_log.exists()
    remaining = [entry for folder in foreign for entry in folder.parent.iterdir()]
    assert [entry for entry in remaining if entry.name != f".made-for-{NAME}"] == foreign
    foreign[0].rmdir()
    assert {entry.owner() for entry in (host.data, *host.data.iterdir())} == {"root"}
    assert (host.data / "postroom-bot.sqlite3").is_file()
    purged = host.deploy(bot_state="absent", bot_purge_data=True)
    assert (purged.status, recap_of(purged).changed) == (0, 2), purged.output
    assert {entry.name for entry in host.place.iterdir()} == {"controller", "config"}
