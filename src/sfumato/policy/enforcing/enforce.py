"""Running policies: compile, release, verify the output, and write the compliance record beside it."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.core.progress import Progress, silent
from sfumato.core.randomness import Seed
from sfumato.errors import SchemaError
from sfumato.policy.enforcing.compile import Compiled, compile_policies
from sfumato.policy.enforcing.people import COLUMN, Policies
from sfumato.policy.enforcing.record import FILE, compliance_record
from sfumato.release.make import make_release
from sfumato.release.publish import publish
from sfumato.release.replay import POLICIES
from sfumato.release.sealing import write_json

if TYPE_CHECKING:
    from sfumato.core.dataset import Dataset
    from sfumato.release.release import Release


@dataclasses.dataclass(frozen=True, eq=False)
class Enforced:
    """A release made under policies, and the record of it."""

    release: Release
    compiled: Compiled
    record: dict[str, Any]

    def write(self, folder: str | Path, *, force: bool = False, **options: Any) -> Path:
        """Write the release with ``owner/compliance.json``; all of it or nothing."""
        form = {"format": None, "sign": None, **options}
        return publish(self.release, Path(folder), force=force, more=self._write_record, **form)

    def _write_record(self, owner: Path) -> None:
        write_json(owner / FILE, self.record)
        _write_policies(self.release.original, owner)


def _write_policies(original: Dataset, owner: Path) -> None:
    """The policy of every original row: without it the release cannot be made again."""
    if COLUMN in original.columns:
        original.to_polars().select(COLUMN).write_parquet(owner / POLICIES)


def enforce(
    policies: Policies,
    dataset: Dataset,
    *,
    purpose: str,
    recipient: str | None = None,
    by: str | None = None,
    seed: int | str | Seed | None = None,
    shuffle: bool = True,
    progress: Progress = silent,
    **options: Any,
) -> Enforced:
    """Make a release under policies; ``by`` is the column that names the person of each row.

    Everything is compiled and checked before a step runs, and the output is judged again: a policy that is broken, a
    use that is not allowed or a promise that does not hold leaves nothing behind. The other options are those of
    :func:`sfumato.policy.enforcing.compile.compile_policies`.
    """
    if policies.groups and COLUMN not in dataset.columns and by is None:
        raise SchemaError("people have policies of their own; say which column names the person (by)")
    table = policies.assigned(dataset, by) if policies.groups and by is not None else dataset
    compiled = compile_policies(policies, table, purpose=purpose, recipient=recipient, **options)
    described = table.with_schema(compiled.recipe.schema)
    release = make_release(described, compiled.recipe, seed=Seed.of(seed), shuffle=shuffle, progress=progress)
    return Enforced(release, compiled, compliance_record(release, compiled, policies))
