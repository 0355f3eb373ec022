"""Named intruders: what each knows, and what each tries on a release before someone else does."""

from __future__ import annotations

import dataclasses
import functools
import math
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import polars as pl

from sfumato.core import registry
from sfumato.core.attack import NOT_IN_FILE, USUAL_RATE, Attack, Finding, Intruder, NothingToAttack, Scene, now
from sfumato.core.choices import required_fields
from sfumato.core.data import DataPair
from sfumato.core.encoding import require_same_codes
from sfumato.core.limits import limits_of, plain_limits
from sfumato.core.notebook import html_headline, html_list, html_table
from sfumato.core.parameters import label_of, values_of, words_of
from sfumato.core.progress import Progress, silent
from sfumato.core.randomness import Seed
from sfumato.core.schema import Role, Schema
from sfumato.errors import InternalError, ParameterError, SchemaError, SfumatoError, did_you_mean
from sfumato.release.evaluation import require_same_shape
from sfumato.release.report.attacks import attack_chart_on_white, attack_label, conclusion, ranked

if TYPE_CHECKING:
    import altair as alt

    from sfumato.core.dataset import Dataset
    from sfumato.core.model import Model
    from sfumato.core.pair import Pair
    from sfumato.core.shape import Shape
    from sfumato.core.source import Source
    from sfumato.core.step import Step


# What all intruders together found.


@dataclasses.dataclass(frozen=True)
class Tried:
    """One attack of one intruder. ``limit`` is what the recipe allows; ``threshold`` holds where it says nothing."""

    intruder: str
    knows: tuple[str, ...]
    finding: Finding
    threshold: float
    limit: float | None = None

    @property
    def exceeds(self) -> bool:
        """Whether the attack succeeds more often than the recipe allows, or takes more beyond guessing than the threshold.

        Where the recipe says nothing, a rate whose interval includes what guessing gives is no finding.
        """
        if self.limit is not None:
            return self.finding.value > self.limit + 1e-12
        return self.finding.certain and self.finding.beyond_guessing > self.threshold + 1e-12

    def to_dict(self) -> dict[str, Any]:
        """As plain data, without who the victims are."""
        facts = {"intruder": self.intruder, "knows": list(self.knows), "threshold": self.threshold, "limit": self.limit}
        return {**facts, "exceeds": self.exceeds, **self.finding.to_dict()}


@dataclasses.dataclass(frozen=True)
class Skipped:
    """An attack that was not carried out, and why; ``limit`` is what the recipe allows it.

    Its outcome is **unknown**, unless there is nothing of its kind to attack (:class:`NothingToAttack`): unknown is not a pass.
    """

    intruder: str
    attack: str
    reason: str
    limit: float | None = None
    parameters: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    @property
    def label(self) -> str:
        """The attack, with its parameters as a recipe writes them."""
        return label_of(self.attack, self.parameters)

    @property
    def words(self) -> str:
        """What the attack is called in a sentence."""
        return words_of(self.attack, self.parameters)

    @property
    def unknown(self) -> bool:
        """Whether the attack might succeed for all that is known."""
        return not isinstance(self.reason, NothingToAttack)

    @property
    def accepted(self) -> bool:
        """Whether the recipe accepts whatever an outcome of drawn rows is: no share is above 1."""
        return self.attack == "recognised_members" and self.limit is not None and self.limit >= 1

    @property
    def status(self) -> str:
        """``unknown`` or ``does not apply``."""
        return "unknown" if self.unknown else "does not apply"

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        plain = {**dataclasses.asdict(self), "reason": str(self.reason), "status": self.status}
        if not self.parameters:
            del plain["parameters"]
        return plain


@dataclasses.dataclass(frozen=True)
class AttackReport:
    """All that was tried on a release, and what could not be: ``unknown`` attacks count neither as success nor as failure."""

    name: str
    records: int
    looked_for: int
    tried: tuple[Tried, ...]
    skipped: tuple[Skipped, ...]
    seconds: float
    counted: str = "records"
    """What ``records`` counts: rows of a table, or people who are described by more than a row."""

    @property
    def unknown(self) -> tuple[Skipped, ...]:
        """The attacks that could not be tried although they might succeed."""
        return tuple(skipped for skipped in self.skipped if skipped.unknown)

    @property
    def refused(self) -> tuple[str, ...]:
        """Why the recipe's limits do not allow this release: attacks that go beyond theirs, and such that are unknown."""
        beyond = [f"{t.finding.words}: {t.finding.sentence}" for t in self.tried if t.limit is not None and t.exceeds]
        blind = [f"{s.words} is unknown: {s.reason}" for s in self.unknown if s.limit is not None and not s.accepted]
        return (*beyond, *blind)

    @property
    def worst(self) -> Tried | None:
        """The strongest attack: one that goes beyond a limit of the recipe, else the one that surely has most over guessing."""
        order = ranked(self.to_dict())
        if not order:
            return None
        first = (order[0]["intruder"], attack_label(order[0]))
        return next(t for t in self.tried if (t.intruder, t.finding.label) == first)

    def value(self, attack: str | Attack) -> float:
        """The rate of success of one attack, by the first intruder who tries it: who knows the quasi-identifiers.

        A name stands for the attack without parameters where that was tried, else for the first one of that name.
        """
        label = attack if isinstance(attack, str) else label_of(attack.name, values_of(attack))
        exact = [tried.finding for tried in self.tried if tried.finding.label == label]
        named = [tried.finding for tried in self.tried if tried.finding.attack == label]
        for finding in (*exact, *named):
            return finding.value
        for skipped in self.skipped:
            if label in (skipped.label, skipped.attack):
                raise ParameterError(f"{label!r} was not tried: {skipped.reason}")
        raise ParameterError(f"{label!r} was not tried")

    def values(self) -> dict[str, float]:
        """All rates of success; attacks are told apart by their parameters, and by the names of later intruders who try them."""
        return {name: finding.value for name, finding in self._named().items()}

    def intervals(self) -> dict[str, tuple[float, float]]:
        """Between what those rates lie that were found on a sample."""
        return {name: one.interval for name, one in self._named().items() if one.interval is not None}

    def _named(self) -> dict[str, Finding]:
        named: dict[str, Finding] = {}
        for tried in self.tried:
            name = tried.finding.label
            named[name if name not in named else f"{name} by the {tried.intruder}"] = tried.finding
        return named

    def to_dict(self) -> dict[str, Any]:
        """The report as plain data: rates and counts, nobody's row."""
        return {
            "records": self.records,
            "looked_for": self.looked_for,
            "tried": [t.to_dict() for t in self.tried],
            "skipped": [s.to_dict() for s in self.skipped],
            "seconds": round(self.seconds, 3),
        }

    def to_frame(self) -> pl.DataFrame:
        """One row an attack that was tried or is unknown (then without a value)."""
        text, share = pl.String, pl.Float64
        kinds = {
            "intruder": text,
            "attack": text,
            "value": share,
            "low": share,
            "high": share,
            "baseline": share,
        }
        kinds |= {
            "threshold": share,
            "limit": share,
            "exceeds": pl.Boolean,
            "victims": pl.Int64,
            "status": text,
            "sentence": text,
        }
        rows = [
            *map(_as_row, self.tried),
            *({**s.to_dict(), "attack": s.label, "sentence": str(s.reason)} for s in self.unknown),
        ]
        return pl.DataFrame([[row.get(key) for key in kinds] for row in rows], schema=kinds, orient="row")

    def plot(self) -> alt.LayerChart | None:
        """Every attack as a bar with its interval, what guessing gives and what is allowed; None when none was tried."""
        return attack_chart_on_white(self.to_dict())

    @property
    def headline(self) -> str:
        """How many attacks were tried on how many records, and how many are unknown."""
        unknown = f", {len(self.unknown)} unknown" if self.unknown else ""
        return f"{len(self.tried)} attacks{unknown}, {self.looked_for:,} of {self.records:,} {self.counted} looked for"

    def __str__(self) -> str:
        lines = [f"{self.name}: {self.headline}"]
        for t in self.tried:
            mark = "✗" if t.exceeds else "✓"
            lines.append(f"  {mark} {t.intruder}, {t.finding.label}: {t.finding.value:.2%}; {t.finding.sentence}")
        left = [f"  {'?' if s.unknown else '–'} {s.intruder}, {s.label}: {s.status}; {s.reason}" for s in self.skipped]
        return "\n".join([*lines, *left])

    def _repr_html_(self) -> str:
        rows = [("✗" if t.exceeds else "✓", t.intruder, *_told(t.finding)) for t in self.tried]
        rows += [("?", s.intruder, s.words, "unknown", "–", "–", str(s.reason)) for s in self.unknown]
        clear = not self.unknown and not any(t.exceeds for t in self.tried)
        head = html_headline(conclusion(self.to_dict()), good=clear and bool(self.tried))
        heads = ("", "intruder", "attack", "succeeds", "between", "guessing", "finding")
        left = [f"{s.intruder}, {s.words}: {s.reason}" for s in self.skipped if not s.unknown]
        return head + html_table(f"{self.name}: {self.headline}", heads, rows) + html_list("Does not apply:", left)


def _told(finding: Finding) -> tuple[str, str, str, str, str]:
    between = "–" if finding.interval is None else f"{finding.interval[0]:.2%} to {finding.interval[1]:.2%}"
    guess = "–" if finding.baseline is None else f"{finding.baseline:.2%}"
    return finding.words, f"{finding.value:.2%}", between, guess, finding.sentence


def _as_row(tried: Tried) -> dict[str, Any]:
    low, high = tried.finding.interval or (None, None)
    return {**tried.to_dict(), "attack": tried.finding.label, "status": "tried", "low": low, "high": high}


# What an intruder has: columns of the original itself, or a file of its own.


def intruder_from(pair: Pair, knows: Sequence[str], *, sample: int, seed: Seed) -> Intruder:
    """An intruder who took the columns from the original itself: the most anyone can know of them.

    Where rows were drawn anew, half of those looked for are people that the rows were learnt from, half such as were set aside.
    """
    pair.original.require(knows)
    draw = seed.stream("attack: whom to look for")
    groups = [np.arange(len(pair.original), dtype=np.int64)]
    if not pair.aligned and pair.learnt_from is not None and pair.held_out is not None:
        groups = [pair.learnt_from, pair.held_out]
    room = [sample // len(groups) or 1] * len(groups)
    if len(groups) == 2:  # who needs less room leaves it to the others
        room = [max(room[0], sample - len(groups[1])), max(room[1], sample - len(groups[0]))]
    some = any(len(group) > most for group, most in zip(groups, room, strict=True))
    drawn = [draw.choice(g, most, replace=False) if len(g) > most else g for g, most in zip(groups, room, strict=True)]
    rows = np.sort(np.concatenate(drawn))
    return Intruder(pair.original.take(rows), tuple(knows), rows, sampled=some)


def intruder_with(
    pair: Pair, file: Dataset, knows: Sequence[str] | None, *, by: str | None = None, aux: Dataset | None = None
) -> Intruder:
    """An intruder with a file of its own, and which original row each of its rows describes.

    ``by`` names a column that identifies people in both tables; without it a row of the file describes the only original row
    that agrees with it on every column both have, and nobody where there is none or are several. ``aux`` is a table of other people that has columns
    of both files: then the file may have nothing in common with the release.
    """
    common = [c for c in file.columns if c in pair.original.columns]
    columns = tuple(knows or [c for c in common if c in pair.released.columns and c != by])
    file.require([*columns, *([by] if by else [])])
    if not len(file):
        raise SchemaError(f"{file.source.name} has no rows: this intruder knows nobody")
    others = tuple(
        c for c in file.columns if aux is not None and c in aux.columns and c not in pair.released.columns and c != by
    )
    if not others and not [c for c in columns if c in pair.released.columns]:
        raise SchemaError(
            f"{file.source.name} and the release have no column in common that the intruder knows; a table of other people with columns of both "
            "would tell how they go together (aux)"
        )
    if not common and by is None:
        raise SchemaError(
            f"{file.source.name} and the table have no column in common; say by which both identify people"
        )
    on = [by] if by else common
    pair.original.require(on)
    for name in on:
        theirs_of, ours_of = (table.encoded(name).labels for table in (file, pair.original))
        require_same_codes(theirs_of, ours_of, name, between="the intruder's file and the table")
    places = [str(place) for place in range(len(on))]
    theirs, ours = _as_labels(file, on), _as_labels(pair.original, on).with_row_index("row")
    alone = ours.group_by(places).agg(pl.col("row").first(), pl.len().alias("rows")).filter(pl.col("rows") == 1)
    joined = theirs.join(alone, on=places, how="left", nulls_equal=True, maintain_order="left")
    truth = joined["row"].cast(pl.Int64).fill_null(NOT_IN_FILE).to_numpy()
    schema = Schema({c: pair.original.schema[c] for c in common})
    return Intruder(file.with_schema(schema), columns, np.asarray(truth, dtype=np.int64), others=others)


def renamed(file: Dataset, names: Mapping[str, str]) -> Dataset:
    """An intruder's file with columns called as in the original: ``names`` maps its names to ours."""
    file.require(names)
    taken = [ours for ours in names.values() if ours in file.columns and ours not in names]
    if taken or len(set(names.values())) < len(names):
        raise SchemaError(f"{file.source.name}: two columns would be called the same; rename one of them otherwise")
    coded = frozenset(names.get(name, name) for name in file.coded)
    return dataclasses.replace(file, frame=file.frame.rename(dict(names)), schema=Schema({}), coded=coded)


def _as_labels(table: Dataset, columns: Sequence[str]) -> pl.DataFrame:
    """Columns as the labels values are known by, numbered: 33 and 33.0 are the same, and no name is in the way."""
    encoded = [table.encoded(column) for column in columns]
    labels = [pl.Series(e.labels, dtype=pl.String).gather(e.codes) for e in encoded]
    return pl.DataFrame({str(place): series for place, series in enumerate(labels)})


# Who tries a release, what they know of people, and which attacks they try.


@dataclasses.dataclass(frozen=True)
class Profile:
    """An intruder: who it is and which columns it knows. ``attacks`` are those that say they are tried by it, by name, in turn."""

    name: str
    story: str
    knows: Callable[[Pair], tuple[str, ...]]

    everything: bool = False

    @property
    def attacks(self) -> tuple[str, ...]:
        """Names of the attacks this intruder tries, in turn; with ``everything``, all that anybody of the battery tries."""
        if self.everything:
            return tuple(dict.fromkeys(name for profile in BATTERY for name in profile.attacks))
        mine = [cls for cls in registry.attacks().values() if self.name in cls.tried_by]
        return tuple(cls.name for cls in sorted(mine, key=lambda cls: cls.turn))


def _everything_quasi(pair: Pair) -> tuple[str, ...]:
    return pair.quasi


def _three_most_exposing(pair: Pair) -> tuple[str, ...]:
    """The three quasi-identifiers with the most distinct released values: what can be seen over the fence."""
    return most_telling(pair, pair.quasi, 3)


def _five_of_any(pair: Pair) -> tuple[str, ...]:
    """The five most telling columns of any role: a colleague knows things that nobody calls quasi-identifiers.

    A survey weight that hardly anyone shares tells as much as a name, but not where records were drawn anew: those weights are multiplied
    by a number that nobody knows. Pseudonyms are left out, which nobody can know.
    """
    hidden = () if pair.aligned else pair.original.schema.columns(Role.WEIGHT)
    return most_telling(pair, [c for c in pair.columns if c not in hidden and not _pseudonymous(pair, c)], 5)


def _pseudonymous(pair: Pair, name: str) -> bool:
    """Whether a column that names people or units was released with other names than it had."""
    names = {Role.DIRECT, Role.UNIT} & set(pair.original.schema[name].roles)
    return bool(names) and not (pair.aligned and pair.truthful(name).mean() > 0.5)


def most_telling(pair: Pair, columns: Sequence[str], most: int) -> tuple[str, ...]:
    """The columns with the most entropy as released, most telling first."""
    return tuple(sorted(columns, key=lambda name: (-_entropy(pair, name), name))[:most])


def _entropy(pair: Pair, name: str) -> float:
    """The bits that a released cell of a column tells; counted once for a pair."""
    if ("entropy", name) not in pair.memo:
        counts = pair.frequencies(name)
        shares = counts / max(1, counts.sum())
        positive = shares[shares > 0]
        pair.memo["entropy", name] = float(-(positive * np.log2(positive)).sum())
    found: float = pair.memo["entropy", name]
    return found


BATTERY: tuple[Profile, ...] = (
    Profile(
        "prosecutor",
        "knows that a person is in the table, and all quasi-identifiers",
        _everything_quasi,
    ),
    Profile(
        "journalist",
        "wants any person of the population, and does not know who is in the table",
        _everything_quasi,
    ),
    Profile("neighbour", "knows the three quasi-identifiers that tell most", _three_most_exposing),
    Profile(
        "colleague",
        "knows the five columns that tell most, whatever their role",
        _five_of_any,
    ),
    Profile(
        "worst case",
        "knows everything about everyone but who is who, and how the release was made",
        _everything_quasi,
    ),
)


# Letting every intruder try every attack that applies, within a time budget they share.

DEFAULT_SECONDS = 60.0
DEFAULT_SAMPLE = 2000
"""Records an intruder looks for; rates found on a sample carry an interval."""
DEFAULT_THRESHOLD = USUAL_RATE
GRACE = 20.0
"""Seconds of computing that there are in any case, however small the budget: who uses a loop first has it compiled."""
OUT_OF_TURN = "the time budget was spent before it was its turn; give it more seconds"


def attack_release(
    pair: Pair | DataPair,
    *,
    steps: Sequence[Step] = (),
    models: Sequence[Model] = (),
    others: Sequence[Any] = (),
    population: Dataset | None = None,
    aux: Dataset | None = None,
    intruder: Intruder | None = None,
    only: Sequence[Any] | None = None,
    limits: Mapping[Any, Any] | None = None,
    threshold: float = DEFAULT_THRESHOLD,
    seconds: float = DEFAULT_SECONDS,
    clock: float = math.inf,
    sample: int | None = None,
    seed: Seed | int | str | None = None,
    progress: Progress = silent,
    on_outcome: Callable[[Tried | Skipped], object] = bool,
) -> AttackReport:
    """Let every named intruder try every attack that applies, within a time budget that they share.

    On how many people an attack is tried follows from how much work that is (:data:`sfumato.core.attack.WORK`), so that findings do not depend on the
    machine. ``seconds`` only stop: they are seconds of computing (CPU, all threads together), not of the clock, and at least 20, which the first use
    of all loops may take. What was stopped, or had no turn, is unknown. No attack takes more than half of what is left, so that others have their turn.
    ``clock`` are seconds by the clock after which no other attack is begun, for who waits at a busy machine. ``on_outcome`` is
    called with every outcome as it comes. With ``intruder`` only that one tries, everything. ``only`` are the attacks to try, by name, as in a recipe
    (``{"interval_disclosure": {"kind": "deviation"}}``) or as objects; ``limits`` says, as in a recipe, what is allowed to some of them, when tried by the first intruder who tries them. ``others`` are further releases of
    the same table (``composition``), ``population`` is a table of everyone (``unique_in_population``), ``aux`` one of other people from
    which an intruder with columns of its own learns how they go along with the release's (``other_columns_linkage``).

    Data other than a table have no named intruders: each attack says who tries it, and all share the time alike.
    """
    require_same_shape(pair.original, pair.released)
    battery: _Battery = _TableBattery() if pair.has_intruders else _DataBattery()
    battery.require_known(population=population, aux=aux, intruder=intruder, sample=sample)
    sample = DEFAULT_SAMPLE if sample is None else sample
    _require_sense(pair, seconds, sample)
    started, key = now(), Seed(0) if seed is None else Seed.of(seed)
    begun = time.monotonic()
    allowances = _allowances(limits or {}, pair.released.shape)
    limited = [attack for attack, _ in allowances]
    turns = battery.turns(pair, only, limited, intruder=intruder, sample=sample, seed=key)
    tried: list[Tried] = []
    skipped: list[Skipped] = []

    def note(outcome: Tried | Skipped) -> None:
        if isinstance(outcome, Tried):
            tried.append(outcome)
        else:
            skipped.append(outcome)
        on_outcome(outcome)

    for place, turn in enumerate(turns):
        attack = turn.attack
        progress(place / len(turns), f"{turn.intruder}: {attack.words}")
        spent = now() - started
        share, late = battery.share(seconds, spent, len(turns) - place, chosen=only is not None)
        late = late or time.monotonic() - begun > clock
        first = all(attack != earlier.attack for earlier in turns[:place])
        allowed = next((bound for other, bound in allowances if first and other == attack), None)
        parameters = values_of(attack)
        who = turn.who()
        if who is None:
            note(Skipped(turn.intruder, attack.name, _nothing_known(pair), allowed, parameters))
            continue
        scene = Scene(
            pair,
            who,
            steps=tuple(steps),
            models=tuple(models),
            others=tuple(others),
            seed=key,
            seconds=share,
            population=population,
            aux=aux,
        )
        outcome = _too_late(attack, scene) if late else _try(attack, scene)
        if isinstance(outcome, str):
            note(Skipped(turn.intruder, attack.name, outcome, allowed, parameters))
        else:
            finding = dataclasses.replace(outcome, parameters=parameters)
            note(Tried(turn.intruder, who.knows, finding, threshold, allowed))
        if intruder is None and not any(later.knows == who.knows for later in turns[place + 1 :]):
            who.memo.clear()  # what attacks of this intruder had in common may be large, and nobody needs it any more
    progress(1.0)
    looked_for = battery.looked_for(pair, intruder, sample)
    name, unit = battery.source_of(pair).name, pair.released.unit_name
    return AttackReport(name, pair.released.size, looked_for, tuple(tried), tuple(skipped), now() - started, unit)


def attack_unchanged(data: Any, *, seconds: float, **options: Any) -> AttackReport | None:
    """Data attacked as if they were released as they are; None without time."""
    if seconds <= 0:
        return None
    return attack_release(DataPair(data, data), seconds=seconds, **options)


@dataclasses.dataclass(frozen=True)
class _Turn:
    """One attack of one intruder: who it is, what it knows, and a function that gives the file it has (None: it knows nothing)."""

    intruder: str
    knows: tuple[str, ...]
    attack: Attack
    who: Callable[[], Intruder | None]


class _Battery(Protocol):
    """Who tries which attacks on a pair, in which order, and how they share the time."""

    def require_known(self, **options: Any) -> None:
        """Refuse, by name, options that such data do not know."""
        return

    def turns(self, pair: Any, only: Any, limited: Sequence[Attack], **options: Any) -> list[_Turn]:
        """Who tries what, in turn."""
        ...

    def share(self, seconds: float, spent: float, turns: int, *, chosen: bool) -> tuple[float, bool]:
        """The seconds of the next of so many turns, and whether there are none left; ``chosen``: attacks were asked for by name."""
        ...

    def looked_for(self, pair: Any, intruder: Intruder | None, sample: int) -> int:
        """How many people the intruders look for."""
        ...

    def source_of(self, pair: Any) -> Source:
        """What the report is called after."""
        ...


class _TableBattery(_Battery):
    """The named intruders of a table. Nobody takes more than half of the time that is left."""

    def turns(self, pair: Pair, only: Any, limited: Sequence[Attack], **options: Any) -> list[_Turn]:
        """Every profile with its attacks; all look for the same people, and who knows the same is the same intruder."""
        intruder: Intruder | None = options["intruder"]
        profiles = BATTERY if intruder is None else (_own(intruder),)
        known = _Intruders(pair, options["sample"], options["seed"])
        turns = []
        for profile, attack in _wanted(profiles, only, limited):
            knows = profile.knows(pair)
            who = functools.partial(known.who, knows) if intruder is None else functools.partial(_itself, intruder)
            turns.append(_Turn(profile.name, knows, attack, who))
        return turns

    def share(self, seconds: float, spent: float, turns: int, *, chosen: bool) -> tuple[float, bool]:
        """Half of what is left, all of it to the last; there are 20 seconds in any case."""
        left = max(0.0, max(seconds, GRACE) - spent)
        return (left if turns == 1 else left / 2), not left

    def looked_for(self, pair: Pair, intruder: Intruder | None, sample: int) -> int:
        """A sample of the records, or those of the intruder's own file."""
        return min(sample, len(pair.original)) if intruder is None else len(intruder.file)

    def source_of(self, pair: Pair) -> Source:
        """The released table."""
        return pair.released.source


class _DataBattery(_Battery):
    """Attacks on data other than a table: each says who tries it. All share the time alike."""

    def require_known(self, **options: Any) -> None:
        """Refuse, by name, what is only known for tables."""
        given = [name for name, value in options.items() if value is not None]
        if given:
            raise ParameterError(f"{', '.join(given)} is known for attacks on tables only; leave it out")

    def turns(self, pair: DataPair, only: Any, limited: Sequence[Attack], **options: Any) -> list[_Turn]:
        """The attacks asked for, else all that are tried by default, and those that are limited with other parameters."""
        shape = pair.original.shape
        if only is None:
            classes = registry.attacks(shape).values()
            attacks = [cls() for cls in classes if cls.by_default and not required_fields(cls)]
            attacks += [attack for attack in limited if attack not in attacks]
        else:
            attacks = [registry.asked_attack(spec, shape) for spec in only]
        everybody = Intruder(pair.original, (), np.arange(pair.original.size, dtype=np.int64))
        who = functools.partial(_itself, everybody)
        return [_Turn(attack.tried_by[0], (), attack, who) for attack in attacks]

    def share(self, seconds: float, spent: float, turns: int, *, chosen: bool) -> tuple[float, bool]:
        """The same for every attack that is left; attacks that were asked for by name are always tried."""
        left = max(0.0, seconds - spent)
        return left / turns, not left and not chosen and spent > GRACE

    def looked_for(self, pair: DataPair, intruder: Intruder | None, sample: int) -> int:
        """Everybody."""
        size: int = pair.original.size
        return size

    def source_of(self, pair: DataPair) -> Source:
        """The original data."""
        source: Source = pair.original.source
        return source


def _itself(intruder: Intruder) -> Intruder:
    return intruder


class _Intruders:
    """The named intruders of a battery: all look for the same people, and who knows the same is the same one."""

    def __init__(self, pair: Pair, sample: int, seed: Seed) -> None:
        self._pair, self._sample, self._seed = pair, sample, seed
        self._known: dict[tuple[str, ...], Intruder] = {}

    def who(self, knows: tuple[str, ...]) -> Intruder | None:
        """Who knows these columns; nobody where there is none to know."""
        if knows and knows not in self._known:
            first = next(iter(self._known.values()), None)
            self._known[knows] = (
                intruder_from(self._pair, knows, sample=self._sample, seed=self._seed)
                if first is None
                else Intruder(first.file, knows, first.truth, first.sampled)
            )
        return self._known.get(knows)


def _nothing_known(pair: Any) -> str:
    """Why an intruder knows nothing of the release."""
    there = "was released" if pair.original.schema.quasi else "is in the table"
    return NothingToAttack(f"no quasi-identifier {there}, so this intruder recognises nobody by one")


def _require_sense(pair: Pair | DataPair, seconds: float, sample: int) -> None:
    if not seconds > 0:
        raise ParameterError("the time budget of the attacks must be more than 0 seconds")
    if sample < 1:
        raise ParameterError("the intruders must look for at least one record")
    if not pair.released.size or not pair.original.size:
        raise SchemaError("there is nobody to attack: the data are empty")


def _own(intruder: Intruder) -> Profile:
    return Profile("your intruder", "has the file you gave", lambda pair: intruder.knows, everything=True)


def _allowances(limits: Mapping[Any, Any], shape: Shape) -> list[tuple[Attack, float]]:
    """The attacks that limits are about, with their parameters, and what each may reach."""
    known = registry.attacks(shape)
    several = limits_of(plain_limits(limits))
    return [(registry.measured(limit, shape), limit.bound) for limit in several if limit.name in known]


def _wanted(
    profiles: Sequence[Profile], only: Sequence[Any] | None, limited: Sequence[Attack]
) -> list[tuple[Profile, Attack]]:
    """Who tries what: the attacks asked for, or else all with their usual parameters and those that are limited with others."""
    attacks = registry.attacks()
    _require_known_intruders(attacks)
    planned = [(profile, name) for profile in profiles for name in profile.attacks]
    if only is None:
        usual: dict[str, Attack] = {name: attacks[name]() for _, name in planned}
        wanted = [(profile, usual[name]) for profile, name in planned]
        asked = [attack for attack in limited if attack not in usual.values()]
    else:
        wanted, asked = [], []
        for spec in (only,) if isinstance(only, str | Mapping | Attack) else only:
            if (attack := registry.asked_attack(spec)) not in asked:
                asked.append(attack)
    named = {name for _, name in planned}
    wanted += [(profile, attack) for profile, name in planned for attack in asked if attack.name == name]
    return wanted + [(profiles[0], attack) for attack in asked if attack.name not in named]


def _require_known_intruders(attacks: Mapping[str, type[Attack]]) -> None:
    """An attack that names an intruder nobody knows would be tried by nobody, and nobody would notice."""
    who = [profile.name for profile in BATTERY]
    for name, attack in attacks.items():
        stranger = next((one for one in attack.tried_by if one not in who), None)
        if stranger is not None or not attack.tried_by:
            problem = (
                "no intruder" if stranger is None else f"{stranger!r}, who is no intruder.{did_you_mean(stranger, who)}"
            )
            raise ParameterError(f"{name}: tried_by names {problem}; it must name some of {', '.join(who)}")


def _try(attack: Attack, scene: Scene) -> Finding | str:
    """Carry out an attack, or say why not."""
    try:
        reason: str | None = attack.out_of_place(scene)
        if reason is not None:
            return reason
        finding: Finding = attack.attack(scene)
    except InternalError:
        raise
    except SfumatoError as error:  # one that cannot be carried out here must not hide what the others find
        return str(error)
    return finding.undefined or finding


def _too_late(attack: Attack, scene: Scene) -> str:
    """Why an attack is not tried for which no time is left: it has nothing to attack, or else it would have taken time."""
    try:
        reason: str | None = attack.out_of_place(scene)
    except InternalError:
        raise
    except SfumatoError:
        return OUT_OF_TURN
    return reason if isinstance(reason, NothingToAttack) else OUT_OF_TURN
