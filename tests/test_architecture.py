"""The house keeps its plan: who may import whom, what stays light, how long things get.

Reads the syntax trees of ``src/sfumato`` without importing it. A room is the first name below
``sfumato``: a package such as ``sfumato.core`` or a module such as ``sfumato.interfaces.api``.
"""

from __future__ import annotations

import ast
import dataclasses
import functools
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "src" / "sfumato"

GROUND = {"errors", "kernels", "core", "methods.formulas"}
"""What every package above the kernels may import: contracts, loops and formulas."""
METHODS = {
    "methods.models",
    "methods.steps",
    "methods.attacks",
    "methods.utility",
    "methods.hierarchies",
}
SHAPES = {"data.baskets", "data.paths", "data.graphs", "data.relational"}
RELEASE = {"release", "release.report", "release.register"}
GUIDANCE = {
    "guidance.profiling",
    "guidance.algorithms",
    "guidance.comparison",
    "guidance.cost_of_k",
    "guidance.protection",
    "guidance.recommendation",
}
RESULTS = {"results.tables", "results.checking", "results.queries", "results.integral"}

# package -> the others it may import. Families of methods and shapes of data never import each
# other.
MAY_IMPORT: dict[str, set[str]] = {
    "errors": set(),
    "kernels": set(),
    "core": {"kernels", "errors"},
    "methods": set(),
    "methods.formulas": {"core", "kernels", "errors"},
    **dict.fromkeys(METHODS, GROUND),
    "data": set(),
    **dict.fromkeys(SHAPES, GROUND),
    "data.table": GROUND,
    "data.lazy": GROUND | {"data.table"},
    "data.examples": GROUND | SHAPES | {"methods.hierarchies"},
    "release": (
        GROUND
        | {
            "release.report",
            "release.register",
            "data.table",
            "data.lazy",
            "methods.attacks",
            "methods.utility",
        }
    ),
    "release.report": GROUND,
    "release.register": GROUND,
    "results": set(),
    "results.tables": GROUND | {"release", "release.report", "release.register", "data.table"},
    "results.checking": (
        GROUND | {"release", "release.report", "release.register", "data.table", "results.tables"}
    ),
    "results.queries": GROUND,
    "results.integral": GROUND,
    "guidance": set(),
    "guidance.profiling": GROUND,
    "guidance.algorithms": GROUND,
    "guidance.comparison": GROUND | {"guidance.algorithms", "release", "release.report"},
    "guidance.cost_of_k": GROUND | {"release"},
    "guidance.recommendation": (
        GROUND
        | {"guidance.profiling", "guidance.comparison", "release", "release.report"}
        | {"data.table", "data.lazy"}
    ),
    "guidance.protection": (
        GROUND
        | {"guidance.profiling", "guidance.comparison", "guidance.recommendation"}
        | {"release", *METHODS}
    ),
    "policy": GROUND | {"release"},
    "parties": GROUND | {"release", "results.queries"},
    "interfaces": set(),
    "interfaces.api": (
        GROUND
        | RELEASE
        | GUIDANCE
        | RESULTS
        | {"data.table", "data.lazy", "data.examples", "methods.attacks"}
        | {"interfaces.compare_options"}
    ),
    "interfaces.compare_options": GROUND,
    "interfaces.readers": GROUND | {"release"},
    "interfaces.arx_import": GROUND,
    "interfaces.argus_import": GROUND,
    "interfaces.sql_tests": GROUND,
    # a script calls things by their public names, where they have one
    "interfaces.scripts": GROUND | {"__init__"},
    "testing": GROUND | {"interfaces.api"},
    "interfaces.accessors": {"interfaces.api"},
    "interfaces.cli": (
        GROUND
        | RELEASE
        | GUIDANCE
        | RESULTS
        | {"policy", "parties", "data.examples", "data.lazy"}
        | {"methods.hierarchies", "methods.steps"}
        | {"interfaces.api", "interfaces.arx_import", "interfaces.sql_tests", "interfaces.web"}
        | {"interfaces.argus_import", "interfaces.compare_options"}
    ),
    "interfaces.web": (
        GROUND
        | RELEASE
        | GUIDANCE
        | {"policy", "data.examples", "data.lazy", "data.table", "results.queries"}
        | {"methods.hierarchies", "interfaces.api", "interfaces.arx_import", "interfaces.scripts"}
    ),
    "__main__": {"interfaces.cli"},
    # the public names are texts: a module is imported when one of them is used
    "__init__": GROUND,
}
DIVIDED = {"methods", "data", "results", "guidance", "interfaces"}
"""Packages whose parts are told apart by the table above."""
DIVIDED_RELEASE = {"report", "register"}
# What every room may take from the package itself.
COMMON_NAMES = {"__version__"}

KERNELS_ONLY = {"numba"}
POSIX_ONLY = {"grp", "posix", "pty", "pwd", "readline", "resource", "syslog", "termios", "tty"}
PORTABLE_ONLY = POSIX_ONLY | {"fcntl", "msvcrt", "winreg", "ctypes", "signal"}
"""What systems do differently goes through one module, which says what each cannot promise."""
INSIDE_FUNCTIONS = {
    "altair",
    "cryptography",
    "duckdb",
    "pandas",
    "phonenumbers",
    "pyarrow",
    "pyspark",
    "scipy",
    "stdnum",
    "vl_convert",
}
AT_THE_TOP_OF_KERNELS = {"numba"}

LONGEST_FILE = 800
LONGEST_FUNCTION = 100
MOST_ARGUMENTS = 10
INNERMOST = {"_cost_cells", "_bound_column", "_bound_node"}
"""Loops of record linkage that run for every pair of cells: taking an array out of a tuple costs
more than their work.
"""
MAY_PRINT = {"interfaces.cli"}

# Where the contracts of the families are written down: whatever stands there is asked for by its
# name, never looked for.
CONTRACTS = {
    "core/step.py": {"Step", "Plan", "ColumnStep"},
    "core/model.py": {"Model"},
    "core/hierarchy.py": {"Hierarchy"},
    "core/metric.py": {"Metric", "Risk", "Utility"},
    "core/attack.py": {"Attack"},
    "core/data.py": {"Data"},
}
NO_HOOKS = {"name", "columns"}
"""Members that other things have too, such as open files and frames."""
MAY_COMPARE = {
    "sfumato.interfaces.cli.explain": {
        "bucketize",
        "k_anonymity",
    },  # what the user typed: two names also take figures
    "sfumato.release.report.wording": {
        "k_anonymity"
    },  # reads a certificate, which names models by text
    "sfumato.guidance.profiling.proposed_steps": {
        "mondrian"
    },  # tells apart the recipes that it wrote itself
}


@dataclasses.dataclass(frozen=True)
class Import:
    """One imported module, absolute, and where: ``deferred`` inside a function, ``typing`` under
    TYPE_CHECKING.
    """

    line: int
    target: str
    deferred: bool
    typing: bool


def package_of(module: str) -> str:
    """The line of the table that a dotted name belongs to; the public names in ``__init__`` are one
    too.
    """
    parts = module.split(".")[1:]
    if not parts:
        return "__init__"
    if len(parts) > 1 and (
        parts[0] in DIVIDED or (parts[0] == "release" and parts[1] in DIVIDED_RELEASE)
    ):
        return f"{parts[0]}.{parts[1]}"
    return parts[0]


def module_name(path: Path) -> str:
    """The dotted name of a source file."""
    parts = ("sfumato", *path.relative_to(PACKAGE).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)


def imports(module: str, tree: ast.Module, *, package: bool = False) -> Iterator[Import]:
    """Every import at any depth, ``importlib.import_module("...")`` and ``require("...")``
    included.
    """

    def visit(node: ast.AST, deferred: bool, typing: bool) -> Iterator[Import]:
        for target in targets(node):
            yield Import(node.lineno, target, deferred, typing)  # type: ignore[attr-defined]
        inside = deferred or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        body = node.body if isinstance(node, ast.If) and is_type_checking(node.test) else []
        for child in ast.iter_child_nodes(node):
            yield from visit(child, inside, typing or child in body)

    def targets(node: ast.AST) -> list[str]:
        if isinstance(node, ast.Import):
            return [alias.name for alias in node.names]
        if isinstance(node, ast.ImportFrom):
            base = absolute(node)
            # `from sfumato.methods import steps` imports a package,
            # `from sfumato.core import schema` a module of one
            inside = base in {
                "sfumato",
                "sfumato.release",
                *(f"sfumato.{name}" for name in DIVIDED),
            }
            return [f"{base}.{alias.name}" for alias in node.names] if inside else [base]
        if isinstance(node, ast.Call) and called(node) in {
            "import_module",
            "__import__",
            "require",
        }:
            first = node.args[0] if node.args else None
            return (
                [first.value]
                if isinstance(first, ast.Constant) and isinstance(first.value, str)
                else []
            )
        return []

    def absolute(node: ast.ImportFrom) -> str:
        if not node.level:
            return node.module or ""
        parts = module.split(".")
        kept = parts[: len(parts) - node.level + package]
        return ".".join([*kept, *([node.module] if node.module else [])])

    return visit(tree, deferred=False, typing=False)


@functools.lru_cache(maxsize=1)
def nodes_of(tree: ast.Module) -> list[ast.AST]:
    """All nodes of a tree: several checks walk over the same one."""
    return list(ast.walk(tree))


def statements(tree: ast.Module) -> Iterator[ast.AST]:
    """All statements at any depth; no expression holds one."""
    left: list[ast.AST] = [tree]
    while left:
        node = left.pop()
        yield node
        inside = ast.iter_child_nodes(node)
        left += [
            child
            for child in inside
            if isinstance(child, ast.stmt | ast.ExceptHandler | ast.match_case)
        ]


def called(node: ast.Call) -> str:
    """The last name of what is called."""
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def is_type_checking(test: ast.expr) -> bool:
    """Whether a condition is ``TYPE_CHECKING`` or ``typing.TYPE_CHECKING``."""
    return getattr(test, "id", getattr(test, "attr", "")) == "TYPE_CHECKING"


def direction_offences(module: str, found: list[Import]) -> Iterator[str]:
    """Imports between packages that the table does not allow."""
    package = package_of(module)
    if package not in MAY_IMPORT:
        yield (
            f"package {package!r} is not in the plan: add it to MAY_IMPORT and to ARCHITECTURE.md"
        )
        return
    for one in found:
        first, _, rest = one.target.partition(".")
        if first != "sfumato" or rest in COMMON_NAMES:
            continue
        other = package_of(one.target)
        if other not in MAY_IMPORT:  # a public name of the package, which comes from its __init__
            other = "__init__"
        if other != package and other not in MAY_IMPORT[package]:
            what = "the public names" if other == "__init__" else f"sfumato.{other}"
            yield f"line {one.line}: {package} must not import {what}"


def weight_offences(module: str, found: list[Import]) -> Iterator[str]:
    """Heavy packages where they would slow down ``import sfumato``, and numba outside the
    kernels.
    """
    in_kernels = package_of(module) == "kernels"
    for one in found:
        package = one.target.split(".")[0]
        if package in KERNELS_ONLY and not in_kernels:
            yield f"line {one.line}: {package} belongs in kernels"
        if package in PORTABLE_ONLY and module != "sfumato.core.portable":
            yield f"line {one.line}: {package} belongs in core/portable.py"
        light = one.deferred or one.typing or (in_kernels and package in AT_THE_TOP_OF_KERNELS)
        if package in INSIDE_FUNCTIONS and not light:
            yield f"line {one.line}: import {package} inside the function that needs it"


def size_offences(source: str, tree: ast.Module) -> Iterator[str]:
    """Files and function bodies that have grown too long; a docstring does not count."""
    lines = len(source.splitlines())
    if lines > LONGEST_FILE:
        yield f"{lines} lines; at most {LONGEST_FILE}: split it by what it does"
    for node in nodes_of(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            body = node.body[1:] if ast.get_docstring(node) is not None else node.body
            length = body[-1].end_lineno - body[0].lineno + 1 if body else 0  # type: ignore[operator]
            if length > LONGEST_FUNCTION:
                yield (
                    f"line {node.lineno}: {node.name} has {length} lines; at most"
                    f" {LONGEST_FUNCTION}"
                )


def statement_offences(module: str, tree: ast.Module) -> Iterator[str]:
    """``print`` outside the command line, and ``assert``, which ``python -O`` removes."""
    for node in nodes_of(tree):
        if (
            isinstance(node, ast.Call)
            and getattr(node.func, "id", "") == "print"
            and package_of(module) not in MAY_PRINT
        ):
            yield f"line {node.lineno}: print belongs in cli"
        if isinstance(node, ast.Assert):
            yield f"line {node.lineno}: raise an error of sfumato.errors instead of assert"


def members(path: Path, classes: set[str]) -> set[str]:
    """The members that some classes of a file declare."""
    bodies = [
        n.body
        for n in ast.parse(path.read_text(encoding="utf-8")).body
        if getattr(n, "name", "") in classes
    ]
    nodes = [node for body in bodies for node in body]
    assigned = {node.target.id for node in nodes if isinstance(node, ast.AnnAssign)}  # type: ignore[union-attr]
    return assigned | {node.name for node in nodes if isinstance(node, ast.FunctionDef)}


HOOKS = {
    name for file, classes in CONTRACTS.items() for name in members(PACKAGE / file, classes)
} - NO_HOOKS


@functools.cache
def registered() -> frozenset[str]:
    """The names that models and steps have in recipes."""
    files = [
        path
        for family in ("models", "steps")
        for path in (PACKAGE / "methods" / family).rglob("*.py")
    ]
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in files]
    found = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.AnnAssign)]
    named = [
        n.value
        for n in found
        if getattr(n.target, "id", "") == "name" and isinstance(n.value, ast.Constant)
    ]
    return frozenset(value.value for value in named)


def is_a_name(node: ast.expr) -> bool:
    """Whether an expression is what something is called: ``model.name``, ``verdict["model"]``,
    ``name``.
    """
    inside = (
        node.slice.value
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant)
        else None
    )
    asked = (
        node.args[0]
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "get" and node.args
        else None
    )
    inside = asked.value if isinstance(asked, ast.Constant) else inside
    return getattr(node, "attr", getattr(node, "id", inside)) in {"name", "model", "step"}


def contract_offences(module: str, tree: ast.Module) -> Iterator[str]:
    """Hooks that are looked for instead of asked for, and models and steps told apart by what they
    are called.
    """
    for node in nodes_of(tree):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in {"getattr", "hasattr"}:
            looked_for = {a.value for a in node.args[1:2] if isinstance(a, ast.Constant)} & HOOKS
            for hook in looked_for:
                yield f"line {node.lineno}: {hook} is a member with a default; ask for it"
        if isinstance(node, ast.Compare) and any(map(is_a_name, [node.left, *node.comparators])):
            literals = {one.value for one in ast.walk(node) if isinstance(one, ast.Constant)}
            for name in (literals & registered()) - MAY_COMPARE.get(module, set()):
                yield (
                    f"line {node.lineno}: ask what it says (as crowd does), not whether it is"
                    f" called {name}"
                )


def argument_offences(module: str, tree: ast.Module) -> Iterator[str]:
    """Loops that take more than anyone can keep apart; Python functions are kept short by other
    rules.
    """
    if package_of(module) != "kernels":
        return
    for node in nodes_of(tree):
        if (
            isinstance(node, ast.FunctionDef)
            and len(node.args.args) > MOST_ARGUMENTS
            and node.name not in INNERMOST
        ):
            yield (
                f"{node.name} takes {len(node.args.args)} arguments; put what belongs together into"
                " a named tuple"
            )


def offences(module: str, source: str, *, package: bool = False) -> list[str]:
    """Everything in one file that goes against the plan."""
    tree = ast.parse(source)
    found = list(imports(module, tree, package=package))
    return [
        *direction_offences(module, found),
        *weight_offences(module, found),
        *size_offences(source, tree),
        *statement_offences(module, tree),
        *contract_offences(module, tree),
        *argument_offences(module, tree),
    ]


SOURCES = sorted(PACKAGE.rglob("*.py"))


def test_there_is_something_to_check():
    assert {"errors", "core", "kernels", "methods.models", "methods.steps"} <= {
        package_of(module_name(path)) for path in SOURCES
    }


@pytest.mark.slow
@pytest.mark.parametrize("path", SOURCES, ids=[str(path.relative_to(PACKAGE)) for path in SOURCES])
def test_file_follows_the_plan(path):
    found = offences(
        module_name(path), path.read_text(encoding="utf-8"), package=path.name == "__init__.py"
    )
    assert not found, "\n".join([str(path.relative_to(PACKAGE.parent)), *found])


def test_the_contracts_are_found():
    hooks = {
        "claims",
        "replayable",
        "secret",
        "locked",
        "survey",
        "released_schema",
        "clue",
        "resolved",
    }
    hooks |= {
        "preserved",
        "warnings",
        "scores",
        "effort",
        "after_writing",
        "forced",
        "enough_k",
        "population",
        "crowd",
    }
    assert hooks <= HOOKS
    assert {
        "k_anonymity",
        "l_diversity",
        "global_recoding",
        "mondrian",
        "pseudonymize",
    } <= registered()


def test_what_is_excused_is_still_there():
    excused = [(module, word) for module, words in MAY_COMPARE.items() for word in words]
    for module, word in excused:
        source = (PACKAGE.parent / f"{module.replace('.', '/')}.py").read_text(encoding="utf-8")
        assert f'"{word}"' in source, f"{module} no longer needs to be excused for {word}"


def test_the_plan_has_no_circle():
    """Packages can be stacked so that each imports only packages below it."""
    above = dict(MAY_IMPORT)
    while above:
        floor = [package for package, below in above.items() if not (below & above.keys())]
        assert floor, f"these packages import each other in a circle: {sorted(above)}"
        for package in floor:
            del above[package]


def test_no_two_public_classes_are_called_alike():
    homes: dict[str, list[str]] = {}
    for path in SOURCES:
        for name in re.findall(r"^class (\w+)", path.read_text(encoding="utf-8"), re.MULTILINE):
            homes.setdefault(name, []).append(module_name(path))
    assert len(homes) > 500
    assert {
        name: at for name, at in homes.items() if len(at) > 1 and not name.startswith("_")
    } == {}


def test_no_module_has_a_twin_in_its_package():
    """``pair`` beside ``pairs``, ``lint`` beside ``linting``: nobody remembers which is which."""
    seen: dict[tuple[str, str], list[str]] = {}
    for path in SOURCES:
        package, _, name = module_name(path).rpartition(".")
        seen.setdefault((package, re.sub(r"(ing|ed|er|es|s|e)$", "", name)), []).append(name)
    assert {place: names for place, names in seen.items() if len(names) > 1} == {}


def circles(edges: dict[str, set[str]]) -> list[str]:
    """Modules that are left when whoever imports nobody, or is imported by nobody, is taken away
    again and again.
    """
    left = dict(edges)
    while True:
        imported = {other for one in left.values() for other in one}
        ends = [
            name
            for name, others in left.items()
            if not others & left.keys() or name not in imported
        ]
        if not ends:
            return sorted(left)
        for name in ends:
            del left[name]


def modules_imported(tree: ast.Module, known: set[str]) -> set[str]:
    """The modules of ours that a file imports when it runs, at any depth;
    ``from sfumato.data.table import csv`` is sfumato.data.table.csv.
    """
    every = list(statements(tree))
    typing = {
        id(node)
        for test in every
        if isinstance(test, ast.If) and is_type_checking(test.test)
        for part in test.body
        for node in ast.walk(part)
    }
    nodes = [node for node in every if isinstance(node, ast.ImportFrom) and id(node) not in typing]
    named = {
        (node.module or "", f"{node.module}.{alias.name}") for node in nodes for alias in node.names
    }
    return {inner if inner in known else outer for outer, inner in named} & known


def test_modules_import_each_other_in_no_circle():
    known = {module_name(path): path for path in SOURCES}
    edges = {}
    for name, path in known.items():  # a tree at a time: many take long to look through for garbage
        edges[name] = modules_imported(ast.parse(path.read_text(encoding="utf-8")), set(known)) - {
            name
        }
    assert circles(edges) == []


def test_a_circle_is_found():
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a"}}) == ["b", "c"]
    assert circles({"a": {"b"}, "b": {"c"}, "c": set()}) == []


# --- the checks themselves: each must find its offence and leave the innocent neighbour alone ---

BAD = {
    "family imports family": (
        "sfumato.methods.models.x",
        "from sfumato.methods.steps.local.mondrian import Mondrian",
    ),
    "inside a function": (
        "sfumato.methods.models.x",
        "def f():\n    import sfumato.methods.attacks.suda",
    ),
    "for types only": (
        "sfumato.core.x",
        (
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from sfumato.interfaces.api"
            " import Release"
        ),
    ),
    "upwards": ("sfumato.core.x", "from sfumato.release.make import make_release"),
    "from the package": ("sfumato.core.x", "from sfumato import release"),
    "the package itself": ("sfumato.core.x", "import sfumato"),
    "a public name of the package": ("sfumato.interfaces.cli.run", "from sfumato import anonymize"),
    "relative": ("sfumato.methods.models.x", "from ..steps import mondrian"),
    "relative, bare": ("sfumato.methods.models.x", "from .. import steps"),
    "by string": (
        "sfumato.methods.models.x",
        "import importlib\nsteps = importlib.import_module('sfumato.methods.steps')",
    ),
    "kernels import us": ("sfumato.kernels.x", "from sfumato.errors import InternalError"),
    "errors import us": ("sfumato.errors", "from sfumato.core import schema"),
    "command line reads files": (
        "sfumato.interfaces.cli.run",
        "from sfumato.data.table import read_table",
    ),
    "unknown package": ("sfumato.utils.x", "import os"),
    "numba elsewhere": ("sfumato.core.x", "def f():\n    import numba"),
    "a lock of one system": ("sfumato.data.table.x", "def f():\n    import fcntl"),
    "scipy at the top": ("sfumato.core.x", "import scipy"),
    "altair at the top": ("sfumato.release.report.x", "import altair as alt"),
    "in a class body": ("sfumato.core.x", "class A:\n    import pandas"),
    "in a try": (
        "sfumato.data.table.x",
        "try:\n    import pyarrow\nexcept ImportError:\n    pyarrow = None",
    ),
    "in the else of TYPE_CHECKING": (
        "sfumato.data.table.x",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    pass\nelse:\n    import pandas",
    ),
    "a submodule": ("sfumato.methods.attacks.file_risks.x", "from scipy.stats import norm"),
    "scipy at the top of a kernel": ("sfumato.kernels.x", "import scipy"),
    "required by string at the top": (
        "sfumato.data.table.x",
        "require('pandas', extra='pandas', to='read')",
    ),
    "long file": ("sfumato.core.x", "x = 1\n" * 801),
    "long function": ("sfumato.core.x", "def f():\n" + "    x = 1\n" * 101),
    "long method": ("sfumato.core.x", "class A:\n    def f(self):\n" + "        x = 1\n" * 101),
    "many arguments": (
        "sfumato.kernels.x",
        "def f(a, b, c, d, e, f, g, h, i, j, k):\n    return a",
    ),
    "print": ("sfumato.core.x", "print('hello')"),
    "assert": ("sfumato.interfaces.cli.run", "assert 1 < 2"),
    "a hook looked for": (
        "sfumato.release.x",
        "def f(step):\n    return getattr(step, 'claims', ())",
    ),
    "a hook of plans": ("sfumato.release.x", "def f(plan):\n    return hasattr(plan, 'effort')"),
    "a hook of models": (
        "sfumato.methods.steps.x",
        "def f(model):\n    return getattr(model, 'enough_k', None)",
    ),
    "a hook of hierarchies": (
        "sfumato.core.x",
        "def f(rule):\n    return hasattr(rule, 'resolved')",
    ),
    "a model by its name": (
        "sfumato.methods.steps.x",
        "def f(model):\n    return model.name == 'k_anonymity'",
    ),
    "none of some": (
        "sfumato.methods.attacks.x",
        "def f(s):\n    return s.name not in ('global_recoding', 'other')",
    ),
    "a step of a plan": ("sfumato.release.x", "def f(p):\n    return p['step'] == 'pseudonymize'"),
    "a step of a plan, if there is one": (
        "sfumato.policy.x",
        "def f(p):\n    return p.get('step') == 'pseudonymize'",
    ),
    "a verdict by its model": (
        "sfumato.release.report.x",
        "def f(v):\n    return v['model'] == 'l_diversity'",
    ),
}

GOOD = {
    "downwards": (
        "sfumato.methods.models.x",
        "from sfumato.core.model import Verdict\nfrom sfumato.errors import ParameterError",
    ),
    "own package": (
        "sfumato.methods.steps.x",
        "from sfumato.methods.steps.recoding.lattice import Lattice",
    ),
    "own package, relative": ("sfumato.methods.steps.x", "from .lattice import Lattice"),
    "from the package": ("sfumato.policy.x", "from sfumato import release"),
    "the version": ("sfumato.core.x", "from sfumato import __version__"),
    "a name that looks like ours": ("sfumato.core.x", "import sfumato_extra"),
    "deferred": (
        "sfumato.core.x",
        "def f():\n    import pandas as pd\n    from scipy import stats",
    ),
    "numpy and polars at the top": ("sfumato.core.x", "import numpy as np\nimport polars as pl"),
    "for types only": (
        "sfumato.core.x",
        (
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import polars\n    import"
            " numpy as np"
        ),
    ),
    "kernels": ("sfumato.kernels.x", "import numpy as np\nfrom numba import njit"),
    "long docstring": (
        "sfumato.core.x",
        'def f():\n    """Say.\n' + "\n" * 80 + '    """\n    return 1',
    ),
    "the longest function": ("sfumato.core.x", "def f():\n" + "    x = 1\n" * 100),
    "the longest file": ("sfumato.core.x", "x = 1\n" * 800),
    "print in cli": ("sfumato.interfaces.cli.run", "print('hello')"),
    "a method called print": ("sfumato.core.x", "def f(console):\n    console.print('hello')"),
    "only a docstring": ("sfumato.core.x", 'def f():\n    """Do nothing."""'),
    "a hook asked for": ("sfumato.release.x", "def f(step):\n    return step.claims"),
    "a member of something else": (
        "sfumato.data.table.x",
        "def f(error):\n    return getattr(error, 'strerror', None)",
    ),
    "a member by a variable": (
        "sfumato.core.x",
        "def f(value, field):\n    return getattr(value, field)",
    ),
    "another name": ("sfumato.core.x", "import os\nwindows = os.name == 'nt'"),
    "a method that is called like a step": (
        "sfumato.methods.steps.x",
        "def f(self):\n    return self.method == 'mondrian'",
    ),
}


@pytest.mark.parametrize(("module", "source"), BAD.values(), ids=BAD.keys())
def test_finds(module, source):
    assert len(offences(module, textwrap.dedent(source))) == 1


@pytest.mark.parametrize(("module", "source"), GOOD.values(), ids=GOOD.keys())
def test_accepts(module, source):
    assert offences(module, textwrap.dedent(source)) == []


def test_resolves_relative_imports_of_packages():
    tree = ast.parse("from . import lattice\nfrom .. import models\nfrom .deep import x")
    found = [one.target for one in imports("sfumato.methods.steps", tree, package=True)]
    assert found == [
        "sfumato.methods.steps",
        "sfumato.methods.models",
        "sfumato.methods.steps.deep",
    ]


def test_names_modules():
    assert module_name(PACKAGE / "__init__.py") == "sfumato"
    assert module_name(PACKAGE / "core" / "__init__.py") == "sfumato.core"
    assert module_name(PACKAGE / "core" / "schema.py") == "sfumato.core.schema"
    assert package_of("sfumato") == "__init__"
