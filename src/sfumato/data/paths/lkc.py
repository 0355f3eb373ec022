"""Promises about points: whoever knows a few times and places of a person."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from sfumato.core.model import Facts
from sfumato.core.parameters import parameters
from sfumato.data.paths.promises import SetDemand, SetPromise, sensitive_sets
from sfumato.data.paths.trajectories import Trajectories
from sfumato.errors import ParameterError

Crowd = Annotated[int, Field(ge=1, description="people who must share what an intruder knows")]
MostPoints = Annotated[int, Field(ge=1, le=8, description="most points an intruder knows")]


@parameters
class LkcPrivacy(SetPromise):
    r"""Whoever knows at most ``l`` points of a person finds at least ``k`` people, and no sensitive
    value too often among them.

    .. math:: |T(q)| \ge K \quad\text{and}\quad P(s \mid q) = \frac{|T(q) \cap T(s)|}{|T(q)|} \le C

    for every set *q* of at most L points (time, place) that somebody has, with T(q) the people who
    have all of it, and every sensitive value *s*. Written (K, C)\ :sub:`L`. Without ``c`` it is
    k^m-anonymity of the points. A missing sensitive value is none. Quasi-identifiers among the
    people's own columns are not part of what an intruder is taken to know. Coarser places and times
    keep K; they may break C, since the people of different points overlap.

    Reference: Mohammed, Fung & Debbabi 2009, doi:10.1145/1645953.1646140; Chen, Fung, Mohammed,
    Desai & Wang 2013, doi:10.1016/j.ins.2011.07.035.

    >>> from sfumato import examples
    >>> from sfumato.core.data import Evidence
    >>> LkcPrivacy(2, l=2).judge(Evidence(examples.small_paths()))
    ✗ (2)_2-privacy: 12 minimal set(s) of at most 2 point(s) break it, in the paths of 7 of 8
    people; the rarest has 1 carrier(s)
    """

    k: Crowd
    l: MostPoints = 2  # noqa: E741 - the letter of the literature
    c: Annotated[
        float | None,
        Field(gt=0, le=1, description="largest share of them with one sensitive value"),
    ] = None
    sensitive: Annotated[
        str | None, Field(description="the sensitive column; by default the only one")
    ] = None
    values: Annotated[
        tuple[str, ...] | None,
        Field(min_length=1, description="the sensitive values to protect; by default all"),
    ] = None

    name: ClassVar[str] = "lkc_privacy"
    facts: ClassVar[Facts] = Facts(against="both")
    secret: ClassVar[tuple[str, ...]] = ("values",)

    def __post_init__(self) -> None:
        # Without a largest share nothing is asked of sensitive values; a column named would be
        # ignored in silence.
        if self.c is None and (self.sensitive is not None or self.values is not None):
            raise ParameterError(
                "a sensitive column matters only together with c, the largest share of "
                "one value; give c"
            )

    @property
    def promise(self) -> str:
        """The promise in a few words."""
        if self.c is None:
            return f"({self.k})_{self.l}-privacy"
        return f"({self.k}, {self.c:g})_{self.l}-privacy"

    def kept_by_coarsening(self, people: Trajectories) -> bool:
        """Only without C."""
        # A coarser point has more carriers, but they may share a sensitive value more often.
        return self.c is None

    def asked(self, people: Trajectories) -> SetDemand:
        """K, L, and the sensitive values where there is a C."""
        # Sensitive values are read only if they matter: then there must be one such column.
        if self.c is None:
            return SetDemand(self.k, self.l)
        return SetDemand(
            self.k,
            self.l,
            sensitive_sets(people, self.sensitive, self.values, self.promise),
            self.c,
        )


@parameters
class KmPoints(SetPromise):
    r"""Whoever knows at most ``m`` points (time and place) of a person finds at least ``k`` people
    who have them.

    .. math:: \min_{1 \le |q| \le m,\ T(q) \ne \emptyset} |T(q)| \ge k

    k^m-anonymity with points as items. Kept by coarser places and times.

    Reference: Terrovitis, Mamoulis & Kalnis 2008, doi:10.14778/1453856.1453874.

    >>> from sfumato import examples
    >>> from sfumato.core.data import Evidence
    >>> KmPoints(2, m=1).judge(Evidence(examples.small_paths())).holds
    False
    """

    k: Crowd
    m: MostPoints = 2

    name: ClassVar[str] = "km_anonymity"
    facts: ClassVar[Facts] = Facts(against="identity")

    @property
    def promise(self) -> str:
        """The promise in a few words."""
        return f"{self.k}^{self.m}-anonymity of points"

    def kept_by_coarsening(self, people: Trajectories) -> bool:
        """Always: whoever had the points has what contains them."""
        return True

    def asked(self, people: Trajectories) -> SetDemand:
        """At least k carriers of sets of at most m."""
        return SetDemand(self.k, self.m)
