"""What a release did and why, told from its certificate and, for its owner, from the owner's
record.
"""

from __future__ import annotations

import dataclasses
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.core.block_html import Reportable
from sfumato.core.blocks import Block, Heading, ListBlock, Paragraph, VerdictBlock
from sfumato.core.fields import Document, Fields
from sfumato.core.portable import PRIVATE_FOLDER
from sfumato.core.shape import known_shapes
from sfumato.core.words import count_of, number, percent
from sfumato.release import VERBS
from sfumato.release.certificate_files import read_certificate
from sfumato.release.certificate_words import with_words, words_in
from sfumato.release.folder import read_owner_record
from sfumato.release.report.headline import headline
from sfumato.release.report.person_pages import describe_steps

if TYPE_CHECKING:
    from sfumato.release.release import Release

StepRecord = Fields
"""What a certificate or the owner's record says of a step."""


@dataclasses.dataclass(frozen=True, repr=False)
class Explanation(Reportable):
    """What a release did and why. ``story`` is the certificate and, where the owner asks, what only
    the owner may know: the alternatives, the k-minimal nodes that were passed over, and what local
    methods made of cells.
    """

    story: Fields

    @classmethod
    def of_folder(cls, folder: Path) -> Explanation:
        """The explanation of a folder that ``run`` wrote, or of the shared one alone."""
        share = folder / "share"
        if not share.is_dir():
            share = folder
        certificate = read_certificate(share, *known_shapes())
        record = None
        if (folder / "owner" / "release.json").is_file():
            record = read_owner_record(folder / "owner", certificate)
        return cls(_add_record(with_words(certificate), record))

    def to_dict(self) -> Document:
        """The explanation as plain data."""
        return dict(self.story)

    def blocks(self) -> Sequence[Block]:
        """The verdicts, what happened to each column, and why."""
        story = self.story
        blocks: list[Block] = [Paragraph(headline(story).text, "strong")]
        blocks += [_verdict_block(verdict) for verdict in story["verdicts"]]
        # Releases of non-tabular data count their parts; they have no rows.
        if "counts" in story:
            return [*blocks, Paragraph(_people_sentence(story)), ListBlock(_steps_of_people(story))]
        columns: list[str] = []
        for step in story["plan"]:
            columns += _column_lines(step, story)
        for column in story["dropped_columns"]:
            # A column without that role was given up by a step.
            role = story["recipe"]["columns"].get(column, {}).get("role", "drop")
            if "drop" in role:
                reason = "its role is drop"
            else:
                reason = "suppressed as a whole"
            columns.append(f"{column}: dropped, {reason}")
        blocks += [Paragraph(_records_sentence(story)), ListBlock(tuple(columns))]
        for step in story.get("local", []):
            blocks += _cell_blocks(step)
        blocks += [Paragraph(sentence) for sentence in _exact_promises(story["verdicts"])]
        for step in story.get("k_minimal", []):
            blocks += _minimal_blocks(step)
        if "alternatives" in story:
            blocks += _reason_blocks(story["alternatives"]["reasons"])
        return blocks


def explain_release(release: Release) -> Explanation:
    """The explanation of a release as it would be written; nothing of it stays on the disk."""
    with tempfile.TemporaryDirectory(prefix="sfumato-") as name:
        share, owner = Path(name) / "share", Path(name) / "owner"
        share.mkdir()
        owner.mkdir(mode=PRIVATE_FOLDER)
        write_files = VERBS[release.writer]
        files = write_files(release, share, owner, format=None, defuse=False, table={})
    # What is certified has no words yet; the owner keeps those that the run itself knows.
    record = {**files.record, "words": words_in(files.certificate)}
    return Explanation(_add_record(with_words(files.certificate), record))


def _add_record(story: Fields, record: Fields | None) -> Document:
    """A certificate in words, with what the owner's record says besides."""
    if record is None:
        return dict(story)
    distinct = {}
    for column in record.get("columns", []):
        distinct[column["name"]] = [column["distinct_before"], column["distinct_after"]]
    minimal, local = [], []
    for step in record.get("effort", []):
        if step.get("k_minimal"):
            minimal.append(step)
        if step.get("cells"):
            local.append({**step, "distinct": distinct})
    complete = {**story, **record.get("words", {})}
    if record.get("alternatives") is not None:
        complete["alternatives"] = record["alternatives"]
    if minimal:
        complete["k_minimal"] = minimal
    if local:
        complete["local"] = local
    return complete


def _verdict_block(verdict: Fields) -> VerdictBlock:
    sentence = verdict["sentence"]
    if not sentence:
        attained, required = number(verdict["attained"]), number(verdict["required"])
        sentence = f"attained {attained}, required {required}"
    return VerdictBlock(verdict["holds"], verdict["promise"], sentence)


def _people_sentence(story: Fields) -> str:
    """What was released of non-tabular data, and how many people were left out."""
    counts = []
    for name, count in story["counts"].items():
        counts.append(f"{count:,} {name.replace('_', ' ')}")
    suppressed = story["suppressed_people"]
    if suppressed is None:
        remark = ""
    else:
        remark = f"; {suppressed:,} people were removed"
    return f"{', '.join(counts)} are shared{remark}."


def _steps_of_people(story: Fields) -> tuple[str, ...]:
    """What each step did to non-tabular data, and the columns that were dropped."""
    lines = [f"{step}: {words}" if words else str(step) for step, words in describe_steps(story)]
    lines += [f"{column}: dropped, its role is drop" for column in story["dropped_columns"]]
    return tuple(lines)


def _records_sentence(story: Fields) -> str:
    """How many records are shared, and how many are not."""
    rows, suppressed = story["data"]["rows"], story["suppressed_records"]
    remark = ""
    if "synthetic" in story:
        remark = "; they are synthetic: none is the record of a person"
    elif suppressed is not None:
        share = percent(suppressed / max(1, rows + suppressed))
        remark = f"; {suppressed:,} ({share}) were suppressed"
    return f"{rows:,} records are shared{remark}."


def _column_lines(step: StepRecord, story: Fields) -> list[str]:
    """What a step did to each column, as far as everybody may know it."""
    lines = []
    for column, position in step.get("levels", {}).items():
        lines.append(f"{column}: {_level_words(position['level'], position['top'])}")
    for column, words in step.get("masked", {}).items():
        lines.append(f"{column}: {words}")
    # The owner reads more about a local method in a section of its own.
    if step.get("kind") == "class recoding" and "local" not in story:
        losses = {}
        for card in story.get("story", {}).get("cards", []):
            losses[card["column"]] = card["loss"]
        for column in step["columns"]:
            line = f"{column}: recoded cell by cell"
            if column in losses:
                loss = percent(losses[column])
                line += f"; a cell leaves {loss} of the domain open on average"
            lines.append(line)
    for column, count in step.get("suppressed_cells", {}).items():
        lines.append(f"{column}: {count:,} cell(s) suppressed; they match every value")
    return lines


def _level_words(level: int, top: int) -> str:
    if level == 0:
        return "exact" if top else "exact; it has no hierarchy"
    if level == top:
        return "fully suppressed"
    return f"level {level} of {top}"


def _cell_blocks(step: StepRecord) -> list[Block]:
    """What a local method made of the cells, for the owner: columns that lose most first, and the
    groups that do. Counts only.
    """
    cells = step["cells"]
    total = sum(column["loss"] for column in cells.values())
    groups = f": {step['regions']:,} groups" if "regions" in step else ""
    lines = []
    for column in sorted(cells, key=lambda name: -cells[name]["loss"]):
        cell = cells[column]
        before, after = step["distinct"].get(column, (None, None))
        if after is None:
            kinds = ""
        else:
            kinds = f"{after:,} different cells from {before:,} values, "
        line = (
            f"{column}: {kinds}{percent(cell['exact'])} exact, {percent(cell['nothing'])} fully"
            f" suppressed, {percent(cell['loss'])} of the domain open on average"
        )
        if total:
            line += f"; {percent(cell['loss'] / total)} of the whole loss"
        lines.append(line)
    worst = [f"{group['records']:,} records ({percent(group['loss'])})" for group in step["worst"]]
    if worst:
        lines.append(f"groups that lose most of their cells: {', '.join(worst)}")
    name = step["step"].replace("_", " ")
    return [Heading(f"Cell by cell, by {name}{groups}"), ListBlock(tuple(lines))]


def _exact_promises(verdicts: Sequence[Fields]) -> list[str]:
    """Promises that attain exactly what is required, where that can be told from the figures."""
    sentences = []
    for verdict in verdicts:
        required = verdict.get("required")
        if verdict["holds"] and required is not None and verdict["attained"] == required:
            sentences.append(
                f"{verdict['promise']}: attained is exactly what is required, {number(required)}"
            )
    return sentences


def _minimal_blocks(step: StepRecord) -> list[Block]:
    """All k-minimal nodes that a search met, the least score first: none of them can be finer in
    any column.
    """
    nodes = step["k_minimal"]
    objective = step["objective"].replace("_", " ")
    lines = []
    for node in nodes:
        levels = ", ".join(f"{column} {level}" for column, level in node["levels"].items())
        suppressed = count_of(node["suppressed_records"], "record")
        lines.append(f"{levels}: {node['score']:.4g}, {suppressed} suppressed")
    title = f"All {count_of(len(nodes), 'k-minimal node')}, by {objective}"
    return [Heading(title), ListBlock(tuple(lines))]


def _reason_blocks(reasons: Fields) -> list[Block]:
    """Why this node and not its neighbour, and what another budget would buy."""
    sections = {
        "Why this and not another?": [reasons["choice"]],
        "One level finer or coarser": reasons["neighbours"],
        "Another budget, or less risk": reasons["outlook"],
    }
    blocks: list[Block] = []
    for title, sentences in sections.items():
        if sentences:
            blocks += [Heading(title), ListBlock(tuple(sentences))]
    return blocks
