"""The tasks behind the stage Questions: the ledger is the one of the command line, and nothing is
told before it is paid for.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sfumato.core import recipe_files as recipes
from sfumato.core.ledger import Ledger
from sfumato.core.words import number
from sfumato.errors import BudgetExceeded, ParameterError
from sfumato.interfaces.cli import main
from sfumato.interfaces.web.data_process import Bench, task_function
from sfumato.interfaces.web.requests import BudgetRequest, QuestionRequest
from sfumato.results.queries import expected_error

pytest.importorskip("opendp")
pytest.importorskip("sqlglot")
pytest.importorskip("fcntl")

RECIPE = """
sfumato: 1
columns:
  patient: person
  sex: {role: quasi, domain: [f, m]}
  cost: {role: sensitive, kind: numeric, bounds: [0, 5000]}
"""
DATA = "patient,sex,cost\n" + "".join(f"p{i % 40},{'fmx'[i % 3]},{100 + i}\n" for i in range(90))
COUNT = "SELECT COUNT(*) FROM recipe"


def quiet(share: float, words: str = "") -> None:
    """Nobody is told."""


class Asked:
    """A bench with a table, its recipe and where the ledger is."""

    def __init__(self, folder: Path) -> None:
        (folder / "recipe.yaml").write_text(RECIPE, encoding="utf-8")
        (folder / "data.csv").write_text(DATA, encoding="utf-8")
        self.folder, self.bench, self.recipe = folder, Bench(), recipes.load(folder / "recipe.yaml")
        task_function("open_data")(
            self.bench, quiet, path=str(folder / "data.csv"), example=None, options={}
        )

    def do(self, task: str, **given: Any) -> Any:
        ledger = str(self.folder / "recipe.ledger")
        return task_function(task)(self.bench, quiet, recipe=self.recipe, ledger=ledger, **given)

    @property
    def source(self) -> dict[str, Any]:
        return {"path": str(self.folder / "data.csv"), "options": {}}

    def start(self) -> Any:
        return self.do(
            "start_budget",
            source=self.source,
            request=BudgetRequest(protects="patient", contributions=3),
        )


@pytest.fixture
def asked(tmp_path: Path) -> Asked:
    return Asked(tmp_path)


def test_before_a_budget_nothing_is_told_but_what_is_declared(asked: Asked) -> None:
    wanted = {
        "started": False,
        "protects": ["patient", "row"],
        "bounded": ["cost"],
        "listed": ["sex"],
    }
    assert asked.do("budget_state") == wanted
    with pytest.raises(ParameterError, match="budget is missing"):
        asked.do(
            "ask_question", source=asked.source, question=QuestionRequest(COUNT, 0.1), fresh=False
        )


def test_what_is_asked_here_is_spent_at_the_command_line(
    asked: Asked, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    assert asked.start()["total"] == 1.0
    told = asked.do(
        "ask_question", source=asked.source, question=QuestionRequest(COUNT, 0.25), fresh=False
    )
    state = asked.do("budget_state")
    assert state["spent"] == 0.25 and state["largest_epsilon"] == 0.75
    assert len(state["history"][1].entries) == 1
    again = asked.do(
        "ask_question", source=asked.source, question=QuestionRequest(COUNT, 0.25), fresh=False
    )
    assert again[0][2] == told[0][2] and asked.do("budget_state")["spent"] == 0.25
    files = [str(asked.folder / name) for name in ("recipe.yaml", "data.csv")]
    monkeypatch.setattr(
        "sys.argv",
        ["sfumato", "query", *files, COUNT, "--epsilon", "0.25", "--json", "--quantum", "0.2"],
    )
    capfd.readouterr()
    with pytest.raises(SystemExit) as ended:
        main()
    said = json.loads(capfd.readouterr().out)
    assert not ended.value.code and said["spent"] == 0.25 and said["answers"][0]["repeated"]
    assert said["answers"][0]["values"] == [row[1] for row in told[0][2].rows]
    with pytest.raises(BudgetExceeded):
        asked.do(
            "ask_question", source=asked.source, question=QuestionRequest(COUNT, 0.8), fresh=True
        )
    with pytest.raises(ParameterError, match="stays spent"):
        asked.start()


def test_the_error_that_is_expected_follows_from_what_is_declared_alone(asked: Asked) -> None:
    asked.start()
    (asked.folder / "data.csv").unlink()
    (count,) = asked.do("error_expected", question=QuestionRequest(COUNT, 0.1, 500))
    relation = {"relation": Ledger.at(asked.folder / "recipe.ledger").terms.relation}
    error = number(expected_error("count", 0.1, rows=500, **relation))
    assert count.text.endswith(f"within ±{error}, 95 times out of 100.")
    both = asked.do(
        "error_expected",
        question=QuestionRequest(COUNT.replace("COUNT(*)", "COUNT(*), AVG(cost)"), 0.2, 500),
    )
    assert f"within ±{error}, 95" in both[0].text, "two answers share the ε"
