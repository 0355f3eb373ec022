"""Gauges of how the source reads, from its tokens and syntax trees: what ``tools/house.py`` stores
and holds on to.

A gauge is a number of which less is better, but for ``comments per 100`` and
``mirrored modules %``. Names are those of functions, parameters and assigned variables.
"""

from __future__ import annotations

import ast
import collections
import inspect
import io
import os
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FrameType

MORE_IS_BETTER = {"comments per 100", "mirrored modules %"}
NO_TARGET = {"code lines", "tokens"}
"""Reported, and not held on to: features add lines."""
MOST_PARAMETERS = 7
LONGEST_LINE = 100
PARTICIPLES = {
    "asked",
    "called",
    "chosen",
    "counted",
    "described",
    "done",
    "drawn",
    "found",
    "given",
    "held",
    "judged",
    "kept",
    "known",
    "lacking",
    "learnt",
    "left",
    "looked",
    "made",
    "meant",
    "measured",
    "moved",
    "named",
    "planned",
    "put",
    "said",
    "seen",
    "shown",
    "taken",
    "told",
    "tried",
    "wanted",
    "written",
}
VAGUE = PARTICIPLES | {
    "again",
    "all",
    "both",
    "each",
    "few",
    "here",
    "least",
    "less",
    "many",
    "mine",
    "more",
    "most",
    "much",
    "one",
    "ones",
    "other",
    "others",
    "ours",
    "place",
    "places",
    "rest",
    "same",
    "several",
    "some",
    "such",
    "theirs",
    "there",
    "thing",
    "things",
    "what",
    "who",
    "whom",
}
SHAPED_CLASSES = {
    "Baskets",
    "Data",
    "Table",
    "Disassociated",
    "Graph",
    "LargeRelease",
    "LazyTable",
    "Paths",
    "RelatedTables",
    "Relations",
    "Shaped",
    "ShapedRecipe",
    "ShapedRelease",
    "TableRelease",
    "Tables",
    "Trajectories",
}
SHAPED_PACKAGES = {"baskets", "paths", "graphs", "relations", "relational", "engines", "lazy"}
NO_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}
DIRECTIVES = ("noqa", "type: ignore", "pragma:")
FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef
COMPREHENSIONS = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
SIMPLE = ast.Return | ast.Assign | ast.AnnAssign | ast.AugAssign | ast.Expr
Counts = collections.Counter[str]


def is_text(node: ast.AST) -> bool:
    """Whether a statement is a bare text: a docstring, or one below a field."""
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def docstring_lines(tree: ast.Module) -> set[int]:
    """The lines of all docstrings."""
    lines: set[int] = set()
    for node in ast.walk(tree):
        body = getattr(node, "body", [])
        for child in body if isinstance(body, list) else []:
            if is_text(child):
                lines.update(range(child.lineno, (child.end_lineno or child.lineno) + 1))
    return lines


def count_tokens(source: str, documented: set[int]) -> Counts:
    """Code lines, tokens, comments for readers, and lines that are too long."""
    counts: Counts = collections.Counter()
    code: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            counts["comments"] += not any(word in token.string for word in DIRECTIVES)
        if token.type not in NO_CODE and token.start[0] not in documented:
            code.update(range(token.start[0], token.end[0] + 1))
            counts["tokens"] += 1
    code -= documented
    lines = source.splitlines()
    counts["code"] = len(code)
    counts["long lines"] = sum(
        len(lines[number - 1]) > LONGEST_LINE for number in code if number <= len(lines)
    )
    return counts


def defined_names(node: ast.AST) -> Iterator[str]:
    """The name that a node gives to a function, a parameter or a variable."""
    if isinstance(node, FUNCTIONS):
        yield node.name.lstrip("_")
    elif isinstance(node, ast.arg):
        yield node.arg
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        yield node.id


def asks_for_shape(node: ast.AST) -> bool:
    """Whether a node asks which shape of data something is: by its class, by a question of ours, or
    by a member of ``Shape``, in a comparison or as a key of a dictionary.
    """
    if isinstance(node, ast.Dict):
        return any(key is not None and _names_a_shape(key) for key in node.keys)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        if node.func.id == "isinstance" and len(node.args) == 2:
            return any(
                isinstance(part, ast.Name) and part.id in SHAPED_CLASSES
                for part in ast.walk(node.args[1])
            )
        return node.func.id in {"is_shaped", "is_lazy"}
    if isinstance(node, ast.Compare):
        return any(_names_a_shape(part) for part in (node.left, *node.comparators))
    return isinstance(node, ast.match_case) and _names_a_shape(node.pattern)


def _names_a_shape(tree: ast.AST) -> bool:
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.value.id == "Shape"
        ):
            return True
    return False


def count_nodes(tree: ast.Module, *, shaped: bool) -> Counts:
    """Names, conditional expressions, comprehensions, long signatures, ``Any``, forks by shape,
    glued modules.
    """
    counts: Counts = collections.Counter()
    blocks = [
        node
        for node in tree.body
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
    ]
    counts["glued"] = len(blocks) > 1
    for node in ast.walk(tree):
        for name in defined_names(node):
            counts["names"] += 1
            counts["participles"] += name in PARTICIPLES
            counts["vague"] += name in VAGUE
        if isinstance(node, FUNCTIONS):
            counts["long signatures"] += (
                len(node.args.args) + len(node.args.kwonlyargs) > MOST_PARAMETERS
            )
        counts["any"] += isinstance(node, ast.Name) and node.id == "Any"
        counts["conditional"] += isinstance(node, ast.IfExp)
        counts["comprehensions"] += isinstance(node, COMPREHENSIONS)
        counts["forks"] += not shaped and asks_for_shape(node)
    return counts


def statement_sizes(tree: ast.Module) -> list[int]:
    """The syntax nodes of every simple statement; constants that stand alone are none."""
    sizes = []
    for node in ast.walk(tree):
        alone = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if isinstance(node, SIMPLE) and not alone:
            sizes.append(sum(1 for _ in ast.walk(node)))
    return sizes


def mirrored_share(package: Path, tests: Path) -> float:
    """The percentage of modules with a test of the same name in the same folder of the tests."""
    modules = [path for path in package.rglob("*.py") if not path.name.startswith("__")]
    mirrored = [
        path
        for path in modules
        if (tests / path.parent.relative_to(package) / f"test_{path.name}").exists()
    ]
    return round(100 * len(mirrored) / max(1, len(modules)), 1)


def gauges(package: Path, tests: Path) -> dict[str, float]:
    """The gauges of a package by name."""
    counts: Counts = collections.Counter()
    sizes: list[int] = []
    for path in sorted(package.rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        tree = ast.parse(source)
        counts += count_tokens(source, docstring_lines(tree))
        counts += count_nodes(
            tree, shaped=bool(SHAPED_PACKAGES & set(path.relative_to(package).parts))
        )
        sizes += statement_sizes(tree)
    sizes.sort()

    def per_code(name: str, share: int = 100) -> float:
        return round(share * counts[name] / max(1, counts["code"]), 2)

    def per_names(name: str) -> float:
        return round(100 * counts[name] / max(1, counts["names"]), 2)

    return {
        "code lines": counts["code"],
        "tokens": counts["tokens"],
        "tokens per line": per_code("tokens", 1),
        "statement size, median": sizes[len(sizes) // 2] if sizes else 0,
        "statement size, p90": sizes[int(len(sizes) * 0.9)] if sizes else 0,
        "conditional expressions per 100": per_code("conditional"),
        "participle names %": per_names("participles"),
        "vague names %": per_names("vague"),
        "comprehensions per 100": per_code("comprehensions"),
        "lines over 100 characters %": per_code("long lines"),
        "comments per 100": per_code("comments"),
        "glued files": counts["glued"],
        "forks by shape of data": counts["forks"],
        "Any": counts["any"],
        "signatures over 7": counts["long signatures"],
        "mirrored modules %": mirrored_share(package, tests),
    }


TEN_ROWS = "age,zip,ill\n" + "".join(
    f"{20 + 3 * at},531{at % 2},{'yes' if at % 3 else 'no'}\n" for at in range(10)
)
TEN_ROWS_RECIPE = """
sfumato: 1
columns:
  age: {role: quasi, kind: numeric, hierarchy: {intervals: {widths: [10, 20]}}}
  zip: {role: quasi, hierarchy: {mask_right: {length: 4}}}
  ill: sensitive
meet: [{k_anonymity: {k: 2}}]
steps: [{global_recoding: {budget: 0.5}}]
"""


def trace_ten_rows(package: Path, folder: Path) -> tuple[dict[CodeType, set[CodeType]], list[int]]:
    """The functions of the package that ``run`` on ten rows executes in the main thread, each with
    the functions that call it, and the depth of every call.

    Kernels do not count: how they are loaded depends on what was compiled before. The depth is the
    number of functions of the package on the stack, the called one included.
    """
    from sfumato.interfaces.cli import main

    (folder / "ten.csv").write_text(TEN_ROWS, encoding="utf-8")
    (folder / "ten.yaml").write_text(TEN_ROWS_RECIPE, encoding="utf-8")
    is_ours: dict[CodeType, bool] = {}
    callers: dict[CodeType, set[CodeType]] = {}
    depths: list[int] = []
    stack: list[CodeType] = []

    def watch(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if code not in is_ours:
            file = Path(code.co_filename)
            inside = file.is_relative_to(package) and not file.is_relative_to(package / "kernels")
            # Bodies of classes and modules are no functions.
            is_function = bool(code.co_flags & inspect.CO_OPTIMIZED)
            is_ours[code] = inside and is_function and not code.co_name.startswith("<")
        if not is_ours[code]:
            return
        if event == "call":
            callers.setdefault(code, set()).update(stack[-1:])
            stack.append(code)
            depths.append(len(stack))
        elif event == "return":
            stack.pop()

    command = ["sfumato", "run", "ten.csv", "-r", "ten.yaml", "-o", "out", "--seed", "7", "-q"]
    arguments, working_folder = sys.argv, Path.cwd()
    sys.argv = command
    os.chdir(folder)
    sys.setprofile(watch)
    try:
        main()
    except SystemExit as stop:
        if stop.code:
            raise
    finally:
        sys.setprofile(None)
        sys.argv = arguments
        os.chdir(working_folder)
    return callers, depths


def traced_run(package: Path, folder: Path) -> dict[str, float]:
    """The number of functions that ``run`` on ten rows executes, and their mean depth over calls."""
    callers, depths = trace_ten_rows(package, folder)
    return {
        "functions of a run on ten rows": len(callers),
        "mean depth of a run on ten rows": round(sum(depths) / max(1, len(depths)), 1),
    }


def list_run_functions(package: Path, folder: Path) -> str:
    """The functions of ``run`` on ten rows by module, with the number of functions that call each
    and, where there is one only, its name.
    """
    callers, _ = trace_ten_rows(package, folder)
    modules: dict[str, list[CodeType]] = {}
    for code in callers:
        module = str(Path(code.co_filename).relative_to(package))
        modules.setdefault(module, []).append(code)
    lines = []
    for module, functions in sorted(modules.items(), key=lambda entry: (-len(entry[1]), entry[0])):
        lines.append(f"{len(functions):4} {module}")
        for code in sorted(functions, key=lambda code: code.co_firstlineno):
            line = f"       {len(callers[code])} {code.co_qualname}"
            if len(callers[code]) == 1:
                line += f"  <- {next(iter(callers[code])).co_qualname}"
            lines.append(line)
    single = sum(len(functions) == 1 for functions in callers.values())
    lines.append(f"{len(callers):4} functions; {single} of them have one caller")
    return "\n".join(lines)
