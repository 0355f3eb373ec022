"""The verbs of the workbench for programs: addresses below ``/api``, on the project that is open.

A program sends the header that ``sfumato serve --api`` writes to a private file; the guard lets
nobody else through. Every call has a limit on what is sent and how long it takes, and only one long
call runs at a time: another one is told so (409) and not kept waiting.
"""

from __future__ import annotations

import asyncio
import dataclasses
import functools
from collections.abc import Awaitable, Callable
from html import escape
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from sfumato.core import recipe_files
from sfumato.core.blocks import render_text
from sfumato.core.words import join_words
from sfumato.errors import ParameterError, SfumatoError
from sfumato.interfaces.web.decisions import begin_decision, state_of_decision
from sfumato.interfaces.web.fields import Fields
from sfumato.interfaces.web.pasted_recipes import recipe_of_text
from sfumato.interfaces.web.private_logging import bug_sentence
from sfumato.interfaces.web.release_runs import decisions_of, made_first, make_version
from sfumato.interfaces.web.requests import WriteRequest
from sfumato.interfaces.web.table_locations import absolute_location
from sfumato.interfaces.web.tasks import by_the_clock
from sfumato.interfaces.web.worker import Cancelled

if TYPE_CHECKING:
    from sfumato.interfaces.web.workbench import Workbench

# Seconds after which a call is given up and its work ended.
MOST_SECONDS = 900.0
LONGEST_PATH, LONGEST_RECIPE = 4096, 1_000_000
MOST_WARNINGS = 100
ACCOUNT = (
    "Work with the open project of a workbench. Send the header of the file `.api-token` in the "
    "folder of the project with every request, for example `curl -H @FOLDER/.api-token`. One long "
    "call runs at a time."
)
STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}"
    "table{border-collapse:collapse;width:100%}td,th{text-align:left;padding:.3rem .6rem;"
    "border-bottom:1px solid #ccc;vertical-align:top}code{font-family:ui-monospace,monospace}"
)


class Body(BaseModel):
    """What is sent: fields that are named here, and no others."""

    model_config = ConfigDict(extra="forbid", strict=True)


class OpenBody(Body):
    """Which table is opened: one on this machine, or a bundled example."""

    path: Annotated[str | None, Field(max_length=LONGEST_PATH)] = None
    example: Literal["hospital"] | None = None
    table: Annotated[str | None, Field(max_length=LONGEST_PATH)] = None


class RecipeBody(Body):
    """A recipe as YAML, and the version that it was made from."""

    recipe: Annotated[str, Field(max_length=LONGEST_RECIPE)]
    based_on: Annotated[int | None, Field(ge=0, le=2**31)] = None


class AttackBody(Body):
    """How long intruders may compute."""

    seconds: Annotated[float, Field(gt=0, le=300)] = 20.0


class MeasureBody(Body):
    """How thoroughly the utility is measured."""

    thorough: bool = False


class WriteBody(Body):
    """Where the release goes, and the warnings that its owner knows of."""

    folder: Annotated[str, Field(min_length=1, max_length=LONGEST_PATH)]
    format: Literal["csv", "parquet", "arrow", "jsonl", "excel"] | None = None
    force: bool = False
    acknowledged: Annotated[list[str], Field(max_length=MOST_WARNINGS)] = []


class Refused(SfumatoError):
    """A call that cannot be done now, with the status it is answered with."""

    def __init__(self, status: int, message: str, **details: Any) -> None:
        super().__init__(message)
        self.status, self.details = status, details


def enter(app: Any, workbench: Workbench) -> None:
    """Serve the verbs below ``/api``; the guard has let only the owner through."""
    app.mount("/api", application(workbench))


def application(workbench: Workbench, *, seconds: float = MOST_SECONDS) -> Any:
    """The verbs as an application of their own, with a page that describes them."""
    from fastapi import FastAPI
    from fastapi.exceptions import RequestValidationError
    from fastapi.responses import HTMLResponse, JSONResponse
    from starlette.exceptions import HTTPException

    app = FastAPI(
        title="sfumato",
        description=ACCOUNT,
        version="1",
        docs_url=None,
        redoc_url=None,
        openapi_url="/openapi.json",
    )
    verbs = Verbs(workbench, seconds)

    def wrong_fields(request: Any, error: Any) -> JSONResponse:
        # what was sent is not sent back
        fields = [".".join(map(str, problem["loc"][1:])) or "body" for problem in error.errors()]
        words = f"what was sent is not as described: {join_words(dict.fromkeys(fields))}"
        return JSONResponse({"error": "ParameterError", "message": words}, status_code=422)

    def unknown(request: Any, error: Any) -> JSONResponse:
        heads = {}
        if error.status_code == 405:
            methods = [method for method, path, _ in ROUTES if request.url.path.endswith(path)]
            heads["allow"] = ", ".join(methods)
        answer = {"error": "Refused", "message": str(error.detail)}
        return JSONResponse(answer, status_code=error.status_code, headers=heads)

    app.add_exception_handler(RequestValidationError, wrong_fields)
    app.add_exception_handler(HTTPException, unknown)
    statuses: dict[int | str, dict[str, Any]] = {
        status: {"description": words, "model": RefusedRequest}
        for status, words in STATUSES.items()
    }
    for method, path, name in ROUTES:
        verb = getattr(verbs, name)
        app.add_api_route(
            path,
            answering(verb),
            methods=[method],
            summary=verb.__doc__.split(".")[0],
            operation_id=name,
            responses=statuses,
            response_model=None,
        )
    original = app.openapi

    def openapi_document() -> Fields:
        document: Fields = original()
        scheme = {"type": "http", "scheme": "bearer"}
        document["components"]["securitySchemes"] = {"token": scheme}
        document["security"] = [{"token": []}]
        return document

    app.openapi = openapi_document  # type: ignore[method-assign]

    def page() -> HTMLResponse:
        return HTMLResponse(describing_page(app.openapi()))

    app.add_api_route("/", page, methods=["GET"], include_in_schema=False)
    return app


class RefusedRequest(BaseModel):
    """What is answered where something is refused."""

    error: str
    message: str


# What calls are refused with.
STATUSES = {
    403: "another origin",
    421: "another host",
    400: "what was asked for cannot be done",
    401: "the token is missing or wrong",
    409: "other work is under way, the recipe changed meanwhile, or warnings were not acknowledged",
    413: "more was sent than a call takes",
    422: "a field is missing, unknown or out of range",
    500: "a bug of sfumato",
    504: "the call took too long and was ended",
}
ROUTES = (
    ("GET", "/state", "state"),
    ("POST", "/open", "open"),
    ("GET", "/columns", "columns"),
    ("GET", "/recipe", "recipe"),
    ("PUT", "/recipe", "set_recipe"),
    ("GET", "/versions", "versions"),
    ("POST", "/undo", "undo"),
    ("POST", "/redo", "redo"),
    ("POST", "/run", "run"),
    ("POST", "/attack", "attack"),
    ("POST", "/measure", "measure"),
    ("POST", "/decide", "decide"),
    ("POST", "/write", "write"),
    ("POST", "/cancel", "cancel"),
)


def answering(verb: Callable[..., Awaitable[Fields]]) -> Callable[..., Any]:
    """The same verb with what it refuses as a status and a sentence, without a value of the
    data.
    """
    from fastapi.responses import JSONResponse

    @functools.wraps(verb)
    async def answered(*args: Any, **fields: Any) -> JSONResponse:
        status = 200
        try:
            answer = await verb(*args, **fields)
        except Refused as error:
            status = error.status
            answer = {"error": type(error).__name__, "message": str(error), **error.details}
        except SfumatoError as error:
            kind = getattr(error, "kind", type(error).__name__)
            status = 400
            if kind == "InternalError":
                status = 500
            answer = {"error": kind, "message": str(error)}
        except Exception as error:  # noqa: BLE001
            # Our bug, told without what the error says, which may quote a person.
            status, answer = 500, {"error": "InternalError", "message": bug_sentence(error)}
        return JSONResponse(answer, status_code=status)

    return answered


@dataclasses.dataclass(frozen=True, eq=False)
class Verbs:
    """What programs can do with the open project; a long call ends after so many seconds."""

    workbench: Workbench
    seconds: float

    # what is known

    async def state(self) -> Fields:
        """The project, its table and the version in use."""
        workbench, project = self.workbench, self.workbench.project
        opened, job = workbench.opened, workbench.job
        table = None
        if opened is not None:
            table = {name: opened[name] for name in ("name", "records", "columns")}
        promises = []
        if project.has_recipe:
            promises = [model.promise for model in project.recipe.meet]
        return {
            "project": str(project.folder),
            "version": project.version,
            "table": table,
            "trouble": workbench.trouble,
            "promises": promises,
            "under_way": None if job is None else job.title,
        }

    async def columns(self) -> Fields:
        """The columns: what each is guessed to be and why, in counts and without values."""
        self._require_table()
        return dict(await self._limited(self.workbench.answer("columns")))

    async def recipe(self) -> Fields:
        """The recipe in use, as YAML."""
        project = self.workbench.project
        return {"version": project.version, "recipe": recipe_files.dump(project.recipe)}

    async def versions(self) -> Fields:
        """The versions of the recipe, what led to each and what came of it."""
        project = self.workbench.project
        entries = [
            {
                "version": entry.version,
                "parent": entry.parent,
                "sentence": entry.sentence,
                "effect": dict(entry.effect),
            }
            for entry in project.log
        ]
        return {"in_use": project.version, "versions": entries}

    # what changes

    async def open(self, body: OpenBody) -> Fields:
        """Open a table; a project without a recipe gets the proposed one."""
        if (body.path is None) == (body.example is None):
            raise Refused(422, "name either a path or an example")
        options: Fields = {}
        if body.table is not None:
            options["table"] = body.table
        path = None if body.path is None else absolute_location(body.path)
        self._require_idle()
        await self._limited(self.workbench.open(path=path, example=body.example, options=options))
        return await self.state()

    async def set_recipe(self, body: RecipeBody) -> Fields:
        """Make a recipe the one in use; one that was made from an older version is refused."""
        project = self.workbench.project
        recipe = await recipe_of_text(body.recipe, base=project.folder)
        if body.based_on not in (None, project.version):
            raise Refused(409, f"the recipe changed meanwhile: version {project.version} is in use")
        self.workbench.edit(recipe, "Recipe edited by a program", based_on=body.based_on)
        return await self.recipe()

    async def undo(self) -> Fields:
        """Go back to the version before."""
        self.workbench.project.undo()
        return await self.recipe()

    async def redo(self) -> Fields:
        """Go to the version after."""
        self.workbench.project.redo()
        return await self.recipe()

    # what takes a while

    async def run(self) -> Fields:
        """Make the release of the version in use; nothing is written."""
        self._require_table()
        self._require_idle()
        version = self.workbench.project.version
        outcome = await self._limited(make_version(self.workbench, version))
        if outcome.get("made") is False:
            message = outcome.get("message", "nothing satisfies the recipe")
            return {"version": version, "made": False, "message": message}
        blocks = render_text(outcome["blocks"])
        return {"version": version, "made": True, "effect": outcome["effect"], "text": blocks}

    async def attack(self, body: AttackBody) -> Fields:
        """Let the named intruders try the release, which is made first where it is not there."""
        return await self._of_release(
            lambda version: self.workbench.do(
                "attack", "Intruders try the release", of=version, seconds=body.seconds
            ),
            seconds=by_the_clock(body.seconds) * 2,
        )

    async def measure(self, body: MeasureBody) -> Fields:
        """Measure the utility of the release, which is made first where it is not there."""
        return await self._of_release(
            lambda version: self.workbench.do(
                "measure", "Measuring the utility", of=version, thorough=body.thorough
            )
        )

    async def decide(self) -> Fields:
        """Decide who may have the release, by the answers the project keeps."""
        self._require_table()
        self._require_idle()
        version = self.workbench.project.version
        task = begin_decision(self.workbench)
        if task is None:
            raise Refused(409, "a decision is under way")
        await self._limited(task)
        decision = decisions_of(self.workbench).get(version, {})
        if "tier" not in decision:
            raise ParameterError(decision.get("said", "nothing was decided"))
        answer = {"version": version, "tier": decision["tier"]}
        answer["text"] = render_text([*decision["head"], *decision["rest"]])
        return answer

    async def write(self, body: WriteBody) -> Fields:
        """Write the release; each warning must be acknowledged in its own words."""
        self._require_table()
        self._require_idle()
        workbench = self.workbench
        version, register = workbench.project.version, workbench.project.register or None
        about: Fields = {"key": str(version), "register": register}
        about["decided"] = state_of_decision(workbench, version) == "current"

        async def write() -> Fields:
            check = await workbench.do("before_writing", "Checking the release", **about)
            missing = [words for words in check["warnings"] if words not in body.acknowledged]
            if missing:
                raise Refused(409, "acknowledge each warning, then write it", warnings=missing)
            request = WriteRequest(folder=body.folder, format=body.format, force=body.force)
            history = workbench.project.history
            outcome: Fields = await workbench.do(
                "write", "Writing the release", history=history, request=request, **about
            )
            return outcome

        release = await self._limited(made_first(workbench, version, write))
        answer = {"version": version, "folder": release["folder"], "verified": release["holds"]}
        return {**answer, "text": render_text(release["blocks"])}

    async def cancel(self) -> Fields:
        """End the work under way."""
        await self.workbench.cancel()
        return await self.state()

    # limits

    async def _of_release(
        self, act: Callable[[int], Awaitable[Any]], *, seconds: float | None = None
    ) -> Fields:
        """Something about the release of the version in use."""
        self._require_table()
        self._require_idle()
        version = self.workbench.project.version
        if version not in await self.workbench.worker.ask("made_versions"):
            outcome = await self._limited(make_version(self.workbench, version))
            if not outcome.get("made", True):
                raise ParameterError(outcome.get("message", "nothing satisfies the recipe"))
        blocks = await self._limited(act(version), seconds=seconds)
        return {"version": version, "text": render_text(blocks)}

    def _require_table(self) -> None:
        if not self.workbench.ready:
            raise ParameterError("no table is open yet; open one first")

    def _require_idle(self) -> None:
        """Refuse what would wait: calls in a row would keep the owner of the pages from working."""
        job = self.workbench.job
        if job is not None:
            raise Refused(409, f"other work is under way: {job.title}; cancel it or wait")

    async def _limited(self, work: Awaitable[Any], *, seconds: float | None = None) -> Any:
        """What work answers, unless it takes too long: then it is ended."""
        limit = min(self.seconds, seconds or self.seconds)
        task = asyncio.ensure_future(work)
        finished, _ = await asyncio.wait({task}, timeout=limit)
        if not finished:
            await self.workbench.cancel()
            await asyncio.wait({task}, timeout=limit)
            task.cancel()
            raise Refused(504, f"this took longer than {limit:g} seconds and was ended")
        try:
            return task.result()
        except Cancelled:
            raise Refused(409, "the work was cancelled") from None


def describing_page(document: Fields) -> str:
    """The description as a page without a script; all of it are words of ours."""
    rows = ""
    for path, methods in document["paths"].items():
        for method, about in methods.items():
            body = about.get("requestBody", {}).get("content", {}).get("application/json", {})
            name = body.get("schema", {}).get("$ref", "").rpartition("/")[2]
            fields = ""
            for field, schema in (
                document["components"]["schemas"].get(name, {}).get("properties", {}).items()
            ):
                fields += f"<code>{escape(field)}</code>: {escape(_kind(schema))}<br>"
            rows += (
                f"<tr><td><code>{method.upper()} /api{escape(path)}</code></td>"
                f"<td>{escape(about.get('summary', ''))}</td><td>{fields or '–'}</td></tr>"
            )
    return (
        f"<!doctype html><html lang=en><meta charset=utf-8><title>sfumato: API</title>"
        f"<meta name=viewport content='width=device-width'><style>{STYLE}</style><main>"
        f"<h1>sfumato: addresses for programs</h1><p>{escape(document['info']['description'])}</p>"
        "<p><a href='openapi.json'>openapi.json</a></p><table><thead><tr><th>call</th><th>does</th>"
        f"<th>takes</th></tr></thead><tbody>{rows}</tbody></table></main></html>"
    )


def _kind(schema: Fields) -> str:
    """A type in a few words.

    >>> _kind({"anyOf": [{"enum": ["csv", "excel"]}, {"type": "null"}]}), _kind({"type": "number"})
    ('csv or excel or nothing', 'number')
    """
    if "anyOf" in schema:
        return join_words((_kind(part) for part in schema["anyOf"]), "or")
    if "enum" in schema:
        return join_words(map(str, schema["enum"]), "or")
    if "const" in schema:
        return str(schema["const"])
    kind = str(schema.get("type", "anything"))
    if kind == "null":
        return "nothing"
    return kind
