"""Attacking a release: every intruder tries every attack that applies, within a budget of time that
they share.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Protocol, TypedDict

import numpy as np

from sfumato.core import registry
from sfumato.core.attack import (
    USUAL_RATE,
    WORK,
    Attack,
    Finding,
    Intruder,
    NothingToAttack,
    Scene,
    now,
)
from sfumato.core.choices import required_fields
from sfumato.core.data import Pair
from sfumato.core.fields import Fields
from sfumato.core.limits import limits_of, plain_limits
from sfumato.core.options import CommandOption
from sfumato.core.parameters import values_of
from sfumato.core.progress import Progress, silent
from sfumato.core.randomness import Seed
from sfumato.errors import InternalError, ParameterError, SchemaError, SfumatoError, did_you_mean
from sfumato.release.attack_report import AttackReport, Skipped, Tried
from sfumato.release.evaluation import require_same_shape
from sfumato.release.intruders import BATTERY, Profile, intruder_from

if TYPE_CHECKING:
    from sfumato.core.data import Data
    from sfumato.core.model import Model
    from sfumato.core.pair import TablePair
    from sfumato.core.shape import Shape
    from sfumato.core.source import Source
    from sfumato.core.step import Step
    from sfumato.core.table import Table


DEFAULT_SECONDS = 60.0
DEFAULT_SAMPLE = 2000
"""Records an intruder looks for; rates found on a sample carry an interval."""
DEFAULT_THRESHOLD = USUAL_RATE
GRACE = 20.0
"""Seconds of computing that there are in any case, however small the budget: who uses a loop first
has it compiled.
"""
OUT_OF_TURN = "the time budget ran out before its turn; allow more seconds"


AttackLike = Attack | str | Fields
"""An attack, its name, or its name with parameters, as in a recipe."""


@dataclasses.dataclass(frozen=True)
class AttackContext:
    """What intruders have besides the original and the release.

    ``steps`` made the release and ``models`` are its promises, for attacks that know the method.
    ``limits`` says, as in a recipe, what is allowed to some attacks, when tried by the first
    intruder who tries them. ``others`` are further releases of the same table (``composition``),
    ``population`` is a table of everyone (``unique_in_population``), ``aux`` one of other people
    from which an intruder with columns of its own learns how they go along with the release's
    (``other_columns_linkage``). With ``intruder`` only that one tries, everything. ``not_known``
    are columns that nobody but their owner has seen: neighbour and colleague do not know them.
    """

    steps: Sequence[Step] = ()
    models: Sequence[Model] = ()
    limits: Fields = dataclasses.field(default_factory=dict)
    others: Sequence[TablePair | Data] = ()
    population: Table | None = None
    aux: Table | None = None
    intruder: Intruder | None = None
    not_known: Sequence[str] = ()


@dataclasses.dataclass(frozen=True)
class AttackOptions:
    """How findings are marked, when attacks stop, and who is told.

    ``clock`` are seconds by the clock after which no other attack is begun, for who waits at a busy
    machine. ``on_outcome`` is called with every outcome as it comes. ``work`` is what one attack
    may compare, and ``people`` how many are tried at least where an attack has a number of its own
    (see :class:`sfumato.core.attack.Scene`).
    """

    panel: ClassVar[str] = "Which attacks, and how long"
    threshold: Annotated[
        float,
        CommandOption(
            "share of what guessing leaves open, above which an attack is marked",
            minimum=0,
            maximum=1,
        ),
    ] = DEFAULT_THRESHOLD
    clock: float = math.inf
    progress: Progress = silent
    on_outcome: Callable[[Tried | Skipped], object] = bool
    work: int = WORK
    people: int = 0


class AttackKeywords(TypedDict, total=False):
    """The keywords of :func:`attack_release`, for verbs that pass them on."""

    only: Sequence[AttackLike] | None
    seconds: float
    sample: int | None
    seed: Seed | int | str | None
    options: AttackOptions


def attack_release(
    pair: TablePair | Pair,
    *,
    only: Annotated[
        Sequence[AttackLike] | None,
        CommandOption(
            "an attack by name: 'interval_disclosure: {kind: deviation}'; repeat it",
            ("--attack",),
            typed=list[str],
            panel=AttackOptions.panel,
        ),
    ] = None,
    seconds: Annotated[
        float,
        CommandOption(
            "time for all attacks; what was not finished is unknown",
            metavar="<seconds>",
            panel=AttackOptions.panel,
        ),
    ] = DEFAULT_SECONDS,
    sample: Annotated[
        int | None,
        CommandOption("records to attack; 2000 by default", panel=AttackOptions.panel),
    ] = None,
    seed: Seed | int | str | None = None,
    context: AttackContext = AttackContext(),
    options: AttackOptions = AttackOptions(),
) -> AttackReport:
    """Let every named intruder try every attack that applies, within a time budget that they share.

    On how many people an attack is tried follows from how much work that is
    (:data:`sfumato.core.attack.WORK`), so that findings do not depend on the machine. ``seconds``
    only stop: they are seconds of computing (CPU, all threads together), not of the clock, and at
    least 20, which the first use of all loops may take. What was stopped, or had no turn, is
    unknown. No attack takes more than half of what is left, so that others have their turn.
    ``only`` are the attacks to try, by name, as in a recipe
    (``{"interval_disclosure": {"kind": "deviation"}}``) or as objects.

    Data other than a table have no named intruders: each attack says who tries it, and all share
    the time alike.
    """
    require_same_shape(pair.original, pair.released)
    battery: _Battery = _TableBattery() if pair.has_intruders else _DataBattery()
    intruder, progress = context.intruder, options.progress
    battery.require_known(
        population=context.population, aux=context.aux, intruder=intruder, sample=sample
    )
    if sample is None:
        sample = DEFAULT_SAMPLE
    _require_sense(pair, seconds, sample)
    started, key = now(), Seed(0) if seed is None else Seed.of(seed)
    begun = time.monotonic()
    allowances = _allowances(context.limits, pair.released.shape)
    limited = [attack for attack, _ in allowances]
    turns = battery.turns(
        pair,
        only,
        limited,
        intruder=intruder,
        sample=sample,
        seed=key,
        not_known=tuple(context.not_known),
    )
    outcomes: list[Tried] = []
    skipped: list[Skipped] = []

    def note(outcome: Tried | Skipped) -> None:
        if isinstance(outcome, Tried):
            outcomes.append(outcome)
        else:
            skipped.append(outcome)
        options.on_outcome(outcome)

    for index, turn in enumerate(turns):
        attack = turn.attack
        progress(index / len(turns), f"{turn.intruder}: {attack.words}")
        spent = now() - started
        share, late = battery.share(
            seconds, spent, len(turns) - index, is_requested=only is not None
        )
        late = late or time.monotonic() - begun > options.clock
        first = all(attack != earlier.attack for earlier in turns[:index])
        allowed = next(
            (bound for limited_attack, bound in allowances if first and limited_attack == attack),
            None,
        )
        parameters = values_of(attack)
        intruder_of_turn = turn.make_intruder()
        if intruder_of_turn is None:
            note(Skipped(turn.intruder, attack.name, _nothing_known(pair), allowed, parameters))
            continue
        scene = Scene(
            pair,
            intruder_of_turn,
            steps=tuple(context.steps),
            models=tuple(context.models),
            others=tuple(context.others),
            seed=key,
            seconds=share,
            population=context.population,
            aux=context.aux,
            work=options.work,
            people=options.people,
        )
        outcome = _too_late(attack, scene) if late else _try(attack, scene)
        if isinstance(outcome, str):
            note(Skipped(turn.intruder, attack.name, outcome, allowed, parameters))
        else:
            finding = dataclasses.replace(outcome, parameters=parameters)
            note(Tried(turn.intruder, intruder_of_turn.knows, finding, options.threshold, allowed))
        if intruder is None and not any(
            later.knows == intruder_of_turn.knows for later in turns[index + 1 :]
        ):
            # what attacks of this intruder had in common may be large, and nobody needs it any more
            intruder_of_turn.memo.clear()
    progress(1.0)
    looked_for = battery.looked_for(pair, intruder, sample)
    name, unit = battery.source_of(pair).name, pair.released.units
    return AttackReport(
        name, pair.released.size, looked_for, tuple(outcomes), tuple(skipped), now() - started, unit
    )


def attack_unchanged(
    data: Data,
    *,
    models: Sequence[Model],
    seconds: float,
    seed: Seed | int | str | None,
    progress: Progress,
) -> AttackReport | None:
    """Data attacked as if they were released as they are; None without time."""
    if seconds <= 0:
        return None
    return attack_release(
        Pair(data, data),
        seconds=seconds,
        seed=seed,
        context=AttackContext(models=models),
        options=AttackOptions(progress=progress),
    )


@dataclasses.dataclass(frozen=True)
class _Turn:
    """One attack of one intruder: who it is, what it knows, and a function that gives the file it
    has (None: it knows nothing).
    """

    intruder: str
    knows: tuple[str, ...]
    attack: Attack
    make_intruder: Callable[[], Intruder | None]


class _Battery(Protocol):
    """Who tries which attacks on a pair, in which order, and how they share the time."""

    def require_known(self, **options: Any) -> None:
        """Refuse, by name, options that such data do not know."""
        return

    def turns(
        self, pair: Any, only: Sequence[Any] | None, limited: Sequence[Attack], **options: Any
    ) -> list[_Turn]:
        """Who tries what, in turn."""
        ...

    def share(
        self, seconds: float, spent: float, turns: int, *, is_requested: bool
    ) -> tuple[float, bool]:
        """The seconds of the next of so many turns, and whether there are none left;
        ``is_requested``: attacks were asked for by name.
        """
        ...

    def looked_for(self, pair: Any, intruder: Intruder | None, sample: int) -> int:
        """How many people the intruders look for."""
        ...

    def source_of(self, pair: Any) -> Source:
        """What the report is called after."""
        ...


class _TableBattery(_Battery):
    """The named intruders of a table. Nobody takes more than half of the time that is left."""

    def turns(
        self, pair: TablePair, only: Sequence[Any] | None, limited: Sequence[Attack], **options: Any
    ) -> list[_Turn]:
        """Every profile with its attacks; all look for the same people, and who knows the same is
        the same intruder.
        """
        intruder: Intruder | None = options["intruder"]
        # one's own intruder replaces the battery, and tries everything
        profiles = BATTERY if intruder is None else (_own(intruder),)
        intruders = _Intruders(pair, options["sample"], options["seed"])
        turns = []
        for profile, attack in _attacks_to_try(profiles, only, limited):
            knows = profile.knows(pair, options["not_known"])
            make_intruder = (
                functools.partial(intruders.intruder_knowing, knows)
                if intruder is None
                else functools.partial(_itself, intruder)
            )
            turns.append(_Turn(profile.name, knows, attack, make_intruder))
        return turns

    def share(
        self, seconds: float, spent: float, turns: int, *, is_requested: bool
    ) -> tuple[float, bool]:
        """Half of what is left, all of it to the last; there are 20 seconds in any case."""
        # the grace is for loops that are compiled at their first use
        remaining = max(0.0, max(seconds, GRACE) - spent)
        return (remaining if turns == 1 else remaining / 2), not remaining

    def looked_for(self, pair: TablePair, intruder: Intruder | None, sample: int) -> int:
        """A sample of the people, or those of the intruder's own file."""
        if intruder is not None:
            return len(intruder.file)
        people = len(pair.original)
        if pair.persons is not None:
            people = len(np.unique(pair.persons))
        return min(sample, people)

    def source_of(self, pair: TablePair) -> Source:
        """The released table."""
        return pair.released.source


class _DataBattery(_Battery):
    """Attacks on data other than a table: each says who tries it. All share the time alike."""

    def require_known(self, **options: Any) -> None:
        """Refuse, by name, what is only known for tables."""
        unusable = [name for name, value in options.items() if value is not None]
        if unusable:
            raise ParameterError(
                f"{', '.join(unusable)} is for attacks on tables only; leave it out"
            )

    def turns(
        self, pair: Pair, only: Sequence[Any] | None, limited: Sequence[Attack], **options: Any
    ) -> list[_Turn]:
        """The attacks asked for, else all that are tried by default, and those that are limited
        with other parameters.
        """
        shape = pair.original.shape
        if only is None:
            classes = registry.attacks(shape).values()
            # attacks with a required parameter are tried only when somebody gives it
            attacks = [cls() for cls in classes if cls.by_default and not required_fields(cls)]
            attacks += [attack for attack in limited if attack not in attacks]
        else:
            attacks = [registry.asked_attack(spec, shape) for spec in only]
        # all people, and nothing known of them: each attack says itself what it assumes
        everybody = Intruder(pair.original, (), np.arange(pair.original.size, dtype=np.int64))
        make_intruder = functools.partial(_itself, everybody)
        return [_Turn(attack.tried_by[0], (), attack, make_intruder) for attack in attacks]

    def share(
        self, seconds: float, spent: float, turns: int, *, is_requested: bool
    ) -> tuple[float, bool]:
        """The same for every attack that is left; attacks that were asked for by name are always
        tried.
        """
        remaining = max(0.0, seconds - spent)
        # what was asked for by name is tried even when the time is over
        return remaining / turns, not remaining and not is_requested and spent > GRACE

    def looked_for(self, pair: Pair, intruder: Intruder | None, sample: int) -> int:
        """Everybody."""
        size: int = pair.original.size
        return size

    def source_of(self, pair: Pair) -> Source:
        """The original data."""
        source: Source = pair.original.source
        return source


def _itself(intruder: Intruder) -> Intruder:
    return intruder


class _Intruders:
    """The named intruders of a battery: all look for the same people, and who knows the same is the
    same one.
    """

    def __init__(self, pair: TablePair, sample: int, seed: Seed) -> None:
        self._pair, self._sample, self._seed = pair, sample, seed
        self._known: dict[tuple[str, ...], Intruder] = {}

    def intruder_knowing(self, knows: tuple[str, ...]) -> Intruder | None:
        """Who knows these columns; nobody where there is none to know."""
        if knows and knows not in self._known:
            # all look for the same people, so that their rates can be compared
            first = next(iter(self._known.values()), None)
            if first is None:
                self._known[knows] = intruder_from(
                    self._pair, knows, sample=self._sample, seed=self._seed
                )
            else:
                self._known[knows] = Intruder(first.file, knows, first.truth, first.sampled)
        return self._known.get(knows)


def _nothing_known(pair: TablePair | Pair) -> str:
    """Why an intruder knows nothing of the release."""
    if pair.original.schema.quasi:
        absence = "was released"
    else:
        absence = "is in the table"
    return NothingToAttack(
        f"no quasi-identifier {absence}, so this intruder recognises nobody by one"
    )


def _require_sense(pair: TablePair | Pair, seconds: float, sample: int) -> None:
    if not seconds > 0:
        raise ParameterError("the time budget of the attacks must be more than 0 seconds")
    if sample < 1:
        raise ParameterError("the intruders must attack at least one record")
    if not pair.released.size or not pair.original.size:
        raise SchemaError("the data are empty, so there is nobody to attack")


def _own(intruder: Intruder) -> Profile:
    return Profile(
        "your intruder",
        "has the file you gave",
        lambda pair, not_known: intruder.knows,
        everything=True,
    )


def _allowances(limits: Fields, shape: Shape) -> list[tuple[Attack, float]]:
    """The attacks that limits are about, with their parameters, and what each may reach."""
    attack_names = registry.attacks(shape)
    bounds = limits_of(plain_limits(limits))
    return [
        (registry.build_measured(limit, shape), limit.bound)
        for limit in bounds
        if limit.name in attack_names
    ]


def _attacks_to_try(
    profiles: Sequence[Profile], only: Sequence[Any] | None, limited: Sequence[Attack]
) -> list[tuple[Profile, Attack]]:
    """Who tries what: the attacks asked for, or else all with their usual parameters and those that
    are limited with others.
    """
    attacks = registry.attacks()
    _require_known_intruders(attacks)
    battery = [(profile, name) for profile in profiles for name in profile.attacks]
    if only is None:
        usual: dict[str, Attack] = {name: attacks[name]() for _, name in battery}
        chosen_attacks = [(profile, usual[name]) for profile, name in battery]
        # a limit with the usual parameters is about an attack that is tried anyway
        limited_attacks = [attack for attack in limited if attack not in usual.values()]
    else:
        chosen_attacks, limited_attacks = [], []
        for spec in (only,) if isinstance(only, str | Mapping | Attack) else only:
            # the same attack asked for twice is tried once
            if (attack := registry.asked_attack(spec)) not in limited_attacks:
                limited_attacks.append(attack)
    names = {name for _, name in battery}
    chosen_attacks += [
        (profile, attack)
        for profile, name in battery
        for attack in limited_attacks
        if attack.name == name
    ]
    # attacks that nobody of the battery tries are left to the first intruder
    return chosen_attacks + [
        (profiles[0], attack) for attack in limited_attacks if attack.name not in names
    ]


def _require_known_intruders(attacks: Mapping[str, type[Attack]]) -> None:
    """An attack that names an intruder nobody knows would be tried by nobody, and nobody would
    notice.
    """
    profile_names = [profile.name for profile in BATTERY]
    for name, attack in attacks.items():
        stranger = next(
            (
                name_of_intruder
                for name_of_intruder in attack.tried_by
                if name_of_intruder not in profile_names
            ),
            None,
        )
        if stranger is not None or not attack.tried_by:
            if stranger is None:
                problem = "no intruder"
            else:
                problem = (
                    f"{stranger!r}, which is not an "
                    f"intruder.{did_you_mean(stranger, profile_names)}"
                )
            raise ParameterError(
                f"{name}: tried_by names {problem}; it must name some of {', '.join(profile_names)}"
            )


def _try(attack: Attack, scene: Scene) -> Finding | str:
    """Carry out an attack, or say why not."""
    try:
        reason: str | None = attack.out_of_place(scene)
        if reason is not None:
            return reason
        finding: Finding = attack.attack(scene)
    except InternalError:
        raise
    except (
        SfumatoError
    ) as error:  # one that cannot be carried out here must not hide what the others find
        return str(error)
    return finding.undefined or finding


def _too_late(attack: Attack, scene: Scene) -> str:
    """Why an attack is not tried for which no time is left: it has nothing to attack, or else it
    would have taken time.
    """
    try:
        reason: str | None = attack.out_of_place(scene)
    except InternalError:
        raise
    except SfumatoError:
        return OUT_OF_TURN
    if isinstance(reason, NothingToAttack):
        return reason
    return OUT_OF_TURN
