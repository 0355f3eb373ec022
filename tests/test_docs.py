"""Every example in README.md and docs/ runs as printed.

Per file, in one namespace and one empty folder, from top to bottom:

- a ``python`` block is executed; with ``>>>`` prompts its output is compared as well;
- a ``console`` block that calls ``sfumato`` is run line by line; each ``$`` command must exit with
  0, or with N if it ends in ``# exit N``; the lines between are what a reader sees and are not
  compared; the table that ``sfumato demo --table`` writes is made shorter;
- an HTML comment that starts with ``setup`` holds Python that a reader need not see;
- ``<!-- file: NAME -->`` before a block of any language writes it to a file for what follows.

``<!-- not executed: reason -->`` before a block leaves it out. Blocks of other languages are left
alone.
"""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import doctest
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
import traceback
from pathlib import Path
from typing import Any

import pytest

from sfumato.interfaces.cli import main

ROOT = Path(__file__).resolve().parents[1]
PAGES = [
    ROOT / "README.md",
    *sorted(p for p in (ROOT / "docs").rglob("*.md") if "_build" not in p.parts),
]

# What a console block may call besides sfumato: enough to show files, nothing that installs or
# deletes.
COMMANDS = {"sfumato", "cat", "cd", "cp", "echo", "head", "ls", "mkdir", "printf"}
CALLS_SFUMATO = re.compile(r"(^|\|\s*)sfumato\b")
# What only a shell understands: pipes, files, patterns of names, and other programs.
SHELL = re.compile(r"^(?!sfumato )|[|<>;&*?$~`]")
TABLE = re.compile(r"sfumato demo --table (\S+\.csv)$")
ROWS = 800
"""Of the 3,000 rows that ``sfumato demo --table`` writes, so many are left for the commands that
follow.
"""
EXIT = re.compile(r"#\s*exit (\d+)\s*$")
FENCE = re.compile(r"^(?P<indent> *)(?P<marks>`{3,}|~{3,})\s*(?P<language>[^\s`]*)[^`]*$")
SKIP = re.compile(r"<!--\s*not executed\b:?\s*(?P<reason>.*?)\s*-->")
FILE = re.compile(r"<!--\s*file:\s*(?P<name>[\w.-]+)\s*-->")
SETUP = re.compile(r"<!--\s*setup\s*$")
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@dataclasses.dataclass(frozen=True)
class Block:
    """A fenced block or a hidden setup: where its text starts, and why it is not executed if it is
    not.
    """

    language: str
    text: str
    line: int
    skipped: str | None = None
    file: str | None = None

    @property
    def runs(self) -> bool:
        """Whether this block is of a kind that is executed, or written to a file."""
        if self.file is not None:
            return True
        shell = self.language == "console" and any(
            CALLS_SFUMATO.search(command) for command in commands(self.text)
        )
        return shell or self.language in ("python", "setup")


def blocks(page: str) -> list[Block]:
    """The fenced blocks and hidden setups of a page, in order. A fence that is never closed is an
    error.
    """
    lines = iter(enumerate(page.splitlines(), start=1))
    found: list[Block] = []
    reason: str | None = None
    file: str | None = None
    for number, line in lines:
        if skip := SKIP.match(line.strip()):
            if reason is not None or not skip["reason"]:
                raise ValueError(
                    f"line {number}: say '<!-- not executed: reason -->' right before the block"
                )
            reason = skip["reason"]
        elif named := FILE.match(line.strip()):
            file = named["name"]
        elif SETUP.match(line.strip()):
            found.append(
                Block("setup", until(lines, lambda text: text.strip() == "-->", number), number + 1)
            )
        elif fence := FENCE.match(line):
            inside = until(lines, closing(fence["marks"]), number)
            indent = len(fence["indent"])
            text = "\n".join(
                text[min(indent, len(text) - len(text.lstrip(" "))) :]
                for text in inside.split("\n")
            )
            found.append(Block(fence["language"], text, number + 1, reason, file))
            if reason is not None and fence["language"] not in ("python", "console"):
                raise ValueError(
                    f"line {number}: this block would not be executed anyway; remove the comment"
                    " before it"
                )
            reason = file = None
        elif reason is not None and line.strip():
            raise ValueError(f"line {number}: 'not executed' must come right before a block")
        elif file is not None and line.strip():
            raise ValueError(f"line {number}: 'file' must come right before a block")
    if reason is not None:
        raise ValueError("'not executed' at the end, before no block")
    return found


def until(lines: Any, ends: Any, opened: int) -> str:
    """The text up to the line that ends it."""
    taken = []
    for _, line in lines:
        if ends(line):
            return "\n".join(taken)
        taken.append(line)
    raise ValueError(f"line {opened}: opened here and never closed")


def closing(marks: str) -> Any:
    """Whether a line closes a fence that was opened with these marks."""
    return lambda line: (
        re.fullmatch(rf" *{re.escape(marks[0])}{{{len(marks)},}}\s*", line) is not None
    )


def commands(text: str) -> list[str]:
    """The commands after ``$`` prompts, continued lines joined."""
    joined = re.sub(r"\\\n\s*(>\s)?", " ", text)
    return [
        line.lstrip()[2:].strip() for line in joined.splitlines() if line.lstrip().startswith("$ ")
    ]


def run_python(block: Block, namespace: dict[str, Any], page: str) -> None:
    """Execute a block; statements keep the line numbers of the page in a traceback."""
    if re.search(r"^\s*>>>", block.text, re.MULTILINE):
        run_prompts(block, namespace, page)
        return
    tree = ast.parse(block.text, filename=page)
    ast.increment_lineno(tree, block.line - 1)
    exec(compile(tree, page, "exec", dont_inherit=True), namespace)


def run_prompts(block: Block, namespace: dict[str, Any], page: str) -> None:
    """Compare the output of each ``>>>`` line."""
    test = doctest.DocTestParser().get_doctest(
        block.text + "\n", namespace, page, page, block.line - 1
    )
    said: list[str] = []
    failed = (
        doctest.DocTestRunner(optionflags=FLAGS)
        .run(test, out=said.append, clear_globs=False)
        .failed
    )
    namespace.update(test.globs)
    assert not failed, "".join(said)


def run_console(block: Block, page: str) -> None:
    """Run the commands of a block in the current folder and compare their exit codes."""
    for command in commands(block.text):
        assert command.split()[0] in COMMANDS, (
            f"{page}:{block.line}: `{command}` cannot be checked in this block"
        )
        wanted = int(found[1]) if (found := EXIT.search(command)) else 0
        code, said = run_shell(command) if SHELL.search(command) else run_here(command)
        assert code == wanted, f"{page}:{block.line}: $ {command}\nexit {code}\n{said}"
        if table := TABLE.match(command):
            shorten(Path(table[1]))


def shorten(table: Path) -> None:
    """Leave the first rows of the table to try things on: the commands of a page do the same with
    them, sooner.
    """
    lines = table.read_text(encoding="utf-8").splitlines(keepends=True)
    table.write_text("".join(lines[: ROWS + 1]), encoding="utf-8")


def run_shell(command: str) -> tuple[int, str]:
    """Run a command that a shell must read, as a reader would: its exit code and what it complained
    of.
    """
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("console blocks need bash")
    folder = str(Path(sys.executable).parent)
    environment = {
        **os.environ,
        "PATH": folder + os.pathsep + os.environ["PATH"],
        "NO_COLOR": "1",
        "COLUMNS": "120",
    }
    done = subprocess.run(
        [bash, "-o", "pipefail", "-c", command],
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    return done.returncode, done.stderr


def run_here(command: str) -> tuple[int, str]:
    """Run a plain call of sfumato in this process, which has long imported what a new one would:
    the same, with nothing to read.
    """
    said = io.StringIO()
    with pytest.MonkeyPatch.context() as patched, open(os.devnull, encoding="utf-8") as nothing:
        patched.setenv("NO_COLOR", "1")
        patched.setenv(
            "COLUMNS", "80"
        )  # the first call in a process decides, and other tests count the letters of lines
        patched.setattr(sys, "stdin", nothing)
        patched.setattr(sys, "argv", shlex.split(command, comments=True))
        try:
            with contextlib.redirect_stderr(said):
                main()
        except SystemExit as stop:
            return (
                stop.code if isinstance(stop.code, int) else int(stop.code is not None)
            ), said.getvalue()
    return 0, said.getvalue()


def run_page(page: str, text: str) -> int:
    """Run a page's blocks in order in the current folder; how many ran."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    running = [block for block in blocks(text) if block.runs and block.skipped is None]
    for block in running:
        if block.file is not None:
            Path(block.file).write_text(block.text + "\n", encoding="utf-8")
        elif block.language == "console":
            run_console(block, page)
        else:
            run_python(block, namespace, page)
    return len(running)


@pytest.mark.slow
@pytest.mark.parametrize("path", PAGES, ids=[str(path.relative_to(ROOT)) for path in PAGES])
def test_page_runs_as_printed(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run_page(str(path.relative_to(ROOT)), path.read_text(encoding="utf-8"))


def table_of_commands(text: str) -> list[str]:
    """The commands of the table of a page whose heading is ``type``, from top to bottom; all but
    the workbench, which serves until it is ended.
    """
    rows = text.split("| you want to … | type |", 1)[1].split("\n\n", 1)[0].splitlines()[2:]
    listed = [command for row in rows for command in re.findall(r"`([^`]+)`", row.split("|")[2])]
    return [command for command in listed if not command.startswith("sfumato serve ")]


@pytest.mark.slow
def test_the_table_of_commands_works_from_top_to_bottom_in_an_empty_folder(tmp_path, monkeypatch):
    pytest.importorskip("opendp")
    monkeypatch.chdir(tmp_path)
    listed = table_of_commands((ROOT / "README.md").read_text(encoding="utf-8"))
    assert len(listed) > 10 and all(command.startswith("sfumato ") for command in listed)
    run_console(Block("console", "\n".join(f"$ {command}" for command in listed), 1), "README.md")


def test_readme_has_examples_that_run():
    running = {
        b.language
        for b in blocks((ROOT / "README.md").read_text(encoding="utf-8"))
        if b.runs and not b.skipped
    }
    assert {"python", "console"} <= running


# --- the runner itself ---


def test_runs_in_order_in_one_namespace(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = """
<!-- setup
from pathlib import Path
Path("made.txt").write_text("hello")
-->
```python
x = Path("made.txt").read_text()
```
- in a list
  ```python
  if x:
      y = x.upper()
  ```
```python
>>> y
'HELLO'
>>> z = 2
```
```python
assert z == 2
```
```yaml
not: [python
```
"""
    assert run_page("page.md", page) == 5


@pytest.mark.parametrize(
    "text",
    [
        "```python\n1 / 0\n```",
        "```python\n>>> 1 + 1\n3\n```",
        "~~~python\nundefined\n~~~",
        "````python\n1 / 0\n````",
    ],
)
def test_a_wrong_block_fails(text):
    with pytest.raises((AssertionError, ZeroDivisionError, NameError)):
        run_page("page.md", text)


def test_a_failure_names_the_line_of_the_page():
    with pytest.raises(ZeroDivisionError) as caught:
        run_page("page.md", "# Title\n\n```python\nx = 1\nx / 0\n```\n")
    last = traceback.extract_tb(caught.tb)[-1]
    assert (last.filename, last.lineno) == ("page.md", 5)


def test_a_block_is_written_to_the_file_it_names(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = (
        "<!-- file: a.yaml -->\n```yaml\nk: 5\n```\n\n"
        "```python\nassert open('a.yaml').read() == 'k: 5\\n'\n```\n"
    )
    assert run_page("page.md", page) == 2
    with pytest.raises(ValueError, match="right before a block"):
        blocks("<!-- file: a.yaml -->\nwords\n")


def test_skips_with_a_reason():
    page = "<!-- not executed: needs a cluster -->\n\n```python\n1 / 0\n```\n"
    assert run_page("page.md", page) == 0
    assert blocks(page)[0].skipped == "needs a cluster"


@pytest.mark.parametrize(
    "page",
    [
        "<!-- not executed: -->\n```python\n1 / 0\n```",
        "<!-- not executed -->\n```python\n1 / 0\n```",
        "<!-- not executed: why -->\nSome words.\n\n```python\n1 / 0\n```",
        "<!-- not executed: why -->\n```yaml\na: 1\n```",
        "<!-- not executed: why -->\n",
        "```python\nx = 1\n",
    ],
    ids=["empty", "no colon", "far from its block", "needless", "before nothing", "open fence"],
)
def test_refuses_a_loose_skip_or_fence(page):
    with pytest.raises(ValueError, match=r"line \d+|at the end"):
        blocks(page)


def test_reads_commands():
    text = "$ sfumato run a.csv \\\n    -o out/\nsome output\n$ sfumato check x  # exit 1\n"
    assert commands(text) == ["sfumato run a.csv  -o out/", "sfumato check x  # exit 1"]
    assert Block("console", text, 1).runs
    assert Block("console", "$ cat a.csv | sfumato assess -", 1).runs
    assert not Block("console", "$ pip install sfumato", 1).runs


def fake_sfumato(folder: Path, exit_code: int) -> None:
    script = folder / "sfumato"
    script.write_text(f"#!/bin/sh\nexit {exit_code}\n")
    script.chmod(0o755)


def is_judged_by(command: str, exit_code: int, passes: bool) -> None:
    """A block with this command passes, or fails by the exit code."""
    block = Block("console", f"$ {command}\n", 1)
    if passes:
        run_console(block, "page.md")
    else:
        with pytest.raises(AssertionError, match=f"exit {exit_code}"):
            run_console(block, "page.md")


@pytest.mark.parametrize(
    ("command", "exit_code", "passes"),
    [
        ("sfumato check > said", 0, True),
        ("sfumato check > said", 1, False),
        ("sfumato check > said  # exit 1", 1, True),
        ("sfumato check > said  # exit 1", 0, False),
        ("sfumato check | cat", 1, False),
    ],
)
def test_compares_exit_codes(command, exit_code, passes, tmp_path, monkeypatch):
    fake_sfumato(tmp_path, exit_code)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.chdir(tmp_path)
    is_judged_by(command, exit_code, passes)


@pytest.mark.parametrize(
    ("command", "exit_code", "passes"),
    [
        ("sfumato --version", 0, True),
        ("sfumato --version  # exit 1", 0, False),
        ("sfumato assess 'no such.csv'  # exit 5", 5, True),
        ("sfumato assess 'no such.csv'", 5, False),
        ("sfumato no-such-command", 2, False),
    ],
)
def test_compares_exit_codes_of_calls_in_this_process(
    command, exit_code, passes, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    is_judged_by(command, exit_code, passes)


def test_refuses_other_commands_beside_sfumato():
    with pytest.raises(AssertionError, match="cannot be checked"):
        run_console(Block("console", "$ pip install sfumato\n$ sfumato demo", 1), "page.md")
