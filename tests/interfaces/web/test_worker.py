"""The process that holds the data: asked, stopped, ended, killed; and what the workbench does
then.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from sfumato.interfaces.web import worker as module
from sfumato.interfaces.web.project import Outdated, Project
from sfumato.interfaces.web.tasks import TASKS
from sfumato.interfaces.web.workbench import Workbench
from sfumato.interfaces.web.worker import BenchProcess, Cancelled, TaskFailed
from tests.interfaces.web import naps

SECONDS = 120


@pytest.fixture(autouse=True)
def tasks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name, task in naps.OURS.items():
        monkeypatch.setitem(TASKS, name, task)
    monkeypatch.setattr(module, "work", naps.work)
    monkeypatch.setattr(
        module, "PATIENCE", SECONDS
    )  # what stops when it is asked to is not ended before, however busy the machine is
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))


def run(story: Callable[[], Awaitable[None]]) -> None:
    async def limited() -> None:
        await asyncio.wait_for(story(), SECONDS)

    asyncio.run(limited())


async def until(holds: Callable[[], Any]) -> None:
    while not holds():
        await asyncio.sleep(0.02)


def test_work_is_answered_stopped_ended_and_survives_its_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One process for all of it: starting one takes a second."""
    fresh: list[bool] = []
    told: list[tuple[float, str]] = []

    async def story() -> None:
        process = BenchProcess(on_fresh=fresh.append)
        try:
            assert (
                await process.ask("nap", seconds=0.05, on_progress=lambda *said: told.append(said))
                == "slept"
            )
            assert told[0] == (0.5, "sleeping")
            with pytest.raises(TaskFailed, match="this cannot be") as failed:
                await process.ask("fail")
            assert failed.value.kind == "ParameterError"
            with pytest.raises(
                TaskFailed, match="a bug of sfumato: ValueError in bug at naps\\.py:"
            ) as broken:
                await process.ask("bug")
            assert "Smith" not in str(broken.value)
            with pytest.raises(TaskFailed, match="a bug of sfumato"):
                await process.ask("unsendable")

            # asked to stop, it stops; the process stays, and short questions were answered
            # meanwhile
            first = process._process.pid
            long = asyncio.ensure_future(process.ask("nap", seconds=3600))
            assert await process.ask("count") == 1
            await process.cancel("nap")
            with pytest.raises(Cancelled):
                await long
            assert process._process.pid == first and await process.ask("count") == 2

            # what waits in the lane is cancelled before it begins
            both = [asyncio.ensure_future(process.ask("nap", seconds=3600)) for _ in range(2)]
            await asyncio.sleep(0)
            await process.cancel("nap")
            assert all(
                isinstance(one, Cancelled)
                for one in await asyncio.gather(*both, return_exceptions=True)
            )
            assert not fresh

            # what does not listen is ended with its process
            begun = asyncio.Event()
            deaf = asyncio.ensure_future(
                process.ask("stubborn", on_progress=lambda *_: begun.set())
            )
            await begun.wait()
            monkeypatch.setattr(module, "PATIENCE", 0.3)
            await process.cancel("stubborn")
            with pytest.raises(Cancelled):
                await deaf
            assert fresh == [True] and process._process.pid != first
            assert await process.ask("count") == 1

            # one that dies is said to have ended, and replaced
            with pytest.raises(TaskFailed, match="ended, perhaps because memory"):
                await process.ask("die")
            assert fresh == [True, False] and await process.ask("count") == 1
            last = process._process.pid
        finally:
            process.close()
        with pytest.raises(ProcessLookupError):
            os.kill(last, 0)
        assert fresh == [True, False]

    run(story)


def test_a_workbench_remembers_answers_and_opens_the_data_again_after_its_process_ended(
    tmp_path: Path,
) -> None:
    table = tmp_path / "visits.csv"
    table.write_text("age,sex\n" + "".join(f"{20 + i % 7},{'fm'[i % 2]}\n" for i in range(140)))

    async def story() -> None:
        workbench = Workbench(Project.open(tmp_path / "project"), first={"path": str(table)})
        project = workbench.project
        try:
            await workbench.begin()
            assert (
                workbench.opened is not None
                and workbench.opened["records"] == 140
                and not workbench.opened["changed"]
            )
            assert project.version == 1 and project.data.path == str(table) and project.data.digest

            # the same question is asked once, also while it is on its way; a failure is asked again
            assert (
                await asyncio.gather(*(workbench.answer("count", what=1) for _ in range(5)))
                == [1] * 5
            )
            assert (
                await workbench.answer("count", what=2) == 2
                and await workbench.answer("count", what=1) == 1
            )
            for _ in range(2):
                with pytest.raises(TaskFailed):
                    await workbench.answer("fail")

            # two tabs: who was slower is told so, and nothing is lost
            shown = project.version
            workbench.edit(with_k(project, 7), "k = 7", based_on=shown)
            with pytest.raises(Outdated):
                workbench.edit(with_k(project, 9), "k = 9", based_on=shown)
            assert project.version == 2

            # killed in the middle of a run: said so, the data are opened again, and answers are
            # asked anew
            running = asyncio.ensure_future(workbench.do("nap", "Sleeping", seconds=3600))
            await until(lambda: workbench.job is not None and workbench.job.words == "sleeping")
            os.kill(workbench.worker._process.pid, signal.SIGKILL)
            with pytest.raises(TaskFailed, match="ended"):
                await running
            await until(lambda: workbench.opened is not None)
            assert workbench.opened["records"] == 140 and project.version == 2
            assert await workbench.answer("count", what=1) == 1
            await until(lambda: workbench.job is None)

            # cancelled: nothing is kept of it, and no version or effect is written
            lines = (project.folder / "log.jsonl").read_text()
            making = asyncio.ensure_future(workbench.do("keep_and_stop", "Making"))
            await until(lambda: workbench.job is not None and workbench.job.words == "making")
            await workbench.cancel()
            with pytest.raises(Cancelled):
                await making
            assert workbench.job is None and (project.folder / "log.jsonl").read_text() == lines
            assert (
                await workbench.answer("what_is_kept") == ["calls"] and workbench.opened is not None
            )

            # the table changed on disk: said so, the recipe stays, the numbers of versions go
            project.note(project.version, {"loss": 0.5})
            table.write_text(table.read_text() + "99,f\n")
            await workbench.reopen()
            assert (
                workbench.opened["changed"]
                and workbench.opened["records"] == 141
                and project.version == 2
            )
            assert not project.log[1].effect
        finally:
            workbench.close()

    run(story)


def test_a_table_that_kills_its_process_is_not_opened_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = tmp_path / "visits.csv"
    table.write_text("age,sex\n" + "30,f\n40,m\n" * 30)

    async def story() -> None:
        workbench = Workbench(Project.open(tmp_path / "project"), first={"path": str(table)})
        starts: list[int] = []
        start = workbench.worker.start

        def counted() -> None:
            starts.append(1)
            start()
            if len(starts) == 1:  # it does not read the table before it is killed
                os.kill(workbench.worker._process.pid, signal.SIGSTOP)

        monkeypatch.setattr(workbench.worker, "start", counted)
        try:
            # what dies while it reads the table is not let read it again by itself
            opening = asyncio.ensure_future(workbench.begin())
            await until(lambda: workbench.job is not None and workbench.worker._asked)
            os.kill(workbench.worker._process.pid, signal.SIGKILL)
            await opening
            assert "ended" in workbench.trouble and workbench.opened is None and len(starts) == 2
            await asyncio.sleep(0.3)
            assert len(starts) == 2 and workbench.job is None

            # what pages ask kills it again and again: after some times the table is left alone, and
            # that is said
            await workbench.begin()
            assert workbench.opened is not None and not workbench.trouble
            for _ in range(2):
                await until(lambda: workbench.opened is not None and workbench.job is None)
                with pytest.raises(TaskFailed, match="ended"):
                    await workbench.do("die", "Dying")
            assert "3 times" in workbench.trouble
            await asyncio.sleep(0.3)
            assert workbench.opened is None and workbench.job is None
            await workbench.reopen()  # by hand
            assert workbench.opened is not None and not workbench.trouble
        finally:
            workbench.close()

    run(story)


def with_k(project: Project, k: int) -> Any:
    import dataclasses

    from sfumato.methods.models.k_anonymity import KAnonymity

    return dataclasses.replace(project.recipe, meet=(KAnonymity(k),))
