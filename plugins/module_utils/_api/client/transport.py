# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""The sender: connections to one service. The only file that knows httpx.

A ``Sender`` may be shared by threads. It sends what it is given once, follows no redirect (the
token goes to the configured origin and nowhere else) and reads the answer to its end within the
time given, however slowly it drips.
"""

from __future__ import annotations

import json
import re
import ssl
import sys
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from .. import errors
from .endpoints import Call
from .responses import Answer, describe

#: An answer that is larger than this is not read on: no tenant's list comes near it.
_LARGEST_ANSWER = 256 * 1024 * 1024


def _import_httpx() -> Any:
    """Import httpx without its command line, which would pull in click, rich and pygments."""
    hide = "httpx" not in sys.modules and "httpx._main" not in sys.modules
    if hide:
        sys.modules["httpx._main"] = None  # type: ignore[assignment]
    try:
        import httpx  # noqa: PLC0415
    finally:
        if hide:
            sys.modules.pop("httpx._main", None)
    return httpx


#: OpenSSL's numbers for a certificate of another host name or address.
OTHER_HOST = (62, 64)


class _OutOfTime(Exception):
    """The time given for one request is used up."""


class _Timed:
    """A network backend of httpx, or one of its streams, whose waits share one deadline.

    httpx limits each wait on the network but not their sum, so that a server that sends its
    headers byte by byte could hold a request for as long as it likes. Where a later httpx is built
    otherwise, its own limits remain.
    """

    def __init__(self, inner: Any, time_left: Callable[[], float]) -> None:
        self._inner = inner
        self._time_left = time_left

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def connect_tcp(self, **options: Any) -> _Timed:
        options["timeout"] = self._time_left()
        return _Timed(self._inner.connect_tcp(**options), self._time_left)

    def start_tls(self, **options: Any) -> _Timed:
        options["timeout"] = self._time_left()
        return _Timed(self._inner.start_tls(**options), self._time_left)

    def read(self, max_bytes: int, **_: Any) -> Any:
        return self._inner.read(max_bytes, timeout=self._time_left())

    def write(self, buffer: bytes, **_: Any) -> None:
        self._inner.write(buffer, timeout=self._time_left())


class _Line:
    """One connection to the service, for one thread at a time.

    httpx's own pool closes connections under threads that have just been given them, which then
    hang: https://github.com/encode/httpcore/issues/1110. So each client here has one connection,
    and a thread has the client to itself while it sends. There are as many as threads that send.
    """

    def __init__(self, http: Any) -> None:
        self.http = http
        self._end = 0.0
        # httpx takes no network backend, so it is put under it.
        mounts = getattr(http, "_mounts", {})
        for transport in (getattr(http, "_transport", None), *mounts.values()):
            pool: Any = getattr(transport, "_pool", None)
            if hasattr(pool, "_network_backend"):
                backend = pool._network_backend  # noqa: SLF001
                pool._network_backend = _Timed(backend, self.time_left)  # noqa: SLF001

    def give(self, seconds: float) -> None:
        """Set the time for the next request."""
        self._end = time.monotonic() + seconds

    def time_left(self) -> float:
        """Return the seconds that are left, more than none."""
        left = self._end - time.monotonic()
        if left <= 0:
            raise _OutOfTime
        return left


class Sender:
    """Sends calls to one service with one token.

    :param base_url: the service's address, such as ``https://mail.example.com``; a path is kept
    :param token: the bearer token; it is in no error and in no representation
    :param verify: verify the service's certificate
    :param ca_path: a PEM file of the authorities to trust in place of the system's
    :param trust_env: honour ``HTTP_PROXY``, ``HTTPS_PROXY`` and ``NO_PROXY``
    :raises InvalidInput: the address, the token or the file can't be used
    :raises ImportError: httpx is not installed
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
        self._base_url = _checked_url(base_url)
        self._token = _checked_token(token)
        self._httpx = _import_httpx()
        _check_host(self._httpx, self._base_url)
        is_tls = self._base_url.startswith("https:")
        self._tls = tls_context(ca_path, verify=verify) if is_tls else False
        self._trust_env = trust_env
        self._idle = [self._new_line()]

    @property
    def secrets(self) -> tuple[str, ...]:
        """Values that nothing shown may hold."""
        return (self._token,)

    def close(self) -> None:
        """Close every connection. No thread may be sending."""
        for line in self._idle:
            line.http.close()

    def send(self, call: Call[Any], timeout: float) -> Answer:
        """Send a call once and read its answer.

        :param timeout: seconds until the whole answer must be here
        :raises Unreachable: no connection was made; nothing was sent
        :raises ConnectionBroken: no whole answer came; the call may have taken effect
        """
        line = self._take_line()
        line.give(timeout)
        try:
            return self._send_over(line, call, timeout)
        except _OutOfTime:
            raise self._late(call, timeout) from None
        except (self._httpx.TransportError, self._httpx.DecodingError) as error:
            raise self._translated(error, call, timeout) from None
        finally:
            self._idle.append(line)

    def _send_over(self, line: _Line, call: Call[Any], timeout: float) -> Answer:
        body = None if call.body is None else json.dumps(call.body).encode()
        headers = {} if body is None else {"content-type": "application/json"}
        url = self._base_url + call.path
        request = line.http.build_request(
            call.method, url, content=body, headers=headers, timeout=timeout
        )
        response = line.http.send(request, stream=True)
        try:
            content = self._read(response, call)
        finally:
            response.close()
        names = {key.lower(): value for key, value in response.headers.items()}
        return Answer(response.status_code, names, content)

    def _take_line(self) -> _Line:
        try:
            return self._idle.pop()
        except IndexError:
            return self._new_line()

    def _new_line(self) -> _Line:
        try:
            http = self._httpx.Client(
                verify=self._tls,
                limits=self._httpx.Limits(max_connections=1),
                trust_env=self._trust_env,
                headers={
                    "authorization": f"Bearer {self._token}",
                    "accept": "application/json",
                    "user-agent": "postroom",
                },
            )
        except (ImportError, ValueError, self._httpx.InvalidURL) as error:
            raise errors.InvalidInput(
                f"The proxy that the environment names can't be used ({error}). "
                "Correct HTTP_PROXY, HTTPS_PROXY or ALL_PROXY, or name the host in NO_PROXY."
            ) from None
        return _Line(http)

    def next_page(self, call: Call[Any], answer: Answer) -> str | None:
        """Return the path of the page that a ``Link: rel="next"`` names, if there is one.

        :raises BadAnswer: the link leads to another origin, where the token must not go, or is
            no address
        """
        links = [("link", answer.headers.get("link", "").encode())]
        target = self._httpx.Response(200, headers=links).links.get("next", {}).get("url")
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
                f"The list goes on at {shown}, another origin, where the token is not sent. "
                "Set api_url to the address that the service itself uses.",
                self._failure("BadAnswer", call, f"next page at {shown}"),
            )
        return str(url.raw_path.decode("ascii")).removeprefix(urlsplit(self._base_url).path)

    def _read(self, response: Any, call: Call[Any]) -> bytes:
        chunks: list[bytes] = []
        size = 0
        for chunk in response.iter_bytes():
            chunks.append(chunk)
            size += len(chunk)
            if size > _LARGEST_ANSWER:
                raise self._broken(call, "the answer came without end")
        return b"".join(chunks)

    def _translated(self, error: Exception, call: Call[Any], timeout: float) -> Exception:
        """Return our own error for one of httpx's."""
        httpx = self._httpx
        if isinstance(error, (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)):
            return self._unreachable(error, call)
        if isinstance(error, (httpx.ProxyError, httpx.UnsupportedProtocol)):
            return self._unreachable(error, call)
        if isinstance(error, httpx.TimeoutException):
            return self._late(call, timeout)
        return self._broken(call, self._shown(call, error))

    def _unreachable(self, error: Exception, call: Call[Any]) -> errors.Unreachable:
        detail = self._shown(call, error)
        kind: type[errors.Unreachable] = errors.Unreachable
        proxy = self._proxy()
        advice = (
            f"Requests go through the proxy {proxy}, as HTTP_PROXY, HTTPS_PROXY or ALL_PROXY "
            "says: check it, or name the host in NO_PROXY."
            if proxy
            else "Check api_url, the network and that the service runs."
        )
        cause = _cause_of(error)
        if isinstance(cause, ssl.SSLCertVerificationError):
            kind = errors.UntrustedCertificate
            advice = "Set ca_path to the file of the authority that signed its certificate."
            if cause.verify_code in OTHER_HOST:
                advice = "Write api_url with a host name that its certificate holds."
        elif cause is not None:
            advice = "Check the port. If the service has no TLS there, begin api_url with http."
        message = f"{self._base_url} can't be reached for {describe(call)} ({detail}). {advice}"
        return kind(message, self._failure(kind.__name__, call, detail))

    def _proxy(self) -> str | None:
        """Return the proxy that the environment names for the service, without its password."""
        parts = urlsplit(self._base_url)
        proxies = getproxies()
        found = proxies.get(parts.scheme) or proxies.get("all")
        if not self._trust_env or not found or proxy_bypass(parts.netloc):
            return None
        return found.rpartition("@")[2]

    def _late(self, call: Call[Any], timeout: float) -> errors.ConnectionBroken:
        detail = f"no whole answer within {timeout:.3g} s"
        message = (
            f"{self._base_url} gave {detail} while {describe(call)}. "
            "Raise timeout, or find out why the service is slow."
        )
        return errors.ConnectionBroken(message, self._failure("ConnectionBroken", call, detail))

    def _broken(self, call: Call[Any], detail: str) -> errors.ConnectionBroken:
        is_plain = self._base_url.startswith("http:")
        hint = " If it expects https, let api_url begin with it." if is_plain else ""
        message = (
            f"The connection to {self._base_url} broke while {describe(call)} ({detail}). "
            f"Try again.{hint}"
        )
        return errors.ConnectionBroken(message, self._failure("ConnectionBroken", call, detail))

    def _shown(self, call: Call[Any], error: Exception) -> str:
        text = str(error).rstrip(".") or type(error).__name__
        return errors.redact(text, [*call.secrets, *self.secrets])

    def _failure(self, kind: str, call: Call[Any], detail: str) -> errors.Failure:
        path = errors.hide(call.path, [*call.secrets, *self.secrets])
        return errors.Failure(kind, None, call.method, path, detail)


_API_PATH = re.compile("/api(/(principal|dns)(/.*)?|/v[0-9]+)?/?$")
_URL_ADVICE = "Write it with its scheme and host, such as https://mail.example.com."


def _checked_url(text: str) -> str:
    """Return the base address without a trailing slash."""
    try:
        parts = urlsplit(text)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        usable = usable and text.isprintable() and " " not in text
    except ValueError:
        usable = False
    if not usable:
        # What stands before an @ may be a password.
        shown = "the value" if "@" in text else repr(text)
        raise errors.InvalidInput(f"api_url: {shown} is not a web address. {_URL_ADVICE}")
    if parts.username is not None or parts.query or parts.fragment:
        raise errors.InvalidInput(
            f"api_url: the address of {parts.hostname} holds a user, a query or a fragment. "
            f"Leave that out. {_URL_ADVICE}"
        )
    end = _API_PATH.search(parts.path)
    if end:
        raise errors.InvalidInput(
            f"api_url: drop {end.group()} from the end of {text!r}. The modules add the path of "
            "the API themselves."
        )
    # With the scheme in lower case: what is sent in the clear is decided by it.
    return parts.geturl().rstrip("/")


def _check_host(httpx: Any, url: str) -> None:
    """Have the library look at an address that it will be given, with the same sentence."""
    try:
        is_usable = bool(httpx.URL(url).host)
    except (httpx.InvalidURL, ValueError):
        is_usable = False
    if not is_usable:
        raise errors.InvalidInput(f"api_url: {url!r} is not a web address. {_URL_ADVICE}")


def _checked_token(token: str) -> str:
    if not token.isascii() or not token.isprintable() or " " in token or not token:
        raise errors.InvalidInput(
            "api_token: it is empty or holds spaces, line breaks or non-ASCII characters. "
            "Give the token alone, as the service issued it."
        )
    return token


def tls_context(ca_path: str | None, *, verify: bool) -> ssl.SSLContext:
    """Return a context that trusts the system's authorities, or those of ``ca_path``.

    :raises InvalidInput: the file can't be used
    """
    try:
        context = ssl.create_default_context(cafile=ca_path)
    except (OSError, ssl.SSLError) as error:
        reason = getattr(error, "strerror", None) or "it holds no certificate in PEM form"
        raise errors.InvalidInput(
            f"ca_path: {ca_path} can't be used ({reason}). Give a readable file of certificates."
        ) from None
    if not verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _cause_of(error: BaseException | None) -> ssl.SSLError | None:
    """Return the failure of TLS that stands behind an error, if one does."""
    while error is not None and not isinstance(error, ssl.SSLError):
        error = error.__cause__ or error.__context__
    return error
