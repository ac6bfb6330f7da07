# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The Web API's methods for accounts, groups and the app itself."""

from __future__ import annotations

from ansible_collections.postroom.email.tests.fakes.slack.records import (
    Payload,
    Refused,
    Token,
    User,
)
from ansible_collections.postroom.email.tests.fakes.slack.world import World

EMAIL_SCOPE = "users:read.email"


def auth_test(world: World, args: Payload, token: Token) -> Payload:
    """Tell who the token's bot is."""
    answer = {
        "url": f"https://{world.domain}.slack.com/",
        "team": world.domain,
        "team_id": world.team,
        "user": world.bot.name,
        "user_id": world.bot.id,
        "bot_id": world.bot_id,
        "is_enterprise_install": False,
    }
    if world.enterprise:
        answer["enterprise_id"] = world.enterprise
    return answer


def bot_info(world: World, args: Payload, token: Token) -> Payload:
    """Tell which app a bot belongs to."""
    if args.get("bot") != world.bot_id:
        raise Refused("bot_not_found")
    about = {"id": world.bot_id, "app_id": world.app, "user_id": world.bot.id, "deleted": False}
    return {"bot": {**about, "name": world.bot.name}}


def user_info(world: World, args: Payload, token: Token) -> Payload:
    """Tell all about one account."""
    user = world.users.get(str(args.get("user", "")))
    if user is None:
        raise Refused("user_not_found")
    return {"user": user.as_slack(with_email=EMAIL_SCOPE in token.scopes)}


def lookup_by_email(world: World, args: Payload, token: Token) -> Payload:
    """Find the active account with an address."""
    wanted = str(args.get("email", "")).lower()
    for user in world.users.values():
        if _is_found_by(user, wanted):
            return {"user": user.as_slack(with_email=True)}
    raise Refused("users_not_found")


def usergroup_members(world: World, args: Payload, token: Token) -> Payload:
    """Tell who is in a user group."""
    members = world.usergroups.get(str(args.get("usergroup", "")))
    if members is None:
        raise Refused("no_such_subteam")
    return {"users": list(members)}


def _is_found_by(user: User, address: str) -> bool:
    """Tell whether Slack finds an account by an address."""
    return bool(user.email) and str(user.email).lower() == address and not user.deleted
