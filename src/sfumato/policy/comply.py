"""Holding a release against policies of any language, which it need not have been made for."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from sfumato.core import registry
from sfumato.core.evidence import gather, judge_all
from sfumato.core.hierarchy import TOP
from sfumato.core.options import CommandOption
from sfumato.core.schema import Role, Schema
from sfumato.core.table import Table
from sfumato.errors import SfumatoError
from sfumato.policy.columns import ROLES
from sfumato.policy.compile import Use, authorise
from sfumato.policy.dialects.dialect_detection import (
    PRESET,
    permits_use,
    read_concept_text,
    tells_of_uses,
    usage_of_release,
)
from sfumato.policy.dialects.usages import Usage, local, policy_of_usages
from sfumato.policy.documents import Findings, Tree, TreeView, read_text
from sfumato.policy.enforce import drift, read_record, refused_before
from sfumato.policy.people import Policies, digest_of
from sfumato.policy.policy import (
    COUNTER,
    KEYED,
    RANDOM,
    STRENGTH,
    UNKEYED,
    Anonymization,
    Datum,
    Group,
    Policy,
    Purpose,
    UnknownMethod,
    UnknownPromise,
    demand_of,
    models_of,
    strength_of,
)
from sfumato.policy.safe_harbor import check_numbers
from sfumato.release import verify as verifying
from sfumato.release.certificate_files import read_certificate
from sfumato.release.public_recipe import pseudonym_columns
from sfumato.release.shared_folder import SharedFolder
from sfumato.release.verification import AGAINST_ORIGINAL

if TYPE_CHECKING:
    from sfumato.core.model import Model

# What a shared folder shows of a release, for holding it against a policy.


@dataclasses.dataclass(frozen=True, eq=False)
class CertifiedTable:
    """A released table with its certificate; ``problems`` are claims that do not hold, ``verified``
    promises that do.
    """

    certificate: TreeView
    dataset: Table
    problems: tuple[str, ...]
    original: Table | None = None
    verified: frozenset[str] = frozenset()

    @property
    def levels(self) -> dict[str, int]:
        """The level of each recoded column, as the certificate's plan says."""
        levels: dict[str, int] = {}
        for plan in self.certificate.get("plan", []):
            # levels that one step raised and another raised further: the last word is the highest
            everybody = plan.get("personal_levels", {}).get("everybody", {})
            recoded = {c: entry["level"] for c, entry in plan.get("levels", {}).items()}
            for column, level in (*everybody.items(), *recoded.items()):
                levels[column] = max(level, levels.get(column, 0))
        return levels

    @property
    def described_columns(self) -> tuple[str, ...]:
        """The columns that the recipe knows, the dropped ones among them."""
        return tuple(self.certificate.get("recipe", {}).get("columns", {}))

    @property
    def pseudonymized(self) -> set[str]:
        """Columns that hold pseudonyms."""
        return {column for columns in pseudonym_columns(self.certificate) for column in columns}

    @property
    def pseudonym_methods(self) -> dict[str, str]:
        """The weakest way in which each column's pseudonyms were made, as the certificate's plan
        says.
        """
        methods: dict[str, str] = {}
        for step in self.certificate.get("plan", []):
            # a method that we do not know counts as the weakest
            strength = STRENGTH_OF.get(step.get("pseudonyms", {}).get("method", ""), UNKEYED)
            for column in step.get("masked", {}) if "pseudonyms" in step else ():
                # the list of strengths goes from the strongest to the weakest
                methods[column] = max(strength, methods.get(column, strength), key=STRENGTH.index)
        return methods

    def shows_values(self, column: str) -> bool:
        """Whether a released column holds anything but one mark for a withheld value, the same in
        every record.
        """
        labels = set(self.dataset.encoded(column).labels)
        return len(labels) > 1 or not labels <= {TOP, None}

    def below(self, column: str, method: Anonymization) -> str | None:
        """Why a column is not as coarse as asked for, or None.

        With hierarchy entries the released values themselves are looked up. For values that no
        entry knows, and without entries, the level of the certificate counts, which is one of the
        hierarchy that was used.
        """
        minimum = method.minimum or 0
        if method.hierarchy:
            fine, unknown = self._finer(column, method)
            if fine:
                return f"column {column!r}: {fine:,} released values are finer than level {minimum}"
            # every released value has an entry, so the level of the certificate need not be
            # believed
            if not unknown:
                return None
        level = self.levels.get(column)
        if level is None:
            return (
                f"column {column!r} must be at level {minimum} or higher; the certificate names no "
                "level for it"
            )
        if level < minimum:
            return f"column {column!r} is at level {level}, below the minimum of {minimum}"
        return None

    def _finer(self, column: str, method: Anonymization) -> tuple[int, int]:
        """How many released values are below the minimum level by the policy's entries, and how
        many no entry knows.
        """
        minimum = method.minimum or 0
        # a label that is coarse in one row and fine in another counts as coarse: levels differ in
        # depth
        coarse = {TOP, *(label for row in method.hierarchy for label in row[minimum:])}
        fine = {label for row in method.hierarchy for label in row[:minimum]} - coarse
        encoded = self.dataset.encoded(column)
        counts = dict(zip(encoded.labels, encoded.counts.tolist(), strict=True))
        hit = sum(count for label, count in counts.items() if label in fine)
        unknown = sum(
            count
            for label, count in counts.items()
            if label is not None and label not in fine | coarse
        )
        return hit, unknown

    def models_broken(self, purpose: Purpose) -> list[str]:
        """The purpose's privacy models that do not hold on the released table, in the roles that
        the purpose gives.
        """
        broken = []
        # a purpose that lists data says their roles, one that takes any does not
        if purpose.any_data:
            dataset = self.dataset
        else:
            dataset = self._as_seen_by(purpose)
        for promise in purpose.models:
            try:
                models = models_of(promise, dataset.schema.sensitive)
            except UnknownPromise as error:
                broken.append(str(error))
                continue
            broken += [
                reason for model in models if (reason := self._broken(model, dataset)) is not None
            ]
        return broken

    def _broken(self, model: Model, dataset: Table) -> str | None:
        try:
            needs = model.needs(dataset.schema)
            # what such a model is about is not in the shared folder
            open_ended = (
                needs.pairs
                or needs.posteriors
                or needs.population
                or (needs.reference and self.original is None)
            )
            if open_ended:
                if self._promised(model):
                    return None
                return f"{model.promise} cannot be judged from the shared folder alone"
            (verdict,) = judge_all(gather(dataset, [model], original=self.original), [model])
        except SfumatoError as error:
            return f"{model.promise} cannot be judged: {error}"
        if verdict.holds:
            return None
        return f"{verdict.promise} does not hold: {verdict.sentence}"

    def _promised(self, model: Model) -> bool:
        """Whether a promise that was verified implies the model; one that nobody could check is not
        believed.
        """
        specs = self.certificate.get("recipe", {}).get("meet", [])
        promises = [registry.build("models", spec) for spec in specs]
        return any(
            promise.implies(model) for promise in promises if promise.promise in self.verified
        )

    def _as_seen_by(self, purpose: Purpose) -> Table:
        """The table in the roles of a policy; what is more protected in the release stays so."""
        schema = dict(self.dataset.schema.attributes)
        for name, attribute in schema.items():
            datum = purpose.datum(name)
            if (
                datum is None
                or datum.group in (Group.EI, Group.NSD)
                or not {Role.KEEP, Role.QUASI, Role.SENSITIVE} & set(attribute.roles)
            ):
                continue
            # a column that the release treats as sensitive stays so, whatever the policy says
            roles = {*attribute.roles, ROLES[datum.group]} - {Role.KEEP}
            schema[name] = dataclasses.replace(attribute, roles=tuple(roles))
        return self.dataset.with_schema(Schema(schema))


def read_released(folder: Path, original: Table | None = None) -> CertifiedTable:
    """Read a shared folder and verify its certificate."""
    certificate = read_certificate(folder, "table")
    checked = verifying.verify(folder, original=original)
    problems = tuple(
        f"the certificate does not hold: {c.name}: {c.detail}"
        for c in checked.claims
        if c.status == "fails"
    )
    table = SharedFolder(folder, certificate).released.in_memory("a policy")
    # claims about a promise are named by it; against the original the same with a suffix
    verified = frozenset(
        claim.name.removesuffix(AGAINST_ORIGINAL)
        for claim in checked.claims
        if claim.promise and claim.status == "holds"
    )
    return CertifiedTable(certificate, table, problems, original, verified)


SAFE_HARBOR = "safe_harbor"
# Method of the step that makes pseudonyms → its strength in the words of policies.
STRENGTH_OF = {
    "random_table": RANDOM,
    "keyed": KEYED,
    "fake": KEYED,
    "format_preserving": KEYED,
    "counter": COUNTER,
    "unkeyed_hash": UNKEYED,
}


@dataclasses.dataclass(frozen=True)
class Compliance:
    """Whether a release keeps what policies ask for: reasons where it does not, notes that do not
    decide.
    """

    reasons: tuple[str, ...]
    notes: tuple[str, ...]
    statements: tuple[str, ...]

    @property
    def holds(self) -> bool:
        """Whether nothing speaks against it."""
        return not self.reasons

    def __bool__(self) -> bool:
        return self.holds

    def to_dict(self) -> Tree:
        """The outcome as plain data."""
        return {"holds": self.holds, **{k: list(v) for k, v in dataclasses.asdict(self).items()}}

    def __str__(self) -> str:
        lines = [
            *(f"✗ {r}" for r in self.reasons),
            *(f"✓ {s}" for s in self.statements),
            *(f"· {n}" for n in self.notes),
        ]
        return "\n".join(lines)


def comply(
    folder: Path,
    policies: Policies,
    use: Use,
    *,
    original: Table | None = None,
    numbers: Mapping[str, Sequence[str]] | None = None,
) -> Compliance:
    """Check a shared folder against policies; nothing is believed, the released file is judged
    again.

    Looked at: the certificate itself, whether the use is allowed, which columns are there and in
    which role, levels, pseudonyms, and every privacy model. ``original`` is needed for models that
    compare with it; ``numbers`` names the columns that rules about numbers are about,
    ``{"age": [...], "zip": [...], "date": [...]}``. When the owner's compliance record lies beside,
    whatever changed in the policies since is told as a note. A cap that is exceeded is a note too:
    it bounds what may be lost, not what may be learned.
    """
    released = read_released(folder, original)
    record = read_record(folder)
    reasons, notes = list(released.problems), [] if record is None else drift(record, policies)
    statements = []
    for policy in policies.everybody:
        problems, confirmations = _against(policy, use, released, numbers or {})
        reasons += problems
        notes += confirmations
        if not problems and not released.problems:
            statements.append(_statement(policy, use, numbers or {}))
    against = _against_people(policies, use, record, notes)
    if policies.groups and not against and not released.problems:
        statements.append(
            f"the owner's record vouches for the policies of {len(policies.label_of):,} people"
        )
    reasons += against
    return Compliance(tuple(dict.fromkeys(reasons)), tuple(dict.fromkeys(notes)), tuple(statements))


def _statement(policy: Policy, use: Use, numbers: Mapping[str, Sequence[str]]) -> str:
    if policy.rule is not None:
        met = f"meets the numeric part of {policy.rule.title} as of {policy.rule.as_of}"
        if SAFE_HARBOR in policy.rule.checks:
            looked_at = ", ".join(
                f"{kind} {column}" for kind, columns in numbers.items() for column in columns
            )
            met += f" in the named columns ({looked_at}); no other column was checked"
        return f"{met}; {policy.rule.limit}"
    to = ""
    if use.recipient is not None:
        to = f" to {use.recipient}"
    return f"nothing in policy {policy.name!r} forbids purpose {use.purpose!r}{to}"


def _against(
    policy: Policy, use: Use, released: CertifiedTable, numbers: Mapping[str, Sequence[str]]
) -> tuple[list[str], list[str]]:
    """Reasons against a release under one policy, and notes."""
    permission = authorise(policy, use)
    if permission.purpose is None:
        return [f"{policy.name}: {permission.reason}"], []
    purpose = permission.purpose
    reasons = [] if purpose.any_data else _columns(purpose, released)
    levels, notes = _levels(purpose, released)
    reasons += [*levels, *released.models_broken(purpose)]
    if policy.rule is not None and SAFE_HARBOR in policy.rule.checks:
        reasons += check_numbers(
            released.dataset, numbers, released.described_columns, year=use.today.year
        )
    return [f"{policy.name}: {reason}" for reason in reasons], [
        f"{policy.name}: {note}" for note in notes
    ]


def _columns(purpose: Purpose, released: CertifiedTable) -> list[str]:
    broken = []
    for column in released.dataset.columns:
        datum = purpose.datum(column)
        if datum is None:
            broken.append(
                f"column {column!r} is released, but purpose {purpose.name!r} does not list it"
            )
        elif datum.group == "EI" and column not in released.pseudonymized:
            broken.append(f"column {column!r} is an explicit identifier and is released unchanged")
        elif datum.group == "EI" and not any(column in m.data for m in purpose.pseudonymizations):
            broken.append(
                f"column {column!r} is an explicit identifier; the policy does not allow pseudonyms"
                " of it"
            )
    for method in purpose.pseudonymizations:
        remaining = [
            c
            for c in method.data
            if c in released.dataset.columns and c not in released.pseudonymized
        ]
        broken += [
            f"column {c!r} must be pseudonymized ({method.name}), but is not" for c in remaining
        ]
        required = strength_of(method.name)
        for column, strength in released.pseudonym_methods.items():
            weaker = STRENGTH.index(strength) > STRENGTH.index(required)
            if weaker and column in method.data and column in released.dataset.columns:
                broken.append(
                    f"column {column!r} holds pseudonyms by {strength}, weaker than the required "
                    f"{required}"
                )
    return broken


def _levels(purpose: Purpose, released: CertifiedTable) -> tuple[list[str], list[str]]:
    reasons, notes = [], []
    for datum in purpose.data:
        method = datum.anonymization
        if method is None or datum.name not in released.dataset.columns:
            continue
        try:
            demand = demand_of(method)
        except UnknownMethod as error:
            reasons.append(f"column {datum.name!r}: {error}")
            continue
        if demand == "withheld" and released.shows_values(datum.name):
            reasons.append(
                f"column {datum.name!r} shows values; the policy asks for {method.method}"
            )
        replaced = datum.group == Group.EI or any(
            datum.name in m.data for m in purpose.pseudonymizations
        )
        if demand == "level" and not replaced:  # of pseudonyms there are no levels
            reasons += [reason for reason in [released.below(datum.name, method)] if reason]
        level = released.levels.get(datum.name)
        if method.maximum is not None and level is not None and level > method.maximum:
            notes.append(
                f"column {datum.name!r} is at level {level}, above the cap of level"
                f" {method.maximum}"
            )
    return reasons, notes


def _against_people(
    policies: Policies, use: Use, record: TreeView | None, notes: list[str]
) -> list[str]:
    """People's own policies cannot be read off a file that hides who is who; the owner's record
    vouches for them.
    """
    if not policies.groups:
        return []
    refusing = [policy for policy in policies.groups.values() if not authorise(policy, use).allowed]
    if record is None:
        return [
            (
                "people have policies of their own, but no compliance record of the owner shows "
                "that they were applied"
            )
        ]
    broken = []
    if (record.get("purpose"), record.get("recipient")) != (use.purpose, use.recipient):
        broken.append(
            "the release was made for another purpose or recipient, under people's own policies"
        )
    refused = refused_before(record)
    fresh = sum(digest_of(policy) not in refused for policy in refusing)
    if fresh:
        broken.append(
            f"{fresh} of {len(policies.groups)} of people's own policies changed and no longer "
            "allow this use"
        )
    if any("people's own policies are new or changed" in note for note in notes):
        broken.append(
            "people's own policies changed after the release; whether it satisfies them is unknown"
        )
    return broken


# Holding a release against policies of any language.


def hold_against(
    folder: Path,
    paths: Sequence[str],
    use: Use,
    *,
    original: Table | None = None,
    numbers: Mapping[str, Sequence[str]] | None = None,
    categories: Annotated[
        Sequence[str],
        CommandOption(
            "data categories, for SPECIAL, DPV and ODRL", ("--category",), typed=list[str]
        ),
    ] = (),
    days: Annotated[
        int | None, CommandOption("days of storage, for SPECIAL, DPV and ODRL", minimum=0)
    ] = None,
) -> Compliance:
    """Check a shared folder against policy files: those about columns by what was released, those
    about uses by subsumption.

    ``categories`` and ``days`` describe the data and their storage to policies in SPECIAL, DPV and
    ODRL, since a table does not.
    """
    usages = [
        p
        for p in paths
        if not p.startswith(PRESET) and Path(p).is_file() and tells_of_uses(Path(p))
    ]
    policies = Policies.load(*(p for p in paths if p not in usages))
    compliance = comply(folder, policies, use, original=original, numbers=numbers)
    usage = usage_of_release(
        read_certificate(folder, "table"),
        purpose=use.purpose,
        recipient=use.recipient,
        categories=categories,
        days=days,
    )
    for path in usages:
        answer = permits_use(Path(path), usage, today=use.today)
        broken = []
        if answer.allowed:
            broken = _columns_of_use(Path(path), folder, use.purpose, original)
        if broken:
            compliance = dataclasses.replace(
                compliance,
                reasons=(*compliance.reasons, *(f"{Path(path).name}: {b}" for b in broken)),
            )
        elif answer.allowed:
            statements = (
                *compliance.statements,
                f"{Path(path).name}: what was released is within what is permitted",
            )
            compliance = dataclasses.replace(compliance, statements=statements)
        else:
            compliance = dataclasses.replace(
                compliance,
                reasons=(*compliance.reasons, f"{Path(path).name}: not allowed: {answer.reason}"),
            )
    return compliance


def _columns_of_use(path: Path, folder: Path, purpose: str, original: Table | None) -> list[str]:
    """What speaks against the released columns where a policy about uses says which column each
    kind of data is.

    The purpose of that name is compared with them, or every purpose where none has it: the use may
    lie within any of them.
    """
    document, _ = read_concept_text(read_text(path), path.name)
    usages = document if isinstance(document, tuple) else ()
    columns: list[Usage] = []
    complete = True  # every kind of data says which column it is
    for usage in usages:
        if not usage.permitted:
            continue
        with_column = tuple(category for category in usage.data if category.column)
        complete = complete and len(with_column) == len(usage.data)
        if with_column:
            columns.append(dataclasses.replace(usage, data=with_column))
    if not columns:
        return []
    findings = Findings(path.name)
    policy = policy_of_usages(tuple(columns), name=path.stem, findings=findings)
    findings.raise_errors()
    exact = [p for p in policy.purposes if p.name == local(purpose)]
    released = read_released(folder, original)
    broken: list[str] = []
    for candidate in exact or policy.purposes:
        listed = tuple(candidate.data)
        if not complete:  # a kind of data without a column may be any other column
            unlisted = [c for c in released.dataset.columns if candidate.datum(c) is None]
            listed += tuple(Datum(column, Group.NSD) for column in unlisted)
        restricted = dataclasses.replace(candidate, data=listed)
        broken += _columns(restricted, released)
        broken += _levels(restricted, released)[0]
        broken += released.models_broken(restricted)
    return list(dict.fromkeys(broken))
