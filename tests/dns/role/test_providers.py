# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The role with each provider: published, published again, withdrawn, and others' records kept."""

from __future__ import annotations

import base64

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from ansible_collections.postroom.email.tests.dns.role.conftest import Stage
from ansible_collections.postroom.email.tests.dns.role.providers import PROVIDERS
from ansible_collections.postroom.email.tests.dns.role.rig import (
    dkim_text,
    exchange_key,
    joined,
)

MX = "10 mail.postroom.test."
THEIR_MX = "20 backup.example.net."
THEIR_SPF = '"v=spf1 mx -all"'
THEIR_TEXT = '"site-verification=Zm9v; a b"'
MERGED_SPF = '"v=spf1 mx include:spf.postroom.test -all"'

#: The values of each type at the domain, and those of its DKIM record.
Held = tuple[tuple[str, ...], ...]


@pytest.mark.parametrize("stage", PROVIDERS, indirect=True)
def test_publishes_and_withdraws(stage: Stage) -> None:
    """Records come, change and go, each in one run, and nobody else's are touched."""
    stage.provider.put(stage.domain, "MX", THEIR_MX)
    stage.provider.put(stage.domain, "TXT", THEIR_SPF, THEIR_TEXT)
    before = held(stage)
    only_told(stage, before)
    published(stage)
    key_exchanged(stage)
    withdrawn(stage, before)


def only_told(stage: Stage, before: Held) -> None:
    """Publish in check mode, which tells of the change and makes none."""
    take_writes(stage)
    run = stage.rig.run({"would": {}}, "--check", "--diff", "-vvv")
    assert run["would"].recap.changed > 0, run.output
    assert held(stage) == before
    assert take_writes(stage) == []
    assert stage.provider.secret not in run.output
    assert MERGED_SPF.strip('"') in run.output


def published(stage: Stage) -> None:
    """Publish twice, and see the records and what the role tells of them."""
    run = stage.rig.run({"publish": {}, "again": {}}, "-vvv")
    assert run["publish"].recap.changed > 0, run.output
    assert run["again"].recap.changed == 0, run.output
    assert stage.provider.secret not in run.output
    assert_published(stage)
    for play, changed in (("publish", True), ("again", False)):
        (told,) = run[play].result.values()
        assert bool(told["changes"]) is changed
        if stage.provider.answers:
            assert told["stage"] in {"published", "active"}
            assert {record["status"] for record in told["records"]} == {"match"}


def key_exchanged(stage: Stage) -> None:
    """Publish a longer key in place of the one that is there."""
    public = rsa.generate_private_key(public_exponent=65537, key_size=4096).public_key()
    encoded = public.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    exchange_key(stage.service, stage.domain, base64.b64encode(encoded).decode())
    run = stage.rig.run({"exchange": {}})
    assert run["exchange"].recap.changed > 0, run.output
    assert_published(stage)


def withdrawn(stage: Stage, before: Held) -> None:
    """Withdraw twice, and see that everything is as it was."""
    absent = {"dns_state": "absent"}
    run = stage.rig.run({"withdraw": absent, "again": absent})
    assert run["withdraw"].recap.changed > 0, run.output
    assert run["again"].recap.changed == 0, run.output
    assert held(stage) == before


def assert_published(stage: Stage) -> None:
    """See the service's records beside those of others, and its key as it is."""
    mx, texts, dkim = held(stage)
    assert mx == (MX, THEIR_MX)
    assert texts == tuple(sorted((MERGED_SPF, THEIR_TEXT)))
    assert [joined(value) for value in dkim] == [dkim_text(stage.service, stage.domain)]


def held(stage: Stage) -> Held:
    """Return what the provider holds at the names of the records."""
    asked = ((stage.domain, "MX"), (stage.domain, "TXT"))
    dkim = (f"service._domainkey.{stage.domain}", "TXT")
    return tuple(stage.provider.lookup(name, kind) for name, kind in (*asked, dkim))


def take_writes(stage: Stage) -> list[str]:
    """Return the writes since the last call, where they are seen."""
    return stage.provider.take_writes() if stage.provider.take_writes else []
