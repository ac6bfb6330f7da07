# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Single things: a module's imports, the service's answers, and a task of a loop."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import zipfile
from itertools import cycle, islice
from pathlib import Path

import ansible

from ansible_collections.postroom.email.tests.benchmark import servers
from ansible_collections.postroom.email.tests.benchmark.measure import (
    Ratio,
    Timed,
    interleaved,
    timed,
)
from ansible_collections.postroom.email.tests.benchmark.plays import Plays, uri
from ansible_collections.postroom.email.tests.support import repository
from ansible_collections.postroom.email.tests.support.service import RunningService
from ansible_collections.postroom.email.tests.support.site import Api

COLLECTION = Path("ansible_collections", "postroom", "email")
EMPTY = "from ansible.module_utils.basic import AnsibleModule"
MAILBOX = """\
from ansible_collections.postroom.email.plugins.modules import email_mailbox
from ansible_collections.postroom.email.plugins.module_utils import _module
_module.connect({"api_url": "http://127.0.0.1:1", "api_token": "t", "validate_certs": True,
                 "ca_path": None})
"""
DOMAIN = "single.example"
CONNECTIONS = 4
MAILBOXES = 40
REQUESTS_PER_ITEM = 10
GOALS = {"in process": 1 / 40, "module": 1.0}


def imports(_service: RunningService, folder: Path, _items: int, rounds: int) -> list[Ratio]:
    """Measure imports out of a zip file.

    Ansible ships a module with what it imports in one, out of which Python compiles everything
    again in each task.
    """
    archive = folder / "modules.zip"
    core = Path(ansible.__file__).parent
    texts = {"ansible/__init__.py": ""}
    for file in core.glob("module_utils/**/*.py"):
        texts[str("ansible" / file.relative_to(core))] = file.read_text("utf-8")
    for file in repository.ROOT.glob("plugins/module*/**/*.py"):
        name = COLLECTION / file.relative_to(repository.ROOT)
        texts |= {str(parent / "__init__.py"): "" for parent in list(name.parents)[:-1]}
        texts[str(name)] = file.read_text("utf-8")
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as target:
        for path, text in sorted(texts.items()):
            target.writestr(path, text)

    def process(code: str) -> Timed:
        program = f"import sys; sys.path.insert(0, {str(archive)!r})\n{code}"
        return timed(
            lambda: subprocess.run([sys.executable, "-c", program], check=True, cwd=folder)
        )

    codes = {"empty": EMPTY, "httpx": f"{EMPTY}\nimport httpx", "mailbox": MAILBOX}
    seconds = interleaved(5 * rounds, {name: process(code) for name, code in codes.items()})
    empty, httpx, mailbox = (seconds[name] * 1000 for name in codes)
    return [
        Ratio("email_mailbox's imports", "import httpx", mailbox - empty, httpx - empty, "process"),
        Ratio("email_mailbox's process", "empty module", mailbox, empty, "process"),
    ]


def serving(service: RunningService, folder: Path, items: int, rounds: int) -> list[Ratio]:
    """Drive the service and a bare ASGI server with the same requests in turn."""
    _fill(service, MAILBOXES)
    server = servers.Server("service", service.url, service.token)
    loads: dict[str, list[list[bytes]]] = {"GET one": [], "GET the list": [], "PATCH emails": []}
    for number in range(CONNECTIONS):
        name = f"user{number:05}@{DOMAIN}"
        path = f"/api/principal/{name}"
        # Each connection changes its own mailbox, to and fro.
        lists = ([name, f"alias{number}@{DOMAIN}"], [name])
        loads["GET one"].append([server.request("GET", path)])
        loads["GET the list"].append([server.request("GET", "/api/principal")])
        loads["PATCH emails"].append([server.request("PATCH", path, {"emails": x}) for x in lists])
    share = -(-REQUESTS_PER_ITEM * items // CONNECTIONS)
    with servers.program(folder / "bare", "bare.py") as bare_url:

        def driven(url: str, requests: list[list[bytes]]) -> Timed:
            return timed(lambda: servers.send(url, [islice(cycle(r), share) for r in requests]))

        things = {kind: driven(service.url, requests) for kind, requests in loads.items()}
        things |= {f"bare {k}": driven(bare_url, requests) for k, requests in loads.items()}
        seconds = interleaved(rounds, things)
    cost = {name: taken * 1000 / (share * CONNECTIONS) for name, taken in seconds.items()}
    return [
        Ratio(f"service, {kind}", "bare ASGI answer", cost[kind], cost[f"bare {kind}"], "request")
        for kind in loads
    ]


def tasks(service: RunningService, folder: Path, items: int, rounds: int) -> list[Ratio]:
    """Run loops of unchanged mailboxes, in Ansible's worker and as modules, and of `uri`."""
    names = _fill(service, items)
    plays = Plays(service.url, service.token, folder / "plays")
    loop = {"loop": names}
    mailbox = {"postroom.email.email_mailbox": {"name": "{{ item }}", "aliases": ["a-{{ item }}"]}}
    get = uri("/api/principal/{{ item }}", return_content=True)
    things = {
        "empty": plays.play("empty"),
        "in process": plays.play("in_process", mailbox | loop),
        "module": plays.play("module", mailbox | loop, in_process=False),
        "uri": plays.play("uri", get | loop),
    }
    seconds = interleaved(rounds, {name: timed(play) for name, play in things.items()})
    net = {name: (taken - seconds["empty"]) * 1000 / items for name, taken in seconds.items()}
    return [
        Ratio(f"email_mailbox, {way}", "uri", net[way], net["uri"], "task of a loop", goal)
        for way, goal in GOALS.items()
    ]


def _fill(service: RunningService, count: int) -> list[str]:
    """Give the tenant so many mailboxes, each with an alias, and return their names."""
    names = [f"user{number:05}@{DOMAIN}" for number in range(count)]
    with contextlib.closing(Api(service.url, service.token)) as api:
        api.clear()
        api.create(DOMAIN)
        for name in names:
            api.create(name, emails=[name, f"a-{name}"])
    return names
