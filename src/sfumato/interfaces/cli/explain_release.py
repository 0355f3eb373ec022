"""``sfumato explain`` of a folder: what a release did and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.markup import escape

from sfumato.core.words import number, percent
from sfumato.interfaces.cli.console import out

Certificate = Mapping[str, Any]
StepRecord = Mapping[str, Any]
"""What a certificate or the owner's record says of a step."""


def read_story(folder: Path) -> dict[str, Any]:
    """The certificate and, where the owner's folder is beside it, what only the owner may know of
    how it was found.

    That is the alternatives, the k-minimal nodes that were passed over, and what local methods made
    of cells.
    """
    from sfumato.core.shape import known_shapes
    from sfumato.release.certificate_files import read_certificate
    from sfumato.release.certificate_words import with_words
    from sfumato.release.folder import read_owner_record

    # The folder that run wrote, or the shared one alone, as a recipient has it.
    share = folder / "share"
    if not share.is_dir():
        share = folder
    certificate = read_certificate(share, *known_shapes())
    story: dict[str, Any] = with_words(certificate)
    if not (folder / "owner" / "release.json").is_file():
        return story
    record = read_owner_record(folder / "owner", certificate)
    distinct = {}
    for column in record.get("columns", []):
        distinct[column["name"]] = [column["distinct_before"], column["distinct_after"]]
    minimal, local = [], []
    for step in record.get("effort", []):
        if step.get("k_minimal"):
            minimal.append(step)
        if step.get("cells"):
            local.append({**step, "distinct": distinct})
    story = {**story, **record.get("words", {})}
    if record.get("alternatives") is not None:
        story["alternatives"] = record["alternatives"]
    if minimal:
        story["k_minimal"] = minimal
    if local:
        story["local"] = local
    return story


def show_story(story: Certificate) -> None:
    """Print a release for people: the verdicts, what happened to each column, and why."""
    from sfumato.release.report.headline import headline

    out().print(f"[bold]{escape(headline(story).text)}[/]", soft_wrap=True)
    for verdict in story["verdicts"]:
        mark = "✓" if verdict["holds"] else "✗"
        sentence = verdict["sentence"]
        if not sentence:
            attained, required = number(verdict["attained"]), number(verdict["required"])
            sentence = f"attained {attained}, required {required}"
        _print(f"{mark} {verdict['promise']}: {sentence}")
    # Releases of non-tabular data count their parts; they have no rows.
    if "counts" in story:
        _show_people(story)
        return
    rows, suppressed = story["data"]["rows"], story["suppressed_records"]
    remark = ""
    if "synthetic" in story:
        remark = "; they are synthetic"
    elif suppressed is not None:
        share = percent(suppressed / max(1, rows + suppressed))
        remark = f"; {suppressed:,} ({share}) were suppressed"
    out().print(f"{rows:,} records are shared{remark}.")
    for step in story["plan"]:
        _show_step(step, story)
    for column in story["dropped_columns"]:
        # A column without that role was given up by a step.
        role = story["recipe"]["columns"].get(column, {}).get("role", "drop")
        why = "its role is drop" if "drop" in role else "suppressed as a whole"
        _print(f"  {column}: dropped, {why}")
    for step in story.get("local", []):
        _show_local(step)
    _show_binding(story["verdicts"])
    for step in story.get("k_minimal", []):
        _show_minimal(step)
    if "alternatives" in story:
        _show_reasons(story["alternatives"]["reasons"])


def _print(line: str) -> None:
    out().print(escape(line), soft_wrap=True)


def _show_people(story: Certificate) -> None:
    """What was released of non-tabular data: counts, what each step did, and what was dropped."""
    from sfumato.release.report.person_pages import describe_steps

    counts = []
    for name, count in story["counts"].items():
        counts.append(f"{count:,} {name.replace('_', ' ')}")
    suppressed = story["suppressed_people"]
    remark = "" if suppressed is None else f"; {suppressed:,} people were removed"
    _print(f"{', '.join(counts)} are shared{remark}.")
    for step, words in describe_steps(story):
        _print(f"  {step}: {words}" if words else f"  {step}")
    for column in story["dropped_columns"]:
        _print(f"  {column}: dropped, its role is drop")


def _show_step(step: StepRecord, story: Certificate) -> None:
    """What everybody may know of a step."""
    for column, position in step.get("levels", {}).items():
        _print(f"  {column}: {_level_words(position['level'], position['top'])}")
    for column, words in step.get("masked", {}).items():
        _print(f"  {column}: {words}")
    if step.get("kind") == "class recoding" and "local" not in story:  # the owner reads more below
        losses = {}
        for card in story.get("story", {}).get("cards", []):
            losses[card["column"]] = card["loss"]
        for column in step["columns"]:
            line = f"  {column}: recoded cell by cell"
            if column in losses:
                loss = percent(losses[column])
                line += f"; a cell leaves {loss} of the domain open on average"
            _print(line)
    for column, count in step.get("suppressed_cells", {}).items():
        _print(f"  {column}: {count:,} cell(s) suppressed; they match every value")


def _level_words(level: int, top: int) -> str:
    if level == 0:
        return "exact" if top else "exact; it has no hierarchy"
    if level == top:
        return "fully suppressed"
    return f"level {level} of {top}"


def _show_local(step: StepRecord) -> None:
    """What a local method made of the cells, for the owner: columns that lose most first, and the
    groups that do. Counts only.
    """
    cells = step["cells"]
    total = sum(column["loss"] for column in cells.values())
    groups = f": {step['regions']:,} groups" if "regions" in step else ""
    name = step["step"].replace("_", " ")
    out().print(f"\n[bold]Cell by cell, by {escape(name)}[/]{groups}")
    for column in sorted(cells, key=lambda name: -cells[name]["loss"]):
        cell = cells[column]
        before, after = step["distinct"].get(column, (None, None))
        kinds = "" if after is None else f"{after:,} different cells from {before:,} values, "
        line = (
            f"  {column}: {kinds}{percent(cell['exact'])} exact, {percent(cell['nothing'])} fully "
            f"suppressed, {percent(cell['loss'])} of the domain open on average"
        )
        if total:
            line += f"; {percent(cell['loss'] / total)} of the whole loss"
        _print(line)
    worst = [f"{group['records']:,} records ({percent(group['loss'])})" for group in step["worst"]]
    if worst:
        _print(f"  groups that lose most of their cells: {', '.join(worst)}")


def _show_binding(verdicts: Sequence[Mapping[str, Any]]) -> None:
    """Promises that attain exactly what is required, where that can be told from the figures."""
    for verdict in verdicts:
        required = verdict.get("required")
        if verdict["holds"] and required is not None and verdict["attained"] == required:
            _print(
                f"{verdict['promise']}: attained is exactly what is required, {number(required)}"
            )


def _show_minimal(step: StepRecord) -> None:
    """All k-minimal nodes that a search met, the least score first: none of them can be finer in
    any column.
    """
    nodes = step["k_minimal"]
    objective = escape(step["objective"].replace("_", " "))
    out().print(f"\n[bold]All {len(nodes):,} k-minimal node(s)[/], by {objective}")
    for node in nodes:
        levels = ", ".join(f"{column} {level}" for column, level in node["levels"].items())
        suppressed = node["suppressed_records"]
        _print(f"  {levels}: {node['score']:.4g}, {suppressed:,} record(s) suppressed")


def _show_reasons(reasons: Mapping[str, Any]) -> None:
    """Why this node and not its neighbour, and what another budget would buy."""
    sections = {
        "Why this and not another?": [reasons["choice"]],
        "One level finer or coarser": reasons["neighbours"],
        "Another budget, or less risk": reasons["outlook"],
    }
    for heading, sentences in sections.items():
        if sentences:
            out().print(f"\n[bold]{heading}[/]")
        for sentence in sentences:
            _print(f"  {sentence}")
