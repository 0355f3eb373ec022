"""Starting the workbench: a socket of this machine, a token, a browser."""

from __future__ import annotations

import contextlib
import secrets
import socket
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from sfumato.errors import require
from sfumato.web.guard import Guard

if TYPE_CHECKING:
    from sfumato.web.workbench import Workbench


def application(workbench: Workbench) -> Any:
    """All pages as one application, not guarded yet."""
    require("nicegui", extra="web", to="open the workbench")
    from fastapi import FastAPI
    from nicegui import app as drawing
    from nicegui import ui

    from sfumato.web.pages.entry import enter

    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    enter(app, workbench)
    drawing.on_startup(workbench.begin)
    ui.run_with(app, title="sfumato", language="en-US", tailwind=False, show_welcome_message=False, dark=None)
    return app


def serve(workbench: Workbench, *, port: int = 0, on_ready: Callable[[str], None]) -> None:
    """Serve the pages on this machine until interrupted; ``on_ready`` is told the address with the token once it listens."""
    import uvicorn

    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listening.bind(("127.0.0.1", port))
    listening.listen(128)  # before the address is told: who comes at once waits, and is not turned away
    bound = listening.getsockname()[1]
    token = secrets.token_urlsafe(32)
    hosts = frozenset({f"127.0.0.1:{bound}", f"localhost:{bound}"})
    guarded = Guard(application(workbench), hosts=hosts, token=token, port=bound)
    config = uvicorn.Config(
        guarded, ws="wsproto", access_log=False, server_header=False, proxy_headers=False, log_level="error"
    )
    on_ready(f"http://127.0.0.1:{bound}/?token={token}")
    with contextlib.closing(listening):
        uvicorn.Server(config).run(sockets=[listening])
    workbench.close()
