"""What released columns imply of generalised quasi-identifiers: looked for in every release,
refused unless the recipe accepts it.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping
from typing import TYPE_CHECKING

from sfumato.core.fields import Document
from sfumato.methods.formulas.dependence import DependenceKind
from sfumato.methods.formulas.dependence_search import (
    LOOKED_FOR,
    Dependence,
    Dependences,
    linkage_words,
)

if TYPE_CHECKING:
    from sfumato.core.acceptance import ImpliedQuasi
    from sfumato.methods.formulas.implied_linkage import Linkage

MOST_NAMED = 5
WHAT_TO_DO = (
    "Drop the column, release it through the labels of the quasi-identifier (step follow), make "
    "it a quasi-identifier, or accept it with accept: {COLUMN: {implies: QUASI-IDENTIFIER, "
    "because: ...}}"
)


@dataclasses.dataclass(frozen=True, eq=False)
class Implied:
    """What was found, and what of it the recipe accepts; ``decides`` is False where nothing may be
    decided by looking at the data.
    """

    found: Dependences
    accepted: Mapping[tuple[str, str], ImpliedQuasi]
    k: int | None
    decides: bool = True
    sampled: str = ""

    def is_accepted(self, dependence: Dependence) -> bool:
        """Whether the recipe accepts it: of a sum, every column of it."""
        # a sum narrows only by all its columns: one that was not accepted is one too many
        return all((column, dependence.quasi) in self.accepted for column in dependence.columns)

    @property
    def unaccepted(self) -> tuple[Dependence, ...]:
        """What was found and nobody took on."""
        return tuple(
            dependence for dependence in self.found.found if not self.is_accepted(dependence)
        )

    @functools.cached_property
    def linkage(self) -> Linkage | None:
        """How many people all dependences together reveal, accepted ones too; None: there is
        none.
        """
        return self.found.linkage()

    @functools.cached_property
    def unaccepted_linkage(self) -> Linkage | None:
        """The same of those that nobody took on."""
        # nothing was accepted: the same linkage, which is dear to compute
        if len(self.unaccepted) == len(self.found.found):
            return self.linkage
        return self.found.linkage(self.unaccepted)

    @property
    def undoing(self) -> tuple[Dependence, ...]:
        """What undoes the release: pairs by themselves, or all that narrow where linkage by them
        finds too many people.
        """
        unaccepted = self.unaccepted
        if not unaccepted:
            return ()
        linkage = self.unaccepted_linkage
        # pairs that are harmless alone may find people together: then all of them undo it
        if linkage is not None and linkage.exceeds(self.k):
            return unaccepted
        return tuple(dependence for dependence in unaccepted if dependence.refused)

    @property
    def refusals(self) -> list[str]:
        """Why nothing is released: names and figures, no values. Empty where an ε is accounted
        for.
        """
        if not self.decides or not self.found.found:
            return []
        undoing = self.undoing
        if not undoing:
            return []
        sentences = [dependence.sentence() for dependence in undoing[:MOST_NAMED]]
        if len(undoing) > MOST_NAMED:
            sentences.append(f"and {len(undoing) - MOST_NAMED} more")
        linkage = self.unaccepted_linkage
        if linkage is not None:
            sentences.append(linkage_words(linkage, self.k))
        return [f"{'; '.join(sentences)}{self.sampled}. {WHAT_TO_DO}"]

    @property
    def warnings(self) -> tuple[str, ...]:
        """What whoever runs the recipe should know: pairs that narrow, pairs that were taken on,
        and what could not be told.
        """
        dependences = self.found.found
        accepted = [dependence for dependence in dependences if self.is_accepted(dependence)]
        sentences = [f"accepted: {dependence.sentence()}{self.sampled}" for dependence in accepted]
        if len(accepted) < len(dependences):
            # where nothing may be decided, all that narrows is only warned of
            refused = self.undoing if self.decides else ()
            narrowing = [candidate for candidate in self.unaccepted if candidate not in refused]
            sentences += [f"{dependence.sentence()}{self.sampled}" for dependence in narrowing]
        if accepted and self.linkage is not None:
            k = f"k = {self.k} holds on the quasi-identifiers; " if self.k else ""
            linkage = f"{linkage_words(self.linkage, self.k)}{self.sampled}"
            sentences.append(f"{k}with the accepted columns {linkage}")
        pairs = {
            (column, candidate.quasi) for candidate in dependences for column in candidate.columns
        }
        # an acceptance without a finding hides a mistake, or the next finding
        unused = [
            f"{column} → {quasi}" for column, quasi in self.accepted if (column, quasi) not in pairs
        ]
        if unused:
            sentences.append(
                f"accept names relations that were not found: {', '.join(unused)}; "
                "remove them from the recipe"
            )
        return tuple(sentences)

    def public(self, sampled: Mapping[str, int]) -> Document:
        """What a certificate says: what was looked for, and which pairs were taken on, without
        figures.
        """
        accepted = [dependence for dependence in self.found.found if self.is_accepted(dependence)]
        return {
            "compared": self.found.compared,
            "unknown": len(self.found.unknown),
            "accepted": [
                {"columns": list(dependence.columns), "implies": dependence.quasi}
                for dependence in accepted
            ],
            **({"sampled": dict(sampled)} if sampled else {}),
        }

    def owner(self) -> Document:
        """Everything that was found, with figures; for the owner."""
        linkage = None
        if self.found.found and self.linkage is not None:
            linkage = _linkage_dict(self.linkage)
        return {
            "looked_for": LOOKED_FOR,
            "compared": self.found.compared,
            "unknown": [f"{column} → {quasi}" for column, quasi in self.found.unknown],
            "found": [
                {
                    "columns": list(dependence.columns),
                    "quasi": dependence.quasi,
                    "finding": str(dependence.finding),
                    "accepted": self.is_accepted(dependence),
                    **dataclasses.asdict(dependence.figures),
                }
                for dependence in self.found.found
            ],
            "linkage": linkage,
        }


def _linkage_dict(linkage: Linkage) -> dict[str, float]:
    return {
        name: getattr(linkage, name) for name in ("rate", "class_only", "low", "high", "exposed")
    }


def not_accepted(implied: Implied, accepted: set[tuple[str, str]]) -> list[str]:
    """Pairs that undo a release and are not among those that are accepted, in words."""
    # judged with fewer acceptances: what the owner accepted but did not certify counts as found
    strict = dataclasses.replace(
        implied,
        accepted={
            pair: acceptance for pair, acceptance in implied.accepted.items() if pair in accepted
        },
    )
    return [
        dependence.pair
        for dependence in strict.undoing
        if dependence.finding is not DependenceKind.UNKNOWN
    ]
