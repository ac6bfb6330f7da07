# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""The exceptions of the client, tenant and DNS code, in one hierarchy.

A message states the problem, its location and the remedy. It never contains a secret. Each class
has a ``code``, which stays the same when the message changes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple
from urllib.parse import quote

_MAX_DETAIL = 300
_MAX_SHOWN = 60
_SECRET_KEY = re.compile("passw|passphrase|secret", re.IGNORECASE)


class Failure(NamedTuple):
    """A failed request and the reason, redacted and shortened."""

    status: int | None
    method: str
    path: str
    detail: str


class PostroomError(Exception):
    """The base class of all errors of this package."""

    #: Identifies the error in results. Codes are stable; messages may change.
    code = "error"
    #: The changes that were applied before the error, in the format of a module's result.
    done: Sequence[Mapping[str, Any]] = ()
    #: Additional return values for the module.
    details: Mapping[str, Any] = MappingProxyType({})
    #: Whether the change was written despite the error.
    wrote = False
    #: Whether the outcome of the change is unknown.
    unsure = False

    def add(self, sentence: str) -> None:
        """Append a sentence to the message."""
        self.args = (f"{self} {sentence}", *self.args[1:])


class InvalidInput(PostroomError):
    """A declared value is invalid. Nothing was sent."""

    code = "invalid_input"


class Refused(PostroomError):
    """The declared state conflicts with the tenant. Nothing was written."""

    code = "refused"


class TooExpensive(PostroomError):
    """An SPF record would need too many DNS lookups. The other records were written."""

    code = "too_many_spf_lookups"


class Incomplete(PostroomError):
    """Some changes failed or were not attempted. ``changes`` lists those that succeeded."""

    code = "incomplete"


class Interrupted(PostroomError):
    """The task was stopped by a signal. ``changes`` lists the changes written until then."""

    code = "interrupted"


class NotPublished(PostroomError):
    """The wait timed out before all records were published. Another run may succeed."""

    code = "not_published"


class ProbeFailed(PostroomError):
    """A login did not determine whether a password works. Nothing was written.

    Another run may succeed.
    """

    code = "probe_failed"


class ServiceError(PostroomError):
    """A request failed.

    :param failure: the request's method and path, and the response's status and detail
    :param retry_after: the number of seconds to wait before a retry, if the service requested a
        pause
    """

    #: Whether repeating the request is likely to succeed.
    transient = False

    def __init__(self, message: str, failure: Failure, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.failure = failure
        self.retry_after = retry_after


class Unreachable(ServiceError):
    """The connection failed, so nothing was sent. Another run may succeed."""

    code = "unreachable"
    transient = True


class UntrustedCertificate(Unreachable):
    """The service's certificate could not be verified. Nothing was sent."""

    code = "untrusted_certificate"
    transient = False


class ConnectionBroken(ServiceError):
    """The response is incomplete. The request may have taken effect. Another run may succeed."""

    code = "connection_broken"
    transient = True


class DeadlineExceeded(ServiceError):
    """The task timed out. Another run may succeed."""

    code = "deadline_exceeded"


class Unauthorized(ServiceError):
    """The service does not accept the token."""

    code = "unauthorized"


class Forbidden(ServiceError):
    """The token lacks the required permission."""

    code = "forbidden"


class ProxyRefused(Forbidden):
    """A proxy has probably refused the request. Another run may succeed."""

    code = "proxy_refused"
    transient = True


class NotFound(ServiceError):
    """The service reports that the requested name does not exist."""

    code = "not_found"


class AlreadyExists(ServiceError):
    """The name or one of the addresses is in use."""

    code = "already_exists"


class CreatedMeanwhile(AlreadyExists):
    """Another client has just created the same object. Another run may succeed."""

    code = "created_concurrently"


class Rejected(ServiceError):
    """The service refuses the request."""

    code = "rejected"


class Throttled(ServiceError):
    """The service's rate limit was exceeded. Another run may succeed."""

    code = "throttled"
    transient = True


class ServerFailed(ServiceError):
    """The service or a proxy failed with a 5xx status. The request may have taken effect.

    Another run may succeed.
    """

    code = "server_failed"

    def __init__(self, message: str, failure: Failure, *, retry_after: float | None = None) -> None:
        super().__init__(message, failure, retry_after=retry_after)
        self.transient = failure.status in (502, 503, 504)


class BadAnswer(ServiceError):
    """The response is incomplete or not from the mail API. A write may have taken effect."""

    code = "unexpected_response"


class LostUpdate(ServiceError):
    """The change was written, but another client keeps overwriting it."""

    code = "lost_update"


class NameServerError(PostroomError):
    """A query or update to a name server failed. Another run may succeed."""

    code = "name_server_error"


class NameServersNotFound(NameServerError):
    """The resolvers did not find the name servers of a name. Nothing was written."""

    code = "name_servers_not_found"

    def __init__(self, cause: str, remedy: str) -> None:
        super().__init__(f"{cause} {remedy}")
        self.cause, self.remedy = cause, remedy


class NoAnswer(NameServerError):
    """A name server gave no valid response. An update may have taken effect.

    Another run may succeed.
    """

    code = "no_response"


class KeyRefused(NameServerError):
    """The TSIG key is unknown or wrong, or the clocks differ. Nothing was written."""

    code = "key_refused"


class UpdateRefused(NameServerError):
    """The server does not allow this change, at least not with this key. Nothing was written."""

    code = "update_refused"


class ZoneChanged(NameServerError):
    """Another client changed the records. Nothing was written. Another run may succeed."""

    code = "zone_changed"


def names_secret(key: object) -> bool:
    """Return whether a mapping's key is the name of a secret, such as ``password``."""
    return _SECRET_KEY.search(str(key)) is not None


def hide(text: str, secrets: Iterable[str]) -> str:
    """Replace ``secrets`` in ``text``, including their JSON-escaped and percent-encoded forms."""
    forms = {form for secret in secrets for form in _forms_of(secret) if form}
    # Replace the longest secrets first, because a secret may contain a shorter secret.
    for form in sorted(forms, key=len, reverse=True):
        text = text.replace(form, "********")
    return text


def _forms_of(secret: str) -> Iterator[str]:
    yield secret
    yield json.dumps(secret)[1:-1]
    yield json.dumps(secret, ensure_ascii=False)[1:-1]
    for safe in ("", "/"):
        encoded = quote(secret, safe=safe)
        yield encoded
        yield re.sub("%..", lambda match: match.group().lower(), encoded)
        yield encoded.replace("%20", "+")


def redact(text: str, secrets: Iterable[str]) -> str:
    """Replace ``secrets`` in ``text``, join its lines and truncate it."""
    return shortened(" ".join(hide(text, secrets).split()), _MAX_DETAIL)


def shortened(text: str, length: int = _MAX_SHOWN) -> str:
    """Return ``text``, truncated to ``length`` characters."""
    return text if len(text) <= length else f"{text[:length]}..."
