"""The downcoding attack: a release that is as fine as k allows says, by being no finer, what lies below its cells."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field

from sfumato.core.attack import Finding, NothingToAttack
from sfumato.core.parameters import parameters
from sfumato.core.schema import Missing
from sfumato.risk.refinement.audit import Audit, audit_release

if TYPE_CHECKING:
    from sfumato.core.attack import Scene

Assumption = Literal["auto", "release", "class", "cover", "table"]

WHOLE_TABLE = "global_recoding"
NOT_MINIMAL = ("top_down_specialization", "bottom_up_generalization", "k_optimize")


@parameters
class Downcoding:
    r"""The share of records whose released cells follow one step finer from the release being as fine as k-anonymity allows.

    Let a class *E* of *m* records be released with node *v* in a column, *v* have children :math:`w_1 \ldots w_b`,
    and :math:`n_i` of the *m* records lie below :math:`w_i`. The intruder sees *m*, *v*, the hierarchy, the values
    that occur, and *k*. Had *k* or more records of one child been able to leave without bringing the rest below *k*,
    they would have been released finer. So

    .. math:: n_i \le k-1 \text{ if } m \ge 2k, \qquad n_i \le m-1 \text{ otherwise},

    for every column and child. Within one class that is *all* that minimality says: any finer release of the class,
    of however many columns and steps, contains one that tells one child of one column. Where a finer class was
    released too and :math:`m > k`, no record of *E* may lie below it, or it would have joined; that forbids
    combinations of children of several columns, which are then solved together: by enumeration, beyond that by CP-SAT
    (extra ``solvers``). The attack succeeds on a column of a class where :math:`(n_1 \ldots n_b)` is the only
    solution: then all *m* cells are known one step finer, up to the order of the records of the class, which nobody
    but its members can tell apart. Six records under a node with three children and k = 3 lie two and two and two.

    ``assume`` says what the intruder takes for granted: ``release`` all of the above (no record could have been
    released finer; Cohen's minimality), ``class`` the bounds for single classes, ``cover`` only that a cell is the
    lowest node above its records (:math:`n_i \le m-1`), ``table`` that no column could have been one level finer in
    the whole table, which says something where a single class can be the reason and nothing was suppressed. ``auto``
    takes ``table`` for global recoding and ``release`` otherwise; local recoding of the bundled hospital table with k
    = 2 tells finer cells of more than half of the records that way. That records of several classes might have formed
    a new one is not used, so what is certain here stays so; there may be more.

    The owner knows what is true: only right conclusions count. ``details`` tell wrong ones (``wrong``: the release
    was not minimal in that sense), cells known to the value itself (``to_the_value``), ``pinned`` (records whose cell
    every other member but one shares, so the odd one out reads it off), and ``narrowed`` (records in classes where
    some child surely has somebody). Labels that are no nodes of the hierarchy (ranges of Mondrian) and nodes whose
    values do not divide are left alone. Classes of more than ``most`` records are judged column by column.
    Reference: Cohen 2022, "Attacks on deidentification's defenses", USENIX Security.
    """

    assume: Annotated[Assumption, Field(description="what the intruder takes for granted of the method")] = "auto"
    most: Annotated[int, Field(ge=2, description="largest class whose columns are solved together")] = 50

    name: ClassVar[str] = "downcoding"
    better: ClassVar[Literal["lower", "higher"]] = "lower"

    def applies(self, scene: Scene) -> str | None:
        """None when the release was made to keep k-anonymity of records and nothing stronger."""
        k = promised_k(scene)
        schema = scene.pair.original.schema
        if k is None:
            return NothingToAttack(
                "no k-anonymity with k above 1 was promised, so nothing follows from being as fine as it allows"
            )
        if not _only_k(scene):
            return "other promises than k-anonymity may be why cells are coarse, and what follows from those is not worked out"
        if schema.person is not None or any(schema[c].missing is Missing.WILDCARD for c in scene.pair.quasi):
            return "classes are counted by persons or with wildcards; what follows is worked out for equal records only"
        if not scene.pair.quasi or not len(scene.pair.released):
            return NothingToAttack("no quasi-identifier was released")
        unsure = [step.name for step in scene.steps if step.name in NOT_MINIMAL]
        if unsure and self.assume == "auto":
            return NothingToAttack(f"{unsure[0].replace('_', ' ')} does not promise to be as fine as k allows")
        return None

    def attack(self, scene: Scene) -> Finding:
        """Find the classes whose cells admit one refinement only."""
        k = promised_k(scene) or 1
        assumed = self._assumed(scene)
        return _told(self.name, scene, audit_release(scene, k, assumed, self.most), {"assumed": assumed, "k": k})

    def _assumed(self, scene: Scene) -> str:
        names = [step.name for step in scene.steps]
        if self.assume != "auto":
            return self.assume
        return "table" if WHOLE_TABLE in names else "release"


def promised_k(scene: Scene) -> int | None:
    """The largest k of k-anonymity among the promises, or None if there is none above 1."""
    found = [int(getattr(model, "k", 1)) for model in scene.models if model.name == "k_anonymity"]
    return max(found) if found and max(found) > 1 else None


def _only_k(scene: Scene) -> bool:
    promised = [model for model in scene.models if model.name == "k_anonymity"]
    strongest = max(promised, key=lambda model: int(getattr(model, "k", 1)))
    return all(strongest.implies(model) for model in scene.models if model is not strongest)


def _told(name: str, scene: Scene, audit: Audit, details: dict[str, Any]) -> Finding:
    """The finding: who stands in a class of which a cell is known finer, and by which columns."""
    import numpy as np

    hit, pinned, narrowed = (np.zeros(len(scene.pair.rows), dtype=bool) for _ in range(3))
    per_column = dict.fromkeys(audit.columns, 0)
    for found in audit.classes:
        hit[found.rows] |= bool(found.right)
        narrowed[found.rows] |= found.narrowed
        pinned[found.pinned] = True
        for column in found.right:
            per_column[column] += len(found.rows)
    told = (
        f"being as fine as {details['k']}-anonymity allows gives away finer cells of {int(hit.sum()):,} records, "
        f"up to their order in the class; {int(pinned.sum()):,} of them to a member of their class for certain"
    )
    cells = sum(per_column.values())
    counts = _counted(audit)
    more = {**details, **counts, "pinned": int(pinned.sum()), "narrowed": int(narrowed.sum()), "cells": cells}
    weights = {column: amount / cells for column, amount in per_column.items() if amount}
    return Finding(
        name,
        float(hit.mean()),
        told,
        baseline=0.0,
        victims=np.sort(scene.pair.rows[hit]),
        weights=weights,
        details=more,
    )


def _counted(audit: Audit) -> dict[str, int]:
    def total(field: str) -> int:
        return sum(len(getattr(found, field)) for found in audit.classes)

    solved = sum(found.together for found in audit.classes)
    return {
        "classes": len(audit.classes),
        "not_audited": audit.left_out,
        "solved_together": solved,
        "wrong": total("wrong"),
        "contradicted": total("contradicted"),
        "to_the_value": sum(found.to_the_value for found in audit.classes),
    }
