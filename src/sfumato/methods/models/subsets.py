"""k-anonymity for intruders who know only some of the quasi-identifiers."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, Protocol

import numpy as np
from pydantic import AfterValidator, Field

from sfumato.core.classes import projected
from sfumato.core.evidence import wildcard_frequencies
from sfumato.core.model import ClassEvidence, Facts, Model, Needs, Verdict
from sfumato.core.parameters import COLUMNS, parameters
from sfumato.errors import SchemaError, did_you_mean
from sfumato.methods.models.sensitive import extreme, share_of_records, verdict

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.schema import Schema

    Ints = NDArray[np.int64]

Combination = Annotated[
    Sequence[str],
    COLUMNS,
    Field(min_length=1),
    # A column named twice tells no more than once.
    AfterValidator(lambda names: tuple(dict.fromkeys(names))),
]


class _OnColumns(Model, Protocol):
    """k-anonymity on some of the quasi-identifiers at a time; what the two ways to choose them have
    in common.
    """

    k: int
    facts: ClassVar[Facts] = Facts(against="identity")
    monotone: ClassVar[bool] = True
    shrinking: ClassVar[bool] = True
    scope: ClassVar[Literal["class", "table"]] = "table"

    @property
    def enough_k(self) -> int:
        """Fewer columns make larger classes."""
        return self.k

    def failing(self, evidence: ClassEvidence) -> NDArray[np.bool_]:
        """Classes that are in too small a group of some set of columns."""
        return self._smallest(evidence) < self.k

    def _smallest(self, evidence: ClassEvidence) -> Ints:
        """Per class, the size of the smallest group it belongs to."""
        ...


GroupSize = Annotated[int, Field(ge=1, examples=[5], description="smallest acceptable group")]


@parameters
class KOnSubsets(_OnColumns):
    r"""Whatever ``size`` quasi-identifiers an intruder knows, at least k records share their
    values.

    .. math:: \min_{|A| = m} \min_{E_A} |E_A| \ge k

    *A* runs over all subsets of m = ``size`` quasi-identifiers and :math:`E_A` over the classes
    they form. Smaller subsets are kept with them, since fewer columns make larger classes; all
    quasi-identifiers together give k-anonymity. Persons and missing values count as in k-anonymity.
    A class fails when it belongs to a too small one of some subset; suppressing it may make others
    too small, so suppression is repeated. sdcMicro's local suppression has it as the all-m
    approach; µ-Argus checks two- and three-way tables this way.

    Reference: Hundepool et al. 2012, *Statistical Disclosure Control*, doi:10.1002/9781118348239,
    chapter 3.

    >>> from sfumato import examples
    >>> from sfumato.core.evidence import gather
    >>> model = KOnSubsets(2, size=1)
    >>> model.judge(gather(examples.special_uniques(), [model]))
    ✗ 2-anonymity on any column: 2 of 10 records (20 %) are among fewer than 2 on some column; the
    smallest group has 1
    """

    k: GroupSize
    size: Annotated[
        int, Field(ge=1, examples=[2], description="how many quasi-identifiers an intruder knows")
    ]

    name: ClassVar[str] = "k_on_subsets"

    @property
    def promise(self) -> str:
        """The promise in a few words."""
        return f"{self.k}-anonymity on any {'column' if self.size == 1 else f'{self.size} columns'}"

    def crowds(self, columns: Sequence[str]) -> Iterable[tuple[Sequence[str], int]]:
        """Every subset of so many columns, and k."""
        return ((names, self.k) for names in itertools.combinations(columns, self.size))

    def needs(self, schema: Schema) -> Needs:
        """Nothing but the classes; but there must be as many quasi-identifiers as an intruder
        knows.
        """
        # Of fewer columns there would be no subset, and the promise would hold of nothing.
        if len(schema.quasi) < self.size:
            raise SchemaError(
                f"{self.promise} needs {self.size} columns with role quasi; there are"
                f" {len(schema.quasi)}"
            )
        return Needs()

    def judge(self, evidence: ClassEvidence) -> Verdict:
        """The smallest group of any subset, and the classes in too small ones."""
        if self.size == 1:
            unit = "column"
        else:
            unit = f"{self.size} columns"
        return _judge(self, self.k, evidence, self._smallest(evidence), unit)

    def implies(self, model: Model) -> bool:
        """A larger k on as many columns or more implies a smaller one, on all subsets and on named
        combinations.
        """
        if isinstance(model, KOnCombinations):
            return self.k >= model.k and all(
                len(names) <= self.size for names in model.combinations
            )
        return isinstance(model, KOnSubsets) and self.k >= model.k and self.size >= model.size

    def _smallest(self, evidence: ClassEvidence) -> Ints:
        return smallest_groups(
            evidence, itertools.combinations(evidence.classes.columns, self.size)
        )


@parameters
class KOnCombinations(_OnColumns):
    r"""For each named combination of quasi-identifiers, at least k records share their values.

    .. math:: \min_{A \in \mathcal{A}} \min_{E_A} |E_A| \ge k

    :math:`\mathcal{A}` are the ``combinations``: what an intruder may know together, such as age
    and sex from sight and ZIP code and household size from a register. All else is as
    in :class:`KOnSubsets`.

    Reference: as there.
    """

    k: GroupSize
    combinations: Annotated[
        Sequence[Combination],
        AfterValidator(tuple),
        Field(min_length=1, description="columns an intruder knows together"),
    ]

    name: ClassVar[str] = "k_on_combinations"

    @property
    def promise(self) -> str:
        """The promise in a few words."""
        return (
            f"{self.k}-anonymity on {'; '.join(' × '.join(names) for names in self.combinations)}"
        )

    def crowds(self, columns: Sequence[str]) -> Iterable[tuple[Sequence[str], int]]:
        """The named combinations, and k."""
        return ((names, self.k) for names in self.combinations)

    def needs(self, schema: Schema) -> Needs:
        """Nothing but the classes; but the columns must be quasi-identifiers."""
        column_names = dict.fromkeys(name for names in self.combinations for name in names)
        wrong = [name for name in column_names if name not in schema.quasi]
        if wrong:
            raise SchemaError(
                [
                    f"{self.name}: {name!r} is not a column with role "
                    f"quasi.{did_you_mean(name, schema.quasi)}"
                    for name in wrong
                ]
            )
        return Needs()

    def judge(self, evidence: ClassEvidence) -> Verdict:
        """The smallest group of any combination, and the classes in too small ones."""
        return _judge(self, self.k, evidence, self._smallest(evidence), "named combination")

    def implies(self, model: Model) -> bool:
        """A larger k on combinations that contain all the other's implies the other."""
        if not isinstance(model, KOnCombinations) or self.k < model.k:
            return False
        return all(
            any(set(model_columns) <= set(own_columns) for own_columns in self.combinations)
            for model_columns in model.combinations
        )

    def _smallest(self, evidence: ClassEvidence) -> Ints:
        return smallest_groups(evidence, self.combinations)


def smallest_groups(evidence: ClassEvidence, combinations: Iterable[Sequence[str]]) -> Ints:
    """Per class, the size of the smallest group it belongs to on any of these combinations of
    columns.
    """
    classes = evidence.classes
    # Above every size, so that the first group replaces it.
    smallest = np.full(len(classes), np.iinfo(np.int64).max, dtype=np.int64)
    for names in combinations:
        # Per class the group that it falls into on these columns alone.
        groups, ids = projected(classes, names)
        wildcard = None
        if evidence.wildcard is not None:
            # Which records are compatible depends on the columns: they are counted again.
            wildcard = wildcard_frequencies(groups, evidence.schema)
        np.minimum(smallest, (groups.sizes if wildcard is None else wildcard)[ids], out=smallest)
    return smallest


def _judge(model: Model, k: int, evidence: ClassEvidence, smallest: Ints, where: str) -> Verdict:
    failing = smallest < k
    attained = extreme(smallest, "smallest")
    if not len(smallest):
        sentence = ""
    elif failing.any():
        sentence = (
            f"{share_of_records(evidence, failing)} are among fewer than {k} on some {where}; the"
            f" smallest group has {attained}"
        )
    else:
        sentence = f"somebody who knows any {where} finds at least {attained} records"
    return verdict(
        model,
        evidence,
        failing,
        attained=attained,
        required=k,
        per_class=smallest,
        sentence=sentence,
        counts_crowds=True,
    )
