"""A proposal as a commented recipe: valid YAML for any column names, every guess marked with its
reason.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from sfumato.core.fields import Document
from sfumato.core.schema import UNITS, Kind, Role
from sfumato.core.source import Code, Source
from sfumato.core.words import percent
from sfumato.guidance.profiling.proposal import ColumnProposal, Proposal
from sfumato.guidance.profiling.proposed_steps import FALLBACK, PROMISE, K

_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_]*(?:[ .-][A-Za-z0-9_]+)*")
_RESERVED = frozenset(
    {"y", "n", "yes", "no", "on", "off", "true", "false", "null", "none", "nan", "inf"}
)
# YAML allows 1024 characters for a key on one line; longer names get a key of their own line.
_LONGEST_KEY = 900

# The line by which a recipe says that it was not written without looking at the data.
PROPOSED = (
    "proposed_from: profile  # it looked at the table: no ε is certified while this line stands"
)

# Columns named in the header.
_LISTED = 10

_UNSURE = 0.6
# Share of records singled out by plain columns from which the header warns of them.
_MUCH = 0.2


def recipe_text(proposal: Proposal) -> str:
    """The recipe a proposal amounts to, with a header that says what to check.

    >>> import polars as pl
    >>> from sfumato.core.source import Source
    >>> from sfumato.guidance.profiling.proposal import propose
    >>> text = recipe_text(propose(pl.DataFrame({"sex": ["f", "m"]}), Source()))
    >>> text.split("columns:")[-1].split("#")[0].strip()
    'sex: {role: quasi, hierarchy: {suppress: {}}}'
    """
    lines = [
        *_header(proposal),
        "sfumato: 1",
        PROPOSED,
        *reading_lines(proposal.source, proposal.missing_codes),
    ]
    lines.append("columns:" if proposal.columns else "columns: {}")
    lines += [line for column in proposal.columns for line in column_lines(column)]
    lines += ["meet:", f"  - {flow(PROMISE)[1:-1]}", "steps:", _step(proposal)]
    if proposal.follows:
        step = flow({"follow": {"columns": dict(proposal.follows)}})[1:-1]
        lines.append(
            f"  - {step}  # guess: these columns copy quasi-identifiers, and are released through"
            " their labels"
        )
    return "\n".join(lines) + "\n"


def reading_lines(source: Source, codes: Mapping[str, tuple[Code, ...]]) -> Iterator[str]:
    """The lines of a recipe about reading: what was said or found, and the codes that may be
    missing values.
    """
    options = source.intake.to_recipe()
    if source.format in ("csv", "excel") and not source.header:
        options["header"] = False
    for key, value in options.items():
        yield f"{key}: {str(value).lower() if isinstance(value, bool) else flow(value)}"
    if codes:
        every = list(
            dict.fromkeys(code for column_codes in codes.values() for code in column_codes)
        )
        where = ", ".join(scalar(name) for name in list(codes)[:5]) + (
            " and others" if len(codes) > 5 else ""
        )
        yield (
            f"# In {where} stand codes that often mean 'missing'. If they do here, say so by"
            " removing the sign # below."
        )
        yield f"# missing_values: {flow(every)}"


def _step(proposal: Proposal) -> str:
    """The step, and why it is proposed."""
    proposed = proposal.step
    if proposed is None:
        return f"  - {flow(FALLBACK)[1:-1]}"
    rows = "the table"
    if proposed.rows != proposal.rows:
        rows = f"{proposed.rows:,} rows of the table"
    return f"  - {flow(proposed.step)[1:-1]}  # guess: tried on {rows}: {proposed.why}"


def _header(proposal: Proposal) -> Iterator[str]:
    yield (
        f"# Proposed by sfumato profile for {scalar(proposal.source.name)}: {proposal.rows:,} rows,"
        f" {len(proposal.columns):,} columns."
    )
    yield from role_lines()
    yield from _sampled(proposal)
    yield from _questions(proposal)
    yield from _most_dangerous(proposal)
    yield from _unsure(proposal)
    yield from _warnings(proposal)


def role_lines() -> Iterator[str]:
    """What happens to a column of each role, and what to check of it."""
    yield "# Every line marked 'guess' is one. Before you use this recipe, check what happens:"
    yield "#   drop: the column is dropped. Every column that names a person by itself has it."
    yield "#   quasi: made coarser. Every column an outsider could know has it."
    yield (
        "#   sensitive: released unchanged, or as the promises under 'meet' ask. Every column that"
        " must not be learned has it; add a promise if you need one."
    )
    yield "#   keep: released unchanged. Only columns that help nobody to find or learn anything."
    yield (
        "#   person: rows of the same person share its value; without it every row is a person of"
        " its own."
    )
    yield "# Check also that the hierarchies make sense to the readers of the data."


def _sampled(proposal: Proposal) -> Iterator[str]:
    """How much of a large table was looked at."""
    if proposal.sampled is None:
        return
    yield (
        f"# Every column by itself was counted in all {proposal.rows:,} rows: missing and distinct"
        " values, ranges, records that stand alone."
    )
    yield (
        f"# Columns together were looked at in {proposal.sampled:,} of these rows at most: what"
        " they single out, copies of each other and the step are estimates. `sfumato run` looks"
        " for copies again."
    )


def _records(proposal: Proposal) -> str:
    """What shares of records are shares of."""
    if proposal.sampled is None:
        return "the records"
    return f"{proposal.sampled:,} records drawn"


def _questions(proposal: Proposal) -> Iterator[str]:
    open_columns = proposal.with_roles(Role.ASK)
    if open_columns:
        count = "1 column waits"
        if len(open_columns) != 1:
            count = f"{len(open_columns)} columns wait"
        yield (
            f"# {count} for your decision (role: ask), and nothing runs before:"
            f" {_names(open_columns)}."
        )


def _most_dangerous(proposal: Proposal) -> Iterator[str]:
    dangerous = proposal.identifying
    if dangerous is not None and dangerous.uniqueness:
        together = "singles out"
        if len(dangerous.columns) > 1:
            together = "single out"
        yield (
            f"# {_names(dangerous.columns)} {together} {percent(dangerous.uniqueness)} of"
            f" {_records(proposal)}."
        )
    if proposal.ranking and proposal.rows > 1:
        yield f"# Most to least identifying: {_names([c.name for c in proposal.ranking])}."


def _unsure(proposal: Proposal) -> Iterator[str]:
    unsure = [column.name for column in proposal.columns if column.confidence < _UNSURE]
    if unsure:
        yield f"# Least sure of: {_names(unsure)}."


def _warnings(proposal: Proposal) -> Iterator[str]:
    yield from (f"# {warning}" for warning in proposal.warnings)
    if proposal.left_alone >= _MUCH and proposal.rows > 1:
        yield (
            f"# The columns with role keep or ask single out {percent(proposal.left_alone)} of"
            f" {_records(proposal)} together: who knows several of them finds people by them."
        )
    if not any(Role.QUASI in column.roles for column in proposal.columns):
        yield "# No column has role quasi: k-anonymity promises nothing until one has."
    if proposal.rows < K:
        yield f"# The table has fewer than {K} rows: no release of it can be {K}-anonymous."


def _names(names: Sequence[str]) -> str:
    remainder = ""
    if len(names) > _LISTED:
        remainder = f" and {len(names) - _LISTED} more"
    return ", ".join(scalar(_cut(name)) for name in names[:_LISTED]) + remainder


def _cut(name: str) -> str:
    if len(name) <= 60:
        return name
    return name[:59] + "…"


def column_lines(column: ColumnProposal) -> Iterator[str]:
    """The lines of a recipe about one column."""
    fields = flow(_fields(column))
    comment = (
        f"  # guess: {'; '.join(column.reasons)}{'; unsure' if column.confidence < _UNSURE else ''}"
    )
    key = scalar(column.name)
    if len(key) > _LONGEST_KEY:
        yield f"  ? {key}"
        yield f"  : {fields}{comment}"
    else:
        yield f"  {key}: {fields}{comment}"


def _fields(column: ColumnProposal) -> Document:
    roles = [str(role) for role in column.roles]
    fields: Document = {"role": roles[0] if len(roles) == 1 else roles}
    compared = not {Role.DROP, *UNITS} & set(column.roles) or column.kind is Kind.TEXT
    if compared and column.kind is not Kind.NOMINAL:
        fields["kind"] = str(column.kind)
    if column.hierarchy is not None:
        fields["hierarchy"] = column.hierarchy
    return fields


def flow(value: object) -> str:
    """A value in YAML's flow style.

    >>> flow({"widths": [5, 10], "format": "%d.%m.%Y"})
    '{widths: [5, 10], format: "%d.%m.%Y"}'
    """
    if isinstance(value, Mapping):
        entries = [f"{scalar(str(key))}: {flow(item)}" for key, item in value.items()]
        return f"{{{', '.join(entries)}}}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(flow, value)) + "]"
    if isinstance(value, str):
        return scalar(value)
    return repr(value)


def scalar(text: str) -> str:
    r"""A text as a YAML scalar that reads back as the same text: bare where that is safe, quoted
    otherwise.

    >>> scalar("age"), scalar("yes"), scalar("a: b"), scalar("12"), scalar("x\ny"), scalar("")
    ('age', '"yes"', '"a: b"', '"12"', '"x\\ny"', '""')
    """
    if _PLAIN.fullmatch(text) and text.lower() not in _RESERVED:
        return text
    return '"' + "".join(map(_escaped, text)) + '"'


def _escaped(character: str) -> str:
    escape = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}.get(character)
    if escape is not None or (character.isprintable() and character != "\ufeff"):
        return escape or character
    code = ord(character)
    if code < 0x100:
        return f"\\x{code:02x}"
    if code < 0x10000:
        return f"\\u{code:04x}"
    return f"\\U{code:08x}"
