"""``sfumato list`` and ``sfumato explain``: what can be written in a recipe, and what it means."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from sfumato.core.objective import OBJECTIVES
from sfumato.core.options import CommandOption
from sfumato.core.parameters import known_as
from sfumato.core.shape import ONE_TABLE, Shape, known_shapes
from sfumato.core.words import number, percent
from sfumato.errors import ParameterError, UnreadableInput, did_you_mean
from sfumato.interfaces.cli.choose_k import ChoiceOptions, PlanOptions, tell_choice, tell_plan
from sfumato.interfaces.cli.command import command
from sfumato.interfaces.cli.console import give_json, out
from sfumato.interfaces.cli.options import Json, ReadOptions, ShowOptions

# Docstrings as a person reads them on a terminal: no markup, formulas in plain signs.

SIGNS = {
    r"\ge": "≥",
    r"\le": "≤",
    r"\ne": "≠",
    r"\sum": "Σ",
    r"\prod": "Π",
    r"\max": "max",
    r"\min": "min",
    r"\log": "log",
    r"\ln": "ln",
    r"\exp": "exp",
    r"\cdot": "·",
    r"\times": "×",
    r"\in": "∈",
    r"\infty": "∞",
    r"\alpha": "α",
    r"\beta": "β",
    r"\delta": "δ",
    r"\epsilon": "ε",
    r"\varepsilon": "ε",
    r"\lambda": "λ",
    r"\sup": "sup",
    r"\int": "∫",
    r"\setminus": "∖",
    r"\quad": "  ",
    r"\,": " ",
    r"\left": "",
    r"\right": "",
    r"\lceil": "⌈",
    r"\rceil": "⌉",
    r"\lfloor": "⌊",
    r"\rfloor": "⌋",
    r"\dots": "…",
    r"\ldots": "…",
    r"\pi": "π",
    r"\theta": "θ",
    r"\mid": "|",
    r"\approx": "≈",
    r"\qquad": "; ",
    r"\tau": "τ",
    r"\sqsubseteq": "⊑",
    r"\ ": " ",
    r"\;": " ",
    r"\#": "#",
    r"\Delta": "Δ",
    r"\Lambda": "Λ",
    r"\Phi": "Φ",
    r"\Pr": "Pr",
    r"\Sigma": "Σ",
    r"\arg": "arg",
    r"\cap": "∩",
    r"\cup": "∪",
    r"\chi": "χ",
    r"\deg": "deg",
    r"\ell": "ℓ",
    r"\emptyset": "∅",
    r"\forall": "∀",
    r"\gamma": "γ",
    r"\kappa": "κ",
    r"\lVert": "‖",
    r"\rVert": "‖",
    r"\mu": "μ",
    r"\notin": "∉",
    r"\pm": "±",
    r"\propto": "∝",
    r"\rho": "ρ",
    r"\sigma": "σ",
    r"\sim": "~",
    r"\sin": "sin",
    r"\subseteq": "⊆",
    r"\to": "→",
    r"\top": "⊤",
    r"\triangle": "△",
    r"\sqrt": "√",
    r"\phi": "φ",
    r"\omega": "ω",
}
CALLIGRAPHIC = dict(zip("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "𝒜ℬ𝒞𝒟ℰℱ𝒢ℋℐ𝒥𝒦ℒℳ𝒩𝒪𝒫𝒬ℛ𝒮𝒯𝒰𝒱𝒲𝒳𝒴𝒵", strict=True))
OPEN, CLOSE = "\ue000", "\ue001"
"""Stand for braces that are meant, while those that group are taken away."""


AGAINST = {
    "identity": "limits who can be recognised",
    "attribute": "limits what can be learned about somebody",
    "both": "limits who can be recognised and what can be learned about them",
    "membership": "limits what can be learned about who is in the table",
}
PROTECTS = {
    "respondent": "the people the data are about",
    "owner": "whoever holds the data",
    "user": "whoever asks questions of the data",
}
SETTING = {
    "publish": "a table is published",
    "share result": "results are shared",
    "compute result": "results are computed",
}


def nature(described: Mapping[str, Any]) -> list[str]:
    """What kind of promise a model makes, one line a fact."""
    facts, depends = described["facts"], described.get("depends", {})
    traits = {
        "against": AGAINST[facts["against"]],
        "measure": "a yes or no" if facts["measure"] == "boolean" else "a number",
        "truthful": (
            "what is released stays true"
            if facts["truthful"]
            else "released values may be changed at random"
        ),
        "protects": PROTECTS[facts["protects"]],
        "setting": SETTING[facts["setting"]],
        **_about_classes(described),
    }
    lines = [
        f"{name}: {text}" + (f" ({plain(depends[name])})" if name in depends else "")
        for name, text in traits.items()
    ]
    if "implies" not in described:
        return lines
    others = [name for name in described["implies"] if name != described["name"]]
    return [*lines, f"implies, when strong enough: {', '.join(others) or 'no other model'}"]


def _about_classes(described: Mapping[str, Any]) -> dict[str, str]:
    """What a promise about a table does when data are made coarser, or where one of another shape
    looks.
    """
    if "compares" in described:
        seen = "the release and the original" if described["compares"] else "the release alone"
        return {"judged on": seen}
    monotone, shrinking, by_class = (
        described["monotone"],
        described["shrinking"],
        described["scope"] == "class",
    )
    return {
        "monotone": f"making data coarser {'never breaks it' if monotone else 'can break it'}",
        "shrinking": (
            f"coarser data {'never need' if shrinking else 'may need'} more records suppressed"
        ),
        "scope": (
            "each class holds or fails by itself"
            if by_class
            else "it depends on all classes together"
        ),
    }


def plain(text: str) -> str:
    r"""Text without reStructuredText markup.

    >>> plain(r"``k`` is :math:`\ge 1`, see :func:`judge` and *this*.")
    'k is ≥ 1, see judge and this.'
    """
    text = re.sub(r":math:`([^`]*)`", lambda m: formula(m[1]), text)
    text = re.sub(r":[a-z:]+:`~?([^`]*)`", lambda m: m[1].split(".")[-1], text)
    text = re.sub(r"``([^`]*)``", r"\1", text)
    return re.sub(r"(?<![\w*])\*([^*\s][^*]*)\*(?![\w*])", r"\1", text)


def formula(latex: str) -> str:
    r"""A formula in plain signs.

    >>> formula(r"\frac1N \sum_i \frac{1}{f_i} \ge \hat F")
    '1/N Σ_i 1/f_i ≥ F̂'
    >>> formula(r"\Bigl|\ln \frac{x_{i+1} - x_i}{2H}\Bigr| < \delta \quad\text{for all } i")
    '|ln (x_(i+1) - x_i)/(2H)| < δ for all i'
    >>> (
    ...     formula(r"s(X \cup Y) < \sigma"),
    ...     formula(r"\min_{A \in \mathcal A} f_A"),
    ...     formula(r"\bar x \sim N(0, \chi^2)"),
    ... )
    ('s(X ∪ Y) < σ', 'min_(A ∈ 𝒜) f_A', 'x̄ ~ N(0, χ^2)')
    """
    text = latex.replace(r"\{", OPEN).replace(r"\}", CLOSE)
    text = re.sub(r"\\(?:left|right|[Bb]igg?[lr]?)(?![a-zA-Z])", "", text)
    text = re.sub(r"\\text\{([^{}]*)\}", r" \1 ", text)
    text = re.sub(r"\\(?:mathrm|operatorname|mathsf)\{([^{}]*)\}", r"\1", text)
    one = r"\s*(?:\{(\w)\}|(\w))"  # the letter that a sign stands over, in braces or not
    text = re.sub(rf"\\mathsf{one}", lambda m: m[1] or m[2], text)
    text = re.sub(rf"\\mathcal{one}", lambda m: CALLIGRAPHIC.get(m[1] or m[2], m[1] or m[2]), text)
    text = re.sub(rf"\\hat{one}", lambda m: (m[1] or m[2]) + "\u0302", text)
    text = re.sub(rf"\\bar{one}", lambda m: (m[1] or m[2]) + "\u0304", text)
    text = re.sub(r"\\binom\s*\{([^{}]*)\}\s*\{([^{}]*)\}", r"C(\1, \2)", text)
    text = re.sub(
        r"([_^])\{([^{}]*)\}", lambda m: m[1] + (m[2] if len(m[2]) == 1 else f"({m[2]})"), text
    )
    fraction = re.compile(r"\\t?frac\s*(\{[^{}]*\}|\w)\s*(\{[^{}]*\}|\w)")
    while fraction.search(text):  # from the inner ones outwards
        text = fraction.sub(lambda m: f"{_group(m[1])}/{_group(m[2])}", text)
    text = re.sub(r"\\[a-zA-Z]+|\\[, ]", lambda m: SIGNS.get(m[0], m[0].lstrip("\\")), text)
    text = text.replace("{", "(").replace("}", ")").replace(OPEN, "{").replace(CLOSE, "}")
    return re.sub(r" (?=;)|,(?=;)", "", re.sub(r"\s+", " ", text)).replace(",;", ";").strip()


def _group(part: str) -> str:
    inner = part.strip("{}").strip()
    return inner if re.fullmatch(r"\d+|\\?[a-zA-Z]+(_\w+)?|\|[^|]*\|", inner) else f"({inner})"


def paragraphs(doc: str) -> list[str]:
    """The paragraphs of a docstring, each on one line; formulas and examples keep their lines,
    indented.
    """
    blocks: list[str] = []
    within_formula = False
    for block in re.split(r"\n\s*\n", doc.strip()):
        within_formula = block.startswith(".. math::") or (within_formula and block.startswith(" "))
        if within_formula:
            blocks.append("    " + formula(block.removeprefix(".. math::")))
        elif (table := simple_table(block)) is not None:
            blocks.append(
                "\n".join("  " + "; ".join(plain(cell) for cell in row if cell) for row in table)
            )
        elif block.lstrip().startswith(">>>") or block.startswith((" ", "::", "|", "..")):
            blocks.append(block)
        else:
            blocks.append(plain(re.sub(r"\s*\n\s*", " ", block)))
    return blocks


def simple_table(block: str) -> list[list[str]] | None:
    r"""The rows of a reStructuredText table whose columns stand under rules of ``=``; None for any
    other text.

    >>> simple_table("====  ===\nk     why\n====  ===\n3     a\n      b\n====  ===")
    [['k', 'why'], ['3', 'a b']]
    """
    lines = block.splitlines()
    if (
        len(lines) < 4
        or not re.fullmatch(r"=+( +=+)+", lines[0].strip())
        or lines[-1].strip() != lines[0].strip()
    ):
        return None
    starts = [match.start() for match in re.finditer(r"=+", lines[0])]
    rows: list[list[str]] = []
    for line in lines:
        if line.strip() == lines[0].strip():
            continue
        ends = [*starts[1:], None]
        cells = [line[start:end].strip() for start, end in zip(starts, ends, strict=True)]
        if cells[0] or not rows:
            rows.append(cells)
        else:  # a line without a first cell goes on with the row above it
            rows[-1] = [
                f"{before} {more}".strip() for before, more in zip(rows[-1], cells, strict=True)
            ]
    return rows


# ``sfumato list``: every model, step, hierarchy, risk, utility metric, objective and example by
# name.


@command()
def list_names(
    what: Annotated[
        str | None,
        typer.Argument(help="models, steps, hierarchies, risk, utility, objectives or examples"),
    ] = None,
    json: Json = False,
) -> None:
    """List what can be written in a recipe, with one line of meaning each."""
    listed = _found(what)
    if json:
        give_json(listed)
        return
    for family, found in listed.items():
        for shape in dict.fromkeys(entry.get("shape") for entry in found):
            title = family if shape in (None, "table") else f"{family}, shape: {shape}"
            _show_list(title, [entry for entry in found if entry.get("shape") == shape])


def _show_list(title: str, listed: list[dict[str, Any]]) -> None:
    table = Table(
        box=None,
        pad_edge=False,
        title=title,
        title_justify="left",
        show_header=False,
        title_style="bold",
    )
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for entry in listed:
        table.add_row(escape(entry["name"]), escape(plain(entry["meaning"])))
    out().print(table)


def _found(what: str | None) -> dict[str, list[dict[str, Any]]]:
    from sfumato.core import registry

    every = (*registry.FAMILIES, "objectives", "examples")
    if what is not None and what not in every:
        raise ParameterError(
            f"there is nothing called {what!r} to list.{did_you_mean(what, every)}"
        )
    return {name: entries(name) for name in ([what] if what else every)}


def entries(family: str) -> list[dict[str, Any]]:
    """Name and meaning of everything in a family, and the shape of data it serves; hierarchies
    serve all.
    """
    from sfumato.core import registry

    if family == "objectives":
        return [{"name": o.name, "meaning": o.meaning} for o in OBJECTIVES]
    if family == "examples":
        from sfumato.data import examples

        return [{"name": n, "meaning": examples.meaning(n)} for n in examples.names()]
    kept = (
        "name",
        "meaning",
        "fields",
        "facts",
        "compares",
        "monotone",
        "shrinking",
        "scope",
        "depends",
    )
    shapes = [Shape.TABLE] if family == "hierarchies" else known_shapes()
    return [
        {
            **({} if family == "hierarchies" else {"shape": str(shape)}),
            **{k: told[k] for k in kept if k in told},
        }
        for shape in shapes
        for told in map(registry.describe, registry.family(family, shape).values())
    ]


@dataclass(frozen=True, kw_only=True)
class ExplainOptions(ShowOptions):
    """Which k is explained."""

    k: Annotated[
        int | None, CommandOption("k_anonymity: which risk it bounds; or k of the plan", ("--k",))
    ] = None


@command()
def explain(
    what: Annotated[
        str, typer.Argument(help="a name that 'sfumato list' shows, or the folder of a release")
    ],
    data: Annotated[
        str | None, typer.Argument(help="after k_anonymity: a table to choose k for, with -r")
    ] = None,
    *,
    asked: ExplainOptions,
    choice: ChoiceOptions,
    plan: PlanOptions,
    reading: ReadOptions,
) -> None:
    """Explain a model, step, hierarchy or objective, or tell what a release did and why.

    With figures: which k a tolerable risk asks for (explain k_anonymity --risk 0.05), and which
    buckets fit (explain bucketize --plan).
    """
    name = known_as(what.rpartition("/")[2])
    for_plan = any(value is not None for value in vars(plan).values())
    for_choice = data is not None or any(
        value is not None for value in (*vars(choice).values(), *vars(reading).values())
    )
    if name == "bucketize" and plan.plan and not for_choice:
        tell_plan(asked.k, plan, json=asked.json)
        return
    if name == "k_anonymity" and not for_plan and (for_choice or asked.k is not None):
        tell_choice(data, asked.k, choice, reading.intake, json=asked.json, quiet=asked.quiet)
        return
    if for_plan or for_choice or asked.k is not None:
        raise ParameterError(
            "figures go with k_anonymity (--risk, --k, or a table and -r) and with bucketize"
            " (--plan)"
        )
    folder = Path(what)
    if folder.is_dir():
        document = _release(folder)
        give_json(document) if asked.json else _show_release(document)
        return
    entries = _described(what)
    if asked.json:
        give_json(entries[0] if len(entries) == 1 else entries)
        return
    for place, one in enumerate(entries):
        _show_name(one, headed=len(entries) > 1, first=place == 0)


FAMILY_WORDS = {
    "models": "model",
    "steps": "step",
    "hierarchies": "hierarchy",
    "risk": "risk",
    "utility": "utility metric",
}


def _described(asked: str) -> list[dict[str, Any]]:
    """Everything that has a name, one entry a family; ``models/records_at_risk`` asks for the one
    in a family.
    """
    from sfumato.core import registry

    family, slash, rest = asked.partition("/")
    if slash and family not in (*registry.FAMILIES, "objectives"):
        raise UnreadableInput(
            f"there is no folder {asked}, and no family of names {family!r} (sfumato list)"
        )
    wanted, name = (
        ((family,), known_as(rest))
        if slash
        else ((*registry.FAMILIES, "objectives"), known_as(asked))
    )
    objectives = {o.name: o for o in OBJECTIVES}
    members = {
        (one, shape): _members(one, shape, objectives) for one in wanted for shape in _shapes(one)
    }
    entries = [
        _entry(one, shape, name, found[name])
        for (one, shape), found in members.items()
        if name in found
    ]
    if not entries:
        every = [member for found in members.values() for member in found]
        raise ParameterError(
            f"nothing is called {asked!r}, and there is no folder of that"
            f" name.{did_you_mean(name, every)}"
        )
    return entries


def _shapes(family: str) -> list[Shape]:
    return list(known_shapes()) if family not in ("hierarchies", "objectives") else [Shape.TABLE]


def _members(family: str, shape: Shape, objectives: Mapping[str, Any]) -> Mapping[str, Any]:
    from sfumato.core import registry

    return objectives if family == "objectives" else registry.family(family, shape)


def _entry(family: str, shape: Shape, name: str, member: Any) -> dict[str, Any]:
    from sfumato.core import registry
    from sfumato.core.placed import KEYS

    if family == "objectives":
        return {
            "name": name,
            "family": family,
            "meaning": member.meaning,
            "doc": member.meaning,
            "fields": [],
        }
    described = registry.describe(member)
    implies = {"implies": registry.implied_by(name)} if "monotone" in described else {}
    serves = {} if shape in ONE_TABLE else {"shape": str(shape)}
    placing = {} if serves or family not in KEYS else {"of_several_tables": list(KEYS[family])}
    doc = inspect.cleandoc(member.__doc__ or "")
    return {**described, **implies, "family": family, **serves, **placing, "doc": doc}


def _show_name(found: dict[str, Any], *, headed: bool, first: bool) -> None:
    """One entry; where the name stands for several things, with the word for what it is."""
    word = FAMILY_WORDS.get(found["family"], "objective")
    about = f" for data of shape {found['shape']}" if "shape" in found else ""
    what = (
        f", as a {word}{about} (sfumato explain {found['family']}/{found['name']})"
        if headed
        else about
    )
    out().print(
        f"{'' if first else chr(10)}[bold]{escape(found['name'])}[/]{what}\n", soft_wrap=True
    )
    out().print(escape("\n\n".join(paragraphs(found["doc"]))))
    if found["fields"]:
        out().print("\n[bold]Parameters[/]")
    for field in found["fields"]:
        out().print(
            f"  {field['name']}{' (required)' if field['required'] else ''}:"
            f" {escape(field['meaning'])}",
            soft_wrap=True,
        )
    if "of_several_tables" in found:
        keys = ", ".join(found["of_several_tables"])
        out().print(f"\nIn recipes of several tables also: {keys}", soft_wrap=True)
    if "facts" in found:
        _show_nature(found)


def _show_nature(found: dict[str, Any]) -> None:
    """The facts of a model, one line each, in plain words."""
    out().print("\n[bold]What kind of promise[/]")
    for line in nature(found):
        out().print(f"  {escape(line)}", soft_wrap=True)


def _release(folder: Path) -> dict[str, Any]:
    """The certificate and, where the owner's folder is beside it, what only the owner may know of
    how it was found.

    That is the alternatives, the k-minimal nodes that were passed over, and what local methods made
    of cells.
    """
    from sfumato.release.certificate_files import read_certificate
    from sfumato.release.certificate_words import with_words
    from sfumato.release.folder import read_owner_record

    share = folder / "share" if (folder / "share").is_dir() else folder
    certificate = read_certificate(share, *known_shapes())
    record = (
        read_owner_record(folder / "owner", certificate)
        if (folder / "owner" / "release.json").is_file()
        else {}
    )
    minimal = [step for step in record.get("effort", []) if step.get("k_minimal")]
    local = [step for step in record.get("effort", []) if step.get("cells")]
    distinct = {
        c["name"]: [c["distinct_before"], c["distinct_after"]] for c in record.get("columns", [])
    }
    kept = {
        "alternatives": record.get("alternatives"),
        "k_minimal": minimal or None,
        "local": [{**step, "distinct": distinct} for step in local] or None,
    }
    return {
        **with_words(certificate),
        **record.get("words", {}),
        **{name: part for name, part in kept.items() if part is not None},
    }


def _show_release(certificate: dict[str, Any]) -> None:
    from sfumato.core.words import number
    from sfumato.release.report.headline import headline

    console = out()
    console.print(f"[bold]{escape(headline(certificate).text)}[/]", soft_wrap=True)
    for verdict in certificate["verdicts"]:
        mark, attained = "✓" if verdict["holds"] else "✗", number(verdict["attained"])
        words = (
            verdict["sentence"] or f"attained {attained}, required {number(verdict['required'])}"
        )
        console.print(f"{mark} {escape(verdict['promise'])}: {escape(words)}", soft_wrap=True)
    if "counts" in certificate:
        _show_people(certificate)
        return
    rows, gone = certificate["data"]["rows"], certificate["suppressed_records"]
    left = (
        ""
        if gone is None
        else f"; {gone:,} ({percent(gone / max(1, rows + gone))}) were suppressed or left out"
    )
    left = "; they were drawn anew and are nobody's" if "synthetic" in certificate else left
    console.print(f"{rows:,} records are shared{left}.")
    for step in certificate["plan"]:
        for column, place in step.get("levels", {}).items():
            console.print(
                f"  {escape(column)}: {_told(place['level'], place['top'])}", soft_wrap=True
            )
        for column, words in step.get("masked", {}).items():
            console.print(f"  {escape(column)}: {escape(words)}", soft_wrap=True)
        if (
            step.get("kind") == "class recoding" and "local" not in certificate
        ):  # the owner reads more below
            _show_cell_by_cell(step, certificate)
        for column, count in step.get("suppressed_cells", {}).items():
            console.print(
                f"  {escape(column)}: {count:,} cell(s) suppressed; they match every value",
                soft_wrap=True,
            )
    for column in certificate["dropped_columns"]:
        direct = "drop" in certificate["recipe"]["columns"].get(column, {}).get("role", "drop")
        why = "its role is direct" if direct else "suppressed as a whole"
        console.print(f"  {escape(column)}: dropped, {why}", soft_wrap=True)
    for step in certificate.get("local", []):
        _show_local(step)
    _show_binding(certificate["verdicts"])
    for step in certificate.get("k_minimal", []):
        _show_minimal(step)
    if "alternatives" in certificate:
        _show_reasons(certificate["alternatives"]["reasons"])


def _show_people(certificate: dict[str, Any]) -> None:
    """What was released of people who are no table: counts, what each step did, and what was
    dropped.
    """
    from sfumato.release.report.person_pages import describe_steps

    console, gone = out(), certificate["suppressed_people"]
    counts = ", ".join(
        f"{count:,} {name.replace('_', ' ')}" for name, count in certificate["counts"].items()
    )
    console.print(
        f"{counts} are shared{'' if gone is None else f'; {gone:,} people were left out'}.",
        soft_wrap=True,
    )
    for step, told in describe_steps(certificate):
        console.print(f"  {escape(step)}{': ' if told else ''}{escape(told)}", soft_wrap=True)
    for column in certificate["dropped_columns"]:
        console.print(f"  {escape(column)}: dropped, its role is direct", soft_wrap=True)


def _show_cell_by_cell(step: dict[str, Any], certificate: dict[str, Any]) -> None:
    """What everybody may know of a local method: which columns it recoded, and what a cell of them
    loses on average.
    """
    from rich.markup import escape

    from sfumato.interfaces.cli.console import out

    losses = {
        card["column"]: card["loss"] for card in certificate.get("story", {}).get("cards", [])
    }
    for column in step["columns"]:
        lost = (
            f"; a cell leaves {percent(losses[column])} of the domain open on average"
            if column in losses
            else ""
        )
        out().print(f"  {escape(column)}: recoded cell by cell{lost}", soft_wrap=True)


def _show_local(step: dict[str, Any]) -> None:
    """What a local method made of the cells, for the owner: columns that lose most first, and the
    groups that do. Counts only.
    """
    from rich.markup import escape

    from sfumato.interfaces.cli.console import out

    cells, whole = step["cells"], sum(one["loss"] for one in step["cells"].values())
    named = f"Cell by cell, by {step['step'].replace('_', ' ')}"
    out().print(
        f"\n[bold]{escape(named)}[/]: {step['regions']:,} groups"
        if "regions" in step
        else f"\n[bold]{escape(named)}[/]"
    )
    for column, one in sorted(cells.items(), key=lambda item: -item[1]["loss"]):
        before, after = step["distinct"].get(column, (None, None))
        kinds = "" if after is None else f"{after:,} different cells from {before:,} values, "
        part = f"; {percent(one['loss'] / whole)} of all that is lost" if whole else ""
        open_ = (
            f"{percent(one['exact'])} exact, {percent(one['nothing'])} say nothing,"
            f" {percent(one['loss'])} of the domain open on average"
        )
        out().print(f"  {escape(column)}: {kinds}{open_}{part}", soft_wrap=True)
    worst = ", ".join(
        f"{one['records']:,} records ({percent(one['loss'])})" for one in step["worst"]
    )
    if worst:
        out().print(f"  groups that lose most of their cells: {worst}", soft_wrap=True)


def _show_binding(verdicts: list[dict[str, Any]]) -> None:
    """Promises that attain exactly what is required, where that can be told from the figures."""
    from rich.markup import escape

    from sfumato.interfaces.cli.console import out

    tight = [
        v
        for v in verdicts
        if v["holds"] and v.get("required") is not None and v["attained"] == v["required"]
    ]
    for verdict in tight:
        out().print(
            f"{escape(verdict['promise'])}: attained is exactly what is required,"
            f" {number(verdict['required'])}",
            soft_wrap=True,
        )


def _show_minimal(step: dict[str, Any]) -> None:
    """All k-minimal nodes that a search met, the least score first: none of them can be finer in
    any column.
    """
    listed = step["k_minimal"]
    out().print(
        f"\n[bold]All {len(listed):,} k-minimal node(s)[/], by"
        f" {escape(step['objective'].replace('_', ' '))}"
    )
    for one in listed:
        levels = ", ".join(f"{column} {level}" for column, level in one["levels"].items())
        gone = one["suppressed_records"]
        out().print(
            f"  {escape(levels)}: {one['score']:.4g}, {gone:,} record(s) suppressed", soft_wrap=True
        )


def _show_reasons(reasons: dict[str, Any]) -> None:
    """Why this node and not its neighbour, and what another budget would buy."""
    words = (
        ("Why this and not another", [reasons["choice"]]),
        ("One level finer or coarser", reasons["neighbours"]),
        ("Another budget, or less risk", reasons["outlook"]),
    )
    for heading, sentences in words:
        if sentences:
            out().print(f"\n[bold]{heading}[/]")
        for sentence in sentences:
            out().print(f"  {escape(sentence)}", soft_wrap=True)


def _told(level: int, top: int) -> str:
    if level == 0:
        return "exact" if top else "exact; it has no hierarchy"
    return "nothing is left of it" if level == top else f"level {level} of {top}"
