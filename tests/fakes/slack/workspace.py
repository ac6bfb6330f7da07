# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""A Slack workspace in this process with one app, the bot under test."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import timedelta
from typing import Any, Self, TypeVar

from . import delivery, socket_mode, webapi
from .delivery import Delivery, HttpTransport, RequestSender, Transport
from .person import Person
from .socket_mode import Sockets
from .webapi import Faults
from .workspace_state import PATIENCE, Ack, Call, Channel, Clock, Message, User, WorkspaceState, now

T = TypeVar("T")


class Workspace:
    """A workspace with its people and faults. `clock` returns times with a time zone."""

    def __init__(self, *, clock: Clock = now) -> None:
        self.state = WorkspaceState(clock)
        self.base_url = ""
        self.bot_token, self.app_token = self.state.bot_token, self.state.app_token
        #: The secret that signs deliveries over HTTP.
        self.signing_secret = self.state.signing_secret
        self.faults = Faults()
        self.sockets = Sockets(self.state, self.faults)
        self._sender = RequestSender(self.state, self.sockets)
        self._ending = ExitStack()
        self._general = self.channel("general")

    def __enter__(self) -> Self:
        open_ = self._ending.enter_context
        self.state.web_address = open_(webapi.serving(self.state, self.faults))
        self.base_url = f"{self.state.web_address}{webapi.API}"
        self.state.socket_address = open_(socket_mode.serving(self.sockets))
        return self

    def __exit__(self, *_error: object) -> None:
        self._ending.close()

    def grant(self, *scopes: str) -> None:
        """Set the scopes of the bot's token."""
        self.state.tokens[self.bot_token] = frozenset(scopes)

    # People and channels.

    def person(self, name: str, *, email: str | None = None, **about: Any) -> Person:
        """Add a person. `about` contains fields of User, such as `is_restricted=True`."""
        with self.state.changed:
            about = {"team": self.state.team, **about}
            user_id = about.pop("id", None) or self.state.fresh_id("U")
            real_name = about.pop("real_name", name.title())
            user = User(user_id, name, real_name, email=email, **about)
            self.state.users[user.id] = user
            self.state.channels[self._general].members.add(user.id)
            self.state.direct_channel(user.id)
        return Person(self.state, self._sender, user, self._general)

    def change_user(self, person: Person, *, announce: bool = True, **changes: Any) -> None:
        """Change fields of a person's account, and send a `user_change` event to the app."""
        with self.state.changed:
            person.user = replace(person.user, **changes)
            self.state.users[person.id] = person.user
            user = person.user.as_slack(with_email=True)
        if announce:
            self.announce({"type": "user_change", "user": user})

    def channel(self, name: str, *people: Person) -> str:
        """Add a channel that contains the given people and the bot, and return its ID."""
        with self.state.changed:
            members = {self.state.bot.id, *(person.id for person in people)}
            channel = Channel(self.state.fresh_id("C"), name, members)
            self.state.channels[channel.id] = channel
            return channel.id

    def usergroup(self, *people: Person) -> str:
        """Add a user group, and return its ID."""
        group = self.state.fresh_id("S")
        self.set_usergroup(group, *people)
        return group

    def set_usergroup(self, group: str, *people: Person) -> None:
        """Set the members of a user group. The app gets no event."""
        with self.state.changed:
            self.state.usergroups[group] = [person.id for person in people]

    def announce(self, event: Mapping[str, Any]) -> None:
        """Send an event to the app."""
        self._sender.deliver(delivery.event(self.state, event))

    # Delivery to the app.

    def deliver_over_http(self, url: str) -> HttpTransport:
        """Deliver payloads with signed HTTP requests to a URL from now on."""
        transport = HttpTransport(url, self.signing_secret)
        self._sender.transport = transport
        return transport

    def deliver_by(self, transport: Transport) -> None:
        """Deliver payloads with another transport from now on."""
        self._sender.transport = transport

    def deliver_over_sockets(self) -> None:
        """Deliver payloads in Socket Mode from now on. This is the default."""
        self._sender.transport = self.sockets

    @property
    def delivery(self) -> Delivery:
        """The options for deliveries. Tests may change them."""
        return self._sender.options

    def be_patient(self, seconds: float) -> None:
        """Give the app more than three seconds to respond, because the machine may be busy."""
        self.delivery.seconds = seconds
        self.state.trigger_life = timedelta(seconds=seconds)

    def wait_for_connection(self, count: int = 1, timeout: float = PATIENCE) -> None:
        """Wait until the app has this many Socket Mode connections."""
        self.wait_for(lambda: self.sockets.count >= count, timeout)

    @contextmanager
    def down(self) -> Iterator[None]:
        """Make the workspace unreachable until the block ends."""
        self.faults.is_down = True
        try:
            self.sockets.drop()
            yield
        finally:
            self.faults.is_down = False

    # Records of what has happened.

    def wait_for(self, predicate: Callable[[], T], timeout: float = PATIENCE) -> T:
        """Wait until a predicate returns a truthy value, and return that value."""
        return self.state.wait_for(predicate, timeout)

    def wait_for_message(self, channel: str, part: str = "", timeout: float = PATIENCE) -> Message:
        """Wait for a message that contains the text, and return the latest match."""

        def matching() -> list[Message]:
            return [message for message in self.messages(channel) if part in message.text]

        return self.wait_for(matching, timeout)[-1]

    def messages(self, channel: str) -> list[Message]:
        """Return a channel's non-ephemeral messages, oldest first, without replies in threads."""
        with self.state.changed:
            return [
                message
                for message in self.state.messages
                if message.channel == channel and message.only_for is None and not message.thread
            ]

    def replies(self, message: Message) -> list[Message]:
        """Return the replies in a message's thread, oldest first."""
        with self.state.changed:
            thread = (message.channel, message.ts)
            return [one for one in self.state.messages if (one.channel, one.thread) == thread]

    def calls(self, method: str) -> list[Call]:
        """Return the app's calls to a method."""
        with self.state.changed:
            return [call for call in self.state.calls if call.method == method]

    @property
    def acks(self) -> list[Ack]:
        """All acknowledgements."""
        with self.state.changed:
            return list(self.state.acks)

    @property
    def problems(self) -> list[str]:
        """Everything that Slack would reject in the app's messages and views."""
        with self.state.changed:
            return list(self.state.problems)

    def log(self, *, without: str = "") -> str:
        """Return the transcript without the lines whose heading contains the given text."""
        with self.state.changed:
            return "\n".join(
                f"{line.what}: {line.text}"
                for line in self.state.transcript
                if not without or without not in line.what
            )
