"""The two pages of a release of one table: one to share, one for the owner."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sfumato.core import registry
from sfumato.core.blocks import (
    Block,
    Cell,
    ChartBlock,
    FoldBlock,
    Heading,
    ListBlock,
    Paragraph,
    Share,
    TableBlock,
)
from sfumato.core.fields import Document, Fields
from sfumato.core.shape import Shape
from sfumato.core.words import count_of, inflect, moment, number, percent, plain_name, score
from sfumato.release.report import charts, wording
from sfumato.release.report.differences import differences_of
from sfumato.release.report.measures import first_and_more, measure_row
from sfumato.release.report.measures import title_of as title_of_measure
from sfumato.release.report.page_html import ReportPage
from sfumato.release.report.publication import publication_blocks, title_of
from sfumato.release.report.reading import reading_blocks
from sfumato.release.report.sections import (
    attack_blocks,
    certificate_footer,
    charts_under,
    demand_blocks,
    preserved_blocks,
    recipe_blocks,
    sample_blocks,
    terms_table,
    verdict_blocks,
    verify_blocks,
)

MOST_CONTRIBUTIONS = 12
MOST_TRADE_OFFS = 10
KEY_FIGURES = (
    ("records", "records"),
    ("persons", "persons"),
    ("classes", "classes"),
    ("smallest class", "smallest_class"),
    ("unique records", "unique_records"),
)
TABLES = (
    "For every two columns, the share of records in another cell of their two-way table than"
    " before; larger squares are larger shares."
)
ASSOCIATIONS = (
    "For every two columns, the change of Cramér's V, which is 0 for independent columns and 1"
    " where one determines the other."
)
SYNTHETIC_RISKS = (
    "No synthetic record belongs to a person, so nobody is found by picking one. These figures "
    "describe how similar the records of the file are."
)
NO_STORY: Document = {
    "cards": [],
    "maps": {"columns": [], "table_distance": []},
    "suppressed_cells": {},
}


def story_of(document: Fields) -> Document:
    """The story of a certificate or record: distributions, pairs of columns, suppressed cells."""
    return {**NO_STORY, **(document.get("story") or {})}


# The page to share.


def shared_page(certificate: Fields, decision: Sequence[Block]) -> ReportPage:
    """What goes with the released file, from its certificate alone; ``decision`` comes first."""
    data, synthetic = certificate["data"], certificate.get("synthetic")
    figures: list[tuple[Cell, ...]] = [("records released", data["rows"])]
    if not synthetic:
        figures.append(("records left out", certificate["suppressed_records"]))
    figures.append(("columns released", len(data["columns"])))
    figures.append(("columns dropped", len(certificate["dropped_columns"])))
    attacks = attack_blocks(
        certificate.get("attacks"), Shape.TABLE, decided=_attacks_of_decision(certificate)
    )
    classes = _shared_class_blocks(certificate)
    risks = _shared_risk_blocks(certificate)
    columns, utility = _shared_column_blocks(certificate), _shared_utility_blocks(certificate)
    # What a manager needs comes first: what was kept, what changed and why, then what intruders
    # reach, then how it was worked out.
    # Whoever gets a release that was decided on has this page and nothing else.
    reading = reading_blocks(certificate) if decision else []
    middle = [*utility, *columns, *reading, *attacks, *classes, *risks]
    blocks = [
        *decision,
        *verdict_blocks(certificate, certificate.get("attacks"), is_first=not decision),
        *_synthetic_blocks(synthetic),
        terms_table(figures, figures=True),
        *publication_blocks(certificate["recipe"]),
        *middle,
        *_difference_blocks(certificate),
        *verify_blocks(certificate, [data]),
        Heading("Missing values"),
        *_missing_blocks(certificate),
        *recipe_blocks(certificate),
    ]
    return ReportPage(
        title=f"Release report: {title_of(certificate['recipe'], data['file'])}",
        above=(
            f"Release report for {title_of(certificate['recipe'], data['file'])}, made"
            f" {moment(certificate['created'])}"
        ),
        blocks=blocks,
        below=certificate_footer(certificate),
        checks=True,
    )


def _attacks_of_decision(certificate: Fields) -> str | None:
    """Where the attacks of the decision are; None: nothing was decided."""
    decision = certificate.get("decision")
    if decision is None:
        return None
    if "evidence" in decision:
        return (
            "Attacked for the decision: what was found is in `certificate.json`, under `decision`."
        )
    return "Attacked for the decision; the owner keeps the results."


def _shared_class_blocks(certificate: Fields) -> list[Block]:
    classes = certificate["classes"]
    sentence = "Records with equal quasi-identifiers form a class."
    if not certificate.get("synthetic"):
        sentence = (
            "Records with equal quasi-identifiers form a class: an intruder who knows these columns"
            " cannot distinguish its members. The larger the class, the safer its members."
        )
    if classes["smallest"] is None:
        sentence += " The released file has no records, so there are no classes."
    else:
        count = count_of(classes["count"], "class", "classes")
        smallest = number(classes["smallest"])
        sentence += f" The released file has {count}; the smallest has size {smallest}."
    blocks: list[Block] = [Heading("Class sizes"), Paragraph(sentence)]
    if classes["count"]:
        k = wording.promised_k(certificate)
        unit = wording.members(certificate, (classes["sizes"], certificate["data"]["rows"]))
        blocks.append(charts.chart_class_sizes(classes["sizes"], k, unit=unit))
    return blocks


def _shared_column_blocks(certificate: Fields) -> list[Block]:
    losses = {card["column"]: card["loss"] for card in story_of(certificate)["cards"]}
    changed, unchanged = wording.set_apart(
        wording.column_stories(certificate), wording.ColumnStory.is_plain
    )
    changed, secrets = wording.set_apart(changed, wording.ColumnStory.is_unchanged_secret)
    labels = certificate.get("labels", {})
    header = ["Column", "Role", "Outcome", "Information loss", "Why"]
    rows = []
    for story in changed:
        loss = losses.get(story.name)
        outcome = story.outcome
        if story.hierarchy:
            outcome += f" (hierarchy: {story.hierarchy})"
        if story.name in labels and outcome != wording.UNCHANGED:
            outcome += f"; {wording.labels_in_words(labels[story.name])}"
        share = None if loss is None else Share(loss, bar=False)
        row: list[Cell] = [story.name, story.roles, outcome, share, story.why]
        rows.append(row)
    if not losses:
        del header[3]
        for row in rows:
            del row[3]
    blocks: list[Block] = [Heading("What changed, and why")]
    levels = charts.chart_levels(certificate["plan"])
    if levels is not None:
        blocks.append(levels)
    if rows:
        blocks.append(TableBlock(tuple(header), tuple(tuple(row) for row in rows)))
    elif not unchanged and not secrets:
        blocks.append(Paragraph("The certificate names no columns."))
    if unchanged:
        title = (
            f"{len(unchanged)} plain columns are released unchanged: outsiders are not expected to"
            " know them"
        )
        names = Paragraph(", ".join(story.name for story in unchanged))
        blocks.append(FoldBlock(title, (names,)))
    if secrets:
        title = f"{len(secrets)} sensitive columns are released unchanged"
        names = Paragraph(", ".join(story.name for story in secrets))
        blocks.append(FoldBlock(title, (names,)))
    for index, (step, facts) in enumerate(wording.steps_taken(certificate), 1):
        words = "; ".join(f"{term}: {text}" for term, text in facts)
        blocks.append(Paragraph(f"Step {index}, {step}{': ' if words else ''}{words}.", "quiet"))
    blocks += _released_file_blocks(certificate)
    order = "The records are in the order of the original table."
    if certificate["shuffled"]:
        order = "The order of the records was shuffled."
    blocks.append(Paragraph(order, "quiet"))
    return blocks


def _shared_risk_blocks(certificate: Fields) -> list[Block]:
    blocks: list[Block] = [Heading("Risks of the released file")]
    if certificate.get("synthetic"):
        blocks.append(Paragraph(SYNTHETIC_RISKS))
    rows, risks = [], registry.risks()
    for name, value in certificate["classes"]["risks"].items():
        # Of a risk that is not known here nobody knows the meaning.
        meaning = risks[name].line if name in risks else ""
        rows.append((wording.risk_name(name), Share(value), meaning))
    if rows:
        blocks.append(TableBlock(("Risk", "Value", "Meaning"), tuple(rows)))
    else:
        blocks.append(Paragraph("No risk was measured."))
    if not certificate.get("synthetic"):
        sentence = (
            "Promises and risks are about the quasi-identifiers, the columns an intruder is assumed"
            " to know. Whoever knows more about a person may learn more."
        )
        blocks.append(Paragraph(sentence, "quiet"))
    return blocks


def _shared_utility_blocks(certificate: Fields) -> list[Block]:
    rows = []
    for name, value in certificate.get("utility", {}).items():
        rows.append((name, measure_row(name, value)))
    story, preserved = story_of(certificate), []
    for step in certificate["plan"]:
        preserved += step.get("preserved", [])
    maps = story["maps"]
    tables = charts.chart_pairs("two_way_tables", maps["columns"], maps["table_distance"], TABLES)
    return [
        Heading("Utility"),
        *sample_blocks(certificate.get("sampled")),
        *_measure_blocks(("Measure", "Value", "Meaning"), rows),
        *charts_under("Suppressed cells", charts.chart_missing_cells(story["suppressed_cells"])),
        *charts_under("Two-way tables", tables),
        *demand_blocks(certificate, certificate.get("contract", [])),
        *preserved_blocks(preserved, certificate.get("sampled"), with_measures=False),
    ]


# The page of the owner.


def owner_page(record: Fields, decision: Sequence[Block]) -> ReportPage:
    """What stays with the owner: before and after, what makes people identifiable, alternatives;
    ``decision`` comes first.
    """
    certificate, before, after = record["certificate"], record["before"], record["after"]
    synthetic = certificate.get("synthetic")
    figures: list[tuple[Cell, ...]] = []
    if synthetic is None:
        for term, key in KEY_FIGURES:
            if before[key] is not None:
                figures.append((term, f"{number(before[key])} → {number(after[key])}"))
        figures.append(("records left out", certificate["suppressed_records"]))
    else:
        if "learnt_from" in synthetic:
            figures.append(("records used for training", synthetic["learnt_from"]))
            figures.append(("held out before", synthetic["held_out"]))
        figures.append(("synthetic records", certificate["data"]["rows"]))
    attacks = certificate.get("attacks") or record.get("attacks")
    risks, exposure = _owner_risk_blocks(record), _exposure_blocks(record)
    decided = None
    if decision:
        decided = "Attacked for the decision: each term above says what was found."
    attack_section = attack_blocks(attacks, Shape.TABLE, decided=decided)
    columns, utility = _owner_column_blocks(record), _owner_utility_blocks(record)
    middle = [*utility, *columns, *attack_section, *risks, *exposure]
    computation: list[Block] = []
    for step, facts in wording.steps_taken({"plan": record["effort"]}):
        computation += [Heading(step.capitalize(), 3), terms_table(facts)]
    scores = wording.facts(record["scores"])
    if scores:
        computation += [Heading("Scores of the release", 3), terms_table(scores)]
    if not computation:
        computation.append(Paragraph("No step reported on its search."))
    table, name = record["input"], record["input"]["name"]
    terms = [("Name", name), ("Records", number(table["rows"]))]
    terms.append(("SHA-256", f"`{table['sha256']}`"))
    reading: list[Block] = [Heading("Input"), terms_table(terms)]
    if record["notes"]:
        reading += [Heading("Notes from reading", 3), ListBlock(tuple(record["notes"]))]
    blocks = [
        Paragraph(
            "This page stays with the owner. It describes the original table and would help an"
            " intruder. Share the folder `share`, never this one.",
            "warning",
        ),
        *decision,
        *verdict_blocks(certificate, attacks, is_first=not decision),
        *_synthetic_blocks(synthetic),
        terms_table(figures, figures=True),
        *publication_blocks(certificate["recipe"]),
        *middle,
        Heading("How the result was computed"),
        *computation,
        *_alternative_blocks(record.get("alternatives")),
        *_difference_blocks(certificate),
        *reading,
        Heading("Missing values", 3),
        *_missing_blocks(certificate),
        *recipe_blocks(certificate),
    ]
    return ReportPage(
        title=f"Owner's report: {name}",
        above=f"Owner's report for {name}, made {moment(certificate['created'])}",
        blocks=blocks,
        below=(
            f"Certificate `{certificate['digest']}`. The lock file beside this page replays the"
            " run; keep both where only the owner can read them."
        ),
    )


def _owner_risk_blocks(record: Fields) -> list[Block]:
    certificate, before, after = record["certificate"], record["before"], record["after"]
    k = wording.promised_k(certificate)
    blocks: list[Block] = [Heading("Risk before and after")]
    if certificate.get("synthetic"):
        blocks.append(Paragraph(SYNTHETIC_RISKS))
    was = {measure["name"]: measure["value"] for measure in before["measures"]}
    now = {measure["name"]: measure["value"] for measure in after["measures"]}
    chart = charts.chart_risks(was, now, None if k is None else 1 / k)
    if chart is None:
        blocks.append(Paragraph("No risk was measured."))
    else:
        rows = []
        for measure in after["measures"]:
            shares = (Share(was.get(measure["name"], 0.0)), Share(measure["value"]))
            rows.append((wording.risk_name(measure["name"]), *shares, measure["meaning"]))
        blocks += [chart, TableBlock(("Risk", "Before", "After", "Meaning"), tuple(rows))]
    blocks.append(Heading("Class sizes"))
    if not before["classes"]:
        blocks.append(Paragraph("There are no classes."))
        return blocks
    sizes = [(table["class_sizes"], table["records"]) for table in (before, after)]
    unit = wording.members(certificate, *sizes)
    chart = charts.chart_class_sizes(sizes[1][0], k, sizes[0][0], unit=unit)
    return [*blocks, chart]


def _owner_column_blocks(record: Fields) -> list[Block]:
    certificate, story = record["certificate"], story_of(record)
    changes = {change["name"]: change for change in record["columns"]}

    def is_plain(change: Fields | None) -> bool:
        return (
            change is not None
            and list(change["roles"]) == ["keep"]
            and change["action"] == wording.UNCHANGED
        )

    changed, unchanged = wording.set_apart(record["columns"], is_plain)
    blocks: list[Block] = [Heading("Columns")]
    levels = charts.chart_levels(certificate["plan"])
    if levels is not None:
        blocks.append(levels)
    if changed:
        blocks.append(_changes_table(changed, certificate.get("labels", {})))
    elif not unchanged:
        blocks.append(Paragraph("There are no columns."))
    if unchanged:
        title = f"{len(unchanged)} plain columns are released unchanged"
        blocks.append(FoldBlock(title, (_changes_table(unchanged, {}),)))

    blocks.append(Heading("Distributions before and after"))
    cards = [card for card in story["cards"] if card["bins"]]
    cards_drawn, folded = wording.set_apart(
        cards, lambda card: is_plain(changes.get(card["column"]))
    )
    if not cards:
        return [*blocks, Paragraph("No column is left to draw.")]
    sentence = (
        "Wide light bars: the original; narrow dark bars: the release, with generalised cells"
        " spread evenly over the values they may stand for"
    )
    if story.get("sampled"):
        sentence += "; from a sample of the records"
    blocks.append(Paragraph(f"{sentence}.", "quiet"))
    blocks += _distribution_charts(cards_drawn, changes, 1)
    if folded:
        title = f"{len(folded)} plain columns, of which only whole records are missing"
        figures = _distribution_charts(folded, changes, len(cards_drawn) + 1)
        blocks.append(FoldBlock(title, tuple(figures), unfolded=not cards_drawn))
    hidden = len(story["suppressed_cells"]) - len(story["cards"])
    if hidden > 0:
        verb = inflect(hidden, "column is", "columns are")
        blocks.append(Paragraph(f"{number(hidden)} more {verb} not drawn.", "quiet"))
    return blocks


def _changes_table(changes: Sequence[Fields], labels: Mapping[str, Fields]) -> TableBlock:
    """What became of each column, in words: ``97 values → 20 labels: ranges of 5 to 20``."""
    rows = []
    for change in changes:
        was, now = change["distinct_before"], change["distinct_after"]
        roles = wording.role_names(change["roles"])
        values = f"{number(was)} → {number(now)}"
        if now is None:
            values = f"{number(was)} → none"
        elif change["name"] in labels and change["action"] != wording.UNCHANGED:
            values = f"{number(was)} → {wording.labels_in_words(labels[change['name']])}"
        rows.append((change["name"], roles, change["action"], values))
    header = ("Column", "Role", "Outcome", "Values")
    return TableBlock(header, tuple(rows))


def _distribution_charts(
    cards: Sequence[Fields], changes: Mapping[str, Fields], start: int
) -> list[ChartBlock]:
    figures = []
    for index, card in enumerate(cards, start):
        caption = wording.role_names(card["roles"])
        change = changes.get(card["column"])
        if change and change["level"] is not None:
            caption += f", {wording.level_words(change['level'], change['top'])}"
        if change:
            was, now = number(change["distinct_before"]), number(change["distinct_after"])
            caption += f"; {was} → {now} values"
        caption += f"; information loss {percent(card['loss'])}; "
        if card["distance"] > 0:
            caption += f"distance between the distributions {percent(card['distance'])}"
        else:
            caption += "same distribution as before"
        figures.append(charts.chart_distribution(card, caption, index))
    return figures


def _owner_utility_blocks(record: Fields) -> list[Block]:
    certificate, story = record["certificate"], story_of(record)
    rows = []
    for measure in record.get("utility", {}).get("measures", []):
        best = "1 is best" if measure["better"] == "higher" else "0 is best"
        meaning = f"{measure['meaning']}; {best}"
        title = title_of_measure(measure["name"])
        values = (title, score(measure["value"]), number(measure.get("raw")), meaning)
        rows.append((measure["name"], values))
    maps = story["maps"]
    tables = charts.chart_pairs("two_way_tables", maps["columns"], maps["table_distance"], TABLES)
    associations = None
    if maps.get("association_before"):
        pairs = zip(maps["association_before"], maps["association_after"], strict=True)
        change = [after - before for before, after in pairs]
        associations = charts.chart_pairs(
            "associations", maps["columns"], change, ASSOCIATIONS, signed=True
        )
    blocks = [
        Heading("Utility"),
        *sample_blocks(certificate.get("sampled")),
        *_measure_blocks(("Measure", "Value", "Raw", "Meaning"), rows),
        *charts_under("Suppressed cells", charts.chart_missing_cells(story["suppressed_cells"])),
        *charts_under("Two-way tables", tables),
        *charts_under("Associations between columns", associations),
        *demand_blocks(certificate, record.get("contract", certificate.get("contract", []))),
        *preserved_blocks(
            record.get("preserved", []), certificate.get("sampled"), with_measures=True
        ),
        *_released_file_blocks(certificate),
    ]
    if record.get("warnings"):
        blocks += [Heading("Warnings", 3), ListBlock(tuple(record["warnings"]))]
    return blocks


def _exposure_blocks(record: Fields) -> list[Block]:
    before, after = record["before"], record["after"]
    blocks: list[Block] = [
        Heading("What makes people identifiable"),
        Heading("Columns that contribute most to risk", 3),
    ]
    contributions = list(before["contributions"].items())
    if contributions:
        rows = tuple((name, Share(share)) for name, share in contributions[:MOST_CONTRIBUTIONS])
        caption = (
            "Each column's contribution to the unique records of the original (Shapley value; the "
            "shares add up to the share of unique records)"
        )
        blocks.append(TableBlock(("Column", "Share"), rows, caption))
        hidden_columns = len(contributions) - MOST_CONTRIBUTIONS
        if hidden_columns > 0:
            blocks.append(
                Paragraph(f"{hidden_columns} more columns contribute the same or less.", "quiet")
            )
    else:
        blocks.append(Paragraph("There are no quasi-identifiers."))
    tables = [("before", before)]
    if not record["certificate"].get("synthetic"):
        tables.append(("after", after))
    for when, table in tables:
        blocks.append(Heading(f"Smallest sets of columns that single people out, {when}", 3))
        sets = [
            (", ".join(entry["columns"]), entry["unique_records"])
            for entry in table["exposing_sets"]
        ]
        if sets:
            blocks.append(TableBlock(("Columns", "Unique records"), tuple(sets)))
        else:
            blocks.append(Paragraph("None was found."))
    return blocks


def _alternative_blocks(alternatives: Fields | None) -> list[Block]:
    """Other nodes of the lattice; nothing where no step chose from one."""
    if alternatives is None:
        return []
    reasons, chosen_node = alternatives["reasons"], alternatives["chosen"]
    blocks: list[Block] = [Heading("Alternatives"), Paragraph(reasons["choice"])]
    chart = charts.chart_alternatives(alternatives)
    if chart is not None:
        blocks.append(chart)
    figures = ("Left out", plain_name(alternatives["objective"]).capitalize(), "Marketer risk")
    if alternatives["neighbours"]:
        rows: list[tuple[Cell, ...]] = [("as chosen", None, *_node_cells(chosen_node), "within")]
        for neighbour in alternatives["neighbours"]:
            column, option = neighbour["column"], neighbour["option"]
            direction = "finer" if neighbour["change"] < 0 else "coarser"
            budget = "within" if option["within_budget"] else "beyond"
            level = f"{direction}, level {option['levels'][column]}"
            rows.append((column, level, *_node_cells(option), budget))
        blocks.append(Heading("One level finer or coarser", 3))
        blocks.append(TableBlock(("Column", "Instead", *figures, "Budget"), tuple(rows)))
    if reasons["outlook"]:
        blocks.append(Heading("Another budget, or less risk", 3))
        blocks.append(ListBlock(tuple(reasons["outlook"])))
    front = alternatives["trade_off"]
    if len(front) > 1:
        trade_offs = front
        if len(front) > MOST_TRADE_OFFS:
            # Evenly spread, the first and the last among them.
            step = (len(front) - 1) / (MOST_TRADE_OFFS - 1)
            trade_offs = [front[round(index * step)] for index in range(MOST_TRADE_OFFS)]
        rows = []
        for option in trade_offs:
            moves = []
            for column, level in option["levels"].items():
                if level != chosen_node["levels"][column]:
                    moves.append(f"{column} {chosen_node['levels'][column]} → {level}")
            rows.append((", ".join(moves) or "as chosen", *_node_cells(option)))
        caption = "Best trade-offs within the budget: no other node has less of both"
        if len(trade_offs) < len(front):
            caption += f"; {len(trade_offs)} of {number(len(front))}"
        blocks.append(Heading("Less risk at a higher cost", 3))
        header = ("Instead of the chosen levels", *figures)
        blocks.append(TableBlock(header, tuple(rows), caption))
    return blocks


def _node_cells(node: Fields) -> tuple[Cell, ...]:
    return (node["suppressed"], score(node["score"]), Share(node["marketer_risk"], bar=False))


# Parts of both pages.


def _measure_blocks(
    header: tuple[str, ...], rows: Sequence[tuple[str, tuple[Cell, ...]]]
) -> list[Block]:
    """Measures by name: the most important ones, and the others behind a click."""
    first, further = first_and_more(rows)
    blocks: list[Block] = []
    if first:
        blocks.append(TableBlock(header, tuple(first)))
    if further:
        title = f"{len(further)} more {inflect(len(further), 'measure')}"
        blocks.append(FoldBlock(title, (TableBlock(header, tuple(further)),), unfolded=not first))
    return blocks or [Paragraph("Nothing was measured.")]


def _synthetic_blocks(synthetic: Fields | None) -> list[Block]:
    if not synthetic:
        return []
    sentence = (
        "These are synthetic records: no person of the original has a record in the file. "
        "Promises, classes and risks describe the file, not persons. What the file reveals about "
        "people is measured by attacks that compare with people who were held out."
    )
    if "learnt_from" in synthetic:
        sentence += (
            f" Trained on {number(synthetic['learnt_from'])} records of the original;"
            f" {number(synthetic['held_out'])} were held out."
        )
    return [Paragraph(sentence, "warning")]


def _released_file_blocks(certificate: Fields) -> list[Block]:
    """What a spreadsheet would run, and what released columns imply."""
    sentences = (
        wording.formulas(certificate["data"]),
        wording.implied(certificate.get("implied")),
    )
    return [Paragraph(sentence) for sentence in sentences if sentence]


def _difference_blocks(certificate: Fields) -> list[Block]:
    differences = differences_of(certificate)
    if not differences:
        return []
    return [Heading("Differences from other tools"), ListBlock(tuple(differences))]


def _missing_blocks(certificate: Fields) -> list[Block]:
    blocks: list[Block] = [Paragraph(sentence) for sentence in wording.reading(certificate)]
    rules = wording.missing_rules(certificate)
    for sentence, columns in rules:
        blocks.append(Paragraph(f"{sentence} This rule holds for {', '.join(columns)}."))
    if not rules:
        blocks.append(Paragraph("There are no quasi-identifiers, so no rule was needed."))
    return blocks
