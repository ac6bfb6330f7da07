# Copyright (c) 2026, Postroom contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from contextlib import suppress

from ansible.utils.display import Display

from ..module_utils._api.client.client import Client
from ..module_utils._api.tenant.definition_format import definition_model
from ..module_utils._module import Outcome, Params
from ..modules import email_tenant
from ..plugin_utils._in_process import InProcessAction, exit_if_orphaned
from ..plugin_utils._progress import Progress

# Import pydantic once, because Ansible imports this file before it forks its workers. If pydantic
# is missing, the task reports this.
with suppress(ImportError):
    definition_model()


class ActionModule(InProcessAction):
    argument_spec = email_tenant.ARGUMENT_SPEC

    def ensure(self, client: Client, params: Params, *, check_mode: bool) -> Outcome:
        progress = Progress(Display().display)

        def report(done: int, total: int) -> None:
            exit_if_orphaned()
            progress(done, total)

        try:
            return email_tenant.ensure_tenant(client, params, check_mode=check_mode, report=report)
        finally:
            progress.end()
