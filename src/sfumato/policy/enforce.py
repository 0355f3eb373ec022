"""Running policies: compile, release, verify the output, and write the compliance record beside
it.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from sfumato.core import environment
from sfumato.core.data import Context
from sfumato.core.options import CommandOption
from sfumato.core.progress import Progress, silent
from sfumato.core.randomness import Seed
from sfumato.errors import SchemaError, UnreadableInput
from sfumato.policy.compile import Compiled, Options, compile_policies
from sfumato.policy.dialects.own_format import plain_noun
from sfumato.policy.documents import Tree, TreeView
from sfumato.policy.people import COLUMN, Policies, digest_of
from sfumato.policy.policy import Policy
from sfumato.release.make import make_release
from sfumato.release.release import WriteOptions
from sfumato.release.replay import POLICIES
from sfumato.release.written_files import write_json

if TYPE_CHECKING:
    from sfumato.core.table import Table
    from sfumato.release.table_release import TableRelease

# The compliance record: under which policies a release was made, and how to notice that they
# changed since.
#
# It stays with the owner: digests of small documents can be guessed, and a person's own policy
# holds that person's values.

FILE = "compliance.json"
MARK = "sfumato_compliance"
VERSION = 1


def compliance_record(release: TableRelease, compiled: Compiled, policies: Policies) -> Tree:
    """What was enforced: policies and their digests, decisions, levels, suppressed rows, verdicts.
    No data values.
    """
    return {
        MARK: VERSION,
        "made": release.created.isoformat(timespec="seconds"),
        "purpose": compiled.use.purpose,
        "recipient": compiled.use.recipient,
        "delete_by": None if compiled.delete_by is None else compiled.delete_by.isoformat(),
        "policies": [_describe_policy(policy, policy.name) for policy in policies.everybody],
        "own_policies": [
            _describe_policy(policy, label) for label, policy in policies.groups.items()
        ],
        "people": len(policies.label_of),
        "who_has_which": _who_has_which(policies, environment.fresh_salt(16)),
        "refused": [
            {"policy": label, "reason": reason} for label, reason in compiled.refused.items()
        ],
        "decisions": [
            {"rule": d.rule, "subject": d.subject, "text": d.text} for d in compiled.decisions
        ],
        "levels": {c.name: c.level for c in release.columns if c.level is not None},
        "suppressed_records": release.suppressed,
        "verdicts": [verdict.to_dict() for verdict in release.verdicts],
    }


def _who_has_which(policies: Policies, salt: str) -> str:
    """A salted digest of everybody's policy: it changes when somebody gets another one, or none,
    that others have already.
    """
    digests = {label: digest_of(policy) for label, policy in policies.groups.items()}
    pairs = sorted((person, digests[label]) for person, label in policies.label_of.items())
    return f"{salt}:{_digest([salt, pairs])}"


def _describe_policy(policy: Policy, name: str) -> Tree:
    return {
        "name": name,
        "version": policy.version,
        "digest": digest_of(policy),
        "parts": dict(parts_of(policy)),
    }


def parts_of(policy: Policy) -> Iterator[tuple[str, str]]:
    """Every part of a policy in words, with a digest that changes when the part does."""
    for purpose in policy.purposes:
        fields = plain_noun(purpose)
        fields.pop("name", None)
        for datum in fields.pop("data", []):
            yield f"purpose {purpose.name}, datum {datum['name']}", _digest(datum)
        for key, value in fields.items():
            yield f"purpose {purpose.name}, {key.replace('_', ' ')}", _digest(value)
        yield f"purpose {purpose.name}", _digest(True)
    document = plain_noun(policy)
    document.pop("purposes", None)
    for key, value in document.items():
        yield key.replace("_", " "), _digest(value)


def _digest(value: Any) -> str:
    return hashlib.sha256(
        json.dumps(value, sort_keys=True, ensure_ascii=False).encode()
    ).hexdigest()


def drift(record: TreeView, policies: Policies) -> list[str]:
    """What changed in the policies since the record was made, part by part."""
    changes = []
    before = {str(p.get("name")): p for p in record.get("policies", []) if isinstance(p, Mapping)}
    for policy in policies.everybody:
        if policy.name not in before:
            changes.append(f"policy {policy.name!r} is not one of those the release was made under")
        elif before[policy.name].get("digest") != digest_of(policy):
            changes += _changed_policies(policy, before[policy.name].get("parts"))
    missing = [name for name in before if name not in {p.name for p in policies.everybody}]
    changes += [f"policy {name!r} of the release was not given; give it" for name in missing]
    digests = {p.get("digest") for p in record.get("own_policies", []) if isinstance(p, Mapping)}
    fresh = sum(digest_of(policy) not in digests for policy in policies.groups.values())
    if fresh:
        changes.append(
            f"{fresh} of {len(policies.groups)} of people's own policies are new or changed after "
            "the release"
        )
    elif policies.groups and _is_reassigned(record, policies):
        changes.append(
            "some of people's own policies are new or changed after the release: other people "
            "have them, or nobody"
        )
    return changes


def _is_reassigned(record: TreeView, policies: Policies) -> bool:
    before = str(record.get("who_has_which", ""))
    return bool(before) and before != _who_has_which(policies, before.partition(":")[0])


def _changed_policies(policy: Policy, parts: Any) -> list[str]:
    old: Mapping[str, str] = parts if isinstance(parts, Mapping) else {}
    new = dict(parts_of(policy))
    changes = []
    for name in dict.fromkeys((*new, *old)):
        if new.get(name) == old.get(name):
            continue
        verb = "changed"
        if name not in old:
            verb = "added"
        elif name not in new:
            verb = "gone"
        changes.append(f"policy {policy.name!r} changed after the release: {name} {verb}")
    return changes


def refused_before(record: TreeView) -> set[Any]:
    """The digests of people's own policies that did not allow the use when the release was made."""
    labels = {r.get("policy") for r in record.get("refused", []) if isinstance(r, Mapping)}
    own = [p for p in record.get("own_policies", []) if isinstance(p, Mapping)]
    return {p.get("digest") for p in own if p.get("name") in labels}


def read_record(folder: Path) -> Tree | None:
    """The record beside a shared folder, if there is one."""
    for file in (folder / FILE, folder.resolve().parent / "owner" / FILE):
        if not file.is_file():
            continue
        try:
            record = json.loads(file.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            raise UnreadableInput(
                f"{file} is damaged: it is not the JSON that was written"
            ) from None
        if not isinstance(record, dict) or record.get(MARK) != VERSION:
            raise UnreadableInput(f"{file} is not a compliance record of version {VERSION}")
        return record
    return None


@dataclasses.dataclass(frozen=True, eq=False)
class EnforcedRelease:
    """A release made under policies, and the record of it."""

    release: TableRelease
    compiled: Compiled
    record: Tree

    def write(self, folder: str | Path, *, force: bool = False) -> Path:
        """Write the release with ``owner/compliance.json``; all of it or nothing."""
        return self.release.write(
            folder, force=force, attack=0, options=WriteOptions(more=self._write_record)
        )

    def _write_record(self, owner: Path) -> None:
        write_json(owner / FILE, self.record)
        _write_policies(self.release.original, owner)


def _write_policies(original: Table, owner: Path) -> None:
    """The policy of every original row: without it the release cannot be made again."""
    if COLUMN in original.columns:
        original.to_polars().select(COLUMN).write_parquet(owner / POLICIES)


def enforce(
    policies: Policies,
    dataset: Table,
    *,
    purpose: Annotated[str, CommandOption("what the data are used for")],
    recipient: Annotated[
        str | None,
        CommandOption("who receives them; by default the controller itself", panel=Options.panel),
    ] = None,
    by: str | None = None,
    seed: Annotated[
        int | str | Seed | None,
        CommandOption("hexadecimal seed, to repeat a run; short seeds mark a rehearsal", typed=str),
    ] = None,
    shuffle: bool = True,
    progress: Progress = silent,
    **options: Any,
) -> EnforcedRelease:
    """Make a release under policies; ``by`` is the column that names the person of each row.

    Everything is compiled and checked before a step runs, and the output is judged again: a policy
    that is broken, a use that is not allowed or a promise that does not hold leaves nothing behind.
    The other options are those of
    :func:`sfumato.policy.compile.compile_policies`.
    """
    if policies.groups and COLUMN not in dataset.columns and by is None:
        raise SchemaError(
            "people have policies of their own; name the column that identifies the person (by)"
        )
    if policies.groups and by is not None:
        table = policies.assigned(dataset, by)
    else:
        table = dataset
    compiled = compile_policies(policies, table, purpose=purpose, recipient=recipient, **options)
    typed = table.with_schema(compiled.recipe.schema)
    release = make_release(
        typed, compiled.recipe, Context(Seed.of(seed), shuffle=shuffle, progress=progress)
    )
    return EnforcedRelease(release, compiled, compliance_record(release, compiled, policies))
