"""Starting the workbench: a socket of this machine, a token, a browser."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import secrets
import shutil
import socket
import ssl
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import quote

from sfumato.core.files import write_whole
from sfumato.core.options import CommandOption
from sfumato.core.portable import NO_LINK, NoLocks, endings_to, lock, open_private
from sfumato.errors import ParameterError, UnreadableInput, require
from sfumato.interfaces.web.fields import Fields
from sfumato.interfaces.web.guard import BEARER, Guard
from sfumato.interfaces.web.login_links import OPEN, at_the_door
from sfumato.interfaces.web.private_logging import keep_quiet

if TYPE_CHECKING:
    from sfumato.interfaces.web.workbench import Workbench

LOCAL = "127.0.0.1"
ANYWHERE = ("0.0.0.0", "::", "")  # noqa: S104 - these are refused
# Seconds that a page may be silent, on a busy or sleeping machine, and still goes on where it was;
# then it is loaded anew.
AWAY = 60.0
# What comes through the browser lies in a temporary folder of this name, with a lock in it that is
# held as long as its server runs.
UPLOADS, LOCK = "sfumato-serve-", "lock"
# The header that programs send; what a killed server left of such files goes at the next start.
TOKEN_FILE = ".api-token"  # noqa: S105 - a name
# Seconds that open pages have to close when the server ends.
PATIENCE = 2
REDIRECT = (
    "<!doctype html><meta charset=utf-8><title>sfumato</title><meta http-equiv=refresh"
    " content='0;url={address}'>"
)


@dataclasses.dataclass(frozen=True)
class Reach:
    """Where the workbench listens: on this machine only, or, with a certificate, at another address
    of it.
    """

    host: Annotated[
        str,
        CommandOption(
            "an address of this machine that others can reach; with --certificate, --key and"
            " --to-others"
        ),
    ] = LOCAL
    port: Annotated[
        int, CommandOption("port to listen on; 0: any free one", minimum=0, maximum=65535)
    ] = 0
    certificate: Annotated[
        Path | None, CommandOption("with --host: certificate of that address (PEM)")
    ] = None
    key: Annotated[Path | None, CommandOption("with --host: key of the certificate (PEM)")] = None

    @property
    def local(self) -> bool:
        """Whether only this machine can reach it."""
        return self.host == LOCAL

    def check(self) -> None:
        """Raise where others could listen in, or the certificate cannot be used."""
        if self.local:
            return
        if self.host in ANYWHERE:
            raise ParameterError(
                "--host takes one address or name of this machine, not all of them at "
                "once; name one"
            )
        if self.certificate is None or self.key is None:
            raise ParameterError(
                f"{self.host} can be reached by others, so its traffic must be encrypted; name "
                "--certificate and --key (PEM files)"
            )
        _usable(self.certificate, self.key)

    def bind(self) -> socket.socket:
        """A socket that listens; who comes before the first page is ready waits."""
        try:
            family, kind, number, _, address = socket.getaddrinfo(
                self.host, self.port, type=socket.SOCK_STREAM
            )[0]
        except (OSError, UnicodeError):
            raise ParameterError(f"{self.host} is not an address of this machine") from None
        listening = socket.socket(family, kind, number)
        try:
            # so that the same port can be used again at once after a restart
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind(address)
            listening.listen(128)
        except OSError as error:
            listening.close()
            raise ParameterError(
                f"cannot listen at {self.host}, port {self.port}: "
                f"{(error.strerror or 'refused').lower()}; leave --port out to use any free port"
            ) from None
        return listening

    def names(self, port: int) -> frozenset[str]:
        """What browsers may call it, with the port."""
        if self.local:
            hosts = [LOCAL, "localhost"]
        else:
            hosts = [f"[{self.host}]" if ":" in self.host else self.host.lower()]
        usual = port == (80 if self.local else 443)
        return frozenset({f"{name}:{port}" for name in hosts} | {name for name in hosts if usual})

    def address(self, port: int, token: str) -> str:
        """What is opened, with the token."""
        name = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'http' if self.local else 'https'}://{name}:{port}/?token={quote(token)}"


def _usable(certificate: Path, key: Path) -> None:
    """Raise unless this is a certificate with its key."""
    for file in (certificate, key):
        if not file.is_file():
            raise UnreadableInput(f"{file}: this file does not exist; check the path")
    locked: list[bool] = []

    def password() -> str:
        locked.append(True)
        return ""

    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key, password=password)
    except (OSError, ValueError):
        why = "they are not a certificate with its key (PEM)"
        if locked:
            why = (
                "the key is locked by a password, which the workbench cannot ask for; give "
                "a key without one"
            )
        raise UnreadableInput(f"{certificate} and {key}: {why}") from None


def application(workbench: Workbench, *, api: bool = False) -> Any:
    """All pages as one application, not guarded yet; ``api``: with the verbs for programs."""
    require("nicegui", extra="web", to="open the workbench")
    from fastapi import FastAPI
    from nicegui import app as drawing
    from nicegui import ui

    from sfumato.interfaces.web.pages.entry import enter

    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    enter(app, workbench)
    if api:
        from sfumato.interfaces.web import rest

        rest.enter(app, workbench)
    drawing.on_startup(workbench.begin)
    look: Fields = {
        "title": "sfumato",
        "language": "en-US",
        "dark": None,
        "tailwind": False,
    }
    ui.run_with(app, show_welcome_message=False, reconnect_timeout=AWAY, **look)
    return app


def serve(
    workbench: Workbench,
    reach: Reach,
    *,
    browser: bool,
    on_ready: Callable[[str], None],
    api: bool = False,
) -> None:
    """Serve the pages until interrupted; ``on_ready`` is told the address with the token once it
    listens. ``api``: programs may come too, with the header in the file ``.api-token``.

    Whatever ends it, no process, no token and no upload is left.
    """
    with contextlib.ExitStack() as after:
        after.callback(workbench.close)
        require("nicegui", extra="web", to="open the workbench")
        require("wsproto", extra="web", to="open the workbench")
        reach.check()
        listening = after.enter_context(contextlib.closing(reach.bind()))
        after.enter_context(_private_uploads())
        keep_quiet()
        port = listening.getsockname()[1]
        token = secrets.token_urlsafe(32)
        tls = not reach.local
        bearer = after.enter_context(_token_file(workbench.project.folder)) if api else ""
        guarded = Guard(
            application(workbench, api=api),
            hosts=reach.names(port),
            token=token,
            port=port,
            tls=tls,
            bearer=bearer,
        )
        server = _server(guarded, reach)
        after.enter_context(_ended_by_signals(server))

        def renewed() -> str:
            address = reach.address(port, guarded.renew())
            write_whole(workbench.project.folder / OPEN, REDIRECT.format(address=address).encode())
            return address

        after.enter_context(at_the_door(lambda: workbench.project.folder, renewed))
        address = reach.address(port, token)
        if browser:
            write_whole(workbench.project.folder / OPEN, REDIRECT.format(address=address).encode())
            threading.Thread(
                target=open_browser, args=(workbench.project.folder,), daemon=True
            ).start()
        on_ready(address)
        server.run(sockets=[listening])


@contextlib.contextmanager
def _token_file(folder: Path) -> Iterator[str]:
    """A token for programs, in a file that only the owner of the project can read, as the header
    that they send; the file is gone with the server.
    """
    bearer = secrets.token_urlsafe(32)
    file = folder / TOKEN_FILE
    write_whole(file, f"Authorization: {BEARER}{bearer}\n".encode())
    try:
        yield bearer
    finally:
        file.unlink(missing_ok=True)


def _server(app: Any, reach: Reach) -> Any:
    import uvicorn

    config = uvicorn.Config(
        app,
        http="h11",  # strict about headers that come twice
        ws="wsproto",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        log_config=None,
        ws_ping_interval=None,  # the pages have pings of their own, with the patience of AWAY
        timeout_graceful_shutdown=PATIENCE,
        ssl_certfile=reach.certificate,
        ssl_keyfile=reach.key,
    )
    return uvicorn.Server(config)


@contextlib.contextmanager
def _private_uploads() -> Iterator[Path]:
    """What comes through the browser is kept, as long as it is needed, in a folder that nobody else
    can look into.
    """
    before = tempfile.tempdir
    _remove_folders_of_killed_servers(Path(tempfile.gettempdir()))
    # it gets its name when the lock is held: another server that starts leaves it alone
    fresh = Path(tempfile.mkdtemp(prefix="sfumato-fresh-"))
    handle = open_private(fresh / LOCK, os.O_RDWR)
    with contextlib.suppress(NoLocks):
        lock(handle, wait=False)
    folder = fresh.rename(fresh.with_name(f"{UPLOADS}{secrets.token_hex(8)}"))
    tempfile.tempdir = str(folder)
    try:
        yield folder
    finally:
        os.close(handle)
        tempfile.tempdir = before
        shutil.rmtree(folder, ignore_errors=True)


def _remove_folders_of_killed_servers(temporary: Path) -> None:
    """Remove the private folders of workbenches that run no more: nobody holds their lock."""
    for folder in temporary.glob(f"{UPLOADS}*"):
        if not (folder / LOCK).is_file() or (folder / LOCK).is_symlink():
            continue
        try:
            handle = open_private(folder / LOCK, os.O_RDWR | NO_LINK)
        except OSError:  # somebody else's
            continue
        try:
            abandoned = lock(handle, wait=False)
        except NoLocks:
            abandoned = False
        finally:
            os.close(handle)
        if abandoned:
            shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def _ended_by_signals(server: Any) -> Iterator[None]:
    """Let a request to end, or a terminal that is closed, end it as Ctrl-C does: with all that is
    to be cleared away.
    """

    def leave(number: int, frame: Any) -> None:
        raise SystemExit(128 + number)

    def ask(number: int, frame: Any) -> None:
        server.should_exit = True

    # the server itself catches the first while it runs, and hands it on
    with endings_to({"SIGTERM": leave, "SIGHUP": ask}):
        yield


def open_browser(folder: Path) -> None:
    """Open the browser by a file that only its owner can read: the words of a command are seen by
    every user of a machine.
    """
    import webbrowser

    webbrowser.open((folder / OPEN).as_uri())
