# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""No secret is in anything that is shown: not in errors, not in representations."""

from __future__ import annotations

import json
import pickle
import traceback
from collections.abc import Callable
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.postroom.email.plugins.module_utils._api import errors
from ansible_collections.postroom.email.plugins.module_utils._api.models import Mailbox
from ansible_collections.postroom.email.plugins.module_utils._api.names import parse_address
from ansible_collections.postroom.email.plugins.module_utils._api.planning.changes import (
    Change,
    Plan,
    as_diff,
)
from ansible_collections.postroom.email.plugins.module_utils._api.planning.mailbox import (
    WantedMailbox,
)
from ansible_collections.postroom.email.plugins.module_utils._api.wire import calls
from ansible_collections.postroom.email.plugins.module_utils._api.wire.client import Client
from ansible_collections.postroom.email.tests.support.clients import TOKEN, sender_to

ALICE = parse_address("alice@example.com")
PASSWORD = 'pw-"8Kd"\\q0/Zé bra%'

FORMS: dict[str, Callable[[str], str]] = {
    "raw": str,
    "JSON": lambda secret: json.dumps(secret)[1:-1],
    "JSON in UTF-8": lambda secret: json.dumps(secret, ensure_ascii=False)[1:-1],
    "percent-encoded": lambda secret: quote(secret, safe=""),
    "percent-encoded, with slashes": quote,
    "percent-encoded in small letters": lambda secret: "".join(
        f"%{byte:02x}" if quote(chr(byte), safe="") != chr(byte) else chr(byte)
        for byte in secret.encode()
    ),
    "form-encoded": quote_plus,
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("secret", [PASSWORD, TOKEN], ids=["password", "token"])
def test_every_form_of_a_secret_is_hidden(form: str, secret: str) -> None:
    """However a server writes it, what is shown has stars in its place."""
    text = f"before <{FORMS[form](secret)}> after"
    assert errors.redact(text, [secret]) == "before <********> after"


def test_a_secret_within_a_secret_leaves_no_rest() -> None:
    """Where one password begins another, the longer one goes as a whole."""
    assert errors.hide("said winter-2026-x", ["winter", "winter-2026-x"]) == "said ********"


def test_an_empty_secret_hides_nothing() -> None:
    """There is nothing to hide in it."""
    assert errors.hide("plain text", ["", "\n"]) == "plain text"


@given(st.text(max_size=40), st.text(min_size=1, max_size=20), st.text(max_size=40))
def test_a_secret_is_never_in_what_is_hidden(before: str, secret: str, after: str) -> None:
    """Whatever stands around it."""
    shown = errors.hide(before + secret + after, [secret])
    assert secret not in shown.replace("********", "") or secret in before + after + "*"


def test_representations_hold_no_secret() -> None:
    """A Call, a Change, a WantedMailbox, a Sender and a Client can be printed."""
    sender = sender_to("http://127.0.0.1:9")
    wanted = WantedMailbox(ALICE, (PASSWORD,))
    change = Change("create", None, Mailbox(ALICE), "it is not there", secrets=(PASSWORD,))
    call = calls.create(Mailbox(ALICE), (PASSWORD,))
    things = [call, change, Plan((change,)), wanted, sender, Client(sender), change.as_dict()]
    shown = " ".join(f"{thing!r} {thing}" for thing in [*things, as_diff(Plan((change,)))])
    sender.close()
    for form in FORMS.values():
        assert form(PASSWORD) not in shown
        assert form(TOKEN) not in shown
    assert repr(PASSWORD)[1:-1] not in shown


def test_a_call_and_a_sender_are_not_written_to_disk() -> None:
    """What holds the token, or a reader made for one call, can't be pickled by mistake."""
    sender = sender_to("http://127.0.0.1:9")
    for thing in (sender, Client(sender), calls.create(Mailbox(ALICE), (PASSWORD,))):
        with pytest.raises((TypeError, AttributeError, pickle.PicklingError)):
            pickle.dumps(thing)
    sender.close()


def test_a_diff_says_that_passwords_are_set_and_not_which() -> None:
    """A new mailbox has its passwords set, an existing one replaced."""
    box = Mailbox(ALICE)
    create = Change("create", None, box, "", secrets=(PASSWORD,))
    update = Change("update", box, box, "", secrets=(PASSWORD,))
    diffs = as_diff(Plan((create, update)))
    assert [diff["after"]["passwords"] for diff in diffs] == ["set", "replaced"]
    assert diffs[0]["before"] == {}


def test_a_traceback_of_a_refused_connection_holds_no_token() -> None:
    """The error that httpx raised, which knows the request's headers, does not hang on ours."""
    sender = sender_to("http://127.0.0.1:1")
    with pytest.raises(errors.Unreachable) as caught:
        sender.send(calls.create(Mailbox(ALICE), (PASSWORD,)), 5.0)
    sender.close()
    shown = "".join(traceback.format_exception(caught.value))
    assert TOKEN not in shown
    assert PASSWORD not in shown
    assert caught.value.__suppress_context__
