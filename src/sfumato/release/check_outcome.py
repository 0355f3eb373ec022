"""What a check says to machines and to those who review a change: JUnit, SARIF, and how a released
table differs from an earlier one.

Texts name promises, columns and counts, never a value.
"""

from __future__ import annotations

import dataclasses
import json
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato import __version__
from sfumato.core.shape import Shape
from sfumato.core.words import inflect, number, percent
from sfumato.errors import ParameterError, UnreadableInput
from sfumato.release.assessment import assess
from sfumato.release.certificate_files import read_certificate
from sfumato.release.check import FilesToCheck, describe_released

if TYPE_CHECKING:
    from sfumato.core.model import Verdict
    from sfumato.core.recipe import Recipe

SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
RISKS = {
    "prosecutor_risk": "highest risk",
    "marketer_risk": "average risk",
    "records_at_risk": "records with a risk above 20 %",
}


# For machines.


def junit_text(verdicts: Sequence[Verdict], data: str) -> str:
    """The verdicts as JUnit XML, a test case a promise."""
    broken = [verdict for verdict in verdicts if not verdict.holds]
    counts = {"tests": str(len(verdicts)), "failures": str(len(broken))}
    suites = ET.Element("testsuites", counts)
    suite = ET.SubElement(suites, "testsuite", {"name": f"sfumato check {data}", **counts})
    for verdict in verdicts:
        case = ET.SubElement(suite, "testcase", {"classname": data, "name": verdict.promise})
        if not verdict.holds:
            failure = ET.SubElement(case, "failure", {"message": verdict.sentence})
            failure.text = _failing(verdict)
    ET.indent(suites)
    return ET.tostring(suites, encoding="unicode", xml_declaration=True) + "\n"


def sarif_text(verdicts: Sequence[Verdict], data: str) -> str:
    """The verdicts as SARIF 2.1.0: a rule a promise, a result where it does not hold."""
    models = sorted({verdict.model for verdict in verdicts})
    rules = [{"id": name, "shortDescription": {"text": name}} for name in models]
    uri = Path(data).as_posix()
    results = []
    for verdict in verdicts:
        if verdict.holds:
            continue
        message = f"{verdict.promise} does not hold: {verdict.sentence} {_failing(verdict)}"
        location = {"physicalLocation": {"artifactLocation": {"uri": uri}}}
        results.append(
            {
                "ruleId": verdict.model,
                "ruleIndex": models.index(verdict.model),
                "level": "error",
                "message": {"text": message},
                "locations": [location],
            }
        )
    driver = {"name": "sfumato", "version": __version__, "rules": rules}
    run = {"tool": {"driver": driver}, "results": results}
    document = {"$schema": SARIF_SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _failing(verdict: Verdict) -> str:
    classes = len(verdict.failing)
    return (
        f"{classes:,} {inflect(classes, 'class', 'classes')} with {verdict.records:,} "
        f"{inflect(verdict.records, 'record')} fail."
    )


# For those who review a change.


@dataclasses.dataclass(frozen=True)
class CheckedTable:
    """A released table, what a recipe says of it, and the tier of the decision beside it."""

    verdicts: tuple[Verdict, ...]
    columns: tuple[str, ...]
    figures: dict[str, str]
    tier: str | None

    @classmethod
    def of(
        cls, data: str, files: FilesToCheck, verdicts: Sequence[Verdict], *, recipe: Recipe
    ) -> CheckedTable:
        """Measure a released table that was judged."""
        if recipe.shape is not Shape.TABLE:
            raise ParameterError("--diff compares single tables; leave it out for other data")
        table = describe_released(files, recipe)
        assessment = assess(table)
        smallest = assessment.smallest_class
        figures = {
            "records": f"{assessment.records:,}",
            "smallest class (k)": "–" if smallest is None else f"{smallest:,}",
        }
        for name, words in RISKS.items():
            figures[words] = percent(assessment.measure(name))
        columns = tuple(files.content.columns)
        return cls(tuple(verdicts), columns, figures, tier=_tier_beside(Path(data)))


def beside_base(data: str, base: Path, *, only_folder: bool = False) -> Path | None:
    """The earlier version of a file: the base itself, or the file at the same path in it; None
    where that folder holds none. ``only_folder``: a base that is a file is another one.
    """
    if not base.is_dir():
        if only_folder:
            return None
        if not base.is_file():
            raise UnreadableInput(f"{base} does not exist; name the earlier file or its folder")
        return base
    path = Path(data)
    candidates = [base / path.name]
    if not path.is_absolute():
        candidates.insert(0, base / path)
    for candidate in candidates:
        if candidate.is_file():
            return candidate
    return None


def difference_text(
    data: str, now: CheckedTable, base: CheckedTable | None, *, problem: str = ""
) -> str:
    """What changed against an earlier version, in Markdown for a comment; without one, the state
    of today and why.
    """
    broken = [verdict for verdict in now.verdicts if not verdict.holds]
    if broken:
        heading = f"does not hold: {', '.join(verdict.promise for verdict in broken)}"
    elif now.verdicts:
        heading = "every promise holds"
    else:
        heading = "the recipe promises nothing; add meet"
    lines = [f"### `{_escaped(data)}`: {heading}", ""]
    lines += [f"| | {'base | ' if base else ''}this change |", f"|---|{'---|' if base else ''}---|"]
    lines += _table_rows(now, base)
    if base is None:
        lines += ["", _escaped(problem)]
    else:
        lines += ["", *_column_changes(now, base)]
    return "\n".join(lines) + "\n"


def _table_rows(now: CheckedTable, base: CheckedTable | None) -> Iterator[str]:
    states = [now] if base is None else [base, now]
    promises = [verdict.promise for state in (now, *states) for verdict in state.verdicts]
    for promise in dict.fromkeys(promises):
        cells = [_attained(promise, state.verdicts) for state in states]
        yield f"| {_escaped(promise)} | {' | '.join(cells)} |"
    for words in now.figures:
        yield f"| {words} | {' | '.join(state.figures[words] for state in states)} |"
    tiers = [state.tier for state in states]
    if any(tier is not None for tier in tiers):
        yield f"| decision | {' | '.join(tier or '–' for tier in tiers)} |"


def _attained(promise: str, verdicts: Sequence[Verdict]) -> str:
    for verdict in verdicts:
        if verdict.promise == promise:
            return f"{'✓' if verdict.holds else '✗'} {number(verdict.attained)}"
    return "not promised"


def _column_changes(now: CheckedTable, base: CheckedTable) -> Iterator[str]:
    added = [name for name in now.columns if name not in base.columns]
    gone = [name for name in base.columns if name not in now.columns]
    for words, names in (("New columns", added), ("Columns gone", gone)):
        if names:
            yield f"{words}: {', '.join(f'`{_escaped(name)}`' for name in names)}."
    if not added and not gone:
        yield "The columns are the same."


def _escaped(text: str) -> str:
    """Text that stays one cell of a table in Markdown."""
    plain = "".join(sign if sign.isprintable() else " " for sign in text)
    return plain.replace("|", "\\|").replace("`", "'").replace("<", "&lt;")


def _tier_beside(data: Path) -> str | None:
    """The tier of the decision in the certificate beside a file that names it."""
    try:
        certificate = read_certificate(data.parent)
    except UnreadableInput:
        return None
    if certificate.get("data", {}).get("file") != data.name or "decision" not in certificate:
        return None
    return str(certificate["decision"]["tier"])
