# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Somebody in front of Slack: what they do and what they see."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ansible_collections.postroom.email.tests.fakes.slack import (
    inputs,
    payloads,
    responses,
    views,
)
from ansible_collections.postroom.email.tests.fakes.slack.delivery import Postman
from ansible_collections.postroom.email.tests.fakes.slack.records import (
    Ack,
    CannotDo,
    Message,
    Payload,
    ResponseUrl,
    User,
    View,
)
from ansible_collections.postroom.email.tests.fakes.slack.world import World


class Sight(NamedTuple):
    """What somebody sees of the app.

    :param ephemerals: messages that only they see, the latest last
    :param direct: the app's direct messages to them
    :param modals: open modals, the topmost last
    :param errors: what Slack itself told them: ``operation_timeout``, ``dispatch_failed``
    """

    ephemerals: list[Message]
    direct: list[Message]
    modals: list[View]
    home: View | None
    errors: list[str]


class Person:
    """A person and their hands.

    All that is done waits for the app's ack, and does to what the person sees what Slack would.
    """

    def __init__(self, world: World, postman: Postman, user: User, channel: str) -> None:
        self._world = world
        self._postman = postman
        self.user = user
        #: Where they are when they type a command.
        self.channel = channel

    @property
    def id(self) -> str:
        """Their Slack user id."""
        return self.user.id

    @property
    def direct_channel(self) -> str:
        """The channel of their conversation with the app."""
        with self._world.changed:
            return self._world.direct_channel(self.id).id

    def command(self, text: str, *, channel: str | None = None) -> Ack:
        """Type a slash command, such as ``/email help``."""
        with self._world.changed:
            place = self._world.channels[channel or self.channel]
            parcel = payloads.command(self._world, self.user, place, text)
        ack = self._deliver(parcel)
        if ack.ok and ack.body:
            with self._world.changed:
                answer = ResponseUrl(self.id, place.id, self._world.clock())
                responses.show(self._world, answer, ack.body)
        return ack

    def press(self, message: Message, action_id: str, value: Any = None) -> Ack:
        """Press a button of a message, or choose ``value`` from a menu in it."""
        with self._world.changed:
            self._must_see(message)
            block, element = inputs.find(message.blocks, action_id)
            action = inputs.pressed(block, element, value, self._world.fresh_ts())
            parcel = payloads.press(self._world, self.user, message, action)
        return self._deliver(parcel)

    def press_in_view(self, view: View, action_id: str, value: Any = None) -> Ack:
        """Press a button in a modal or in the home, or choose ``value`` from a menu in it."""
        with self._world.changed:
            self._must_be_on_top(view)
            block, element = inputs.find(view.blocks, action_id)
            action = inputs.pressed(block, element, value, self._world.fresh_ts())
            if element["type"] in inputs.FIELDS:
                state = inputs.filled_in(element, value)
                view.values.setdefault(block["block_id"], {})[action_id] = state
            parcel = payloads.press_in_view(self._world, self.user, view, action)
        return self._deliver(parcel)

    def submit(self, view: View, values: Mapping[str, Any] | None = None) -> Ack:
        """Fill a modal in and submit it.

        :param values: what is filled in, by block id; what stands there already stays
        """
        with self._world.changed:
            self._must_be_on_top(view)
            if not view.content.get("submit"):
                raise CannotDo("the modal has nothing to submit it with")
            _fill(view, values or {})
            _check_required(view)
            view.errors, view.trouble = {}, False
            parcel = payloads.submission(self._world, self.user, view)
        ack = self._postman.deliver(parcel)
        self._after_submission(view, ack)
        return ack

    def close(self, view: View) -> Ack | None:
        """Close the topmost modal; the app's ack, where it wants to be told."""
        with self._world.changed:
            self._must_be_on_top(view)
            is_cleared = bool(view.content.get("clear_on_close"))
            parcel = payloads.closing(self._world, self.user, view, is_cleared=is_cleared)
            if is_cleared:
                views.clear(self._world, self.id)
            else:
                views.close(self._world, view)
        return self._postman.deliver(parcel) if view.content.get("notify_on_close") else None

    def shortcut(self, callback_id: str) -> Ack:
        """Choose a global shortcut."""
        return self._deliver(payloads.shortcut(self._world, self.user, callback_id))

    def open_home(self, tab: str = "home") -> Ack:
        """Look at the app's home."""
        with self._world.changed:
            opened: Payload = {
                "type": "app_home_opened",
                "user": self.id,
                "channel": self._world.direct_channel(self.id).id,
                "tab": tab,
            }
            if self.id in self._world.homes:
                opened["view"] = views.as_slack(self._world, self._world.homes[self.id])
            parcel = payloads.event(self._world, opened)
        return self._postman.deliver(parcel)

    def sees(self) -> Sight:
        """Return what they see of the app now."""
        world = self._world
        with world.changed:
            there = [message for message in world.messages if not message.deleted]
            direct = world.direct_channel(self.id).id
            return Sight(
                [message for message in there if message.only_for == self.id],
                [one for one in there if one.channel == direct and one.only_for is None],
                list(world.stack(self.id)),
                world.homes.get(self.id),
                list(world.errors.get(self.id, ())),
            )

    @property
    def modal(self) -> View:
        """The topmost modal.

        :raises CannotDo: none is open
        """
        modals = self.sees().modals
        if not modals:
            raise CannotDo(f"{self.user.name} has no modal open")
        return modals[-1]

    def _deliver(self, parcel: payloads.Parcel) -> Ack:
        """Deliver, and see Slack's own error where the app did not answer well."""
        ack = self._postman.deliver(parcel)
        if not ack.ok:
            with self._world.changed:
                self._world.errors.setdefault(self.id, []).append(ack.error)
        return ack

    def _after_submission(self, view: View, ack: Ack) -> None:
        """Do what the app answered, or say that there was trouble."""
        with self._world.changed:
            wrong = ack.error or views.follow(self._world, view, ack.body)
            if wrong:
                view.trouble = True
                self._world.errors.setdefault(self.id, []).append(wrong)
            if wrong and ack.ok:
                self._world.problems.append(wrong)
            self._world.changed.notify_all()

    def _must_see(self, message: Message) -> None:
        """Make sure that a message is shown to this person."""
        members = self._world.channels[message.channel].members
        if message.deleted or message.only_for not in (None, self.id) or self.id not in members:
            raise CannotDo(f"{self.user.name} does not see the message")

    def _must_be_on_top(self, view: View) -> None:
        """Make sure that this person can reach a view."""
        stack = self._world.stack(self.id)
        if view is not self._world.homes.get(self.id) and view not in stack[-1:]:
            raise CannotDo(f"{self.user.name} does not have this view in front")


def _fill(view: View, values: Mapping[str, Any]) -> None:
    """Put values into a view's inputs."""
    inputs_by_block = {
        block["block_id"]: block["element"] for block in view.blocks if block["type"] == "input"
    }
    for block_id, value in values.items():
        element = inputs_by_block.get(block_id)
        if element is None:
            raise CannotDo(f"no input with block_id {block_id!r}, only {sorted(inputs_by_block)}")
        view.values[block_id][element["action_id"]] = inputs.filled_in(element, value)


def _check_required(view: View) -> None:
    """Refuse, as Slack's form does, what has to be filled in and is not."""
    for block in view.blocks:
        if block["type"] == "input" and not block.get("optional"):
            (state,) = view.values[block["block_id"]].values()
            if inputs.is_empty(state):
                raise CannotDo(f"{block['block_id']} has to be filled in")
