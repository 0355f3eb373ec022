"""Checking a published table without trusting who made it; with the owner's lock the audit is done
again.
"""

from __future__ import annotations

import csv
import dataclasses
import io
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.core.fields import Fields
from sfumato.core.files import MEGABYTE, read_plain
from sfumato.errors import InternalError, SfumatoError, UnreadableInput
from sfumato.release.file_checks import file_unedited, page_claim
from sfumato.release.manifest import AGGREGATES, REPORT, Claim, own_file, require_plain_file
from sfumato.release.written_files import read_json
from sfumato.results.tables.audit import TableAudit
from sfumato.results.tables.cells import Dimension
from sfumato.results.tables.changed_cells import audit_adjusted, audit_rounded, fitting
from sfumato.results.tables.joint_table import JointTable, with_joint_table
from sfumato.results.tables.problem import NOBODY, Problem, problem_of
from sfumato.results.tables.protected_table import MARK
from sfumato.results.tables.table import MagnitudeTable, TableMeasure
from sfumato.results.tables.table_files import LOCK, page

if TYPE_CHECKING:
    from sfumato.release.replay import Original
    from sfumato.release.shared_folder import SharedFolder


MOST = 512 * MEGABYTE
FITS = 1e-9


@dataclasses.dataclass(frozen=True, eq=False)
class PublishedCells:
    """A published table as its files hold it: its equations, and the cells as variables, NaN where
    suppressed.
    """

    table: MagnitudeTable
    values: np.ndarray[Any, np.dtype[np.float64]]


def files_unedited(
    certificate: Fields, shared: SharedFolder, original: Original
) -> Iterator[Claim]:
    """The published files are those of which the certificate speaks."""
    for section in certificate[AGGREGATES]["tables"]:
        file = require_plain_file(shared.folder, own_file(section))
        yield file_unedited(section, file, f"{file.name} unedited")


def other_files(certificate: Fields, shared: SharedFolder, original: Original) -> Claim | None:
    """The folder holds no file but tables and the page."""
    known_files = {REPORT, *(section["file"] for section in certificate[AGGREGATES]["tables"])}
    loose = [file for file in certificate["files"] if file not in known_files]
    words = f"{len(loose):,} more file(s) in the folder, which no promise covers"
    if not loose:
        return None
    return Claim("tables judged", "fails", words)


def cells_published(
    certificate: Fields, shared: SharedFolder, original: Original
) -> Iterator[Claim]:
    """Sums fit, as many cells are suppressed as said, none follows from one sum; the owner's lock
    lets the audit be done again.
    """
    section = certificate[AGGREGATES]
    try:
        cells = _read_cells(shared.folder, section)
    except SfumatoError as error:
        yield Claim("readable table", "fails", str(error))
        return
    yield _check_sums(cells.table, cells.values, section)
    yield _check_counts(cells.values, section)
    yield _no_hole(cells.table, cells.values)
    yield from _audit_again(cells.table, cells.values, certificate, original.owner)
    if (earlier := _with_earlier(original.owner)) is not None:
        yield earlier


def page_of_table(certificate: Fields, shared: SharedFolder, original: Original) -> Claim | None:
    """The page for people is the one that is drawn from this certificate; that of another version
    stays open.
    """
    if shared.listed.status == "fails" or REPORT not in certificate["files"]:
        return None
    same = (shared.folder / REPORT).read_bytes() == page(certificate).encode()
    return page_claim([] if same else [REPORT])


CHECKS = (files_unedited, other_files, cells_published, page_of_table)
"""What a certificate about a table of counts or sums is held to, besides digest, signature and
files.
"""


def _read_cells(folder: Path, certificate: Fields) -> PublishedCells:
    """The published cells as variables, NaN where suppressed; refused where a file does not hold
    what the certificate says.
    """
    dimensions: dict[str, Dimension] = {}
    for section in certificate["tables"]:
        for column_fields in section["columns"]:
            dimension = _dimension(column_fields)
            earlier_dimension = dimensions.setdefault(column_fields["column"], dimension)
            # tables published together share columns, and their equations only fit where trees
            # agree
            if earlier_dimension.labels != dimension.labels or not np.array_equal(
                earlier_dimension.parent, dimension.parent
            ):
                raise UnreadableInput(
                    "the tables of the certificate do not agree about a column they share"
                )
    names = list(dimensions)
    column_groups = tuple(
        tuple(names.index(dimension["column"]) for dimension in section["columns"])
        for section in certificate["tables"]
    )
    if not column_groups or not all(column_groups):
        raise UnreadableInput("the certificate describes a table without columns")
    nothing: Any = None
    table = MagnitudeTable(
        tuple(dimensions.values()), column_groups, TableMeasure.of(certificate["measure"]), nothing
    )
    parts = [
        _values(folder, table, number, section)
        for number, section in enumerate(certificate["tables"])
    ]
    together = np.concatenate(parts)
    published = table.of_variables(parts)
    # every variable back to all its cells: each of them must say the same in every file
    values_again = published[np.concatenate(table.variables)]
    if not np.array_equal(np.isnan(values_again), np.isnan(together)) or not np.array_equal(
        values_again[~np.isnan(values_again)], together[~np.isnan(together)]
    ):
        raise UnreadableInput("equal cells have different values in different tables")
    return PublishedCells(table, published)


def _dimension(column_fields: Fields) -> Dimension:
    labels, parent = (
        tuple(column_fields["labels"]),
        np.array(column_fields["parent"], dtype=np.int64),
    )
    sound = len(labels) == len(parent) > 0 and parent[0] == -1 and len(set(labels)) == len(labels)
    # parents before children, as in a table that was made here: so no node is its own ancestor
    if not sound or (parent[1:] < 0).any() or (parent[1:] >= np.arange(1, len(parent))).any():
        raise UnreadableInput("the values of a column of the certificate do not form a tree")
    return Dimension(column_fields["column"], labels, parent, ())


def _values(
    folder: Path, table: MagnitudeTable, number: int, section: Fields
) -> np.ndarray[Any, np.dtype[np.float64]]:
    dimensions = [table.dimensions[at] for at in table.places[number]]
    count = math.prod(dimension.size for dimension in dimensions)
    name = own_file(section)
    text = read_plain(folder / name, limit=MOST, purpose="a published table").decode(
        "utf-8", errors="replace"
    )
    rows = list(csv.reader(io.StringIO(text)))
    if len(rows) != count + 1 or any(len(row) != len(dimensions) + 1 for row in rows):
        raise UnreadableInput(f"{name} does not contain the cells that its certificate describes")
    nodes = np.unravel_index(np.arange(count), [dimension.size for dimension in dimensions])
    # cells are compared by their labels too: rows in another order would move values
    for axis_number, (dimension, at) in enumerate(zip(dimensions, nodes, strict=True)):
        if any(
            row[axis_number] != dimension.labels[node]
            for row, node in zip(rows[1:], at.tolist(), strict=True)
        ):
            raise UnreadableInput(f"{name} does not name its cells as its certificate does")
    try:
        values = np.array([math.nan if row[-1] == MARK else float(row[-1]) for row in rows[1:]])
    except ValueError:
        raise UnreadableInput(
            f"{name} holds a cell that is neither a number nor {MARK!r}"
        ) from None
    if np.isinf(values).any():
        raise UnreadableInput(f"{name} holds a cell that is not a number")
    return values


def _check_sums(
    table: MagnitudeTable, published: np.ndarray[Any, Any], certificate: Fields
) -> Claim:
    """Whether every sum that is published whole fits."""
    name = "additivity"
    if not certificate["additive"]:
        return Claim(name, "holds", "not claimed: cells were rounded one by one", promise=True)
    # only sums without a suppressed cell can be computed again
    whole = _missing(table, published)
    sums = table.matrix @ np.nan_to_num(published)
    # as a share of the largest cell, since sums of doubles are off by that
    near = FITS * max(1.0, float(np.nanmax(np.abs(published), initial=0.0)))
    bad = int(((whole == 0) & (np.abs(sums) > near)).sum())
    checked = int((whole == 0).sum())
    if bad:
        return Claim(name, "fails", f"{bad:,} of {checked:,} sums are wrong", promise=True)
    return Claim(name, "holds", f"{checked:,} sums fit", promise=True)


def _missing(table: MagnitudeTable, published: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Per equation how many of its cells are suppressed."""
    return np.asarray(abs(table.matrix) @ np.isnan(published).astype(np.float64))


def _check_counts(published: np.ndarray[Any, Any], certificate: Fields) -> Claim:
    summary, suppressed_count = certificate["summary"], int(np.isnan(published).sum())
    if (summary["cells"], summary["suppressed"]) == (len(published), suppressed_count):
        return Claim("suppressed cells", "holds", f"{suppressed_count:,} of {len(published):,}")
    return Claim(
        "suppressed cells",
        "fails",
        f"{suppressed_count:,} of {len(published):,} are suppressed, but the certificate has "
        "another number",
    )


def _no_hole(table: MagnitudeTable, published: np.ndarray[Any, Any]) -> Claim:
    """Whether some sum lacks exactly one cell, which anybody can then compute."""
    alone = int((_missing(table, published) == 1).sum())
    name = "no cell follows from one sum"
    if alone:
        return Claim(
            name,
            "fails",
            f"{alone:,} sums lack exactly one cell, which can be computed",
            promise=True,
        )
    return Claim(name, "holds", "no sum lacks exactly one cell", promise=True)


def _audit_again(
    table: MagnitudeTable, published: np.ndarray[Any, Any], certificate: Fields, owner: Path | None
) -> list[Claim]:
    """The audit again, by what the owner's lock holds."""
    name = "audit"
    if owner is None:
        return [
            Claim(
                name,
                "needs original",
                "the owner can audit again: give --owner with the lock file",
                promise=True,
            )
        ]
    try:
        lock = read_json(owner / LOCK)
        if lock["certificate"] != certificate["digest"]:
            return [Claim(name, "fails", "the lock belongs to another table", promise=True)]
        joint = _locked_problem(table, published, lock)
        if isinstance(joint, str):
            return [Claim(name, "fails", joint)]
        table_audit = _look(joint, published, lock)
    except (KeyError, TypeError, ValueError, IndexError, InternalError):
        return [Claim(name, "fails", "the lock lacks what an audit needs")]
    if certificate[AGGREGATES]["audit"] != {
        "scope": table_audit.scope,
        "bounds": table_audit.bounds,
    }:
        message = (
            f"the audit covers {table_audit.scope} with {table_audit.bounds} bounds, but the "
            "certificate says otherwise"
        )
        return [Claim(name, "fails", message, promise=True)]
    if not table_audit.holds:
        count = len({exposure.cell for exposure in table_audit.exposed})
        return [
            Claim(
                name,
                "fails",
                f"{count:,} cells can be estimated too closely ({table_audit.scope})",
                promise=True,
            )
        ]
    coverage = (
        f"{len(table_audit.hidden):,} cells audited ({table_audit.scope}, {table_audit.bounds} "
        "bounds)"
    )
    claims = [Claim(name, "holds", f"{coverage}, none can be estimated too closely", promise=True)]
    if table_audit.scope == "each table by itself":
        why = f"unknown: their joint table is too large to audit ({joint.left_out:,} cells)"
        claims.append(Claim("tables together", "needs original", why, promise=True))
    # older locks do not say it; what everybody finds out was audited, what single respondents do
    # was not
    if "joint" not in lock and lock["alone"] and table_audit.scope != "one table":
        why = (
            "unknown for single respondents: the lock does not contain the joint table; protect "
            "the tables again"
        )
        claims.append(Claim("tables together", "needs original", why, promise=True))
    return claims


def _with_earlier(owner: Path | None) -> Claim | None:
    """What the lock says of releases before this table; nothing of it is looked at again, which
    takes the register and the records.
    """
    if owner is None:
        register_section = None
    else:
        register_section = read_json(owner / LOCK).get("register")
    if not isinstance(register_section, Mapping):
        return None
    name, unknown = "earlier releases", register_section.get("unknown")
    if unknown:
        if isinstance(unknown, Mapping):
            listed = ", ".join(map(str, unknown))
        else:
            listed = "some releases"
        return Claim(
            name, "needs original", f"unknown: not audited together with {listed} of the register"
        )
    return Claim(
        name,
        "needs original",
        "audited together when it was made; repeat it with the register and the records",
    )


def _locked_problem(
    table: MagnitudeTable, published: np.ndarray[Any, Any], lock: Fields
) -> JointTable | str:
    """The equations of the published cells and their joint table, with what the lock knows of them;
    a word where it does not fit.
    """
    # published cells as they stand in the file, and the suppressed ones from the lock
    value = published.copy()
    value[np.array(lock["cells"], dtype=np.int64)] = lock["values"]
    if np.isnan(value).any():
        return "the lock does not contain all suppressed cells"
    needs = {int(cell): (float(low), float(high)) for cell, (low, high) in lock["needs"].items()}
    alone = {int(cell): int(who) for cell, who in lock["alone"].items()}
    problem = problem_of(
        table.matrix,
        value,
        needs,
        owner=alone,
        upper=float(lock["bounds"][1]),
        whole=bool(lock["whole"]),
    )
    problem.lower[:] = float(lock["bounds"][0])
    # an empty cell is known to be empty unless it could have been suppressed
    problem.free[:] = (value != 0) | (lock["options"]["zeros"] == "free")
    problem.free[np.array(lock.get("open", []), dtype=np.int64)] = True
    if lock.get("prior") is not None:
        reach = float(lock["prior"]) / 100 * np.abs(value)
        if lock["whole"]:
            reach = np.floor(reach + 1e-9)
        problem = dataclasses.replace(
            problem,
            lower=np.maximum(problem.lower, value - reach),
            upper=np.minimum(problem.upper, value + reach),
        )
    if lock.get("slide"):
        problem = dataclasses.replace(
            problem, slide=float(lock["slide"]) * (problem.up + problem.down)
        )
    joint = _locked_joint(
        dataclasses.replace(table, absolute=bool(lock["absolute"])), problem, lock
    )
    # a lock with other values than the true ones would prove nothing
    if (
        joint is None
        or float(np.abs(joint.problem.matrix @ joint.problem.value).max(initial=0.0))
        > 10 * problem.slack
    ):
        return "the values of the lock do not match the sums"
    return joint


def _locked_joint(table: MagnitudeTable, problem: Problem, lock: Fields) -> JointTable | None:
    """The joint table as the lock has it; for a lock that has none one that fits the cells, which
    tells what everybody finds out. None where none fits.
    """
    if "joint" in lock:
        names = [joint_fields.column for joint_fields in table.dimensions]
        values = {
            tuple(names.index(column) for column in joint_fields["columns"]): (
                np.array(joint_fields["cells"], dtype=np.int64),
                np.array(joint_fields["values"], dtype=np.float64),
            )
            for joint_fields in lock["joint"]
        }
        return with_joint_table(table, problem, values)
    # without owners: the lock does not tell what lone respondents know of the joint table
    nobody = dataclasses.replace(problem, owner=np.full(problem.size, NOBODY, dtype=np.int64))
    joint = with_joint_table(table, nobody, {})
    if joint.problem.size == problem.size:
        return dataclasses.replace(joint, own=problem, problem=problem)
    fits = fitting(joint.problem, problem.value)
    if fits is None:
        return None
    return dataclasses.replace(joint, problem=dataclasses.replace(joint.problem, value=fits))


def _look(joint: JointTable, published: np.ndarray[Any, Any], lock: Fields) -> TableAudit:
    threshold = max(
        (int(rule.get("t", 10)) for rule in lock["rules"] if rule["rule"] == "threshold"),
        default=None,
    )
    if lock["method"] == "cta":
        is_count = lock["measure"] == "count"
        return joint.of_published(
            audit_adjusted(joint.problem, published, threshold if is_count else None)
        )
    if lock["method"] in ("rounding", "perturb"):
        options = lock["options"]
        reach = options["base"] * (options["reach"] if lock["method"] == "rounding" else 1) - 1
        return joint.of_published(
            audit_rounded(joint.problem, published - reach, published + reach, threshold)
        )
    # whether the table holds is the question, not how wide every interval is
    return joint.audit(np.isnan(published), exact=False)
