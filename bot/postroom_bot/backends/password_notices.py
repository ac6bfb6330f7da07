# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Send notices about new passwords to the mailboxes themselves, over SMTP.

The mail service's API can't send mail. A notice reaches the owner of a mailbox even if somebody
else controls the owner's Slack account, so it is sent before the password is set.
"""

from __future__ import annotations

import logging
import smtplib
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from email.message import EmailMessage
from email.utils import format_datetime, make_msgid

from postroom_bot.addresses import domain_of
from postroom_bot.config import Settings
from postroom_bot.domain import Request
from postroom_bot.errors import StartError, Unavailable

#: The timeout for connecting, and for each part of a response, in seconds.
TIMEOUT_SECONDS = 10.0

_TEXT = """\
In Slack, the account {user} is creating a new password for the mailbox
{mailbox}. The current password stops working now, on all devices.

Requested by: {requester}
Request: {request}
Time: {at} UTC

If you expected this, you don't need to do anything.

If you did not expect it, somebody else may control your Slack account, and
your mailbox. Tell your mail administrators immediately, or reply to this
message.
"""

log = logging.getLogger(__name__)


class PasswordNotices:
    """A sender of notices about new passwords. Thread-safe.

    :param tls: the TLS context for STARTTLS or TLS
    """

    def __init__(self, settings: Settings, tls: ssl.SSLContext) -> None:
        self._settings = settings
        self._tls = tls
        #: The result of the last connection, for `/readyz`.
        self.last_result = "not asked"

    def send(self, request: Request, user: str, at: datetime) -> None:
        """Send a notice to the mailbox whose password is about to be changed.

        :param user: the id of the Slack user who creates the password
        :raises Unavailable: if the server did not accept the notice
        """
        mailbox, sender = request.change.target, str(self._settings.smtp_sender)
        notice = EmailMessage()
        notice["From"], notice["To"] = sender, mailbox
        notice["Subject"] = f"New password for {mailbox}"
        notice["Date"], notice["Message-ID"] = format_datetime(at), make_msgid(domain=self._domain)
        # Automatic replies would be mistaken for objections (RFC 3834).
        notice["Auto-Submitted"] = "auto-generated"
        requester = f"{request.requester} ({request.requester_mailbox or 'no known mailbox'})"
        values = {"user": user, "mailbox": mailbox, "requester": requester, "request": request.id}
        notice.set_content(_TEXT.format(**values, at=f"{at:%Y-%m-%d %H:%M}"))
        with self._connected() as server:
            server.send_message(notice)

    def check(self) -> str:
        """Connect and log in. Return a message about the problem, or ""."""
        try:
            with self._connected():
                return ""
        except Unavailable as error:
            return f"The SMTP server can't be used: {error.__cause__}. Check the smtp_ settings."

    @property
    def _domain(self) -> str:
        return domain_of(str(self._settings.smtp_sender))

    @contextmanager
    def _connected(self) -> Iterator[smtplib.SMTP]:
        """Connect and log in, and translate all errors, also those of the block.

        The log and the exceptions contain neither the password nor the responses of the server,
        which may repeat what it received.
        """
        given = self._settings
        # Without an explicit name, smtplib looks up the name of this host, which may take long.
        where = (str(given.smtp_host), given.smtp_port, self._domain)
        try:
            server: smtplib.SMTP
            if given.smtp_tls == "tls":
                server = smtplib.SMTP_SSL(*where, timeout=TIMEOUT_SECONDS, context=self._tls)
            else:
                server = smtplib.SMTP(*where, timeout=TIMEOUT_SECONDS)
            with server:
                if given.smtp_tls == "starttls":
                    server.starttls(context=self._tls)
                if given.smtp_user is not None and given.smtp_password is not None:
                    server.login(given.smtp_user, given.smtp_password.get_secret_value())
                yield server
        except (OSError, ValueError) as error:
            # A server that rejects one recipient or message still works.
            if not isinstance(error, (smtplib.SMTPRecipientsRefused, smtplib.SMTPDataError)):
                self.last_result = "failing"
            reason = _about(error)
            log.error("a notice about a new password can't be sent: %s", reason)  # noqa: TRY400
            raise Unavailable("password.no_notice") from StartError(reason)
        self.last_result = "ok"


def create_password_notices(settings: Settings) -> PasswordNotices | None:
    """Return the sender of notices, or None if no SMTP server is set.

    :raises StartError: if the file in `ca_path` can't be used
    """
    if settings.smtp_host is None:
        return None
    try:
        tls = ssl.create_default_context(cafile=settings.ca_path)
    except OSError as error:
        raise StartError(f"ca_path: {settings.ca_path} can't be used ({error.strerror})") from None
    if not settings.validate_certs:
        tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE
    return PasswordNotices(settings, tls)


def _about(error: Exception) -> str:
    """Describe an error without the server's text."""
    if isinstance(error, smtplib.SMTPRecipientsRefused):
        (code, _text), *_more = error.recipients.values()
        return f"the server rejected the recipient ({code})"
    if isinstance(error, smtplib.SMTPAuthenticationError):
        return f"the server rejected smtp_user or smtp_password ({error.smtp_code})"
    if isinstance(error, smtplib.SMTPResponseException):
        return f"the server responded with an error ({error.smtp_code})"
    if isinstance(error, smtplib.SMTPServerDisconnected):
        return "the server did not respond in time, or closed the connection"
    if isinstance(error, ssl.SSLError):
        return f"TLS failed ({error.reason or error.strerror})"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return type(error).__name__
