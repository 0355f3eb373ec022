"""What releases of every shape are held to: recipe, plan, files and pages of a shared folder must fit each other.

A certificate that nobody signed can be edited and sealed again, and then fits whatever lies beside it. What its parts say of each
other must fit still.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from sfumato.core import recipe_files as recipes
from sfumato.core import registry
from sfumato.core.hierarchy import TOP, bind, is_fixed
from sfumato.core.shape import PEOPLE, Shape
from sfumato.data.table.read import holds_more
from sfumato.errors import SfumatoError, UnreadableInput
from sfumato.release.documents import CERTIFICATE_VERSION, versions
from sfumato.release.manifest import DESCRIPTIONS, PICTURES, REPORT, Claim
from sfumato.release.publish import described_pictures, drawn_page, drawn_pictures

if TYPE_CHECKING:
    from sfumato.core.step import Step

MOST_NAMED = 5
DIGITS = re.compile(r"\d+(?:[.,]\d+)*")


def made_by_this_version(certificate: Mapping[str, Any]) -> bool:
    """Whether a release was made by the version that looks at it: then words are the same, too."""
    same = certificate["versions"].get("sfumato") == versions()["sfumato"]
    return bool(same and certificate["sfumato_certificate"] == CERTIFICATE_VERSION)


def count_of(columns: Collection[str]) -> str:
    """How many columns, in words."""
    return f"{len(columns)} column{'s' * (len(columns) > 1)}"


def named(columns: Sequence[str]) -> str:
    """A few columns by name."""
    return ", ".join(columns[:MOST_NAMED]) + (" …" if len(columns) > MOST_NAMED else "")


# The recipe itself.


def recipe_claim(certificate: Mapping[str, Any], shape: Shape) -> Claim | None:
    """A recipe that nobody could run is not the one that was run; parts that its owner keeps are not looked at."""
    said = certificate["recipe"]
    try:
        recipes.any_from_dict(shown_recipe(said, shape))
    except SfumatoError as error:
        return Claim("recipe", "fails", f"what the certificate gives as recipe is none: {error}")
    except (KeyError, TypeError, ValueError, AttributeError):
        return Claim("recipe", "fails", "what the certificate gives as recipe is none")
    return None


def shown_recipe(said: Mapping[str, Any], shape: Shape) -> dict[str, Any]:
    """A recipe without what its owner keeps, so that it can be read."""
    parts: dict[str, Any] = {
        "meet": [spec for spec in said["meet"] if not recipes.keeps_back("models", spec, shape)],
        "steps": [spec for spec in said["steps"] if not hides(spec)],
        "limits": {},
        "contract": [],
        **_accept_shown(said),
    }
    if "tables" in said:
        return {**said, **parts, "tables": {name: _columns_shown(table) for name, table in said["tables"].items()}}
    beside = {PEOPLE: _columns_shown(said[PEOPLE])} if said.get(PEOPLE) is not None else {}
    return {**_columns_shown(said), **beside, **parts}


def _accept_shown(said: Mapping[str, Any]) -> dict[str, Any]:
    """What is accepted of columns that no step has to replace first: such a step may be kept by its owner."""
    if not isinstance(accept := said.get("accept"), Mapping):
        return {}
    columns = said.get("columns", {})
    direct = {name for name, spec in columns.items() if "direct" in spec.get("role", ())}
    return {"accept": {name: spec for name, spec in accept.items() if name not in direct}}


def hides(spec: Any) -> bool:
    """Whether anything within a step is kept by its owner."""
    if isinstance(spec, Mapping):
        return any(hides(value) for value in spec.values())
    if isinstance(spec, list):
        return any(map(hides, spec))
    return bool(spec == recipes.KEPT)


def _columns_shown(table: Mapping[str, Any]) -> dict[str, Any]:
    columns = {
        name: {
            key: value
            for key, value in spec.items()
            if key != "order" and not (key == "hierarchy" and recipes.keeps_back("hierarchies", value))
        }
        for name, spec in table.get("columns", {}).items()
    }
    return {**table, "columns": columns}


# Columns and their values.


def left_out(plans: Sequence[Mapping[str, Any]]) -> set[str]:
    """Columns that steps say they left out as a whole."""
    return {column for plan in plans if plan.get("kind") == "attribute suppression" for column in plan["columns"]}


def is_on_level(spec: Mapping[str, Any], place: Mapping[str, int], values: pl.Series | None) -> bool:
    """Whether the values of a column may be of a level of its hierarchy; yes where that cannot be told.

    Only hierarchies that the recipe shows and that were fixed before the data were seen can be asked.
    """
    level, top = place["level"], place["top"]
    if not 0 <= level <= top or (spec.get("hierarchy") is None and top):
        return False
    if values is None or "hierarchy" not in spec or recipes.keeps_back("hierarchies", spec["hierarchy"]):
        return True
    hierarchy = registry.build("hierarchies", spec["hierarchy"]).of_height(top)
    if not is_fixed(hierarchy):
        return True
    different = values.cast(pl.String).unique().to_list()
    try:
        ladder = bind(hierarchy, different, [1] * len(different))
    except SfumatoError:  # a value that no level of the hierarchy holds
        return False
    if top not in (1, ladder.top):  # 1: a step that knows all or nothing
        return False
    reached = ladder.top if level == top else level
    above = ladder.climb(0, reached)
    return all(ladder.labels[reached][above[code]] == label for code, label in enumerate(ladder.labels[0]))


def nodes_above(spec: Any, labels: Sequence[str]) -> set[str] | None:
    """The labels that stand above leaves of a hierarchy as a recipe writes it; None where nobody but its owner can tell."""
    hierarchy = None if recipes.keeps_back("hierarchies", spec) else registry.build("hierarchies", spec)
    if hierarchy is None or not is_fixed(hierarchy):
        return None
    try:
        ladder = bind(hierarchy, labels, [1] * len(labels))
    except SfumatoError:
        return None
    up = min(1, ladder.top)
    above = ladder.climb(0, up)
    pairs = zip(ladder.labels[0], (ladder.labels[up][code] for code in above), strict=True)
    return {TOP, *(label for label, parent in pairs if label is not None and label == parent)}


# Steps and what their plans tell.


def name_of(spec: Any) -> Any:
    """The name of a step as a recipe writes it."""
    return next(iter(spec), None) if isinstance(spec, Mapping) else spec


def steps_claim(
    certificate: Mapping[str, Any], shape: Shape, contradicted: Callable[[Any, Mapping[str, Any]], str | None]
) -> Claim | None:
    """The plan tells of the steps of the recipe, in their order, and what each says everybody can see is so.

    ``contradicted`` looks at a step beside the description of its plan, and says in words what cannot be.
    """
    name, said, plans = "steps", certificate["recipe"]["steps"], certificate["plan"]
    if list(map(name_of, said)) != [plan.get("step") for plan in plans]:
        return Claim(name, "fails", "the plan tells of other steps than the recipe names")
    for spec, plan in zip(said, plans, strict=True):
        fields = next(iter(spec.values())) if isinstance(spec, Mapping) else {}
        shown = fields if isinstance(fields, Mapping) else {}
        own = ("step", *_retold(name_of(spec), shown, shape))
        other = [field for field in shown if field in plan and field not in own and _differ(plan[field], shown[field])]
        if other and "certified" not in plan:  # an accounted step tells what it attained: ε is judged as a whole
            return Claim(name, "fails", f"recipe and plan of {plan['step']} differ in {named(other)}")
        if (
            not hides(spec)
            and not hides(plan)
            and (words := _contradicted(spec, plan, shape, contradicted)) is not None
        ):
            return Claim(name, "fails", words)
    return None


def _retold(step: Any, fields: Mapping[str, Any], shape: Shape) -> tuple[str, ...]:
    """Fields of a step that its plan tells in another way; the step itself holds one against the other."""
    cls = registry.method_class("steps", str(step), fields, shape)
    return () if cls is None else cls.retold


def _differ(told: Any, said: Any) -> bool:
    """Whether a plan says otherwise what a recipe says of one field; one may list what the other describes further."""
    return type(told) is type(said) and told != said


def _contradicted(
    spec: Any, plan: Mapping[str, Any], shape: Shape, contradicted: Callable[[Any, Mapping[str, Any]], str | None]
) -> str | None:
    try:
        step: Step = registry.build("steps", spec, shape=shape)
        lacking = [field for field in step.tells if field not in plan]
        return f"the plan of {step.name} lacks {named(lacking)}" if lacking else contradicted(step, plan)
    except SfumatoError as error:
        return f"a step of the recipe cannot have been run: {error}"


# Verdicts in words.


def told_otherwise(found: Mapping[str, Any], said: Mapping[str, Any], *, alike: bool) -> str | None:
    """What a verdict lacks, or that its sentence is another one; where another version wrote it, that it gives other numbers."""
    if lacking := [part.replace("_", " ") for part in found if part not in said]:
        return f"the certificate does not say what is {' and '.join(lacking)}"
    if alike and (more := [part for part in said if part not in found]):
        return f"the certificate says more than follows: {named(more)}"
    mine, theirs = (set(DIGITS.findall(str(one["sentence"]))) for one in (found, said))
    if not theirs <= mine:
        return "the sentence of the certificate gives other numbers than the file"
    return "the certificate tells it in other words" if alike and found["sentence"] != said["sentence"] else None


# Files and pages.


def inside_claim(certificate: Mapping[str, Any], section: Mapping[str, Any], file: Path) -> Claim | None:
    """A file that holds more than the table that is read from it: nobody judged that."""
    exact = certificate["versions"].get("polars") == versions()["polars"]
    files = sorted(file.iterdir()) if file.is_dir() else [file]
    with contextlib.suppress(UnreadableInput):
        if not any(holds_more(part, section["format"], exact=exact) for part in files):
            return None
    return Claim(
        "nothing beside the table", "fails", f"{file.name} holds more than its table, which no promise is about"
    )


def loose_claim(certificate: Mapping[str, Any], judged: Collection[str]) -> Claim | None:
    """A file that lies in the folder, and of which the certificate says nothing: nobody judged it."""
    loose = [file for file in certificate["files"] if file not in judged and file != REPORT and not _is_picture(file)]
    if not loose:
        return None
    return Claim("tables judged", "fails", f"{len(loose)} more file(s) in the folder, which no promise is about")


def _is_picture(file: str) -> bool:
    folder, _, name = file.partition("/")
    return folder == PICTURES and (name == DESCRIPTIONS or ("/" not in name and name.endswith((".png", ".svg"))))


def report_claim(certificate: Mapping[str, Any], share: Path) -> Claim | None:
    """The page for people, and what its pictures show, are those that the certificate gives.

    Pictures are compared by name and by what is said of them. Another version may draw and tell otherwise: then it is open.
    """
    name, files = "report", certificate["files"]
    if REPORT not in files and not any(map(_is_picture, files)):
        return None
    if not made_by_this_version(certificate):
        told = (
            f"another version of sfumato wrote it ({certificate['versions'].get('sfumato')}), and it was not compared"
        )
        return Claim(name, "needs original", f"{told}: believe the certificate")
    if wrong := list(_drawn_otherwise(certificate, share)):
        return Claim(name, "fails", f"{named(wrong)}: not what this certificate gives")
    return Claim(name, "holds", "it says what the certificate says")


def _drawn_otherwise(certificate: Mapping[str, Any], share: Path) -> Iterator[str]:
    files = certificate["files"]
    if REPORT in files and (share / REPORT).read_bytes() != drawn_page(certificate).encode():
        yield REPORT
    if not any(map(_is_picture, files)):
        return
    drawn = drawn_pictures(certificate)
    known = {f"{PICTURES}/{name}.png" for name in drawn} | {f"{PICTURES}/{DESCRIPTIONS}"}
    yield from (file for file in files if _is_picture(file) and file not in known)
    words = share / PICTURES / DESCRIPTIONS
    if words.is_file() and words.read_bytes() != described_pictures(drawn).encode():
        yield f"{PICTURES}/{DESCRIPTIONS}"
