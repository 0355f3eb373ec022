"""The lines of the terms: what each of T1 to T10 asks of which kind of release at which tier, and
what the evidence says of it.

A tier needs every line that it asks for. What is missing in the evidence is unknown, and a line
that is unknown does not hold.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING

from sfumato.core.words import count_of, inflect, join_words, percent
from sfumato.release.decision.evidence import (
    REGISTER,
    AttackEvidence,
    AttributeEvidence,
    CompositionEvidence,
    DecisionEvidence,
    Figure,
    ReleaseKind,
    Status,
)
from sfumato.release.decision.tiers import (
    DELTA_SHARE,
    EPSILON_LIMITS,
    GRANTED,
    Tier,
    required_diversity,
    risk_limit,
)

if TYPE_CHECKING:
    from sfumato.release.decision.terms import DecisionTerms

ALL = frozenset(GRANTED)
SHARED = frozenset((Tier.CONTRACT, Tier.PUBLICATION))
PUBLIC = frozenset((Tier.PUBLICATION,))
TOLD: frozenset[Tier] = frozenset()
"""Asked for by no tier: it is told."""
RELINKED = "relinked_rows"
"""The attack by all records of a person together
(:mod:`sfumato.release.decision.relinked_rows`).
"""
MISSING = "it is not in the evidence"


@dataclasses.dataclass(frozen=True)
class Line:
    """One line of the terms, and what the evidence says of it.

    ``sentence`` says what was found; ``asked_by`` are the tiers that need the line and ``limits``
    what each of them allows the figure. Without limits the line holds or fails as ``holds`` says.
    ``attack`` and ``intruder``, or ``column``, name what it is about in the evidence.
    """

    term: str
    subject: str
    status: Status
    asked_by: frozenset[Tier]
    sentence: str
    figure: Figure | None = None
    limits: Mapping[Tier, float] = dataclasses.field(default_factory=dict)
    holds: bool | None = None
    attack: str = ""
    intruder: str = ""
    column: str = ""


def lines_of(terms: DecisionTerms, evidence: DecisionEvidence) -> Iterator[Line]:
    """All lines that a release of these kinds has, in the order of the terms."""
    kinds = frozenset(evidence.kinds)
    limits = {tier: risk_limit(tier, terms.harm) for tier in GRANTED}
    is_accounted = ReleaseKind.ACCOUNTED in kinds
    follows_people = bool(kinds & {ReleaseKind.CLASSES, ReleaseKind.PERTURBED})
    if ReleaseKind.CLASSES in kinds:
        yield _largest_risk(evidence, limits)
    if follows_people:
        yield from _mean_risk(evidence, limits, TOLD if is_accounted else ALL)
    if ReleaseKind.PERTURBED in kinds:
        yield _worst_case(evidence, limits, TOLD if is_accounted else PUBLIC)
    if ReleaseKind.DRAWN in kinds:
        yield from _copies(evidence, limits, TOLD if is_accounted else ALL)
    yield from _attributes(terms, evidence, limits)
    if follows_people:
        yield _dependence(terms, evidence)
        yield from _acquaintances(evidence, limits, TOLD if is_accounted else PUBLIC)
    yield from _composition(terms, evidence, limits)
    if follows_people:
        yield from _method(evidence, limits, TOLD if is_accounted else SHARED)
    yield _verification(evidence, is_accounted=is_accounted)
    if is_accounted:
        yield from _epsilon(evidence)


def _largest_risk(evidence: DecisionEvidence, limits: Mapping[Tier, float]) -> Line:
    """T1: nobody's class is smaller than k; a mean hides one person who is found for certain."""
    file, subject = evidence.file, "smallest class"
    if file is None or not file.smallest_class:
        reason = MISSING if file is None else "the file is empty"
        sentence = f"the {subject} is unknown: {reason}"
        return Line("T1", subject, "unknown", ALL, sentence, limits=limits)
    people = file.records if file.persons is None else file.persons
    if file.persons is None:
        unit = ("record", "records")
    else:
        unit = ("person", "people")
    sentence = (
        f"the smallest class has {count_of(file.smallest_class, *unit)}, a largest risk of"
        f" {risk_words(file.smallest_class)}"
    )
    figure = Figure.of_everybody(1 / file.smallest_class, max(1, people))
    return Line("T1", subject, "tried", ALL, sentence, figure, limits)


def _mean_risk(
    evidence: DecisionEvidence, limits: Mapping[Tier, float], asked_by: frozenset[Tier]
) -> Iterator[Line]:
    """T2: how often people are found by their quasi-identifiers, and by columns that imply them."""
    for attack, words in (
        ("linkage", "somebody who knows all quasi-identifiers finds"),
        ("probabilistic_linkage", "somebody who weighs how quasi-identifiers agree finds"),
    ):
        yield _attack_line(
            "T2", evidence, attack, "prosecutor", words=words, asked_by=asked_by, limits=limits
        )
    yield _implied_linkage(evidence, limits, asked_by)
    has_persons = evidence.file is not None and evidence.file.persons is not None
    if has_persons and ReleaseKind.CLASSES in evidence.kinds:
        yield _relinked_rows(evidence, limits, asked_by)


def _relinked_rows(
    evidence: DecisionEvidence, limits: Mapping[Tier, float], asked_by: frozenset[Tier]
) -> Line:
    """Who is found by all of their records together, put together by columns that they share."""
    entry = evidence.attack(RELINKED, "prosecutor")
    columns: tuple[str, ...] = ()
    if entry is not None and evidence.file is not None:
        columns = tuple(name for name in entry.knows if name not in evidence.file.quasi)
    words = (
        "somebody who knows the quasi-identifiers of all records of a person, which"
        f" {join_words(columns)} {inflect(len(columns), 'links', 'link')}, finds"
    )
    return _attack_line(
        "T2", evidence, RELINKED, "prosecutor", words=words, asked_by=asked_by, limits=limits
    )


def _implied_linkage(
    evidence: DecisionEvidence, limits: Mapping[Tier, float], asked_by: frozenset[Tier]
) -> Line:
    dependences, subject = evidence.dependences, "implied linkage"
    if dependences is None or dependences.status == "unknown":
        reason = MISSING if dependences is None else dependences.reason
        return Line("T2", subject, "unknown", asked_by, f"{subject} is unknown: {reason}")
    if dependences.status == "tried" and dependences.found and dependences.linkage is None:
        return Line("T2", subject, "unknown", asked_by, f"{subject} is unknown: {MISSING}")
    if dependences.status == "does not apply" or dependences.linkage is None:
        reason = dependences.reason or "no released column implies a quasi-identifier"
        sentence = f"{subject} does not apply: {reason}"
        return Line("T2", subject, "does not apply", asked_by, sentence)
    figure = dependences.linkage
    sentence = f"by columns that imply quasi-identifiers {_share_words(figure)} of people are found"
    return _figure_line("T2", subject, figure, sentence, asked_by=asked_by, limits=limits)


def _worst_case(
    evidence: DecisionEvidence, limits: Mapping[Tier, float], asked_by: frozenset[Tier]
) -> Line:
    """T3: no distance that could be learnt finds more people than the bound that was proved."""
    attack, intruder = "worst_case_linkage", "worst case"
    entry = evidence.attack(attack, intruder)
    if entry is None or entry.figure is None:
        return _without_figure("T3", attack, intruder, entry, asked_by, limits)
    sentence = (
        "it is proved that no distance that could be learnt finds more than"
        f" {percent(entry.figure.high)} of people"
    )
    line = _figure_line(
        "T3",
        attack_words(attack, intruder),
        entry.figure,
        sentence,
        asked_by=asked_by,
        limits=limits,
    )
    return dataclasses.replace(line, attack=attack, intruder=intruder)


def _copies(
    evidence: DecisionEvidence, limits: Mapping[Tier, float], asked_by: frozenset[Tier]
) -> Iterator[Line]:
    """T4: what drawn rows tell of people they were learnt from, beyond people set aside."""
    for attack, intruder, words in (
        ("copied_records", "prosecutor", "beyond chance, drawn rows copy"),
        ("near_copies", "prosecutor", "beyond chance, drawn rows nearly copy"),
        ("membership", "journalist", "beyond chance, it is found out of their taking part for"),
    ):
        yield _attack_line(
            "T4", evidence, attack, intruder, words=words, asked_by=asked_by, limits=limits
        )


def _attributes(
    terms: DecisionTerms, evidence: DecisionEvidence, limits: Mapping[Tier, float]
) -> Iterator[Line]:
    """T5: what the own record adds to what can be guessed of a sensitive column."""
    if not evidence.sensitive:
        sentence = "attribute risk does not apply: no sensitive column was released"
        yield Line("T5", "attribute risk", "does not apply", ALL, sentence)
    entries = {entry.column: entry for entry in evidence.attributes}
    for column in evidence.sensitive:
        for line in _attribute_lines(terms, evidence, column, entries.get(column), limits):
            yield dataclasses.replace(line, column=column)


def _attribute_lines(
    terms: DecisionTerms,
    evidence: DecisionEvidence,
    column: str,
    entry: AttributeEvidence | None,
    limits: Mapping[Tier, float],
) -> Iterator[Line]:
    """The lines of one sensitive column."""
    subject = f"attribute risk of {column}"
    if entry is None or entry.status == "unknown":
        reason = MISSING if entry is None else entry.reason
        sentence = f"{subject} is unknown: {reason}"
        yield Line("T5", subject, "unknown", ALL, sentence, limits=limits)
    elif entry.status == "does not apply":
        sentence = f"{subject} does not apply: {entry.reason}"
        yield Line("T5", subject, "does not apply", ALL, sentence)
    else:
        yield from _own_record(entry, subject, limits)
        if ReleaseKind.CLASSES in evidence.kinds:
            yield from _certain_disclosure(terms, entry, limits)


def _own_record(
    entry: AttributeEvidence, subject: str, limits: Mapping[Tier, float]
) -> Iterator[Line]:
    """R of all people, and of those whose value is not the most frequent one."""
    risks = (
        (entry.risk, ""),
        (entry.uncommon_risk, ", for people whose value is not the most frequent one"),
    )
    for figure, people in risks:
        if figure is None:
            if entry.uncommon_people:
                sentence = f"{subject} where it is uncommon is unknown: {MISSING}"
                yield Line("T5", subject, "unknown", ALL, sentence, limits=limits)
            continue
        sentence = (
            f"their own record adds {_share_words(figure)} to what can be guessed of"
            f" {entry.column}{people}"
        )
        if figure is entry.risk:
            name = subject
        else:
            name = f"{subject} where it is uncommon"
        yield _figure_line("T5", name, figure, sentence, asked_by=ALL, limits=limits)


def _certain_disclosure(
    terms: DecisionTerms, entry: AttributeEvidence, limits: Mapping[Tier, float]
) -> Iterator[Line]:
    """Values that are read off a class: nobody's for publication, of at most ρ of people else."""
    certain, subject = entry.certain, f"certain disclosure of {entry.column}"
    if certain is None:
        yield Line("T5", subject, "unknown", ALL, f"{subject} is unknown: {MISSING}")
        return
    people = max(1, certain.people)
    if certain.one_value:
        whose = count_of(certain.one_value, "person", "people")
    else:
        whose = "nobody"
    sentence = f"the class alone tells the {entry.column} of {whose}"
    yield _figure_line(
        "T5",
        subject,
        Figure.of_everybody(certain.one_value / people, people),
        sentence,
        asked_by=ALL,
        limits={**limits, Tier.PUBLICATION: 0.0},
    )
    diversity = required_diversity(terms.harm, entry.distinct)
    if diversity < 3:
        return
    # At high harm two values in a class are too few for publication.
    words = inflect(certain.two_values, "belongs to a class", "belong to classes")
    yield _figure_line(
        "T5",
        f"diversity of {entry.column}",
        Figure.of_everybody(certain.two_values / people, people),
        f"{count_of(certain.two_values, 'person', 'people')} {words} with fewer than {diversity}"
        f" values of {entry.column}",
        asked_by=PUBLIC,
        limits={Tier.PUBLICATION: 0.0},
    )


def _dependence(terms: DecisionTerms, evidence: DecisionEvidence) -> Line:
    """T6: no released column undoes the classes, but for what the owner takes on."""
    dependences, subject = evidence.dependences, "dependence"
    if dependences is None or dependences.status == "unknown":
        reason = MISSING if dependences is None else dependences.reason
        return Line("T6", subject, "unknown", ALL, f"{subject} is unknown: {reason}")
    if dependences.status == "does not apply":
        sentence = f"{subject} does not apply: {dependences.reason}"
        return Line("T6", subject, "does not apply", ALL, sentence)
    accepted = {(column, pair.implies) for pair in terms.accepted for column in pair.columns}
    # What the terms do not accept, the owner did not take on, whatever the evidence says.
    hidden = [pair for pair in dependences.taken_on if not _is_accepted(pair, accepted)]
    refused = [*dependences.refused, *hidden]
    if not refused:
        sentence = f"no released column undoes the classes ({dependences.compared:,} pairs)"
        return Line("T6", subject, "tried", ALL, sentence, holds=True)
    sentence = f"columns undo the classes: {join_words(refused)}"
    return Line("T6", subject, "tried", ALL, sentence, dependences.linkage, holds=False)


def _is_accepted(pair: str, accepted: Collection[tuple[str, str]]) -> bool:
    """Whether the terms accept a dependence: of a sum every column of it.

    >>> accepted = {("ward", "age"), ("cost", "age")}
    >>> [_is_accepted(pair, accepted) for pair in ("cost, ward → age", "ward → zip", "sum → age")]
    [True, False, False]
    """
    columns, _, quasi = pair.rpartition(" → ")
    if (columns, quasi) in accepted:
        return True
    return all((column, quasi) in accepted for column in columns.split(", "))


def _acquaintances(
    evidence: DecisionEvidence, limits: Mapping[Tier, float], asked_by: frozenset[Tier]
) -> Iterator[Line]:
    """T7: people who know some of the columns, whatever their role."""
    for intruder in ("neighbour", "colleague"):
        entry = evidence.attack("linkage", intruder)
        known = len(entry.knows) if entry is not None else 0
        words = f"a {intruder} who knows {count_of(known, 'column')} finds"
        yield _attack_line(
            "T7", evidence, "linkage", intruder, words=words, asked_by=asked_by, limits=limits
        )


def _composition(
    terms: DecisionTerms, evidence: DecisionEvidence, limits: Mapping[Tier, float]
) -> Iterator[Line]:
    """T8: what it tells together with earlier releases of the same people."""
    missing = evidence.earlier - len(evidence.compositions)
    # Beside a release of other people nothing is known of these; a register knows that it has none.
    known = [
        entry
        for entry in evidence.compositions
        if entry.status != "does not apply" or entry.release == REGISTER
    ]
    if missing > 0:
        sentence = (
            f"{count_of(missing, 'comparison')} with earlier releases of these people"
            f" {inflect(missing, 'is', 'are')} not in the evidence"
        )
        yield Line("T8", "composition", "unknown", SHARED, sentence)
    elif not known and terms.first_release is None:
        sentence = "whether these people were released before is not said"
        yield Line("T8", "composition", "unknown", SHARED, sentence)
    elif not known:
        # The owner's word, printed with the decision; a release that is known would contradict it.
        sentence = "the first release of these people, as its owner says"
        yield Line("T8", "composition", "tried", SHARED, sentence, holds=True)
    for entry in evidence.compositions:
        yield _composed(entry, limits)


def _composed(entry: CompositionEvidence, limits: Mapping[Tier, float]) -> Line:
    subject = f"composition with {entry.release}"
    if entry.figure is None:
        verb = "is unknown" if entry.status == "unknown" else entry.status
        sentence = f"{subject} {verb}: {entry.reason}"
        return Line("T8", subject, entry.status, SHARED, sentence, limits=limits)
    sentence = f"together with {entry.release} it reveals {_share_words(entry.figure)} of people"
    return _figure_line("T8", subject, entry.figure, sentence, asked_by=SHARED, limits=limits)


def _method(
    evidence: DecisionEvidence, limits: Mapping[Tier, float], asked_by: frozenset[Tier]
) -> Iterator[Line]:
    """T9: what somebody finds who knows how the release was made."""
    for attack, words in (
        ("transparency", "somebody who knows the method finds"),
        ("minimality", "somebody who knows that no more was changed than needed finds a value of"),
        ("downcoding", "somebody who reverses the generalisation finds values of"),
    ):
        yield _attack_line(
            "T9", evidence, attack, "worst case", words=words, asked_by=asked_by, limits=limits
        )


def _verification(evidence: DecisionEvidence, *, is_accounted: bool) -> Line:
    """T10: the written folder is what its certificate says, compared with the original."""
    verification, subject = evidence.verification, "verification"
    if verification is None or not verification.with_original:
        if verification is None:
            reason = MISSING
        else:
            reason = "it was not compared with the original"
        return Line("T10", subject, "unknown", ALL, f"{subject} is unknown: {reason}")
    if verification.failing:
        sentence = f"the written folder fails: {join_words(verification.failing)}"
        return Line("T10", subject, "tried", ALL, sentence, holds=False)
    # Steps that account for an ε draw coins that nobody keeps: they cannot be repeated.
    if verification.made_again is None and not is_accounted:
        sentence = "whether recipe and seed give the written rows is not known"
        return Line("T10", subject, "unknown", ALL, sentence)
    if verification.made_again is False:
        sentence = "recipe and seed do not give the written rows"
        return Line("T10", subject, "tried", ALL, sentence, holds=False)
    if verification.open_promises:
        sentence = f"not verified: {join_words(verification.open_promises)}"
        return Line("T10", subject, "unknown", ALL, sentence)
    sentence = "the written folder was verified against the original"
    return Line("T10", subject, "tried", ALL, sentence, holds=True)


def _epsilon(evidence: DecisionEvidence) -> Iterator[Line]:
    """The limits of an accounted release: ε and δ for one person."""
    account = evidence.epsilon
    if account is None or not account.per_person:
        if account is None:
            reason = MISSING
        else:
            reason = "it is about one record, not about one person"
        yield Line("ε", "ε", "unknown", ALL, f"ε is unknown: {reason}")
        return
    for tier, limit in EPSILON_LIMITS.items():
        yield Line(
            "ε",
            "ε",
            "tried",
            frozenset((tier,)),
            f"ε = {account.epsilon:g} for one person, limit {limit:g}",
            holds=account.epsilon <= limit,
        )
    if account.delta and account.public_people is None:
        sentence = "δ is unknown beside the number of people, which is not public"
        yield Line("ε", "δ", "unknown", ALL, sentence)
    elif account.delta:
        people = max(1, account.public_people or 0)
        limit = 1 / (DELTA_SHARE * people)
        sentence = f"δ = {account.delta:g} for {people:,} people, limit {limit:g}"
        yield Line("ε", "δ", "tried", ALL, sentence, holds=account.delta <= limit)


def _attack_line(
    term: str,
    evidence: DecisionEvidence,
    attack: str,
    intruder: str,
    *,
    words: str,
    asked_by: frozenset[Tier],
    limits: Mapping[Tier, float],
) -> Line:
    """The line of an attack, whose words come before its share of people."""
    entry = evidence.attack(attack, intruder)
    if entry is None or entry.figure is None:
        return _without_figure(term, attack, intruder, entry, asked_by, limits)
    sentence = f"{words} {_share_words(entry.figure)} of people"
    subject = attack_words(attack, intruder)
    line = _figure_line(term, subject, entry.figure, sentence, asked_by=asked_by, limits=limits)
    return dataclasses.replace(line, attack=attack, intruder=intruder)


def _without_figure(
    term: str,
    attack: str,
    intruder: str,
    entry: AttackEvidence | None,
    asked_by: frozenset[Tier],
    limits: Mapping[Tier, float],
) -> Line:
    """The line of an attack that is unknown or does not apply."""
    subject = attack_words(attack, intruder)
    if entry is None:
        status: Status = "unknown"
        sentence = f"{subject} is unknown: {MISSING}"
    else:
        status = entry.status
        verb = "is unknown" if status == "unknown" else status
        sentence = f"{subject} {verb}: {entry.reason}"
    line = Line(term, subject, status, asked_by, sentence, limits=limits)
    return dataclasses.replace(line, attack=attack, intruder=intruder)


def _figure_line(
    term: str,
    subject: str,
    figure: Figure,
    sentence: str,
    *,
    asked_by: frozenset[Tier],
    limits: Mapping[Tier, float],
) -> Line:
    """The line of a figure; unknown where too few people were tried."""
    if figure.enough:
        return Line(term, subject, "tried", asked_by, sentence, figure, limits)
    reason = f"it was tried on {figure.trials:,} of {count_of(figure.of, 'person', 'people')} only"
    sentence = f"{subject} is unknown: {reason}"
    return Line(term, subject, "unknown", asked_by, sentence, limits=limits)


def attack_words(attack: str, intruder: str) -> str:
    """What an attack by an intruder is called in a sentence.

    >>> attack_words("near_copies", "prosecutor"), attack_words("linkage", "colleague")
    ('near copies', 'linkage by the colleague')
    """
    words = attack.replace("_", " ")
    if attack != "linkage":
        return words
    return f"{words} by the {intruder}"


def risk_words(k: int) -> str:
    """A risk as one in so many, with its percentage: 9 % would be less than 1 in 11.

    >>> risk_words(11)
    '1 in 11 (9.1 %)'
    """
    return f"1 in {k:,} ({percent(1 / k)})"


def _share_words(figure: Figure) -> str:
    """A share, with its upper end where it is an estimate."""
    if figure.exact:
        return percent(figure.value)
    return f"{percent(figure.value)} (up to {percent(figure.high)})"
