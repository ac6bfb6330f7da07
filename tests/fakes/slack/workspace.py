# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""A Slack workspace in this process, with one app: the bot under test.

    with Workspace() as slack:
        alice = slack.person("alice", email="alice@example.com")
        approvals = slack.channel("approvals", alice)
        start_bot(slack.base_url, slack.bot_token, slack.app_token)
        slack.wait_for_connection()
        alice.command("/email alias add sales@example.com")
        card = slack.wait_for(lambda: slack.messages(approvals))[-1]

It speaks Slack's Web API over HTTP and Socket Mode over WebSockets, on loopback ports.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import timedelta
from types import TracebackType
from typing import Any, Self, TypeVar

from ansible_collections.postroom.email.tests.fakes.slack import payloads, sockets, webserver
from ansible_collections.postroom.email.tests.fakes.slack.delivery import (
    Delivery,
    Postman,
    Transport,
)
from ansible_collections.postroom.email.tests.fakes.slack.faults import Faults
from ansible_collections.postroom.email.tests.fakes.slack.forgery import Forger
from ansible_collections.postroom.email.tests.fakes.slack.http_transport import HttpTransport
from ansible_collections.postroom.email.tests.fakes.slack.person import Person
from ansible_collections.postroom.email.tests.fakes.slack.records import (
    Ack,
    Call,
    Channel,
    Message,
    User,
    View,
)
from ansible_collections.postroom.email.tests.fakes.slack.sockets import Sockets
from ansible_collections.postroom.email.tests.fakes.slack.world import (
    PATIENCE,
    Checker,
    Clock,
    World,
    now,
    product_checker,
)

T = TypeVar("T")


class Workspace:
    """A workspace, its people and its faults.

    :param clock: gives aware times; what lives for a while lives by it
    :param checker: tells what is wrong with a message or a view; Slack refuses those
    """

    def __init__(self, *, clock: Clock = now, checker: Checker = product_checker) -> None:
        self.world = World(clock=clock, checker=checker)
        self.faults = Faults()
        self.sockets = Sockets(self.world, self.faults)
        self._postman = Postman(self.world, self.sockets)
        self._ending = ExitStack()
        self._general = self.channel("general")

    def __enter__(self) -> Self:
        with ExitStack() as starting:
            self._web = starting.enter_context(webserver.serving(self.world, self.faults))
            self.world.web_address = self._web.url
            self.world.socket_address = starting.enter_context(sockets.serving(self.sockets))
            self._ending = starting.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ending.close()

    # How the app gets in.

    @property
    def base_url(self) -> str:
        """What WebClient takes as ``base_url``."""
        return f"{self.world.web_address}{webserver.API}"

    @property
    def bot_token(self) -> str:
        """The bot's token."""
        return self.world.bot_token

    @property
    def app_token(self) -> str:
        """The token that opens Socket Mode connections."""
        return self.world.app_token

    @property
    def signing_secret(self) -> str:
        """What HTTP deliveries are signed with."""
        return self.world.signing_secret

    def grant(self, *scopes: str) -> None:
        """Let the bot's token have these scopes and no others."""
        self.world.tokens[self.bot_token].scopes = frozenset(scopes)

    def revoke(self, token: str) -> None:
        """Take a token's force away."""
        self.world.tokens[token].is_revoked = True

    def ask_too(self, second: webserver.SecondOpinion) -> None:
        """Have each call of the bot judged by somebody else, too, such as ``Shadow.follow``.

        Where they disagree with an answer, that is one of the problems.
        """
        self._web.second = second

    # Who and what is there.

    def person(self, name: str, *, email: str | None = None, **about: Any) -> Person:
        """Add somebody; ``about`` is what User takes, such as ``is_restricted=True``."""
        with self.world.changed:
            about = {"team": self.world.team, "enterprise": self.world.enterprise, **about}
            user_id = about.pop("id", None) or self.world.fresh_id("U")
            real_name = about.pop("real_name", name.title())
            user = User(user_id, name, real_name, email=email, **about)
            self.world.users[user.id] = user
            self.world.channels[self._general].members.add(user.id)
            self.world.direct_channel(user.id)
        return Person(self.world, self._postman, user, self._general)

    def change_user(self, person: Person, *, announce: bool = True, **changes: Any) -> None:
        """Change somebody's account, and tell the app by ``user_change``.

        :param changes: fields of User, such as ``deleted=True`` or ``email=...``
        """
        with self.world.changed:
            person.user = replace(person.user, **changes)
            self.world.users[person.id] = person.user
            told = person.user.as_slack(with_email=True)
        if announce:
            self.event({"type": "user_change", "user": told})

    def channel(self, name: str, *people: Person) -> str:
        """Add a channel with people and the bot in it; return its id."""
        with self.world.changed:
            members = {self.world.bot.id, *(person.id for person in people)}
            channel = Channel(self.world.fresh_id("C"), name, members)
            self.world.channels[channel.id] = channel
            return channel.id

    def usergroup(self, *people: Person) -> str:
        """Add a user group; return its id."""
        with self.world.changed:
            group = self.world.fresh_id("S")
            self.world.usergroups[group] = [person.id for person in people]
            return group

    def set_usergroup(self, group: str, *people: Person) -> None:
        """Say anew who is in a user group."""
        with self.world.changed:
            self.world.usergroups[group] = [person.id for person in people]

    # How Slack reaches the app.

    def deliver_over_http(self, url: str) -> HttpTransport:
        """Post signed requests to an address from now on, instead of Socket Mode."""
        transport = HttpTransport(url, self.signing_secret)
        self._postman.transport = transport
        return transport

    def deliver_by(self, transport: Transport) -> None:
        """Use another way to the app from now on."""
        self._postman.transport = transport

    def deliver_over_sockets(self) -> None:
        """Use Socket Mode, as from the beginning."""
        self._postman.transport = self.sockets

    @property
    def delivery(self) -> Delivery:
        """How often and how patiently things are delivered; may be changed."""
        return self._postman.options

    def be_patient(self, seconds: float) -> None:
        """Give the app more time than Slack does, to answer and to open windows.

        For a machine with much else to do, where no test is of the three seconds that Slack gives.
        """
        self.delivery.seconds = seconds
        self.world.trigger_life = timedelta(seconds=seconds)

    def wait_for_connection(self, count: int = 1, timeout: float = PATIENCE) -> None:
        """Wait until the app has so many Socket Mode connections.

        Slack's own client can take ten seconds to notice that it has hung up itself.
        """
        self.wait_for(lambda: self.sockets.count >= count, timeout)

    def event(self, inner: Mapping[str, Any]) -> Ack:
        """Tell the app of an event."""
        return self._postman.deliver(payloads.event(self.world, inner))

    def forger(self) -> Forger:
        """Return somebody who sends what Slack would not."""
        return Forger(self.world, self._postman)

    @contextmanager
    def down(self) -> Iterator[None]:
        """Be unreachable for the length of a block."""
        with self.faults.down():
            self.sockets.drop()
            yield

    # What has happened.

    def wait_for(self, predicate: Callable[[], T], timeout: float = PATIENCE) -> T:
        """Wait until something is truthy and return it; fails with what happened last."""
        return self.world.wait_for(predicate, timeout)

    def wait_for_message(self, channel: str, part: str = "", timeout: float = PATIENCE) -> Message:
        """Wait until a message in a channel says something, and return the latest that does."""

        def saying() -> list[Message]:
            return [message for message in self.messages(channel) if part in message.text]

        return self.wait_for(saying, timeout)[-1]

    def messages(self, channel: str) -> list[Message]:
        """Return what everybody sees in a channel, oldest first."""
        with self.world.changed:
            return [
                message
                for message in self.world.messages
                if message.channel == channel and message.only_for is None and not message.deleted
            ]

    def modals(self, person: Person) -> list[View]:
        """Return all modals that somebody ever had, oldest first, with all that they showed."""
        with self.world.changed:
            return [view for view in self.world.past_modals if view.user == person.id]

    def calls(self, method: str) -> list[Call]:
        """Return the app's calls of a method."""
        with self.world.changed:
            return [call for call in self.world.calls if call.method == method]

    @property
    def acks(self) -> list[Ack]:
        """All answers to deliveries, with the time that each took."""
        with self.world.changed:
            return list(self.world.acks)

    @property
    def problems(self) -> list[str]:
        """What was wrong with messages and views."""
        with self.world.changed:
            return list(self.world.problems)

    def log(self, *, without: str = "") -> str:
        """Return all that went over the wire as text.

        :param without: leave out lines whose heading has this in it, such as ``views.``
        """
        with self.world.changed:
            return "\n".join(
                f"{line.what}: {line.text}"
                for line in self.world.transcript
                if not without or without not in line.what
            )
