# Copyright (c) 2026, Postroom contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Connections to services that outlive a task, so that the items of a loop share one."""

from __future__ import annotations

import os
from collections.abc import Hashable
from pathlib import Path

from ansible_collections.postroom.email.plugins.module_utils._api.client.transport import Transport
from ansible_collections.postroom.email.plugins.module_utils._module import Params, connect

_MOST_KEPT = 8


class Connections:
    """The senders of this process, each for whatever shaped it."""

    def __init__(self) -> None:
        self._kept: dict[Hashable, Transport] = {}

    def get(self, params: Params) -> Transport:
        """Return a sender for a task's options, as ``connect`` does."""
        key = _key(params)
        sender = self._kept.pop(key, None) or connect(params)
        self._kept[key] = sender
        for oldest in list(self._kept)[:-_MOST_KEPT]:
            del self._kept[oldest]
        return sender

    def drop(self) -> None:
        """Forget all of them: a task was cut short, and one may hold half an answer.

        None is closed here, for a thread may still be sending. They are closed when nobody has
        them any more.
        """
        self._kept.clear()


def _key(params: Params) -> Hashable:
    # A fork inherits what its parent had, and must not send over it.
    access = (os.getpid(), params["api_url"], params["api_token"])
    tls = (params["validate_certs"], *_file(params["ca_path"]))
    proxies = (item for item in os.environ.items() if item[0].lower().endswith("_proxy"))
    return (*access, *tls, *sorted(proxies))


def _file(path: str | None) -> tuple[object, ...]:
    """Return what changes when a file does."""
    if path is None:
        return ()
    file = Path(path).absolute()
    try:
        status = file.stat()
    except OSError:
        return (file,)
    return file, status.st_dev, status.st_ino, status.st_mtime_ns, status.st_size
