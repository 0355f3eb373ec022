"""Measure how the house is packed, from its syntax trees: ``python tools/house.py [folder]``.

``python tools/house.py --check`` holds the gauges of ``tools/gauges.py`` against the figures of
``tools/house.json`` and ends with exit code 1 when one is worse. ``--update "reason"`` stores those
of today: a figure that gets worse is a decision, with its reason. ``--run-functions`` lists the
functions that a run on ten rows executes, by module, with the number of their callers.

Code lines are lines that hold at least one token that is neither a comment nor a docstring. A
function's length is that of its body without the docstring, in lines. An import is deferred when it
stands inside a function. A module has one importer when exactly one other file of the package
imports it (the ``__init__`` files of packages do not count as modules).
"""

from __future__ import annotations

import argparse
import ast
import dataclasses
import io
import json
import os
import subprocess
import sys
import tempfile
import tokenize
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1] / "src" / "sfumato"
TESTS = Path(__file__).resolve().parents[1] / "tests"
STORED = Path(__file__).with_name("house.json")
SILENT = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
}
DIRECTIVES = ("# type:", "# noqa", "# pragma", "#!")
FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef
IMPORTS = ast.Import | ast.ImportFrom


@dataclasses.dataclass(frozen=True)
class File:
    """What is counted in one source file."""

    module: str
    code: int
    comments: int
    bodies: list[int]
    import_lines: int
    deferred: int
    wanted: set[str]


def docstrings(tree: ast.Module) -> Iterator[ast.Expr]:
    """The docstrings of a module, its classes and its functions, and those below a field."""
    for node in ast.walk(tree):
        for child in (
            getattr(node, "body", []) if not isinstance(node, ast.Lambda | ast.IfExp) else []
        ):
            value = child.value if isinstance(child, ast.Expr) else None
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                yield child


def lines(node: ast.stmt) -> range:
    """The lines a statement stands on."""
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)


def code_and_comments(source: str, tree: ast.Module) -> tuple[set[int], int]:
    """The lines that hold code, and the number of comments that are for readers."""
    code: set[int] = set()
    comments = 0
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        comments += token.type == tokenize.COMMENT and not token.string.startswith(DIRECTIVES)
        if token.type not in SILENT:
            code.update(range(token.start[0], token.end[0] + 1))
    return code.difference(*(lines(text) for text in docstrings(tree))), comments


def body_length(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """The lines of a function's body, its docstring aside."""
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    return (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0


def targets(node: ast.Import | ast.ImportFrom) -> set[str]:
    """Every dotted name an import may mean: ``from a import b`` means ``a``, or ``a.b`` where that
    is a module.
    """
    if isinstance(node, ast.Import):
        return {alias.name for alias in node.names}
    return {node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)}


def deferred(tree: ast.Module) -> set[ast.AST]:
    """The imports that stand inside a function, however deep."""
    functions = (node for node in ast.walk(tree) if isinstance(node, FUNCTIONS))
    return {
        node for function in functions for node in ast.walk(function) if isinstance(node, IMPORTS)
    }


def measured(path: Path, folder: Path) -> File:
    """One file, counted."""
    source = path.read_text(encoding="utf-8")
    tree = ast.parse(source)
    code, comments = code_and_comments(source, tree)
    imports = [node for node in ast.walk(tree) if isinstance(node, IMPORTS)]
    parts = (folder.name, *path.relative_to(folder).with_suffix("").parts)
    return File(
        module=".".join(parts[:-1] if parts[-1] == "__init__" else parts),
        code=len(code),
        comments=comments,
        bodies=[body_length(node) for node in ast.walk(tree) if isinstance(node, FUNCTIONS)],
        import_lines=len(code & {line for node in imports for line in lines(node)}),
        deferred=len(deferred(tree)),
        wanted={name for node in imports for name in targets(node)},
    )


def rank(sizes: list[int], share: float) -> int:
    """The smallest size that a share of all does not exceed."""
    ordered = sorted(sizes)
    return ordered[max(0, -int(-share * len(ordered) // 1) - 1)] if ordered else 0


def lonely(files: list[File], packages: set[str]) -> list[str]:
    """The modules that exactly one other file imports."""
    asked = {
        file.module: sum(file.module in other.wanted for other in files if other is not file)
        for file in files
    }
    return sorted(
        module for module, importers in asked.items() if importers == 1 and module not in packages
    )


def figures(folder: Path = PACKAGE) -> dict[str, float]:
    """The figures of a package by what they count."""
    paths = sorted(folder.rglob("*.py"))
    files = [measured(path, folder) for path in paths]
    packages = {
        file.module for file, path in zip(files, paths, strict=True) if path.name == "__init__.py"
    }
    code = sum(file.code for file in files)
    bodies = [length for file in files for length in file.bodies]
    return {
        "files": len(files),
        "packages": len(packages),
        "code lines": code,
        "functions": len(bodies),
        "function body, median": rank(bodies, 0.5),
        "function body, p95": rank(bodies, 0.95),
        "function body, longest": max(bodies, default=0),
        "import lines, % of code": round(
            100 * sum(file.import_lines for file in files) / max(code, 1), 1
        ),
        "deferred imports": sum(file.deferred for file in files),
        "comments per 100 code lines": round(
            100 * sum(file.comments for file in files) / max(code, 1), 1
        ),
        "modules with one importer": len(lonely(files, packages)),
    }


def table(counted: dict[str, float]) -> str:
    """The figures as the rows of a page."""
    return "\n".join(
        [
            "| figure | value |",
            "|---|---|",
            *(f"| {name} | {value:,} |" for name, value in counted.items()),
        ]
    )


def trace_in_new_process(function: str) -> str:
    """What a function of ``gauges`` says of a run on ten rows, in a process of its own: this one has
    loaded too much.
    """
    code = (
        f"import pathlib, sys, gauges; print(gauges.{function}(*map(pathlib.Path, sys.argv[1:])))"
    )
    paths = os.pathsep.join([str(Path(__file__).resolve().parent), str(PACKAGE.parent)])
    with tempfile.TemporaryDirectory() as folder:
        process = subprocess.run(
            [sys.executable, "-c", code, str(PACKAGE), folder],
            env={**os.environ, "PYTHONPATH": paths},
            capture_output=True,
            text=True,
            check=True,
        )
    return process.stdout


def all_gauges() -> dict[str, float]:
    """The gauges of the package and those of a run on ten rows."""
    sys.path.insert(0, str(Path(__file__).resolve().parent))
    from gauges import gauges

    traced = trace_in_new_process("traced_run").splitlines()[-1]
    return {**gauges(PACKAGE, TESTS), **ast.literal_eval(traced)}


def worse(stored: dict[str, float], counted: dict[str, float]) -> list[str]:
    """The gauges that are worse than stored, or stored and not counted any more."""
    from gauges import MORE_IS_BETTER, NO_TARGET

    lines = []
    for name, figure in stored.items():
        if name in NO_TARGET:
            continue
        today = counted.get(name)
        if today is None:
            lines.append(f"{name}: stored and not counted any more")
        elif (today < figure) if name in MORE_IS_BETTER else (today > figure):
            lines.append(f"{name}: {today:,}, and {figure:,} is stored")
    return lines


def main(words: list[str]) -> int:
    """Print figures, check gauges or store them."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=PACKAGE)
    parser.add_argument(
        "--check", action="store_true", help="exit code 1 when a gauge is worse than stored"
    )
    parser.add_argument("--update", metavar="REASON", help="store the gauges of today, and why")
    parser.add_argument(
        "--run-functions",
        action="store_true",
        help="list the functions of a run on ten rows, by module",
    )
    options = parser.parse_args(words)
    if options.run_functions:
        print(trace_in_new_process("list_run_functions"))
        return 0
    if not options.check and options.update is None:
        print(table(figures(options.folder.resolve())))
        return 0
    counted = all_gauges()
    print(table(counted))
    if options.update is not None:
        if not options.update.strip():
            parser.error("--update takes a reason")
        STORED.write_text(
            json.dumps({"reason": options.update, "gauges": counted}, indent=1) + "\n",
            encoding="utf-8",
        )
        return 0
    complaints = worse(json.loads(STORED.read_text(encoding="utf-8"))["gauges"], counted)
    for line in complaints:
        print(
            f"worse: {line}; mend it, or store it with a reason: python tools/house.py --update"
            " 'reason'"
        )
    return int(bool(complaints))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
