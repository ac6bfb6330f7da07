# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The texts that playbooks print at the end, and the `print_text` module."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.postroom.email.tests.support import playbooks

PRINTED = 'example.com. 60 IN TXT "v=spf1 -all" ; \\ ü\n\tnext\n'


def play_local(folder: Path, tasks: list[dict[str, Any]], **play: Any) -> playbooks.Run:
    """Run tasks on localhost."""
    playbook = folder / "play.yml"
    whole = {"hosts": "localhost", "gather_facts": False, "tasks": tasks, **play}
    playbook.write_text(yaml.safe_dump([whole]), "utf-8")
    return playbooks.run_playbook(playbook, playbooks.environment(folder))


def next_steps(folder: Path, role: str, **variables: Any) -> str:
    """Return the output of a role's last tasks."""
    task = {"name": f"postroom.email.{role}", "tasks_from": "next_steps.yml"}
    shown = {"name": "Show what to do next", "ansible.builtin.include_role": task}
    run = play_local(folder, [{**shown, "vars": variables}])
    assert run.status == 0, run.output
    return run.output


@pytest.mark.matrix
def test_text_is_printed_unchanged(tmp_path: Path) -> None:
    """Quotes, backslashes and line breaks are printed as they are, but no control characters.

    With `no_log`, nothing is printed.
    """
    name = "postroom.email.print_text"
    tasks: list[dict[str, Any]] = [
        {"name": "Print", name: {"text": PRINTED}, "register": "printed"},
        {"name": "Escape", name: {"text": "a\x1b[2Jb\rc"}},
        {"name": "Print nothing", name: {"text": ""}},
        {"name": "Hide", name: {"text": "hidden text"}, "no_log": True},
        {
            "name": "Compare",
            "ansible.builtin.assert": {"that": ["printed.text is search('v=spf1')"]},
        },
    ]
    run = play_local(tmp_path, tasks)
    assert run.status == 0, run.output
    assert f"\n{PRINTED}\nok: [localhost]\n" in run.output
    assert "\na\\x1b[2Jb\\rc\n\nok: [localhost]\n" in run.output
    assert "hidden text" not in run.output
    assert run.recap == playbooks.Recap(ok=5, changed=0, unreachable=0, failed=0)


NAME = {"mail_host_name": "mail.example.net", "__mail_host_tenant": ""}
TENANT = {"__mail_host_tenant": "example", "__mail_host_token_path": "/home/ann/token"}
#: Variables of the mail host, and the lines that the text then contains.
HOSTS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "trial": (
        {**TENANT, "ansible_host": "192.0.2.25", "ansible_user": "root"},
        [
            "- The token of the tenant example is in this file on the controller: /home/ann/token",
            "    ssh -N -L 8026:127.0.0.1:8025 root@192.0.2.25",
            "    IMAP  mail.example.net, port 993, TLS",
        ],
    ),
    "public API": (
        {"mail_host_api_listen": "0.0.0.0:443", "mail_host_api_certificate": "/etc/ssl/a.pem"},
        [
            "    postroom-service token create --tenant NAME",
            "- The API is at https://mail.example.net:443.",
        ],
    ),
    "private API": (
        {"mail_host_api_listen": "[fd00::5]:8025", "mail_host_certificate": "/etc/ssl/mail.pem"},
        ["- The API is at http://[fd00::5]:8025."],
    ),
}


@pytest.mark.parametrize("case", HOSTS)
def test_next_steps_of_a_mail_host(tmp_path: Path, case: str) -> None:
    """The text names the token's file, the API's address and the settings of a mail client."""
    variables, lines = HOSTS[case]
    output = next_steps(tmp_path, "mail_host", **{**NAME, **variables})
    assert [line for line in lines if line not in output.splitlines()] == [], output
    assert ("must trust this file from the host: /var/lib/postroom/trial/ca.pem" in output) is (
        "mail_host_certificate" not in variables
    )
