"""The outcome of ``protect``: the release, the decision about it, and what its owner should
know.
"""

from __future__ import annotations

import dataclasses
import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from sfumato import __version__
from sfumato.core import recipe_files as recipes
from sfumato.core.block_html import Reportable
from sfumato.core.blocks import Block, Paragraph
from sfumato.core.exchange import in_place
from sfumato.core.fields import Document
from sfumato.core.options import CommandOption
from sfumato.core.words import as_sentence
from sfumato.core.yaml_text import write_yaml
from sfumato.errors import OutputError, ReleaseRefused
from sfumato.release.decision.tiers import Tier
from sfumato.release.publish import linked

if TYPE_CHECKING:
    from sfumato.core.exchange import Workplace
    from sfumato.core.recipe import Recipe
    from sfumato.guidance.protection.changes import RecipeChange
    from sfumato.guidance.protection.context import ProtectionContext
    from sfumato.guidance.protection.next_release import NextRelease
    from sfumato.guidance.protection.search import LeftOut
    from sfumato.release.decision.decision import Decision
    from sfumato.release.decision.evidence import DecisionEvidence
    from sfumato.release.decision.terms import DecisionTerms
    from sfumato.release.table_release import TableRelease

FILE = "protection.json"
"""In the owner's folder: what was asked, answered and changed, for the release after this one."""
RECIPE = "recipe.yaml"
NOTHING_SHARED = (
    "the decision is not to share it, so nothing was written; apply one of the changes, or answer"
    " for a recipient who is bound"
)


@dataclasses.dataclass(frozen=True)
class Method:
    """How the release was made: the name of its candidate and family, why the others were not
    taken, and on how many rows they were tried.
    """

    name: str
    family: str
    why_not: Mapping[str, str]
    tried_rows: int


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Protection(Reportable):
    """What ``protect`` made of a table, and the decision about it.

    ``left_out`` are columns that had to go, ``notes`` why classes are larger than asked for and
    which column costs most of the detail, and ``after`` what changed since an earlier release. All
    of it is the owner's.
    """

    release: TableRelease
    decision: Decision
    terms: DecisionTerms
    evidence: DecisionEvidence
    context: ProtectionContext
    method: Method
    changes: tuple[RecipeChange, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    notes: tuple[str, ...] = ()
    after: NextRelease | None = None
    draft: Path | None = dataclasses.field(default=None)
    workplace: Workplace | None = dataclasses.field(default=None)

    @property
    def recipe(self) -> Recipe:
        """The recipe of the release, with all changes."""
        return self.release.recipe

    @property
    def data(self) -> Any:
        """The released table, in the kind of frame that was handed in."""
        return self.release.data

    def to_dict(self) -> Document:
        """The protection as plain data: names, counts, rates and reasons."""
        return {
            "sfumato_protection": 1,
            "version": __version__,
            "decision": self.decision.to_dict(),
            "terms": self.terms.to_dict(),
            "release": {
                "table": self.release.original.source.name,
                "rows": self.release.original.records,
                "released": self.release.released.records,
                "method": self.method.name,
                "family": self.method.family,
            },
            "changes": [change.text for change in self.changes],
            "left_out": [entry.sentence for entry in self.left_out],
            "notes": list(self.notes),
            **({} if self.after is None else {"after": self.after.to_dict()}),
        }

    def blocks(self) -> Sequence[Block]:
        """The decision, then what was left out, which column costs most, and what changed since the
        release before.
        """
        blocks: list[Block] = list(self.decision.blocks())
        sentences = [entry.sentence for entry in self.left_out] + list(self.notes)
        if self.after is not None:
            sentences += self.after.sentences
        # The fold with all terms stands last.
        own = [Paragraph(as_sentence(sentence)) for sentence in sentences]
        return [*blocks[:-1], *own, blocks[-1]]

    def write(
        self,
        folder: str | Path,
        *,
        force: Annotated[bool, CommandOption("replace an earlier release", ("--force",))] = False,
    ) -> Path:
        """Write ``share`` and ``owner`` into a folder, all or nothing.

        Raises:
            ReleaseRefused: the decision is not to share it.
        """
        target = Path(folder)
        if self.decision.tier is Tier.NONE:
            raise ReleaseRefused(NOTHING_SHARED)
        if self.draft is None or not self.draft.is_dir():
            raise OutputError("the release was made in another program and is not at hand any more")
        with in_place(target, force=force) as draft:
            shutil.copytree(self.draft, draft, dirs_exist_ok=True, copy_function=linked)
        return target


def write_owners_files(
    owner: Path,
    recipe: Recipe,
    *,
    context: ProtectionContext,
    method: Method,
    changes: Sequence[RecipeChange],
    left_out: Sequence[LeftOut],
    original: str | None,
    after: str | Path | None,
) -> None:
    """Write the recipe and what was answered into the owner's folder, for the release after this
    one.
    """
    lines = [f"# sfumato protect: {method.name}"]
    lines += [f"# changed: {change.text}" for change in changes]
    lines += [f"# {entry.sentence}" for entry in left_out]
    head = "\n".join(" ".join(line.splitlines()) for line in lines)
    text = f"{head}\n{write_yaml(recipes.to_dict(recipe, base=owner))}"
    (owner / RECIPE).write_text(text, "utf-8")
    document = {
        "sfumato_protection": 1,
        "version": __version__,
        "answers": context.to_dict(),
        "method": {"name": method.name, "family": method.family},
        "why_not": dict(method.why_not),
        "changes": [change.text for change in changes],
        "left_out": [entry.sentence for entry in left_out],
        "original": original,
        "after": None if after is None else str(Path(after).resolve()),
    }
    (owner / FILE).write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n", "utf-8")
