# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Reports of tenants that are empty, huge, hostile, or cannot be looked at."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing
from html.parser import HTMLParser
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from ansible_collections.postroom.email.tests.ops.report.browsing import Leaf
from ansible_collections.postroom.email.tests.ops.report.stage import (
    DATE,
    MARKUP,
    Stage,
    plant,
    plant_domain,
)
from ansible_collections.postroom.email.tests.support.desk import Desk
from ansible_collections.postroom.email.tests.support.service import RunningService, running_service
from ansible_collections.postroom.email.tests.support.site import Api

MANY = 10_000
HOME = "many.example"
#: Texts that would be something else in HTML, in templates of Ansible, or in YAML.
HOSTILE = (
    f"{MARKUP}@{HOME}",
    f"<script>alert(1)</script>@{HOME}",
    f'"onmouseover="alert(1)@{HOME}',
    f"{{{{ lookup('pipe','id') }}}}@{HOME}",
    f"{{% for %}}@{HOME}",
    f"&lt;b&gt;&#39;@{HOME}",
    f"</style></table><!--@{HOME}",
)
TITLE = f"{MARKUP}</title><script>alert('x')</script>"
#: All that the page is made of.
ELEMENTS = re.compile(
    "a|body|caption|code|dd|details|div|dl|dt|footer|h[1-4]|head|header|html|li|link|main|meta|p|"
    "pre|section|span|style|summary|table|tbody|td|th|thead|time|title|tr|ul"
)


class Outline(HTMLParser):
    """The elements of a page, and the names of all attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: set[str] = set()
        self.attributes: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element down."""
        self.elements.add(tag)
        self.attributes |= {name for name, _value in attrs}


@pytest.fixture
def alone(tmp_path: Path) -> Iterator[RunningService]:
    """Run a service whose tenant is empty, and nobody else's."""
    with running_service(tmp_path / "alone") as service:
        yield service


@pytest.fixture
def desk(alone: RunningService, tmp_path: Path) -> Desk:
    """Return a folder to run playbooks in."""
    return Desk(tmp_path, alone.url, alone.token)


def test_an_empty_tenant(desk: Desk, browser: Browser) -> None:
    """It has a page as well."""
    told = desk.play("report", mail_report_file="empty.html", mail_report_date=DATE)
    assert (told.status, told.recap.changed) == (0, 1), told.output
    with Leaf.opened(browser, desk.folder / "empty.html") as leaf:
        assert leaf.texts(".figures dd") == ["0", "0", "0", "0", "0", "not compared"]
        assert "No domain is registered." in leaf.texts("main p")
        assert "Not compared: no definition was given." in leaf.texts("main p")


def test_ten_thousand_mailboxes_and_hostile_names(
    alone: RunningService, desk: Desk, browser: Browser
) -> None:
    """Opens, folded, in some 150 bytes for each; and whatever is in a name stays a text."""
    boxes = {f"box{number}@{HOME}": [f"alias{number}@{HOME}"] for number in range(MANY)}
    boxes |= {name: [f"alias-{name}"] for name in HOSTILE}
    with closing(Api(alone.url, alone.token)) as api:
        api.create(HOME)
    plant(alone, HOME, boxes, {f"all-{MARKUP}@{HOME}": HOSTILE})
    plant_domain(alone, HOME, f"{MARKUP}.example")
    desk.save("tenant.yml", {"domains": [HOME]})
    told = desk.play(
        "report",
        mail_report_file="many.html",
        mail_report_title=TITLE,
        mail_definition_files="tenant.yml",
        mail_verify_dns=False,
    )
    assert told.status == 0, told.output
    file = desk.folder / "many.html"
    assert file.stat().st_size < 250 * MANY
    assert f"The report is {file}, of " in told.output
    outline = Outline(file.read_text("utf-8"))
    assert [tag for tag in outline.elements if not ELEMENTS.fullmatch(tag)] == []
    assert not any(name.startswith("on") for name in outline.attributes)
    with Leaf.opened(browser, file) as leaf:
        assert leaf.page.title() == TITLE
        assert leaf.page.locator("table.mailboxes tbody tr").count() == MANY + len(HOSTILE)
        assert not leaf.page.locator("table.mailboxes").is_visible()
        assert set(leaf.texts("table.mailboxes th[scope=row]")) >= set(HOSTILE)
        assert leaf.texts("table.forwarders li") == sorted(HOSTILE)
        assert leaf.texts("#domains + table th[scope=row]") == [f"{MARKUP}.example", HOME]
        (note,) = leaf.texts("details > .note:not(.record ~ .note)")
        assert note.startswith("The service did not tell which records it asks for: domain: ")
        assert leaf.page.locator("#planted").count() == 0
        assert leaf.complaints == []


def test_nobody_is_asked(stage: Stage, browser: Browser) -> None:
    """Then the stage is not known, nothing is missing, and what to publish is there."""
    told = stage.report("unasked.html", mail_verify_dns="false", mail_file_mode="0644")
    assert (told.status, told.recap.changed) == (0, 1), told.output
    file = stage.folder / "unasked.html"
    assert file.stat().st_mode & 0o777 == 0o644
    with Leaf.opened(browser, file) as leaf:
        assert set(leaf.texts(".status")) == {"not looked at"}
        assert leaf.texts(".figures dd")[1] == "not known"
        assert leaf.page.locator(".record .paste").count() > 0
        assert "missing" not in " ".join(leaf.texts("main")).replace("anything is missing", "")


def test_without_the_library_for_name_servers(
    service: RunningService,
    stage: Stage,
    browser: Browser,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The page says why nobody was asked, and has the rest."""
    (tmp_path / "dns").mkdir()
    (tmp_path / "dns" / "__init__.py").write_text("raise ImportError")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    desk = Desk(tmp_path, stage.recorder.url, service.token)
    told = desk.play("report", mail_report_file="blind.html")
    assert (told.status, told.recap.changed) == (0, 1), told.output
    with Leaf.opened(browser, tmp_path / "blind.html") as leaf:
        assert set(leaf.texts(".status")) == {"not looked at"}
        notes = leaf.texts("details > .note")
        assert sum("could not be asked: " in note and "dnspython" in note for note in notes) == 5
        assert leaf.page.locator("#planted").count() == 0
