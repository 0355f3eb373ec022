"""Next month's file: the recipe and answers of an earlier release, what both tell together, and
what changed.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.core import recipe_files as recipes
from sfumato.core.data import Context
from sfumato.core.fields import Document, Fields
from sfumato.core.progress import Progress, part_of
from sfumato.core.randomness import Seed
from sfumato.core.schema import Attribute, Role, Schema
from sfumato.core.words import count_of, join_words
from sfumato.errors import (
    ParameterError,
    ReleaseRefused,
    SchemaError,
    SfumatoError,
    UnreadableInput,
)
from sfumato.guidance.protection.changes import (
    changed_recipe,
    changes_of,
    plan_changes,
    require_hidden,
)
from sfumato.guidance.protection.choice import CandidateChoice
from sfumato.guidance.protection.context import ProtectionContext, context_from
from sfumato.guidance.protection.inquiry import Inquiry, Winner, tried_people
from sfumato.guidance.protection.protection import FILE, Method
from sfumato.guidance.protection.search import SearchInput
from sfumato.guidance.recommendation.inspection import Looked, decided, table_of
from sfumato.guidance.recommendation.terms import terms_for
from sfumato.release.decision.earlier_releases import EarlierRelease
from sfumato.release.decision.record import read_decision
from sfumato.release.make import make_release
from sfumato.release.reapply import recipe_like
from sfumato.release.written_files import read_json

if TYPE_CHECKING:
    from sfumato.core.recipe import Recipe
    from sfumato.core.table import Table
    from sfumato.guidance.protection.protect import ProtectionOptions
    from sfumato.release.decision.tiers import Tier
    from sfumato.release.table_release import TableRelease

AS_BEFORE = "as in the earlier release"
MOST_EARLIER = 100
"""Releases that are followed back, one after the other."""


@dataclasses.dataclass(frozen=True)
class NextRelease:
    """What changed since an earlier release."""

    folder: str
    new_columns: tuple[str, ...]
    missing_columns: tuple[str, ...]
    records_before: int
    records: int
    tier_before: Tier | None
    anew: tuple[str, ...]

    @property
    def sentences(self) -> list[str]:
        """What changed, in words."""
        sentences = []
        if self.new_columns:
            names = join_words([f"`{name}`" for name in self.new_columns])
            sentences.append(
                f"new since then, and left out: {names} (give a role with --decide to release it)"
            )
        if self.missing_columns:
            names = join_words([f"`{name}`" for name in self.missing_columns])
            sentences.append(f"not there any more: {names}")
        sentences.append(
            f"{count_of(self.records, 'record')} now, {self.records_before:,} in {self.folder}"
        )
        if self.tier_before is not None:
            sentences.append(f"decision on {self.folder}: {self.tier_before.headline}")
        if self.anew:
            sentences.append(f"decided anew on these rows: {join_words(self.anew)}")
        return sentences

    def to_dict(self) -> Document:
        """The same as plain data."""
        tier = None if self.tier_before is None else str(self.tier_before)
        return {**dataclasses.asdict(self), "tier_before": tier}


@dataclasses.dataclass(frozen=True)
class Predecessor:
    """An earlier release of the same people: its folder, and what its owner's folder says of how it
    was asked for.
    """

    folder: Path
    document: Fields

    @classmethod
    def read(cls, folder: Path) -> Predecessor:
        """The release that ``protect`` wrote into a folder."""
        file = folder / "owner" / FILE
        if not file.is_file():
            raise UnreadableInput(
                f"{folder} holds no release that protect wrote; give the folder with share and"
                " owner (or run the recipe again: sfumato run --like)"
            )
        document = read_json(file)
        if document.get("sfumato_protection") != 1:
            raise UnreadableInput(f"{file} cannot be understood; it was damaged or edited")
        return cls(folder, document)

    def context(self) -> ProtectionContext:
        """What was answered then; that it was the first release is not true of the next one."""
        answers = self.document.get("answers")
        if not isinstance(answers, dict):
            raise UnreadableInput(f"{self.folder / 'owner' / FILE} holds no answers")
        return dataclasses.replace(context_from(answers), first_release=None)

    def original(self, table: Any = None) -> Any:
        """The table that the release was made of: as it is given, or where it was."""
        place = self.document.get("original") if table is None else table
        if place is None or (table is None and not Path(str(place)).exists()):
            raise UnreadableInput(
                f"the table that {self.folder} was made of is not where it was; give it"
                " (--after-original; in Python earlier_original=)"
            )
        return place

    def earlier(self) -> Predecessor | None:
        """The release before it; None: it was the first."""
        before = self.document.get("after")
        if before is None:
            return None
        return Predecessor.read(Path(str(before)))


def earlier_releases(last: Predecessor, table: Any = None) -> list[EarlierRelease]:
    """The release and all before it, each with the table it was made of."""
    releases: list[EarlierRelease] = []
    predecessor: Predecessor | None = last
    while predecessor is not None and len(releases) < MOST_EARLIER:
        place = predecessor.original(table if predecessor is last else None)
        recipe = recipes.from_dict(read_json(predecessor.folder / "owner" / "lock.json")["recipe"])
        releases.append(EarlierRelease(predecessor.folder, table_of(place, recipe)))
        predecessor = predecessor.earlier()
    return releases


@dataclasses.dataclass(frozen=True, eq=False)
class NextInquiry:
    """What is known before the next release is made: the inquiry, its release, the releases before
    it, and what changed.
    """

    inquiry: Inquiry
    winner: Winner
    earlier: tuple[EarlierRelease, ...]
    after: NextRelease


def inquire_next(
    table: Any,
    context: ProtectionContext | None,
    *,
    changes: Sequence[Any],
    seed: Seed,
    options: ProtectionOptions,
    progress: Progress,
) -> NextInquiry:
    """Do to a table what was done in the earlier release that the options name.

    Raises:
        ReleaseRefused: the recipe does not hold on these rows.
    """
    folder = Path(str(options.earlier))
    last = Predecessor.read(folder)
    merged = _merged(last.context(), context)
    recipe, anew = recipe_like(folder)
    earlier = tuple(earlier_releases(last, options.earlier_original))
    dataset = table_of(table, recipe)
    own_changes = changes_of(tuple(changes))
    plan_changes(own_changes, dataset)
    recipe, new, missing = _fitted(recipe, dataset, merged)
    quasi = recipe.schema.quasi
    for change in own_changes:
        changed = changed_recipe(recipe, change, dataset)
        if changed is None:
            raise ParameterError(
                f"--change {change.text!r}: the recipe of {folder} has no step that can do it"
            )
        recipe = changed
    recipe = dataclasses.replace(recipe, proposed_from="protect")
    inspected = Looked(dataset.described_by(recipe), recipe, False)
    require_hidden(own_changes, inspected.dataset, quasi)
    proposed = terms_for(merged.answers, recipe.schema, inspected.distinct, inspected.people)
    plan = plan_changes((), dataset)
    data = SearchInput(inspected.dataset, recipe, proposed, plan, merged.answers.keep)
    terms = merged.terms(recipe)
    inquiry = Inquiry(
        inspected, merged, terms, own_changes, data, seed, tried_people(options.people)
    )
    release, how = _made(inquiry, folder, recipe, part_of(progress, 0.1, 0.9))
    trial = inquiry.ground.run(release.recipe, inquiry.terms.requested)
    after = NextRelease(
        str(folder),
        new,
        missing,
        earlier[0].original.records,
        inspected.dataset.records,
        _tier_of(folder),
        (*anew, *how),
    )
    method = Method(AS_BEFORE, "earlier recipe", {}, len(inquiry.ground.sample))
    winner = Winner(release, CandidateChoice(AS_BEFORE, release.recipe, trial), method, ())
    return NextInquiry(inquiry, winner, earlier, after)


def _merged(before: ProtectionContext, now: ProtectionContext | None) -> ProtectionContext:
    """The answers given now, and where there are none those of the earlier release."""
    if now is None:
        return before
    if now.first_release is not None:
        raise ParameterError(
            "a release after another one is not the first; leave first_release out"
        )
    given = {
        name: value
        for name, value in now.answers.to_dict().items()
        if value not in ("unknown", None) and name != "decide"
    }
    decisions = {**before.answers.decide, **now.answers.decide}
    answers = before.answers.with_answers(**given, decide=decisions)
    return ProtectionContext(answers, {**before.not_known, **now.not_known})


def _fitted(
    recipe: Recipe, dataset: Table, context: ProtectionContext
) -> tuple[Recipe, tuple[str, ...], tuple[str, ...]]:
    """The recipe for the columns that the table has; new ones are dropped unless they were given a
    role. With the names of those that were dropped and of those that are missing.
    """
    schema = recipe.schema
    missing = tuple(name for name in schema.attributes if name not in dataset.columns)
    new = [name for name in dataset.columns if name not in schema.attributes]
    used = [name for name in missing if _is_used(recipe, name)]
    if used:
        raise SchemaError(
            f"{dataset.source.name} has no column {join_words(used)}, which the recipe of the"
            " earlier release works on; protect the table without --after"
        )
    attributes = {name: a for name, a in schema.attributes.items() if name not in missing}
    attributes |= {name: Attribute((Role.DROP,)) for name in new}
    schema = Schema(attributes)
    wanted = {name: word for name, word in context.answers.decide.items() if name in new}
    schema = decided(dataset, schema, wanted)
    left_out = tuple(name for name in new if name not in wanted)
    return dataclasses.replace(recipe, schema=schema), left_out, missing


def _is_used(recipe: Recipe, name: str) -> bool:
    """Whether a step or a promise names a column."""
    documents = recipes.to_dict(dataclasses.replace(recipe, schema=Schema({})))
    text = json.dumps({key: documents.get(key) for key in ("meet", "steps", "limits", "contract")})
    return json.dumps(name) in text


def _made(
    inquiry: Inquiry, folder: Path, recipe: Recipe, progress: Progress
) -> tuple[TableRelease, tuple[str, ...]]:
    """The release by the recipe as it was, else with levels chosen anew; and what was decided
    anew.
    """
    context = Context(inquiry.seed, progress=progress)
    dataset = inquiry.table
    try:
        release: TableRelease = make_release(dataset, recipe, context)
    except (ReleaseRefused, SfumatoError) as error:
        first = str(error)
    else:
        return release, ()
    lock = read_json(folder / "owner" / "lock.json")
    steps = recipes.from_dict(lock["recipe"]).steps
    free = dataclasses.replace(recipe, steps=steps)
    try:
        release = make_release(dataset.described_by(free), free, context)
    except (ReleaseRefused, SfumatoError):
        raise ReleaseRefused(
            f"the recipe of {folder} does not hold on these rows: {first} Protect the table without"
            " --after"
        ) from None
    return release, ("the levels of columns, because the earlier ones do not hold",)


def _tier_of(folder: Path) -> Tier | None:
    """The tier that was decided of the earlier release; None where nothing was."""
    try:
        return read_decision(folder).decision.tier
    except SfumatoError:
        return None
