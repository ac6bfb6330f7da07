# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""IMAP access to the directory's mailboxes, with pymap."""

from __future__ import annotations

import asyncio
import logging
import re
import ssl
from argparse import Namespace
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from proxyprotocol.noop import ProxyProtocolNoop
from proxyprotocol.reader import ProxyProtocolReader
from pymap.backend.session import BaseSession
from pymap.config import BackendCapability, IMAPConfig
from pymap.exceptions import AuthorizationFailure, InvalidAuth
from pymap.imap import IMAPServer
from pymap.parsing.exceptions import NotParseable
from pymap.parsing.modutf7 import modutf7_decode
from pymap.parsing.specials import mailbox as folder_names
from pysasl.creds.server import ServerCredentials

from .. import names
from .accounts import Accounts, Login
from .sessions import Sessions
from .storage import MailStore

log = logging.getLogger("postroom_service.mail")


def _decode_folder(data: bytes) -> str:
    if re.search(rb"&[^-]*\Z", data):
        raise NotParseable(memoryview(data))
    return modutf7_decode(data)


# pymap's own function never returns if a name has an `&` without a closing `-`.
folder_names.modutf7_decode = _decode_folder  # type: ignore[attr-defined]


class Config(IMAPConfig):
    """pymap's configuration: implicit TLS and password logins only."""

    def __init__(self, context: ssl.SSLContext) -> None:
        super().__init__(
            Namespace(passlib_cfg=None, proxy_protocol=None),
            host=None,
            port=0,
            ssl_context=context,
            tls_enabled=False,
            proxy_protocol=ProxyProtocolNoop(),
            reject_dnsbl=False,
        )

    @property
    def backend_capability(self) -> BackendCapability:
        """The IMAP extensions that the storage supports."""
        return BackendCapability(idle=True, object_id=True, multi_append=True)


class _Secret:
    """A credential verifier for all SASL mechanisms that transmit the secret itself."""

    def __init__(self, accounts: Accounts, name: str) -> None:
        self._accounts, self.authcid = accounts, name
        self.login: Login | None = None

    def compare_authcid(self, _name: str) -> bool:
        return True

    def compare_secret(self, secret: str) -> bool:
        self.login = self._accounts.log_in(self.authcid, secret)
        return self.login is not None


class _Session(BaseSession[Any]):
    def __init__(self, login: Login, config: Config, folders: Any) -> None:
        super().__init__(login.name)
        self._config, self._folders = config, folders

    @property
    def config(self) -> Config:
        return self._config

    @property
    def mailbox_set(self) -> Any:
        return self._folders


class _Identity:
    """A logged-in mailbox, with the part of pymap's `IdentityInterface` that IMAP needs."""

    def __init__(self, login: Login, logins: Logins) -> None:
        self._login, self._logins = login, logins

    @property
    def name(self) -> str:
        return self._login.name

    @asynccontextmanager
    async def new_session(self) -> AsyncIterator[_Session]:
        task: Any = asyncio.current_task()
        sessions = self._logins.sessions
        sessions.add(self, self._login, task.cancel)
        try:
            folders = self._logins.store.open(self._login.uid)
            yield _Session(self._login, self._logins.config, folders)
        finally:
            sessions.remove(self)


class Logins:
    """Authentication for pymap's IMAP server. Any of a mailbox's secrets is accepted."""

    def __init__(
        self, accounts: Accounts, store: MailStore, sessions: Sessions, config: Config
    ) -> None:
        self.accounts, self.store = accounts, store
        self.sessions, self.config = sessions, config

    async def authenticate(self, credentials: ServerCredentials) -> _Identity:
        """Verify the credentials in a thread, and return the identity."""
        secret: Any = _Secret(self.accounts, credentials.authcid)
        async with self.accounts.logins:
            verified = await asyncio.to_thread(credentials.verify, secret)
        if not verified or secret.login is None:
            log.info("an IMAP login was refused")
            raise InvalidAuth
        return _Identity(secret.login, self)

    async def authorize(self, authenticated: _Identity, authzid: str) -> _Identity:
        """Return the mailbox, or refuse an authorization identity that names another mailbox."""
        if names.any_name(authzid) != authenticated.name:
            raise AuthorizationFailure
        return authenticated


def server(
    accounts: Accounts, store: MailStore, sessions: Sessions, context: ssl.SSLContext
) -> Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]:
    """Return a callback that serves one IMAP connection."""
    config = Config(context)
    logins: Any = Logins(accounts, store, sessions, config)
    imap = IMAPServer(logins, config)
    return ProxyProtocolReader(ProxyProtocolNoop()).get_callback(imap)
