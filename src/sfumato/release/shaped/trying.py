"""Judging, attacking and measuring people who are no table: the same for every shape."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sfumato.core import registry
from sfumato.core.attack import USUAL_RATE, NothingToAttack, Scene, now
from sfumato.core.choices import required_fields
from sfumato.core.data import DataEvidence, DataPair
from sfumato.core.evidence import judge_all
from sfumato.core.limits import Limit, limits_of, plain_limits, written_limits
from sfumato.core.notebook import html_headline, html_table, html_verdicts
from sfumato.core.parameters import known_as, values_of
from sfumato.core.progress import Progress, silent
from sfumato.core.randomness import Seed
from sfumato.core.shape import Shape
from sfumato.errors import InternalError, ParameterError, SchemaError, SfumatoError, did_you_mean
from sfumato.release.evaluation import Evaluation
from sfumato.release.intruders import GRACE, OUT_OF_TURN, AttackReport, Skipped, Tried
from sfumato.release.make import UNHURRIED, kept_by_attack, kept_within
from sfumato.release.report.headline import promises_told

if TYPE_CHECKING:
    from sfumato.core.attack import Attack, Finding
    from sfumato.core.data import Data
    from sfumato.core.metric import Measure, Utility
    from sfumato.core.model import Model, Verdict
    from sfumato.core.recipe import Kept
    from sfumato.core.step import Step

DEFAULT_SECONDS = 60.0


# Promises.


def judge_people(released: Data, models: Sequence[Model], original: Data | None = None) -> tuple[Verdict, ...]:
    """What every promise says of people as they are; one that compares with the original is not judged without it."""
    blind = [model.promise for model in models if model.compares and original is None]
    if blind:
        raise ParameterError(
            f"{' and '.join(blind)} compares the release with the original; give that too (--original, original=)"
        )
    return judge_all(DataEvidence(released, original), models)


def counted_told(counts: Mapping[str, int]) -> str:
    """Counts in a sentence.

    >>> counted_told({"people": 1200, "items": 30})
    '1,200 people, 30 items'
    """
    return ", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in counts.items())


# Attacks.


def attack_people(
    original: Data,
    released: Data,
    *,
    steps: Sequence[Step] = (),
    models: Sequence[Model] = (),
    others: Sequence[Data] = (),
    only: Sequence[Any] | None = None,
    limits: Mapping[Any, Any] | None = None,
    threshold: float = USUAL_RATE,
    seconds: float = DEFAULT_SECONDS,
    seed: Seed | int | str | None = None,
    progress: Progress = silent,
) -> AttackReport:
    """Try every attack that there is for people of this shape, within a budget of computing that they share.

    ``only`` names the attacks to try, as in a recipe; by default all that say so and need no parameter. Budgets are as for tables
    (:func:`sfumato.release.intruders.attack_release`): what had no turn is unknown.
    """
    require_same_shape(original, released, *others)
    if not seconds > 0:
        raise ParameterError("the time budget of the attacks must be more than 0 seconds")
    if not released.people or not original.people:
        raise SchemaError("there is nobody to attack: the data are empty")
    allowances = _allowances(original.shape, limits or {})
    wanted = attacks_asked(original.shape, only)
    if only is None:
        wanted += [attack for attack, _ in allowances if attack not in wanted]
    started, key = now(), Seed(0) if seed is None else Seed.of(seed)
    tried: list[Tried] = []
    skipped: list[Skipped] = []
    for place, attack in enumerate(wanted):
        progress(place / len(wanted), attack.name.replace("_", " "))
        left = max(0.0, seconds - (now() - started)) / (len(wanted) - place)
        allowed = next((bound for limited, bound in allowances if limited == attack), None)
        parameters = values_of(attack)
        scene = Scene.of(
            original,
            released,
            steps=tuple(steps),
            models=tuple(models),
            others=tuple(others),
            seed=key,
            seconds=left,
        )
        late = not left and only is None and now() - started > GRACE
        outcome = _too_late(attack, scene) if late else _tried(attack, scene)
        if isinstance(outcome, str):
            skipped.append(Skipped(attack.tried_by[0], attack.name, outcome, allowed, parameters))
        else:
            finding = dataclasses.replace(outcome, parameters=parameters)
            tried.append(Tried(attack.tried_by[0], (), finding, threshold, allowed))
    progress(1.0)
    people = (released.people, original.people)
    return AttackReport(original.source.name, *people, tuple(tried), tuple(skipped), now() - started, "people")


def _allowances(shape: Shape, limits: Mapping[Any, Any]) -> list[tuple[Attack, float]]:
    """The attacks that limits are about, with their parameters, and what each may reach."""
    known = registry.family("risk", shape)
    several = limits_of(plain_limits(limits))
    return [(registry.measured(limit, shape), limit.bound) for limit in several if limit.name in known]


def require_same_shape(first: Data, *others: Data) -> None:
    """Refuse, by name, to put people of different shapes side by side."""
    strange = [other.shape for other in others if other.shape is not first.shape]
    if strange:
        raise ParameterError(f"data of shape {first.shape} and of shape {strange[0]} cannot be compared")


def attacks_asked(shape: Shape, only: Sequence[Any] | None) -> list[Attack]:
    """The attacks to try: those asked for, or all that are tried when nobody asks."""
    members = registry.family("risk", shape)
    if only is None:
        return [cls() for cls in members.values() if cls.by_default and not required_fields(cls)]
    return [_asked("risk", one, shape, "attack") for one in only]


def _asked(family: str, spec: Any, shape: Shape, what: str) -> Any:
    """A member of a family by its name or as in a recipe; one that is made already is taken as it is."""
    if not isinstance(spec, str | Mapping):
        return spec
    members = registry.family(family, shape)
    name = known_as(spec) if isinstance(spec, str) else known_as(str(next(iter(spec), "")))
    fields = None if isinstance(spec, str) else next(iter(spec.values()), None)
    if name not in members and not registry.is_placed(family, name, fields, shape):
        others = registry.serves(family, name)
        also = f"; it serves {' and '.join(map(str, others))}" if others else f".{did_you_mean(name, members)}"
        raise ParameterError(f"there is no {what} {name!r} for data of shape {shape}{also}")
    return registry.build(family, spec, shape=shape)


def _tried(attack: Attack, scene: Scene) -> Finding | str:
    """Carry out an attack, or say why not."""
    try:
        reason = attack.applies(scene)
        if reason is not None:
            return reason
        finding = attack.attack(scene)
    except InternalError:
        raise
    except SfumatoError as error:  # one that cannot be carried out here must not hide what the others find
        return str(error)
    return finding.undefined or finding


def _too_late(attack: Attack, scene: Scene) -> str:
    """Why an attack is not tried for which no time is left: it has nothing to attack, or else it would have taken time."""
    try:
        reason = attack.applies(scene)
    except InternalError:
        raise
    except SfumatoError:
        return OUT_OF_TURN
    return reason if isinstance(reason, NothingToAttack) else OUT_OF_TURN


# Limits, and what a release is worth.


def limits_kept(
    limits: Mapping[str, Any],
    original: Data,
    released: Data,
    *,
    steps: Sequence[Step],
    models: Sequence[Model],
    seed: Seed,
) -> tuple[Kept, ...]:
    """Measure everything that is limited; an attack that could not be tried is unknown, and keeps no limit."""
    known: dict[str, Any] = {"steps": steps, "models": models, "seed": seed}
    return tuple(_kept(limit, original, released, known) for limit in limits_of(limits))


def _kept(limit: Limit, original: Data, released: Data, known: Mapping[str, Any]) -> Kept:
    if limit.name in registry.family("risk", original.shape):
        limits = written_limits([limit])
        report = attack_people(original, released, only=[limit.spec], limits=limits, seconds=UNHURRIED, **known)
        return kept_by_attack(limit, report)
    metric: Utility = registry.measured(limit, original.shape)
    pair = DataPair(original, released)
    reason = metric.applies(pair)
    if reason is not None:
        raise ParameterError(f"limits: {limit.name} cannot be measured on this release: {reason}")
    return kept_within(limit, metric.measure(pair))


def evaluate_people(original: Data, released: Data, metrics: Sequence[Any] | None = None) -> Evaluation:
    """Measure a release beside its original; by default with every metric that says so and needs no parameter."""
    require_same_shape(original, released)
    measures: list[Measure] = []
    skipped: dict[str, str] = {}
    pair = DataPair(original, released)
    for metric in _metrics(original.shape, metrics):
        reason = metric.applies(pair)
        if reason is not None:
            skipped[metric.name] = reason
            continue
        try:
            measures.append(dataclasses.replace(metric.measure(pair), parts=None))
        except SchemaError as error:
            skipped[metric.name] = str(error)
    people = (original.people, released.people)
    return Evaluation(original.source.name, *people, tuple(measures), skipped, "people")


def _metrics(shape: Shape, asked: Sequence[Any] | None) -> list[Utility]:
    if asked is not None:
        return [_asked("utility", one, shape, "metric") for one in asked]
    members = registry.family("utility", shape)
    return [cls() for cls in members.values() if cls.by_default and not required_fields(cls)]


# What intruders can do with people as they are.


@dataclasses.dataclass(frozen=True, eq=False)
class PeopleAssessment:
    """What attacks find in data as they are, and what is left of promises; no data values."""

    name: str
    shape: Shape
    counts: Mapping[str, int]
    verdicts: tuple[Verdict, ...]
    attacks: AttackReport | None
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The assessment as plain data."""
        return {
            "name": self.name,
            "shape": str(self.shape),
            "counts": dict(self.counts),
            "verdicts": [verdict.to_dict() for verdict in self.verdicts],
            "attacks": None if self.attacks is None else self.attacks.to_dict(),
            "notes": list(self.notes),
        }

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        attacks = [] if self.attacks is None else str(self.attacks).split("\n")[1:]
        head = f"{self.name} ({self.shape}): {counted_told(self.counts)}"
        return "\n".join([head, *(f"  {verdict!r}" for verdict in self.verdicts), *attacks])

    def _repr_html_(self) -> str:
        asked = promises_told([v.to_dict() for v in self.verdicts]) if self.verdicts else "No promise was asked for"
        rows = [(name.replace("_", " "), f"{count:,}") for name, count in self.counts.items()]
        attacks = "" if self.attacks is None else self.attacks._repr_html_()
        return (
            html_headline(asked, good=bool(self.verdicts) and all(self.verdicts))
            + html_table(f"{self.name} ({self.shape})", ("what", "how many"), rows)
            + html_verdicts(v.to_dict() for v in self.verdicts)
            + attacks
        )


def assess_people(
    people: Data,
    models: Sequence[Model] = (),
    *,
    seconds: float = DEFAULT_SECONDS,
    seed: Seed | int | str | None = None,
    progress: Progress = silent,
) -> PeopleAssessment:
    """Say what intruders can do with people as they are: the data are attacked as if they were released today."""
    verdicts = judge_people(people, models, people)
    attacks = against_itself(people, models=models, seconds=seconds, seed=seed, progress=progress)
    return PeopleAssessment(people.source.name, people.shape, people.counts(), verdicts, attacks, people.notes)


def against_itself(people: Data, *, seconds: float, **options: Any) -> AttackReport | None:
    """The data attacked as if they were released as they are; None without time."""
    return attack_people(people, people, seconds=seconds, **options) if seconds > 0 else None
