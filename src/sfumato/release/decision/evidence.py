"""What a decision is based on: what was found on the written file, in numbers, counts and names.

What is missing counts as unknown, and unknown is never a pass: an attack that is neither tried nor
said not to apply fails every tier that needs it.
"""

from __future__ import annotations

import math
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field

from sfumato.core.fields import Document, Fields
from sfumato.errors import ParameterError
from sfumato.methods.attacks.linkage.success_rates import Z95, wilson
from sfumato.release.decision.documents import record, record_from_dict, record_to_dict

FEWEST_TRIALS = 200
"""An attack that was stopped says something from so many people on; with fewer it is unknown."""
ROUNDING = 1e-9
"""By how much the ends of an interval may miss the value: shares are sums of fractions."""

REGISTER = "the releases of the register"
"""What a register knows stands under this name among the comparisons with earlier releases."""

Status = Literal["tried", "unknown", "does not apply"]
Count = Annotated[int, Field(ge=0)]
Amount = Annotated[float, Field(ge=0)]


class ReleaseKind(StrEnum):
    """What a release holds: true values that are coarser or missing, values that were changed, rows
    that were redrawn, or the output of steps that account for an ε.
    """

    CLASSES = "classes"
    PERTURBED = "perturbed"
    DRAWN = "drawn"
    ACCOUNTED = "accounted"


@record
class Figure:
    """A share, and between what it surely lies: ``trials`` of ``of`` people were tried.

    Where everybody was tried both ends are the value. ``control`` is how many people set aside it
    is compared with: such a figure is never exact.
    """

    value: float
    low: float
    high: float
    trials: int
    of: int
    control: int | None = None

    def __post_init__(self) -> None:
        in_order = self.low <= self.value + ROUNDING and self.value <= self.high + ROUNDING
        if not (in_order and self.low >= -1 and self.high <= 1 and 0 <= self.trials <= self.of):
            raise ParameterError("a figure lies between its ends, and nobody is tried twice")
        if self.control is not None and self.control < 0:
            raise ParameterError("the people set aside are counted")
        if self.exact and self.trials < self.of:
            raise ParameterError("only a figure of everybody is exact")

    @property
    def exact(self) -> bool:
        """Whether it is no estimate: everybody was tried and nobody set aside was needed."""
        return self.low == self.high and self.control is None

    @property
    def enough(self) -> bool:
        """Whether it was tried on enough people to say something."""
        return self.trials >= min(FEWEST_TRIALS, self.of) and self.of > 0

    @classmethod
    def of_everybody(cls, value: float, people: int) -> Figure:
        """The share of everybody."""
        return cls(value, value, value, people, people)

    @classmethod
    def of_rate(cls, value: float, trials: int, people: int) -> Figure:
        """A rate of success: exact where everybody was tried, else with Wilson's interval (95 %).

        >>> Figure.of_rate(0.155, 500, 10_000).high < 0.19
        True
        """
        if trials >= people:
            return cls.of_everybody(value, people)
        low, high = wilson(value * trials, trials)
        return cls(value, min(low, value), max(high, value), trials, people)


def people_needed(figure: Figure, limit: float) -> int | None:
    """How many people would have to be tried (or set aside, where there is a control) for the upper
    end to come down to the limit, were the share to stay as it is; None: no number would do.

    >>> people_needed(Figure.of_rate(0.05, 500, 100_000), 1 / 15)
    870
    """
    if figure.value >= limit or figure.exact:
        return None
    if figure.control is not None:
        # The interval narrows with the root of the number of people set aside.
        ratio = (figure.high - figure.value) / (limit - figure.value)
        return _round_up(figure.control * ratio * ratio)
    # Wilson's upper end is the limit where z² L (1 − L) / n = (L − p)².
    needed = Z95 * Z95 * limit * (1 - limit) / (limit - figure.value) ** 2
    return _round_up(needed)


def _round_up(number: float) -> int:
    """A number of people with two digits that count, never less.

    >>> _round_up(826.1), _round_up(5.2)
    (830, 6)
    """
    whole = math.ceil(number - ROUNDING)
    step: int = 10 ** max(0, len(str(whole)) - 2)
    return -(-whole // step) * step


@record
class FileEvidence:
    """The classes of the written file; ``persons`` are counted where a column names them (None:
    none does).
    """

    records: Count
    persons: int | None
    classes: Count
    smallest_class: Count
    quasi: tuple[str, ...]

    def __post_init__(self) -> None:
        people = self.records if self.persons is None else self.persons
        if not 0 <= people <= self.records or self.smallest_class > people:
            raise ParameterError("a class is no larger than the file, which names nobody it lacks")
        if not self.quasi and self.classes > 1:
            raise ParameterError("without quasi-identifiers all people belong to one class")


@record
class AttackEvidence:
    """An attack of an intruder: what it reached, or why it was not carried out."""

    attack: str
    intruder: str
    status: Status
    figure: Figure | None = None
    reason: str = ""
    knows: tuple[str, ...] = ()
    baseline: float | None = None

    def __post_init__(self) -> None:
        _require_consistent(self.status, self.figure is not None, self.reason)


@record
class CertainDisclosure:
    """People whose value anybody in the know of their class reads off, where it is not the most
    frequent value of the column.

    ``one_value``: in their class everybody has it. ``two_values``: in their class there are at most
    two values.
    """

    people: Count
    one_value: Count
    two_values: Count

    def __post_init__(self) -> None:
        if not self.one_value <= self.two_values <= self.people:
            raise ParameterError("whose class has one value has at most two, and is a person")


@record
class AttributeEvidence:
    """What the own record adds to what can be guessed of a sensitive column.

    ``risk`` is R of all people, ``uncommon_risk`` that of the ``uncommon_people`` whose value is
    not the most frequent one. ``certain`` is there where classes hold true values.
    """

    column: str
    distinct: Count
    status: Status
    risk: Figure | None = None
    uncommon_people: Count = 0
    uncommon_risk: Figure | None = None
    certain: CertainDisclosure | None = None
    reason: str = ""

    def __post_init__(self) -> None:
        _require_consistent(self.status, self.risk is not None, self.reason)


@record
class DependenceEvidence:
    """Released columns that tell more of quasi-identifiers than their labels do.

    ``refused`` are pairs that undo the release and that nobody took on, ``taken_on`` those that the
    terms accept, ``unclear`` pairs that too few records repeat. ``linkage`` is what all that were
    ``found`` together reveal.
    """

    status: Status
    compared: Count = 0
    found: Count = 0
    refused: tuple[str, ...] = ()
    taken_on: tuple[str, ...] = ()
    unclear: tuple[str, ...] = ()
    linkage: Figure | None = None
    reason: str = ""

    def __post_init__(self) -> None:
        told = self.found or self.refused or self.taken_on or self.linkage is not None
        if self.status != "tried" and (told or not self.reason.strip()):
            raise ParameterError("what was not looked for was not found, and needs a reason")
        if self.found < max(len(self.refused), len(self.taken_on)):
            raise ParameterError("what is refused or taken on was found")


@record
class CompositionEvidence:
    """What the release tells together with one released before."""

    release: str
    status: Status
    figure: Figure | None = None
    reason: str = ""

    def __post_init__(self) -> None:
        _require_consistent(self.status, self.figure is not None, self.reason)


@record
class VerificationEvidence:
    """What ``verify`` says of the written folder, by the names of its claims.

    ``made_again``: recipe and seed gave the released rows again (None: the steps cannot be
    repeated).
    """

    with_original: bool
    made_again: bool | None
    failing: tuple[str, ...] = ()
    open_promises: tuple[str, ...] = ()


@record
class EpsilonEvidence:
    """What is certified of ε; ``per_person`` where it is about one person, not about one of several
    records; ``public_people`` is how many people there are, as far as that is public.
    """

    epsilon: Amount
    delta: Annotated[float, Field(ge=0, le=1)]
    per_person: bool
    public_people: Annotated[int, Field(ge=1)] | None
    recipe_from_table: bool


@record
class Trial:
    """How the attacks were tried, so that they can be tried again: everybody where there are at
    most ``everybody`` people, else ``sample`` of them.
    """

    seed: str
    everybody: int
    sample: int


@record
class DecisionEvidence:
    """All that a decision is based on. ``sensitive`` are the sensitive columns that were released:
    each needs its evidence; ``earlier`` is how many comparisons with earlier releases of the same
    people there must be.
    """

    kinds: tuple[ReleaseKind, ...]
    trial: Trial | None = None
    file: FileEvidence | None = None
    sensitive: tuple[str, ...] = ()
    attacks: tuple[AttackEvidence, ...] = ()
    attributes: tuple[AttributeEvidence, ...] = ()
    dependences: DependenceEvidence | None = None
    earlier: Count = 0
    compositions: tuple[CompositionEvidence, ...] = ()
    verification: VerificationEvidence | None = None
    epsilon: EpsilonEvidence | None = None

    def __post_init__(self) -> None:
        tries = [(entry.attack, entry.intruder) for entry in self.attacks]
        columns = [entry.column for entry in self.attributes]
        if len(set(tries)) < len(tries) or len(set(columns)) < len(columns):
            raise ParameterError("an attack, or a column, stands twice in the evidence")
        if not set(columns) <= set(self.sensitive):
            raise ParameterError("a column that is guessed is sensitive and was released")
        compared = [entry.release for entry in self.compositions]
        if len(set(compared)) < len(compared) or len(compared) > self.earlier:
            raise ParameterError("each comparison with an earlier release counts, and once")
        if not self.kinds or len(set(self.kinds)) < len(self.kinds):
            raise ParameterError("the evidence must say of which kinds the release is, each once")
        if (self.epsilon is not None) != (ReleaseKind.ACCOUNTED in self.kinds):
            raise ParameterError("a release is accounted where an ε is certified, and only there")

    def attack(self, name: str, intruder: str) -> AttackEvidence | None:
        """What is known of an attack by an intruder; None: nothing."""
        for entry in self.attacks:
            if (entry.attack, entry.intruder) == (name, intruder):
                return entry
        return None

    def to_dict(self) -> Document:
        """The evidence as plain data."""
        return record_to_dict(self)

    @classmethod
    def from_dict(cls, document: Fields) -> DecisionEvidence:
        """The evidence of plain data; refused where something is unknown or of another type."""
        return record_from_dict(cls, document, "the evidence of the decision")


def _require_consistent(status: Status, has_figure: bool, reason: str) -> None:
    """Refuse an outcome without its figure, and one that is missing without a reason."""
    if has_figure != (status == "tried"):
        raise ParameterError("what was tried has a figure, and nothing else has")
    if status != "tried" and not reason.strip():
        raise ParameterError("what was not tried needs a reason")
