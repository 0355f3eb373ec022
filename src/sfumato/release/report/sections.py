"""Sections that pages share: verdicts, attacks, utility, recipe, and how to verify a release."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sfumato.core.blocks import (
    Block,
    Cell,
    ChartBlock,
    CodeBlock,
    FoldBlock,
    Heading,
    ListBlock,
    Paragraph,
    Share,
    TableBlock,
    VerdictBlock,
)
from sfumato.core.fields import Fields
from sfumato.core.shape import Shape
from sfumato.core.words import (
    as_sentence,
    count_of,
    inflect,
    join_words,
    number,
    percent,
    plain_name,
    score,
)
from sfumato.release.report.attacks import (
    MOST_AT_ONCE,
    beyond_what,
    conclusion,
    rank_attacks,
    strongest_attack,
    unknown_attacks,
)
from sfumato.release.report.charts import chart_attacks
from sfumato.release.report.headline import headline
from sfumato.release.report.measures import plain_words
from sfumato.release.report.page_html import as_yaml

LONGEST_RECIPE = 60
"""Lines up to which a recipe is unfolded."""


MOST_PROMISES = 4
"""So many promises that differ in the column alone are shown one by one."""


def terms_table(entries: Iterable[tuple[Cell, ...]], *, figures: bool = False) -> TableBlock:
    """Terms and what is said of them."""
    return TableBlock(("", ""), tuple(entries), figures=figures)


def verdict_blocks(
    certificate: Fields, attacks: Fields | None, *, is_first: bool = True
) -> list[Block]:
    """The headline, every promise, and the strongest attack that goes too far. Where a decision
    comes first (not ``is_first``) it is the headline.
    """
    blocks: list[Block] = [*headline(certificate).blocks()] if is_first else []
    alone, alike = _promises_alike(certificate["verdicts"])
    blocks += [_verdict_block(verdict) for verdict in alone]
    for promise, verdicts in alike.items():
        columns = count_of(len(verdicts), "column")
        each = tuple(_verdict_block(verdict) for verdict in verdicts)
        blocks.append(VerdictBlock(True, f"{promise} of {columns} holds"))
        blocks.append(FoldBlock("each column", each))
    strongest = strongest_attack(attacks) if attacks else None
    if strongest is not None:
        shape = Shape(certificate.get("shape", Shape.TABLE))
        intruder = strongest["intruder"]
        if not intruder.startswith("somebody"):
            intruder = f"the {intruder}"
        if strongest["knows"] and len(strongest["knows"]) <= 6:
            intruder += f", who knows {', '.join(strongest['knows'])}"
        title = plain_words(strongest["attack"], shape, strongest.get("parameters"))
        sentence = percent(strongest["value"])
        if strongest["baseline"] is not None:
            sentence += f", guessing {percent(strongest['baseline'])}"
        sentence += f". {beyond_what(strongest)}; the strongest attack."
        finding = as_sentence(strongest["sentence"])
        blocks.append(VerdictBlock(False, f"{title} by {intruder}", f"{sentence} {finding}"))
    if certificate["rehearsal"]:
        blocks.append(
            Paragraph(
                "Rehearsal. The seed of this run was chosen by hand and may be guessed. Run it"
                " again without a seed before you publish anything.",
                "warning",
            )
        )
    return blocks


def _verdict_block(verdict: Fields) -> VerdictBlock:
    """One promise, what was attained, and who breaks it."""
    holds = "holds" if verdict["holds"] else "does not hold"
    sentence = f"attained {number(verdict['attained'])}"
    if verdict["sentence"]:
        sentence = f"{verdict['sentence']}. {sentence.capitalize()}"
    if verdict["required"] is not None:
        sentence += f", required {number(verdict['required'])}"
    if verdict["failing_records"]:
        records = count_of(verdict["failing_records"], "record")
        classes = count_of(verdict["failing_classes"], "class", "classes")
        sentence += f"; {records} in {classes} break it"
    return VerdictBlock(verdict["holds"], f"{verdict['promise']} {holds}", f"{sentence}.")


def _promises_alike(
    verdicts: Sequence[Fields],
) -> tuple[list[Fields], dict[str, list[Fields]]]:
    """Promises to show one by one, and those of many columns, which hold and differ in the column
    alone.
    """
    alike: dict[str, list[Fields]] = {}
    for verdict in verdicts:
        promise, about, _ = verdict["promise"].partition(" of ")
        if verdict["holds"] and about:
            alike.setdefault(promise, []).append(verdict)
    many = {promise: group for promise, group in alike.items() if len(group) > MOST_PROMISES}
    alone = []
    for verdict in verdicts:
        promise = verdict["promise"].partition(" of ")[0]
        if not verdict["holds"] or promise not in many:
            alone.append(verdict)
    return alone, many


def attack_blocks(
    attacks: Fields | None, shape: Shape, *, decided: str | None = None
) -> list[Block]:
    """The section about attacks: conclusion, unknown ones, chart, findings. ``decided`` says where
    the attacks of a decision are kept.
    """
    blocks: list[Block] = [Heading("Attacks")]
    if not attacks and decided is not None:
        blocks.append(Paragraph(decided))
        return blocks
    if not attacks:
        blocks.append(
            Paragraph(
                "Not attacked yet. `sfumato attack --certify` adds its findings to this page."
            )
        )
        return blocks
    attempts = len(attacks["tried"])
    people = count_of(attacks["looked_for"], "person", "people")
    trial = f"{count_of(attempts, 'attack')} tried on a sample of {people}."
    blocks.append(Paragraph(f"{conclusion(attacks)} {as_sentence(trial)}"))
    unknown = unknown_attacks(attacks)
    if unknown:
        blocks.append(Heading("Unknown", 3))
        blocks.append(
            Paragraph(
                "These attacks could not be tried although they might succeed. Unknown is not a "
                "pass."
            )
        )
    for attack in unknown:
        reason = attack["reason"]
        if attack.get("limit") is not None:
            reason += " The recipe limits it."
        title = f"{attack['intruder']}, {plain_name(attack['attack'])}"
        blocks.append(VerdictBlock(None, title, reason))
    chart = chart_attacks(attacks)
    if chart is not None:
        blocks.append(chart)
    ranked = rank_attacks(attacks)
    if ranked:
        blocks.append(_findings_table(ranked[:MOST_AT_ONCE], shape))
    weaker = ranked[MOST_AT_ONCE:]
    if weaker:
        title = f"{len(weaker)} weaker {inflect(len(weaker), 'attack')}"
        blocks.append(FoldBlock(title, (_findings_table(weaker, shape),)))
    inapplicable = []
    for attack in attacks["skipped"]:
        if attack.get("status") == "does not apply":
            name = plain_name(attack["attack"])
            inapplicable.append(f"{attack['intruder']}, {name}: {attack['reason']}")
    if inapplicable:
        verb = inflect(len(inapplicable), "does", "do")
        title = f"{count_of(len(inapplicable), 'attack')} {verb} not apply"
        blocks.append(FoldBlock(title, (ListBlock(tuple(inapplicable)),)))
    return blocks


def _findings_table(findings: Sequence[Fields], shape: Shape) -> TableBlock:
    rows = []
    for finding in findings:
        words = plain_words(finding["attack"], shape, finding.get("parameters"))
        sentence = as_sentence(finding["sentence"])
        if finding["exceeds"]:
            words = f"✗ {words}"
            sentence += f" {beyond_what(finding)}."
        rows.append((words, finding["intruder"], Share(finding["value"], bar=False), sentence))
    return TableBlock(("Outcome", "Intruder", "Succeeds", "Finding"), tuple(rows))


def _privacy_blocks(privacy: Fields) -> list[Block]:
    """Whether an ε is certified for the whole recipe, and what each step spends."""
    blocks: list[Block] = [Heading("Differential privacy", 3)]
    if privacy["certified"]:
        delta = f", δ = {number(privacy['delta'])}" if privacy["delta"] else ""
        blocks.append(
            Paragraph(
                f"ε = {score(privacy['epsilon'])}{delta} for the whole recipe;"
                f" {privacy['meaning']}. Nothing else that was computed from the original is shown"
                " here."
            )
        )
    else:
        blocks.append(Paragraph("No ε is certified.", "strong"))
        blocks.append(ListBlock(tuple(map(as_sentence, privacy["not_certified_because"]))))
    steps = tuple(f"`{part['step']}`: {part['means']}" for part in privacy["steps"])
    blocks.append(ListBlock(steps))
    return blocks


def demand_blocks(certificate: Fields, contract: Sequence[Fields]) -> list[Block]:
    """What the recipe demands besides promises: a certified ε, limits, and required utility."""
    blocks: list[Block] = []
    if privacy := certificate.get("differential_privacy"):
        blocks += _privacy_blocks(privacy)
    sections = (("Limits", certificate.get("limits", [])), ("Required utility", contract))
    for title, bounds in sections:
        if bounds:
            blocks.append(Heading(title, 3))
        for bound in bounds:
            sentence = bound["sentence"]
            if not bound["holds"] and not bound["refuses"]:
                sentence += " (reported, not refused)"
            blocks.append(VerdictBlock(bound["holds"], sentence))
    return blocks


def preserved_blocks(
    statistics: Sequence[Fields],
    sample: Fields | None,
    *,
    with_measures: bool,
) -> list[Block]:
    """Which statistics masking preserves; ``with_measures``: how well, which only the owner may
    see.
    """
    if not statistics:
        return []
    blocks: list[Block] = [Heading("Preserved by masking", 3)]
    if sample:
        blocks.append(Paragraph(f"Shown in a sample of {_sample_size(sample)}.", "quiet"))
    entries = []
    for statistic in statistics:
        degree = "exactly" if statistic["exactly"] else "approximately"
        entry = f"{statistic['what']} of {', '.join(statistic['columns'])}: {degree}"
        if with_measures:
            entry += f", {statistic.get('measured') or 'off by ' + score(statistic['off_by'])}"
        entries.append(entry)
    blocks.append(ListBlock(tuple(entries)))
    return blocks


def sample_blocks(sample: Fields | None) -> list[Block]:
    """That measures and attacks look at a sample."""
    if not sample:
        return []
    sentence = (
        f"Measures and attacks use a sample of {_sample_size(sample)}; promises, classes and risks"
        " use all of them."
    )
    return [Paragraph(sentence, "quiet")]


def _sample_size(sample: Fields) -> str:
    return f"{number(sample['records'])} of {number(sample['of'])} records"


def charts_under(title: str, chart: ChartBlock | None) -> list[Block]:
    """A chart below its heading, or nothing."""
    return [] if chart is None else [Heading(title, 3), chart]


def recipe_blocks(certificate: Fields, sentences: Iterable[str] = ()) -> list[Block]:
    """The recipe as people write it, and the versions of all packages."""
    recipe = as_yaml(certificate["recipe"])
    lines = len(recipe.splitlines())
    title = f"The recipe, {count_of(lines, 'line')}"
    return [
        Heading("Recipe and versions"),
        *(Paragraph(sentence) for sentence in sentences),
        FoldBlock(title, (CodeBlock(recipe, "yaml"),), unfolded=lines <= LONGEST_RECIPE),
        terms_table(certificate["versions"].items()),
    ]


def verify_blocks(certificate: Fields, files: Sequence[Fields]) -> list[Block]:
    """How whoever gets the files checks them."""
    names = join_words([*(f"`{file['file']}`" for file in files), "`certificate.json`"])
    rows: list[tuple[Cell, ...]] = [
        (f"SHA-256 of {file['file']}", f"`{file['sha256']}`") for file in files
    ]
    commitment = certificate["input_commitment"]
    value = f"`{commitment['value']}`"
    rows.append(("Fingerprint of the original", value, commitment["scheme"]))
    signature = certificate.get("signature")
    if signature:
        key = f"{signature['algorithm']}, public key `{signature['public_key']}`"
        check = "Whether it is the sender's key: `sfumato verify . --key SENDER.pub.pem`"
        rows.append(("Signature", key, check))
    else:
        unsigned = "The digests reveal changes, but not who made the certificate."
        rows.append(("Signature", "none", unsigned))
    version = certificate["versions"]["sfumato"]
    return [
        Heading("Verify this release"),
        Paragraph(f"You need not trust this page or its sender. Run, in the folder with {names}:"),
        CodeBlock(f"pip install sfumato=={version}\nsfumato verify ."),
        Paragraph(
            "It checks that files and certificate belong together, and recomputes from the files "
            "alone that each promise holds with the value given here. Whether the data are those "
            "of the original, and how much was suppressed, can only be checked with the original: "
            "`sfumato verify . --original FILE`."
        ),
        terms_table(rows),
    ]


def certificate_footer(certificate: Fields) -> str:
    """What the shared page is."""
    return (
        f"This page shows what `certificate.json` (version {certificate['sfumato_certificate']}) "
        "contains and nothing else; where they differ, the certificate counts."
    )
