"""``sf.protect``: look at a table, try candidates of all families, make the best release, attack it
afresh, verify it, and end with one decision.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.core.exchange import Workplace
from sfumato.core.progress import Progress, part_of, silent
from sfumato.core.randomness import Seed
from sfumato.guidance.protection.context import ProtectionContext, context_from
from sfumato.guidance.protection.inquiry import Inquiry, Winner
from sfumato.guidance.protection.protection import Protection

if TYPE_CHECKING:
    from sfumato.core.recipe import Recipe
    from sfumato.guidance.protection.changes import Change


@dataclasses.dataclass(frozen=True)
class ProtectOptions:
    """What :func:`protect_table` takes besides its everyday keywords.

    ``recipe`` gives the roles instead of a profile, and its steps are a candidate too. ``earlier``
    is the folder of a release of the same people, whose answers and recipe are taken again, and
    ``earlier_original`` the table it was made of, where that is not where it was. ``target`` is the
    folder that the release will be written to: it is made beside it.
    """

    recipe: Recipe | str | Path | None = None
    changes: Sequence[str | Change] = ()
    earlier: str | Path | None = None
    earlier_original: Any = None
    target: str | Path | None = None
    workers: int | None = 1


def protect_table(
    table: Any,
    context: ProtectionContext | None = None,
    *,
    seed: int | str | Seed | None = None,
    options: ProtectOptions = ProtectOptions(),
    progress: Progress = silent,
) -> Protection:
    """Make a release of a table, and decide what it is good for.

    Candidates of all families are tried on 10,000 rows at most, on seeds and samples of their own;
    the winner is made of all rows, attacked afresh and verified from the written files. See
    :func:`sfumato.protect`.
    """
    if options.earlier is not None:
        from sfumato.guidance.protection.next_release import protect_next

        return protect_next(table, context, seed=seed, options=options, progress=progress)
    inquiry = Inquiry.of(
        table,
        context_from(context),
        recipe=options.recipe,
        changes=options.changes,
        seed=Seed.of(seed),
    )
    found = inquiry.search(options.workers, part_of(progress, 0.02, 0.5))
    winner = inquiry.make_winner(found, part_of(progress, 0.5, 0.55))
    return finish(inquiry, winner, options, part_of(progress, 0.55, 1.0))
