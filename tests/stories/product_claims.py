"""Walk the product for everything it affirms of a release: nothing that is said to a user can be
forgotten here.

Promises and accounted steps are found in the registry, claims of ``verify`` by their constructor,
optimality and sentences by their words. Sentences are read from the syntax tree of a module and
from the templates of pages, with ``{}`` for what is filled in.
"""

from __future__ import annotations

import ast
import gc
import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, TypeGuard

from sfumato.core.registry import family
from sfumato.core.shape import Shape
from sfumato.core.step import Effect

SOURCE = Path(__file__).parents[2] / "src" / "sfumato"
AFFIRMING = re.compile(
    r"\b(holds?|proved|proven|certified|certifies|verified|vouch\w*|guarantee\w*|at most|optimal|is"
    r" kept|the least|the best of)\b",
    re.IGNORECASE,
)
NEGATIVE_STATUSES = ("fails", "needs original")
CLAIM_MAKERS = ("Claim", "_claim")
OPTIMAL_WORDS = ("proved_optimal", "optimal", "lower_bound", "exact")
HELP_ARGUMENTS = ("description", "help", "short_help", "epilog")


class Found(NamedTuple):
    """Something the product affirms: its kind, where it is said, and what it is called or says."""

    kind: str
    place: str
    text: str

    def __str__(self) -> str:
        return f"{self.kind} of {self.place}: {self.text!r}"


def find_promises(members: Mapping[Shape, Iterable[str]] | None = None) -> set[Found]:
    """Every model of every shape of data."""
    if members is None:
        members = {shape: tuple(family("models", shape)) for shape in Shape}
    return {
        Found("promise", str(shape), name) for shape, names in members.items() for name in names
    }


def find_accounted_steps() -> set[Found]:
    """Every step that certifies an ε."""
    steps = set()
    for shape in Shape:
        for name, cls in family("steps", shape).items():
            if cls.accounting.effect is Effect.ACCOUNTED:
                steps.add(Found("accounted step", str(shape), name))
    return steps


@cache
def parsed_modules() -> Mapping[str, ast.Module]:
    """Dotted name below the package → syntax tree, of the modules that can claim something."""
    trees = {}
    gc.disable()  # millions of nodes that all stay: looking for garbage among them doubles the time
    try:
        for file in sorted(SOURCE.rglob("*.py")):
            text = file.read_text(encoding="utf-8")
            if AFFIRMING.search(text) or any(word in text for word in ("Claim(", *OPTIMAL_WORDS)):
                name = ".".join(file.relative_to(SOURCE).with_suffix("").parts)
                trees[name] = ast.parse(text)
    finally:
        gc.enable()
    return trees


def written_text(node: ast.AST, names: Mapping[str, str] = MappingProxyType({})) -> str | None:
    """The text of a literal, with ``{}`` for what is filled in and is no constant."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(_filled_in(part, names) for part in node.values)
    return None


def _filled_in(part: ast.expr, names: Mapping[str, str]) -> str:
    if isinstance(part, ast.Constant):
        return str(part.value)
    if isinstance(part, ast.FormattedValue) and isinstance(part.value, ast.Name):
        return names.get(part.value.id, "{}")
    return "{}"


# Claims of verify: calls of the constructor whose status may be "holds".


def find_claims_of_verify() -> set[Found]:
    """Every claim that some road of ``verify`` can find to hold, by its name."""
    constants: dict[str, str] = {}
    for tree in parsed_modules().values():
        texts = _assigned_texts(tree.body, {})
        constants |= {
            name: text for name, text in texts.items() if name.isupper()
        }  # others mean something in their module only
    claims = set()
    for module, tree in parsed_modules().items():
        if any(_is_claim(node) for node in ast.walk(tree)):
            claims |= claims_of_module(module, tree, constants)
    return claims


def claims_of_module(module: str, tree: ast.Module, constants: Mapping[str, str]) -> set[Found]:
    """The claims that one module makes; a name that is known at run time only is told by the
    function that makes the claim.
    """
    claims = set()
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef) or function.name in CLAIM_MAKERS:
            continue  # a shorthand of the constructor: who calls it makes the claim
        names = _assigned_texts(ast.walk(function), constants)
        for call in ast.walk(function):
            if _is_claim(call) and _may_hold(call):
                name = _claim_name(call.args[0], names)
                claims.add(Found("claim of verify", module, name or f"by {function.name}"))
    return claims


def _is_claim(node: ast.AST) -> TypeGuard[ast.Call]:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in CLAIM_MAKERS
    )


def _may_hold(call: ast.Call) -> bool:
    if len(call.args) < 2:
        return False
    status = call.args[1]
    return not (isinstance(status, ast.Constant) and status.value in NEGATIVE_STATUSES)


def _claim_name(node: ast.expr, names: Mapping[str, str]) -> str | None:
    if isinstance(node, ast.Name):
        return names.get(node.id)
    return written_text(node, names)


def _assigned_texts(statements: Iterable[ast.AST], known: Mapping[str, str]) -> dict[str, str]:
    """Names to which a text is assigned, alone or in a tuple, besides those that are known."""
    texts = dict(known)
    for statement in statements:
        if not isinstance(statement, ast.Assign):
            continue
        target, value = statement.targets[0], statement.value
        pairs = [(target, value)]
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            pairs = list(
                zip(target.elts, value.elts, strict=False)
            )  # a, *b = ...: the rest is no text
        for name, expression in pairs:
            text = written_text(expression, texts)
            if isinstance(name, ast.Name) and text is not None:
                texts[name.id] = text
    return texts


# Optimality: figures of plans and names of methods that say that nothing is better.


def find_optimality() -> set[Found]:
    """Every figure of a plan, and every name of a method, that says that nothing is better."""
    found = set()
    for module, tree in parsed_modules().items():
        for node in ast.walk(tree):
            words: list[ast.expr | None] = []
            if isinstance(node, ast.Dict):
                words = node.keys
            elif isinstance(node, ast.Subscript) and ast.unparse(node.value) == "Literal":
                words = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            for word in words:
                if isinstance(word, ast.Constant) and word.value in OPTIMAL_WORDS:
                    found.add(Found("optimality", module, str(word.value)))
    return found


# Sentences: literals with one of the affirming words.


def find_sentences() -> set[Found]:
    """Every sentence with an affirming word, in modules and in templates of pages."""
    sentences = set()
    for module, tree in parsed_modules().items():
        sentences |= sentences_of_module(module, tree)
    for file in sorted(SOURCE.rglob("*.html")):
        sentences |= sentences_of_template(file.stem, file.read_text(encoding="utf-8"))
    return sentences


def sentences_of_module(module: str, tree: ast.Module) -> set[Found]:
    """Sentences that a module can say; documentation, refusals, help and words it only compares
    with are none.
    """
    silent = _silent_nodes(tree)
    sentences = set()
    for node in ast.walk(tree):
        text = None if id(node) in silent else written_text(node)
        if text and AFFIRMING.search(text):
            sentences.add(Found("sentence", module, " ".join(text.split())))
    return sentences


def sentences_of_template(name: str, text: str) -> set[Found]:
    """Sentences of a template, line by line, without tags and comments; what is filled in stands as
    ``{}``.
    """
    plain = re.sub(
        r"<style.*?</style>|<script.*?</script>|\{#.*?#\}|\{%.*?%\}", " ", text, flags=re.DOTALL
    )
    plain = re.sub(r"\{\{.*?\}\}", "{}", plain, flags=re.DOTALL)
    plain = re.sub(r"<[^>]*>", "\n", plain)
    lines = (" ".join(line.split()) for line in plain.split("\n"))
    return {Found("sentence", f"template {name}", line) for line in lines if AFFIRMING.search(line)}


def _silent_nodes(tree: ast.Module) -> set[int]:
    """Literals that say nothing of a release: see ``_says_nothing``; and the parts of a text that
    is put together.
    """
    silent: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            silent.update(id(part) for part in node.values)
        for part in _says_nothing(node):
            silent.update(id(inner) for inner in ast.walk(part))
    return silent


def _says_nothing(node: ast.AST) -> list[Any]:
    """Documentation, what is raised, help of options, keys, and words in comparisons and types."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return [node.value]
    if isinstance(node, ast.Raise):
        return [node]
    if isinstance(node, ast.keyword) and node.arg in HELP_ARGUMENTS:
        return [node.value]
    if isinstance(node, ast.Dict):
        return [key for key in node.keys if key is not None]
    if isinstance(node, ast.Compare):
        return [node]
    if _is_claim(node):
        return node.args[:2]  # name and status: see ``find_claims_of_verify``
    if isinstance(node, ast.Subscript):
        return [node.slice]
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("get", "pop", "count")
    ):
        return node.args[:1]
    return []


def find_all() -> set[Found]:
    """Everything the product affirms."""
    return (
        find_promises()
        | find_accounted_steps()
        | find_claims_of_verify()
        | find_optimality()
        | find_sentences()
    )
