"""What pages load besides the library that draws them: our style, a script that keeps the focus, and what draws pictures."""

from __future__ import annotations

import asyncio
import functools
from pathlib import Path
from typing import Any

FILES = Path(__file__).parent / "files"
KINDS = {".css": "text/css", ".js": "text/javascript"}


def enter(app: Any) -> None:
    """Serve the files below ``/sfumato/``."""
    from fastapi.responses import Response

    async def vega() -> Response:
        return Response(await asyncio.to_thread(pictures), media_type="text/javascript")

    def own(name: str) -> Any:
        def answer() -> Response:
            return Response((FILES / name).read_bytes(), media_type=KINDS[Path(name).suffix])

        return answer

    app.add_api_route("/sfumato/vega.js", vega, methods=["GET"])
    for file in sorted(FILES.iterdir()):
        app.add_api_route(f"/sfumato/{file.name}", own(file.name), methods=["GET"])


@functools.cache
def pictures() -> str:
    """The script that draws pictures, made once; it sets ``window.vegaEmbed``."""
    import vl_convert

    return vl_convert.javascript_bundle(None)  # type: ignore[arg-type]
