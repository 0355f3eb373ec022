"""Who is let in: this user's browser, at our address, with the token that was printed once.

The outermost layer, around pages and sockets alike. In this order: the connection is opened by a
process of this user, where the system tells it (403), the ``Host`` is ours (421: a name that was
pointed here by others), the ``Origin`` is ours where it is sent, and is sent where something may
change (403), path and cookie are those that the token was exchanged for (401), the browser says
that one of our own pages asks (403), and what is sent is not too much (413, counted while it
comes).

A cookie alone is not enough: browsers send cookies to every port of a machine, so that the server
of another user of this machine could get one. All pages lie below a secret path, which only a tab
that was opened by the token knows, and the cookie is sent to that path only.

Programs come to ``/api`` with a bearer token of their own, where the workbench was started for
them. Browsers send it for nobody: no other page can set that header without asking us first, and
such a question is refused.
"""

from __future__ import annotations

import hmac
import json
import secrets
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any
from urllib.parse import parse_qs

from sfumato.interfaces.web.fields import Fields
from sfumato.interfaces.web.peer import is_own_user

# What a page may load: from here only. The library that draws pages puts them into inline scripts,
# and evaluates templates and handlers of ours, hence the two unsafe words. No text that is
# evaluated holds a name or a value of a table (a test reads all of them).
POLICY = (
    "default-src 'none'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self'"
    " 'unsafe-inline'; img-src 'self' data:; font-src 'self'; connect-src 'self' {socket}://{host};"
    " frame-src 'self'; frame-ancestors 'self'; base-uri 'none'; form-action 'none'"
)
HEADERS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
# What goes with the few pages of the guard itself.
PAGE = {
    **HEADERS,
    "cache-control": "no-store",
    "content-security-policy": (
        "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
    ),
}
LANDING = (
    "<!doctype html><html lang=en><title>sfumato</title><meta http-equiv=refresh"
    " content='0;url={home}'><p><a href='{home}'>Open the workbench</a></p></html>"
)
# The header by which the library that draws pages knows below which path they lie.
FORWARDED = b"x-forwarded-prefix"
SAFE_METHODS = ("GET", "HEAD")
# Headers that count; one that is sent twice could mean one thing here and another thing inside.
ONCE = ("host", "origin", "sec-fetch-site", "content-length", "authorization")
MEGABYTE = 1024**2
MOST_BODY = 16 * MEGABYTE
# Bytes of a request, and of one that brings a table.
MOST_UPLOAD = 4096 * MEGABYTE
# Where programs come to, and the bytes of what they send.
API, MOST_CALL = "/api", 2 * MEGABYTE
BEARER = "Bearer "

Send = Callable[[Fields], Awaitable[None]]
Receive = Callable[[], Awaitable[Fields]]


class TooMuch(Exception):
    """More was sent than a request may bring."""


class Guard:
    """The application inside is reached only by who may.

    ``hosts`` are the names and ports that browsers may ask for; ``most`` and ``most_upload`` the
    bytes of a request. ``bearer`` is the token of programs; empty: none may come.
    """

    def __init__(
        self,
        app: Any,
        *,
        hosts: frozenset[str],
        token: str,
        port: int,
        tls: bool = False,
        bearer: str = "",
    ) -> None:
        self.app = app  # the name under which the library that draws pages looks for its server
        self._token: str | None = token
        # The secret path of every tab that came by a token, and the cookie that belongs to it.
        self._sessions: dict[str, str] = {}
        self._name = f"sfumato_{port}"
        self._hosts = hosts
        self._scheme, self._socket = ("https", "wss") if tls else ("http", "ws")
        self._tls = tls
        self._bearer = bearer
        self.most, self.most_upload = MOST_BODY, MOST_UPLOAD

    def renew(self) -> str:
        """Another token, good once as the first one was; one that was given before and not used is
        good no more.
        """
        self._token = secrets.token_urlsafe(32)
        return self._token

    async def __call__(self, scope: Mapping[str, Any], receive: Receive, send: Send) -> None:
        """Let a request through, or refuse it."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        heads = _heads(scope["headers"])
        # behind TLS people come from other machines, whose users the system does not know
        if not self._tls and not is_own_user(scope.get("client"), scope.get("server")):
            await _refuse(scope, send, 403)
        elif _is_call(scope):
            if refused := self._call_refused(scope, heads):
                await _refuse_call(send, refused)
            else:
                await self._pass(_without_prefix_header(scope), receive, send, heads["host"])
        elif self._lands(scope, heads):
            await self._land(send)
        elif refused := self._refused(scope, heads):
            await _refuse(scope, send, refused)
        else:
            await self._pass(_below_prefix(scope), receive, send, heads["host"])

    def _refused(self, scope: Mapping[str, Any], heads: Mapping[str, str]) -> int:
        """The status that a request is refused with; 0: it may pass."""
        if scope["type"] not in ("http", "websocket"):
            return 403
        if heads.get("host", "") not in self._hosts:
            return 421
        if not self._right_origin(scope, heads):
            return 403
        if not self._knows(_prefix_of(scope), heads.get("cookie", "")):
            return 401
        # other ports of this machine count as the same site, and not as the same origin
        if heads.get("sec-fetch-site", "none") not in ("none", "same-origin"):
            return 403
        return self._length_refused(scope, heads)

    def _call_refused(self, scope: Mapping[str, Any], heads: Mapping[str, str]) -> int:
        """The status that a call of a program is refused with; 0: it may pass."""
        if scope["type"] != "http":
            return 403
        if heads.get("host", "") not in self._hosts:
            return 421
        # programs say no origin, and no page of another site may call
        if "origin" in heads and not self._right_origin(scope, heads):
            return 403
        if heads.get("sec-fetch-site", "none") not in ("none", "same-origin"):
            return 403
        sent = heads.get("authorization", "")
        token = sent.removeprefix(BEARER) if sent.startswith(BEARER) else ""
        if not self._bearer or not hmac.compare_digest(token.encode(), self._bearer.encode()):
            return 401
        return self._length_refused(scope, heads)

    def _length_refused(self, scope: Mapping[str, Any], heads: Mapping[str, str]) -> int:
        length = heads.get("content-length") or "0"
        if not (length.isascii() and length.isdigit()):
            return 400
        return 413 if int(length) > self._limit(scope) else 0

    def _right_origin(self, scope: Mapping[str, Any], heads: Mapping[str, str]) -> bool:
        origin = heads.get("origin")
        if origin is None:
            return scope["type"] == "http" and scope.get("method") in SAFE_METHODS
        return origin in {f"{self._scheme}://{host}" for host in self._hosts}

    def _knows(self, prefix: str, cookies: str) -> bool:
        """Whether a path is secret and one of the cookies belongs to it. Cookies of other ports of
        this machine may be malformed.
        """
        cookie = self._sessions.get(prefix)
        if cookie is None:
            return False
        values = [
            value.strip()
            for name, _, value in (part.partition("=") for part in cookies.split(";"))
            if name.strip() == self._name
        ]
        # in constant time: how long a comparison takes tells nothing
        return any(hmac.compare_digest(value.encode(), cookie.encode()) for value in values)

    def _lands(self, scope: Mapping[str, Any], heads: Mapping[str, str]) -> bool:
        """Whether this is the address that was printed, opened for the first time; only here
        another site may lead to us.
        """
        if scope["type"] != "http" or scope.get("method") != "GET" or scope.get("path") != "/":
            return False
        if heads.get("host", "") not in self._hosts or not self._right_origin(scope, heads):
            return False
        token = parse_qs(scope.get("query_string", b"").decode("latin1")).get("token", [""])[0]
        if (
            not token
            or self._token is None
            or not hmac.compare_digest(token.encode(), self._token.encode())
        ):
            return False
        # good once
        self._token = None
        return True

    async def _land(self, send: Send) -> None:
        """Exchange the token for a secret path and a cookie. A redirect would not carry a strict
        cookie along, a page that refreshes does.
        """
        prefix, value = f"/{secrets.token_urlsafe(24)}", secrets.token_urlsafe(32)
        self._sessions[prefix] = value
        cookie = (
            f"{self._name}={value}; HttpOnly; SameSite=Strict;"
            f" Path={prefix}/{'; Secure' if self._tls else ''}"
        )
        page = LANDING.format(home=f"{prefix}/").encode()
        await _answer(
            send,
            200,
            {"content-type": "text/html; charset=utf-8", "set-cookie": cookie, **PAGE},
            page,
        )

    async def _pass(
        self, scope: Mapping[str, Any], receive: Receive, send: Send, host: str
    ) -> None:
        begun = False

        async def sending(message: Fields) -> None:
            nonlocal begun
            begun = begun or message["type"] == "http.response.start"
            await send(self._with_headers(message, host))

        try:
            await self.app(scope, self._limit_body(scope, receive), sending)
        except TooMuch:
            if not begun:
                await (_refuse_call(send, 413) if _is_call(scope) else _refuse(scope, send, 413))

    def _limit(self, scope: Mapping[str, Any]) -> int:
        if _is_call(scope):
            return MOST_CALL
        if "/upload/" in scope.get("path", ""):
            return self.most_upload
        return self.most

    def _limit_body(self, scope: Mapping[str, Any], receive: Receive) -> Receive:
        """The same messages, until they are too much: a length that is said need not be true, and
        none need be said.
        """
        remaining = self._limit(scope)

        async def receiving() -> Fields:
            nonlocal remaining
            message = await receive()
            if message["type"] == "http.request":
                remaining -= len(message.get("body") or b"")
                if remaining < 0:
                    raise TooMuch
            return message

        return receiving

    def _with_headers(self, message: Fields, host: str) -> Fields:
        if message["type"] != "http.response.start":
            return message
        own_headers = {
            **HEADERS,
            "content-security-policy": POLICY.format(socket=self._socket, host=host),
        }
        sent_names = {name.decode("latin1").lower() for name, _ in message["headers"]}
        if "cache-control" not in sent_names:
            own_headers["cache-control"] = "no-store"  # pages and answers may hold data
        replaced = own_headers.keys() - {
            "content-security-policy"
        }  # a page that allows itself less says so too: browsers obey both
        sent_headers = [
            (name, value)
            for name, value in message["headers"]
            if name.decode("latin1").lower() not in replaced
        ]
        return {
            **message,
            "headers": [
                *sent_headers,
                *((name.encode(), value.encode()) for name, value in own_headers.items()),
            ],
        }


def _prefix_of(scope: Mapping[str, Any]) -> str:
    """The first part of a path, below which everything of a session lies.

    >>> (
    ...     _prefix_of({"path": "/secret/promises"}),
    ...     _prefix_of({"path": "/secret"}),
    ...     _prefix_of({"path": "//promises"}),
    ... )
    ('/secret', '', '/')
    """
    first, slash, _ = str(scope.get("path", "")).removeprefix("/").partition("/")
    return f"/{first}" if slash else ""


def _is_call(scope: Mapping[str, Any]) -> bool:
    """Whether a program calls: no secret path is that short."""
    path = str(scope.get("path", ""))
    return path == API or path.startswith(f"{API}/")


def _without_prefix_header(scope: Mapping[str, Any]) -> Fields:
    """The same request without the header that only the guard sets."""
    headers = [(name, value) for name, value in scope["headers"] if name.lower() != FORWARDED]
    return {**scope, "headers": headers}


def _below_prefix(scope: Mapping[str, Any]) -> Fields:
    """The same request as the application inside sees it: without the secret path, which is told in
    a header that nobody else can set.
    """
    prefix = _prefix_of(scope)
    headers = [(name, value) for name, value in scope["headers"] if name.lower() != FORWARDED]
    inner = {
        **scope,
        "path": scope["path"][len(prefix) :],
        "headers": [*headers, (FORWARDED, prefix.encode())],
    }
    if "raw_path" in scope:
        inner["raw_path"] = scope["raw_path"][len(prefix) :]
    return inner


def _heads(headers: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """Headers by name; one that counts and is sent twice becomes something that is never right."""
    heads: dict[str, str] = {}
    for raw, value in headers:
        name = raw.decode("latin1").lower()
        text = value.decode("latin1")
        if name in heads and name in ONCE:
            heads[name] = "sent twice"
        else:
            heads[name] = f"{heads[name]}; {text}" if name in heads else text
    return heads


async def _refuse(scope: Mapping[str, Any], send: Send, status: int) -> None:
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 4403})
        return
    words = (
        b"This is the workbench of somebody else, or its address was used before, which is good"
        b" once. Open the address that 'sfumato serve' printed; after another browser was closed,"
        b" the same command once more, in another terminal, gives a new address.\n"
    )
    if status == 413:
        words = (
            b"This is more than the workbench takes through a browser. Open the file by its path.\n"
        )
    await _answer(send, status, {"content-type": "text/plain; charset=utf-8", **PAGE}, words)


async def _refuse_call(send: Send, status: int) -> None:
    """Refuse a call of a program, in the form that its answers have."""
    message = "this call is refused: send the header of the file .api-token, to this address"
    if status == 413:
        message = "this is more than a call may send"
    body = json.dumps({"error": "Refused", "message": message}).encode()
    await _answer(send, status, {"content-type": "application/json", **PAGE}, body)


async def _answer(send: Send, status: int, heads: Mapping[str, str], body: bytes) -> None:
    encoded = [(name.encode(), value.encode()) for name, value in heads.items()]
    await send({"type": "http.response.start", "status": status, "headers": encoded})
    await send({"type": "http.response.body", "body": body})
