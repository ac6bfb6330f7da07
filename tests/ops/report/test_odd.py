# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Reports of tenants that are empty, huge or hostile, and without DNS queries."""

from __future__ import annotations

import re
from contextlib import closing
from html.parser import HTMLParser
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from ansible_collections.postroom.email.tests.ops.report.stage import (
    DATE,
    MARKUP,
    Leaf,
    Stage,
    plant,
)
from ansible_collections.postroom.email.tests.support.desk import Desk
from ansible_collections.postroom.email.tests.support.service import RunningService, running_service
from ansible_collections.postroom.email.tests.support.site import Api

MANY = 10_000
HOME = "many.example"
#: Names that are markup in HTML, or templates in Ansible.
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
#: The elements that the page may have.
ELEMENTS = re.compile(
    "a|body|caption|code|dd|details|div|dl|dt|footer|h[1-4]|head|header|html|li|link|main|meta|p|"
    "pre|section|span|style|summary|table|tbody|td|th|thead|time|title|tr|ul"
)


class Outline(HTMLParser):
    """The names of all elements and attributes of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: set[str] = set()
        self.attributes: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect the names of an element."""
        self.elements.add(tag)
        self.attributes |= {name for name, _value in attrs}


def test_an_empty_tenant_then_ten_thousand_mailboxes(tmp_path: Path, browser: Browser) -> None:
    """The page opens folded, has some 150 bytes for each, and shows every hostile name as text."""
    with running_service(tmp_path / "alone") as service:
        desk = Desk(tmp_path, service.url, service.token)
        run = desk.play("report", mail_report_file="empty.html", mail_report_date=DATE)
        assert (run.status, run.recap.changed) == (0, 1), run.output
        boxes = {f"box{number}@{HOME}": [f"alias{number}@{HOME}"] for number in range(MANY)}
        boxes |= {name: [f"alias-{name}"] for name in HOSTILE}
        with closing(Api(service.url, service.token)) as api:
            api.create(HOME)
        plant(service, HOME, boxes, {f"all-{MARKUP}@{HOME}": HOSTILE}, f"{MARKUP}.example")
        desk.save("tenant.yml", {"domains": [HOME]})
        run = desk.play(
            "report",
            mail_report_file="many.html",
            mail_report_title=TITLE,
            mail_definition_files="tenant.yml",
            mail_verify_dns=False,
        )
        assert run.status == 0, run.output
    with Leaf.opened(browser, tmp_path / "empty.html") as leaf:
        assert leaf.texts(".figures dd") == ["0", "0", "0", "0", "0", "not compared"]
    file = tmp_path / "many.html"
    assert file.stat().st_size < 250 * MANY
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
        assert leaf.page.locator("#planted").count() == 0
        assert leaf.complaints == []


@pytest.mark.parametrize("has_library", [True, False])
def test_without_queries(
    service: RunningService,
    stage: Stage,
    browser: Browser,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    has_library: bool,
) -> None:
    """Without mail_verify_dns or without dnspython, statuses are unknown, and values are shown."""
    if not has_library:
        (tmp_path / "dns").mkdir()
        (tmp_path / "dns" / "__init__.py").write_text("raise ImportError")
        monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    desk = Desk(tmp_path, stage.recorder.url, service.token)
    verify = "false" if has_library else "true"
    run = desk.play(
        "report", mail_report_file="blind.html", mail_verify_dns=verify, mail_file_mode="0644"
    )
    assert (run.status, run.recap.changed) == (0, 1), run.output
    file = tmp_path / "blind.html"
    assert file.stat().st_mode & 0o777 == 0o644
    with Leaf.opened(browser, file) as leaf:
        assert set(leaf.texts(".status")) == {"not looked at"}
        assert leaf.texts(".figures dd")[1] == "not known"
        assert leaf.page.locator(".record .paste").count() > 0
        notes = [note for note in leaf.texts("details > .note") if "dnspython" in note]
        assert len(notes) == (0 if has_library else 5)
        assert leaf.page.locator("#planted").count() == 0
