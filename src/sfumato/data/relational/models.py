"""Promises about persons in several tables: whoever knows rows of a person finds a crowd of
persons, and no secret of theirs.

A promise about the rows of a join counts rows, and the rows of one person count as often as
they are: four joined rows of three persons look like a crowd of four, and a person with ten
different illnesses makes a class look diverse. Here a crowd is as large as its persons, and a value
is had by a person or not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from sfumato.core.data import Evidence
from sfumato.core.model import TOLERANCE, Facts, make_verdict
from sfumato.core.parameters import parameters
from sfumato.core.words import count_of, inflect, join_words, percent
from sfumato.data.relational.knowledge import (
    EFFORT,
    Acquaintance,
    Disclosure,
    Knows,
    LowHigh,
    Secrets,
    ValueLayout,
)
from sfumato.data.relational.person_views import Shown, ShownSensitive
from sfumato.data.relational.promises import PersonsPromise
from sfumato.errors import InternalError, ParameterError, SchemaError, did_you_mean
from sfumato.methods.formulas.axes import axis_problem, nodes_above, sort_keys

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.model import Verdict

K = Annotated[
    int, Field(ge=1, description="smallest number of persons who must share what is known")
]
Column = Annotated[str, Field(min_length=1, description="the sensitive column, as table.column")]
Known = Annotated[
    Knows,
    Field(
        description=(
            "what the intruder knows: own columns, numbers of rows, all rows, or any few rows"
        )
    ),
]
Few = Annotated[
    int | None,
    Field(
        alias="facts",
        ge=1,
        le=20,
        description="only for any: most rows known, from any of the tables",
    ),
]
Own = Annotated[bool, Field(description="whether the own columns are known")]
Effort = Annotated[
    int,
    Field(
        ge=1, description="only for any: sets of rows that are examined; beyond, bounds are given"
    ),
]
NOBODY = "there are no persons, so there is nothing to judge"


def few_rows(m: int) -> str:
    """A number of rows in words.

    >>> few_rows(1), few_rows(3)
    ('any 1 row', 'any 3 rows')
    """
    return f"any {count_of(m, 'row')}"


class PersonsModel(PersonsPromise):
    """A promise about persons in several tables, with what means need to know of it. Promises
    inherit this class.
    """

    knows: Any
    m: Any
    own: Any
    effort: Any

    def __post_init__(self) -> None:
        # Made once to have it checked: what does not go together is refused at the start.
        intruder_of(self.knows, self.m, self.own, self.effort)

    @property
    def intruder(self) -> Acquaintance:
        """Whom it is made against."""
        return intruder_of(self.knows, self.m, self.own, self.effort)

    @property
    def rows_to_trim(self) -> tuple[int, int] | None:
        """(k, m) where it asks that any m rows of a person are shared by k persons: then rows can
        be trimmed; None: it asks otherwise.
        """
        return None

    @property
    def counts_to_even(self) -> int | None:
        """The k where it asks that k persons have the same numbers of rows: then these can be
        evened out; None: it asks otherwise.
        """
        return None

    def found(self, view: Shown, *, roughly: bool = False) -> LowHigh:
        """What is found of every person; ``roughly``: no more exactly than is needed to tell who
        falls short.
        """
        raise InternalError(f"{self.name} finds nothing")

    def short(self, crowds: LowHigh) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Of whom it surely does not hold, and of whom it does not surely hold."""
        raise InternalError(f"{self.name} asks for nothing; give k or another requirement")

    def judged(self, view: Shown, crowds: LowHigh) -> Verdict:
        """What it says about persons of whom there is at least one."""
        raise InternalError(f"{self.name} judges nothing")

    def judge(self, evidence: Evidence) -> Verdict:
        """Judge the persons as released."""
        people = evidence.data
        view: Shown = people.shown()
        if not view.persons:
            # Of nobody any promise is true; an empty release must not pass for that reason.
            return make_verdict(self, holds=False, attained=None, required=None, sentence=NOBODY)
        return self.judged(view, self.found(view))

    def falling(self, view: Shown) -> NDArray[np.bool_]:
        """Persons of whom it surely does not hold; where there is none, those of whom it does not
        surely hold.

        Once the first are gone there may be few enough sets of rows to know more of the others.
        """
        surely, maybe = self.short(self.found(view, roughly=True))
        return surely if surely.any() else maybe

    def broken(self, people: Any) -> NDArray[np.bool_]:
        """Per person whether it does not hold for them (see :meth:`falling`), or for them in a
        table that joins with nobody.
        """
        view: Shown = people.shown()
        falling = self.falling(view)
        # Everybody is a person of the people: numbers agree.
        if view.persons == people.people:
            return falling
        is_broken = falling[: people.people].copy()
        # After a split, persons of each branch are numbered behind the people; the owners of their
        # rows lead back.
        for rows in view.rows:
            is_broken[people[rows.table].owner[falling[rows.person]]] = True
        return is_broken


def against(intruder: Acquaintance) -> str:
    """What an intruder knows, in words.

    >>> against(Acquaintance("any", 2)), against(Acquaintance("rows", own=False))
    ('whoever knows the own columns and any 2 rows', 'whoever knows all rows')
    """
    knowledge_words = {
        "own": "",
        "counts": "the numbers of rows",
        "rows": "all rows",
        "any": few_rows(intruder.facts),
    }
    parts = (["the own columns"] if intruder.own else []) + (
        [knowledge_words[intruder.knows]] if knowledge_words[intruder.knows] else []
    )
    return f"whoever knows {join_words(parts)}"


def intruder_of(knows: Knows, facts: int | None, own: bool, effort: int) -> Acquaintance:
    """The intruder that the fields of a promise or an attack describe; what does not go together is
    refused.
    """
    # A number of rows without ``any`` would be ignored, and ``any`` without one says nothing.
    if (knows == "any") != (facts is not None):
        raise ParameterError(
            "facts, the number of known rows, goes only with knows: any, and is required there"
        )
    if knows == "own" and not own:
        raise ParameterError(
            "knows: own with own: false describes somebody who knows nothing; use "
            "counts, rows or any"
        )
    return Acquaintance(knows, facts or 0, own, effort)


def share_of(count: int, persons: int) -> str:
    """So many of all persons, in words.

    >>> share_of(2, 6)
    '2 of 6 persons'
    """
    return f"{count:,} of {persons:,} persons"


def not_known(crowds: LowHigh, set_size: int, surely: int, maybe: int, persons: int) -> str:
    """What a verdict says where not all sets of facts could be looked at and the promise is neither
    kept nor broken for sure.
    """
    return (
        f"unknown: too many sets of {set_size} rows to examine all (of {crowds.reach} all were), "
        f"and for {share_of(maybe - surely, persons)} the promise may or may not hold; raise "
        "effort, cap the rows of a person, or ask for fewer facts"
    )


@parameters
class PersonsKAnonymity(PersonsModel):
    r"""An intruder who knows attributes of a person in several tables finds at least ``k`` matching
    people.

    .. math:: \min_i\ \min_{Q} \bigl|\{j : \text{what is known, } Q, \text{ is true of } j\}\bigr|
        \ge k

    ``knows`` says what *Q* may be: the ``own`` quasi-identifiers; these and the ``counts`` of rows
    in every table; these and all ``rows``, with what each shows; or these and ``any`` set of
    ``facts`` rows, from all tables together (a row that somebody has twice may be known twice). The
    default, ``rows``, is the strictest and implies all others; ``any`` with more facts implies it
    with fewer. With ``own: false`` the own columns are not known.

    Persons are counted, without weights. A missing value and a suppressed cell are values of their
    own. Where there are more sets of rows than ``effort``, it holds only if it holds for whoever
    knows all rows, fails only if it fails for fewer facts, and is unknown else, which does not
    hold. Somebody who knows that there are *no* other rows is covered by ``rows`` alone.

    Reference: Samarati 2001, doi:10.1109/69.971193, for one table; Terrovitis, Mamoulis & Kalnis
    2008, doi:10.14778/1453856.1453874, for any few facts; Nergiz, Clifton & Nergiz 2009,
    doi:10.1109/TKDE.2008.210, for persons in several tables.

    >>> from sfumato import examples
    >>> PersonsKAnonymity(2, "any", facts=1, own=False).judge(Evidence(examples.clinic()))
    ✗ 2-anonymity of persons against whoever knows any 1 row: by this knowledge 12 of 60 persons are
    unique
    """

    k: K
    knows: Known = "rows"
    m: Few = None
    own: Own = True
    effort: Effort = EFFORT

    name: ClassVar[str] = "persons_k_anonymity"
    facts: ClassVar[Facts] = Facts(against="identity")

    @property
    def promise(self) -> str:
        """The promise in a few words."""
        return f"{self.k}-anonymity of persons against {against(self.intruder)}"

    @property
    def crowd(self) -> int | None:
        """The k, where the own columns are known: no class of them may be smaller."""
        return self.k if self.own else None

    @property
    def rows_to_trim(self) -> tuple[int, int] | None:
        """The k and the m where any m rows are known."""
        if self.m is None:
            return None
        return (self.k, self.m)

    @property
    def counts_to_even(self) -> int | None:
        """The k where the numbers of rows are known."""
        return self.k if self.knows == "counts" else None

    def found(self, view: Shown, *, roughly: bool = False) -> LowHigh:
        """Per person the smallest crowd."""
        # To tell who falls short, crowds below k need not be counted to the end.
        return self.intruder.crowds(view, floor=self.k - 1 if roughly else 1)

    def short(self, crowds: LowHigh) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Persons in crowds of fewer than k."""
        # High below k: surely too small. Low below k: perhaps.
        return crowds.high < self.k, crowds.low < self.k

    def judged(self, view: Shown, crowds: LowHigh) -> Verdict:
        """The smallest crowd of all."""
        surely, maybe = (int(short.sum()) for short in self.short(crowds))
        lower, upper = int(crowds.low.min()), int(crowds.high.min())
        if surely:
            alone = int((crowds.high == 1).sum())
            if alone:
                bound_words = f"{alone:,} of them {inflect(alone, 'is', 'are')} unique"
            else:
                bound_words = f"the smallest has {upper:,}"
            sentence = (
                f"this knowledge leaves {share_of(surely, view.persons)} in a group of fewer than "
                f"{self.k:,}; {bound_words}"
            )
            if self.k == 2:
                sentence = f"by this knowledge {share_of(surely, view.persons)} are unique"
        elif maybe:
            sentence = not_known(crowds, self.intruder.facts, surely, maybe, view.persons)
        else:
            sentence = f"everyone shares this knowledge with at least {lower - 1:,} other persons"
        # With an uncertain outcome there is no number that could be promised.
        if surely:
            attained = upper
        elif not maybe:
            attained = lower
        else:
            attained = None
        return make_verdict(
            self,
            holds=not maybe,
            attained=attained,
            required=self.k,
            sentence=sentence,
            broken=surely,
            people=surely,
            crowd=self.k,
        )


class AboutSecrets(PersonsModel):
    """A promise about the values of a sensitive column, in the table of the people or in one below
    it.
    """

    sensitive: Any

    @property
    def limit(self) -> float:
        """The most that a crowd may reveal."""
        raise InternalError(f"{self.name} has no limit")

    def measure(self, view: Shown) -> Disclosure:
        """How it is measured what a crowd reveals."""
        raise InternalError(f"{self.name} measures nothing")

    def found(self, view: Shown, *, roughly: bool = False) -> LowHigh:
        """Per person the most that a crowd reveals."""
        if self.sensitive not in view.sensitive:
            raise SchemaError(
                f"{self.name}: sensitive column {self.sensitive!r} does not exist; write "
                f"table.column.{did_you_mean(self.sensitive, list(view.sensitive))}"
            )
        # Just above the limit: beyond it the exact value changes nothing.
        ceiling = self.limit + 2 * TOLERANCE if roughly else 1.0
        return self.intruder.told(
            view,
            self.sensitive,
            self.measure(view),
            ceiling=ceiling,
            layout=self.layout(view.sensitive[self.sensitive]),
        )

    def layout(self, column: ShownSensitive) -> ValueLayout | None:
        """Where the values lie, for measures that ask how far apart they are."""
        return None

    def short(self, values: LowHigh) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Persons of whom a crowd reveals too much."""
        return values.low > self.limit + TOLERANCE, values.high > self.limit + TOLERANCE

    def several(self, view: Shown) -> bool:
        """Whether somebody has more than one value."""
        return not Secrets.of(view.sensitive[self.sensitive], view.persons).single


@parameters
class PersonsLDiversity(AboutSecrets):
    r"""In every crowd that somebody who knows something of a person finds, the sensitive column
    takes at least ``l`` well-represented values.

    In a crowd *C* of persons, of whom person *i* has the set :math:`S_i` of values (one, in a
    column of the people; in a table below, as many as the rows of the person show):

    .. math::
        \text{frequency: } \max_v \frac{|\{i \in C : v \in S_i\}|}{|C|} \le \frac1l \qquad
        \text{distinct: } \max\{|D| : D \subseteq C,\ S_i \cap S_j = \emptyset\ \forall i \ne j \in
        D\} \ge l \qquad \text{entropy: } \exp\Bigl(-\sum_v q_v \ln q_v\Bigr) \ge l

    ``frequency`` (the default) limits with what confidence an intruder says «this person has v»,
    and so also «the row that I know has v». ``distinct`` asks for l persons who pairwise share
    no value: one piece of knowledge «does not have v» rules out at most one of them, so l − 1 are
    needed to be certain, as in a single table, where it is the number of different values. That
    number would mislead here, since one person with many values makes a crowd look diverse of which
    everybody has the same illness. The largest such group is not searched for: it is built from the
    persons with the fewest values on, which finds no more than there is. ``entropy`` (:math:`q_v`
    the share of v) is for columns of which everybody has one value at most, and refused for others.
    The two definitions for sets are ours.

    A missing value is a value of its own. Who has no row at all has no value: that counts once
    among distinct values and as one in the entropy, never as something that was given away, and a
    crowd of which nobody has a value gives nothing away. ``knows``, ``facts``, ``own`` and
    ``effort`` are those of persons_k_anonymity; more knowledge may reveal less, so for ``any``
    all sets of up to so many rows are looked at.

    Reference: Machanavajjhala, Kifer, Gehrke & Venkitasubramaniam 2007,
    doi:10.1145/1217299.1217302; Wong, Li, Fu & Wang 2006, doi:10.1145/1150402.1150499, for the
    frequency.

    >>> from sfumato import examples
    >>> PersonsLDiversity("prescriptions.drug", 2, knows="any", facts=1, own=False).judge(
    ...     Evidence(examples.clinic())
    ... ).records
    46
    """

    sensitive: Column
    l: Annotated[  # noqa: E741
        int | float,
        Field(ge=1, allow_inf_nan=False, description="how many values a group must show"),
    ]
    kind: Annotated[
        Literal["frequency", "distinct", "entropy"],
        Field(description="what well-represented means"),
    ] = "frequency"
    knows: Known = "rows"
    m: Few = None
    own: Own = True
    effort: Effort = EFFORT

    name: ClassVar[str] = "persons_l_diversity"
    facts: ClassVar[Facts] = Facts(against="attribute")

    def __post_init__(self) -> None:
        intruder_of(self.knows, self.m, self.own, self.effort)
        if self.kind == "distinct" and self.l != int(self.l):
            raise ParameterError("l must be a whole number for kind distinct")

    @property
    def promise(self) -> str:
        """The promise in a few words."""
        return (
            f"{self.kind} {self.l:g}-diversity of {self.sensitive} against {against(self.intruder)}"
        )

    @property
    def limit(self) -> float:
        """One l-th."""
        return 1.0 / self.l

    def measure(self, view: Shown) -> Disclosure:
        """By its kind; entropy only where nobody has several values."""
        # Several values of a person do not add up to a distribution over persons.
        if self.kind == "entropy" and self.several(view):
            raise SchemaError(
                f"{self.name}: some persons have several values of {self.sensitive!r}, which have"
                " no entropy; use kind frequency or distinct"
            )
        return Disclosure[self.kind.upper()]

    def judged(self, view: Shown, values: LowHigh) -> Verdict:
        """The least diverse crowd."""
        surely, maybe = (int(short.sum()) for short in self.short(values))
        # If it fails, by what is certain; if it holds, by the worst that is possible.
        worst = float((values.low if surely else values.high).max())
        attained = None if (maybe and not surely) or not worst else 1.0 / worst
        if surely:
            sentence = (
                f"{share_of(surely, view.persons)} belong to a group that is not "
                f"{self.l:g}-diverse; the least diverse reaches {1.0 / worst:.3g}"
            )
        elif maybe:
            sentence = not_known(values, self.intruder.facts, surely, maybe, view.persons)
        elif not worst:
            sentence = f"nobody has a value of {self.sensitive}, so there is nothing to infer"
        else:
            sentence = {
                "frequency": (
                    f"no value of {self.sensitive} can be attributed to a person with more than "
                    f"{percent(worst)} confidence"
                ),
                "distinct": (
                    f"every group has at least {1.0 / worst:.0f} persons who share no value of"
                    f" {self.sensitive}"
                ),
                "entropy": (
                    f"every group is as diverse as {1.0 / worst:.3g} equally frequent values of"
                    f" {self.sensitive}, or more"
                ),
            }[self.kind]
        return make_verdict(
            self,
            holds=not maybe,
            attained=attained,
            required=self.l,
            sentence=sentence,
            broken=surely,
            people=surely,
        )


@parameters
class PersonsTCloseness(AboutSecrets):
    r"""In every crowd that somebody who knows something of a person finds, the sensitive column
    looks as it does among all persons.

    .. math::
        \text{equal: } \tfrac12 \sum_v |q_v - p_v| \quad\text{where everybody has one value at
        most,}\qquad \max_v |q_v - p_v| \quad\text{else}

        \text{ordered: } \frac{1}{m-1} \sum_{i=1}^{m-1} |Q_i - P_i| \qquad
        \text{numeric: } \frac{\sum_i |Q_i - P_i|\,(x_{i+1} - x_i)}{x_m - x_1} \qquad
        \text{hierarchical: } \frac{1}{2H} \sum_{v} |q(v) - p(v)|

    with :math:`q_v` the share of the persons of the crowd, and :math:`p_v` of all released persons,
    who have the value v. The first is t-closeness with equal distances, having no row being one of
    the values; the second, for tables of which a person may have several rows, limits by how much
    what is believed of a person having v changes, for every v by itself, and is ours. Shares are
    of persons: the shares of rows in a join tell of persons with many rows.

    The other ``distance`` words are those of t_closeness for one table: *Q, P* are cumulative over
    the *m* values that occur, and *v* runs over the nodes below the top of the column's hierarchy,
    which has *H* steps. Who has several values is shared out evenly among them, so that every
    person weighs the same. Having no value is as far from all values as can be: in a tree it is a
    branch of its own; in an order the share :math:`|q_0 - p_0|` is moved by 1, and the rest of both
    sides is compared as it is by itself, :math:`|q_0 - p_0| + (1 - \max(q_0, p_0))\,d`, which is
    never less than the earth mover's distance, and is that where the shares are the same. Missing
    values have no place in an order, and are refused there.

    With the equal distance a missing value is a value of its own. ``knows``, ``facts``, ``own`` and
    ``effort`` are those of persons_k_anonymity; for ``any`` all sets of up to so many rows are
    looked at.

    Reference: Li, Li & Venkatasubramanian 2007, doi:10.1109/ICDE.2007.367856.

    >>> from sfumato import examples
    >>> PersonsTCloseness("people.diagnosis", 0.9, knows="counts", own=False).judge(
    ...     Evidence(examples.clinic())
    ... ).holds
    True
    """

    sensitive: Column
    t: Annotated[float, Field(ge=0, le=1, description="largest distance from all persons")]
    knows: Known = "rows"
    m: Few = None
    own: Own = True
    effort: Effort = EFFORT
    distance: Annotated[
        Literal["equal", "ordered", "numeric", "hierarchical"],
        Field(description="how distributions are compared"),
    ] = "equal"

    name: ClassVar[str] = "persons_t_closeness"
    facts: ClassVar[Facts] = Facts(against="attribute")

    @property
    def promise(self) -> str:
        """The promise in a few words."""
        how = "" if self.distance == "equal" else f" ({self.distance} distance)"
        return f"{self.t:g}-closeness of {self.sensitive}{how} against {against(self.intruder)}"

    @property
    def limit(self) -> float:
        """The t."""
        return self.t

    def measure(self, view: Shown) -> Disclosure:
        """Equal distances, or the largest change of one value where somebody has several; else by
        where values lie.
        """
        # Distances other than equal need to know where the values lie.
        if self.distance != "equal":
            if self.distance == "hierarchical":
                return Disclosure.TREE
            return Disclosure.LINE
        if self.several(view):
            return Disclosure.EACH
        return Disclosure.EQUAL

    def problem(self, column: ShownSensitive) -> str | None:
        """What is not known of the column that the distance needs."""
        attribute = column.attribute
        if self.distance == "equal":
            return None
        if attribute is None or (self.distance == "hierarchical" and attribute.hierarchy is None):
            return (
                f"the {self.distance} distance needs a kind, an order or a hierarchy of "
                f"{self.sensitive!r}; give it one"
            )
        if self.distance == "hierarchical":
            return None
        return axis_problem(self.sensitive, attribute, self.distance)

    def lacking(self, people: Any) -> str | None:
        """An order or a hierarchy that lists values, which the owner keeps."""
        column = people.shown().sensitive.get(self.sensitive)
        lacks = column is not None and self.problem(column) is not None
        if lacks:
            return "it needs the values that the owner's recipe lists"
        return None

    def layout(self, column: ShownSensitive) -> ValueLayout | None:
        """Where values lie: in an order, on a scale or in the tree of the hierarchy."""
        if self.distance == "equal":
            return None
        if problem := self.problem(column):
            raise SchemaError(f"{self.promise}: {problem}")
        attribute, labels = column.attribute, column.labels
        if self.distance == "hierarchical":
            # How many rows each value has: the hierarchy may depend on it.
            counts = np.bincount(column.code, minlength=len(labels)).tolist()
            nodes, _ = nodes_above(labels, counts, attribute)  # type: ignore[arg-type]
            return ValueLayout("tree", nodes)
        if None in labels:
            raise SchemaError(
                f"{self.promise}: some values are missing and have no position in an order; fill "
                "or drop them, or use the equal distance"
            )
        present = [name for name in labels if name is not None]
        keys = sort_keys(present, self.sensitive, attribute)  # type: ignore[arg-type]
        if self.distance == "numeric":
            return ValueLayout("scale", np.array(keys, dtype=np.float64))
        # Ranks of different keys: two labels of the same number share a place.
        ranks = {key: rank for rank, key in enumerate(sorted(set(keys)))}
        return ValueLayout("order", np.array([ranks[key] for key in keys], dtype=np.int64))

    def judged(self, view: Shown, distances: LowHigh) -> Verdict:
        """The crowd that is farthest from all."""
        surely, maybe = (int(short.sum()) for short in self.short(distances))
        worst = float((distances.low if surely else distances.high).max())
        if surely:
            sentence = (
                f"{share_of(surely, view.persons)} belong to a group that is farther than "
                f"{self.t:g} from all persons; the farthest is {worst:.3g} away"
            )
        elif maybe:
            sentence = not_known(distances, self.intruder.facts, surely, maybe, view.persons)
        else:
            if self.measure(view) is Disclosure.EACH:
                distribution = "the share of any value"
            else:
                distribution = "what is believed"
            sentence = (
                f"no group changes {distribution} of {self.sensitive} by more than {worst:.3g}"
            )
        attained = None if maybe and not surely else worst
        return make_verdict(
            self,
            holds=not maybe,
            attained=attained,
            required=self.t,
            sentence=sentence,
            broken=surely,
            people=surely,
        )
