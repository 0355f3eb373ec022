"""A promise about windows of time: whoever saw a person for a while."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from sfumato import kernels
from sfumato.core.data import Evidence
from sfumato.core.model import Facts, make_verdict
from sfumato.core.parameters import parameters
from sfumato.core.randomness import mixed
from sfumato.data.paths.clock import minutes_of
from sfumato.data.paths.promises import PathModel, point_sets, too_few
from sfumato.data.paths.trajectories import Trajectories, require_paths
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from sfumato.core.model import Verdict

MOST_WINDOWS = 1_000_000
"""Windows that are looked at at most."""


@parameters
class KWindows(PathModel):
    r"""Whoever saw a person for a time of length ``tau`` finds at least ``k`` people with what was
    seen.

    For every person and every window [s, s + τ), with starts s every ``every``, in which the person
    has points, at least k people

    * ``equals``: have exactly the same points in the window (the intruder knows that there were no
      others), or
    * ``contains``: have at least these points.

    Windows without points are not tested; without times all points lie in one window. This is the
    part of k^{τ,ε}-anonymity that is about windows; what may be learnt beyond the window is not
    bounded. Kept by coarser places, and by coarser times as long as τ and the starts are multiples
    of the buckets. Sets are distinguished by sums of 64-bit hashes: of *n* different ones two are
    taken for one with a chance of about n²/2⁶⁵.

    Reference: Gramaglia, Fiore, Tarable & Banchs 2017, doi:10.1109/INFOCOM.2017.8056979.

    >>> from sfumato import examples
    >>> KWindows(2, tau="2h").judge(Evidence(examples.small_paths()))
    ✗ 2 people in every 2h window: 4 of 8 people have a window of 2h that fewer than 2 people share
    """

    k: Annotated[int, Field(ge=1, description="people who must share what was seen")]
    tau: Annotated[str, Field(description="length of a window, like 4h or 2d")]
    every: Annotated[
        str | None,
        Field(description="windows start at multiples of this; by default every hour or day"),
    ] = None
    match: Annotated[
        Literal["equals", "contains"],
        Field(description="whether others have exactly these points, or at least these"),
    ] = "equals"

    name: ClassVar[str] = "k_windows"
    facts: ClassVar[Facts] = Facts(against="identity")

    def __post_init__(self) -> None:
        minutes_of(self.tau)
        if self.every is not None:
            minutes_of(self.every)

    @property
    def promise(self) -> str:
        """The promise in a few words."""
        match_words = "" if self.match == "equals" else " (at least its points)"
        return f"{self.k} people in every {self.tau} window{match_words}"

    def kept_by_coarsening(self, people: Trajectories) -> bool:
        """Only while windows begin and end where buckets do."""
        # A bucket cut by the end of a window would put points into a window in which they may not
        # be.
        length, apart = self.steps(people)
        return (
            people.clock.kind != "none" and length % people.width == 0 and apart % people.width == 0
        )

    def broken(self, people: Trajectories) -> bool:
        """Whether some window is too rare."""
        return any(bool(small.any()) for small in self._small(people))

    def judge(self, evidence: Evidence) -> Verdict:
        """Count the people with a window that too few share, and the smallest number who share
        one.
        """
        people = evidence.data
        paths = require_paths(people, self.promise)
        if (short := too_few(self, paths)) is not None:
            return short
        low = np.zeros(paths.people, dtype=np.bool_)
        broken = 0
        for small in self._small(paths):
            broken += int(small.any())
            low |= small
        concerned = int(low.sum())
        if concerned:
            sentence = (
                f"{concerned:,} of {paths.people:,} people have a window of {self.tau} that fewer"
                f" than {self.k} people share"
            )
            return make_verdict(
                self,
                holds=False,
                attained=None,
                required=self.k,
                sentence=sentence,
                broken=broken,
                people=concerned,
            )
        sentence = f"every window of {self.tau} is shared by at least {self.k} people"
        return make_verdict(self, holds=True, attained=self.k, required=self.k, sentence=sentence)

    def steps(self, people: Trajectories) -> tuple[int, int]:
        """The length of a window and the distance of their starts, in ticks."""
        clock = people.clock
        if clock.kind == "none":  # without times everything lies in one window
            return 1, 1
        # The natural grain of the file: days, or hours where times are finer.
        usual = "1d" if clock.kind == "days" else "1h"
        length, apart = clock.ticks(self.tau), clock.ticks(self.every or usual)
        return length, apart

    def _small(self, people: Trajectories) -> Iterator[NDArray[np.bool_]]:
        """Window by window, the people whose points in it too few share."""
        length, apart = self.steps(people)
        clock, points = people.clock, people.points
        if not len(people.ticks):
            return
        # The first window that can hold the first point; earlier ones are empty.
        first = int(clock.floor(np.array([people.ticks.min() - length + 1]), apart)[0])
        count = (int(people.ticks.max()) - first) // apart + 1
        if count > MOST_WINDOWS:
            raise ParameterError(
                f"{self.promise}: there are {count:,} windows, more than {MOST_WINDOWS:,}; let them"
                " start less often"
            )
        # A set is told by the sum of the hashes of its points: the order does not matter.
        hashes = mixed(points.items.astype(np.uint64))
        posted = posted_points(people)
        # Where the window begins and ends in the points of each person. Windows move forward only,
        # so both move forward only, and are carried from window to window.
        firsts, lasts = people.starts[:-1].copy(), people.starts[:-1].copy()
        sums = np.zeros(people.people, dtype=np.uint64)
        for number in range(count):
            low = first + number * apart
            kernels.paths.sum_windows(
                people.starts, people.ticks, hashes, low, low + length, sums, firsts, lasts
            )
            present_windows = np.flatnonzero(lasts > firsts)
            small = np.zeros(people.people, dtype=np.bool_)
            if len(present_windows):
                _, codes, sizes = np.unique(
                    sums[present_windows], return_inverse=True, return_counts=True
                )
                # People with nothing in the window are not tested: k says that enough share it.
                shared = np.full(people.people, self.k, dtype=np.int64)
                shared[present_windows] = sizes[codes]
                if self.match == "equals":
                    small = shared < self.k
                # Those with k equal ones need no search; for the others people with more points
                # count too.
                else:
                    kernels.paths.mark_small_windows(posted, firsts, lasts, shared, self.k, small)
            yield small


def posted_points(people: Trajectories) -> Any:
    """People as runs of numbered points with postings, as the loops take them."""
    sets = point_sets(people)
    starts, carriers, _ = sets.posted
    return kernels.paths.PostedPoints(
        people.starts, people.points.items, starts, carriers.astype(np.int64)
    )
