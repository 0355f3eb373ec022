"""From policies to a recipe: authorise, pseudonymize, personal levels, then the common guarantee,
in this order.

The order is fixed. Pseudonyms come first, since pseudonyms of generalised names would merge people;
personal levels come before the promises are reached, since a value raised afterwards leaves its
class and breaks them.
"""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, get_args

from sfumato.core import environment, registry
from sfumato.core.options import CommandOption
from sfumato.core.recipe import Recipe
from sfumato.errors import ParameterError, ReleaseRefused, SchemaError, Unsatisfiable, did_you_mean
from sfumato.policy.columns import (
    CompilerDecision,
    Guarantee,
    OnConflict,
    common_guarantee,
    described_columns,
)
from sfumato.policy.documents import Findings, Tree, TreeView
from sfumato.policy.lint import delete_by, is_expired, lint
from sfumato.policy.people import COLUMN, Policies
from sfumato.policy.policy import (
    COUNTER,
    KEYED,
    RANDOM,
    Group,
    Policy,
    Purpose,
    instead_of_unkeyed,
    strongest,
    told_of_unkeyed,
)
from sfumato.release.feasibility import feasible

if TYPE_CHECKING:
    from sfumato.core.model import Model
    from sfumato.core.table import Table

# Whether a policy allows a use at all: the purpose was agreed to, the recipient is listed, the time
# is not over.


@dataclasses.dataclass(frozen=True)
class Use:
    """What somebody wants to do, and when. ``ended`` is the day the purpose ended, if it has."""

    purpose: str
    recipient: str | None = None
    today: datetime.date = dataclasses.field(default_factory=environment.local_day)
    ended: datetime.date | None = None


@dataclasses.dataclass(frozen=True)
class Permission:
    """The purpose under which a use is allowed, or the first reason why it is not."""

    purpose: Purpose | None
    reason: str = ""
    delete_by: datetime.date | None = None

    @property
    def allowed(self) -> bool:
        """Whether the use is allowed."""
        return self.purpose is not None


def authorise(policy: Policy, use: Use) -> Permission:
    """Whether a policy allows a use.

    A purpose that was not asked about (``accepted`` is None) is allowed: such policies list what
    was agreed to. Agreement to a super-purpose covers its sub-purposes. Without a recipient the
    controller uses the data itself.

    >>> authorise(Policy("p"), Use("research")).reason
    "purpose 'research' is not in the policy."
    """
    agreed = policy.purpose(use.purpose)
    if agreed is None:
        near = did_you_mean(use.purpose, [p.name for p in policy.purposes])
        return Permission(None, f"purpose {use.purpose!r} is not in the policy.{near}")
    if agreed.accepted is False and not agreed.required:
        return Permission(None, f"purpose {agreed.name!r} was not agreed to")
    if use.recipient is not None and not _receives(agreed, use.recipient):
        names = ", ".join(r.name for r in agreed.recipients) or "nobody"
        return Permission(
            None,
            f"recipient {use.recipient!r} is not allowed for purpose {agreed.name!r}; allowed:"
            f" {names}",
        )
    if is_expired(agreed.retention, use.today, use.ended):
        return Permission(None, f"the retention of purpose {agreed.name!r} has passed")
    return Permission(agreed, delete_by=delete_by(agreed.retention, use.ended))


def _receives(purpose: Purpose, recipient: str) -> bool:
    if purpose.any_data and not purpose.recipients:
        return True  # a rule for any table says nothing about recipients
    return recipient.casefold() in {r.name.casefold() for r in purpose.recipients}


METHODS = {RANDOM: "random_table", KEYED: "keyed", COUNTER: "counter"}


@dataclasses.dataclass(frozen=True, eq=False)
class Compiled:
    """A recipe and how it came about: decisions, policies that do not allow the use, and the day
    data must be gone.
    """

    recipe: Recipe
    use: Use
    decisions: tuple[CompilerDecision, ...]
    refused: Mapping[str, str]
    delete_by: datetime.date | None


@dataclasses.dataclass(frozen=True)
class Options:
    """What the policies leave open."""

    panel: ClassVar[str] = "How policies are applied"
    on_conflict: Annotated[
        OnConflict,
        CommandOption("floor above cap: privacy, suppress_rows or fail", typed=str),
    ] = "privacy"
    floor: Annotated[bool, CommandOption("raise everybody to the largest minimum level")] = False
    budget: Annotated[
        float, CommandOption("share of records that may be suppressed", minimum=0, maximum=1)
    ] = 0.0
    meet: tuple[Model, ...] = ()
    key: Mapping[str, str] | None = None
    vault: Annotated[str | None, CommandOption("encrypted file that remembers pseudonyms")] = None

    @classmethod
    def of(cls, fields: TreeView) -> Options:
        """Options by name; what is not known is refused."""
        names = [field.name for field in dataclasses.fields(cls)]
        for name in fields:
            if name not in names:
                raise ParameterError(
                    f"{name!r} is not an option of compiling policies.{did_you_mean(name, names)}"
                )
        options = cls(**{**fields, "meet": tuple(fields.get("meet", ()))})
        if options.on_conflict not in get_args(OnConflict):
            raise ParameterError(
                f"on_conflict must be one of {', '.join(get_args(OnConflict))}, not "
                f"{options.on_conflict!r}"
            )
        return options


def compile_policies(
    policies: Policies,
    dataset: Table,
    *,
    purpose: Annotated[str, CommandOption("what the data are used for")],
    recipient: Annotated[
        str | None,
        CommandOption("who receives them; by default the controller itself", panel=Options.panel),
    ] = None,
    today: datetime.date | None = None,
    ended: datetime.date | None = None,
    **options: Any,
) -> Compiled:
    """The recipe that enforces policies on a table, for one purpose and one recipient.

    ``on_conflict`` says what happens when a floor is above a cap, or nothing below the caps keeps
    the promises: ``privacy`` lifts the caps, ``suppress_rows`` drops rows, ``fail`` raises.
    ``floor`` raises everybody to the largest minimum, not each person to that person's own.
    ``budget`` is the share of records that may be suppressed to reach the promises, ``meet`` adds
    promises of your own. ``key`` ({file: …} or {env: …}) and ``vault`` are for keyed pseudonyms.
    ``ended`` is the day the purpose ended, for retention that counts from it. People's own policies
    need the column ``policy`` (:meth:`Policies.assigned`).
    """
    settings = Options.of(options)
    missing_columns = _sound(policies, dataset)
    use = Use(purpose, recipient, today or environment.now().date(), ended)
    shared, own, refused, delete_by = _authorise(policies, use, dataset)
    merged = common_guarantee(
        shared,
        own,
        [c for c in dataset.columns if c != COLUMN or not own],
        on_conflict=settings.on_conflict,
        sensitive=dataset.schema.sensitive,
    )
    if own and not merged.own:
        raise ReleaseRefused(
            "everybody would have to be removed to satisfy the caps; choose another rule for "
            "conflicts"
        )
    findings = Findings("the policies")
    schema, tops, decisions = described_columns(
        dataset, merged, _entries(policies, shared, use), findings
    )
    planned_steps = _Steps(merged, settings, use, tops, findings)
    models = planned_steps.models()
    recipe = Recipe(schema, models, (), intake=dataset.source.intake)
    steps = planned_steps.steps(refused)
    findings.raise_errors()
    recipe = dataclasses.replace(recipe, steps=tuple(registry.build("steps", s) for s in steps))
    recipe, settled = _within_caps(recipe, dataset, planned_steps)
    return Compiled(
        recipe,
        use,
        (*missing_columns, *merged.decisions, *decisions, *planned_steps.decisions, *settled),
        refused,
        delete_by,
    )


def _sound(policies: Policies, dataset: Table) -> list[CompilerDecision]:
    """Raise everything inconsistent in the policies; what they list and the table lacks is only
    told, unless required.
    """
    named_policies = [
        *((policy.name, policy) for policy in policies.everybody),
        *policies.groups.items(),
    ]
    findings = Findings("the policies")
    for name, policy in named_policies:
        remarks = lint(policy, columns=dataset.columns)
        # several policies are judged: an error says which one is wrong
        errors = [remark for remark in remarks if remark.severity == "error"]
        findings.extend(dataclasses.replace(e, path=f"{name}: {e.path}") for e in errors)
        findings.extend(remark for remark in remarks if remark.severity != "error")
    findings.raise_errors()
    return [
        CompilerDecision(f.rule, f.path, f.message)
        for f in findings
        if f.rule == "datum_not_in_table"
    ]


def _authorise(
    policies: Policies, use: Use, dataset: Table
) -> tuple[list[Purpose], dict[str, Purpose], dict[str, str], datetime.date | None]:
    """Purposes of everybody and of the people who allow the use, the refusals, and the earliest day
    of deletion.
    """
    everybody = [authorise(policy, use) for policy in policies.everybody]
    own = {label: authorise(policy, use) for label, policy in policies.groups.items()}
    if own and COLUMN not in dataset.columns:
        raise SchemaError(
            f"the table lacks the column {COLUMN!r}, which names each row's policy; make it with "
            "Policies.assigned"
        )
    reasons = [p.reason for p in everybody if not p.allowed]
    if not reasons and own and not any(p.allowed for p in own.values()):
        reasons = sorted({p.reason for p in own.values()})
    if reasons or not (everybody or own):
        raise ReleaseRefused(
            "; ".join(reasons) or "no policy allows anything; nothing can be compiled"
        )
    allowed: list[Permission] = [p for p in (*everybody, *own.values()) if p.allowed]
    return (
        [p.purpose for p in everybody if p.purpose is not None],
        {label: p.purpose for label, p in own.items() if p.purpose is not None},
        {label: p.reason for label, p in own.items() if not p.allowed},
        min((p.delete_by for p in allowed if p.delete_by is not None), default=None),
    )


def _entries(
    policies: Policies, shared: Sequence[Purpose], use: Use
) -> dict[str, list[tuple[str, ...]]]:
    """All hierarchy entries by column: those of people's own policies and those for everybody."""
    by_column: dict[str, dict[tuple[str, ...], None]] = {}
    names = {
        p.name
        for policy in policies.groups.values()
        if (p := policy.purpose(use.purpose)) is not None
    }
    for (purpose, column), rows in policies.entries.items():
        if purpose in names:
            by_column.setdefault(column, {}).update(dict.fromkeys(rows))
    for purpose_ in shared:
        for datum in purpose_.data:
            if datum.anonymization is not None and datum.anonymization.hierarchy:
                by_column.setdefault(datum.name, {}).update(
                    dict.fromkeys(datum.anonymization.hierarchy)
                )
    return {column: list(rows) for column, rows in by_column.items()}


class _Steps:
    """The steps of a recipe, in the one right order."""

    def __init__(
        self,
        merged: Guarantee,
        options: Options,
        use: Use,
        tops: Mapping[str, int],
        findings: Findings,
    ) -> None:
        self.merged, self.options, self.use, self.tops, self.findings = (
            merged,
            options,
            use,
            tops,
            findings,
        )
        self.decisions: list[CompilerDecision] = []

    def models(self) -> tuple[Model, ...]:
        """What must hold: the policies' strongest models and the caller's own."""
        strong_models, dropped = strongest([*self.merged.models, *self.options.meet])
        self.decisions += [
            CompilerDecision("implied", w.promise, f"{w.promise} follows from {s.promise}")
            for w, s in dropped
        ]
        if not strong_models:
            problem = (
                "no policy asks for a privacy model, and personal levels alone guarantee nothing;"
                " add one with meet"
            )
            self.findings.error("no_model", "$.models", problem)
        return tuple(strong_models)

    def steps(self, refused: Mapping[str, str]) -> list[Tree]:
        """Authorise, pseudonymize, personal levels, anonymize."""
        steps = []
        if self.merged.own or refused or self.merged.left_out:
            steps.append({"authorised": {"by": COLUMN, "allowed": list(self.merged.own)}})
        return [*steps, *self._pseudonymize(), *self._personal(), self.recoding(caps=True)]

    def _pseudonymize(self) -> list[Tree]:
        """One step for each method; a hash without a key is replaced by one with a key, or by a
        random table.
        """
        by_method: dict[str, list[str]] = {}
        for column, strength in self.merged.pseudonyms.items():
            method = METHODS.get(strength, instead_of_unkeyed(key=bool(self.options.key)))
            if strength not in METHODS:
                problem = told_of_unkeyed(column, key=bool(self.options.key))
                self.decisions.append(CompilerDecision("unkeyed_hash", column, problem))
            if method == "keyed" and not self.options.key:
                problem = (
                    f"{column}: keyed pseudonyms need a key; give key={{'file': …}} or {{'env': …}}"
                )
                self.findings.error("missing_key", column, problem)
            by_method.setdefault(method, []).append(column)
        return [
            {"pseudonymize": self._fields(method, names)} for method, names in by_method.items()
        ]

    def _fields(self, method: str, names: Sequence[str]) -> Tree:
        keyed = method == "keyed" or self.options.vault is not None
        # the purpose as domain: pseudonyms of different purposes cannot be linked
        fields: Tree = {"columns": list(names), "method": method}
        fields["domain"] = self.use.purpose
        if keyed and self.options.key:
            fields["key"] = dict(self.options.key)
        if self.options.vault:
            fields["vault"] = self.options.vault
        return fields

    def _personal(self) -> list[Tree]:
        everybody = dict(self.merged.floors if self.options.floor else self.merged.everybody)
        own = {label: dict(wish) for label, wish in self.merged.own.items()}
        fields: Tree = {}
        if everybody:
            fields["levels"] = everybody
        # under one floor for all, nobody's own levels are left to keep
        if not self.options.floor and any(own.values()):
            fields |= {"own": own, "by": COLUMN}
        return [{"personal_levels": fields}] if fields else []

    def capped(self) -> list[str]:
        """The columns whose cap lies below the top of their hierarchy."""
        return sorted(c for c, cap in self.merged.caps.items() if cap < self.tops.get(c, 0))

    def recoding(self, *, caps: bool, budget: float | None = None) -> Tree:
        """The search for the least loss that keeps the promises, from everybody's minimum up to the
        caps.
        """
        floors = self.merged.floors if self.options.floor else self.merged.everybody
        lowest = {c: level for c, level in floors.items() if Group.QID in self.merged.groups[c]}
        if caps:
            highest = {c: self.merged.caps[c] for c in self.capped()}
        else:
            highest = {}
        # a column with a minimum has a range of levels, one with only a cap its highest level
        levels: Tree = {}
        for column, level in lowest.items():
            levels[column] = [level, highest.get(column, self.tops[column])]
        for column, level in highest.items():
            levels.setdefault(column, level)
        fields: Tree = {"levels": levels} if levels else {}
        fields["budget"] = self.options.budget if budget is None else budget
        return {"global_recoding": fields}


def _within_caps(
    recipe: Recipe, dataset: Table, compiled: _Steps
) -> tuple[Recipe, list[CompilerDecision]]:
    """Where no node under the caps keeps the promises: the chosen rule decides, and says so."""
    capped = compiled.capped()
    if not capped or feasible(recipe, dataset):
        return recipe, []
    rule = compiled.options.on_conflict
    names = ", ".join(capped)
    problem = f"no generalization within the caps of {names} reaches the promises"
    if rule == "fail":
        raise Unsatisfiable(
            f"{problem}; raise the caps, lower the promises, or choose another rule for conflicts"
        )
    lifted = rule == "privacy"
    last = compiled.recoding(caps=not lifted, budget=None if lifted else 1.0)
    steps = (*recipe.steps[:-1], registry.build("steps", last))
    how = "rows of failing classes are dropped"
    if lifted:
        how = "the caps are lifted"
    return dataclasses.replace(recipe, steps=steps), [
        CompilerDecision("caps_too_low", names, f"{problem}; {how}")
    ]
