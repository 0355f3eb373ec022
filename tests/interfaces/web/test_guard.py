"""Who is let in, by raw messages: every order and combination of what a browser, or somebody else,
may send.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import socket
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.interfaces.web import peer
from sfumato.interfaces.web.guard import Guard

PORT = 8123
HOST, ORIGIN, TOKEN = f"127.0.0.1:{PORT}", f"http://127.0.0.1:{PORT}", "the-right-token"


class Inside:
    """The application behind the guard: it reads all it is sent, answers, and remembers that it was
    reached.
    """

    def __init__(self) -> None:
        self.reached: list[str] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.reached.append(scope["type"])
        if scope["type"] == "http":
            while (await receive()).get("more_body"):
                pass
            heads = [
                (b"content-type", b"text/html"),
                (b"Content-Security-Policy", b"default-src *"),
            ]
            await send({"type": "http.response.start", "status": 200, "headers": heads})
            await send({"type": "http.response.body", "body": b"inside"})
        elif scope["type"] == "websocket":
            await send({"type": "websocket.accept"})


class Asked:
    """What came of a request."""

    def __init__(self, guard: Guard, sent: list[dict[str, Any]]) -> None:
        self.reached = bool(guard.app.reached)
        guard.app.reached.clear()
        start = next((one for one in sent if one["type"] == "http.response.start"), {})
        self.status = start.get("status")
        self.heads = {
            name.decode().lower(): value.decode() for name, value in start.get("headers", [])
        }
        self.kinds = [one["type"] for one in sent]


def guard(**more: Any) -> Guard:
    return Guard(
        Inside(), hosts=frozenset({HOST, f"localhost:{PORT}"}), token=TOKEN, port=PORT, **more
    )


def ask(
    guarded: Guard,
    *,
    kind: str = "http",
    method: str = "GET",
    path: str = "/",
    query: str = "",
    chunks: tuple[bytes, ...] = (b"",),
    heads: tuple[tuple[str, str], ...] = (),
    below_secret_path: bool = True,
    **more: Any,
) -> Asked:
    sent: list[dict[str, Any]] = []
    left = list(chunks)

    async def receive() -> dict[str, Any]:
        body = left.pop(0)
        return {"type": "http.request", "body": body, "more_body": bool(left)}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    if below_secret_path:
        path = home_of(guarded) + path
    raw = [(name.encode("latin1"), value.encode("latin1")) for name, value in heads]
    scope: dict[str, Any] = {
        "type": kind,
        "path": path,
        "query_string": query.encode("latin1"),
        "headers": raw,
        **more,
    }
    if kind == "http":
        scope["method"] = method
    asyncio.run(guarded(scope, receive, send))
    return Asked(guarded, sent)


def home_of(guarded: Guard) -> str:
    """The secret path of the last tab that came by the token; nothing before that."""
    return next(reversed(guarded._sessions), "")


def landed(guarded: Guard) -> str:
    """The cookie that a browser has after it came by the token."""
    asked = ask(guarded, query=f"token={TOKEN}", heads=(("host", HOST),))
    assert asked.status == 200 and not asked.reached
    return asked.heads["set-cookie"].split(";")[0]


def test_the_token_is_good_once_and_becomes_a_cookie_that_no_script_and_no_other_site_gets() -> (
    None
):
    guarded = guard()
    first = ask(
        guarded, query=f"token={TOKEN}", heads=(("host", HOST), ("sec-fetch-site", "cross-site"))
    )
    assert (
        first.status == 200
        and f"HttpOnly; SameSite=Strict; Path={home_of(guarded)}/" in first.heads["set-cookie"]
    )
    assert first.heads["cache-control"] == "no-store" and TOKEN not in first.heads["set-cookie"]
    assert len(home_of(guarded)) > 30
    assert (
        ask(
            guarded, query=f"token={TOKEN}", heads=(("host", HOST),), below_secret_path=False
        ).status
        == 401
    )
    assert ask(
        guarded, heads=(("host", HOST), ("cookie", first.heads["set-cookie"].split(";")[0]))
    ).reached


@pytest.mark.parametrize(
    ("heads", "how", "status"),
    [
        ((), {}, 421),
        ((("host", "evil.example"),), {}, 421),
        ((("host", f"127.0.0.1:{PORT + 1}"),), {}, 421),
        ((("host", HOST), ("host", HOST)), {}, 421),
        ((("host", HOST), ("origin", "http://evil.example")), {}, 403),
        ((("host", HOST), ("origin", "null")), {}, 403),
        ((("host", HOST), ("origin", ORIGIN), ("origin", ORIGIN)), {}, 403),
        (
            (("host", HOST),),
            {"method": "POST"},
            401,
        ),  # no token is taken from what is posted, and no Origin is sent either
        ((("host", HOST),), {"path": "/data"}, 401),
        ((("host", HOST),), {"method": "HEAD"}, 401),
    ],
)
def test_the_token_is_not_used_up_by_who_is_not_let_in(
    heads: Any, how: dict[str, Any], status: int
) -> None:
    guarded = guard()
    asked = ask(guarded, query=f"token={TOKEN}", heads=heads, **how)
    assert asked.status == (403 if how.get("method") == "POST" else status) and not asked.reached
    assert landed(guarded)


HOSTS = {"ours": HOST, "named": f"localhost:{PORT}", "foreign": "evil.example", "none": None}
ORIGINS = {
    "ours": ORIGIN,
    "other port": f"http://127.0.0.1:{PORT + 1}",
    "secure": f"https://{HOST}",
    "foreign": "https://evil.example",
    "null": "null",
    "none": None,
}
COOKIES = {
    "ours": "{}",
    "among others": 'a=b; {}; c="d',
    "wrong": "sfumato_8123=nothing",
    "other port": "sfumato_8124=x",
    "none": None,
}
SITES = ("none", "same-origin", "same-site", "cross-site", None)
KINDS = (
    ("http", "GET"),
    ("http", "HEAD"),
    ("http", "POST"),
    ("http", "DELETE"),
    ("http", "OPTIONS"),
    ("websocket", ""),
)


def expected(kind: tuple[str, str], host: str, origin: str, cookie: str, site: str | None) -> int:
    """The rule as it is written down, once more."""
    if host not in ("ours", "named"):
        return 421
    changes = kind[0] == "websocket" or kind[1] not in ("GET", "HEAD")
    if origin not in ("ours", "none") or (origin == "none" and changes):
        return 403
    if cookie not in ("ours", "among others"):
        return 401
    return 0 if site in ("none", "same-origin", None) else 403


@pytest.mark.parametrize("kind", KINDS, ids="-".join)
def test_every_combination_is_let_in_or_refused_as_the_rule_says(kind: tuple[str, str]) -> None:
    guarded = guard()
    cookie = landed(guarded)
    for host, origin, jar, site in itertools.product(HOSTS, ORIGINS, COOKIES, SITES):
        said = {
            "host": HOSTS[host],
            "origin": ORIGINS[origin],
            "cookie": COOKIES[jar],
            "sec-fetch-site": site,
        }
        heads = tuple(
            (name, value.format(cookie)) for name, value in said.items() if value is not None
        )
        for order in (heads, heads[::-1]):
            asked = ask(guarded, kind=kind[0], method=kind[1], heads=order)
            wanted = expected(kind, host, origin, jar, site)
            assert asked.reached == (wanted == 0), (host, origin, jar, site)
            if kind[0] == "http":
                assert asked.status == (wanted or 200)
            elif wanted:
                assert asked.kinds == ["websocket.close"]


NAMES = st.sampled_from(
    [
        "host",
        "origin",
        "cookie",
        "sec-fetch-site",
        "content-length",
        "x-forwarded-host",
        "Host",
        "COOKIE",
    ]
)
VALUES = st.one_of(
    st.sampled_from(
        [
            HOST,
            ORIGIN,
            "null",
            "none",
            f"sfumato_{PORT}=",
            f"sfumato_{PORT}={TOKEN}",
            "-1",
            "١",
            "9" * 40,
        ]
    ),
    st.text(st.characters(max_codepoint=255), max_size=20),
)


@given(
    heads=st.lists(st.tuples(NAMES, VALUES), max_size=8),
    kind=st.sampled_from(KINDS),
    query=st.one_of(st.just("token="), st.text(st.characters(max_codepoint=255), max_size=30)),
    path=st.sampled_from(["/", "/data", "/_nicegui_ws/socket.io/"]),
)
def test_nobody_without_token_and_cookie_comes_in_whatever_they_send(
    heads: list[tuple[str, str]], kind: tuple[str, str], query: str, path: str
) -> None:
    heads = [(name, value.encode("latin1", "replace").decode("latin1")) for name, value in heads]
    asked = ask(guard(), kind=kind[0], method=kind[1], query=query, path=path, heads=tuple(heads))
    assert not asked.reached
    assert (
        asked.kinds == ["websocket.close"]
        if kind[0] == "websocket"
        else asked.status in (401, 403, 421)
    )


def test_what_is_sent_is_counted_whatever_length_is_said() -> None:
    guarded = guard()
    guarded.most, guarded.most_upload = 10, 100
    heads = (("host", HOST), ("origin", ORIGIN), ("cookie", landed(guarded)))
    for length, chunks, path, status in [
        ("10", (b"12345", b"12345"), "/", 200),
        ("11", (b"",), "/", 413),
        (None, (b"12345", b"123456"), "/", 413),
        ("1", (b"12345", b"123456"), "/", 413),
        ("90", (b"x" * 90,), "/_nicegui/client/1/upload/2", 200),
        (None, (b"x" * 90, b"x" * 11), "/_nicegui/client/1/upload/2", 413),
        ("many", (b"",), "/", 400),
        ("-1", (b"",), "/", 400),
        ("²", (b"",), "/", 400),
    ]:
        said = () if length is None else (("content-length", length),)
        asked = ask(guarded, method="POST", path=path, chunks=chunks, heads=(*heads, *said))
        assert asked.status == status, (length, chunks, path)


def test_pages_may_load_from_here_only_and_are_not_stored() -> None:
    guarded = guard()
    asked = ask(guarded, heads=(("host", HOST), ("cookie", landed(guarded))))
    policy = asked.heads["content-security-policy"]
    assert "default-src 'none'" in policy and f"ws://{HOST}" in policy and "*" not in policy
    assert (
        asked.heads["x-content-type-options"] == "nosniff"
        and asked.heads["referrer-policy"] == "no-referrer"
    )
    assert asked.heads["cache-control"] == "no-store"
    refused = ask(guarded, heads=(("host", HOST),))
    assert (
        refused.status == 401 and "default-src 'none'" in refused.heads["content-security-policy"]
    )


def test_with_a_certificate_cookies_and_origins_are_of_the_secure_kind() -> None:
    guarded = guard(tls=True)
    asked = ask(guarded, query=f"token={TOKEN}", heads=(("host", HOST),))
    assert "; Secure" in asked.heads["set-cookie"]
    cookie = asked.heads["set-cookie"].split(";")[0]
    heads = (("host", HOST), ("cookie", cookie))
    assert ask(guarded, kind="websocket", heads=(*heads, ("origin", f"https://{HOST}"))).reached
    assert not ask(guarded, kind="websocket", heads=(*heads, ("origin", ORIGIN))).reached


def test_what_begins_and_ends_the_application_is_handed_on() -> None:
    guarded = guard()
    asyncio.run(guarded({"type": "lifespan"}, None, None))  # type: ignore[arg-type]
    assert guarded.app.reached == ["lifespan"]


def test_a_cookie_without_the_secret_path_opens_nothing() -> None:
    """A server of another user at another port of this machine may be sent the cookie; it never
    learns the path.
    """
    guarded = guard()
    ours = (("host", HOST), ("cookie", landed(guarded)), ("origin", ORIGIN))
    home = home_of(guarded)
    assert ask(guarded, heads=ours).reached
    for path in (
        "/",
        "/data",
        "//",
        f"/x{home}/",
        f"{home[:-1]}/",
        home,
        f"{home}x/",
        home.upper() + "/",
    ):
        for kind in ("http", "websocket"):
            asked = ask(guarded, path=path, kind=kind, heads=ours, below_secret_path=False)
            assert not asked.reached, path
    assert ask(guarded, heads=(("host", HOST),)).status == 401, "nor is the path alone enough"


def test_two_tabs_have_paths_and_cookies_of_their_own() -> None:
    guarded = guard()
    first, first_home = landed(guarded), home_of(guarded)
    asked = ask(
        guarded, query=f"token={guarded.renew()}", heads=(("host", HOST),), below_secret_path=False
    )
    second = asked.heads["set-cookie"].split(";")[0]
    assert home_of(guarded) != first_home and second != first
    for path, cookie, reached in (
        (first_home, first, True),
        (first_home, second, False),
        (home_of(guarded), first, False),
    ):
        heads = (("host", HOST), ("cookie", cookie))
        assert (
            ask(guarded, path=f"{path}/", heads=heads, below_secret_path=False).reached is reached
        )


def test_the_application_sees_no_secret_path_and_nobody_else_can_say_one() -> None:
    seen: list[Any] = []

    class Watching(Inside):
        async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
            seen.append(scope)
            await super().__call__(scope, receive, send)

    guarded = Guard(Watching(), hosts=frozenset({HOST}), token=TOKEN, port=PORT)
    heads = (("host", HOST), ("cookie", landed(guarded)), ("x-forwarded-prefix", "/evil"))
    home = home_of(guarded)
    asked = ask(guarded, path="/promises", heads=heads, raw_path=f"{home}/promises".encode())
    assert (
        asked.reached and seen[-1]["path"] == "/promises" and seen[-1]["raw_path"] == b"/promises"
    )
    assert [value for name, value in seen[-1]["headers"] if name == b"x-forwarded-prefix"] == [
        home.encode()
    ]


@pytest.mark.skipif(not peer.TABLES[0].exists(), reason="only Linux tells whose a connection is")
def test_processes_of_other_users_are_kept_out(monkeypatch: pytest.MonkeyPatch) -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as listening,
        socket.create_connection(listening.getsockname()) as client,
    ):
        ends = {"client": client.getsockname(), "server": listening.getsockname()}
        assert peer.user_of_peer(*ends.values()) == os.getuid()
        guarded = guard()
        heads = (("host", HOST), ("cookie", landed(guarded)))
        assert ask(guarded, heads=heads, **ends).reached
        monkeypatch.setattr(peer, "ROOT", -1)
        monkeypatch.setattr(os, "getuid", lambda: 4_000_000)
        assert ask(guarded, heads=heads, **ends).status == 403
        assert ask(guarded, kind="websocket", heads=heads, **ends).kinds == ["websocket.close"]
    assert (
        peer.user_of_peer(("127.0.0.1", 1), ("127.0.0.1", 2)) is None
        and peer.user_of_peer(None, None) is None
    )
