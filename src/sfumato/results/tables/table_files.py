"""Writing a protected table: what anybody may have, and what its owner keeps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
    made: ProtectedTable, folder: Path, *, force: bool, sign: Path | None, to: str | None = None
) -> Path:
    """Write ``folder/share`` and ``folder/owner``, or nothing; a table that fails its own audit is
    not written.

    A table with a register is planned in it before, and is called released when it stands; one that
    was not written counts no more.
    """
    memory = made.judged.table.memory
    if (memory is None) != (to is None):
        raise ParameterError(
            "a register wants to know who receives the table, and nobody else does: give both or"
            " neither"
        )
    if memory is None:
        return _write(made, folder, force=force, sign=sign)
    number = _planned(made, memory, folder, str(to))
    written: str | None = None
    try:
        _write(made, folder, force=force, sign=sign)
        written = str(read_json(folder / "share" / FILE)["digest"])
    finally:
        with memory.register.turn():
            memory.register.now_is(
                number, "withdrawn" if written is None else "released", certificate=written
            )
    return folder


def _planned(made: ProtectedTable, memory: TableMemory, folder: Path, to: str) -> int:
    """Write a table down in its register, unless another was registered since it was looked at."""
    with memory.register.turn():  # nobody registers anything between looking and writing down
        known = (
            ()
            if made.beside is None
            else (*(one.number for one in made.beside.earlier), *made.beside.unknown)
        )
        earlier, unknown = memory.earlier(made.judged)
        if {*(one.entry.number for one in earlier), *unknown} != set(known):
            raise ReleaseRefused(
                "another table of the same records was registered meanwhile; protect this one again"
            )
        entry = memory.entry(
            made, recipient=to, folder=folder, digest=memory.dataset.input_digest()
        )
        return memory.register.plan(entry, memory.people, memory.records(made.judged.table))


def _write(made: ProtectedTable, folder: Path, *, force: bool, sign: Path | None) -> Path:
    if not made.audit().holds:
        raise ReleaseRefused("the table fails its own audit and is not written; protect it again")
    with in_place(folder, force=force) as place:
        share, owner = place / "share", place / "owner"
        share.mkdir()
        owner.mkdir(mode=PRIVATE_FOLDER)
        files = [
            _write_table(made, share, number) for number in range(len(made.judged.table.places))
        ]
        body = certificate(made, files)
        replace_file(share / REPORT, page(body).encode())
        public = seal_certificate(share, body, sign)
        write_json(owner / LOCK, lock(made, public["digest"]))
        replace_file(owner / REPORT, owner_page(made, str(body["created"])).encode())
        for one in (share, owner, place):
            sync_folder(one)
        keep_private(owner)
    return folder


def _write_table(made: ProtectedTable, share: Path, number: int) -> dict[str, Any]:
    """One table as a file, and what the certificate says of it: how its cells add up."""
    table = made.judged.table
    name = "table.csv" if number == 0 else f"table_{number + 1}.csv"
    frame = made.to_polars(number)
    replace_file(share / name, frame.write_csv().encode())
    dimensions = [table.dimensions[at] for at in table.places[number]]
    columns = [
        {"column": one.column, "labels": list(one.labels), "parent": one.parent.tolist()}
        for one in dimensions
    ]
    return {
        "file": name,
        "sha256": sha256_of(share / name),
        "format": "csv",
        "rows": frame.height,
        "columns": columns,
    }


def certificate(made: ProtectedTable, files: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What anybody may know: the rules without what would help an intruder, and how many cells each
    hit.
    """
    table, counts = made.judged.table, made.summary()
    section = {
        "measure": str(table.measure),
        "counts_persons_by": "unit" if table.unit else "row",
        "rules": [rule.told() for rule in made.judged.rules],
        "method": made.method,
        "summary": {
            key: counts[key] for key in ("cells", "suppressed", "suppressed_besides", "gap")
        },
        "suppressed_by_rule": counts["sensitive_by_rule"] if made.suppression is not None else {},
        "base": made.options["base"] if made.method in ("rounding", "perturb") else None,
        "additive": made.additive,
        "audit": {"scope": made.audited.scope, "bounds": made.audited.bounds},
        "tables": list(files),
    }
    return {
        "shape": AGGREGATES,
        "created": environment.timestamp(),
        AGGREGATES: section,
        "versions": versions(),
    }


def lock(made: ProtectedTable, digest: str) -> dict[str, Any]:
    """What the owner keeps: all parameters, true values and needs of what was hidden, and what an
    intruder can find out.
    """
    problem, seen, table = made.problem, made.audited, made.judged.table
    kept = np.flatnonzero(made.hidden) if made.suppression is not None else np.arange(problem.size)
    options = {
        key: value.text if isinstance(value, Seed) else value for key, value in made.options.items()
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
        "rules": [rule.said() for rule in made.judged.rules],
        "method": made.method,
        "options": options,
        "cells": kept.tolist(),
        "values": problem.value[kept].tolist(),
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
        "open": np.flatnonzero((problem.value == 0) & (problem.free | problem.primary)).tolist(),
        "joint": [
            {
                "columns": [table.dimensions[at].column for at in columns],
                "cells": place.tolist(),
                "values": holds.tolist(),
            }
            for columns, (place, holds) in made.joint.values.items()
        ],
        "audit": {
            "scope": seen.scope,
            "bounds": seen.bounds,
            "exact": seen.exact,
            "components": seen.components,
            "programs": seen.programs,
            "intervals": [
                [int(cell), float(low), float(high)]
                for cell, low, high in zip(seen.hidden, seen.low, seen.high, strict=True)
            ],
        },
        "register": None if made.beside is None else made.beside.to_dict(),
        "salt": environment.fresh_salt(16),
    }


def owner_page(made: ProtectedTable, created: str) -> str:
    """A page for the owner: what was suppressed and why, and what an intruder can find out of
    it.
    """
    from sfumato.release.report.page_html import ReportPage, render_page

    audit, judged, summary = made.audited, made.judged, made.summary()
    counts = judged.count()
    # Cells that must stay unknown come first.
    order = np.argsort(~made.problem.primary[audit.hidden], kind="stable")[:MOST_ROWS]
    headline, *sentences = made.sentences()
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
    bounds = "Intervals may be wider than shown: the audit stops where a cell is wide enough."
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
    rows = tuple(_row(made, int(at)) for at in order)
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


def _row(made: ProtectedTable, at: int) -> tuple[str, float, float, float, str]:
    """A suppressed cell with what it is, the least and the most it can be, and why it was."""
    seen, cell = made.audited, int(made.audited.hidden[at])
    table = made.judged.table
    for group, variables in enumerate(table.variables):
        places = np.flatnonzero(variables == cell)
        if len(places):
            dimensions = [table.dimensions[one] for one in table.places[group]]
            nodes = np.unravel_index(int(places[0]), [one.size for one in dimensions])
            label = ", ".join(
                one.labels[int(node)] for one, node in zip(dimensions, nodes, strict=True)
            )
            break
    why = [name.replace("_", " ") for name, found in made.judged.found.items() if found[cell]]
    words = ", ".join(why) or "protects others"
    return label, float(made.problem.value[cell]), float(seen.low[at]), float(seen.high[at]), words


MEANINGS = {
    "threshold": "too few persons are in it",
    "dominance": "a few contribute most of it",
    "p_percent": "one who contributes could estimate the largest contribution",
    "pq": "one who knows the others roughly could estimate the largest contribution",
    "group_disclosure": "it tells something of a whole group",
    "all_equal": "all in it contribute the same",
}


def page(certificate: Mapping[str, Any]) -> str:
    """A page about a published table for those who get it."""
    from sfumato.release.report.page_html import ReportPage, render_page

    table = certificate[AGGREGATES]
    summary, counts, audit = table["summary"], table["suppressed_by_rule"], table["audit"]
    cells, suppressed = summary["cells"], summary["suppressed"]
    if table["method"] in ("rounding", "perturb", "cta"):
        title = f"{number(cells)} cells, changed so that nobody can be computed from them."
        method = f"Sensitive cells were moved, and others so that sums fit ({table['method']})."
        if table["base"]:
            base = f"Cells were rounded to multiples of {table['base']}"
            method = f"{base} ({table['method']})."
        sums = "Cells were rounded one by one: sums need not fit."
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
            f"Each table was audited by itself ({audit['bounds']} bounds). Whether they hold"
            " together is unknown: the table of all their columns is too large."
        )
    if table["counts_persons_by"] == "unit":
        sentences.append("Persons were counted, however many rows they have.")
    else:
        sentences.append("Every row was taken for a person.")
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


def _rule(rule: Mapping[str, Any], count: int | None) -> tuple[str, str, int | None]:
    """A rule in words: its name with what may be told of it, what it is about, and how many cells
    it hit.
    """
    shown = parameters_of(rule)
    name = str(rule["rule"]).replace("_", " ")
    return f"{name} ({shown})" if shown else name, MEANINGS.get(str(rule["rule"]), ""), count
