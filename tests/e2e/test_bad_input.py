# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Bad input and failing services cause an error that names the object, and change nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.postroom.email.tests.support.certificates import Authority
from ansible_collections.postroom.email.tests.support.recording_proxy import Recorder, recording
from ansible_collections.postroom.email.tests.support.service import RunningService, running_service
from ansible_collections.postroom.email.tests.support.tenant import RecordedTenant

DOMAIN, MAILBOX, ALIAS = "email_domain", "email_mailbox", "email_alias"
FORWARDER, DNS, INFO, TENANT = "email_forwarder", "email_dns_records", "email_info", "email_tenant"
ANN, BOB, ALL, TAKEN = "ann@one.example", "bob@one.example", "all@one.example", "info@one.example"
FIRST, SECOND, THIRD = "first@one.example", "second@one.example", "third@one.example"
NEW, FAR = "new@one.example", ["x@far.example"]
PASSWORDS = ["correct-horse/battery#staple"]

Bad = tuple[str, dict[str, Any], tuple[str, ...]]


def new(name: str = NEW, **more: Any) -> dict[str, Any]:
    """Return the options of a new mailbox, except for its name."""
    return {"name": name, "passwords": PASSWORDS, **more}


#: The module, its options, and the words that the message must contain.
REFUSED: list[Bad] = [
    (MAILBOX, new("änn@one.example"), ("name", "änn@one.example", "ASCII")),
    (ALIAS, {"address": TAKEN, "mailbox": BOB}, (TAKEN, ANN, "move")),
    # A primary address is never moved.
    (ALIAS, {"address": ALL, "mailbox": ANN, "move": True}, (ALL, "primary")),
    (FORWARDER, {"name": THIRD, "members": [FIRST]}, (f"{THIRD} -> {FIRST} -> {SECOND}",)),
    (DOMAIN, {"name": "two.example", "state": "absent"}, ("two.example", "2 objects", "force")),
    (MAILBOX, new(api_token="a-token-of-none"), (NEW, "401", "api_token")),
    (TENANT, {"mailboxes": [{"name": ANN, "password": PASSWORDS[0]}]}, ("mailboxes[0].password",)),
]
#: Cases in which an earlier task might create the missing object, so check mode only warns.
MISSING: list[Bad] = [
    (MAILBOX, new("new@no.example"), ("no.example",)),
    (ALIAS, {"address": "hi@no.example", "mailbox": ANN}, ("no.example",)),
    (FORWARDER, {"name": NEW}, (NEW,)),
    (DNS, {"domain": "no.example"}, ("no.example",)),
    (TENANT, {"mailboxes": [NEW]}, ("mailboxes[0]", NEW, "passwords")),
]


@pytest.fixture(scope="module")
def populated(service: RunningService, recorder: Recorder) -> Iterator[RecordedTenant]:
    """Provide a tenant that all tests in this file share, because none of them may change it."""
    tenant = RecordedTenant(service.url, service.token, recorder)
    tenant.clear()
    tenant.create("one.example", "two.example")
    tenant.create(ANN, emails=[ANN, TAKEN, "ann@two.example"])
    tenant.create(BOB, "cat@two.example")
    tenant.create(FIRST, members=[SECOND])
    tenant.create(SECOND, members=[THIRD])
    tenant.create(ALL, members=[ANN])
    yield tenant
    tenant.close()


@pytest.mark.parametrize("bad", [*REFUSED, *MISSING], ids=lambda bad: f"{bad[0]}-{bad[2][0]}")
def test_bad_input(populated: RecordedTenant, bad: Bad) -> None:
    """An error names the object or option, and nothing is written, even without check mode."""
    module, options, named = bad
    before = populated.listing()
    with populated.recorder.forbidding_writes():
        result = populated.run(module, **options)
        predicted = populated.run(module, check=True, **options)
    assert (result["failed"], result["changed"]) == (True, False)
    assert all(name in result["msg"] for name in named), result["msg"]
    assert predicted["failed"] is (bad in REFUSED)
    # The format of a warning depends on the version of ansible-core.
    shown = predicted["msg"] if predicted["failed"] else str(predicted["warnings"])
    assert all(name in shown for name in named)
    assert populated.listing() == before


def failure_of(tenant: RecordedTenant, **options: Any) -> str:
    """Run a task that must fail in the same way with and without check mode. Return the message."""
    task = new(retries=0, **options)
    predicted, done = (tenant.run(MAILBOX, check=mode, **task) for mode in (True, False))
    assert predicted == done
    assert (done["failed"], done["changed"]) == (True, False)
    assert "Traceback" not in str(done)
    return str(done["msg"])


def test_unreachable_services(
    tenant: RecordedTenant, service: RunningService, tmp_path: Path
) -> None:
    """An unknown host, HTTPS on an HTTP port and a stopped service all cause an error."""
    for url in ("http://mail.invalid", service.url.replace("http:", "https:")):
        message = failure_of(tenant, api_url=url)
        assert f"{url} can't be reached while reading {NEW}" in message
        assert "api_url" in message
    with running_service(tmp_path) as doomed, recording(doomed.url) as recorder:
        doomed.kill()
        access = {"api_url": recorder.url, "api_token": doomed.token}
        assert recorder.url in failure_of(tenant, state="absent", **access)


def test_certificates(tenant: RecordedTenant, tmp_path: Path) -> None:
    """The token is not sent to a server with an untrusted certificate.

    ca_path can make the certificate trusted.
    """
    authority = Authority(tmp_path)
    certificate, key = authority.certificate("IP:127.0.0.1")
    arguments = ["--tls-cert", str(certificate), "--tls-key", str(key)]
    with running_service(tmp_path / "https", extra_args=arguments) as service:
        access: dict[str, Any] = {"api_url": service.url, "api_token": service.token}
        message = failure_of(tenant, **access)
        assert "certificate verify failed" in message
        assert "ca_path" in message
        assert "/api/principal" not in service.log_path.read_text("utf-8")
        ways: list[dict[str, Any]] = [{"ca_path": str(authority.path)}, {"validate_certs": False}]
        for options in ways:
            result = tenant.run(INFO, **access, **options)
            assert (result["failed"], result["domains"]) == (False, [])
