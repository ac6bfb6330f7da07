# Copyright (c) 2026, Postroom contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Helpers for the collection's filters."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from ansible.errors import AnsibleFilterError
from jinja2 import Undefined

from ..module_utils._api.errors import PostroomError

Result = TypeVar("Result")


def as_filter(function: Callable[..., Result]) -> Callable[..., Result]:
    """Wrap a function as a filter that raises the collection's errors as AnsibleFilterError.

    Unknown and missing arguments also raise AnsibleFilterError. Up to ansible-core 2.18, a filter
    receives undefined variables as objects. Converting one to a string raises the usual error.
    """
    signature = inspect.signature(function)
    name = function.__name__

    @functools.wraps(function)
    def filter_(*args: Any, **options: Any) -> Result:
        for value in (*args, *options.values()):
            if isinstance(value, Undefined):
                str(value)
        try:
            signature.bind(*args, **options)
        except TypeError as error:
            raise AnsibleFilterError(
                f"{name}: {error}. See its arguments: ansible-doc -t filter postroom.email.{name}"
            ) from None
        try:
            return function(*args, **options)
        except PostroomError as error:
            raise AnsibleFilterError(str(error)) from None

    return filter_


def decrypted(value: Any) -> Any:
    """Return a value or a list with inline vault strings converted to plain strings.

    Up to ansible-core 2.18, a value made by ``ansible-vault encrypt_string`` is not a string.
    """
    if isinstance(value, list):
        return [decrypted(entry) for entry in value]
    return str(value) if getattr(value, "__ENCRYPTED__", False) else value
