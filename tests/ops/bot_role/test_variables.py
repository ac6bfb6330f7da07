# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Which places and databases the role refuses: many of each, without a run."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.postroom.email.tests.ops.bot_role.templated import templated

DATA = "/var/lib/postroom-bot"


@pytest.mark.parametrize(
    ("path", "is_refused"),
    [
        ("/srv/bot", False),
        ("/srv/.bot/a..b", False),
        ("/srv/bots/one", False),
        ("/srv", True),
        ("/", True),
        ("srv/bot", True),
        ("/srv/bot/", True),
        ("/srv//bot", True),
        ("/opt/bot/../../etc", True),
        ("/opt/bot/..", True),
        ("/opt/./bot", True),
    ],
)
def test_places_are_the_bots_own(path: str, is_refused: bool) -> None:
    """A place has a whole path of two parts at least, and none of them leads back."""
    for variable in ("bot_home", "bot_config_dir", "bot_data_dir", "bot_log_file", "bot_pid_file"):
        found = templated("{{ __bot_shared }}", **{variable: path})
        assert found == ([path] if is_refused else [])


@pytest.mark.parametrize(
    ("places", "refused"),
    [
        ({}, []),
        ({"bot_home": DATA + "-program"}, []),
        ({"bot_home": DATA + "/program"}, [f"{DATA}:{DATA}/program"]),
        ({"bot_config_dir": DATA + "/etc/bot"}, [f"{DATA}:{DATA}/etc/bot"]),
        ({"bot_log_file": DATA + "/log"}, [f"{DATA}:{DATA}/log"]),
        ({"bot_pid_file": DATA + "/pid"}, [f"{DATA}:{DATA}/pid"]),
        ({"bot_data_dir": "/opt/postroom-bot/data"}, ["/opt/postroom-bot:/opt/postroom-bot/data"]),
        ({"bot_home": DATA}, [f"{DATA}:{DATA}"] * 2),
    ],
)
def test_the_bot_writes_nowhere_that_root_does(places: dict[str, str], refused: list[str]) -> None:
    """Its folders are beside each other, and what root writes to is in none that it may change."""
    assert templated("{{ __bot_nested }}", **places) == refused


@pytest.mark.parametrize("variable", ["bot_home", "bot_config_dir", "bot_data_dir", "bot_python"])
def test_nothing_may_be_where_systemd_hides_it(variable: str) -> None:
    """The unit shows the bot no home folder, so its Python can't be in one either."""
    hidden = "/run/user/1000/python3"
    assert templated("{{ __bot_hidden }}", **{variable: hidden}) == [hidden]
    assert templated("{{ __bot_hidden }}") == []


@pytest.mark.parametrize(
    "other", [{"bot_python": "/opt/python/bin/python3"}, {"bot_package": "postroom[bot]==0.2.0"}]
)
def test_another_python_is_installed_anew(other: dict[str, str]) -> None:
    """Even one of the same minor version, for the earlier one may be gone."""
    given = {
        "bot_package": "postroom[bot]==0.1.0",
        "__bot_asked_python": {"stdout": '{"minor": "3.11"}'},
    }
    assert templated("{{ __bot_key }}", **{**given, **other}) != templated(
        "{{ __bot_key }}", **given
    )


def test_paths_start_where_ansible_was_started(monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs that start Ansible leave PWD as it was for themselves."""
    monkeypatch.setenv("PWD", "/usr")
    assert templated("{{ __bot_policy_file }}", bot_policy="policy.yml") == str(
        Path("policy.yml").resolve()
    )


@pytest.mark.parametrize(
    ("database", "is_refused"),
    [
        ("", False),
        ("/var/lib/postroom-bot/bot.sqlite3", False),
        ("postgresql://bot@db/bot", False),
        ("postgresql://bot@db:5432/bot?sslmode=verify-full", False),
        ("postgresql:///bot?host=/run/postgresql", False),
        ("postgresql://bot:secret@db/bot", True),
        ("postgresql://bot:pa/ss@db/bot", True),
        ("postgresql://bot:pa:ss@db:5432/bot", True),
        ("postgresql://bot@srv:secret@db/bot", True),
        ("postgresql://db/bot?user=bot&password=secret", True),
        ("postgresql://bot@db/bot?sslpassword=secret", True),
    ],
)
def test_a_database_is_named_without_its_password(database: str, is_refused: bool) -> None:
    """Wherever in its URL a password may stand."""
    settings = {"database": database}
    assert templated("{{ __bot_open_database }}", bot_settings=settings) is is_refused
