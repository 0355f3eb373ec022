"""What must be so inside a policy: the consistency rules, as named findings."""

from __future__ import annotations

import calendar
import datetime
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from sfumato.core.source import UNKNOWN, confirmed
from sfumato.errors import UnreadableInput, did_you_mean, nearest
from sfumato.policy.columns import torn_labels
from sfumato.policy.dialects import Dialect
from sfumato.policy.dialects.dialect_detection import (
    PRESET,
    load_policy,
    parse_document,
    parse_policy,
    read_concept_text,
)
from sfumato.policy.dialects.subsumption import simple_parts
from sfumato.policy.documents import Document, Findings, PolicyError, Remark, read_text
from sfumato.policy.policy import (
    STRENGTH,
    Anonymization,
    Group,
    Policy,
    PrivacyModel,
    Pseudonymization,
    Purpose,
    Retention,
    UnknownMethod,
    UnknownPromise,
    demand_of,
    is_unkeyed,
    models_of,
    names_pseudonyms,
    told_of_unkeyed,
)

# The hierarchy of purposes: one parent each, no circles, and nothing in a sub-purpose that its
# parent does not allow.


def lint_hierarchy(findings: Findings, policy: Policy) -> None:
    """Find everything inconsistent in the hierarchy of a policy's purposes."""
    purposes = {p.name: p for p in policy.purposes}
    parents: dict[str, str] = {}
    for i, (above, below) in enumerate(policy.hierarchy):
        path = f"$.hierarchy[{i}]"
        if above not in purposes and below not in purposes:
            findings.warning(
                "unknown_purpose",
                path,
                f"neither {above!r} nor {below!r} is a purpose of this policy",
            )
        if parents.setdefault(below, above) != above:
            findings.error(
                "two_parents", path, f"purpose {below!r} has two super-purposes; keep one"
            )
        if above in purposes and below in purposes:
            _within(findings, purposes[above], purposes[below], path)
    _circles(findings, parents)


def _circles(findings: Findings, parents: dict[str, str]) -> None:
    cleared: set[str] = set()
    for start in parents:
        walked: list[str] = []
        purpose = start
        while purpose in parents and purpose not in walked and purpose not in cleared:
            walked.append(purpose)
            purpose = parents[purpose]
        if purpose in walked:
            circle = " → ".join([*walked[walked.index(purpose) :], purpose])
            findings.error(
                "cyclic_purposes", "$.hierarchy", f"purposes form a circle: {circle}; break it"
            )
        cleared.update(walked)


def _within(findings: Findings, above: Purpose, below: Purpose, path: str) -> None:
    parts = (
        ("data", {d.name for d in below.data} - {d.name for d in above.data}),
        ("recipients", {r.name for r in below.recipients} - {r.name for r in above.recipients}),
        ("legal bases", {b.name for b in below.legal_bases} - {b.name for b in above.legal_bases}),
    )
    for kind, excess in parts:
        if excess:
            problem = (
                f"sub-purpose {below.name!r} has {kind} that {above.name!r} does not have:"
                f" {', '.join(sorted(excess))}"
            )
            findings.error("sub_purpose_wider", path, problem)
    if (above.opt_out, above.required) != (below.opt_out, below.required):
        problem = (
            f"sub-purpose {below.name!r} must be required and allow opting out just as "
            f"{above.name!r} does"
        )
        findings.error("sub_purpose_differs", path, problem)


# When data must be gone.


def delete_by(retention: Retention, ended: datetime.date | None = None) -> datetime.date | None:
    """The last day data may be kept; None for no limit, or while the end of the purpose is not
    known.

    ``ended`` is the day the purpose ended. Months are calendar months, cut to the last day of a
    shorter one.

    >>> delete_by(Retention("after_purpose", amount=1, unit="month"), datetime.date(2024, 1, 31))
    datetime.date(2024, 2, 29)
    """
    if retention.kind == "fixed_date":
        return retention.date or datetime.date.min
    if retention.kind == "indefinite" or ended is None:
        return None
    amount = retention.amount or 0
    if retention.unit == "day":
        return _later(ended, amount)
    months = ended.year * 12 + ended.month - 1 + amount * (12 if retention.unit == "year" else 1)
    year, month = divmod(months, 12)
    if year > datetime.MAXYEAR:
        return datetime.date.max
    return datetime.date(year, month + 1, min(ended.day, calendar.monthrange(year, month + 1)[1]))


def _later(day: datetime.date, days: int) -> datetime.date:
    try:
        return day + datetime.timedelta(days=days)
    except OverflowError:
        return datetime.date.max


def is_expired(
    retention: Retention, today: datetime.date, ended: datetime.date | None = None
) -> bool:
    """Whether data should be gone by today; the last day itself still counts."""
    last = delete_by(retention, ended)
    return last is not None and today > last


def lint(
    policy: Policy, *, today: datetime.date | None = None, columns: Sequence[str] | None = None
) -> Findings:
    """Everything inconsistent in a policy, and with ``columns`` every datum that a table lacks.

    >>> [f.rule for f in lint(Policy("empty"))]
    ['no_purposes']
    """
    findings = Findings(policy.name or "the policy")
    if not policy.purposes:
        findings.error("no_purposes", "$.purposes", "a policy without a purpose allows nothing")
    _unique(findings, [p.name for p in policy.purposes], "$.purposes", "purpose")
    for i, purpose in enumerate(policy.purposes):
        _purpose(findings, purpose, f"$.purposes[{i}]", today)
        if columns is not None:
            _against_table(findings, purpose, f"$.purposes[{i}]", columns)
    lint_hierarchy(findings, policy)
    return findings


def locate_findings(
    findings: Iterable[Remark], document: Document, dialect: Dialect
) -> list[Remark]:
    """Findings about nouns, with the line of the document they came from."""
    return [
        Remark(
            f.rule,
            f.severity,
            f.path,
            f.message,
            f.line or document.line(dialect.source_path(f.path)),
        )
        for f in findings
    ]


def _unique(findings: Findings, names: Sequence[str], path: str, kind: str) -> None:
    for name, count in Counter(names).items():
        if count > 1:
            path_of_name = f"{path}[{len(names) - 1 - names[::-1].index(name)}]"
            findings.error(
                f"duplicate_{kind}",
                path_of_name,
                f"there are {count} of the name {name!r}; give each {kind} its own",
            )


def _purpose(findings: Findings, purpose: Purpose, path: str, today: datetime.date | None) -> None:
    _unique(findings, [d.name for d in purpose.data], f"{path}.data", "datum")
    _unique(findings, [r.name for r in purpose.recipients], f"{path}.recipients", "recipient")
    if purpose.any_data and (purpose.data or purpose.pseudonymizations):
        problem = (
            f"purpose {purpose.name!r} is for any data, so it can list no data and no pseudonyms;"
            " drop any_data or the lists"
        )
        findings.error("any_data_with_data", path, problem)
    if not purpose.data and not purpose.any_data:
        findings.warning(
            "no_data",
            f"{path}.data",
            f"purpose {purpose.name!r} lists no data, so nothing may be used for it",
        )
    if purpose.required and purpose.accepted is False:
        findings.error(
            "required_but_refused",
            path,
            f"purpose {purpose.name!r} is required, but was not accepted",
        )
    _data(findings, purpose, path)
    _models(findings, purpose, path)
    for i, recipient in enumerate(purpose.recipients):
        if recipient.third_country and not (recipient.adequacy_decision or recipient.safeguards):
            problem = (
                f"recipient {recipient.name!r} is in a third country without adequacy decision or"
                " safeguards"
            )
            findings.error("third_country_unprotected", f"{path}.recipients[{i}]", problem)
    duty = [
        b
        for b in purpose.legal_bases
        if "legal obligation" in f"{b.category} {b.name}".lower().replace("_", " ")
    ]
    if duty and not purpose.required:
        problem = f"purpose {purpose.name!r} rests on a legal obligation and must then be required"
        findings.error("legal_obligation_not_required", path, problem)
    if purpose.retention.kind == "fixed_date" and purpose.retention.date is None:
        findings.error(
            "retention_without_date", f"{path}.retention", "a fixed date is missing; add it"
        )
    if today is not None and is_expired(purpose.retention, today):
        findings.error(
            "expired_retention",
            f"{path}.retention",
            f"the retention of purpose {purpose.name!r} has passed",
        )


def _data(findings: Findings, purpose: Purpose, path: str) -> None:
    for i, datum in enumerate(purpose.data):
        datum_path = f"{path}.data[{i}]"
        if not datum.categories:
            findings.warning(
                "no_category",
                datum_path,
                f"datum {datum.name!r} has no data category; give it at least one",
            )
        if datum.anonymization is not None:
            _levels(findings, datum.name, datum.anonymization, f"{datum_path}.anonymization")


def _levels(findings: Findings, name: str, method: Anonymization, path: str) -> None:
    low, high = method.minimum, method.maximum
    try:
        demand = demand_of(method)
    except UnknownMethod as error:
        findings.error("unknown_method", path, f"datum {name!r}: {error}")
        return
    if demand == "withheld":
        return  # no value is released, so levels and hierarchy say nothing more
    if low is None and high is None:
        problem = (
            f"datum {name!r}: {method.method} without a minimum level asks for nothing, so values "
            "may be released unchanged; give a level"
        )
        findings.warning("no_minimum", path, problem)
    if (low is None) != (high is None):
        missing_level = "maximum"
        if low is None:
            missing_level = "minimum"
        findings.warning(
            "level_missing",
            path,
            f"datum {name!r} has no {missing_level} level, so it is unbounded",
        )
    if min(low or 0, high or 0) < 0:
        findings.error("level_negative", path, f"datum {name!r}: levels count from 0")
    if low is not None and high is not None and low > high:
        findings.error(
            "min_above_max",
            path,
            f"datum {name!r}: the minimum level {low} is above the maximum {high}",
        )
    depths = {len(row) for row in method.hierarchy}
    if len(depths) > 1:
        findings.error(
            "hierarchy_uneven",
            path,
            f"datum {name!r}: rows of its hierarchy have different numbers of levels",
        )
        return
    for level, count in torn_labels(method.hierarchy).items() if depths else ():
        problem = (
            f"datum {name!r}: {count} label(s) of level {level} of its hierarchy are under "
            "different labels"
        )
        findings.error("hierarchy_disagrees", path, problem)
    if depths and low is not None and low > max(depths) - 1:
        top = max(depths) - 1
        findings.error(
            "min_above_hierarchy",
            path,
            f"datum {name!r}: the minimum level {low} is above the top level {top}",
        )


def _models(findings: Findings, purpose: Purpose, path: str) -> None:
    columns = [d.name for d in purpose.data]
    if not purpose.models:
        problem = (
            f"purpose {purpose.name!r} asks for no privacy model; personal levels alone guarantee"
            " nothing"
        )
        findings.warning("no_model", f"{path}.models", problem)
    lists: tuple[tuple[str, tuple[PrivacyModel | Pseudonymization, ...]], ...] = (
        ("models", purpose.models),
        ("pseudonymizations", purpose.pseudonymizations),
    )
    for part, listed in lists:
        for i, listed_model in enumerate(listed):
            for name in listed_model.data if not purpose.any_data else ():
                if name not in columns:
                    problem = (
                        f"{listed_model.name} names {name!r}, which purpose {purpose.name!r} does"
                        " not"
                        f" have.{did_you_mean(name, columns)}"
                    )
                    findings.error("unknown_datum", f"{path}.{part}[{i}]", problem)
    for i, model in enumerate(purpose.models):
        try:
            models_of(
                model,
                [d.name for d in purpose.data if d.group == Group.SD]
                or (["any"] if purpose.any_data else []),
            )
        except UnknownPromise as error:
            findings.error("unknown_model", f"{path}.models[{i}]", str(error))
    _pseudonyms(findings, purpose, path)


def _pseudonyms(findings: Findings, purpose: Purpose, path: str) -> None:
    for i, method in enumerate(purpose.pseudonymizations):
        if not names_pseudonyms(method.name):
            problem = (
                f"{method.name!r} is not a known way to make pseudonyms; name one of "
                f"{', '.join(STRENGTH)}"
            )
            findings.error("unknown_method", f"{path}.pseudonymizations[{i}]", problem)
        elif is_unkeyed(method.name):
            problem = told_of_unkeyed(method.name, key=None)
            findings.warning("unkeyed_hash", f"{path}.pseudonymizations[{i}]", problem)
        if method.parameters:
            keys = ", ".join(repr(key) for key, _ in method.parameters)
            problem = f"{method.name} has attributes that are not supported: {keys}; remove them"
            findings.error("unknown_attribute", f"{path}.pseudonymizations[{i}]", problem)
        if method.target:
            problem = (
                f"{method.name} names {method.target!r} for the pseudonyms; they replace the "
                "identifier itself"
            )
            findings.note("no_effect", f"{path}.pseudonymizations[{i}]", problem)


def _against_table(findings: Findings, purpose: Purpose, path: str, columns: Sequence[str]) -> None:
    sure = confirmed(columns, UNKNOWN, [datum.name for datum in purpose.data])
    for i, datum in enumerate(purpose.data):
        if datum.name not in columns:
            problem = (
                "the table has no column"
                f" {datum.name!r}.{nearest(datum.name, columns) if sure else ''}"
            )
            severity = findings.error if datum.required else findings.warning
            severity("datum_not_in_table", f"{path}.data[{i}]", problem)


# Linting files of any dialect.

# The rule that a file breaks which is no text, or not the JSON or XML it seems to be.
UNREADABLE = "unreadable"


def lint_file(
    path: str | Path, *, today: datetime.date | None = None, columns: Sequence[str] | None = None
) -> list[Remark]:
    """Everything found in a file: while reading it, and in what it says. One that cannot be read
    has one finding.
    """
    if str(path).startswith(PRESET):
        return list(lint(load_policy(path), today=today, columns=columns))
    try:
        text = read_text(Path(path))
    except UnreadableInput as error:
        return [Remark(UNREADABLE, "error", "$", str(error))]
    return lint_text(text, name=Path(path).name, today=today, columns=columns)


def lint_text(
    text: str,
    *,
    name: str = "the policy",
    today: datetime.date | None = None,
    columns: Sequence[str] | None = None,
) -> list[Remark]:
    """Everything found in the text of a policy."""
    try:
        document, dialect = parse_document(text, name=name, findings=Findings(name))
        if not dialect.prescribes:
            return _lint_concept(text, name)
        policy, findings = parse_policy(text, name=name)
    except PolicyError as error:
        return list(error.findings)
    except UnreadableInput as error:
        return [Remark(UNREADABLE, "error", "$", str(error))]
    every = [
        *findings,
        *locate_findings(lint(policy, today=today, columns=columns), document, dialect),
    ]
    remarks: dict[tuple[str, str], Remark] = {}
    for finding in every:
        remarks.setdefault((finding.rule, finding.message), finding)
    return list(remarks.values())


def _lint_concept(text: str, name: str) -> list[Remark]:
    """A SPECIAL policy is sound when it can be read and allows something."""
    policy, vocabulary = read_concept_text(text, name)
    if isinstance(policy, tuple) or next(simple_parts(policy, vocabulary), None) is not None:
        return []
    return [
        Remark("allows_nothing", "warning", "$", "the policy contradicts itself and allows nothing")
    ]
