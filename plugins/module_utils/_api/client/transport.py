# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Connections to one service. This is the only file that imports httpx.

A ``Transport`` sends each call once and reads the whole response before a deadline. It does not
follow redirects, so the token is only sent to the configured origin. Threads may share a transport.
"""

from __future__ import annotations

import contextlib
import json
import re
import ssl
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from .. import errors
from .endpoints import Call, Response, describe

#: The maximum size of a response, which is far more than any tenant's list needs.
_MAX_RESPONSE_BYTES = 256 * 1024 * 1024
#: The operations for which httpx accepts a timeout.
_TIMEOUTS = ("connect", "read", "write", "pool")
_API_PATH = re.compile("/api(/(principal|dns)(/.*)?|/v[0-9]+)?/?$")


def import_httpx() -> Any:
    """Import httpx without its command-line interface, which needs click, rich and pygments.

    :raises ImportError: if httpx is not installed
    """
    hide = "httpx" not in sys.modules and "httpx._main" not in sys.modules
    if hide:
        sys.modules["httpx._main"] = None  # type: ignore[assignment]
    try:
        import httpx  # noqa: PLC0415
    finally:
        if hide:
            sys.modules.pop("httpx._main", None)
    return httpx


#: OpenSSL's error codes for a certificate that belongs to another host name or IP address.
OTHER_HOST = (62, 64)


class _DeadlineExpired(Exception):
    """The deadline of a request has passed."""


class _DeadlineBackend:
    """A wrapper around httpx's network backend or one of its streams, with a single deadline.

    httpx has a timeout for each network operation but none for the whole request, so a server that
    sends its headers byte by byte could block a request forever. If a later version of httpx has no
    such backend, only httpx's own timeouts apply.
    """

    def __init__(self, inner: Any, time_left: Callable[[], float]) -> None:
        self._inner = inner
        self._time_left = time_left

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def connect_tcp(self, **options: Any) -> _DeadlineBackend:
        options["timeout"] = self._time_left()
        return _DeadlineBackend(self._inner.connect_tcp(**options), self._time_left)

    def start_tls(self, **options: Any) -> _DeadlineBackend:
        options["timeout"] = self._time_left()
        return _DeadlineBackend(self._inner.start_tls(**options), self._time_left)

    def read(self, max_bytes: int, **_: Any) -> Any:
        return self._inner.read(max_bytes, timeout=self._time_left())

    def write(self, buffer: bytes, **_: Any) -> None:
        self._inner.write(buffer, timeout=self._time_left())


class _Connection:
    """One connection to the service, used by one thread at a time.

    httpx's connection pool can close a connection that it has just given to another thread, which
    then hangs: https://github.com/encode/httpcore/issues/1110. Each httpx transport therefore has
    a single connection, and threads that send at the same time use different transports.
    """

    def __init__(self, http: Any) -> None:
        self.deadline = 0.0
        self.close = http.close
        is_client = hasattr(http, "send")
        self.handle = partial(http.send, stream=True) if is_client else http.handle_request
        # httpx lacks an option for the network backend.
        transports = (http._transport, *http._mounts.values()) if is_client else (http,)  # noqa: SLF001
        for transport in transports:
            pool: Any = getattr(transport, "_pool", None)
            if hasattr(pool, "_network_backend"):
                backend = pool._network_backend  # noqa: SLF001
                pool._network_backend = _DeadlineBackend(backend, self.time_left)  # noqa: SLF001

    def time_left(self) -> float:
        """Return the seconds until the deadline, or raise _DeadlineExpired."""
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise _DeadlineExpired
        return left


class Transport:
    """A transport that sends calls to one service with one token.

    :param base_url: the URL of the service, such as ``https://mail.example.com``, with or without a
        path
    :param token: the bearer token, which never appears in errors or representations
    :param ca_path: a PEM file with the certificates of the authorities to trust instead of the
        system's
    :param trust_env: whether to use ``HTTP_PROXY``, ``HTTPS_PROXY`` and ``NO_PROXY``
    :raises InvalidInput: if the URL, the token or the file can't be used
    :raises ImportError: if httpx is not installed
    """

    def __init__(
        self,
        base_url: str,
        token: str,
        *,
        verify: bool = True,
        ca_path: str | None = None,
        trust_env: bool = True,
    ) -> None:
        self._httpx = import_httpx()
        self._base_url = self._checked_url(base_url)
        if not token.isascii() or not token.isprintable() or " " in token or not token:
            raise errors.InvalidInput(
                "api_token: it is empty or contains spaces, line breaks or non-ASCII characters. "
                "Set it to exactly the token that the service issued."
            )
        #: The values to redact from all output.
        self.secrets: tuple[str, ...] = (token,)
        self._headers = [
            (b"authorization", f"Bearer {token}".encode()),
            (b"accept", b"application/json"),
            (b"accept-encoding", b"gzip, deflate"),
            (b"user-agent", b"postroom"),
        ]
        is_tls = self._base_url.startswith("https:")
        self._tls = tls_context(ca_path, verify=verify) if is_tls else False
        self._trust_env = trust_env
        self._idle = [self._connect()]
        self._is_closed = False

    def close(self) -> None:
        """Close all connections: idle ones now, the others when their calls end."""
        self._is_closed = True
        # Other threads may take or return connections meanwhile.
        with contextlib.suppress(IndexError):
            while True:
                self._idle.pop().close()

    def send(self, call: Call[Any], timeout: float) -> Response:
        """Send a call once and read its response.

        :param timeout: the number of seconds within which the response must be complete
        :raises Unreachable: if the connection failed; nothing was sent
        :raises ConnectionBroken: if the response is incomplete; the call may have taken effect
        """
        httpx = self._httpx
        try:
            connection = self._idle.pop()
        except IndexError:
            connection = self._connect()
        connection.deadline = time.monotonic() + timeout
        headers, body = self._headers, None
        if call.body is not None:
            body = json.dumps(call.body).encode()
            headers = [*headers, (b"content-type", b"application/json")]
        try:
            request = httpx.Request(
                call.method,
                self._base_url + call.path,
                headers=headers,
                content=body,
                extensions={"timeout": dict.fromkeys(_TIMEOUTS, timeout)},
            )
            response = connection.handle(request)
            try:
                content = self._read(response, call)
            finally:
                response.close()
        except (
            httpx.ConnectError,
            httpx.ConnectTimeout,
            httpx.PoolTimeout,
            httpx.ProxyError,
            httpx.UnsupportedProtocol,
        ) as error:
            # Some of these are timeouts, but nothing was sent.
            raise self._unreachable(error, call) from None
        except (_DeadlineExpired, httpx.TimeoutException):
            raise self._timed_out(call, timeout) from None
        except (httpx.TransportError, httpx.DecodingError) as error:
            raise self._broken(call, self._shown(call, error)) from None
        finally:
            # Append before this check, because `close` may be emptying the list.
            self._idle.append(connection)
            if self._is_closed:
                self.close()
        next_path = self._next_path(call, response)
        return Response(response.status_code, response.headers, content, self._base_url, next_path)

    def _connect(self) -> _Connection:
        # An httpx client checks NO_PROXY to decide whether to use a proxy. If no
        # proxy is set, use only a transport, because a client also spends time on cookies,
        # redirects and authentication.
        has_proxy = self._environment_proxy() is not None
        kind = self._httpx.Client if has_proxy else self._httpx.HTTPTransport
        try:
            http = kind(verify=self._tls, limits=self._httpx.Limits(max_connections=1))
        except (ImportError, ValueError, self._httpx.InvalidURL) as error:
            raise errors.InvalidInput(
                f"The proxy in the environment can't be used ({error}). "
                "Correct HTTP_PROXY, HTTPS_PROXY or ALL_PROXY, or add the host to NO_PROXY."
            ) from None
        return _Connection(http)

    def _read(self, response: Any, call: Call[Any]) -> bytes:
        content = bytearray()
        for chunk in response.iter_bytes():
            content += chunk
            if len(content) > _MAX_RESPONSE_BYTES:
                raise self._broken(call, f"the response exceeds {_MAX_RESPONSE_BYTES} bytes")
        return bytes(content)

    def _next_path(self, call: Call[Any], response: Any) -> str | None:
        """Return the path in a list's ``Link: rel="next"`` header, or None.

        :raises BadAnswer: if the link is invalid or leads to another origin, to which the token
            must not be sent
        """
        target = response.links.get("next", {}).get("url") if call.subject is None else None
        if target is None:
            return None
        here = self._httpx.URL(self._base_url + call.path)
        try:
            url = here.join(target)
            is_here = (url.scheme, url.host, url.port) == (here.scheme, here.host, here.port)
        except (self._httpx.InvalidURL, ValueError):
            is_here = False
        if not is_here:
            shown = errors.redact(target, self.secrets)
            raise errors.BadAnswer(
                f"The next page of the list is at {shown}. This is another origin, to which the "
                "token is not sent. Set api_url to the URL that the service itself uses.",
                self._failure(call, f"next page at {shown}"),
            )
        return str(url.raw_path.decode("ascii")).removeprefix(urlsplit(self._base_url).path)

    def _unreachable(self, error: Exception, call: Call[Any]) -> errors.Unreachable:
        detail = self._shown(call, error)
        kind: type[errors.Unreachable] = errors.Unreachable
        advice = "Check api_url and the network, and ensure that the service is running."
        proxy = self._environment_proxy()
        if proxy and not proxy_bypass(urlsplit(self._base_url).netloc):
            # The part before an @ contains the credentials of the proxy.
            shown = proxy.rpartition("@")[2]
            advice = (
                f"Requests use the proxy {shown} from HTTP_PROXY, HTTPS_PROXY or ALL_PROXY. Check "
                "the proxy, or add the host to NO_PROXY."
            )
        cause: BaseException | None = error
        while cause is not None and not isinstance(cause, ssl.SSLError):
            cause = cause.__cause__ or cause.__context__
        if isinstance(cause, ssl.SSLCertVerificationError):
            kind = errors.UntrustedCertificate
            advice = "Set ca_path to a PEM file with the certificate of the service's CA."
            if cause.verify_code in OTHER_HOST:
                advice = "In api_url, use a host name from the certificate."
        elif cause is not None:
            advice = "Check the port. If the service does not use TLS there, use http in api_url."
        message = f"{self._base_url} can't be reached while {describe(call)} ({detail}). {advice}"
        return kind(message, self._failure(call, detail))

    def _environment_proxy(self) -> str | None:
        """Return the proxy that the environment sets for the scheme of the service, or None."""
        proxies = getproxies() if self._trust_env else {}
        return proxies.get(urlsplit(self._base_url).scheme) or proxies.get("all")

    def _timed_out(self, call: Call[Any], timeout: float) -> errors.ConnectionBroken:
        detail = f"no complete response within {timeout:.3g} s"
        message = (
            f"{self._base_url} sent {detail} while {describe(call)}. "
            "Raise timeout, or find out why the service is slow."
        )
        return errors.ConnectionBroken(message, self._failure(call, detail))

    def _broken(self, call: Call[Any], detail: str) -> errors.ConnectionBroken:
        is_plain = self._base_url.startswith("http:")
        hint = " If the service expects TLS, use https in api_url." if is_plain else ""
        message = (
            f"The connection to {self._base_url} broke while {describe(call)} ({detail}). "
            f"Try again.{hint}"
        )
        return errors.ConnectionBroken(message, self._failure(call, detail))

    def _shown(self, call: Call[Any], error: Exception) -> str:
        text = str(error).rstrip(".") or type(error).__name__
        return errors.redact(text, [*call.secrets, *self.secrets])

    def _failure(self, call: Call[Any], detail: str) -> errors.Failure:
        path = errors.hide(call.path, [*call.secrets, *self.secrets])
        return errors.Failure(None, call.method, path, detail)

    def _checked_url(self, text: str) -> str:
        """Return the base URL without a trailing slash."""
        advice = "Set a URL with scheme and host, such as https://mail.example.com."
        try:
            parts = urlsplit(text)
            usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
            usable = usable and text.isprintable() and " " not in text
            usable = usable and bool(self._httpx.URL(text).host)
        except (self._httpx.InvalidURL, ValueError):
            usable = False
        if not usable:
            # The part before an @ may contain a password.
            shown = "the value" if "@" in text else repr(text)
            raise errors.InvalidInput(f"api_url: {shown} is not an http or https URL. {advice}")
        if parts.username is not None or parts.query or parts.fragment:
            raise errors.InvalidInput(
                f"api_url: the URL of {parts.hostname} has a user, a query or a fragment. "
                f"Remove it. {advice}"
            )
        end = _API_PATH.search(parts.path)
        if end:
            raise errors.InvalidInput(
                f"api_url: remove {end.group()} from the end of {text!r}. The modules add the "
                "path of the API themselves."
            )
        # The check for https: relies on geturl(), which returns the scheme in lower case.
        return parts.geturl().rstrip("/")


def tls_context(ca_path: str | None, *, verify: bool) -> ssl.SSLContext:
    """Return a TLS context that trusts the system's authorities or those in ``ca_path``.

    :raises InvalidInput: if the file can't be used
    """
    try:
        context = ssl.create_default_context(cafile=ca_path)
    except (OSError, ssl.SSLError) as error:
        reason = getattr(error, "strerror", None) or "it has no certificate in PEM format"
        raise errors.InvalidInput(
            f"ca_path: {ca_path} can't be used ({reason}). Set it to a readable PEM file."
        ) from None
    if not verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context
