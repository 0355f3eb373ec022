"""Tasks that decide who may have a release: by its written file, the attacks on it, and the terms
that the owner answered; and that measure what would help.
"""

from __future__ import annotations

import dataclasses
import shlex
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.core.blocks import Block, Cell, TableBlock
from sfumato.core.progress import part_of
from sfumato.core.words import count_of, join_words, percent, plain_name
from sfumato.errors import ParameterError
from sfumato.guidance.protection.changes import change_of, changed_recipe
from sfumato.guidance.protection.context import context_from
from sfumato.guidance.protection.helpful_changes import measured_changes
from sfumato.guidance.protection.inquiry import search_seed_of
from sfumato.guidance.protection.kept import kept_of
from sfumato.guidance.protection.trial import TrialGround
from sfumato.guidance.recommendation.inspection import drawn_from
from sfumato.interfaces.web.fields import Fields
from sfumato.interfaces.web.tasks.made_releases import made_release, remembering
from sfumato.release.decision.collect import collect_evidence
from sfumato.release.decision.decide import decide
from sfumato.release.decision.decision import MOST_CHANGES, limit_words
from sfumato.release.decision.record import write_decision
from sfumato.release.manifest import sha256_of

if TYPE_CHECKING:
    from sfumato.core.progress import Progress
    from sfumato.core.recipe import Recipe
    from sfumato.core.table import Table
    from sfumato.interfaces.web.data_process import Bench
    from sfumato.release.decision.decision import Decision, MeasuredChange, TermOutcome
    from sfumato.release.decision.evidence import DecisionEvidence
    from sfumato.release.decision.terms import DecisionTerms
    from sfumato.release.table_release import TableRelease

# Drafts that are attacked lie in the folder of the project under this name, for a moment.
DRAFT = ".decision-"


@dataclasses.dataclass(frozen=True, eq=False)
class DecidedRelease:
    """A decision with what it rests on: the released table, and the digest of the file that was
    attacked.
    """

    released: Table
    terms: DecisionTerms
    evidence: DecisionEvidence
    decision: Decision
    digest: str
    register: Mapping[str, str] | None

    def fits(self, release: TableRelease, terms: DecisionTerms, register: Fields | None) -> bool:
        """Whether its evidence is that of a release under other terms: what the owner assumes of
        columns and the register change what is tried; who receives it does not.
        """
        return (
            self.released is release.released
            and self.terms.not_known == terms.not_known
            and self.terms.accepted == terms.accepted
            and self.register == register
        )


def decided_release(bench: Bench, key: str) -> DecidedRelease | None:
    """What was decided of the release of a version as it is kept now; None: nothing."""
    decided: DecidedRelease | None = bench.recall(f"decided {key}")
    release: TableRelease | None = bench.recall(f"release {key}")
    if decided is None or release is None or decided.released is not release.released:
        return None
    return decided


def decide_release(
    bench: Bench,
    progress: Progress,
    *,
    recipe: Recipe,
    key: str,
    context: Fields,
    folder: str,
    register: dict[str, str] | None = None,
) -> Fields:
    """Decide who may have the release of a version.

    A draft is written into ``folder`` for a moment, read back and attacked. ``context`` are the
    answers of the owner, as a file of answers has them. With a ``register`` earlier releases count.

    What comes back: the ``tier``, whether the requested one is ``met``, the ``head`` and the
    ``rest`` of what is said, the ``limit`` that keeps it from the next tier, and what
    the ``log`` keeps.
    """
    release = made_release(bench, key)
    terms = context_from(context).terms(recipe)
    progress(0.0, "writing a draft, reading it back")
    known = decided_release(bench, key)
    if known is not None and known.fits(release, terms, register):
        # the same file was attacked already: only the terms are others
        evidence, digest = known.evidence, known.digest
    else:
        evidence, digest = _attack_draft(bench, release, terms, Path(folder), register, progress)
    decision = decide(terms, evidence).with_findings(kept=kept_of(release))
    bench.keep(
        f"decided {key}",
        DecidedRelease(release.released, terms, evidence, decision, digest, register),
    )
    blocks = list(decision.blocks())
    # the headline, who may get it, and what it is not for
    end = 2 + len(decision.refusals)
    limit = decision.limiting
    return {
        "tier": decision.tier.value,
        "met": decision.exit_code == 0,
        "head": blocks[:end],
        "rest": blocks[end:],
        "limit": None if limit is None else _limit_blocks(limit, evidence),
        "log": _log_of(decision),
    }


def _attack_draft(
    bench: Bench,
    release: TableRelease,
    terms: DecisionTerms,
    folder: Path,
    register: dict[str, str] | None,
    progress: Progress,
) -> tuple[DecisionEvidence, str]:
    """The evidence of a release as its file would be, and the digest of that file."""
    with tempfile.TemporaryDirectory(prefix=DRAFT, dir=folder) as name:
        draft = Path(name) / "release"
        release.write(draft)
        digest = sha256_of(data_file_of(draft / "share"))
        with remembering(register) as remembered:
            evidence = collect_evidence(
                draft,
                bench.data,
                terms=terms,
                seed=release.seed,
                register=remembered.register,
                recipe_from_table=True,
                progress=part_of(progress, 0.1, 0.9),
            )
    return evidence, digest


def add_decision(bench: Bench, folder: Path, *, key: str, sign: str | None) -> Decision | None:
    """Write what was decided of a version into its written release; None: nothing was.

    Where the file is another one than the one that was attacked, it is attacked and decided again.
    """
    decided = decided_release(bench, key)
    if decided is None:
        return None
    evidence, decision = decided.evidence, decided.decision
    if sha256_of(data_file_of(folder / "share")) != decided.digest:
        with remembering(dict(decided.register) if decided.register else None) as remembered:
            evidence = collect_evidence(
                folder,
                bench.data,
                terms=decided.terms,
                seed=decided.evidence.trial.seed if decided.evidence.trial else 0,
                register=remembered.register,
                recipe_from_table=True,
            )
        decision = decide(decided.terms, evidence).with_findings(
            changes=decision.changes, kept=decision.kept
        )
    write_decision(
        folder,
        decision,
        terms=decided.terms,
        evidence=evidence,
        sign=None if sign is None else Path(sign),
    )
    return decision


def data_file_of(share: Path) -> Path:
    """The released table of a shared folder."""
    file = next((file for file in sorted(share.iterdir()) if file.stem == "data"), None)
    if file is None:
        raise ParameterError(f"{share} has no released table")
    return file


def _log_of(decision: Decision) -> Fields:
    """What the history keeps of a decision, in words of ours and numbers."""
    refusals = decision.refusals
    return {
        "tier": decision.tier.value,
        "reason": refusals[0] if refusals else "",
        "kept": ", ".join(decision.kept),
    }


def _limit_blocks(limit: TermOutcome, evidence: DecisionEvidence) -> list[Block]:
    """The line that keeps a release from the next tier: the attack, who tries it, the columns it
    is about, what it finds and what it may find.
    """
    rows: list[tuple[Cell, ...]] = []
    knows = next(
        (
            entry.knows
            for entry in evidence.attacks
            if limit.attack and (entry.attack, entry.intruder) == (limit.attack, limit.intruder)
        ),
        (),
    )
    if limit.attack:
        rows.append(("attack", plain_name(limit.attack)))
    if limit.intruder:
        rows.append(("who tries", f"the {limit.intruder}"))
    if knows:
        rows.append(("who knows", join_words(knows)))
    if limit.column:
        rows.append(("column", limit.column))
    rows.append(("found", limit.sentence))
    if limit.figure is not None:
        figure = limit.figure
        share = percent(figure.value)
        if figure.low < figure.high:
            share += f", between {percent(figure.low)} and {percent(figure.high)}"
        rows.append(("share of people", share))
        rows.append(("tried", f"{count_of(figure.trials, 'person')} of {figure.of:,}"))
    if limit.limit is not None:
        rows.append(("limit", limit_words(limit.limit)))
    rows.append(("term", limit.term))
    return [TableBlock(("", ""), tuple(rows))]


def help_decision(bench: Bench, progress: Progress, *, recipe: Recipe, key: str) -> list[Fields]:
    """Up to three changes that would help, each measured on its own: its ``words``, what it
    ``leaves``, and the whole ``recipe`` or the ``answers`` that apply it.
    """
    release = made_release(bench, key)
    decided = decided_release(bench, key)
    if decided is None:
        raise ParameterError("decide about the release of this version first")
    table = bench.data.described_by(recipe)
    ground = TrialGround(
        drawn_from(table), decided.terms, search_seed_of(release.seed), recipe.schema
    )
    changes = measured_changes(
        ground, recipe, decided.decision, decided.evidence, progress=progress
    )[:MOST_CHANGES]
    bench.keep(
        f"decided {key}",
        dataclasses.replace(
            decided,
            decision=decided.decision.with_findings(changes=changes, kept=decided.decision.kept),
        ),
    )
    return [_offer(change, recipe, table) for change in changes]


def _offer(change: MeasuredChange, recipe: Recipe, table: Table) -> Fields:
    """A change as the page offers it."""
    flag, argument = shlex.split(change.flag)
    leaves = []
    if change.risk is not None:
        leaves.append(f"leaves {percent(change.risk.value)}")
    if change.loss > 0:
        leaves.append(f"loses {percent(change.loss)} more")
    if change.tier is not None:
        leaves.append(f"then: {change.tier.headline.lower()}")
    description = change.description.replace("`", "")
    words = f"{description[:1].upper()}{description[1:]}"
    offer: Fields = {"words": words, "sentence": description, "leaves": " · ".join(leaves)}
    if flag == "--change":
        return offer | {"recipe": changed_recipe(recipe, change_of(argument), table)}
    return offer | {"answers": {"first_release": argument}}
