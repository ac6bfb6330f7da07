# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""A person who uses Slack: what they do, and what they see of the app."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from . import delivery, views, webapi
from .delivery import RequestSender
from .workspace_state import Ack, CannotDo, Message, ResponseUrl, User, View, WorkspaceState


class Screen(NamedTuple):
    """What a person sees of the app, in chronological order.

    :param ephemerals: the messages that only this person sees
    :param direct: the app's direct messages
    :param modals: the open modal, if any
    """

    ephemerals: list[Message]
    direct: list[Message]
    modals: list[View]
    home: View | None


class Person:
    """A person. Each action waits for the app's acknowledgement, as in Slack's clients."""

    def __init__(
        self, workspace: WorkspaceState, sender: RequestSender, user: User, channel: str
    ) -> None:
        self._state = workspace
        self._sender = sender
        self.user = user
        #: The channel in which the person types commands.
        self.channel = channel

    @property
    def id(self) -> str:
        """The user ID."""
        return self.user.id

    @property
    def direct_channel(self) -> str:
        """The ID of the person's conversation with the app."""
        with self._state.changed:
            return self._state.direct_channel(self.id).id

    @property
    def modal(self) -> View:
        """The open modal. Reading it raises CannotDo if no modal is open."""
        with self._state.changed:
            view = self._state.modals.get(self.id)
        if view is None:
            raise CannotDo(f"{self.user.name} has no modal open")
        return view

    def sees(self) -> Screen:
        """Return what the person currently sees of the app."""
        workspace = self._state
        with workspace.changed:
            messages = workspace.messages
            direct = workspace.direct_channel(self.id).id
            modal = workspace.modals.get(self.id)
            return Screen(
                [one for one in messages if one.only_for == self.id],
                [one for one in messages if one.channel == direct and one.only_for is None],
                [modal] if modal else [],
                workspace.homes.get(self.id),
            )

    def command(self, text: str) -> Ack:
        """Type a slash command, such as `/email help`."""
        with self._state.changed:
            place = self._state.channels[self.channel]
            slack_request = delivery.command(self._state, self.user, place, text)
        ack = self._sender.deliver(slack_request)
        if ack.ok and ack.body:
            with self._state.changed:
                answer = ResponseUrl(self.id, place.id, self._state.clock())
                webapi.show(self._state, answer, ack.body)
        return ack

    def press(self, message: Message, action_id: str) -> Ack:
        """Press a button of a message."""
        with self._state.changed:
            members = self._state.channels[message.channel].members
            is_shown = message.only_for in (None, self.id) and self.id in members
            if not is_shown:
                raise CannotDo(f"{self.user.name} does not see the message")
            block, element = views.find(message.blocks, action_id)
            action = views.pressed(block, element, self._state.fresh_ts())
            slack_request = delivery.press(self._state, self.user, message, action)
        return self._sender.deliver(slack_request)

    def press_in_view(self, view: View, action_id: str) -> Ack:
        """Press a button in a modal or the Home tab."""
        with self._state.changed:
            self._check_open(view)
            block, element = views.find(view.blocks, action_id)
            action = views.pressed(block, element, self._state.fresh_ts())
            slack_request = delivery.press_in_view(self._state, self.user, view, action)
        return self._sender.deliver(slack_request)

    def submit(self, view: View, values: Mapping[str, Any] | None = None) -> Ack:
        """Enter values into a modal, keyed by block ID, and submit the modal."""
        workspace = self._state
        with workspace.changed:
            self._check_open(view)
            if not view.content.get("submit"):
                raise CannotDo("the modal has no submit button")
            _fill(view, values or {})
            view.errors = {}
            slack_request = delivery.submission(workspace, self.user, view)
        ack = self._sender.deliver(slack_request)
        if ack.ok:
            with workspace.changed:
                views.follow(workspace, view, ack.body)
        return ack

    def close(self, view: View) -> None:
        """Close the open modal. The bot's modals don't request a notification when they close."""
        with self._state.changed:
            self._check_open(view)
            views.close(self._state, view)

    def shortcut(self, callback_id: str) -> Ack:
        """Choose a global shortcut."""
        return self._sender.deliver(delivery.shortcut(self._state, self.user, callback_id))

    def open_home(self) -> Ack:
        """Open the app's Home tab."""
        opened = {"type": "app_home_opened", "user": self.id, "tab": "home"}
        with self._state.changed:
            slack_request = delivery.event(self._state, {**opened, "channel": self.direct_channel})
        return self._sender.deliver(slack_request)

    def _check_open(self, view: View) -> None:
        if view not in (self._state.homes.get(self.id), self._state.modals.get(self.id)):
            raise CannotDo(f"{self.user.name} does not have this view open")


def _fill(view: View, values: Mapping[str, Any]) -> None:
    """Enter values into a view's inputs. Raise CannotDo if a required input is empty."""
    blocks = {block["block_id"]: block for block in view.blocks if block["type"] == "input"}
    for block_id, value in values.items():
        if block_id not in blocks:
            raise CannotDo(f"no input has block_id {block_id!r}, only {sorted(blocks)}")
        element = blocks[block_id]["element"]
        view.values[block_id][element["action_id"]] = views.filled_in(element, value)
    for block_id, block in blocks.items():
        (state,) = view.values[block_id].values()
        if not block.get("optional") and None in state.values():
            raise CannotDo(f"{block_id} is required")
