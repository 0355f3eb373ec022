"""Writing a protected table: what anybody may have, and what its owner keeps."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from sfumato.core import environment
from sfumato.core.blocks import (
    Block,
    Cell,
    Heading,
    ListBlock,
    Paragraph,
    TableBlock,
    VerdictBlock,
)
from sfumato.core.exchange import in_place
from sfumato.core.fields import Document, Fields
from sfumato.core.portable import PRIVATE_FOLDER, keep_private, sync_folder
from sfumato.core.randomness import Seed
from sfumato.core.words import as_sentence, duration, moment, number, plain_name
from sfumato.errors import ParameterError, ReleaseRefused
from sfumato.release.documents import versions
from sfumato.release.manifest import AGGREGATES, FILE, REPORT, sha256_of
from sfumato.release.sealing import seal_certificate
from sfumato.release.written_files import read_json, replace_file, write_json
from sfumato.results.tables.rules import parameters_of

if TYPE_CHECKING:
    from sfumato.results.tables.protected_table import ProtectedTable
    from sfumato.results.tables.published_tables import TableMemory

LOCK = "lock.json"
LOCK_VERSION = 1
MOST_ROWS = 1000
"""Suppressed cells that the owner's page lists."""


def publish(
    protected_table: ProtectedTable,
    folder: Path,
    *,
    force: bool,
    sign: Path | None,
    to: str | None = None,
) -> Path:
    """Write ``folder/share`` and ``folder/owner``, or nothing; a table that fails its own audit is
    not written.

    A table with a register is planned in it before, and is called released when it stands; one that
    was not written counts no more.
    """
    memory = protected_table.judged.table.memory
    if (memory is None) != (to is None):
        raise ParameterError(
            "a register records who receives the table; give both register and recipient, or "
            "neither"
        )
    if memory is None:
        return _write(protected_table, folder, force=force, sign=sign)
    # planned before anything is written: two tables at the same time see each other
    number = _plan_entry(protected_table, memory, folder, str(to))
    certificate_digest: str | None = None
    try:
        _write(protected_table, folder, force=force, sign=sign)
        certificate_digest = str(read_json(folder / "share" / FILE)["digest"])
    finally:
        # also when writing fails: a planned entry would otherwise count for ever
        with memory.register.turn():
            memory.register.now_is(
                number,
                "withdrawn" if certificate_digest is None else "released",
                certificate=certificate_digest,
            )
    return folder


def _plan_entry(protected_table: ProtectedTable, memory: TableMemory, folder: Path, to: str) -> int:
    """Write a table down in its register, unless another was registered since it was looked at."""
    with memory.register.turn():  # nobody registers anything between looking and writing down
        numbers_known = (
            ()
            if protected_table.beside is None
            else (
                *(earlier_table.number for earlier_table in protected_table.beside.earlier),
                *protected_table.beside.unknown,
            )
        )
        earlier, unknown = memory.earlier(protected_table.judged)
        if {*(earlier_table.entry.number for earlier_table in earlier), *unknown} != set(
            numbers_known
        ):
            raise ReleaseRefused(
                "another table of the same records was registered meanwhile; protect this one again"
            )
        entry = memory.entry(
            protected_table, recipient=to, folder=folder, digest=memory.dataset.input_digest()
        )
        return memory.register.plan(
            entry, memory.people, memory.records(protected_table.judged.table)
        )


def _write(
    protected_table: ProtectedTable, folder: Path, *, force: bool, sign: Path | None
) -> Path:
    if not protected_table.audit().holds:
        raise ReleaseRefused("the table fails its own audit and is not written; protect it again")
    with in_place(folder, force=force) as draft:
        share, owner = draft / "share", draft / "owner"
        share.mkdir()
        owner.mkdir(mode=PRIVATE_FOLDER)
        files = [
            _write_table(protected_table, share, number)
            for number in range(len(protected_table.judged.table.places))
        ]
        # the certificate names the digests of the files, and the lock that of the certificate: this
        # order
        body = certificate(protected_table, files)
        replace_file(share / REPORT, page(body).encode())
        public = seal_certificate(share, body, sign)
        write_json(owner / LOCK, lock(protected_table, public["digest"]))
        replace_file(owner / REPORT, owner_page(protected_table, str(body["created"])).encode())
        # on disk before the folder gets its name, so that a crash leaves all or nothing
        for folder_made in (share, owner, draft):
            sync_folder(folder_made)
        keep_private(owner)
    return folder


def _write_table(protected_table: ProtectedTable, share: Path, number: int) -> Document:
    """One table as a file, and what the certificate says of it: how its cells add up."""
    table = protected_table.judged.table
    name = "table.csv" if number == 0 else f"table_{number + 1}.csv"
    frame = protected_table.to_polars(number)
    replace_file(share / name, frame.write_csv().encode())
    dimensions = [table.dimensions[at] for at in table.places[number]]
    columns = [
        {
            "column": dimension.column,
            "labels": list(dimension.labels),
            "parent": dimension.parent.tolist(),
        }
        for dimension in dimensions
    ]
    return {
        "file": name,
        "sha256": sha256_of(share / name),
        "format": "csv",
        "rows": frame.height,
        "columns": columns,
    }


def certificate(protected_table: ProtectedTable, files: Sequence[Fields]) -> Document:
    """What anybody may know: the rules without what would help an intruder, and how many cells each
    hit.
    """
    table, counts = protected_table.judged.table, protected_table.summary()
    section = {
        "measure": str(table.measure),
        "counts_persons_by": "unit" if table.unit else "row",
        "rules": [rule.told() for rule in protected_table.judged.rules],
        "method": protected_table.method,
        "summary": {
            key: counts[key] for key in ("cells", "suppressed", "suppressed_besides", "gap")
        },
        "suppressed_by_rule": counts["sensitive_by_rule"]
        if protected_table.suppression is not None
        else {},
        "base": protected_table.options["base"]
        if protected_table.method in ("rounding", "perturb")
        else None,
        "additive": protected_table.additive,
        "audit": {"scope": protected_table.audited.scope, "bounds": protected_table.audited.bounds},
        "tables": list(files),
    }
    return {
        "shape": AGGREGATES,
        "created": environment.timestamp(),
        AGGREGATES: section,
        "versions": versions(),
    }


def lock(protected_table: ProtectedTable, digest: str) -> Document:
    """What the owner keeps: all parameters, true values and needs of what was hidden, and what an
    intruder can find out.
    """
    problem, table_audit, table = (
        protected_table.problem,
        protected_table.audited,
        protected_table.judged.table,
    )
    # of a changed table every true value is a secret, of a suppressed one those that are not
    # published
    if protected_table.suppression is not None:
        locked_cells = np.flatnonzero(protected_table.hidden)
    else:
        locked_cells = np.arange(problem.size)
    options = {
        key: value.text if isinstance(value, Seed) else value
        for key, value in protected_table.options.items()
    }
    return {
        "sfumato_table_lock": LOCK_VERSION,
        "certificate": digest,
        "by": [[table.dimensions[at].column for at in group] for group in table.places],
        "measure": str(table.measure),
        "unit": table.unit,
        "weight": table.weight,
        "absolute": table.absolute,
        "missing_counts": table.contributions.missing_counts,
        "where": table.where,
        "whole": table.whole,
        "rules": [rule.said() for rule in protected_table.judged.rules],
        "method": protected_table.method,
        "options": options,
        "cells": locked_cells.tolist(),
        "values": problem.value[locked_cells].tolist(),
        "needs": {
            str(cell): [float(problem.down[cell]), float(problem.up[cell])]
            for cell in problem.primaries.tolist()
        },
        "slide": options["slide"],
        "prior": options["prior"],
        "bounds": [float(problem.lower.min(initial=0.0)), float(problem.upper.max(initial=0.0))],
        "alone": {
            str(cell): int(problem.owner[cell])
            for cell in np.flatnonzero(problem.owner >= 0).tolist()
        },
        # empty cells that could hold somebody, as far as readers know: the audit needs to know
        # which
        "open": np.flatnonzero((problem.value == 0) & (problem.free | problem.primary)).tolist(),
        "joint": [
            {
                "columns": [table.dimensions[at].column for at in columns],
                "cells": cell_numbers.tolist(),
                "values": holds.tolist(),
            }
            for columns, (cell_numbers, holds) in protected_table.joint.values.items()
        ],
        "audit": {
            "scope": table_audit.scope,
            "bounds": table_audit.bounds,
            "exact": table_audit.exact,
            "components": table_audit.components,
            "programs": table_audit.programs,
            "intervals": [
                [int(cell), float(low), float(high)]
                for cell, low, high in zip(
                    table_audit.hidden, table_audit.low, table_audit.high, strict=True
                )
            ],
        },
        "register": None if protected_table.beside is None else protected_table.beside.to_dict(),
        "salt": environment.fresh_salt(16),
    }


def owner_page(protected_table: ProtectedTable, created: str) -> str:
    """A page for the owner: what was suppressed and why, and what an intruder can find out of
    it.
    """
    from sfumato.release.report.page_html import ReportPage, render_page

    audit, judged = protected_table.audited, protected_table.judged
    summary = protected_table.summary()
    counts = judged.count()
    # Cells that must stay unknown come first.
    order = np.argsort(~protected_table.problem.primary[audit.hidden], kind="stable")[:MOST_ROWS]
    headline, *sentences = protected_table.sentences()
    figures: tuple[tuple[Cell, ...], ...] = (
        ("cells", summary["cells"]),
        ("sensitive", summary["sensitive"]),
        ("suppressed or changed", len(audit.hidden)),
        ("audit", duration(audit.seconds)),
    )
    rules = [
        (plain_name(rule.name), counts[rule.name], parameters_of(rule.said()))
        for rule in judged.rules
    ]
    bounds = "Intervals may be wider than shown: the audit stops when a cell is wide enough."
    if audit.exact:
        bounds = "Every interval is the tightest that an intruder can compute."
    blocks: list[Block] = [
        Paragraph(
            "This page stays with the owner. It shows what was suppressed and would help an"
            " intruder. Share the folder `share`, never this one.",
            "warning",
        ),
        VerdictBlock(True, as_sentence(headline), headline=True),
        TableBlock(("", ""), figures, figures=True),
        Heading("Audit"),
        ListBlock(tuple(map(as_sentence, sentences))),
        Paragraph(bounds),
        Heading("Rules"),
        TableBlock(("Rule", "Cells", "Parameters"), tuple(rules)),
        Heading("What an intruder can compute"),
    ]
    if len(audit.hidden) > len(order):
        count = f"The first {number(len(order))} of {number(len(audit.hidden))} cells"
        blocks.append(Paragraph(f"{count}; all of them are in `lock.json`."))
    rows = tuple(_row(protected_table, int(at)) for at in order)
    if rows:
        blocks.append(TableBlock(("Cell", "True", "Least", "Most", "Why"), rows))
    else:
        blocks.append(Paragraph("Nothing was suppressed."))
    measure = str(judged.table.measure)
    return render_page(
        ReportPage(
            title=f"Owner's report: {measure}",
            above=f"Owner's report for a table of {measure}, made {moment(created)}",
            blocks=blocks,
            below="Check it: `sfumato verify share --owner owner`.",
        )
    )


def _row(protected_table: ProtectedTable, at: int) -> tuple[str, float, float, float, str]:
    """A suppressed cell with what it is, the least and the most it can be, and why it was."""
    table_audit, cell = protected_table.audited, int(protected_table.audited.hidden[at])
    table = protected_table.judged.table
    # a variable may be in several tables: the first one that has it gives the label
    for group, variables in enumerate(table.variables):
        positions = np.flatnonzero(variables == cell)
        if len(positions):
            dimensions = [table.dimensions[dimension] for dimension in table.places[group]]
            nodes = np.unravel_index(
                int(positions[0]), [dimension.size for dimension in dimensions]
            )
            label = ", ".join(
                dimension.labels[int(node)]
                for dimension, node in zip(dimensions, nodes, strict=True)
            )
            break
    why = [
        name.replace("_", " ")
        for name, is_unsafe in protected_table.judged.found.items()
        if is_unsafe[cell]
    ]
    words = ", ".join(why) or "protects others"
    return (
        label,
        float(protected_table.problem.value[cell]),
        float(table_audit.low[at]),
        float(table_audit.high[at]),
        words,
    )


MEANINGS = {
    "threshold": "too few persons are in it",
    "dominance": "a few contribute most of it",
    "p_percent": "one contributor could estimate the largest contribution",
    "pq": "somebody who knows the others approximately could estimate the largest contribution",
    "group_disclosure": "it reveals something about a whole group",
    "all_equal": "all in it contribute the same",
}


def page(certificate: Fields) -> str:
    """A page about a published table for those who get it."""
    from sfumato.release.report.page_html import ReportPage, render_page

    table = certificate[AGGREGATES]
    summary, counts, audit = table["summary"], table["suppressed_by_rule"], table["audit"]
    cells, suppressed = summary["cells"], summary["suppressed"]
    if table["method"] in ("rounding", "perturb", "cta"):
        title = f"{number(cells)} cells, changed so that nobody can be computed from them."
        method = (
            f"Sensitive cells were moved, and others so that sums are exact ({table['method']})."
        )
        if table["base"]:
            base = f"Cells were rounded to multiples of {table['base']}"
            method = f"{base} ({table['method']})."
        sums = "Cells were rounded one by one, so sums may be inexact."
        if table["additive"]:
            sums = "Cells add up to their margins."
        sentences = [f"{method} {sums}"]
    else:
        title = (
            f"{number(cells - suppressed)} of {number(cells)} cells are published,"
            f" {number(suppressed)} are suppressed."
        )
        besides = number(summary["suppressed_besides"])
        method = (
            f"A suppressed cell shows as `x`. {besides} of them break no rule: others could be"
            " computed from them. Published cells add up to their margins."
        )
        sentences = [method]
    if audit["scope"] == "all tables together":
        sentences.append(
            f"The tables were audited together, as margins of one table ({audit['bounds']} bounds)."
        )
    elif audit["scope"] == "each table by itself":
        sentences.append(
            f"Each table was audited separately ({audit['bounds']} bounds). Whether they hold "
            "together is unknown: the table of all their columns is too large."
        )
    if table["counts_persons_by"] == "unit":
        sentences.append("Persons were counted, however many rows they have.")
    else:
        sentences.append("Every row counted as a person.")
    files = []
    for file in table["tables"]:
        by = " × ".join(column["column"] for column in file["columns"])
        files.append(f"`{file['file']}`: {table['measure']} by {by}")
    rules = tuple(_rule(rule, counts.get(rule["rule"])) for rule in table["rules"])
    note = (
        "A cell may break several rules. Parameters that would help to compute suppressed cells are"
        " not shown."
    )
    blocks: list[Block] = [
        VerdictBlock(True, title, headline=True),
        Heading("The table"),
        ListBlock(tuple(files)),
        *map(Paragraph, sentences),
        Heading("Which cells are sensitive"),
        TableBlock(("Rule", "A cell breaks it when", "Cells"), rules),
        Paragraph(note, "quiet"),
    ]
    return render_page(
        ReportPage(
            title=f"Published table: {table['measure']}",
            above=f"A table of {table['measure']}, made {moment(certificate['created'])}",
            blocks=blocks,
            below="Check it: `sfumato verify` and the name of this folder.",
        )
    )


def _rule(rule: Fields, count: int | None) -> tuple[str, str, int | None]:
    """A rule in words: its name with what may be told of it, what it is about, and how many cells
    it hit.
    """
    parameters = parameters_of(rule)
    name = str(rule["rule"]).replace("_", " ")
    return (
        f"{name} ({parameters})" if parameters else name,
        MEANINGS.get(str(rule["rule"]), ""),
        count,
    )
