# Copyright (c) 2026, Postroom contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from ansible.utils.display import Display

# This import loads dnspython once, because Ansible imports this file before it forks its workers.
from ..module_utils import _dns_verify_publish  # noqa: F401 # pylint: disable=unused-import
from ..module_utils._api.client.client import Client
from ..module_utils._module import Outcome, Params
from ..modules import email_dns_records
from ..plugin_utils._in_process import InProcessAction, sleep_unless_orphaned


class ActionModule(InProcessAction):
    argument_spec = email_dns_records.ARGUMENT_SPEC

    def ensure(self, client: Client, params: Params, *, check_mode: bool) -> Outcome:
        return email_dns_records.ensure_records(
            client,
            params,
            check_mode=check_mode,
            report=Display().display,
            sleep=sleep_unless_orphaned,
        )
