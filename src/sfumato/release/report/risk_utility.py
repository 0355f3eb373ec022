"""The comparison of candidates: a map of risk and utility, the front, a table, and a page."""

from __future__ import annotations

from collections.abc import Mapping

from sfumato.core.blocks import (
    Block,
    Cell,
    ChartAxis,
    ChartBlock,
    CodeBlock,
    FoldBlock,
    Heading,
    ListBlock,
    Paragraph,
    Point,
    Series,
    Share,
    TableBlock,
)
from sfumato.core.fields import Fields
from sfumato.core.words import as_sentence, count_of, inflect, number, percent, plain_name, score
from sfumato.release.report.measures import attack_line, judges_detail, meaning_of, title_of
from sfumato.release.report.page_html import ReportPage, as_shown, as_yaml, render_page


def chart_candidates(comparison: Fields) -> ChartBlock:
    """Every candidate that was measured by risk and utility: a series for each combination of
    steps, and the front.
    """
    risk, utility = comparison["axes"]["risk"], comparison["axes"]["utility"]
    title = _lower_title(utility)
    series: dict[str, list[Point]] = {}
    front, words = [], []
    higher = sampled = False
    for index, candidate in enumerate(comparison["candidates"], 1):
        if risk not in candidate["risks"] or utility not in candidate["utilities"]:
            continue
        x, y = candidate["utilities"][utility], candidate["risks"][risk]
        low, high = candidate.get("intervals", {}).get(risk) or (None, None)
        holds = bool(candidate["holds"] and candidate["promises"])
        name = candidate["name"]
        point = Point(x, y, low, high, label=str(index), name=name, alarm=not holds)
        series.setdefault(_steps_of(candidate), []).append(point)
        higher = higher or utility in candidate["higher"]
        sentence = f"{index} {name}: risk {percent(y)}"
        if low is not None and high is not None:
            sampled = True
            sentence += f" (between {percent(low)} and {percent(high)})"
        sentence += f", {title} {number(x)}"
        if name in comparison["front"]:
            front.append(Point(x, y, name=name))
            sentence += ", on the front"
        if not holds:
            sentence += ", not released"
        words.append(sentence)
    # Where higher is better, the region that the front dominates lies to the left of each corner.
    front.sort(key=lambda point: (point.x, point.y or 0.0), reverse=higher)
    caption = (
        "Each mark is a candidate, by number; its shape shows its steps. Filled: its promises "
        "hold; hollow: they do not, or it has none. Line: the front, "
        f"{count_of(len(comparison['front']), 'candidate')} that no other candidate beats in both "
        f"{plain_name(risk)} and {title}."
    )
    if sampled:
        caption += " Thin upright lines: 95 % interval of the risk."
    return ChartBlock(
        "map",
        "scatter",
        ChartAxis(f"{title} ({'better' if higher else 'worse'} →)"),
        ChartAxis(f"{plain_name(risk)} (worse ↑)", share=True),
        (
            Series("front", tuple(front), "staircase"),
            *(Series(steps, tuple(series[steps]), "dot") for steps in sorted(series)),
        ),
        f"Risk and utility of {count_of(len(words), 'candidate')}. {'; '.join(words)}.",
        caption=caption,
    )


def chart_curve(comparison: Fields, field: str, measure: str) -> ChartBlock:
    """A utility or a risk over a number that was tried in turn; a line for each of the candidates
    that differ in nothing else.
    """
    lines: dict[str, list[Point]] = {}
    sentences = []
    for candidate in comparison["candidates"]:
        value = {**candidate["risks"], **candidate["utilities"]}.get(measure)
        numbers = candidate.get("numbers", {})
        if value is None or field not in numbers:
            continue
        others = [f"{name}={number(x)}" for name, x in numbers.items() if name != field]
        line = " ".join([candidate["line"], *others])
        lines.setdefault(line, []).append(Point(numbers[field], value, name=candidate["name"]))
        sentences.append(f"{candidate['name']}: {number(value)}")
    series = []
    for line, points in lines.items():
        points.sort(key=lambda point: point.x)
        series.append(Series(line, tuple(points), "line"))
    title = _lower_title(measure)
    return ChartBlock(
        f"{measure}-by-{field}",
        "lines",
        ChartAxis(field),
        ChartAxis(title),
        tuple(series),
        f"{title} by {field}. {'; '.join(sentences)}.",
        caption=f"One line for each recipe and algorithm: {title} as {field} grows.",
    )


def charts_of_curves(comparison: Fields) -> list[ChartBlock]:
    """The utility of the map over every number that was tried in turn."""
    fields = {
        field for candidate in comparison["candidates"] for field in candidate.get("numbers", ())
    }
    return [
        chart_curve(comparison, field, comparison["axes"]["utility"]) for field in sorted(fields)
    ]


def candidate_table(comparison: Fields) -> TableBlock:
    """Every candidate: ● is on the front; its risk, its utility, and whether its promises hold."""
    risk, utility = comparison["axes"]["risk"], comparison["axes"]["utility"]
    sampled = any(risk in candidate["intervals"] for candidate in comparison["candidates"])
    header = ["candidate", plain_name(risk), title_of(utility), "records", "promises"]
    if sampled:
        header.insert(2, "95 % interval")
    rows = []
    for index, candidate in enumerate(comparison["candidates"], 1):
        mark = "●" if candidate["name"] in comparison["front"] else "○"
        rate, value = candidate["risks"].get(risk), candidate["utilities"].get(utility)
        interval = candidate["intervals"].get(risk)
        promises = "✗ broken, not released"
        if candidate["holds"]:
            promises = "hold" if candidate["promises"] else "none"
        row: list[Cell] = [
            f"{mark} {index}. {candidate['name']}",
            None if rate is None else Share(rate),
            None if value is None else score(value),
            candidate["records"],
            promises,
        ]
        if sampled:
            words = None
            if interval is not None:
                words = f"{percent(interval[0])} to {percent(interval[1])}"
            row.insert(2, words)
        rows.append(tuple(row))
    return TableBlock(tuple(header), tuple(rows), comparison["name"])


def describe_front(comparison: Fields) -> str:
    """Which candidates are on the front, in a sentence that names what is compared.

    >>> axes, candidates = {"risk": "linkage", "utility": "loss"}, [{"higher": []}] * 3
    >>> describe_front({"axes": axes, "front": ["k=5"], "candidates": candidates})
    '1 of 3 candidates is on the front: no other candidate has less linkage and less loss (LM)'
    """
    candidates, utility = comparison["candidates"], comparison["axes"]["utility"]
    total, front = count_of(len(candidates), "candidate"), len(comparison["front"])
    if not front:
        return f"None of {total} may be released and was measured, so none is on the front"
    better = "less"
    if any(utility in candidate["higher"] for candidate in candidates):
        better = "more"
    return (
        f"{front} of {total} {inflect(front, 'is', 'are')} on the front: no other candidate has"
        f" less {plain_name(comparison['axes']['risk'])} and {better} {_lower_title(utility)}"
    )


def describe_risk_axis(comparison: Fields) -> str:
    """What the risk of the map is, why it was chosen, and how certain it is."""
    risk, candidates = comparison["axes"]["risk"], comparison["candidates"]
    name = plain_name(risk).capitalize()
    synthetic = [candidate for candidate in candidates if candidate.get("drawn")]
    sentences = []
    line = attack_line(risk)
    if line:
        sentences.append(f"{name}: {line[:1].lower()}{line[1:]}.")
    if synthetic and risk != "linkage" and len(synthetic) < len(candidates):
        sentences.append(
            f"Linkage is not an axis here: {count_of(len(synthetic), 'candidate')}"
            f" {inflect(len(synthetic), 'is', 'are')} synthetic, so nobody can be linked to their"
            f" records. {name} is measured for all candidates,"
            " each with a control: the same person without their own record, or, for synthetic"
            " data, people who were held out."
        )
    if risk == "singling_out" and synthetic:
        sentences.append(
            "It starts from a released record and not from a person, so for synthetic data it "
            "says less."
        )
    if any(risk in candidate.get("intervals", {}) for candidate in candidates):
        sentences.append(
            "Rates come from a sample: it does not distinguish candidates whose 95 % intervals "
            "overlap; a larger sample and more seconds narrow the intervals."
        )
    return " ".join(sentences)


def describe_utility_axis(comparison: Fields) -> str:
    """What a reader must know about the utility of the map before trusting it."""
    utility = comparison["axes"]["utility"]
    meaning = meaning_of(utility)
    if meaning:
        sentence = f"{title_of(utility)}: {meaning}."
    else:
        sentence = f"{title_of(utility)}."
    if judges_detail(utility):
        return f"{sentence} A coarser release, or one with fewer records, never looks better by it."
    return (
        f"{sentence} It measures the quality of answers and not detail: a coarser release can look "
        "better by it."
    )


def comparison_page(comparison: Fields) -> str:
    """A page with the map, the table of all candidates, and their recipes."""
    comparison = as_shown(comparison)
    candidates = comparison["candidates"]
    title = f"{count_of(len(candidates), 'candidate')} for {comparison['name']}"
    reasons, details = [], list[Block]()
    for index, candidate in enumerate(candidates, 1):
        name = f"{index}. {candidate['name']}"
        if not candidate["holds"] and candidate["reason"]:
            reasons.append(f"{name}: {as_sentence(candidate['reason'])}")
        details.append(FoldBlock(name, tuple(_candidate_blocks(candidate))))
    blocks: list[Block] = [Heading(title, 1), Paragraph(as_sentence(describe_front(comparison)))]
    sentences = (describe_risk_axis(comparison), describe_utility_axis(comparison))
    blocks += [Paragraph(sentence, "quiet") for sentence in sentences if sentence]
    blocks += [
        Heading("Risk and utility"),
        chart_candidates(comparison),
        *charts_of_curves(comparison),
        Heading("Candidates"),
        candidate_table(comparison),
    ]
    if reasons:
        blocks += [Heading("Why not released", 3), ListBlock(tuple(reasons))]
    blocks += [Heading("All measures and recipes"), *details]
    footer = (
        "All candidates were made from the same table with the same seed, and attacked by the same"
        " intruders."
    )
    above = "Comparison of candidates"
    return render_page(ReportPage(f"Comparison: {title}", above, blocks, footer))


def _candidate_blocks(candidate: Fields) -> list[Block]:
    risks, utilities = [], []
    for name, value in candidate["risks"].items():
        words = percent(value)
        if name in candidate["intervals"]:
            low, high = candidate["intervals"][name]
            words += f" ({percent(low)} to {percent(high)})"
        risks.append((plain_name(name), words))
    for name, value in candidate["utilities"].items():
        higher = " (higher is better)" if name in candidate["higher"] else ""
        utilities.append((title_of(name) + higher, score(value)))
    blocks: list[Block] = [Paragraph(f"Steps: {_steps_of(candidate)}.")]
    if risks:
        blocks += [Heading("Risks", 3), TableBlock(("", ""), tuple(risks))]
    if utilities:
        blocks += [Heading("Utilities", 3), TableBlock(("", ""), tuple(utilities))]
    return [*blocks, Heading("Recipe", 3), CodeBlock(as_yaml(candidate["recipe"]), "yaml")]


def _lower_title(utility: str) -> str:
    title = title_of(utility)
    return title[:1].lower() + title[1:]


def _steps_of(candidate: Fields) -> str:
    names = []
    for step in candidate["recipe"]["steps"]:
        name = next(iter(step)) if isinstance(step, Mapping) else step
        names.append(plain_name(name))
    return " + ".join(names) or "nothing"
