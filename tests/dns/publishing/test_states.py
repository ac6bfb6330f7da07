# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The states of the module against a real service and a real name server."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.postroom.email.tests.dns.publishing.conftest import Publisher
from ansible_collections.postroom.email.tests.dns.publishing.stage import HOME, SELECTOR
from ansible_collections.postroom.email.tests.support.bind import Zone, new_key, running
from ansible_collections.postroom.email.tests.support.loopback import free_port
from ansible_collections.postroom.email.tests.support.site import Site

SPF = "v=spf1 include:spf.postroom.test ~all"
NAMES = [f"{HOME} MX", f"{HOME} TXT", f"{SELECTOR}.{HOME} TXT"]


def nothing(_publisher: Publisher) -> None:
    """Leave the zone empty."""


def others(publisher: Publisher) -> None:
    """Let records be there that are not as they should be, and some of others."""
    publisher.stage.bind.change(
        HOME,
        add=[
            f"{HOME}. 60 MX 20 mail.postroom.test.",
            f'{HOME}. 60 TXT "v=spf1 mx -all"',
            f'{HOME}. 60 TXT "somebody" "else\\"s"',
            f'{SELECTOR}.{HOME}. 60 TXT "v=DKIM1; k=rsa; p=AAAA"',
        ],
    )


def published(publisher: Publisher) -> None:
    """Publish the records."""
    assert publisher.run("present")["changed"]


STEPS: dict[str, tuple[Callable[[Publisher], None], str, str]] = {
    "create": (nothing, "present", "create"),
    "modify": (others, "present", "update"),
    "delete": (published, "absent", "delete"),
}


@pytest.mark.parametrize("step", STEPS)
def test_twelve_steps(step: str, publisher: Publisher) -> None:
    """Check mode foretells, twice, and sends no update; the real run does it, once."""
    prepare, state, action = STEPS[step]
    prepare(publisher)
    sent = publisher.stage.gate.updates
    before = publisher.stage.held()
    foretold = [publisher.run(state, check=True) for _time in range(2)]
    assert publisher.stage.gate.updates == sent
    assert publisher.stage.held() == before
    done = publisher.run(state)
    assert foretold == [done, done]
    assert [(change["action"], change["name"]) for change in done["changes"]] == [
        (action, name) for name in NAMES
    ]
    assert len(done["diff"]) == 3
    assert publisher.stage.gate.updates == sent + 1
    after = publisher.stage.held()
    assert after != before
    for check in (False, True):
        again = publisher.run(state, check=check)
        assert (again["changed"], again["changes"], again["diff"]) == (False, [], [])
        assert again["current"] == done["current"]
    assert publisher.stage.gate.updates == sent + 1
    assert publisher.stage.held() == after


def test_what_is_current_is_what_the_name_server_has(publisher: Publisher) -> None:
    """After publishing and when verifying, text for a zone file, the records of others, too."""
    others(publisher)
    done = publisher.run("present")
    found = publisher.run("verified")
    by_name = {(one["name"], one["type"]): sorted(one["value"]) for one in done["current"]}
    assert by_name == {(one["name"], one["type"]): sorted(one["value"]) for one in found["current"]}
    held = publisher.stage.held()
    assert by_name[HOME, "TXT"] == list(held["TXT"])
    assert '"somebody" "else\\"s"' in held["TXT"]
    assert by_name[f"{SELECTOR}.{HOME}", "TXT"] == list(held["DKIM"])


def test_verified_tells_and_never_fails(publisher: Publisher) -> None:
    """Nothing there, something in the way, all there; the service is asked once each time."""
    assert statuses(publisher.run("verified")) == ["missing"] * 3
    others(publisher)
    found = publisher.run("verified")
    assert statuses(found) == ["conflict", "missing", "conflict"]
    assert (found["verified"], found["stage"]) == (False, "created")
    assert all(record["remedy"] for record in found["records"])
    publisher.run("present")
    done = publisher.run("verified")
    assert statuses(done) == ["match"] * 3
    assert (done["verified"], done["stage"], done["changed"]) == (True, "published", False)
    assert done["records"][0]["servers"][0]["server"] == str(publisher.stage.bind)
    check = publisher.run("verified", check=True, wait=True)
    assert check["records"] == done["records"]


def statuses(result: dict[str, Any]) -> list[str]:
    """Return the status of each record."""
    assert not result["failed"], result
    return [record["status"] for record in result["records"]]


def test_waiting_sees_a_late_publication(publisher: Publisher) -> None:
    """Somebody else publishes while the task waits."""
    late = threading.Timer(1.0, publisher.run, ["present"])
    late.start()
    try:
        found = publisher.run("verified", wait=True, wait_timeout=30)
    finally:
        late.join()
    assert statuses(found) == ["match"] * 3


def test_waiting_for_a_secondary_that_lags(publisher: Publisher, tmp_path: Path) -> None:
    """What is published is waited for at all name servers."""
    (tmp_path / "second").mkdir()
    follows = {HOME: Zone(primary=publisher.stage.bind)}
    with running(tmp_path / "second", follows) as second:
        both = [str(publisher.stage.bind), str(second)]
        done = publisher.run("present", nameservers=both, wait=True, wait_timeout=30)
        assert statuses(done) == ["match"] * 3
        assert (done["stage"], len(done["changes"])) == ("published", 3)
        assert len(done["records"][0]["servers"]) == 2
        assert second.lookup(HOME, "MX")


def test_waiting_in_vain(publisher: Publisher) -> None:
    """It fails with each record that is not there, and all that is known of them."""
    result = publisher.run("verified", wait=True, wait_timeout=1)
    assert (result["failed"], result["changed"]) == (True, False)
    assert result["failure"] == {"kind": "NotPublished"}
    first, *lines = result["msg"].splitlines()
    assert first == f"After 1 s, 3 of 3 records of {HOME} are not as they should be:"
    assert [line.partition(" (missing): ")[0] for line in lines] == NAMES
    assert [record["status"] for record in result["records"]] == ["missing"] * 3
    assert (result["stage"], result["verified"]) == ("created", False)


def test_what_was_published_is_told_where_waiting_fails(
    publisher: Publisher, tmp_path: Path
) -> None:
    """The change stands, though another name server never has it."""
    (tmp_path / "other").mkdir()
    with running(tmp_path / "other", {HOME: ""}) as other:
        result = publisher.run("present", nameservers=[str(other)], wait=True, wait_timeout=0)
    assert (result["failed"], result["changed"]) == (True, True)
    assert [change["name"] for change in result["changes"]] == NAMES
    assert result["failure"] == {"kind": "NotPublished"}


def test_others_that_stay_are_not_waited_for(publisher: Publisher) -> None:
    """A mail server of others is in the way, and only its owner can say whether it is to go."""
    publisher.stage.bind.change(HOME, add=[f"{HOME}. 60 MX 5 mx.other.example."])
    done = publisher.run("present", wait=True, wait_timeout=30)
    again = publisher.run("verified", wait=True, wait_for="presence", wait_timeout=30)
    for result in (done, again):
        assert statuses(result) == ["conflict", "match", "match"]
        assert result["verified"] is False
        assert (
            f"{HOME} MX (conflict): {publisher.stage.bind}: mail for {HOME} goes to "
            "mx.other.example (priority 5). Remove the record MX 5 mx.other.example."
        ) in str(result["warnings"])


@pytest.mark.parametrize(("state", "how"), [("verified", {}), ("present", {"wait_for": "match"})])
def test_others_that_have_to_go_are_waited_for(
    publisher: Publisher, state: str, how: dict[str, Any]
) -> None:
    """Their owner may take them away meanwhile; if not, the task fails with what is in the way."""
    publisher.run("present")
    publisher.stage.bind.change(HOME, add=[f"{HOME}. 60 MX 5 mx.other.example."])
    result = publisher.run(state, wait=True, wait_timeout=0, **how)
    assert result["msg"].startswith("After 0 s, 1 of 3 records")
    assert "Remove the record MX 5 mx.other.example." in result["msg"]
    late = threading.Timer(
        1.0, publisher.stage.bind.change, [HOME], {"delete": [f"{HOME}. MX 5 mx.other.example."]}
    )
    late.start()
    try:
        done = publisher.run(state, wait=True, wait_timeout=30, **how)
    finally:
        late.join()
    assert statuses(done) == ["match"] * 3


def test_a_domain_that_is_not_registered(publisher: Publisher) -> None:
    """It can't be published; to withdraw it is no change, and there is a warning."""
    options: dict[str, Any] = {"domain": "none.example"}
    for state in ("verified", "present"):
        assert "Register it first" in publisher.run(state, **options)["msg"]
        assert "Register it first" in str(publisher.run(state, check=True, **options)["warnings"])
    gone = publisher.run("absent", **options)
    assert (gone["changed"], gone["changes"], gone["failed"]) == (False, [], False)
    assert "what to withdraw is not known" in str(gone["warnings"])
    assert publisher.stage.gate.updates == 0


def test_what_goes_wrong_at_the_name_server(publisher: Publisher) -> None:
    """One sentence each, the kind of the failure, no change, and the secret in none of it."""
    stranger = new_key("mail")
    cases: list[tuple[str, dict[str, Any]]] = [
        ("KeyRefused", {"tsig_secret": stranger.secret}),
        ("KeyRefused", {"tsig_name": "nobody"}),
        ("KeyRefused", {"tsig_algorithm": "hmac-sha384"}),
        ("NameServerError", {"update_server": f"127.0.0.1:{free_port()}"}),
    ]
    for kind, options in cases:
        result = publisher.run("present", **options)
        assert (result["failed"], result["changed"]) == (True, False)
        assert result["failure"] == {"kind": kind}
        assert stranger.secret not in str(result)
    assert publisher.stage.gate.updates == 0


def test_reads_only_what_it_needs(publisher: Publisher, site: Site) -> None:
    """One request to the service for each task, none of which writes."""
    site.recorder.take()
    for state in ("retrieved", "verified", "present", "absent"):
        publisher.run(state)
        (exchange,) = site.recorder.take()
        assert (exchange.method, exchange.path) == ("GET", f"/api/dns/{HOME}")


def test_what_a_merged_record_costs(publisher: Publisher, tmp_path: Path) -> None:
    """The resolvers of the option tell, and one look-up too many keeps the task from writing."""
    include = '@ TXT "v=spf1 a a/20 -all"\n@ A 192.0.2.1'
    (tmp_path / "world").mkdir()
    with running(tmp_path / "world", {HOME: include, "spf.postroom.test": include}) as world:
        terms = " ".join(f"a/{length}" for length in range(10, 18))
        publisher.stage.bind.change(HOME, add=[f'{HOME}. 60 TXT "v=spf1 {terms} -all"'])
        for check in (True, False):
            result = publisher.run("present", check=check, resolvers=[str(world)])
            assert (result["failed"], result["failure"]) == (True, {"kind": "Refused"})
            assert "it takes more than 10 DNS look-ups" in result["msg"]
    assert publisher.stage.gate.updates == 0
    # Without what the service's record leads to, there are nine.
    done = publisher.run("present")
    assert "could not be counted to the end" in str(done["warnings"])
    assert publisher.stage.gate.updates == 1
