"""Many people, each with a policy: equal policies are put together, so that a million people cost a
few passes.
"""

from __future__ import annotations

import dataclasses
import datetime
import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from sfumato.core import environment
from sfumato.core.schema import Attribute, Role
from sfumato.errors import SchemaError, UnreadableInput
from sfumato.policy import VERBS
from sfumato.policy.dialects.own_format import to_ours
from sfumato.policy.policy import Datum, Policy, Purpose

if TYPE_CHECKING:
    from sfumato.core.recipe import Recipe
    from sfumato.core.table import Table
    from sfumato.policy.batch import WhoGetsWhat
    from sfumato.policy.compile import Compiled
    from sfumato.policy.comply import Compliance
    from sfumato.policy.enforce import EnforcedRelease

# The column that holds the neutral name of each row's policy; it is never released.
COLUMN = "policy"
NOBODY = "no policy"
SUFFIXES = (".json", ".jsonld", ".xml")

Rows = Mapping[tuple[str, str], tuple[tuple[str, ...], ...]]


@dataclasses.dataclass(frozen=True, eq=False)
class Policies:
    """The policies that hold for a table.

    ``everybody`` hold for all rows. ``groups`` are people's own policies under neutral names
    (``policy 1``, …), since names of policies get into recipes and certificates and must not name
    people; ``label_of`` says which one a person has. Their hierarchy entries are kept apart in
    ``entries``, by purpose and datum: people who differ in nothing but the entry of their own value
    have the same policy.
    """

    everybody: tuple[Policy, ...] = ()
    groups: Mapping[str, Policy] = dataclasses.field(default_factory=dict)
    label_of: Mapping[str, str] = dataclasses.field(default_factory=dict)
    entries: Rows = dataclasses.field(default_factory=dict)

    @classmethod
    def one(cls, *policies: Policy) -> Policies:
        """Policies that hold for everybody alike."""
        return cls(everybody=policies)

    @classmethod
    def of(cls, own: Mapping[str, Policy], *, everybody: Iterable[Policy] = ()) -> Policies:
        """People's own policies by person (or by whatever a column of the table names), and those
        for everybody.
        """
        bare: dict[int, Policy] = {}
        entries: dict[tuple[str, str], dict[tuple[str, ...], None]] = {}
        for policy in own.values():
            if id(policy) not in bare:  # one object may serve many people
                bare[id(policy)] = _without_entries(policy, entries)
        distinct = sorted(set(bare.values()), key=digest_of)
        labels = {policy: f"policy {i}" for i, policy in enumerate(distinct, 1)}
        return cls(
            everybody=tuple(everybody),
            groups={label: policy for policy, label in labels.items()},
            label_of={person: labels[bare[id(policy)]] for person, policy in own.items()},
            entries={key: tuple(rows) for key, rows in entries.items()},
        )

    @classmethod
    def load(cls, *paths: str | Path) -> Policies:
        """Read policies: files and presets hold for everybody, the files of a folder each for whom
        they are named after.
        """
        own: dict[str, Policy] = {}
        everybody = []
        for path in paths:
            if Path(path).is_dir():
                own |= {file.stem: Policy.load(file) for file in policy_files(Path(path))}
            else:
                everybody.append(Policy.load(path))
        return cls.of(own, everybody=everybody)

    @property
    def all(self) -> tuple[Policy, ...]:
        """Every policy once, those of people without their hierarchy entries."""
        return (*self.everybody, *self.groups.values())

    def assigned(self, dataset: Table, by: str) -> Table:
        """The table with a column ``policy``: the neutral name of the policy that the person named
        in ``by`` has.

        Rows of people without a policy get ``no policy``, which allows nothing.
        """
        if COLUMN in dataset.columns and by != COLUMN:
            raise SchemaError(
                f"the table already has a column {COLUMN!r}; rename it, or give by={COLUMN!r} if "
                "it names policies"
            )
        encoded = dataset.encoded(by)
        # a missing value names nobody
        owners: dict[str | None, str] = {None: NOBODY}
        owners.update(self.label_of)
        names = [owners.get(label, NOBODY) for label in encoded.labels]
        column = pl.Series(COLUMN, names, dtype=pl.String).gather(encoded.codes).alias(COLUMN)
        return dataset.with_columns({COLUMN: column}).with_attribute(
            COLUMN, Attribute((Role.DROP,))
        )

    def compile(
        self, dataset: Table, *, purpose: str, recipient: str | None = None, **options: Any
    ) -> Recipe:
        """The recipe that enforces these policies;
        see :func:`sfumato.policy.compile.compile_policies`.
        """
        compiled: Compiled = VERBS["compile"](
            self, dataset, purpose=purpose, recipient=recipient, **options
        )
        return compiled.recipe

    def enforce(
        self, dataset: Table, *, purpose: str, recipient: str | None = None, **options: Any
    ) -> EnforcedRelease:
        """A release under these policies; see :func:`sfumato.policy.enforce.enforce`."""
        enforced: EnforcedRelease = VERBS["enforce"](
            self, dataset, purpose=purpose, recipient=recipient, **options
        )
        return enforced

    def enforce_all(
        self, dataset: Table, folder: str | Path, *, by: str | None = None, **options: Any
    ) -> WhoGetsWhat:
        """Every release that these policies allow; see :func:`sfumato.policy.batch.enforce_all`."""
        found: WhoGetsWhat = VERBS["enforce_all"](self, dataset, folder, by=by, **options)
        return found

    def comply(
        self,
        folder: str | Path,
        *,
        purpose: str,
        recipient: str | None = None,
        today: datetime.date | None = None,
        ended: datetime.date | None = None,
        **options: Any,
    ) -> Compliance:
        """Whether a release keeps these policies; see :func:`sfumato.policy.comply.comply`."""
        use = VERBS["use"](purpose, recipient, today or environment.now().date(), ended)
        compliance: Compliance = VERBS["comply"](Path(folder), self, use, **options)
        return compliance


def policy_files(folder: Path) -> list[Path]:
    """The policies in a folder, each named after a person; other files are left alone."""
    files = sorted(f for f in folder.iterdir() if f.suffix.lower() in SUFFIXES)
    if not files:
        raise UnreadableInput(f"{folder} holds no policies ({', '.join(SUFFIXES)}); check the path")
    return files


def _without_entries(
    policy: Policy, entries: dict[tuple[str, str], dict[tuple[str, ...], None]]
) -> Policy:
    """A policy without its hierarchy rows, which are added to ``entries``."""
    purposes = []
    for purpose in policy.purposes:
        data = tuple(_without_rows(purpose, datum, entries) for datum in purpose.data)
        purposes.append(dataclasses.replace(purpose, data=data))
    return dataclasses.replace(policy, purposes=tuple(purposes), name="")


def _without_rows(
    purpose: Purpose, datum: Datum, entries: dict[tuple[str, str], dict[tuple[str, ...], None]]
) -> Datum:
    method = datum.anonymization
    if method is None or not method.hierarchy:
        return datum
    entries.setdefault((purpose.name, datum.name), {}).update(dict.fromkeys(method.hierarchy))
    return dataclasses.replace(datum, anonymization=dataclasses.replace(method, hierarchy=()))


def digest_of(policy: Policy) -> str:
    """SHA-256 of a policy's meaning: the same for every dialect it may be written in."""
    text = json.dumps(to_ours(policy), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()
