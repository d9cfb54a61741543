"""Refuses requests with foreign host names or origins, without a token, or with large or slow bodies. Plain ASGI,
before any parsing.
"""

from __future__ import annotations

import asyncio
import json
import secrets
from ipaddress import ip_address
from typing import Any
from urllib.parse import parse_qs, urlsplit

MOST_BYTES = 64 << 10
ASK_S = 10.0
"""Seconds in which a request must be complete; half a request could otherwise keep a connection for ever."""
COOKIE = "ghosts_token_{}"
"""By port: browsers send a cookie to all ports of a machine, and each viewer has its own token."""
LOCAL = frozenset({"localhost", "127.0.0.1", "::1"})
_HEADERS = [
    # Nothing from anywhere else, so that a page shown here can neither load nor send anything.
    (
        b"content-security-policy",
        b"default-src 'self'; img-src 'self' data: blob:; style-src 'self' 'unsafe-inline'; frame-ancestors 'none'; "
        b"base-uri 'none'; form-action 'none'",
    ),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
]


class Guard:
    """Middleware that answers only requests meant for this server.

    A web page elsewhere could otherwise reach a server on localhost by a name that resolves to it (DNS rebinding). The
    address at which a request arrived is always allowed.

    Args:
        app: the application behind it.
        hosts: names besides localhost that are this server.
        token: what every request must show, in its address or, after the first one, in a cookie; nothing when empty.
        most_bytes: of a request's body.
        command: that started the server, for messages.
    """

    def __init__(
        self,
        app: Any,
        hosts: frozenset[str] = frozenset(),
        token: str = "",
        most_bytes: int = MOST_BYTES,
        command: str = "ghosts view",
    ) -> None:
        self.app, self.hosts, self.token = app, LOCAL | hosts, token
        self.most_bytes, self.command = most_bytes, command

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        """Handle one connection."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = {key.lower(): value.decode("latin-1") for key, value in scope["headers"]}
        called, hosts = _host(headers.get(b"host", "")), self.hosts | _address(scope)
        if called not in hosts:
            name = called if called.isascii() and called else "NAME"
            text = f"this server does not answer for {name!r}, only for localhost and what it was told; to call it so, "
            await _refuse(send, 421, f"{text}start it with: {self.command} --allow-host {name}")
            return
        origin = headers.get(b"origin")
        # Another port of this machine is another site; a proxy under an allowed name may call this one by another.
        own = [f"{scheme}://{headers.get(b'host', '')}".lower() for scheme in ("http", "https")]
        if origin is not None and origin.lower() not in own and _origin(origin) not in self.hosts - LOCAL:
            await _refuse(send, 403, "requests from other sites are refused")
            return
        cookie = COOKIE.format((scope.get("server") or ("", 0))[1])
        if self.token and not _shows(self.token, cookie, scope, headers):
            await _refuse(send, 401, "this server asks for the token in the address that its terminal shows")
            return
        length = headers.get(b"content-length", "0")
        if not length.isdigit() or int(length) > self.most_bytes:
            await _refuse(send, 413, f"a request may hold at most {self.most_bytes} bytes")
            return
        try:
            body = await asyncio.wait_for(_read(receive, self.most_bytes), ASK_S)
        except TimeoutError:
            await _refuse(send, 408, f"a request must be whole after {ASK_S:.0f} seconds")
            return
        if body is None:
            await _refuse(send, 413, f"a request may hold at most {self.most_bytes} bytes")
            return
        # No script reads the cookie, and no other site's page sends it.
        kept = f"{cookie}={self.token}; Path=/; HttpOnly; SameSite=Strict".encode()
        more = [(b"set-cookie", kept)] if self.token else []
        await self.app(scope, _replay(body, receive), _with_headers(send, more))


def _host(value: str) -> str:
    """The name in a Host header, without port and brackets, in lower case."""
    try:
        return (urlsplit(f"//{value}").hostname or "").lower()
    except ValueError:
        return ""


def _address(scope: dict[str, Any]) -> frozenset[str]:
    """The address of this machine at which a request arrived, where it is one; a proxy's socket has none."""
    try:
        return frozenset({str(ip_address((scope.get("server") or ("",))[0]))})
    except ValueError:
        return frozenset()


def _origin(value: str) -> str:
    """The name in an Origin header; nothing where it is malformed."""
    try:
        return _host(urlsplit(value).netloc)
    except ValueError:
        return ""


def _shows(token: str, cookie: str, scope: dict[str, Any], headers: dict[bytes, str]) -> bool:
    """Whether a request shows the token."""
    shown = parse_qs(scope.get("query_string", b"").decode("latin-1")).get("token", [])
    shown += [part.strip().removeprefix(f"{cookie}=") for part in headers.get(b"cookie", "").split(";")]
    return any(secrets.compare_digest(item.encode(), token.encode()) for item in shown)


async def _read(receive: Any, most_bytes: int) -> bytes | None:
    """The whole body, or None when it is too long (a chunked body does not say so beforehand)."""
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return b"".join(parts)
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > most_bytes:
            return None
        if not message.get("more_body", False):
            return b"".join(parts)


def _replay(body: bytes, receive: Any) -> Any:
    pending = [{"type": "http.request", "body": body, "more_body": False}]

    async def again() -> Any:
        return pending.pop() if pending else await receive()

    return again


def _with_headers(send: Any, more: list[tuple[bytes, bytes]]) -> Any:
    async def sent(message: Any) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message["headers"], *_HEADERS, *more]}
        await send(message)

    return sent


def refusal(text: str) -> tuple[bytes, list[tuple[bytes, bytes]]]:
    """Body and headers of an answer that refuses."""
    body = json.dumps({"error": text}).encode()
    return body, [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode()), *_HEADERS]


async def _refuse(send: Any, status: int, text: str) -> None:
    body, headers = refusal(text)
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
