# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The collection's own playbooks, by their names, on every supported ansible-core.

They run on the machine of Ansible and its own Python, whatever Python other hosts have.
"""

from __future__ import annotations

import re

import pytest

from ansible_collections.postroom.email.tests.support.desk import Desk, words
from ansible_collections.postroom.email.tests.support.site import Site

pytestmark = pytest.mark.matrix

PASSWORD = "correct-horse/battery#staple"
#: Special to YAML, to templates, to shells or to patterns.
ODD = ("null", "1e3", "~", "*", "{{x}}", "#tag", "%2f", "o'neil", "!a", "&a")


def test_a_round_trip(desk: Desk, site: Site) -> None:
    """An export is found to differ in nothing, and converges to nothing, whatever the names."""
    site.create("one.example", "xn--bcher-kva.example")
    site.create("ann@one.example", emails=["ann@one.example", *(f"{o}@one.example" for o in ODD)])
    site.create("all@one.example", members=["ann@one.example", "{{x}}@far.example"])
    told = desk.play("export", mail_definition_file="tenant.yml")
    assert (told.status, told.recap.changed) == (0, 1), told.output
    assert (desk.folder / "tenant.yml").stat().st_mode & 0o777 == 0o600
    assert desk.load("tenant.yml") == {
        "domains": ["one.example", "xn--bcher-kva.example"],
        "mailboxes": [
            {"name": "ann@one.example", "aliases": sorted(f"{odd}@one.example" for odd in ODD)}
        ],
        "forwarders": [
            {
                "name": "all@one.example",
                "members": ["ann@one.example", "{{x}}@far.example"],
                "aliases": [],
            }
        ],
    }
    with site.recorder.forbidding_writes():
        told = desk.play("drift", mail_definition_files="tenant.yml")
        assert (told.status, told.recap.changed) == (0, 0), told.output
        assert "Nothing differs" in words(told)
        told = desk.play("converge", mail_definition_files=["tenant.yml"])
        assert (told.status, told.recap.changed) == (0, 0), told.output


def test_an_export_overwrites_nothing(desk: Desk, site: Site) -> None:
    """Unless it is told to; and it wants to know where to write."""
    site.create("one.example", "two.example", "ann@two.example")
    nothings: tuple[object, ...] = ("", None, [], 7)
    for nothing in nothings:
        told = desk.play("export", mail_definition_file=nothing)
        assert told.status == 2
        assert "Give mail_definition_file, the path" in words(told)
    desk.save("mine.yml", "mine")
    told = desk.play("export", mail_definition_file="mine.yml")
    assert told.status == 2
    assert "mine.yml is there already and was left alone." in words(told)
    assert desk.load("mine.yml") == "mine"
    variables = {
        "mail_definition_file": "mine.yml",
        "mail_file_mode": "0640",
        "mail_overwrite": True,
    }
    slips: list[tuple[str, object, str]] = [
        ("mail_overwrite", "yess", "mail_overwrite is yess. Write true or false."),
        ("mail_file_mode", 640, "mail_file_mode is the number 640. Write it in quotes, such as"),
        ("mail_domains", "two.example,tow.example", "No such domain in this tenant: tow.example."),
        ("mail_domains", [], "mail_domains names no domain."),
    ]
    for name, slip, sentence in slips:
        told = desk.play("export", **{**variables, name: slip})
        assert told.status == 2
        assert sentence in words(told)
        assert desk.load("mine.yml") == "mine"
    told = desk.play("export", mail_domains=["two.example"], **variables)
    assert told.status == 0, told.output
    assert (desk.folder / "mine.yml").stat().st_mode & 0o777 == 0o640
    assert desk.load("mine.yml") == {
        "domains": ["two.example"],
        "mailboxes": [{"name": "ann@two.example", "aliases": []}],
        "forwarders": [],
    }


def test_drift_is_told_with_its_direction(desk: Desk, site: Site) -> None:
    """In a report that is also written to a file; the run fails and writes nothing else."""
    site.create("one.example", "old.example", "zoe@old.example", "bob@one.example")
    site.create("ann@one.example", emails=["ann@one.example", "hi@one.example", "ho@one.example"])
    site.create("all@one.example", members=["ann@one.example"])
    desk.save(
        "tenant.yml",
        {
            "domains": ["one.example", "new.example"],
            "mailboxes": [
                {"name": "ann@one.example", "aliases": ["hi@one.example"]},
                {"name": "bob@one.example", "state": "absent"},
                "cat@new.example",
            ],
        },
    )
    desk.save(
        "more.yml", {"forwarders": [{"name": "all@one.example", "members": ["x@far.example"]}]}
    )
    given = {"mail_definition_files": "tenant.yml, more.yml", "mail_report_file": "drift.txt"}
    with site.recorder.forbidding_writes():
        told = desk.play("drift", "--check", **given)
        assert (told.status, told.recap.changed, told.recap.failed) == (2, 1, 1), told.output
        assert not (desk.folder / "drift.txt").exists()
        told = desk.play("drift", **given)
    assert (told.status, told.recap.changed, told.recap.failed) == (2, 1, 1), told.output
    report = (desk.folder / "drift.txt").read_text("utf-8").splitlines()
    reason = "it lacks the member x@far.example, it is not to have the member ann@one.example"
    assert sorted(report) == [
        "declared, not there: domain new.example",
        "declared, not there: mailbox cat@new.example",
        f"differs: forwarder all@one.example: {reason}",
        "there, declared absent: mailbox bob@one.example: it is to be absent",
        "there, not declared: alias ho@one.example of ann@one.example",
        "there, not declared: domain old.example",
        "there, not declared: mailbox zoe@old.example",
    ]
    assert "The tenant differs from its definition in 7 places: " in words(told)
    # Once in the report, and again with the failure.
    assert all(told.output.count(line) > 1 for line in report)


def test_drift_ignores_what_it_is_told_to(desk: Desk, site: Site) -> None:
    """Patterns are those of a shell; a dot in them is a dot, and names are compared as names."""
    site.create("one.example", "old.example", "zoe@old.example", "zoe@one.example")
    site.create("xn--bcher-kva.example", "bob@xn--bcher-kva.example")
    site.create("ann@one.example", emails=["ann@one.example", "hi@one.example"])
    ann = {"name": "ann@one.example", "aliases": []}
    desk.save("tenant.yml", {"domains": ["one.example"], "mailboxes": [ann]})
    files = str(desk.folder / "tenant.yml")
    patterns = ["*OLD.example", "zo?@one.example", "[f-h]*@one.example"]
    patterns += ["Bücher.example", "*@bücher.example"]
    told = desk.play("drift", mail_definition_files=files, mail_ignore=patterns)
    assert told.status == 0, told.output
    told = desk.play("drift", mail_definition_files=files, mail_ignore="*.eXample")
    assert told.status == 0, told.output
    patterns = ["*old?example", "z*.one", "bücher.example", "*@Bücher.example"]
    told = desk.play("drift", mail_definition_files=files, mail_ignore=patterns)
    assert told.status == 2
    assert re.findall(r'"there, not declared: ([^"]+)', told.output) == [
        "mailbox zoe@one.example",
        "alias hi@one.example of ann@one.example",
    ]
    assert "in 2 places" in words(told)


def test_converge_carries_out_the_plan_that_was_reviewed(desk: Desk, site: Site) -> None:
    """And no other; what is not declared goes only within the limit."""
    site.create("one.example", "bob@one.example")
    desk.save("tenant.yml", {"domains": ["one.example"], "mailboxes": ["ann@one.example"]})
    variables: dict[str, object] = {
        "mail_definition_files": "tenant.yml",
        "vault_mail_passwords": {"ann@one.example": PASSWORD},
        "mail_purge": "mailbox",
    }
    told = desk.play("converge", **variables)
    assert told.status == 2
    assert "max_deletions allows 0" in words(told)
    assert set(site.listing()) == {"one.example", "bob@one.example"}
    variables |= {"mail_max_deletions": 1}
    with site.recorder.forbidding_writes():
        told = desk.play("converge", "--check", "--diff", **variables)
    assert told.status == 0, told.output
    assert "create: 1, update: 0, delete: 1, unchanged: 1" in told.output
    (digest,) = re.findall(r"plan_digest: (sha256:\w+)", told.output)
    # For the next step of a workflow.
    assert f'"mail_expected_plan": "{digest}"' in told.output
    told = desk.play("converge", mail_expected_plan=f"sha256:{0:064}", **variables)
    assert told.status == 2
    assert "The plan is not the one expected" in words(told)
    told = desk.play("converge", mail_expected_plan=digest, **variables)
    assert (told.status, told.recap.changed) == (0, 1), told.output
    assert set(site.listing()) == {"one.example", "ann@one.example"}
    assert PASSWORD not in told.output


@pytest.mark.parametrize(
    ("given", "there", "sentence"),
    [
        ({"mail_scope": []}, True, "unchanged: 1"),
        ({"mail_max_delete_percent": 0}, True, "max_delete_percent allows 0"),
        ({"mail_scope": "", "mail_max_delete_percent": None}, False, "delete: 1"),
    ],
)
def test_what_is_false_is_an_answer(
    given: dict[str, object], there: bool, sentence: str, desk: Desk, site: Site
) -> None:
    """Nothing is purged where no name is in scope, or no share of them; no answer is no limit."""
    site.create("one.example", "bob@one.example")
    desk.save("tenant.yml", {"domains": ["one.example"]})
    wanted = {"mail_definition_files": "tenant.yml", "mail_purge": ["mailbox"]}
    told = desk.play("converge", mail_max_deletions=1, **wanted, **given)
    assert sentence in words(told)
    assert ("bob@one.example" in site.listing()) == there


def test_slips_are_told_by_their_variables(desk: Desk, site: Site) -> None:
    """Under the names that were given, not those of the role or the module behind the playbook."""
    desk.save("tenant.yml", {"domains": []})
    slips: list[tuple[str, str, object, str]] = [
        ("converge", "mail_max_deletions", "abc", "is abc. Write a whole number, 0 or more."),
        ("converge", "mail_max_delete_percent", "1/2", "is 1/2. Write a number, 0 to 100."),
        ("converge", "mail_purge", "alias, aliases", "names aliases. Choose from alias, mailb"),
        ("forwarder", "mail_purge_members", "ture", "is ture. Write true or false."),
    ]
    given = {"mail_definition_files": "tenant.yml", "mail_forwarder": "all@one.example"}
    with site.recorder.forbidding_writes():
        for playbook, name, slip, sentence in slips:
            told = desk.play(playbook, **given, **{name: slip})
            assert told.status == 2
            assert f"{name} {sentence}" in words(told)
        # As the service is asked where nothing is answered.
        unanswered = {"mail_api_url": "", "vault_mail_token": None, "mail_purge": "alias, mailbox"}
        limits = {"mail_max_deletions": "1", "mail_max_delete_percent": 12.5}
        told = desk.play("converge", **given, **unanswered, **limits)
        assert told.status == 0, told.output


@pytest.mark.parametrize("playbook", ["converge", "drift"])
def test_a_definition_is_needed(playbook: str, desk: Desk) -> None:
    """Without one, the sentence names the variable; so it does where the file is not there."""
    nothings: tuple[object, ...] = ([], "", None)
    for nothing in nothings:
        told = desk.play(playbook, mail_definition_files=nothing)
        assert told.status == 2
        assert "Give mail_definition_files, such as" in words(told)
    told = desk.play(playbook, mail_definition_files="none.yml")
    assert told.status == 2
    assert "none.yml: The file can't be read" in words(told)
    told = desk.play(playbook, mail_definition_files=5)
    assert "5: The file can't be read" in words(told)


@pytest.mark.parametrize("playbook", ["drift", "export", "report"])
def test_a_folder_is_needed(playbook: str, desk: Desk) -> None:
    """Where a file is to be written, that is seen before the service is asked; not the folder."""
    desk.save("tenant.yml", {"domains": []})
    (desk.folder / "logs").mkdir()
    file = "mail_definition_file" if playbook == "export" else "mail_report_file"
    given: dict[str, object] = {"mail_definition_files": "tenant.yml"}
    given |= {"mail_overwrite": True} if playbook == "export" else {}
    slips = {
        "none/file": "none/file, and there is no such folder. Create it, or name another.",
        "logs": "logs, which is a folder. Name a file in it.",
    }
    for slip, sentence in slips.items():
        told = desk.play(playbook, **given, **{file: slip})
        assert told.status == 2
        assert f"{file} is {desk.folder}/{sentence}" in words(told)
    if playbook != "export":
        told = desk.play(playbook, **given, mail_report_file="./tenant.yml")
        assert "tenant.yml, which is a definition. Name another file." in words(told)
        assert "domains: []" in (desk.folder / "tenant.yml").read_text("utf-8")
    assert list((desk.folder / "logs").iterdir()) == []
    told = desk.play(playbook, **given, **{file: ["logs/file"]})
    assert told.status == 2
    sentence = f"{file} names no file." if playbook == "drift" else f"Give {file}, the path"
    assert sentence in words(told)


def test_one_alias_comes_and_goes(desk: Desk, site: Site) -> None:
    """Once each; what somebody else has stays there."""
    site.create("one.example", "ann@one.example", "bob@one.example")
    variables = {"mail_alias": "hi@one.example\n", "mail_mailbox": " ann@one.example"}
    with site.recorder.forbidding_writes():
        told = desk.play("add_alias", "--check", **variables)
    assert (told.status, told.recap.changed) == (0, 1), told.output
    changed = [desk.play("add_alias", **variables).recap.changed for _ in range(2)]
    assert changed == [1, 0]
    assert site.listing()["ann@one.example"]["emails"] == {"ann@one.example", "hi@one.example"}
    others = {**variables, "mail_mailbox": "bob@one.example"}
    told = desk.play("add_alias", **others)
    assert told.status == 2
    assert "hi@one.example is taken" in words(told)
    told = desk.play("remove_alias", **others)
    assert (told.status, told.recap.changed) == (0, 0), told.output
    assert "hi@one.example is an alias of ann@one.example, and was left there." in words(told)
    told = desk.play("add_alias", **others, mail_move="yes")
    assert (told.status, told.recap.changed) == (0, 1), told.output
    assert desk.play("add_alias", **variables, mail_move=True).recap.changed == 1
    changed = [desk.play("remove_alias", **variables).recap.changed for _ in range(2)]
    assert changed == [1, 0]
    assert site.listing()["ann@one.example"]["emails"] == {"ann@one.example"}
    others = {"mail_alias": "bob@none.example", "mail_mailbox": "nobody@one.example"}
    sentences = {
        "mail_mailbox": "The mailbox nobody@one.example does not exist. Check mail_mailbox.",
        "mail_alias": "The domain none.example is not registered in this tenant. Check mail_alias.",
    }
    for name, sentence in sentences.items():
        told = desk.play("remove_alias", **{**variables, name: others[name]})
        assert told.status == 2
        assert sentence in words(told)


def test_one_forwarder_comes_and_goes(desk: Desk, site: Site) -> None:
    """Members may come as a list or, as from a survey, as a text; so may the other answers."""
    site.create("one.example", "ann@one.example")
    team = {"mail_forwarder": " all@one.example\n"}
    desk.play("forwarder", **team, mail_members=["ann@one.example", "x@far.example"])
    assert site.listing()["all@one.example"]["members"] == {"ann@one.example", "x@far.example"}
    told = desk.play("forwarder", **team, mail_members=" y@far.example,\n", mail_purge_members="no")
    assert (told.status, told.recap.changed) == (0, 1), told.output
    assert len(site.listing()["all@one.example"]["members"]) == 3
    unanswered = {"mail_state": "", "mail_purge_members": ""}
    told = desk.play(
        "forwarder", **team, mail_members="y@far.example\r\nz@far.example", **unanswered
    )
    assert (told.status, told.recap.changed) == (0, 1), told.output
    assert site.listing()["all@one.example"]["members"] == {"y@far.example", "z@far.example"}
    assert desk.play("forwarder", **team).recap.changed == 0
    told = desk.play("forwarder", **team, mail_members="", mail_state="absent")
    assert (told.status, told.recap.changed) == (0, 1), told.output
    assert "all@one.example" not in site.listing()


@pytest.mark.parametrize("playbook", ["add_alias", "remove_alias", "forwarder"])
def test_names_are_needed(playbook: str, desk: Desk, site: Site) -> None:
    """Without them, or with empty ones, the sentence names the variables."""
    needed = ["mail_forwarder"] if playbook == "forwarder" else ["mail_alias", "mail_mailbox"]
    with site.recorder.forbidding_writes():
        nothings: list[object] = [None, " \n", 7]
        if playbook != "forwarder":
            nothings.append("a@one.example,b@one.example")
        for nothing in nothings:
            told = desk.play(playbook, **dict.fromkeys(needed, nothing))
            assert told.status == 2
            assert f"Give {' and '.join(needed)}, " in words(told)
        assert desk.play(playbook).status == 2
