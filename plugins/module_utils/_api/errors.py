# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Everything that the client core raises, as one tree.

PostroomError
  InvalidInput            a declared value is wrong by itself; nothing was sent
  Refused                 the declared state does not fit the tenant; nothing was written
  TooExpensive            receivers would reject an SPF record because of its look-ups; the other
                          records were written
  Incomplete              some changes of several failed; carries what became of each
  Interrupted             the task was ended from outside
  NotPublished            the time for waiting was up before all records were seen
  ProbeFailed             a login did not show whether a password works; nothing was written
  ServiceError            a request failed; carries a Failure
    Unreachable           no connection was made, so nothing was sent
      UntrustedCertificate
    ConnectionBroken      the connection ended or timed out before a whole answer came
    DeadlineExceeded      the time given for the whole task is used up
    Unauthorized          401
    Forbidden             403
      ProxyRefused        403 with a body that is not the API's, so probably a proxy's
    NotFound              a positive not-found for the name that was asked for
    AlreadyExists         409, or the wire's own word for it
      CreatedMeanwhile    someone else has just created the same object as it is declared
    Rejected              another 4xx, or an error body under any status
    Throttled             429, or a 403 that says so
    ServerFailed          5xx
    BadAnswer             HTML, truncated JSON, a redirect, a list with holes
    LostUpdate            another writer keeps replacing what was written
  NameServerError         a name server did not do what it was asked
    NameServersNotFound   resolvers do not tell which servers a name has
    NoAnswer              silence or garbage; an update may have taken effect
    KeyRefused            the TSIG key is not known there, not right, or its time is off
    UpdateRefused         the zone or the name may not be changed there, or not with this key
    ZoneChanged           somebody changed the records meanwhile; nothing was written

A message is one or two sentences: what is wrong, where, and what to do. None holds a secret.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple
from urllib.parse import quote

_LONGEST_DETAIL = 300
_SECRET_KEY = re.compile("passw|passphrase|secret", re.IGNORECASE)


class Failure(NamedTuple):
    """Where and how a request failed, fit to be shown: redacted and short."""

    kind: str
    status: int | None
    method: str
    path: str
    detail: str

    def as_dict(self) -> dict[str, object]:
        """Return the failure as plain data, for a module's result."""
        return self._asdict()


class PostroomError(Exception):
    """Any error that this package raises on purpose."""

    #: What had already been carried out when the error stopped the work, one dict a change.
    done: Sequence[dict[str, str]] = ()
    #: More of what there is to tell, as return values of a module.
    details: Mapping[str, Any] = MappingProxyType({})
    #: Whether the very change that failed had been written all the same.
    wrote = False
    #: Whether nobody knows if it was written.
    unsure = False

    def add(self, sentence: str) -> None:
        """Say one thing more."""
        self.args = (f"{self} {sentence}", *self.args[1:])


class InvalidInput(PostroomError):
    """A declared value is wrong by itself. Nothing was sent."""


class Refused(PostroomError):
    """The declared state does not fit what the tenant holds. Nothing was written."""


class TooExpensive(PostroomError):
    """Receivers would reject an SPF record because of its look-ups. Other records were written."""


class Incomplete(PostroomError):
    """Some changes of several failed, or could not be attempted. ``done`` tells which stand."""


class Interrupted(PostroomError):
    """The task was ended from outside while this was waiting."""


class NotPublished(PostroomError):
    """The time for waiting was up before every record was seen."""


class ProbeFailed(PostroomError):
    """A login did not show whether a password works. Nothing was written."""


class ServiceError(PostroomError):
    """A request failed.

    :param message: the sentence for the user
    :param failure: method, path, status and detail, already redacted
    :param retry_after: seconds that the service asked to wait for, where it did
    """

    #: Whether the same request may well succeed a moment later.
    transient = False

    def __init__(self, message: str, failure: Failure, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.failure = failure
        self.retry_after = retry_after


class Unreachable(ServiceError):
    """No connection was made, so the service has seen nothing of the request."""

    transient = True


class UntrustedCertificate(Unreachable):
    """The service's certificate could not be verified."""

    transient = False


class ConnectionBroken(ServiceError):
    """The request may have taken effect: no whole answer came back."""

    transient = True


class DeadlineExceeded(ServiceError):
    """The time given for the whole task is used up."""


class Unauthorized(ServiceError):
    """The token was not accepted."""


class Forbidden(ServiceError):
    """The token is accepted but may not do this."""


class ProxyRefused(Forbidden):
    """A proxy before the service seems to have refused the request. It may pass."""

    transient = True


class NotFound(ServiceError):
    """The service says of the very name that was asked for that it is not there."""


class AlreadyExists(ServiceError):
    """The name or one of the addresses is in use."""


class CreatedMeanwhile(AlreadyExists):
    """Another client has just created the same object, with the same addresses and members."""


class Rejected(ServiceError):
    """The service understood the request and will not do it."""


class Throttled(ServiceError):
    """The service asks for fewer requests. It did not carry this one out."""

    transient = True


class ServerFailed(ServiceError):
    """The service, or a proxy before it, answered 5xx. Only 500 is not expected to pass."""

    def __init__(self, message: str, failure: Failure, *, retry_after: float | None = None) -> None:
        super().__init__(message, failure, retry_after=retry_after)
        self.transient = failure.status in (502, 503, 504)


class BadAnswer(ServiceError):
    """What came back is not an answer of this interface."""


class LostUpdate(ServiceError):
    """Another writer kept replacing what was written."""


class NameServerError(PostroomError):
    """A name server did not do what it was asked."""


class NameServersNotFound(NameServerError):
    """The resolvers do not tell which servers a name has.

    :param cause: why, in one sentence
    :param remedy: what to do, in one sentence
    """

    def __init__(self, cause: str, remedy: str) -> None:
        super().__init__(f"{cause} {remedy}")
        self.cause, self.remedy = cause, remedy


class NoAnswer(NameServerError):
    """Nothing that can be read came back. An update may have taken effect all the same."""


class KeyRefused(NameServerError):
    """The TSIG key is not known to the server, not the right one, or the clocks differ."""


class UpdateRefused(NameServerError):
    """The server does not change this zone or this name, or not with this key."""


class ZoneChanged(NameServerError):
    """The records were not what they were seen to be, so the server changed nothing."""


def names_secret(key: object) -> bool:
    """Tell whether the key of a mapping announces a secret."""
    return _SECRET_KEY.search(str(key)) is not None


def hide(text: str, secrets: Iterable[str]) -> str:
    """Return ``text`` without any of ``secrets``, plain, as JSON writes them or in an address."""
    forms = {form for secret in secrets for form in _forms_of(secret) if form}
    # The longest first: what is left of a secret must not be the rest of one within it.
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
    """Return ``text`` on one line, shortened, without any of ``secrets``."""
    text = " ".join(hide(text, secrets).split())
    return text if len(text) <= _LONGEST_DETAIL else f"{text[:_LONGEST_DETAIL]}..."
