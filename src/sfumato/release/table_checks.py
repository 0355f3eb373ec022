"""What the certificate of one table is held to besides: its columns, levels, records, classes and
pictures.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import polars as pl

from sfumato.core import recipe_files as recipes
from sfumato.core import registry
from sfumato.core.acceptance import TEXT_ONLY, accepted_pairs
from sfumato.core.arguments import as_tuple
from sfumato.core.fields import Document, Fields
from sfumato.core.hierarchy import TOP
from sfumato.core.schema import Kind, Missing, Role
from sfumato.core.shape import DATA
from sfumato.core.words import count_of
from sfumato.data.table.default_readers import read_as_one
from sfumato.errors import SfumatoError
from sfumato.release.assessment import DEFAULT_THRESHOLD, assess
from sfumato.release.evaluation import default_metrics
from sfumato.release.label_facts import describe_labels
from sfumato.release.level_checks import is_on_level, nodes_above
from sfumato.release.manifest import NEAR, Claim, agree, near
from sfumato.release.promise_checks import lacking_for
from sfumato.release.public_recipe import hides, left_out_columns, roles_in, touched_columns
from sfumato.release.read_back import has_words
from sfumato.release.recipe_checks import COLUMNS, first_names

if TYPE_CHECKING:
    from sfumato.core.model import Model
    from sfumato.core.schema import Schema
    from sfumato.core.table import Table
    from sfumato.release.replay import Original
    from sfumato.release.shared_folder import SharedFolder


LABELS = "labels of recoded columns"
SAMPLE = "sample"
"""A step that leaves out records, and does not call them suppressed."""


# Columns.


def columns_of_recipe(certificate: Fields, shared: SharedFolder, original: Original) -> Claim:
    """The file has the columns of the recipe and no others, with the same roles and rules for
    missing values.
    """
    expected = _expected_schema(shared)
    names = list(shared.tables[DATA].columns)
    problems = [*_roles(certificate, expected, names), *_missing_rules(certificate, expected)]
    if problems:
        return Claim(COLUMNS, "fails", "; ".join(problems))
    return Claim(COLUMNS, "holds", "the same columns and roles, no others")


def labels_of_file(certificate: Fields, shared: SharedFolder, original: Original) -> Claim | None:
    """Number, width and overlap of labels are those of the file; no claim where the certificate
    describes none, as those of the first releases of version 3 do.
    """
    if "labels" not in certificate:
        return None
    kinds = {name: spec.get("kind", "") for name, spec in certificate["recipe"]["columns"].items()}
    counted = describe_labels(shared.judged, kinds)
    certified = certificate["labels"]
    if not counted and not certified:
        return None
    wrong = [name for name in {**counted, **certified} if not _same(counted, certified, name)]
    if wrong:
        return Claim(LABELS, "fails", f"labels of {first_names(wrong)} are others in the file")
    return Claim(LABELS, "holds", f"{count_of(len(counted), 'recoded column')}, counted again")


def _same(counted: Fields, certified: Fields, name: str) -> bool:
    return name in counted and name in certified and agree(certified[name], counted[name])


def _expected_schema(shared: SharedFolder) -> Schema:
    """What the columns are once the steps that the recipe shows were taken."""
    schema = shared.recipe.schema
    # steps may rename, add or recode columns: the file is held to what is left after all of them
    for step in shared.recipe.steps:
        schema = step.released_schema(schema, list(shared.tables[DATA].columns))
    return schema


def _unknown(certificate: Fields) -> set[str]:
    """Columns that steps changed of which the owner keeps a part: what became of them is not all
    told.
    """
    pairs = zip(certificate["recipe"]["steps"], certificate["plan"], strict=False)
    return {column for spec, plan in pairs if hides(spec) for column in plan.get("masked", {})}


def _roles(certificate: Fields, expected: Schema, names: list[str]) -> Iterator[str]:
    """What is wrong with the columns of the file, in words."""
    roles_certified, unknown, expected_columns = (
        certificate["roles"],
        _unknown(certificate),
        expected.attributes,
    )
    if strange := [c for c in names if c not in expected_columns and c not in unknown]:
        yield f"{count_of(len(strange), 'column')} are not in the recipe: {first_names(strange)}"
    # a hidden step may release a dropped column under its name, as a pseudonym
    replaced = {
        c for c in unknown if c not in expected_columns or expected_columns[c].has(Role.DROP)
    }
    roles = {}
    for name in names:
        if name in replaced:
            roles[name] = [Role.KEEP]
        elif name in expected_columns:
            roles[name] = list(expected_columns[name].roles)
    if differing := [
        c for c in roles if sorted(roles_certified.get(c, ())) != sorted(map(str, roles[c]))
    ]:
        yield (
            f"{count_of(len(differing), 'column')} have another role than the recipe gives them:"
            f" {first_names(differing)}"
        )
    # in the order of the recipe, and with those that steps left out
    dropped = [c for c in certificate["recipe"]["columns"] if c not in names]
    gone = [c for c in dropped if c in expected_columns and not expected_columns[c].has(Role.DROP)]
    if gone := [c for c in gone if c not in left_out_columns(certificate)]:
        yield (
            f"{count_of(len(gone), 'column')} are missing, and no step removed them: "
            f"{first_names(gone)}"
        )
    if sorted(certificate["dropped_columns"]) != sorted(dropped):
        yield "dropped_columns: the file lacks others"


def _missing_rules(certificate: Fields, expected: Schema) -> Iterator[str]:
    """A missing value counts as the recipe says, or as a cell that a step says it suppressed."""
    rules, recipe = certificate["missing_rule"], certificate["recipe"]["columns"]
    quasi = [c for c, roles in certificate["roles"].items() if Role.QUASI in roles]
    if set(rules) != set(quasi):
        yield "missing_rule: a rule is not about a quasi-identifier, or a quasi-identifier has none"
    emptied = {c for plan in certificate["plan"] for c in plan.get("suppressed_cells", ())}
    pairs = zip(certificate["recipe"]["steps"], certificate["plan"], strict=False)
    # which columns it may empty is not told
    has_hidden_step = any(hides(spec) and "suppressed_cells" in plan for spec, plan in pairs)
    ruled = {c: recipe.get(c, {}).get("missing", Missing.CATEGORY) for c in rules}
    # suppressed cells match everything, also where the recipe says otherwise
    wild = [c for c in rules if rules[c] == Missing.WILDCARD and (c in emptied or has_hidden_step)]
    if differing := [c for c in rules if rules[c] != ruled[c] and c not in wild]:
        yield f"missing_rule: {first_names(differing)} count otherwise than the recipe says"


def numbers_of_recipe(
    certificate: Fields, shared: SharedFolder, original: Original
) -> Claim | None:
    """Amounts and days that are released as they are hold numbers.

    A column of them that holds words in most of its cells is another one.
    """
    expected, released, unknown = _expected_schema(shared), shared.judged, _unknown(certificate)
    columns = [c for c in released.columns if c in expected.attributes and c not in unknown]
    # quasi-identifiers are recoded to labels, which need not be numbers
    exact = [
        c
        for c in columns
        if expected[c].kind in (Kind.NUMERIC, Kind.DATE) and not expected[c].has(Role.QUASI)
    ]
    wrong = [
        c for c in exact if not released.dtype(c).is_numeric() and has_words(released.column(c))
    ]
    words = f"words are in columns that the recipe calls numeric: {first_names(wrong)}"
    return Claim("numbers", "fails", words) if wrong else None


# Levels and records.


def levels_of_plan(certificate: Fields, shared: SharedFolder, original: Original) -> Claim | None:
    """Columns that are said to be generalised to a level hold values of that level, or of one above
    it.

    A column is not asked whose values a later step changed.
    """
    levels = Document()
    for plan in certificate["plan"]:
        # a later step may have changed the values: then the earlier level says nothing
        changed = {*plan.get("masked", ()), *plan.get("columns", ())}
        levels = {
            c: level_entry for c, level_entry in levels.items() if c not in changed
        } | plan.get("levels", {})
    specs, released = certificate["recipe"]["columns"], shared.judged
    if strange := [c for c in levels if c not in specs]:
        return Claim(
            "levels",
            "fails",
            f"{count_of(len(strange), 'column')} are not in the recipe: {first_names(strange)}",
        )
    columns = [c for c in levels if c in released.columns]
    wrong = [c for c in columns if not is_on_level(specs[c], levels[c], released.column(c))]
    words = f"the values are not of the certified levels: {first_names(wrong)}"
    return Claim("levels", "fails", words) if wrong else None


def records_gone(certificate: Fields, shared: SharedFolder, original: Original) -> Claim | None:
    """As many records are said to have gone as the steps say they suppressed, or more where others
    leave records out, too.
    """
    certified, plans = certificate["suppressed_records"], certificate["plan"]
    suppressed = sum(plan.get("suppressed_records", 0) + _not_drawn(plan) for plan in plans)
    # only where every step tells how many it suppressed must the numbers be equal
    whole = all("suppressed_records" in plan for plan in plans)
    if certified is None or (certified == suppressed if whole else suppressed <= certified):
        return None
    return Claim(
        "steps",
        "fails",
        f"the steps suppressed {suppressed:,} records, but {certified:,} are certified "
        "as suppressed",
    )


def _not_drawn(plan: Fields) -> int:
    """How many rows a sample of single rows left out: its plan tells the exact share."""
    if plan["step"] != SAMPLE or plan["unit"] != "row":
        return 0
    rows, share = int(plan["rows"]), float(plan["fraction"])
    # rows are what is left of rows / share
    return round(rows / share) - rows


# What was measured beside the original: only what its numbers say of each other can be asked.


def pictures_of_recipe(
    certificate: Fields, shared: SharedFolder, original: Original
) -> Claim | None:
    """What pictures show fits the recipe and the plan: columns, roles, shares, and columns that no
    step touched.
    """
    problems = _drawn_wrongly(certificate, certificate["story"])
    problem = next(problems, None) or next(
        _lost_wrongly(certificate, shared.judged, shared.original_size), None
    )
    if problem is None:
        return None
    return Claim("pictures", "fails", problem)


def _drawn_wrongly(certificate: Fields, story: Fields) -> Iterator[str]:
    columns, cards, maps, gone = (
        certificate["recipe"]["columns"],
        story["cards"],
        story["maps"],
        story["suppressed_cells"],
    )
    card_columns, map_columns = [card["column"] for card in cards], maps["columns"]
    # one distance for every two columns: n(n − 1) / 2
    pairs = len(map_columns) * (len(map_columns) - 1) // 2
    if any(c not in columns for c in (*card_columns, *map_columns, *gone)) or len(
        set(card_columns)
    ) < len(card_columns):
        yield "they are not about the columns of the recipe"
    if pairs != len(maps["table_distance"]):
        yield "some pairs of the shown columns have no distance"
    if any(
        sorted(card["roles"]) != sorted(roles_in(columns[card["column"]]["role"])) for card in cards
    ):
        yield "columns have other roles than the recipe gives them"
    shares = [card[part] for card in cards for part in ("loss", "distance")] + [
        *maps["table_distance"],
        *gone.values(),
    ]
    if not all(0 <= share <= 1 + NEAR for share in shares):
        yield "a share lies outside 0 to 1"


def _lost_wrongly(certificate: Fields, released: Table, records: int | None) -> Iterator[str]:
    """Columns that no step touched lost what went with the records, and what they had lost before
    they came.
    """
    touched = touched_columns(certificate)
    # what was measured on a sample, or in parts, follows from other rows
    if records is None or "sampled" in certificate or "parts" in certificate["data"]:
        return
    cards, gone = certificate["story"]["cards"], certificate["story"]["suppressed_cells"]
    went = certificate["suppressed_records"]
    lossy_columns = [
        c for c, share in gone.items() if c not in touched and share > went / max(1, records) + NEAR
    ]
    # cards with a loss, though no step touched their column
    lost = [card["column"] for card in cards if card["loss"] and card["column"] not in touched]
    coarse = {
        c: _came_coarse(certificate["recipe"]["columns"][c], released, c)
        for c in {*lossy_columns, *lost}
    }
    # a format that cannot write a cell (infinities in Excel and JSON lines) leaves it missing in
    # the file
    empty = {c: released.column(c).null_count() if c in released.columns else 0 for c in coarse}
    # every column loses at least what went with the records
    if any(share < went / max(1, records) - NEAR for share in gone.values()) or any(
        gone[c] > (went + coarse[c] + empty[c]) / max(1, records) + NEAR for c in lossy_columns
    ):
        yield "other cells are certified as lost than the steps and suppressed records explain"
    if not all(coarse[c] or empty[c] for c in lost):
        yield "a column that no step changed is certified to have lost something"


def _came_coarse(spec: Fields, released: Table, column: str) -> int:
    """How many cells of a column that no step touched may stand for several values: it was
    generalised before it came.

    Any of them, where the hierarchy is made from the data or kept by its owner, and where labels
    may be ranges.
    """
    hierarchy, ordered = spec.get("hierarchy"), spec.get("kind", Kind.NOMINAL) != Kind.NOMINAL
    if column not in released.columns or (
        hierarchy is None and ordered and not released.dtype(column).is_numeric()
    ):
        return released.records
    counts = released.column(column).cast(pl.String).drop_nulls().rename("label").value_counts()
    different, amounts = counts["label"].to_list(), counts["count"].to_list()
    # without a hierarchy only the top stands for several values
    coarse = {TOP} if hierarchy is None else nodes_above(hierarchy, different)
    return sum(
        amount
        for label, amount in zip(different, amounts, strict=True)
        if coarse is None or label in coarse
    )


def utility_of_file(certificate: Fields, shared: SharedFolder, original: Original) -> Claim | None:
    """Measures of utility that the released table gives alone are as it gives them, in the contract
    too.
    """
    records = shared.original_size
    if records is None or "classes" not in certificate or "sampled" in certificate:
        return None
    if "parts" in certificate[DATA]:
        return None
    stated = [
        (metric, certificate["utility"][metric.name])
        for metric in default_metrics()
        if metric.name in certificate["utility"]
    ]
    specs = certificate["recipe"].get("contract") or []
    lines = [
        # lines of the contract that its owner keeps have no entry in the public recipe
        line
        for spec, line in zip(specs, certificate["contract"], strict=True)
        if not hides(spec)
    ]
    agreements = zip(shared.recipe.contract, lines, strict=True)
    stated += [(agreement.metric, line["value"]) for agreement, line in agreements]
    wrong = []
    for metric, value in stated:
        # some measures need the original: they say nothing alone
        measure = metric.told_alone(shared.judged, shared.recipe.schema, records)
        if measure is not None and not near(measure, value):
            wrong.append(metric.name)
    words = f"the file gives another {first_names(wrong)}"
    return Claim("utility", "fails", words) if wrong else None


def implied_of_recipe(
    certificate: Fields, shared: SharedFolder, original: Original
) -> Claim | None:
    """What is said of columns that may undo the release can be said of these columns, and accepts
    what the recipe does.

    What was found in them only the original tells.
    """
    section, recipe, name = (
        certificate["implied"],
        shared.recipe,
        "released columns beside the labels",
    )
    if (
        # each pair is one column and one quasi-identifier
        not section["unknown"]
        <= section["compared"]
        <= len(certificate["roles"]) * len(recipe.schema.quasi)
    ):
        return Claim(name, "fails", "more pairs are counted than there are")
    taken_on = {
        (column, pair["implies"]) for pair in section["accepted"] for column in pair["columns"]
    }
    if taken_on <= set(accepted_pairs(recipe.accept)):
        return None
    return Claim(name, "fails", "the certificate lists more as accepted than the recipe accepts")


# Classes and readers.


def class_sizes(certificate: Fields, shared: SharedFolder, original: Original) -> Claim:
    """The classes of the file and its risks are those certified."""
    assessment, section = assess(shared.judged), certificate["classes"]
    sizes = {str(size): count for size, count in assessment.class_sizes.items()}
    risks = {measure.name: measure.value for measure in assessment.measures}
    # the certificate may leave out a risk, but not tell another
    risks_fit = all(
        name in risks and near(risks[name], value) for name, value in section["risks"].items()
    )
    figures = (sizes, assessment.classes, assessment.smallest_class, DEFAULT_THRESHOLD)
    stated = (section["sizes"], section["count"], section["smallest"], section["risk_threshold"])
    if figures == stated and risks_fit:
        return Claim(
            "class sizes and risks", "holds", f"{assessment.classes:,} classes, recomputed"
        )
    return Claim(
        "class sizes and risks", "fails", "the classes of the file are not those certified"
    )


def default_readers(certificate: Fields, shared: SharedFolder, original: Original) -> Claim | None:
    """Promises hold for readers that take several values of the file for one, too; nothing is said
    where none does.
    """
    released = shared.judged
    if "parts" in certificate[DATA]:  # in Parquet, which says what is text
        return None
    accepted = certificate["recipe"].get("accept") or {}
    text_only = [column for column, spec in accepted.items() if TEXT_ONLY in as_tuple(spec)]
    for reading in read_as_one(released.to_polars(), certificate[DATA]["format"], but=text_only):
        if original.as_judged is None:
            before = None
        else:
            before = reading.of(original.as_judged)
        for spec in certificate["recipe"]["meet"]:
            if (broken := _broken_for(reading.of(released), spec, before)) is not None:
                names = ", ".join(reading.keys)
                words = (
                    f"{reading.reader} reads several values of {names} as the same, and {broken}"
                )
                return Claim("default readers", "fails", words)
    return None


def _broken_for(released: Table, spec: object, original: Table | None) -> str | None:
    """That a promise does not hold of a table, in words; None where it does, or what it needs is
    not at hand.
    """
    if recipes.keeps_back("models", spec):
        return None
    try:
        model: Model = registry.build("models", spec)
        if lacking_for(model, released, original):
            return None
        verdict = model.judge(released.evidence([model], original=original))
    except SfumatoError as error:
        return f"a promise cannot be judged: {error}"
    if verdict.holds:
        return None
    return f"{verdict.promise} does not hold: {verdict.sentence}"
