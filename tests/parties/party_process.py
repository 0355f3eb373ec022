"""One party in a process of its own, for tests: as the command line runs it, or one that dies,
rambles or repeats itself.
"""

from __future__ import annotations

import asyncio
import dataclasses
import datetime
import json
import os
from pathlib import Path

from sfumato.errors import SfumatoError
from sfumato.parties.channel import Phase
from sfumato.parties.conduct import Home, meet, prepare
from sfumato.parties.keys import Keys
from sfumato.parties.mesh import HEAD, Mesh
from sfumato.parties.study import read_study
from tests.parties.studies import ledger_of, tables

KILLED = 9
PATIENT = 100
"""Seconds that a patient party waits for others, whatever the study says."""


class Odd(Mesh):
    """Lines of a party that misbehaves when it should speak in a phase."""

    behaviour = ("", Phase.HELLO)

    async def _exchange(self, phase, outgoing, lengths, missing):
        what, when = self.behaviour
        if phase == when:
            if what == "kill":
                os._exit(KILLED)
            if (
                what == "kill amid"
            ):  # one of the others has heard, the rest has not; all of them have spoken
                first = min(outgoing)
                await super()._exchange(phase, {first: outgoing[first]}, lengths, missing)
                os._exit(KILLED)
            if what == "garbage":
                for line in self._lines.values():
                    line.writer.write(os.urandom(4096))
            if what == "replay":  # the frame of the hello once more, as it was
                for to, line in self._lines.items():
                    line.writer.write(
                        HEAD.pack(bytes(16), Phase.HELLO, 0, len(self.hello[to])) + self.hello[to]
                    )
            if what == "session":
                self.session = bytes(16)
        if phase is Phase.HELLO:
            self.hello = dict(outgoing)
        return await super()._exchange(phase, outgoing, lengths, missing)


def party(
    study_file: str, folder: str, number: int, report: str, behaviour: tuple[str, int]
) -> None:
    """Take part, and write down how it ended."""
    study = read_study(Path(study_file))
    name = study.parties[number].name
    home = Home(
        Path(folder) / name,
        Keys(Path(folder) / name, name),
        ledger_of(Path(folder), name),
        datetime.date(2026, 11, 16),
    )

    async def run():
        planned = prepare(study, number, tables()[number], home)
        patience = {"connect": PATIENT} if behaviour[0] == "patient" else {}
        mesh = await Odd.open(
            number, study.peers(), home.keys, dataclasses.replace(study.limits, **patience)
        )
        mesh.behaviour = behaviour
        return await meet(planned, mesh)

    try:
        ended = {"result": asyncio.run(run()).certificate}
    except SfumatoError as error:
        ended = {
            "error": type(error).__name__,
            "party": getattr(error, "party", None),
            "words": str(error),
        }
    Path(report).write_text(json.dumps(ended))
