"""Letting every intruder try every attack that applies, within a time budget they share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from sfumato import registry
from sfumato.core.attack import USUAL_RATE, Attack, Finding, Intruder, NothingToAttack, Scene, now
from sfumato.core.parameters import known_as
from sfumato.core.progress import Progress, silent
from sfumato.core.randomness import Seed
from sfumato.errors import InternalError, ParameterError, SchemaError, SfumatoError, did_you_mean
from sfumato.intruders.knowledge import intruder_from
from sfumato.intruders.profiles import BATTERY, Profile
from sfumato.intruders.report import AttackReport, Skipped, Tried

if TYPE_CHECKING:
    from sfumato.core.dataset import Dataset
    from sfumato.core.model import Model
    from sfumato.core.pair import Pair
    from sfumato.core.step import Step

DEFAULT_SECONDS = 60.0
DEFAULT_SAMPLE = 2000
"""Records an intruder looks for; rates found on a sample carry an interval."""
DEFAULT_THRESHOLD = USUAL_RATE
GRACE = 20.0
"""Seconds in which every attack gets its turn, however small the budget: who uses a loop first waits until it is compiled."""
OUT_OF_TURN = "the time budget was spent before it was its turn; give it more seconds"


def attack_release(
    pair: Pair,
    *,
    steps: Sequence[Step] = (),
    models: Sequence[Model] = (),
    others: Sequence[Pair] = (),
    population: Dataset | None = None,
    intruder: Intruder | None = None,
    only: Sequence[str] | None = None,
    limits: Mapping[str, float] | None = None,
    threshold: float = DEFAULT_THRESHOLD,
    seconds: float = DEFAULT_SECONDS,
    sample: int = DEFAULT_SAMPLE,
    seed: Seed | int | str | None = None,
    progress: Progress = silent,
) -> AttackReport:
    """Let every named intruder try every attack that applies, within a time budget that they share.

    Once the budget is spent (and 20 seconds, which the first use of all loops may take), attacks that had no turn are not tried any more,
    unless they were asked for by name. With ``intruder`` only that one tries, everything. ``only`` names the attacks to try; ``limits`` says what the
    recipe allows some of them, when tried by the first intruder, who knows the quasi-identifiers. ``others`` are further releases of
    the same table (``composition``), ``population`` is a table of everyone (``unique_in_population``).
    """
    _require_same_table(pair, others)
    _require_sense(pair, seconds, sample)
    started, key = now(), Seed(0) if seed is None else Seed.of(seed)
    profiles = BATTERY if intruder is None else (_own(intruder),)
    wanted = _wanted(profiles, only)
    tried: list[Tried] = []
    skipped: list[Skipped] = []
    for place, (profile, name) in enumerate(wanted):
        progress(place / len(wanted), f"{profile.name}: {name.replace('_', ' ')}")
        left = max(0.0, seconds - (now() - started)) / (len(wanted) - place)
        first = all(name != earlier for _, earlier in wanted[:place])
        allowed = (limits or {}).get(name) if first else None
        late = not left and only is None and now() - started > GRACE
        knows = profile.knows(pair)
        who = intruder or (intruder_from(pair, knows, sample=sample, seed=key) if knows else None)
        if who is None:
            skipped.append(Skipped(profile.name, name, _nothing_known(pair), allowed))
            continue
        scene = Scene(pair, who, tuple(steps), tuple(models), tuple(others), key, left, population=population)
        outcome = _too_late(name, scene) if late else _try(name, scene)
        if isinstance(outcome, str):
            skipped.append(Skipped(profile.name, name, outcome, allowed))
        else:
            tried.append(Tried(profile.name, who.knows, outcome, threshold, allowed))
    progress(1.0)
    looked_for = min(sample, len(pair.original)) if intruder is None else len(intruder.file)
    spent = now() - started
    return AttackReport(pair.released.source.name, len(pair.released), looked_for, tuple(tried), tuple(skipped), spent)


def _nothing_known(pair: Pair) -> str:
    """Why an intruder knows nothing of the release."""
    there = "was released" if pair.original.schema.quasi else "is in the table"
    return NothingToAttack(f"no quasi-identifier {there}, so this intruder recognises nobody by one")


def _require_sense(pair: Pair, seconds: float, sample: int) -> None:
    if not seconds > 0:
        raise ParameterError("the time budget of the attacks must be more than 0 seconds")
    if sample < 1:
        raise ParameterError("the intruders must look for at least one record")
    if not len(pair.released) or not len(pair.original):
        raise SchemaError("there is no record to attack: the table is empty")


def _require_same_table(pair: Pair, others: Sequence[Pair]) -> None:
    """Rows say who is in several releases, so all must be releases of one table."""
    if any(len(other.original) != len(pair.original) for other in others):
        raise SchemaError("the other releases must be of the same table, row for row; one has another number of rows")


def _own(intruder: Intruder) -> Profile:
    return Profile("your intruder", "has the file you gave", lambda pair: intruder.knows, everything=True)


def _wanted(profiles: Sequence[Profile], only: Sequence[str] | None) -> list[tuple[Profile, str]]:
    known = registry.attacks()
    _require_known_intruders(known)
    planned = [(profile, name) for profile in profiles for name in profile.attacks]
    if only is None:
        return planned
    only = [known_as(name) for name in only]
    unknown = [name for name in only if name not in known]
    if unknown:
        raise ParameterError(next(f"there is no attack {n!r}.{did_you_mean(n, known)}" for n in unknown))
    named = {name for _, name in planned}
    extra = [(profiles[0], name) for name in only if name not in named]
    return [(profile, name) for profile, name in planned if name in only] + extra


def _require_known_intruders(attacks: Mapping[str, type[Attack]]) -> None:
    """An attack that names an intruder nobody knows would be tried by nobody, and nobody would notice."""
    who = [profile.name for profile in BATTERY]
    for name, attack in attacks.items():
        stranger = next((one for one in attack.tried_by if one not in who), None)
        if stranger is not None or not attack.tried_by:
            told = (
                "no intruder" if stranger is None else f"{stranger!r}, who is no intruder.{did_you_mean(stranger, who)}"
            )
            raise ParameterError(f"{name}: tried_by names {told}; it must name some of {', '.join(who)}")


def _try(name: str, scene: Scene) -> Finding | str:
    """Carry out an attack, or say why not."""
    made = registry.attacks()[name]()
    try:
        reason: str | None = made.applies(scene)
        if reason is not None:
            return reason
        found: Finding = made.attack(scene)
    except InternalError:
        raise
    except SfumatoError as error:  # one that cannot be carried out here must not hide what the others find
        return str(error)
    return found.undefined or found


def _too_late(name: str, scene: Scene) -> str:
    """Why an attack is not tried for which no time is left: it has nothing to attack, or else it would have taken time."""
    try:
        reason: str | None = registry.attacks()[name]().applies(scene)
    except InternalError:
        raise
    except SfumatoError:
        return OUT_OF_TURN
    return reason if isinstance(reason, NothingToAttack) else OUT_OF_TURN
