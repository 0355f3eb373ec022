"""YAML as recipes use it: names stay as they are written, and what is written is read back the
same.
"""

from __future__ import annotations

import io
import re
import time
from typing import Any

from sfumato.errors import RecipeError

WORDS = re.compile(r"[^\W\d](?:[\w ./-]*[\w./-])?")
"""Text that YAML reads as itself without quotes."""
MAX_NODES = 2_000_000
"""Values in a document, aliases followed."""
MAX_DEPTH = 100
"""Brackets within brackets: a recipe needs ten, and reading takes longer with every one."""
MAX_MERGED = 20_000
"""Entries of one mapping that others were merged into."""


class _Unbounded(Exception):
    """A text that would take too long to be read, or too much room; says why, after the name of the
    text.
    """


def read_yaml(text: str, name: str, *, seconds: float | None = None) -> Any:
    """Plain data from YAML text; what is not YAML, or grows without end, is a :class:`RecipeError`
    that names the line.

    ``seconds`` is how long the thread may compute; a text that takes longer is refused.

    >>> read_yaml("{no: [007, 7, 0.5, true]}", "the text")
    {'no': ['007', 7, 0.5, True]}
    """
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    try:
        if seconds is None:
            deadline = None
        else:
            deadline = time.thread_time() + seconds
        document = _reader(deadline).load(text)
        size = _size(document, {})
    except MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        problem = str(error.problem).split(" with value ")[0]  # the value may be anyone's
        raise RecipeError(f"{name}, line {line}: this is not valid YAML ({problem})") from None
    except _Unbounded as error:
        raise RecipeError(f"{name} {error}") from None
    except (YAMLError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        raise RecipeError(f"{name} is not valid YAML") from None
    if size > MAX_NODES:
        raise RecipeError(
            f"{name} expands through aliases until it is too large; write it without aliases"
        )
    return document


def _reader(until: float | None = None) -> Any:
    """A reader for which keys are text, and so are whole numbers with leading zeros; it stops at
    what is too deep, too large or too late.
    """
    from ruamel.yaml import YAML
    from ruamel.yaml.constructor import SafeConstructor
    from ruamel.yaml.nodes import ScalarNode
    from ruamel.yaml.scanner import Scanner

    class Bounded(Scanner):
        def fetch_more_tokens(self) -> Any:
            if self.flow_level > MAX_DEPTH:
                raise _Unbounded(
                    f"has brackets nested more than {MAX_DEPTH} deep and cannot be a recipe"
                )
            if until is not None and time.thread_time() > until:
                raise _Unbounded(
                    "is too long to be read here; save it as a file and open it with sfumato"
                    " serve -r"
                )
            return super().fetch_more_tokens()

    class AsWritten(SafeConstructor):
        def construct_mapping(self, node: Any, deep: bool = False) -> Any:
            self.flatten_mapping(node)
            for key, _ in node.value:
                if isinstance(key, ScalarNode):
                    # Otherwise keys such as no, on or 7 would become truth values and numbers.
                    key.tag = "tag:yaml.org,2002:str"
            return super().construct_mapping(node, deep)

        def flatten_mapping(self, node: Any) -> Any:
            merged = super().flatten_mapping(node)
            if len(node.value) > MAX_MERGED:
                raise _Unbounded(
                    "expands through aliases until it is too large; write it without aliases"
                )
            return merged

        def construct_yaml_int(self, node: object) -> Any:
            digits = self.construct_scalar(node)
            # A code such as 007 would lose its zeros as a number.
            padded = len(digits) > 1 and digits[0] == "0" and digits.isdecimal()
            if padded:
                return digits
            return super().construct_yaml_int(node)

    AsWritten.add_constructor("tag:yaml.org,2002:int", AsWritten.construct_yaml_int)
    yaml = YAML(typ="safe", pure=True)
    yaml.Constructor, yaml.Scanner = AsWritten, Bounded
    return yaml


def _size(node: object, sizes: dict[int, int]) -> int:
    """Values in a document when its aliases are followed; what contains itself is endless."""
    if not isinstance(node, list | dict):
        return 1
    if id(node) not in sizes:
        # While its parts are counted a node counts as too large: so one that contains itself is
        # noticed.
        sizes[id(node)] = MAX_NODES
        parts = list(node.values()) if isinstance(node, dict) else node
        sizes[id(node)] = 1 + sum(_size(part, sizes) for part in parts)
    return sizes[id(node)]


UNFOLDED = 1 << 20
"""A width of lines that nothing reaches."""


def _has_key_with_blank(document: object) -> bool:
    """Whether some mapping of a document has a key of several words."""
    if isinstance(document, dict):
        return any(" " in str(key) or _has_key_with_blank(below) for key, below in document.items())
    return isinstance(document, list) and any(map(_has_key_with_blank, document))


def write_yaml(document: object) -> str:
    """Plain data as YAML text.

    >>> print(write_yaml({"a": {"no": ["x", "*", "007"]}}), end="")
    a:
      no: [x, "*", "007"]
    """
    from ruamel.yaml import YAML

    yaml = YAML()
    yaml.default_flow_style = None
    # A key with a blank must not be folded: YAML reads no key that goes over two lines.
    yaml.width = UNFOLDED if _has_key_with_blank(document) else 120
    buffer = io.StringIO()
    yaml.dump(_quoted(document), buffer)
    return buffer.getvalue()


def _quoted(value: object) -> Any:
    """The same data with all text but plain words in double quotes, which nothing in YAML reads
    otherwise.
    """
    from ruamel.yaml.comments import CommentedSeq
    from ruamel.yaml.scalarstring import DoubleQuotedScalarString

    if isinstance(value, dict):
        return {_quoted(key): _quoted(below) for key, below in value.items()}
    if isinstance(value, list):
        parts = CommentedSeq(_quoted(part) for part in value)
        if not any(isinstance(part, list | dict) for part in value):
            parts.fa.set_flow_style()
        return parts
    if isinstance(value, str) and not WORDS.fullmatch(value):
        return DoubleQuotedScalarString(value)
    return value
