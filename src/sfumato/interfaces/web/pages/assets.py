"""What pages load besides the library that draws them: our style, a script that keeps the focus,
and what draws pictures.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sfumato.release.report
from sfumato.core.files import MEGABYTE, read_plain, write_whole
from sfumato.core.portable import PRIVATE_FOLDER
from sfumato.errors import SfumatoError
from sfumato.interfaces.web.exports import KINDS as KINDS_TAKEN
from sfumato.interfaces.web.exports import export_text
from sfumato.interfaces.web.folders import home

if TYPE_CHECKING:
    from sfumato.interfaces.web.workbench import Workbench

FILES = Path(__file__).parent / "files"
# Colours, which reports have too.
TOKENS = Path(sfumato.release.report.__file__).parent / "style" / "tokens.css"
MOST_BYTES = 16 * MEGABYTE
KINDS = {".css": "text/css", ".js": "text/javascript"}


def enter(app: Any, workbench: Workbench) -> None:
    """Serve the files below ``/sfumato/``, and what can be taken away below ``/sfumato/take/``."""
    from fastapi.responses import Response

    async def vega() -> Response:
        heads = {
            "cache-control": "private, max-age=3600"
        }  # it holds no data, and every page has it
        return Response(
            await asyncio.to_thread(pictures), media_type="text/javascript", headers=heads
        )

    def own(file: Path) -> Any:
        def answer() -> Response:
            return Response(file.read_bytes(), media_type=KINDS[file.suffix])

        return answer

    app.add_api_route("/sfumato/vega.js", vega, methods=["GET"])
    for file in (*sorted(FILES.iterdir()), TOKENS):
        app.add_api_route(f"/sfumato/{file.name}", own(file), methods=["GET"])

    def take(kind: str) -> Any:
        def answer() -> Response:
            if not workbench.project.has_recipe:
                return Response(
                    "There is no recipe yet; open a table first.",
                    media_type="text/plain",
                    status_code=404,
                )
            name, words = export_text(workbench.project, kind)
            heads = {"content-disposition": f'attachment; filename="{name}"'}
            return Response(words, media_type=KINDS_TAKEN[kind].media, headers=heads)

        return answer

    for kind, parcel in KINDS_TAKEN.items():
        app.add_api_route(f"/sfumato/take/{parcel.file}", take(kind), methods=["GET"])


def _made_beside() -> str:
    """The script, made by a process of its own: making it lets nothing else run for seconds, the
    pages neither. Empty: it could not be.
    """
    make = (
        "import sys, vl_convert;"
        " sys.stdout.buffer.write(vl_convert.javascript_bundle(None).encode())"
    )
    with contextlib.suppress(OSError, subprocess.SubprocessError, UnicodeDecodeError):
        making = subprocess.run(  # noqa: S603
            [sys.executable, "-P", "-c", make], capture_output=True, check=True, timeout=60
        )
        return making.stdout.decode()
    return ""


def _made_here() -> str:
    import vl_convert

    return vl_convert.javascript_bundle(None)  # type: ignore[arg-type]


def kept_at() -> Path:
    """Where the script that draws pictures is kept: a version a file."""
    return home() / f"vega-{version('vl-convert-python')}.js"


def make_script() -> str:
    """The script that draws pictures, made anew."""
    return _made_beside() or _made_here()


@functools.cache
def pictures() -> str:
    """The script that draws pictures, which sets ``window.vegaEmbed``; it takes seconds to make, so
    it is kept.
    """
    path = kept_at()
    with contextlib.suppress(SfumatoError, UnicodeDecodeError):
        return read_plain(path, limit=MOST_BYTES, purpose="a script").decode()
    script = make_script()
    with contextlib.suppress(SfumatoError, OSError):
        home().mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
        write_whole(path, script.encode())
    return script
