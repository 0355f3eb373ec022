"""How a page is made: a template filled with facts, in a single file that needs no network and no
script.
"""

from __future__ import annotations

import contextlib
import functools
import io
import json
import pickle
import re
from collections.abc import Mapping
from importlib import metadata
from typing import TYPE_CHECKING, Any

from sfumato.core.progress import compiled_folder
from sfumato.core.words import as_sentence, moment, number, percent, score
from sfumato.errors import printable
from sfumato.release.report import wording
from sfumato.release.report.attacks import beyond_what
from sfumato.release.report.measures import plain_words, title_of

if TYPE_CHECKING:
    from jinja2 import BytecodeCache, Environment

LARGER = 1.15
"""How much wider than it was drawn a picture may become on a page."""


# The contents of a page: every section gets an anchor, and a list of them stands where the template
# asks for it.

PLACE = "<!-- contents -->"
"""What people wrote is escaped before it reaches a page, so only a template can hold this."""
_SECTION = re.compile(r"<section>\s*<h2>(.*?)</h2>")
FEWEST = 4


def with_contents(page: str) -> str:
    """The page with anchors, and with its contents where there are enough sections to need them.

    They follow from the page itself, so no section is forgotten and none is listed that is not
    there.

    >>> with_contents("<section><h2>One</h2></section>")
    '<section id="part-1"><h2>One</h2></section>'
    """
    titles = _SECTION.findall(page)
    places = iter(range(1, len(titles) + 1))
    anchored = _SECTION.sub(
        lambda section: f'<section id="part-{next(places)}">{section[0][len("<section>") :]}', page
    )
    return anchored.replace(PLACE, _listed(titles) if len(titles) >= FEWEST else "", 1)


def _listed(titles: list[str]) -> str:
    entries = "".join(
        f'<li><a href="#part-{i}">{title}</a></li>' for i, title in enumerate(titles, 1)
    )
    return f'<nav class="contents" aria-label="On this page"><ul>{entries}</ul></nav>'


def as_shown(document: Mapping[str, Any]) -> dict[str, Any]:
    """The document as its file would hold it, so that a page can be made again from the file alone;
    control signs spelled out.
    """
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
    """Templates as they were compiled before: compiling them takes longer than drawing both pages
    of a small table.

    What another template, another version of jinja2 or another syntax gave, or a file that is cut
    off, is compiled again; where nothing can be written, every time.
    """
    import jinja2

    version = metadata.version("jinja2")

    class Compiled(jinja2.FileSystemBytecodeCache):
        def get_bucket(
            self, environment: Environment, name: str, filename: str | None, source: str
        ) -> Any:
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
        "number": number,
        "percent": percent,
        "score": score,
        "moment": moment,
        "roles": wording.role_names,
        "sentence": as_sentence,
        "title_of": title_of,
        "level": wording.level_words,
        "inline": _inline,
        "plain_words": plain_words,
        "beyond_what": beyond_what,
    }
    return environment


def _inline(svg: str) -> str:
    """An SVG as part of a page: HTML needs no namespace, and the page's ``role="img"`` speaks for
    the whole.

    It is never drawn much larger than it was meant: a map of two columns stays small.
    """
    from markupsafe import Markup

    start = svg.index(">")
    opening = re.sub(r' (xmlns|role|aria-label)="[^"]*"', "", svg[:start])
    width = re.search(r' width="([\d.]+)"', opening)
    natural = f' style="--natural: {round(float(width[1]) * LARGER)}px"' if width else ""
    # A drawing escapes every text it writes; tests hold hostile column names against it.
    return Markup(opening + natural + ' aria-hidden="true" focusable="false"' + svg[start:])  # noqa: S704
