"""``sf.protect``: look at a table, try candidates of all families, make the best release, attack it
afresh, verify it, and end with one decision.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Unpack

from sfumato.core.exchange import Workplace
from sfumato.core.options import CommandOption
from sfumato.core.progress import Progress, part_of, silent
from sfumato.core.randomness import Seed
from sfumato.errors import ParameterError
from sfumato.guidance.protection.choice import choose_candidate
from sfumato.guidance.protection.context import (
    ContextKeywords,
    ProtectionContext,
    context_from,
)
from sfumato.guidance.protection.helpful_changes import limit_of, measured_changes
from sfumato.guidance.protection.inquiry import Inquiry, Winner
from sfumato.guidance.protection.kept import kept_of
from sfumato.guidance.protection.protection import Protection, write_owners_files
from sfumato.guidance.protection.trade_offs import trade_off_of
from sfumato.release.decision.attacks import EVERYBODY
from sfumato.release.decision.collect import collect_evidence
from sfumato.release.decision.decide import decide
from sfumato.release.decision.record import write_decision
from sfumato.release.release import WriteOptions

if TYPE_CHECKING:
    from sfumato.core.recipe import Recipe
    from sfumato.guidance.protection.changes import RecipeChange
    from sfumato.guidance.protection.next_release import NextRelease
    from sfumato.guidance.recommendation.answers import ContextAnswers
    from sfumato.release.decision.earlier_releases import EarlierRelease


@dataclasses.dataclass(frozen=True)
class ProtectionOptions:
    """What :func:`protect` takes besides its everyday keywords.

    ``recipe`` gives the roles instead of a profile, and its steps are a candidate too. ``earlier``
    is the folder of a release of the same people, whose answers and recipe are taken again, and
    ``earlier_original`` the table it was made of, where that is not where it was. ``source`` is
    where the table is, for the release after this one. ``target`` is the folder that the release
    will be written to: it is made beside it. ``sign`` is a private key, and ``publish_attacks``
    puts what attacks found into the shared certificate. Of more than 5,000 people attacks try
    ``people`` (2,000 unless more are asked for).
    """

    recipe: Recipe | str | Path | None = None
    earlier: str | Path | None = None
    earlier_original: Any = None
    source: str | None = None
    target: str | Path | None = None
    sign: Path | None = None
    publish_attacks: bool = False
    workers: int | None = 1
    people: int | None = None


def protect(
    table: Any,
    answers: ProtectionContext | ContextAnswers | Mapping[str, Any] | str | Path | None = None,
    *,
    changes: Sequence[str | RecipeChange] = (),
    seed: Annotated[
        int | str | Seed | None,
        CommandOption("hexadecimal, to repeat a run; short ones mark a rehearsal", typed=str),
    ] = None,
    options: ProtectionOptions = ProtectionOptions(),
    progress: Progress = silent,
    **context: Unpack[ContextKeywords],
) -> Protection:
    """Make the release of a table that loses least, attack it, verify it, and decide who may have
    it.

    ``context`` answers who receives it (``recipient``, ``contract``), how bad it would be for
    people to be recognised (``harm``), of how many people the table was drawn (``population``),
    what must survive (``keep``, ``analyses``), which role columns have (``decide``), and what the
    owner assumes (``not_known``: column → reason; ``first_release``: the reason, or True). The same
    can be a mapping or a YAML file (``answers``). What is not answered counts as the worst case; a
    column that only its owner can judge is never guessed.

    Candidates of all families are tried on 10,000 rows at most, on seeds and samples of their own.
    The winner is made of all rows, attacked afresh and verified from the written files; the
    decision (``.decision``) follows from that alone. Single changes that would help are measured;
    each is applied by ``changes=["drop ward"]``. :meth:`Protection.write` puts the release into a
    folder.

    >>> import sfumato as sf
    >>> protection = sf.protect(
    ...     sf.examples.visits(rows=300),
    ...     recipient="internal",
    ...     contract=True,
    ...     harm="low",
    ...     population=80_000_000,
    ...     first_release=True,
    ...     seed=1,
    ... )
    >>> protection.decision.tier.value, protection.release.decision.requested.value
    ('internal', 'internal')
    """
    owners_context = None if answers is None and not context else context_from(answers, **context)
    if options.earlier is not None:
        return _protect_next(table, owners_context, Seed.of(seed), changes, options, progress)
    inquiry = Inquiry.of(
        table,
        owners_context or ProtectionContext(),
        recipe=options.recipe,
        changes=changes,
        seed=Seed.of(seed),
        people=options.people,
    )
    found = inquiry.search(options.workers, part_of(progress, 0.05, 0.5))
    choice = choose_candidate(inquiry.ground, found, progress=part_of(progress, 0.5, 0.65))
    winner = inquiry.make_winner(found, choice, part_of(progress, 0.65, 0.7))
    return finish(inquiry, winner, options, part_of(progress, 0.7, 1.0))


def _protect_next(
    table: Any,
    context: ProtectionContext | None,
    seed: Seed,
    changes: Sequence[str | RecipeChange],
    options: ProtectionOptions,
    progress: Progress,
) -> Protection:
    """Do what was done in an earlier release of the same people, and say what both tell
    together.
    """
    from sfumato.guidance.protection.next_release import inquire_next

    if options.recipe is not None:
        raise ParameterError("the recipe is that of the earlier release; leave the other one out")
    found = inquire_next(
        table,
        context,
        changes=changes,
        seed=seed,
        options=options,
        progress=part_of(progress, 0.0, 0.6),
    )
    rest = part_of(progress, 0.6, 1.0)
    return finish(
        found.inquiry, found.winner, options, rest, earlier=found.earlier, after=found.after
    )


def finish(
    inquiry: Inquiry,
    winner: Winner,
    options: ProtectionOptions,
    progress: Progress,
    *,
    earlier: Sequence[EarlierRelease] = (),
    after: NextRelease | None = None,
) -> Protection:
    """Write the release beside its target, attack what was written, decide, and measure what would
    help.
    """
    release = winner.release
    workplace = Workplace(None if options.target is None else Path(options.target))
    folder = workplace.path / "release"

    def write_more(owner: Path) -> None:
        write_owners_files(
            owner,
            release.recipe,
            context=inquiry.context,
            method=winner.method,
            changes=inquiry.changes,
            left_out=winner.left_out,
            original=options.source,
            after=options.earlier,
        )

    release.write(folder, sign=options.sign, options=WriteOptions(more=write_more))
    evidence = collect_evidence(
        folder,
        inquiry.table,
        terms=inquiry.terms,
        seed=inquiry.seed,
        earlier=earlier,
        everybody=max(EVERYBODY, inquiry.people),
        sample=inquiry.people,
        recipe_from_table=True,
        progress=part_of(progress, 0.1, 0.6),
    )
    decision = decide(inquiry.terms, evidence)
    recipe = release.recipe
    changes = measured_changes(
        inquiry.ground,
        recipe,
        decision,
        evidence,
        keep=inquiry.data.keep,
        progress=part_of(progress, 0.6, 0.95),
    )
    notes = [winner.choice.reason] if winner.choice.reason else []
    if not changes and limit_of(decision, evidence) is not None:
        notes.append("No single change that was measured brings it closer to the next tier.")
    trade_off = trade_off_of(inquiry.ground, recipe)
    if trade_off is not None:
        notes.append(trade_off.sentence)
    decision = decision.with_findings(changes=changes, kept=kept_of(release))
    write_decision(
        folder,
        decision,
        terms=inquiry.terms,
        evidence=evidence,
        publish_attacks=options.publish_attacks,
        sign=options.sign,
        draft=True,
    )
    progress(1.0)
    return Protection(
        release=dataclasses.replace(release, decision=decision),
        decision=decision,
        terms=inquiry.terms,
        evidence=evidence,
        context=inquiry.context,
        method=winner.method,
        changes=inquiry.changes,
        left_out=winner.left_out,
        notes=tuple(notes),
        after=after,
        draft=folder,
        workplace=workplace,
    )
