"""The attacks that the Article 29 Working Party names: singling out, linkability, inference, and
membership beside them.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from sfumato.core.attack import Attack, Finding, Intruder, Learns, NothingToAttack, Scene, cut_short
from sfumato.core.groups import group_starts
from sfumato.core.parameters import parameters
from sfumato.core.words import percent
from sfumato.methods.attacks.crowd import alike_records, distinct, no_secret, targets
from sfumato.methods.attacks.nearest import (
    AT_MOST,
    NO_CONTROL,
    Surroundings,
    reason_not_to_try,
    slices_of,
    surroundings,
)
from sfumato.methods.attacks.randomised_secrets import known_matrix
from sfumato.methods.attacks.rates import (
    ExcessRisk,
    Rate,
    Successes,
    area,
    told_rates,
    true_positives,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.pair import TablePair
    from sfumato.core.reading import Reading

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]


SETTLED = 3
"""Rows that satisfy a description after which no more are looked for: neither it nor its control
describes one person then.
"""
AT_FIRST = 1024
GUESS_CELLS = 4_000
"""How many cells a guess takes the time of however few rows it looks at: some 20 microseconds."""
FALSE_ALARMS = (0.01, 0.001)


# Singling out: a description taken from the release that fits exactly one person.


@parameters
class SinglingOut(Attack):
    r"""How often the cells of a released record describe exactly one person of the original, beyond
    its control.

    A predicate is the conjunction of some cells of a random released record (``columns`` of those
    the intruder knows, all where there are fewer): *age within 30–39 and zip below 478*. It singles
    out when exactly one original record satisfies it. The control asks whether it would do so had
    the record's own person not been there; the naive rate is that of cells put together at random.
    Synthetic rows are nobody's
    own: there it is asked how often a predicate fits exactly one of the people they were learnt
    from, and as the control exactly one of as many who were set aside.
    Reference: Cohen & Nissim 2020, doi:10.1073/pnas.1914598117; Giomi et al. 2023,
    doi:10.56553/popets-2023-0055.
    """

    columns: Annotated[int, Field(ge=1, description="cells in a predicate")] = 4

    name: ClassVar[str] = "singling_out"
    line: ClassVar[str] = "A description fits exactly one person"
    tried_by: ClassVar[tuple[str, ...]] = ("journalist",)

    def applies(self, scene: Scene) -> str | None:
        """None when the intruder knows a released column."""
        known_columns = [c for c in scene.intruder.knows if c in scene.pair.columns]
        if not known_columns or not len(scene.pair.released):
            return NothingToAttack("this intruder knows no column of the release")
        unheld = scene.pair.learnt_from is None or scene.held_out is None
        # Rows that follow people are their own control; drawn rows need people who were set aside.
        if unheld and not scene.pair.aligned:
            return NO_CONTROL
        return None

    def attack(self, scene: Scene) -> Finding:
        """Make predicates of random records and count whom they fit."""
        pair = scene.pair
        if not pair.aligned:
            return self._beside_held_out(scene)
        draw = scene.seed.stream("singling out")
        known_columns = [c for c in scene.intruder.knows if c in pair.columns]
        rows = draw.choice(len(pair.released), min(AT_MOST, len(pair.released)), replace=False)
        single = 0
        control = 0
        naive = 0
        trials = 0
        victims = []
        holders = {name: CellHolders(pair.reading(name)) for name in known_columns}
        width = min(self.columns, len(known_columns))
        for row in _describe_rows(scene, rows, holders.values(), self.columns):
            trials += 1
            column_numbers = draw.choice(len(known_columns), width, replace=False)
            columns = [holders[known_columns[i]] for i in np.sort(column_numbers).tolist()]
            labels = [int(c.released[row]) for c in columns]
            fit = fitting(columns, labels)
            cells = zip(columns, labels, strict=True)
            own = all(bool(column.fits(pair.rows[[row]], label)[0]) for column, label in cells)
            single += len(fit) == 1
            # The control: would the description still fit one person if this one had not taken
            # part?
            control += len(fit) - own == 1
            if len(fit) == 1:
                victims.append(int(fit[0]))
            # A random label a column: what descriptions do that know nothing of any person.
            mixed = [int(c.released[draw.integers(len(c.released))]) for c in columns]
            naive += len(fitting(columns, mixed)) == 1
        rates = Rate.of(single, trials), Rate.of(control, trials)
        risk = ExcessRisk.of(*rates)
        message = (
            f"{percent(single / trials)} of {trials:,} descriptions from released records fit "
            f"exactly one person; {percent(naive / trials)} of random descriptions "
            f"do{cut_short(trials, len(rows))}"
        )
        details = {
            **told_rates(*rates, naive / trials, trials),
            "limited_by_work": trials < len(rows),
        }
        return Finding(
            self.name,
            risk.clipped,
            message,
            risk.interval,
            victims=np.unique(np.array(victims, dtype=np.int64)),
            details=details,
            trials=trials,
        )

    def _beside_held_out(self, scene: Scene) -> Finding:
        """Count whom predicates of drawn records fit: of the people learnt from, and of as many who
        were set aside.
        """
        pair = scene.pair
        draw = scene.seed.stream("singling out")
        known_columns = [c for c in scene.intruder.knows if c in pair.columns]
        nobody = np.zeros(0, dtype=np.int64)
        learnt_from = nobody if pair.learnt_from is None else pair.learnt_from
        held_out = nobody if pair.held_out is None else pair.held_out
        groups = [learnt_from, held_out]
        size = min(map(len, groups))  # as many controls as people learnt from
        people = [np.sort(draw.choice(group, size, replace=False)) for group in groups]
        holders = []
        for rows_of_group in people:
            holders.append(
                {name: CellHolders(pair.reading(name), rows_of_group) for name in known_columns}
            )
        rows = draw.choice(len(pair.released), min(AT_MOST, len(pair.released)), replace=False)
        outcomes = []
        naive = 0
        victims = []
        width = min(self.columns, len(known_columns))
        # Three searches a trial: people learnt from, people set aside, and the random labels.
        cost = 3 * width * max(map(len, people))
        for row_number in scene.sampled(len(rows), self.name, cost=cost):
            column_numbers = np.sort(draw.choice(len(known_columns), width, replace=False))
            column_names = [known_columns[i] for i in column_numbers]
            members, outsiders = ([side[name] for name in column_names] for side in holders)
            labels = [int(column.released[rows[row_number]]) for column in members]
            fit = fitting(members, labels)
            control = fitting(outsiders, labels)
            mixed = [int(draw.choice(column.released)) for column in members]
            naive += len(fitting(members, mixed)) == 1
            outcomes.append((len(fit) == 1, len(control) == 1))
            if len(fit) == 1:
                victims.append(int(people[0][fit[0]]))
        trials = len(outcomes)
        hits = sum(hit for hit, _ in outcomes)
        control_hits = sum(hit for _, hit in outcomes)
        tally = Successes(hits, trials, control_hits, trials)
        risk = ExcessRisk.of(*tally.rates)
        message = (
            f"{percent(tally.share)} of {trials:,} descriptions from synthetic records fit exactly "
            f"one of the people used for training, {percent(tally.control_share)} exactly one of "
            f"as many people set aside; {percent(naive / trials)} of random descriptions fit "
            f"one{cut_short(trials, len(rows))}"
        )
        details = {
            **told_rates(*tally.rates, naive / trials, trials),
            "limited_by_work": trials < len(rows),
        }
        hit = np.unique(np.array(victims, dtype=np.int64))
        return Finding(
            self.name,
            risk.clipped,
            message,
            risk.interval,
            victims=hit,
            details=details,
            trials=trials,
        )


def _describe_rows(
    scene: Scene, rows: Ints, holders: Collection[CellHolders], columns: int
) -> Iterator[np.int64]:
    """The first of some released rows, as many as the work is enough for: a description is held
    against all people at most.
    """
    # Two searches a description: its own labels and the random ones.
    cost = 2 * min(columns, len(holders)) * max(len(column.original) for column in holders)
    for start, end in scene.portions(
        len(rows), cost=cost, spent=lambda: sum(column.looked_at for column in holders)
    ):
        for row in rows[start:end]:
            scene.require_time()
            yield row


class CellHolders:
    """The original rows whose value of a column a released label may stand for, found without a
    look at all rows.
    """

    def __init__(self, reading: Reading, rows: Ints | None = None) -> None:
        """Of all rows, or of ``rows``, which are then known by their place among these."""
        self.reading = reading
        self.released = reading.released
        self.looked_at = 0
        if rows is None:
            self.original = reading.original
        else:
            self.original = reading.original[rows]
        self.line = reading.scale != "category"
        # Labels such as 0.1-0.3 are read as floats; the slack keeps their ends inside.
        self.slack = 1e-9 * max(1.0, abs(reading.span))
        if self.line:
            self.codes = np.argsort(reading.places, kind="stable")
        else:
            self.codes = np.arange(len(reading.values))
        self.places = reading.places[self.codes]
        counts = np.bincount(self.original, minlength=len(reading.values))
        # starts[i] counts the rows before the i-th value in order; differences count runs of
        # values.
        self.starts = group_starts(counts[self.codes])

    @functools.cached_property
    def order(self) -> Ints:
        """The original rows by value: in the order of places on the line, of codes otherwise."""
        rank_type = np.min_scalar_type(max(1, len(self.codes)))
        rank = np.empty(len(self.codes), dtype=rank_type)
        rank[self.codes] = np.arange(len(self.codes))
        return np.argsort(rank[self.original], kind="stable")

    def spans(self, label: int) -> tuple[Ints, Ints]:
        """Where the runs of values that a label may stand for begin and end, in order."""
        reading = self.reading
        if reading.everything[label]:
            return np.array([0]), np.array([len(self.codes)])
        # A missing cell has no place on the line: what it stands for is a set of codes.
        if reading.labels[label] is None or not self.line:
            held_in_order = reading.held_by(label)[self.codes]
            is_held = np.concatenate([[False], held_in_order, [False]])
            # Padded by False: every second turn begins a run, the next one ends it.
            turns = np.flatnonzero(is_held[1:] != is_held[:-1])
            return turns[::2], turns[1::2]
        first = np.searchsorted(self.places, reading.low[label] - self.slack, "left")
        last = np.searchsorted(self.places, reading.high[label] + self.slack, "right")
        none = np.isnan(reading.low[label]) or first >= last
        if none:
            return (np.zeros(0, dtype=np.int64),) * 2
        return (np.array([first]), np.array([last]))

    def count(self, label: int) -> int:
        """How many original rows a label may stand for."""
        first, last = self.spans(label)
        return int((self.starts[last] - self.starts[first]).sum())

    def rows(self, label: int) -> Ints:
        """The original rows that a label may stand for."""
        first, last = self.spans(label)
        return slices_of(self.order, self.starts[first], self.starts[last])

    def fits(self, rows: Ints, label: int) -> NDArray[np.bool_]:
        """Which of some original rows a label may stand for."""
        reading = self.reading
        values = self.original[rows]
        self.looked_at += len(rows)
        if reading.everything[label]:
            return np.ones(len(rows), dtype=bool)
        if reading.labels[label] is None or not self.line:
            return np.asarray(reading.held_by(label)[values])
        positions = reading.places[values]
        is_above = positions >= reading.low[label] - self.slack
        is_below = positions <= reading.high[label] + self.slack
        return np.asarray(is_above & is_below)


def fitting(columns: Sequence[CellHolders], labels: Sequence[int]) -> Ints:
    """The original rows that satisfy the conjunction of some released cells; some of them, at least
    three, where there are more.

    The narrowest cell names the rows that come into question; they are looked through until it is
    settled.
    """
    # The column with fewest holders first: what it leaves is checked in the others.
    narrow = min(range(len(columns)), key=lambda c: columns[c].count(labels[c]))
    candidates = columns[narrow].rows(labels[narrow])
    checked = 0
    batches: list[Ints] = [np.zeros(0, dtype=np.int64)]
    while checked < len(candidates) and sum(map(len, batches)) < SETTLED:
        # Batches of 1024, then eight times as many: most descriptions are settled by the first.
        rows = candidates[checked : 8 * checked + AT_FIRST]
        checked = 8 * checked + AT_FIRST
        for c, (column, label) in enumerate(zip(columns, labels, strict=True)):
            if c != narrow:
                rows = rows[column.fits(rows, label)]
        batches.append(rows)
    return np.concatenate(batches)


@dataclasses.dataclass(frozen=True, eq=False)
class Half:
    """Every other column of both files, as files with a tree of their own: ``part``; ``kind_of``
    tells which of its distinct records each distinct record of all columns has. A tree over all
    columns leaves out little where half of them count nothing.
    """

    around: Surroundings
    part: Surroundings
    kind_of: Ints

    @classmethod
    def of(cls, around: Surroundings, pair: TablePair, side: int) -> Half:
        """The first, third … of the columns, or the others."""
        columns = tuple(c for c in around.files.columns if c.name in around.names[side::2])
        released_kinds = alike_records(pair, [column.name for column in columns])
        own_kinds = distinct([column.intruder for column in columns])
        files = dataclasses.replace(
            around.files, columns=columns, intruder=own_kinds, released=released_kinds
        )
        order, starts = around.by_kind
        part = Surroundings(
            files, files.plain, targets=around.targets, own=around.own, members=around.members
        )
        kind_of = np.asarray(released_kinds.kind_of[order[starts[:-1]]], dtype=np.int64)
        return cls(around, part, kind_of)

    @functools.cached_property
    def having(self) -> tuple[Ints, Ints]:
        """The distinct records of all columns in order of those of these, and where each begins."""
        amounts = np.bincount(self.kind_of, minlength=len(self.part.files.released.records))
        return np.argsort(self.kind_of, kind="stable"), group_starts(amounts)

    def met(self, other_half: Half, target: int) -> tuple[bool, bool]:
        """Whether some released record is nearest to a target by both halves: as it is, and without
        the target's own.
        """
        released_kinds = self.around.files.released
        own = int(released_kinds.kind_of[self.around.own[target]])
        near, near_without_own = self.part.near(target, np.ones(len(self.part.names)))
        other_near, other_without_own = other_half.part.near(
            target, np.ones(len(other_half.part.names))
        )
        matches = self._common_rows(other_half, near[1], other_near[1])
        is_met = bool(len(matches))
        # Equal records of others stay in the release when the person's own is taken out.
        if released_kinds.records[own] > 1:  # another person has the same record
            return is_met, is_met
        others = self._common_rows(other_half, near_without_own[1], other_without_own[1])
        return is_met, bool((others != own).any())

    def meets(self, other_half: Half, target: int) -> bool:
        """Whether some released record is nearest to a target by both halves."""
        own_kinds, other_kinds = (half.part.nearest(target)[1] for half in (self, other_half))
        return bool(len(self._common_rows(other_half, own_kinds, other_kinds)))

    def _common_rows(self, other_half: Half, own_kinds: Ints, other_kinds: Ints) -> Ints:
        """The distinct records of all columns that have one of these here and one of those
        there.
        """
        order, starts = self.having
        rows = slices_of(order, starts[own_kinds], starts[own_kinds + 1])
        return np.asarray(rows[np.isin(other_half.kind_of[rows], other_kinds)])


@parameters
class Linkability(Attack):
    r"""How often two halves of what is known about a person meet in one released record, beyond
    chance.

    The columns an intruder knows are split in two files (every other column). A person's halves are
    *linked* when some released record is nearest to both. The control repeats this with the
    person's own record taken out of the release;
    :math:`R = (r_a - r_c)/(1 - r_c)` is the risk, with the error of both rates (95 %). Where rows
    were redrawn the control are people who were set aside.
    Reference: Giomi et al. 2023, doi:10.56553/popets-2023-0055 (control group there: people who did
    not take part).
    """

    name: ClassVar[str] = "linkability"
    line: ClassVar[str] = "Two files about one person are linked through the release"
    tried_by: ClassVar[tuple[str, ...]] = ("colleague",)
    turn: ClassVar[int] = 2

    def applies(self, scene: Scene) -> str | None:
        """None when there are two columns to split and someone to link."""
        known_columns = [c for c in scene.intruder.knows if c in scene.pair.released.columns]
        if len(known_columns) < 2:
            return NothingToAttack("linking two files needs two known columns")
        return reason_not_to_try(scene)

    def attack(self, scene: Scene) -> Finding:
        """Link both halves through the release, with and without the person's own record."""
        around = surroundings(scene, self.name)
        halves = Half.of(around, scene.pair, 0), Half.of(around, scene.pair, 1)
        if not scene.pair.aligned:
            tally = around.tally(
                scene, self.name, lambda target: halves[0].meets(halves[1], target)
            )
            message = "two files about the same people meet in one synthetic record"
            return beside(
                self.name, message, tally, 1 / len(scene.pair.released), len(around.targets)
            )
        parts = [half.part for half in halves]
        people = scene.sampled(
            len(around.targets),
            self.name,
            cost=around.full_cost,
            spent=lambda: sum(part.spent for part in parts),
        )
        met = [halves[0].met(halves[1], target) for target in people]
        linked = sum(outcome for outcome, _ in met)
        control = sum(outcome for _, outcome in met)
        trials = len(met)
        rates = Rate.of(linked, trials), Rate.of(control, trials)
        risk = ExcessRisk.of(*rates)
        message = (
            "two files about the same people meet in one released record for"
            f" {percent(linked / trials)} of {trials:,} people, for {percent(control / trials)}"
            f" without their own record{cut_short(trials, len(around.targets))}"
        )
        # Somebody who picks a released record at random meets the right one so often.
        guess = 1 / len(scene.pair.released)
        details = {
            **told_rates(*rates, guess, trials),
            "limited_by_work": trials < len(around.targets),
        }
        return Finding(
            self.name, risk.clipped, message, risk.interval, details=details, trials=trials
        )


# Inference: a secret is guessed from the nearest released record.


@parameters
class Inference(Attack):
    r"""How often a sensitive value is guessed from the nearest released records, beyond what the
    person's own record changes.

    The guess is the most frequent label among the nearest records (the mean, for numbers; the
    likeliest value, where the column was randomised with a known matrix and that gives more). It is
    right when the original value is the label or below it, for numbers within ``tolerance`` of the
    column's range. The control guesses with the person's own record taken
    out: what can be said about everyone is no breach of anyone. :math:`R = (r_a-r_c)/(1-r_c)`. The
    worst column counts; where none is certainly beyond its control, one counts first of which
    nothing is known, as its control succeeds for nearly everyone. Where rows are synthetic the
    control are people who were set aside.
    Reference: Giomi et al. 2023, doi:10.56553/popets-2023-0055.
    """

    tolerance: Annotated[
        float, Field(ge=0, le=1, description="numbers: share of the range that counts as right")
    ] = 0.05

    name: ClassVar[str] = "inference"
    learns: ClassVar[Learns] = "attribute"
    line: ClassVar[str] = "A sensitive value is guessed from the most similar records"
    tried_by: ClassVar[tuple[str, ...]] = ("colleague",)
    turn: ClassVar[int] = 2

    def applies(self, scene: Scene) -> str | None:
        """None when there is a secret to guess and someone to guess it of."""
        if not scene.pair.aligned and self._not_knowing(scene):
            return reason_not_to_try(scene)
        return no_secret(scene) or reason_not_to_try(scene)

    def attack(self, scene: Scene) -> Finding:
        """Guess every secret of every target, with and without the target's own record."""
        if not scene.pair.aligned:
            findings = []
            for column, column_scene in self._not_knowing(scene).items():
                for secret in self._secrets(column_scene, column):
                    around = surroundings(column_scene, self.name)
                    findings.append(self._beside_held_out(column_scene, around, secret))
            return worst_of(findings)
        secrets: list[_Secret] = []
        for column in targets(scene):
            secrets += self._secrets(scene, column)
        return worst_of(self._guessed(scene, surroundings(scene, self.name), secrets))

    def _not_knowing(self, scene: Scene) -> dict[str, Scene]:
        """Per sensitive column the scene of an intruder who knows all that this one does but that
        column.

        Nobody has an own record among drawn rows: so who knows a secret already still tells whether
        it could be guessed.
        """
        pair = scene.pair
        intruder = scene.intruder
        scenes = {}
        for column in pair.original.schema.sensitive:
            knows = tuple(name for name in intruder.knows if name != column)
            if column in pair.released.columns and set(knows) & set(pair.columns):
                weaker = Intruder(intruder.file, knows, intruder.truth, intruder.sampled)
                scenes[column] = dataclasses.replace(scene, intruder=weaker)
        return scenes

    def _secrets(self, scene: Scene, column: str) -> Iterator[_Secret]:
        """A column by what was released of it, and by what that makes likely where a transition
        matrix is known.
        """
        reading = scene.pair.reading(column)
        yield _Secret(reading, reading.released, self.tolerance)
        matrix = None
        if reading.scale == "category":
            matrix = known_matrix(scene, column)
        if matrix is not None:
            yield _Secret(reading, reading.released, self.tolerance, matrix.beliefs)

    def _guessed(
        self, scene: Scene, around: Surroundings, secrets: Sequence[_Secret]
    ) -> list[Finding]:
        """Per secret how often it is guessed of the same people, each of whom is looked up once."""
        alike = np.ones(len(around.names))
        attacked = list[int]()
        looked_at = list[int]()
        people = scene.intruder.truth[around.targets]
        values = [secret.reading.original[people].tolist() for secret in secrets]
        hits = np.zeros((len(secrets), 2), dtype=np.int64)
        targeted = scene.sampled(
            len(around.targets),
            self.name,
            cost=around.full_cost,
            spent=lambda: around.spent + sum(looked_at),
        )
        for target in targeted:
            attacked.append(target)
            for without, (_, kinds) in enumerate(around.near(target, alike)):
                rows = around.rows(kinds)
                own = int(around.own[target]) if without else None
                looked_at.append(sum(secret.guess_cost(len(rows)) for secret in secrets))
                for number, secret in enumerate(secrets):
                    guess = secret.guess(rows, own)
                    hits[number, without] += secret.right(guess, values[number][target])
        findings = []
        for number, secret in enumerate(secrets):
            guessed = [values[number][target] for target in attacked]
            right, control = hits[number].tolist()
            findings.append(self._describe_secret(around, secret, guessed, right, control))
        return findings

    def _describe_secret(
        self, around: Surroundings, secret: _Secret, values: list[int], right: int, control: int
    ) -> Finding:
        """What comes of so many right guesses of people with these values, with and without their
        own record.
        """
        column = secret.reading.name
        trials = len(values)
        rates = Rate.of(right, trials), Rate.of(control, trials)
        common = secret.guess(np.arange(len(secret.released)), None)
        naive = float(np.mean([secret.right(common, value) for value in values]))
        risk = ExcessRisk.of(*rates)
        message = (
            f"{column} is guessed correctly for {percent(right / trials)} of {trials:,} people, "
            f"for {percent(control / trials)} without their own record; baseline (always the most "
            "common value): "
            f"{percent(naive)}"
            f"{'' if secret.beliefs is None else '; by the known transition matrix'}"
            f"{cut_short(trials, len(around.targets))}"
        )
        details = {
            **told_rates(*rates, naive, trials),
            "column": column,
            "matrix": secret.beliefs is not None,
            "limited_by_work": trials < len(around.targets),
        }
        return Finding(
            self.name, risk.clipped, message, risk.interval, details=details, trials=trials
        )

    def _beside_held_out(self, scene: Scene, around: Surroundings, secret: _Secret) -> Finding:
        """The guesses of a secret from drawn records: of people they were learnt from, and of such
        as were set aside.
        """
        values = secret.reading.original[scene.intruder.truth[around.targets]].tolist()

        def right(target: int) -> bool:
            rows = around.rows(around.nearest(target)[1])
            return secret.right(secret.guess(rows, None), values[target])

        tally = around.tally(scene, self.name, right)
        common = secret.guess(np.arange(len(secret.released)), None)
        naive = float(np.mean([secret.right(common, value) for value in values[: around.members]]))
        column = secret.reading.name
        message = (
            f"{column} is guessed correctly by the nearest synthetic records (baseline, always the "
            f"most common value: {percent(naive)})"
        )
        return beside(
            self.name,
            message,
            tally,
            naive,
            len(around.targets),
            column=column,
            matrix=secret.beliefs is not None,
        )


def beside(
    name: str, message: str, tally: Successes, naive: float, planned_trials: int, **details: Any
) -> Finding:
    """What was found on people that drawn rows were learnt from, beside those who were set
    aside.
    """
    rates = tally.rates
    trials = tally.trials + tally.control_trials
    risk = ExcessRisk.of(*rates)
    sentence = (
        f"{message}: for {percent(tally.share)} of {tally.trials:,} people used for training, for "
        f"{percent(tally.control_share)} of {tally.control_trials:,} people set "
        f"aside{cut_short(trials, planned_trials)}"
    )
    facts = {**told_rates(*rates, naive, tally.trials), "controls": tally.control_trials, **details}
    facts["limited_by_work"] = trials < planned_trials
    return Finding(name, risk.clipped, sentence, risk.interval, details=facts, trials=tally.trials)


def worst_of(findings: Sequence[Finding]) -> Finding:
    """The finding that counts: the largest of those that are certain, else one that is not defined,
    else the largest.
    """
    return max(
        findings,
        key=lambda f: (f.undefined is None and f.certain, f.undefined is not None, f.value),
    )


@dataclasses.dataclass(frozen=True, eq=False)
class _Secret:
    """A sensitive column: its released labels by row, and when a guess is right.

    With ``beliefs`` (how likely each label stands for each value) values are guessed, otherwise
    labels.
    """

    reading: Reading
    released: Ints
    tolerance: float
    beliefs: Floats | None = None

    def guess(self, rows: Ints, own: int | None) -> float | None:
        """The mean place, the most frequent label or the likeliest value among released rows, but
        for one's own.
        """
        labels = self.released[rows if own is None else rows[rows != own]]
        if not len(labels):
            return None
        if self.reading.scale != "category":
            positions = self._middle[labels]
            if np.isnan(positions).all():
                return None
            return float(np.nanmean(positions))
        if self.beliefs is None:
            return float(np.bincount(labels).argmax())
        counts = np.bincount(labels, minlength=len(self.reading.labels))
        return float((counts @ self.beliefs).argmax())

    @functools.cached_property
    def _middle(self) -> Floats:
        """Per label the middle of what it stands for, worked out once and not for every guess."""
        return self.reading.middle

    def guess_cost(self, rows: int) -> int:
        """Cells that a guess from so many rows looks at, by the time they take."""
        if self.reading.scale != "category":
            return GUESS_CELLS + rows
        if self.beliefs is None:
            tallied = len(self.reading.labels)
        else:
            tallied = self.beliefs.size
        return GUESS_CELLS + rows + tallied

    def right(self, guess: float | None, value: int) -> bool:
        """Whether a guess is right for an original value, given by code."""
        if guess is None:
            return False
        if self.beliefs is not None:
            return value == int(guess)
        if self.reading.scale != "category":
            far = abs(guess - float(self.reading.places[value]))
            return bool(far <= self.tolerance * self.reading.span + 1e-12)
        return self.reading.fits(value, int(guess)) and not bool(
            self.reading.everything[int(guess)]
        )


# Membership: was this person in the table?


@parameters
class Membership(Attack):
    r"""How well being near a released record tells that a person took part.

    The score of a person is the distance to the nearest released record. Members have their own
    record in the release; the control is the same people with it taken out; where rows were drawn
    again, people who were set aside before. At a share ``false_alarms`` of false alarms,

    .. math:: \text{advantage} = \text{TPR} - \text{FPR}

    is the value: averages hide the few who are exposed, so it is taken at few false alarms (Carlini
    et al. 2022, doi:10.1109/SP46214.2022.9833649). ``details`` hold the true positive rates at 1 %
    and 0.1 % and the area under the curve.
    """

    false_alarms: Annotated[
        float,
        Field(gt=0, lt=1, description="share of non-members that may be mistaken for members"),
    ] = 0.01

    name: ClassVar[str] = "membership"
    line: ClassVar[str] = "Whether a person is in the table at all is detected"
    tried_by: ClassVar[tuple[str, ...]] = ("journalist",)

    def applies(self, scene: Scene) -> str | None:
        """None when someone the intruder knows was released."""
        return reason_not_to_try(scene)

    def attack(self, scene: Scene) -> Finding:
        """Score members and the same people as if they had not taken part."""
        members, non_members, planned_trials = self._scores(scene)
        hits = {
            share: true_positives(members, non_members, share)
            for share in (self.false_alarms, *FALSE_ALARMS)
        }
        caught, alarms = hits[self.false_alarms]
        rate = Rate.of(caught * len(members), len(members))
        message = (
            f"{percent(caught)} of {len(members):,} people are recognised as members at"
            f" {percent(alarms)} false alarms; the area under the curve is"
            f" {area(members, non_members):.3f} (0.5: no better than a"
            f" coin){cut_short(len(members), planned_trials)}"
        )
        details: dict[str, Any] = {
            f"true_positives_at_{share:g}": hits[share][0] for share in FALSE_ALARMS
        }
        details["limited_by_work"] = len(members) < planned_trials
        # The advantage over a coin with as many false alarms.
        value = max(0.0, caught - alarms)
        low_advantage = rate.centre - rate.error - alarms
        high_advantage = rate.centre + rate.error - alarms
        interval = (max(0.0, low_advantage), min(1.0, max(value, high_advantage)))
        details["area_under_curve"] = area(members, non_members)
        if not scene.pair.aligned:
            message += (
                f"; {percent(hits[FALSE_ALARMS[1]][0])} at no more than {percent(FALSE_ALARMS[1])}"
                f" (of {len(non_members):,} people set aside)"
            )
            interval = min(interval[0], value), interval[1]
        return Finding(self.name, value, message, interval, details=details, trials=len(members))

    def _scores(self, scene: Scene) -> tuple[Floats, Floats, int]:
        """How far members and their control are from the release, and how many members were to be
        looked at.
        """
        if not scene.pair.aligned:
            around = surroundings(scene, self.name, len(scene.intruder.truth))
            distances: dict[bool, list[float]] = {True: [], False: []}
            for target in around.sampled(scene, self.name):
                is_member = target < around.members
                distances[is_member].append(around.nearest(target)[0])
            return np.array(distances[True]), np.array(distances[False]), around.members
        around = surroundings(scene, self.name)
        members = np.full(len(around.targets), np.nan)
        non_members = np.full(len(around.targets), np.nan)
        alike = np.ones(len(around.names))
        for target in around.sampled(scene, self.name):
            (members[target], _), (non_members[target], _) = around.near(target, alike)
        has_score = ~np.isnan(members)
        return members[has_score], non_members[has_score], len(has_score)
