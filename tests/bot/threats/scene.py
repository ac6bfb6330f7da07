# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Where the attacks take place: the real bot process, a Slack workspace, a mail tenant, witnesses.

What the bot wrote down is read from its database, and what it did from the mail service's: neither
is asked through the product's own code.
"""

from __future__ import annotations

import itertools
import json
import re
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from ansible_collections.postroom.email.tests.fakes.slack import payloads
from ansible_collections.postroom.email.tests.fakes.slack.delivery import FIRST, Answer
from ansible_collections.postroom.email.tests.fakes.slack.http_transport import HttpTransport
from ansible_collections.postroom.email.tests.fakes.slack.person import Person
from ansible_collections.postroom.email.tests.fakes.slack.records import Ack, Message, View
from ansible_collections.postroom.email.tests.fakes.slack.workspace import Workspace
from ansible_collections.postroom.email.tests.fakes.slack.world import PATIENCE
from ansible_collections.postroom.email.tests.service.api import Api
from ansible_collections.postroom.email.tests.support.bot import RunningBot, running_bot
from ansible_collections.postroom.email.tests.support.service import RunningService, running_service

DOMAIN = "example.com"
#: Ours too, and Slack addresses in it are not believed.
UNBELIEVED = "example.org"
APPROVE, DENY = "request_approve", "request_deny"

POLICY = """
version: 1
identity:
  slack_email: {{domains: [example.com], cooldown: 72h}}
groups:
  admins:
    usergroups: [{admins}]
approvers: admins
channels: {{approvals: {approvals}, audit: {audit}}}
limits: {{open_requests: 4}}
rules:
  - {{name: own-passwords, actions: [password], own: true, automatic: true}}
  - {{name: passwords, actions: [password], approvals: {{admins: 2}}}}
  - {{name: own-removals, actions: [alias.remove], own: true, automatic: true}}
  - {{name: own-aliases, actions: [alias.add], own: true, approvals: {{admins: 1}}}}
  - {{name: aliases, actions: [alias.add, alias.remove], approvals: {{admins: 2}}}}
  - {{name: forwards, actions: [forward.add, forward.remove], approvals: {{admins: 1}}}}
"""

Row = dict[str, Any]
T = TypeVar("T")
_NUMBER = re.compile(r"R-[0-9A-Z]{4,}")
_FAR_AWAY = "2999-01-01 00:00:00.000000"


class Asked(NamedTuple):
    """A request that waits for approval, and its card."""

    id: str
    card: Message


@dataclass
class Scene:
    """Everything, with the hands and eyes of the tests.

    :param admins: the user group of the approvers
    :param policy: the text of the policy in force
    :param audit_lines: the file into which the bot streams its audit
    """

    slack: Workspace
    mail: RunningService
    api: Api
    bot: RunningBot
    admins: str
    channels: Mapping[str, str]
    policy: str
    audit_lines: Path
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    # Who is there.

    def hire(
        self,
        *,
        approves: bool = False,
        email: str | None = None,
        has_mailbox: bool = True,
        **about: Any,
    ) -> Person:
        """Give somebody an account who sees the cards, by default with a mailbox of their own."""
        name = f"person{next(self._numbers)}"
        email = email or f"{name}@{DOMAIN}"
        if has_mailbox:
            self.api.mailbox(email)
        person = self.slack.person(name, email=email, **about)
        with self.slack.world.changed:
            self.slack.world.channels[self.channels["approvals"]].members.add(person.id)
            if approves:
                self.slack.world.usergroups[self.admins].append(person.id)
        return person

    def dismiss(self, person: Person) -> None:
        """Take somebody out of the approvers' group."""
        with self.slack.world.changed:
            self.slack.world.usergroups[self.admins].remove(person.id)

    def fresh(self, local: str = "project") -> str:
        """Return an address that nobody has."""
        return f"{local}-{next(self._numbers)}@{DOMAIN}"

    # What people do.

    def ask(self, person: Person, text: str) -> Asked:
        """Have somebody type a wish, and wait until its card is there and known as such."""
        return self.card_of(number_in(person.command(f"/email {text}")))

    def card_of(self, number: str) -> Asked:
        """Wait until a request's card is there and known as such, and nobody is at it any more.

        Whoever is at it writes when it is due next, over what a test may have written there.
        """

        def carded() -> Message | None:
            row = self.request(number)
            cards = self.slack.messages(self.channels["approvals"])
            known = [one for one in cards if one.ts == row["card_ts"]]
            return known[0] if known and row["lease_owner"] is None else None

        card = self.until(carded)
        assert card is not None
        return Asked(number, card)

    def deliver(self, person: Person, text: str, secret: str | None = None, **about: Any) -> Answer:
        """Deliver a command whose text is as given: nothing of it is wrapped or escaped.

        :param secret: what it is signed with, if it is not this app's
        :param about: what else it says otherwise, such as ``api_app_id``
        """
        world = self.slack.world
        channel = world.channels[person.channel]
        parcel = payloads.command(world, person.user, channel, "/email help")
        parcel = parcel._replace(payload={**parcel.payload, "text": text, **about})
        transport = HttpTransport(self.bot.slack_url, secret or self.slack.signing_secret)
        return transport.send(parcel, FIRST, PATIENCE, at=time.time())

    def form(self, person: Person, name: str, values: Mapping[str, Any]) -> Ack:
        """Have somebody fill in a form that they opened from the menu, and send it."""
        person.shortcut("postroom_menu")
        person.press_in_view(self.window(person, "menu"), f"open_{name}")
        return person.submit(self.window(person, name), values)

    def deny(self, person: Person, card: Message, reason: str = "Not now.") -> View:
        """Have somebody deny a request, and return the window that answers."""
        person.press(card, DENY)
        person.submit(self.window(person, "deny_reason"), {"reason": reason})
        return self.window(person, "note")

    # What people see.

    def until(self, predicate: Callable[[], T]) -> T:
        """Wait until something is truthy and return it."""
        return self.slack.wait_for(predicate)

    def window(self, person: Person, name: str) -> View:
        """Wait until this window is in front of somebody."""

        def shown() -> View | None:
            modals = person.sees().modals
            return modals[-1] if modals and modals[-1].callback_id == name else None

        found = self.until(shown)
        assert found is not None
        return found

    def is_told(self, person: Person, *parts: str) -> Message:
        """Wait until the bot tells somebody all of this at once, where nobody else reads it."""

        def telling() -> Message | None:
            seen = person.sees()
            said = (*seen.ephemerals, *seen.direct)
            found = [one for one in said if all(part in one.text for part in parts)]
            return found[-1] if found else None

        message = self.until(telling)
        assert message is not None
        return message

    def is_shown(self, person: Person, part: str) -> None:
        """Wait until a note in front of somebody says this."""

        def shown() -> bool:
            top = person.sees().modals[-1:]
            return any(one.callback_id == "note" and part in text_of(one) for one in top)

        self.until(shown)

    # What the bot wrote down.

    def rows(self, query: str, *values: object) -> list[Row]:
        """Read the bot's database."""
        with closing(sqlite3.connect(f"file:{self.bot.database}?mode=ro", uri=True)) as database:
            database.row_factory = sqlite3.Row
            return [dict(row) for row in database.execute(query, values)]

    def tamper(self, statement: str, *values: object) -> None:
        """Write into the bot's database behind its back."""
        with closing(sqlite3.connect(self.bot.database, timeout=PATIENCE)) as database, database:
            assert database.execute(statement, values).rowcount == 1

    def request(self, number: str) -> Row:
        """Return a request's row."""
        (row,) = self.rows("SELECT * FROM request WHERE id = ?", number)
        return row

    def comes_to(self, number: str, state: str) -> Row:
        """Wait until a request is in a state, and return its row."""

        def there() -> Row | None:
            row = self.request(number)
            return row if row["state"] == state else None

        row = self.until(there)
        assert row is not None
        return row

    def audited(self, event: str, actor: str, part: str = "", *, number: str | None = None) -> Row:
        """Wait until the audit has a row of an event and an actor that says this."""

        def written() -> Row | None:
            found = self.rows("SELECT * FROM audit WHERE event = ? AND actor = ?", event, actor)
            fitting = [one for one in found if part in str(json.loads(one["data"]))]
            return next((one for one in fitting if number in (None, one["request"])), None)

        row = self.until(written)
        assert row is not None
        return row

    def requests_of(self, person: Person) -> list[Row]:
        """Return what somebody asked for."""
        return self.rows("SELECT * FROM request WHERE requester = ?", person.id)

    def refuses(self, person: Person, number: str, part: str, *, state: str = "refused") -> None:
        """Wait until a request ends so, with these words in its row, its audit, its requester's."""
        assert part in self.comes_to(number, state)["result"].replace("`", "")
        (row,) = self.rows(
            "SELECT * FROM audit WHERE request = ? AND event = ?", number, f"request.{state}"
        )
        assert part in json.loads(row["data"])["result"].replace("`", "")
        self.is_told(person, number, part)

    # What it did.

    def tenant(self) -> str:
        """Return all that the mail service has, hashes of passwords included."""
        with closing(sqlite3.connect(f"file:{self.mail.database}?mode=ro", uri=True)) as database:
            return "\n".join(database.iterdump())

    @contextmanager
    def no_effect(self) -> Iterator[None]:
        """See that the mail service has the same after a block as before."""
        before = self.tenant()
        yield
        assert self.tenant() == before

    def delivers(self, address: str) -> str | None:
        """Return the name of what an address delivers to, if anything."""
        found = [one for one in self.api.listing() if address in one.get("emails", ())]
        return str(found[0]["name"]) if found else None

    # What happens around it.

    @contextmanager
    def in_force(self, policy: str) -> Iterator[None]:
        """Have another policy in force for the length of a block."""
        self._reload(policy)
        try:
            yield
        finally:
            self._reload(self.policy)

    @contextmanager
    def busy(self, mailbox: str) -> Iterator[None]:
        """Keep a mailbox locked for the length of a block: what is approved waits meanwhile."""
        self.lock(mailbox)
        yield
        self.let_go_of(mailbox)

    def lock(self, mailbox: str) -> None:
        """Lock a mailbox, as another worker does that is at it."""
        lock = "INSERT INTO mailbox_lock (mailbox, owner, until) VALUES (?, 'another', ?)"
        self.tamper(lock, mailbox, _FAR_AWAY)

    def let_go_of(self, mailbox: str) -> None:
        """End a lock."""
        self.tamper("DELETE FROM mailbox_lock WHERE mailbox = ?", mailbox)

    def _reload(self, policy: str) -> None:
        read = self.bot.log().count("was read anew")
        self.bot.policy_file.write_text(policy, encoding="utf-8")
        self.bot.reload()
        self.until(lambda: self.bot.log().count("was read anew") > read)


def number_in(ack: Ack) -> str:
    """Return the number of the request that an acknowledgement tells."""
    found = _NUMBER.search(str(ack.body))
    assert found is not None, ack
    return found[0]


def text_of(view: View) -> str:
    """Return all that a window says."""
    return str(view.content["blocks"])


@contextmanager
def open_scene(
    place: Path, *, mode: str, settings: Mapping[str, object] | None = None
) -> Iterator[Scene]:
    """Set everything up until the block ends.

    :param mode: how Slack reaches the bot: ``http`` or ``socket``
    :param settings: more of the bot's
    """
    with (
        Workspace() as slack,
        running_service(place / "mail") as mail,
        Api(mail.url, mail.token) as api,
    ):
        slack.be_patient(PATIENCE)
        for domain in (DOMAIN, UNBELIEVED):
            api.domain(domain)
        channels = {name: slack.channel(name) for name in ("approvals", "audit")}
        admins = slack.usergroup()
        policy = POLICY.format(admins=admins, **channels)
        given = {"audit_lines": place / "audit.jsonl", **(settings or {})}
        with running_bot(place / "bot", slack, mail, policy, mode=mode, settings=given) as bot:
            if mode == "http":
                slack.deliver_over_http(bot.slack_url)
            yield Scene(slack, mail, api, bot, admins, channels, policy, place / "audit.jsonl")
        assert slack.problems == []
