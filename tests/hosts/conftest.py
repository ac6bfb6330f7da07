# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""A mail host with two tenants, which all tests share.

Some tests also run on another Debian release.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ansible_collections.postroom.email.tests.hosts import debian, mail_host
from ansible_collections.postroom.email.tests.hosts.mail_host import ONE, PLAY, TWO, MailHost


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Provide the wheel that the role installs."""
    if reason := debian.unusable():
        pytest.skip(reason)
    return mail_host.build_wheel(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="session", autouse=True)
def _directory_for_temporary_files() -> Iterator[None]:
    """Let programs use /tmp, because the directory in TMPDIR does not exist on the hosts."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("TMPDIR", raising=False)
        yield


RELEASES = list(debian.RELEASES)
#: Two nodes with different Debian releases.
NODES = "+".join(RELEASES)
#: The hosts, keyed by the name of a test or a module; a test's own entry takes precedence. Other
#: tests use the first release. To save time, only tests that depend on Dovecot's configuration, on
#: packages or on units run on both releases. The tests of backups run only on the last release.
HOSTS = {
    "test_backup": RELEASES[-1:],
    "test_database_stopped": RELEASES,
    "test_mail": [*RELEASES, NODES],
    "test_nodes": [NODES],
    "test_restart_mid_delivery": RELEASES,
    "test_role": RELEASES,
    "test_refused_variables": RELEASES[:1],
    "test_failed_upgrade": RELEASES[:1],
    "test_upgrade_of_a_host_without_maps": RELEASES[:1],
    # test_uninstall tests the removal on the first release.
    "test_removal_keeps_mail_and_database": RELEASES[-1:],
}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Select the hosts for a test."""
    if "built" in metafunc.fixturenames:
        module = metafunc.module.__name__.rpartition(".")[2]
        hosts = HOSTS.get(metafunc.function.__name__) or HOSTS.get(module, RELEASES[:1])
        metafunc.parametrize("built", hosts, indirect=True, scope="session")


@pytest.fixture(scope="session")
def built(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, wheel: Path
) -> Iterator[MailHost]:
    """Provide a host, or a group of nodes, to which the role has been applied once."""
    releases: list[str] = request.param.split("+")
    with mail_host.boot(tmp_path_factory.mktemp("host"), wheel, *releases) as made:
        checked = made.play(PLAY, "--check")
        assert checked.status == 0, checked.output
        run = made.play(PLAY)
        assert run.status == 0, run.output
        yield made


@pytest.fixture(scope="session")
def host(built: MailHost) -> Iterator[MailHost]:
    """Provide the host with two tenants, each of which has a domain with published records.

    If there are two nodes, clients connect to the first node, and new mailboxes are placed on the
    second node.
    """
    if len(built.hosts) > 1:
        built.host.run("postroom-service", "node", "close", next(iter(built.hosts)))
    with built.api("one") as one, built.api("two") as two:
        built.one, built.two = one, two
        built.add_domain(one, ONE)
        built.add_domain(two, TWO)
        yield built
