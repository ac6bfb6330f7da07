# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The ids of buttons, views and fields."""

from __future__ import annotations

# Buttons of messages and of the Home tab. Their value is a request's id.
REQUEST_APPROVE = "request_approve"
REQUEST_DENY = "request_deny"
REQUEST_CANCEL = "request_cancel"
REQUEST_EXTEND = "request_extend"
#: Without a value, for the person's own mailbox.
PASSWORD_SHOW = "password_show"  # noqa: S105 - the name of a button

# Buttons that open a form, in the menu and on the Home tab.
OPEN_ALIAS_ADD = "open_alias_add"
OPEN_ALIAS_REMOVE = "open_alias_remove"
OPEN_FORWARD_ADD = "open_forward_add"
OPEN_FORWARD_REMOVE = "open_forward_remove"
OPEN_PASSWORD = "open_password"  # noqa: S105 - the name of a button

# Views.
MENU = "menu"
ALIAS_ADD = "alias_add"
ALIAS_REMOVE = "alias_remove"
FORWARD_ADD = "forward_add"
FORWARD_REMOVE = "forward_remove"
PASSWORD_CONFIRM = "password_confirm"  # noqa: S105 - the name of a view
PASSWORD_SHOWN = "password_shown"  # noqa: S105 - the name of a view
DENY_REASON = "deny_reason"
WORKING = "working"
NOTE = "note"

#: The form that each button opens.
FORM_OF = {
    OPEN_ALIAS_ADD: ALIAS_ADD,
    OPEN_ALIAS_REMOVE: ALIAS_REMOVE,
    OPEN_FORWARD_ADD: FORWARD_ADD,
    OPEN_FORWARD_REMOVE: FORWARD_REMOVE,
}

# The global shortcut.
SHORTCUT_MENU = "postroom_menu"

# Fields. Each block holds one element, with the action id VALUE; Slack expects errors by block.
ADDRESS = "address"
MAILBOX = "mailbox"
DESTINATIONS = "destinations"
EXPIRES_ON = "expires_on"
REASON = "reason"
VALUE = "value"
