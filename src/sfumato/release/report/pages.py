"""The two pages of a release: one to share, one to keep. Each is a single file that needs no network and no script."""

from __future__ import annotations

import contextlib
import functools
import io
import json
import pickle
import re
from collections.abc import Mapping, Sequence
from importlib import metadata
from typing import TYPE_CHECKING, Any

from sfumato.core.progress import compiled_folder
from sfumato.errors import printable
from sfumato.release.report import wording
from sfumato.release.report.attacks import MOST_AT_ONCE, beyond_what, conclusion, ranked, strongest, unknown
from sfumato.release.report.gallery import cards_of, owner_pictures, public_pictures, risks_of, story_in
from sfumato.release.report.headline import headline
from sfumato.release.report.measures import best_of, first_and_more, meaning_of, plain_words, risk_line, title_of

if TYPE_CHECKING:
    from jinja2 import BytecodeCache, Environment


# The contents of a page: every section gets an anchor, and a list of them stands where the template asks for it.

PLACE = "<!-- contents -->"
"""What people wrote is escaped before it reaches a page, so only a template can hold this."""
_SECTION = re.compile(r"<section>\s*<h2>(.*?)</h2>")
FEWEST = 4


def with_contents(page: str) -> str:
    """The page with anchors, and with its contents where there are enough sections to need them.

    They follow from the page itself, so no section is forgotten and none is listed that is not there.

    >>> with_contents("<section><h2>One</h2></section>")
    '<section id="part-1"><h2>One</h2></section>'
    """
    titles = _SECTION.findall(page)
    places = iter(range(1, len(titles) + 1))
    anchored = _SECTION.sub(lambda section: f'<section id="part-{next(places)}">{section[0][len("<section>") :]}', page)
    return anchored.replace(PLACE, _listed(titles) if len(titles) >= FEWEST else "", 1)


def _listed(titles: list[str]) -> str:
    entries = "".join(f'<li><a href="#part-{i}">{title}</a></li>' for i, title in enumerate(titles, 1))
    return f'<nav class="contents" aria-label="On this page"><ul>{entries}</ul></nav>'


# Where numbers of a release may surprise people who know another tool.

WILDCARD = (
    "Missing values match everything here, as in sdcMicro; ARX counts them as a value of their own, "
    "and finds other class sizes."
)
BY_MODEL = {
    "l_diversity": "Entropy l-diversity compares e^H with l with a tolerance of 1e-9; ARX, without one, rejects some classes that meet it with equality.",
    "delta_disclosure": "A value that is absent from a class breaks δ-disclosure here unless the recipe says absent: skip; ARX and pycanon skip it, and ARX takes logarithms to base 2.",
    "t_closeness": "The reference distribution is that of the original table; tools that take the released one "
    "report smaller distances after suppression.",
    "population_uniqueness": "The slide negative binomial estimate follows the derivation, not the equations of ARX.",
    "beta_likeness": "β-likeness takes the largest gain over all values, as in the paper; pycanon takes, for enhanced β, the largest gain of any value with the limit of any other.",
}
BY_STEP = {
    "global_recoding": "Loss counts every leaf of a hierarchy, whether it occurs or not, and suppressed records at the top, like ARX.",
    "suppression": "Cells to suppress are chosen greedily over all records, and proved least with method exact; sdcMicro goes key by key and usually suppresses more.",
    "add_noise": "alpha is a share of the variance; sdcMicro's noise is 100·√alpha for additive, and 100·alpha for correlated and restr.",
    "microaggregate": "Groups are formed on z-scores and ties are broken by the content of the rows, so row order does not matter.",
    "pram": "The diagonal is what the recipe says; sdcMicro draws it at random.",
    "rank_swap": "p is a share of the records; sdcMicro groups 5 % at both ends first.",
}
ATTACKED = (
    "Attacks compare with what guessing, or the same release without the person's own record, would reach; "
    "rates of other tools are often without that control."
)


def differences_of(certificate: Mapping[str, Any]) -> list[str]:
    """The sentences that concern this release."""
    differences = []
    if "wildcard" in certificate.get("missing_rule", {}).values():
        differences.append(WILDCARD)
    for section, said_of in (("meet", BY_MODEL), ("steps", BY_STEP)):
        for spec in certificate["recipe"].get(section, []):
            name = spec if isinstance(spec, str) else next(iter(spec), "")
            if name in said_of and said_of[name] not in differences:
                differences.append(said_of[name])
    return [*differences, ATTACKED] if certificate.get("attacks") else differences


MOST_CONTRIBUTIONS = 12
MOST_TRADE_OFFS = 10
LARGER = 1.15
KEY_FIGURES = (
    ("records", "records"),
    ("persons", "persons"),
    ("classes", "classes"),
    ("smallest class", "smallest_class"),
    ("unique records", "unique_records"),
)


def public_page(certificate: Mapping[str, Any]) -> str:
    """The report that goes with the released file: what its certificate says, for people."""
    plain = as_shown(certificate)
    entries = [
        (name, (title_of(name), value, best_of(name), meaning_of(name)))
        for name, value in plain.get("utility", {}).items()
    ]
    told_columns, as_they_are = wording.set_apart(wording.column_stories(plain), _is_plain)
    return rendered(
        "public.html",
        **_shared(plain),
        pictures=public_pictures(plain),
        columns=[(story, _losses(plain).get(story.name)) for story in told_columns],
        as_they_are=[story.name for story in as_they_are],
        with_loss=bool(_losses(plain)),
        steps=wording.steps_taken(plain),
        risks=[(wording.risk_name(name), value, risk_line(name)) for name, value in plain["classes"]["risks"].items()],
        signature=plain.get("signature"),
        utility=first_and_more(entries),
        preserved=[kept for step in plain["plan"] for kept in step.get("preserved", [])],
    )


def owner_page(record: Mapping[str, Any]) -> str:
    """The report that stays with the owner: before and after, what gave people away, how the result was found."""
    plain = as_shown(record)
    before, after = plain["before"], plain["after"]
    was = risks_of(before)
    contributions = list(before["contributions"].items())
    told_columns, as_they_are = wording.set_apart(plain["columns"], _was_plain)
    return rendered(
        "owner.html",
        **_shared(plain["certificate"]),
        pictures=owner_pictures(plain),
        record=plain,
        figures=[(term, before[key], after[key]) for term, key in KEY_FIGURES if before[key] is not None],
        risks=[
            (wording.risk_name(m["name"]), was.get(m["name"], 0), m["value"], m["meaning"]) for m in after["measures"]
        ],
        columns=told_columns,
        as_they_are=as_they_are,
        contributions=_with_widths(contributions[:MOST_CONTRIBUTIONS]),
        more_contributions=max(0, len(contributions) - MOST_CONTRIBUTIONS),
        exposures=[("before", before["exposing_sets"]), ("after", after["exposing_sets"])],
        efforts=wording.steps_taken({"plan": plain["effort"]}),
        scores=wording.facts(plain["scores"]),
        **_choice(plain.get("alternatives")),
        **_told(plain),
    )


def _is_plain(story: wording.ColumnStory) -> bool:
    return story.roles == wording.ROLES["plain"] and story.happened == wording.AS_IT_IS


def _was_plain(change: Mapping[str, Any]) -> bool:
    return list(change["roles"]) == ["plain"] and change["action"] == wording.AS_IT_IS


def _told(record: Mapping[str, Any]) -> dict[str, Any]:
    """The owner's sections about columns, utility and what masking kept."""
    changes = {change["name"]: change for change in record["columns"]}
    story = story_in(record)
    measures = record.get("utility", {}).get("measures", [])
    drawn = [(card, picture, changes.get(card["column"])) for card, picture in cards_of(record)]
    return {
        "cards": wording.set_apart(drawn, lambda one: one[2] is not None and _was_plain(one[2])),
        "undrawn": len(story["suppressed_cells"]) - len(story["cards"]),
        "sampled": story.get("sampled", False),
        "worth": first_and_more((m["name"], (title_of(m["name"]), m)) for m in measures),
        "preserved": record.get("preserved", []),
        "warnings": record.get("warnings", []),
    }


def _losses(certificate: Mapping[str, Any]) -> dict[str, float]:
    """Loss by column, where a certificate tells it."""
    return {card["column"]: card["loss"] for card in story_in(certificate)["cards"]}


def _choice(alternatives: Mapping[str, Any] | None) -> dict[str, Any]:
    """The section about other nodes: nothing where no step chose from a lattice."""
    if alternatives is None:
        return {"alternatives": None}
    return {
        "alternatives": alternatives,
        "objective": wording.humanised(alternatives["objective"]),
        "trade_off": [(_moves(one, alternatives), one) for one in _spread(alternatives["trade_off"], MOST_TRADE_OFFS)],
    }


def _moves(option: Mapping[str, Any], alternatives: Mapping[str, Any]) -> list[tuple[str, int, int]]:
    """The columns whose level differs from that of the chosen node: its level there, and here."""
    chosen = alternatives["chosen"]["levels"]
    return [(column, chosen[column], level) for column, level in option["levels"].items() if level != chosen[column]]


def _spread(options: Sequence[Any], most: int) -> list[Any]:
    """At most so many of a list, evenly spread, the first and the last among them."""
    if len(options) <= most:
        return list(options)
    return [options[round(i * (len(options) - 1) / (most - 1))] for i in range(most)]


def _shared(certificate: Mapping[str, Any]) -> dict[str, Any]:
    """What both pages tell."""
    recipe, attacks = as_yaml(certificate["recipe"]), certificate.get("attacks")
    return {
        "attacks": attacks,
        "findings": (ranked(attacks)[:MOST_AT_ONCE], ranked(attacks)[MOST_AT_ONCE:]) if attacks else ([], []),
        "strongest": strongest(attacks),
        "unknown_attacks": unknown(attacks),
        "attacks_conclusion": conclusion(attacks) if attacks else "",
        "differences": differences_of(certificate),
        "certificate": certificate,
        "headline": headline(certificate),
        "formulas": wording.formulas(certificate["data"]),
        "implied": wording.implied(certificate.get("implied")),
        "missing": wording.missing_rules(certificate),
        "reading": wording.reading(certificate),
        "recipe": recipe,
        "recipe_lines": len(recipe.splitlines()),
    }


def _with_widths(contributions: Sequence[tuple[str, float]]) -> list[tuple[str, float, float]]:
    """Contributions with the length of their bar in percent of the largest."""
    largest = max((share for _, share in contributions), default=0) or 1
    return [(column, share, round(100 * share / largest, 1)) for column, share in contributions]


def as_shown(document: Mapping[str, Any]) -> dict[str, Any]:
    """The document as its file would hold it, so that a page can be made again from the file alone; control signs spelled out."""
    plain: dict[str, Any] = json.loads(json.dumps(document), object_pairs_hook=_spelled_out)
    return plain


def _spelled_out(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    return {printable(name): _spelled(value) for name, value in pairs}


def _spelled(value: Any) -> Any:
    if isinstance(value, list):
        return [_spelled(one) for one in value]
    return printable(value) if isinstance(value, str) else value


def as_yaml(document: Mapping[str, Any]) -> str:
    """A recipe as people write it."""
    return _yaml_of(json.dumps(document))


@functools.lru_cache(maxsize=8)
def _yaml_of(document: str) -> str:
    """The same of JSON: both pages of a release show one recipe."""
    from ruamel.yaml import YAML

    yaml = YAML()
    yaml.default_flow_style = None
    yaml.width = 88
    buffer = io.StringIO()
    yaml.dump(json.loads(document), buffer)
    return buffer.getvalue()


def rendered(template: str, **facts: Any) -> str:
    """A page made from a template."""
    return with_contents(_environment().get_template(template).render(**facts))


def _compiled() -> BytecodeCache:
    """Templates as they were compiled before: compiling them takes longer than drawing both pages of a small table.

    What another template, another version of jinja2 or another syntax gave, or a file that is cut off, is compiled again; where
    nothing can be written, every time.
    """
    import jinja2

    version = metadata.version("jinja2")

    class Compiled(jinja2.FileSystemBytecodeCache):
        def get_bucket(self, environment: Environment, name: str, filename: str | None, source: str) -> Any:
            syntax = (environment.autoescape, environment.trim_blocks, environment.lstrip_blocks)
            return super().get_bucket(environment, name, filename, f"{version} {syntax} {source}")

        def load_bytecode(self, bucket: Any) -> None:
            with contextlib.suppress(OSError, EOFError, pickle.UnpicklingError):
                super().load_bytecode(bucket)

        def dump_bytecode(self, bucket: Any) -> None:
            with contextlib.suppress(OSError):
                super().dump_bytecode(bucket)

    return Compiled(str(compiled_folder()), "page-%s.cache")


@functools.lru_cache(maxsize=1)
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("sfumato.release.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        bytecode_cache=_compiled(),
    )
    environment.filters |= {
        "number": wording.number,
        "percent": wording.percent,
        "score": wording.score,
        "moment": wording.moment,
        "roles": wording.role_names,
        "sentence": wording.sentence,
        "title_of": title_of,
        "level": wording.level_words,
        "inline": _inline,
        "plain_words": plain_words,
        "beyond_what": beyond_what,
    }
    return environment


def _inline(svg: str) -> str:
    """An SVG as part of a page: HTML needs no namespace, and the page's ``role="img"`` speaks for the whole.

    It is never drawn much larger than it was meant: a map of two columns stays small.
    """
    from markupsafe import Markup

    start = svg.index(">")
    opening = re.sub(r' (xmlns|role|aria-label)="[^"]*"', "", svg[:start])
    width = re.search(r' width="([\d.]+)"', opening)
    natural = f' style="--natural: {round(float(width[1]) * LARGER)}px"' if width else ""
    # A drawing escapes every text it writes; tests hold hostile column names against it.
    return Markup(opening + natural + ' aria-hidden="true" focusable="false"' + svg[start:])  # noqa: S704
