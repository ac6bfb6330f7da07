# Copyright (c) 2026, Postroom contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A cache of connections that outlive a task, so that the items of a loop can share one."""

from __future__ import annotations

import os
from collections.abc import Hashable
from contextlib import suppress
from pathlib import Path

from ..module_utils._api.client.transport import Transport
from ..module_utils._module import Params, connect

_MAX_KEPT = 8


class ConnectionCache:
    """The transports of this process, keyed by the options and environment they depend on."""

    def __init__(self) -> None:
        self._kept: dict[Hashable, Transport] = {}

    def get(self, params: Params) -> Transport:
        """Return a cached or new transport for a task's options."""
        key = _key(params)
        transport = self._kept.pop(key, None) or connect(params)
        self._kept[key] = transport
        for oldest in list(self._kept)[:-_MAX_KEPT]:
            del self._kept[oldest]
        return transport

    def clear(self) -> None:
        """Drop all connections after an interrupted task, which may have left a partial response.

        The garbage collector closes them, because a thread may still be sending.
        """
        self._kept.clear()


def _key(params: Params) -> Hashable:
    # The process ID prevents a forked process from using its parent's connections.
    key = [os.getpid(), params["api_url"], params["api_token"], params["validate_certs"]]
    if params["ca_path"] is not None:
        file = Path(params["ca_path"]).absolute()
        key.append(file)
        with suppress(OSError):
            status = file.stat()
            key += [status.st_dev, status.st_ino, status.st_mtime_ns, status.st_size]
    key += sorted(item for item in os.environ.items() if item[0].lower().endswith("_proxy"))
    return tuple(key)
