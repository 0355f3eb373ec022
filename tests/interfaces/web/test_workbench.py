"""The state of an open workbench: the project, the worker, what is under way, and answers that were
asked for before."""

from __future__ import annotations

from pathlib import Path

from sfumato.interfaces.web.project import Project
from sfumato.interfaces.web.workbench import Workbench
from tests.interfaces.web.test_worker import (
    run,
    tasks,  # noqa: F401 - a fixture
    until,
)


def test_a_table_is_read_as_the_recipe_says_also_when_that_changes(tmp_path: Path) -> None:
    table = tmp_path / "visits.csv"
    table.write_text("age;sex\n" + "30;f\n-9;m\n" * 20)

    async def story() -> None:
        import dataclasses

        workbench = Workbench(Project.open(tmp_path / "project"), first={"path": str(table)})
        try:
            await workbench.begin()
            assert (await workbench.answer("today"))["sizes"] == [20]
            reads = workbench.opened
            intake = dataclasses.replace(workbench.recipe.intake, missing_values=(-9,))
            workbench.edit(dataclasses.replace(workbench.recipe, intake=intake), "missing: -9")
            await until(lambda: workbench.opened is not reads and workbench.opened is not None)
            assert not workbench.opened["changed"] and workbench.trouble == ""
            table.unlink()
            await workbench._try(workbench.reopen())
            assert (
                "no such file" in workbench.trouble.lower()
                or "does not exist" in workbench.trouble.lower()
            )
        finally:
            workbench.close()

    run(story)
