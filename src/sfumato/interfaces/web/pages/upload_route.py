"""The address that files are sent to by the browser."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sfumato.errors import SfumatoError
from sfumato.interfaces.web import uploads

if TYPE_CHECKING:
    from sfumato.interfaces.web.workbench import Workbench


def enter(app: Any, workbench: Workbench) -> None:
    """Take files at ``/sfumato/upload/file``; the guard has let only the owner through."""
    from fastapi import Request
    from fastapi.responses import JSONResponse
    from starlette.requests import ClientDisconnect

    async def upload(request: Request) -> JSONResponse:
        name = request.headers.get("x-file-name", "")
        try:
            file_name = await uploads.take(workbench.project.folder, name, request.stream())
        except ClientDisconnect:  # the tab was closed: nobody hears this, and nothing is wrong
            return JSONResponse({"error": "the connection broke off"}, status_code=400)
        except uploads.TooLarge as error:
            return JSONResponse({"error": str(error)}, status_code=413)
        except SfumatoError as error:
            return JSONResponse({"error": str(error)}, status_code=507)
        return JSONResponse({"kept": file_name})

    upload.__annotations__["request"] = (
        Request  # the annotations of this module are text, and Request is known in here only
    )
    app.add_api_route("/sfumato/upload/file", upload, methods=["POST"])
