"""Who is let in: this machine's browser, at our address, with the token that was printed once.

The outermost layer, around pages and sockets alike. In this order: the ``Host`` is ours (421: a name that was pointed here by others), the
``Origin`` is ours where it is sent, and is sent where something may change (403), the token or the cookie it was exchanged for is right (401).
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Awaitable, Callable, Mapping
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs

POLICY = (
    "default-src 'none'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "font-src 'self'; connect-src 'self' {socket}://{host}; frame-src 'self'; frame-ancestors 'self'; base-uri 'none'; form-action 'none'"
)
"""What a page may load: from here only. The library that draws pages compiles templates in the browser, hence the two unsafe words."""
HEADERS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
LANDING = (
    b"<!doctype html><html lang=en><title>sfumato</title><meta http-equiv=refresh content='0;url=/'>"
    b"<p><a href='/'>Open the workbench</a></p></html>"
)
SAFE_METHODS = ("GET", "HEAD")
MOST_BODY = 4 * 1024**3

Send = Callable[[dict[str, Any]], Awaitable[None]]


class Guard:
    """The application inside is reached only by who may."""

    def __init__(self, app: Any, *, hosts: frozenset[str], token: str, port: int, tls: bool = False) -> None:
        self.app = app  # the name under which the library that draws pages looks for its server
        self._token: str | None = token
        self._cookie = secrets.token_urlsafe(32)
        self._name = f"sfumato_{port}"
        self._hosts = hosts
        self._scheme, self._socket = ("https", "wss") if tls else ("http", "ws")
        self._tls = tls

    async def __call__(self, scope: Mapping[str, Any], receive: Any, send: Send) -> None:
        """Let a request through, or refuse it."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        heads = {name.decode("latin1").lower(): value.decode("latin1") for name, value in scope["headers"]}
        if self._lands(scope, heads):
            await self._land(send)
            return
        refused = self._refused(scope, heads)
        if refused:
            await _refuse(scope, send, refused)
            return
        await self.app(scope, receive, self._with_headers(send, heads["host"]))

    def _refused(self, scope: Mapping[str, Any], heads: Mapping[str, str]) -> int:
        """The status that a request is refused with; 0: it may pass."""
        if heads.get("host") not in self._hosts:
            return 421
        origin = heads.get("origin")
        changes = scope["type"] == "websocket" or scope.get("method") not in SAFE_METHODS
        if (origin is None and changes) or (origin is not None and not self._ours(origin)):
            return 403
        if not self._knows(heads.get("cookie", "")):
            return 401
        if heads.get("sec-fetch-site", "none") not in ("none", "same-origin"):
            return 403
        return 413 if int(heads.get("content-length") or 0) > MOST_BODY else 0

    def _ours(self, origin: str) -> bool:
        return any(origin == f"{self._scheme}://{host}" for host in self._hosts)

    def _knows(self, cookies: str) -> bool:
        try:
            jar = SimpleCookie(cookies)
        except CookieError:
            return False
        return self._name in jar and hmac.compare_digest(jar[self._name].value.encode(), self._cookie.encode())

    def _lands(self, scope: Mapping[str, Any], heads: Mapping[str, str]) -> bool:
        """Whether this is the address that was printed, opened for the first time."""
        if scope["type"] != "http" or scope.get("method") != "GET" or heads.get("host") not in self._hosts:
            return False
        given = parse_qs(scope.get("query_string", b"").decode("latin1")).get("token", [""])[0]
        if not given or self._token is None or not hmac.compare_digest(given.encode(), self._token.encode()):
            return False
        self._token = None
        return True

    async def _land(self, send: Send) -> None:
        """Exchange the token for a cookie. A redirect would not carry a strict cookie to where it leads, a page that refreshes does."""
        cookie = f"{self._name}={self._cookie}; HttpOnly; SameSite=Strict; Path=/{'; Secure' if self._tls else ''}"
        heads = {
            "content-type": "text/html; charset=utf-8",
            "cache-control": "no-store",
            "set-cookie": cookie,
            **HEADERS,
        }
        await _answer(send, 200, heads, LANDING)

    def _with_headers(self, send: Send, host: str) -> Send:
        more = {**HEADERS, "content-security-policy": POLICY.format(socket=self._socket, host=host)}
        encoded = [(name.encode(), value.encode()) for name, value in more.items()]

        async def sending(message: dict[str, Any]) -> None:
            if message["type"] == "http.response.start":
                # a page that allows itself less says so beside ours: browsers obey both
                ours = more.keys() - {"content-security-policy"}
                kept = [
                    (name, value) for name, value in message["headers"] if name.decode("latin1").lower() not in ours
                ]
                message = {**message, "headers": [*kept, *encoded]}
            await send(message)

        return sending


async def _refuse(scope: Mapping[str, Any], send: Send, status: int) -> None:
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 4403})
        return
    words = b"This is the workbench of somebody else, or its address was used before. Open the address that 'sfumato serve' printed.\n"
    await _answer(send, status, {"content-type": "text/plain; charset=utf-8", **HEADERS}, words)


async def _answer(send: Send, status: int, heads: Mapping[str, str], body: bytes) -> None:
    encoded = [(name.encode(), value.encode()) for name, value in heads.items()]
    await send({"type": "http.response.start", "status": status, "headers": encoded})
    await send({"type": "http.response.body", "body": body})
