"""What a shared folder shows of a release, for holding it against a policy."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato import registry
from sfumato.core.encoding import encode
from sfumato.core.evidence import gather
from sfumato.core.hierarchy import TOP
from sfumato.core.schema import Role, Schema
from sfumato.errors import SfumatoError
from sfumato.policy.enforcing.columns import ROLES
from sfumato.policy.policy import Anonymization, Group, Purpose
from sfumato.policy.promises import UnknownPromise, models_of
from sfumato.release import verify as verifying
from sfumato.release.certificates import read_certificate

if TYPE_CHECKING:
    from sfumato.core.dataset import Dataset
    from sfumato.core.model import Model


@dataclasses.dataclass(frozen=True, eq=False)
class Released:
    """A released table with its certificate; ``problems`` are claims that do not hold."""

    certificate: Mapping[str, Any]
    dataset: Dataset
    problems: tuple[str, ...]
    original: Dataset | None = None

    @property
    def levels(self) -> dict[str, int]:
        """The level of each recoded column, as the certificate's plan says."""
        found: dict[str, int] = {}
        for plan in self.certificate.get("plan", []):
            everybody = plan.get("personal_levels", {}).get("everybody", {})
            recoded = {c: place["level"] for c, place in plan.get("levels", {}).items()}
            for column, level in (*everybody.items(), *recoded.items()):
                found[column] = max(level, found.get(column, 0))
        return found

    @property
    def described(self) -> tuple[str, ...]:
        """The columns that the recipe knows, the dropped ones among them."""
        return tuple(self.certificate.get("recipe", {}).get("columns", {}))

    @property
    def pseudonymized(self) -> set[str]:
        """Columns that hold pseudonyms."""
        plans = [p for p in self.certificate.get("plan", []) if p.get("step") == "pseudonymize"]
        return {column for plan in plans for column in plan.get("masked", {})}

    def below(self, column: str, method: Anonymization) -> str | None:
        """Why a column is not as coarse as asked for, or None.

        With hierarchy entries the released values themselves are looked up. For values that no entry knows, and without
        entries, the level of the certificate counts, which is one of the hierarchy that was used.
        """
        least = method.minimum or 0
        if method.hierarchy:
            fine, unknown = self._finer(column, method)
            if fine:
                return f"column {column!r}: {fine:,} released values are finer than level {least}"
            if not unknown:
                return None
        level = self.levels.get(column)
        if level is None:
            return f"column {column!r} must be at level {least} at least; the certificate names no level for it"
        return f"column {column!r} is at level {level}, below the minimum of {least}" if level < least else None

    def _finer(self, column: str, method: Anonymization) -> tuple[int, int]:
        """How many released values are below the minimum level by the policy's entries, and how many no entry knows."""
        least = method.minimum or 0
        coarse = {TOP, *(label for row in method.hierarchy for label in row[least:])}
        fine = {label for row in method.hierarchy for label in row[:least]} - coarse
        encoded = encode(self.dataset.column(column))
        counts = dict(zip(encoded.labels, encoded.counts.tolist(), strict=True))
        hit = sum(count for label, count in counts.items() if label in fine)
        unknown = sum(count for label, count in counts.items() if label is not None and label not in fine | coarse)
        return hit, unknown

    def models_broken(self, purpose: Purpose) -> list[str]:
        """The purpose's privacy models that do not hold on the released table, in the roles that the purpose gives."""
        told = []
        dataset = self.dataset if purpose.any_data else self._as_seen_by(purpose)
        for promise in purpose.models:
            try:
                models = models_of(promise, dataset.schema.sensitive)
            except UnknownPromise as error:
                told.append(str(error))
                continue
            told += [reason for model in models if (reason := self._broken(model, dataset)) is not None]
        return told

    def _broken(self, model: Model, dataset: Dataset) -> str | None:
        try:
            needs = model.needs(dataset.schema)
            open_ended = (
                needs.pairs or needs.posteriors or needs.population or (needs.reference and self.original is None)
            )
            if open_ended:
                return None if self._promised(model) else f"{model.promise} cannot be told from the shared folder alone"
            verdict = model.judge(gather(dataset, [model], original=self.original))
        except SfumatoError as error:
            return f"{model.promise} cannot be judged: {error}"
        return None if verdict.holds else f"{verdict.promise} does not hold: {verdict.sentence}"

    def _promised(self, model: Model) -> bool:
        """Whether a certified promise implies the model. The certificate was verified as far as it can be."""
        specs = self.certificate.get("recipe", {}).get("meet", [])
        certified = [registry.build("models", spec) for spec in specs]
        return any(promise.implies(model) for promise in certified)

    def _as_seen_by(self, purpose: Purpose) -> Dataset:
        """The table in the roles of a policy; what is more protected in the release stays so."""
        schema = dict(self.dataset.schema.attributes)
        for name, attribute in schema.items():
            datum = purpose.datum(name)
            if (
                datum is None
                or datum.group in (Group.EI, Group.NSD)
                or not {Role.PLAIN, Role.QUASI, Role.SENSITIVE} & set(attribute.roles)
            ):
                continue
            roles = {*attribute.roles, ROLES[datum.group]} - {Role.PLAIN}
            schema[name] = dataclasses.replace(attribute, roles=tuple(roles))
        return self.dataset.with_schema(Schema(schema))


def read_released(folder: Path, original: Dataset | None = None) -> Released:
    """Read a shared folder and verify its certificate."""
    certificate = read_certificate(folder)
    checked = verifying.verify(folder, original=original)
    problems = tuple(
        f"the certificate does not hold: {c.name}: {c.detail}" for c in checked.claims if c.status == "fails"
    )
    return Released(certificate, verifying.read_released(folder, certificate), problems, original)
