# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Create the pictures in docs/pictures: the demo, a tenant's report and an approval in Slack.

    python tools/pictures.py NPM_FOLDER

The demo runs in a terminal, whose text rich converts to HTML. The `report` playbook writes the
report, using the reference service and a BIND name server. The bot posts the approval's card. The
npm package slack-blocks-to-jsx, which must be installed in NPM_FOLDER, renders the card as Slack
does.
"""

from __future__ import annotations

import io
import json
import re
import runpy
import shlex
import shutil
import subprocess
import sys
from contextlib import closing
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory

CHECKOUT = Path(__file__).resolve().parent.parent
PICTURES = CHECKOUT / "docs" / "pictures"
sys.path[:0] = [str(CHECKOUT)]
# conftest.py makes the collection, the service and the bot importable.
runpy.run_path(str(CHECKOUT / "tests" / "conftest.py"))

import pexpect  # noqa: E402
from PIL import Image  # noqa: E402
from playwright.sync_api import Browser, ViewportSize, sync_playwright  # noqa: E402
from rich.console import Console  # noqa: E402
from rich.terminal_theme import MONOKAI  # noqa: E402
from rich.text import Text  # noqa: E402

from ansible_collections.postroom.email.plugins.module_utils._api.dns.notations import as_rdata  # noqa: E402
from ansible_collections.postroom.email.plugins.module_utils._api.dns.record_types import txt  # noqa: E402
from ansible_collections.postroom.email.tests.support import bind  # noqa: E402
from ansible_collections.postroom.email.tests.support.bot import running_bot  # noqa: E402
from ansible_collections.postroom.email.tests.support.browser import FLAGS  # noqa: E402
from ansible_collections.postroom.email.tests.support.collection_playbooks import PlaybookRunner  # noqa: E402
from ansible_collections.postroom.email.tests.support.company import open_company  # noqa: E402
from ansible_collections.postroom.email.tests.support.service import running_service  # noqa: E402
from ansible_collections.postroom.email.tests.support.tenant import Api  # noqa: E402

#: The script that renders a message from standard input as HTML. Its argument is the npm directory.
RENDER = """
const [, folder] = process.argv;
const load = require("node:module").createRequire(folder + "/");
const { createElement } = load("react");
const { renderToStaticMarkup } = load("react-dom/server");
const { Message } = load("slack-blocks-to-jsx");
const message = JSON.parse(require("node:fs").readFileSync(0, "utf8"));
message.time = new Date(message.time);
console.log(renderToStaticMarkup(createElement(Message, message)));
"""
#: With a palette, the files are less than half as large.
MAX_COLOURS = 128
#: The steps of the demo in the picture.
DEMO_STEPS = ("Remove an alias by hand", "Show the drift")
#: The place before the title of a step, which is bold.
_TITLE = re.compile(r"^(?=\x1b\[1m)", re.MULTILINE)
#: The size of the terminal. Ansible's recap has 118 columns and the demo's indentation.
ROWS, COLUMNS = 40, 122
TERMINAL = """<!doctype html><meta charset="utf-8">
<style>body {{ margin: 0; padding: 14px; background: #0c0c0c; color: {foreground} }}
pre {{ margin: 0; font: 14px/1.3 "DejaVu Sans Mono", monospace }}</style>
<pre>{code}</pre>"""
LOGO = (
    "data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 36 36'>"
    "<rect width='36' height='36' fill='%231f4e5f'/><text x='18' y='25' fill='white' "
    "font-family='sans-serif' font-size='20' text-anchor='middle'>P</text></svg>"
)


def main(npm_folder: Path) -> None:
    """Create all pictures."""
    program = shutil.which("chromium")
    if program is None:
        sys.exit("chromium is not installed. Install it to take the pictures.")
    with TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = Path(name)
        browser = playwright.chromium.launch(executable_path=program, args=list(FLAGS))
        take(browser, write_demo(folder), width=1060)
        take(browser, write_report(folder), width=1000, height=590)
        take(browser, write_approval(folder, npm_folder), width=720)
        browser.close()


def write_demo(folder: Path) -> Path:
    """Run the demo in a terminal, and convert the steps in DEMO_STEPS to HTML."""
    output, status = pexpect.run(
        shlex.join([sys.executable, str(CHECKOUT / "tools" / "demo.py")]),
        timeout=600,
        withexitstatus=True,
        encoding="utf-8",
        dimensions=(ROWS, COLUMNS),
    )
    if status:
        sys.exit(output)
    parts = _TITLE.split(output.replace("\r\n", "\n"))
    steps = {part.partition(". ")[2].partition("\x1b")[0]: part for part in parts}
    if missing := [title for title in DEMO_STEPS if title not in steps]:
        sys.exit(f"The demo has no step {missing[0]!r}. Set DEMO_STEPS to titles of its steps.")
    console = Console(record=True, file=io.StringIO(), width=COLUMNS)
    console.print(Text.from_ansi("".join(steps[title] for title in DEMO_STEPS).rstrip()))
    page = folder / "demo.html"
    html = console.export_html(theme=MONOKAI, code_format=TERMINAL, inline_styles=True)
    page.write_text(html, "utf-8")
    return page


def write_report(folder: Path) -> Path:
    """Run the `report` playbook on a tenant whose domains are in different stages."""
    with running_service(folder / "service") as service:
        with closing(Api(service.url, service.token)) as api:
            records = {}
            for domain in ("example.com", "example.org", "example.net"):
                api.create(domain)
                records[domain] = [
                    row["value"] for row in api.call("GET", f"/api/dns/{domain}")["txt"]
                ]
            aliases = {"alice": ["sales", "press"], "bob": [], "carol": ["jobs"]}
            mailboxes = []
            for name, local_parts in aliases.items():
                emails = [f"{part}@example.com" for part in (name, *local_parts)]
                api.create(emails[0], emails=emails)
                mailboxes.append({"name": emails[0], "aliases": emails[1:]})
            members = ["alice@example.com", "desk@partner.example"]
            api.create("team@example.org", members=members)
        zones = {
            domain: f'@ MX 10 mail.postroom.test.\n@ TXT "{spf}"\n'
            f"service._domainkey TXT {as_rdata(txt(dkim))}"
            for domain, (spf, dkim) in records.items()
        }
        zones["example.net"] = '@ MX 20 mx.provider.example.\n@ TXT "v=spf1 mx -all"'
        resolved = {"example.com": zones["example.com"]}
        runner = PlaybookRunner(folder, service.url, service.token)
        forwarders = [{"name": "team@example.org", "members": members[:1]}]
        definition = {"domains": [*records], "mailboxes": mailboxes, "forwarders": forwarders}
        runner.save("tenant.yml", definition)
        with bind.running(folder, zones) as server, bind.running(folder, resolved) as resolver:
            run = runner.play(
                "report",
                mail_report_file="report.html",
                mail_definition_files="tenant.yml",
                dns_nameservers=[str(server)],
                dns_resolvers=[str(resolver)],
            )
    if run.status:
        sys.exit(run.output)
    page = folder / "report.html"
    page.write_text(page.read_text("utf-8").replace(service.url, "https://mail.example.com"))
    return page


def write_approval(folder: Path, npm_folder: Path) -> Path:
    """Request an alias from the bot and render the approvers' card."""
    with (
        open_company(folder) as company,
        running_bot(folder / "bot", company.slack, company.mail, company.policy),
    ):
        company.alice.command("/email alias add sales@example.com because customers ask for it")
        card = company.card_of(company.alice, "sales@example.com")
        company.slack.wait_for(lambda: any(block["type"] == "actions" for block in card.blocks))
        for block in card.blocks:
            # With `verbatim`, Slack adds no links. The renderer would show the raw markup.
            block.get("text", {}).pop("verbatim", None)
        users = [{"id": user.id, "name": user.name} for user in company.slack.state.users.values()]
        message = {
            "blocks": card.blocks,
            "name": "Postroom",
            "logo": LOGO,
            "time": datetime.now().astimezone().isoformat(),
            "data": {"users": users},
            "theme": "light",
        }
    node = ["node", "-e", RENDER, str(npm_folder)]
    given = json.dumps(message)
    done = subprocess.run(node, input=given, stdout=subprocess.PIPE, text=True, check=True)
    style = npm_folder / "node_modules" / "slack-blocks-to-jsx" / "dist" / "style.css"
    head = f'<!doctype html><meta charset="utf-8"><link rel="stylesheet" href="{style}">'
    page = folder / "approval.html"
    page.write_text(head + done.stdout, "utf-8")
    return page


def take(browser: Browser, page: Path, *, width: int, height: int | None = None) -> None:
    """Save a screenshot of a page under the page's name.

    :param height: the height of the picture, or None for the height of the page
    """
    viewport: ViewportSize = {"width": width, "height": height or 10}
    with browser.new_page(viewport=viewport, device_scale_factor=1.5) as tab:
        tab.goto(page.as_uri())
        picture = PICTURES / page.with_suffix(".png").name
        tab.screenshot(path=picture, full_page=height is None)
    with Image.open(picture) as image:
        palette = image.quantize(MAX_COLOURS)
    palette.save(picture, optimize=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
