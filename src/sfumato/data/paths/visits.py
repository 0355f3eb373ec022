"""A promise about the order of visits: whoever knows where a person went first and where then."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
from pydantic import Field

from sfumato import kernels
from sfumato.core.data import Evidence
from sfumato.core.model import Facts, make_verdict
from sfumato.core.parameters import parameters
from sfumato.data.paths.promises import PathModel, too_few
from sfumato.data.paths.trajectories import Trajectories, require_paths

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.model import Verdict


@parameters
class KmVisits(PathModel):
    r"""Whoever knows at most ``m`` visits of a person in their order, but not when, finds at least
    ``k`` people who went the same way.

    .. math:: \min_{1 \le |q| \le m,\ T(q) \ne \emptyset} |T(q)| \ge k

    *q* is a sequence of places, and T(q) the people with visits to them in this order, others
    between. Visits of one time have no order, so they match both; no visit is used twice. Repeated
    visits to a place count as often as they are made. Coarser places and times can break the
    promise, since points that become equal are one visit then: of two people who went to a place
    twice only one may still have two.

    Reference: Terrovitis & Mamoulis 2008, doi:10.1109/MDM.2008.29; Poulis et al. 2013,
    doi:10.1109/MDM.2013.66.

    >>> from sfumato import examples
    >>> KmVisits(2, m=2).judge(Evidence(examples.small_paths()))
    ✗ 2^2-anonymity of visits: 9 sequence(s) of at most 2 places were visited by fewer than 2
    people, who are 4 of 8; the rarest by 1
    """

    k: Annotated[int, Field(ge=1, description="people who must have gone the same way")]
    m: Annotated[int, Field(ge=1, le=8, description="most visits an intruder knows")] = 2

    name: ClassVar[str] = "km_visits"
    facts: ClassVar[Facts] = Facts(against="identity")

    @property
    def promise(self) -> str:
        """The promise in a few words."""
        return f"{self.k}^{self.m}-anonymity of visits"

    def kept_by_coarsening(self, people: Trajectories) -> bool:
        """Not surely: points that become equal are one, and a way that went there twice is gone for
        some and not for others.
        """
        return False

    def broken(self, people: Trajectories) -> bool:
        """Whether some sequence is too rare."""
        # One rare sequence is enough to know.
        return bool(rare_sequences(people, self.m, self.k, enough=1)[0])

    def judge(self, evidence: Evidence) -> Verdict:
        """Count the sequences that are too rare; longer ones that begin with one are not
        counted.
        """
        people = evidence.data
        paths = require_paths(people, self.promise)
        if (short := too_few(self, paths)) is not None:
            return short
        count, smallest, is_concerned = rare_sequences(paths, self.m, self.k)
        if count and smallest > 1:  # what begins with a rare sequence was not looked at
            # With k = 0 nothing is rare, so no sequence is cut short and the smallest number is the
            # true one.
            smallest = rare_sequences(paths, self.m, 0)[1]
        if not count:
            sentence = (
                f"every sequence of at most {self.m} visits that occurs is shared by at least "
                f"{smallest:,} people"
            )
            return make_verdict(
                self, holds=True, attained=smallest, required=self.k, sentence=sentence
            )
        concerned = int(is_concerned.sum())
        sentence = (
            f"{count:,} sequence(s) of at most {self.m} places were visited by fewer than {self.k}"
            f" people, who are {concerned:,} of {paths.people:,}; the rarest by {smallest:,}"
        )
        return make_verdict(
            self,
            holds=False,
            attained=smallest,
            required=self.k,
            sentence=sentence,
            broken=count,
            people=concerned,
        )


def rare_sequences(
    people: Trajectories, m: int, k: int, *, enough: int = 0
) -> tuple[int, int, NDArray[np.bool_]]:
    """How many sequences of at most ``m`` places fewer than ``k`` people went, the fewest people of
    any, and who went a rare one.
    """
    # Filled by the loop: who went a sequence that too few went.
    is_concerned = np.zeros(people.people, dtype=np.bool_)
    visits = kernels.paths.Visits(people.starts, people.ticks, people.places)
    count, smallest = kernels.paths.count_rare_sequences(
        visits, max(1, people.table.height), m, k, enough, is_concerned
    )
    return int(count), int(smallest), is_concerned
