"""The two pages of a release of baskets, paths, graphs or related tables: one to share, one for the
owner.
"""

from __future__ import annotations

from collections.abc import Sequence

from sfumato.core import registry
from sfumato.core.blocks import Block, Cell, Heading, ListBlock, Paragraph, TableBlock
from sfumato.core.fields import Fields
from sfumato.core.placed import PlacedStep
from sfumato.core.recipe import columns_in_recipe
from sfumato.core.shape import DATA, PEOPLE, Shape
from sfumato.core.words import as_sentence, join_words, moment, number, percent, plain_name, score
from sfumato.release.report import wording
from sfumato.release.report.attacks import attack_label, unknown_attacks
from sfumato.release.report.charts import chart_uniqueness_curves
from sfumato.release.report.measures import measure_row, plain_words, title_of
from sfumato.release.report.page_html import ReportPage
from sfumato.release.report.sections import (
    attack_blocks,
    certificate_footer,
    demand_blocks,
    preserved_blocks,
    recipe_blocks,
    terms_table,
    verdict_blocks,
    verify_blocks,
)


def shared_page(certificate: Fields) -> ReportPage:
    """What goes with the released files, from their certificate alone."""
    shape, attacks = Shape(certificate["shape"]), certificate.get("attacks")
    files = list(_files_of(certificate).values())
    names = ", ".join(file["file"] for file in files)
    figures: list[tuple[Cell, ...]] = []
    for term, count in certificate["counts"].items():
        figures.append((f"{plain_name(term)} released", count))
    figures.append(("people left out", certificate["suppressed_people"]))
    order = "The people are in the order of the original."
    if certificate["shuffled"]:
        order = "The people were shuffled and have new numbers."
    curves: list[Block] = [*chart_uniqueness_curves(None, attacks)]
    if curves:
        curves.insert(0, Heading("How much an intruder must know"))
    rows = []
    for name, value in certificate.get("utility", {}).items():
        rows.append(measure_row(name, value, shape))
    blocks = [
        *verdict_blocks(certificate, attacks),
        terms_table(figures, figures=True),
        *_change_blocks(certificate),
        Paragraph(order, "quiet"),
        *curves,
        *attack_blocks(attacks, shape),
        *_utility_blocks(rows, certificate, certificate.get("contract", [])),
        *verify_blocks(certificate, files),
        *recipe_blocks(certificate, wording.reading(certificate)),
    ]
    subtitle = f"(shape: {shape}), made {moment(certificate['created'])}"
    return ReportPage(
        title=f"Release report: {names}",
        above=f"Release report for {names} {subtitle}",
        blocks=blocks,
        below=certificate_footer(certificate),
    )


def owner_page(record: Fields) -> ReportPage:
    """What stays with the owner: before and after."""
    certificate, original = record["certificate"], record["input"]
    shape = Shape(certificate["shape"])
    attacks = certificate.get("attacks") or record.get("attacks")
    before, after = record["counts_before"], record["counts_after"]
    figures: list[tuple[Cell, ...]] = []
    for name in dict.fromkeys([*before, *after]):
        change = f"{number(before.get(name))} → {number(after.get(name))}"
        figures.append((plain_name(name), change))
    figures.append(("people left out", certificate["suppressed_people"]))
    rows = []
    for measure in (record.get("utility") or {}).get("measures", []):
        best = "1 is best" if measure["better"] == "higher" else "0 is best"
        meaning = f"{measure['meaning']}; {best}"
        rows.append((title_of(measure["name"], shape), score(measure["value"]), meaning))
    blocks = [
        Paragraph(
            "This page stays with the owner. It describes the original data and would help an"
            " intruder. Share the folder `share`, never this one.",
            "warning",
        ),
        *verdict_blocks(certificate, attacks),
        terms_table(figures, figures=True),
        Heading("Risk before and after"),
        *chart_uniqueness_curves(record.get("before"), attacks),
        _rates_before_and_after(record.get("before"), attacks, shape),
        *attack_blocks(attacks, shape),
        *_change_blocks(certificate),
        *_utility_blocks(rows, certificate, record.get("contract", [])),
        *preserved_blocks(record["preserved"], None, with_measures=True),
    ]
    if record["warnings"]:
        blocks += [Heading("Warnings", 3), ListBlock(tuple(map(as_sentence, record["warnings"])))]
    blocks.append(Heading("How the result was computed"))
    steps = wording.steps_taken({"plan": record["effort"]})
    for step, facts in steps:
        blocks += [Heading(step.capitalize(), 3), terms_table(facts)]
    if not steps:
        blocks.append(Paragraph("There was nothing to search for."))
    scores = wording.facts(record["scores"])
    if scores:
        blocks.append(terms_table(scores))
    people = f"{number(original['people'])} people"
    digest = f"`{original['sha256']}`"
    blocks += [Heading("Input"), terms_table([("Input", f"{original['name']}, {people}", digest)])]
    if record["notes"]:
        blocks.append(ListBlock(tuple(map(as_sentence, record["notes"]))))
    blocks += recipe_blocks(certificate, wording.reading(certificate))
    subtitle = f"(shape: {shape}), made {moment(certificate['created'])}"
    return ReportPage(
        title=f"Owner's report: {original['name']}",
        above=f"Owner's report for {original['name']} {subtitle}",
        blocks=blocks,
        below="Keep `lock.json` beside this page: it repeats the release byte for byte.",
    )


def _utility_blocks(
    rows: Sequence[tuple[Cell, ...]],
    certificate: Fields,
    contract: Sequence[Fields],
) -> list[Block]:
    blocks: list[Block] = [Heading("Utility")]
    if rows:
        blocks.append(TableBlock(("Measure", "Value", "Meaning"), tuple(rows)))
    else:
        blocks.append(Paragraph("Nothing was measured."))
    return [
        *blocks,
        *demand_blocks(certificate, contract),
    ]


def _change_blocks(certificate: Fields) -> list[Block]:
    """What each step did, and what became of each column."""
    blocks: list[Block] = [Heading("What changed")]
    for index, (step, words) in enumerate(describe_steps(certificate), 1):
        if words:
            sentence = f"{index}. {step}: {words}"
        else:
            sentence = f"{index}. {step}"
        blocks.append(Paragraph(as_sentence(sentence)))
    blocks.append(TableBlock(("Column", "Role", "Outcome"), tuple(_column_rows(certificate))))
    for file in _files_of(certificate).values():
        formulas = wording.formulas(file)
        if formulas:
            blocks.append(Paragraph(formulas))
    return blocks


def describe_steps(certificate: Fields) -> list[tuple[str, str]]:
    """Each step with what it did: in a sentence where it has one, else its single facts."""
    shape = Shape(certificate["shape"])
    descriptions = []
    for plan, (step, facts) in zip(
        certificate["plan"], wording.steps_taken(certificate), strict=True
    ):
        placed = registry.is_placed("steps", plan["step"], plan, shape)
        title = f"{step} in {plan['table']}" if placed else step
        member = PlacedStep if placed else registry.family("steps", shape).get(plan["step"])
        sentence: str | None = None
        if member is not None:
            try:
                sentence = member.story(plan)
            except (KeyError, TypeError, ValueError, AttributeError):
                sentence = None  # the plan was edited
        single = "; ".join(f"{term}: {text}" for term, text in facts)
        descriptions.append((title, sentence or single))
    return descriptions


def _column_rows(certificate: Fields) -> list[tuple[str, str, str]]:
    """Every column of the original: its name, its role, and what became of it."""
    files, shape = _files_of(certificate), Shape(certificate["shape"])
    rows: list[tuple[str, str, str]] = []
    for table, columns in columns_in_recipe(certificate["recipe"]).items():
        released = files.get(table, {}).get("columns", {})
        plan = [step for step in certificate["plan"] if step.get("table", table) == table]
        steps = [
            plain_name(step["step"])
            for step in plan
            if "levels" not in step and registry.is_placed("steps", step["step"], step, shape)
        ]
        levels = wording.levels_of(plan)
        for name, spec in columns.items():
            if isinstance(spec["role"], str):
                roles = [spec["role"]]
            else:
                roles = spec["role"]
            if "drop" in roles:
                outcome = "dropped: it names people"
            elif name not in released:
                outcome = "not released"
            elif {"person", "household"} & set(roles):
                outcome = "people have new numbers"
            elif "key" in roles:
                outcome = "replaced by pseudonyms"
            elif name in levels:
                outcome = wording.level_words(*levels[name])
            elif steps and "quasi" in roles:
                outcome = f"released, changed by {join_words(steps)} where necessary"
            else:
                outcome = "released"
            full_name = f"{table}.{name}" if "tables" in certificate else name
            rows.append((full_name, wording.role_names(roles), outcome))
    return list(dict.fromkeys(rows))


def _files_of(certificate: Fields) -> Fields:
    """What a certificate says of each table that was written."""
    tables: Fields | None = certificate.get("tables")
    if tables is not None:
        return tables
    return {name: certificate[name] for name in (DATA, PEOPLE) if name in certificate}


def _rates_before_and_after(before: Fields | None, after: Fields | None, shape: Shape) -> Block:
    """How often each attack succeeds before and after; where there is no rate, whether it is
    unknown.
    """
    attacks: dict[str, Fields] = {}
    for report in (after, before):
        for attack in (*(report or {}).get("tried", []), *unknown_attacks(report)):
            attacks.setdefault(attack_label(attack), attack)
    if not attacks:
        return Paragraph("No attack was tried.")
    rows = []
    for label, attack in attacks.items():
        words = plain_words(attack["attack"], shape, attack.get("parameters"))
        rates = (_rate_in(before, label), _rate_in(after, label))
        rows.append((plain_name(label), *rates, words))
    return TableBlock(("Attack", "Before", "After", "Outcome"), tuple(rows))


def _rate_in(attacks: Fields | None, label: str) -> str:
    for attack in (attacks or {}).get("tried", []):
        if attack_label(attack) == label:
            return percent(attack["value"])
    for attack in (attacks or {}).get("skipped", []):
        if attack_label(attack) == label:
            return str(attack.get("status", "unknown"))
    return "not tried"
