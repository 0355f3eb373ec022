"""The process that fits models, from the side of those who ask it."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol

from sfumato.core.fields import Document
from sfumato.errors import FittingFailed, MissingExtra
from sfumato.methods.steps.synthesis import worker

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sfumato.methods.steps.synthesis.noisy_counts import Clique, NoisyMarginal


SETTINGS = {
    "JAX_ENABLE_X64": "1",
    "JAX_ENABLE_COMPILATION_CACHE": "0",
    "JAX_PLATFORMS": "cpu",
    "PYTHONHASHSEED": "0",  # the library walks through sets of columns
    "TF_CPP_MIN_LOG_LEVEL": "3",
}
MISSING = "to fit models of noisy counts, install the extra: pip install 'sfumato[synthetic]'"
OUT_OF_MEMORY = (
    "synthesize_privately: the process that fits the model ran out of memory; what was spent "
    "stays spent. Lower model_mb, declare fewer categories or bins, or use method: mst"
)


class Fitter(Protocol):
    """Fits models of noisy counts, tells what they think of marginals, and draws from them."""

    def fit(self, measurements: Sequence[NoisyMarginal], total: float) -> None:
        """The model that comes nearest to all counts, in units of their noise."""
        ...

    def marginals(self, cliques: Sequence[Clique]) -> list[NDArray[np.float64]]:
        """What the model expects of some columns together."""
        ...

    def model_sizes(self, present: Sequence[Clique], candidates: Sequence[Clique]) -> list[float]:
        """Megabytes of a model in which one clique more is measured, for every one of several."""
        ...

    def draw(self, rows: int, seed: int) -> dict[str, NDArray[np.int64]]:
        """Rows of the model, as cells by column."""
        ...


def require_fitting() -> None:
    """Refuse at once where the libraries are not installed: nothing has been spent yet."""
    if importlib.util.find_spec("mbi") is None or importlib.util.find_spec("jax") is None:
        raise MissingExtra(MISSING)


class ModelWorker(Fitter):
    """A process that fits; it is ended with the block that uses it, whatever ends that, and after
    ``seconds`` at the latest.
    """

    def __init__(self, sizes: dict[str, int], *, seconds: float | None = None) -> None:
        self._names = list(sizes)
        self._place = {name: number for number, name in enumerate(sizes)}
        self._sizes = list(sizes.values())
        self._seconds = seconds
        self._late = False

    def __enter__(self) -> ModelWorker:
        # What libraries print is kept out of the pipes, or it would fill them.
        self._said = tempfile.TemporaryFile()
        self._process = subprocess.Popen(  # noqa: S603 - ourselves
            [sys.executable, "-P", worker.__file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            env={**os.environ, **SETTINGS},
            start_new_session=True,  # Ctrl-C reaches us, and we end it
        )
        self._clock: threading.Timer | None = None
        if self._seconds is not None:
            self._clock = threading.Timer(self._seconds, self._stop)
            self._clock.daemon = True
            self._clock.start()
        try:
            ready, _ = self._ask({"sizes": self._sizes})
        except BaseException:
            # A process that did not start well must not be left behind.
            self.__exit__(None, None, None)
            raise
        if "missing" in ready:
            self.__exit__(None, None, None)
            raise MissingExtra(MISSING)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._clock is not None:
            self._clock.cancel()
        # Killed, not asked: it holds nothing that would have to be saved.
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout, self._said):
            if pipe is not None:
                _close_pipe(pipe)

    def fit(self, measurements: Sequence[NoisyMarginal], total: float) -> None:
        """The model that comes nearest to all counts, in units of their noise."""
        arrays = []
        for measurement in measurements:
            arrays += [measurement.counts, _multiples(measurement)]
        cliques = self._numbers([measurement.clique for measurement in measurements])
        self._ask(
            {
                "do": "fit",
                "cliques": cliques,
                "sigmas": [measurement.sigma for measurement in measurements],
                "total": total,
            },
            arrays,
        )

    def marginals(self, cliques: Sequence[Clique]) -> list[NDArray[np.float64]]:
        """What the model expects of some columns together."""
        return self._ask({"do": "marginals", "cliques": self._numbers(cliques)})[1]

    def model_sizes(self, present: Sequence[Clique], candidates: Sequence[Clique]) -> list[float]:
        """Megabytes of a model in which one clique more is measured, for every one of several."""
        question = {
            "do": "sizes",
            "present": self._numbers(present),
            "cliques": self._numbers(candidates),
        }
        megabytes: list[float] = self._ask(question)[0]["megabytes"]
        return megabytes

    def draw(self, rows: int, seed: int) -> dict[str, NDArray[np.int64]]:
        """Rows of the model, as cells by column."""
        # The seed in four words of 32 bits, as the generator takes it.
        words = [(seed >> shift) & 0xFFFFFFFF for shift in (0, 32, 64, 96)]
        columns = self._ask({"do": "draw", "rows": rows, "seed": words})[1]
        return dict(zip(self._names, columns, strict=True))

    def _numbers(self, cliques: Sequence[Clique]) -> list[list[int]]:
        return [[self._place[name] for name in clique] for clique in cliques]

    def _ask(self, header: Document, arrays: Sequence[Any] = ()) -> tuple[Document, list[Any]]:
        """Ask and wait; whatever went wrong on the other side is an error here."""
        try:
            worker.send(self._process.stdin, header, arrays)  # type: ignore[arg-type]
            answer, arrays_received = worker.receive(self._process.stdout)  # type: ignore[arg-type]
        # The other side is gone: its exit code tells why.
        except (EOFError, OSError):
            raise self._gone() from None
        if "failed" in answer:
            raise FittingFailed(
                OUT_OF_MEMORY if answer["memory"] else _failure_message(answer["failed"])
            )
        return answer, arrays_received

    def _stop(self) -> None:
        self._late = True
        self._process.kill()

    def _gone(self) -> FittingFailed:
        code = self._process.wait()
        if self._late:
            return FittingFailed(
                f"synthesize_privately: fitting took more than the allowed {self._seconds:g} "
                "seconds; what was spent stays spent. Allow more seconds, merge columns or "
                "categories, or use method: mst"
            )
        # Ended by signal 9: where nobody else ends it, that is the system short of memory.
        return FittingFailed(OUT_OF_MEMORY if code == -9 else _failure_message(f"exit code {code}"))


def _failure_message(reason: str) -> str:
    return (
        f"synthesize_privately: the process that fits the model ended with {reason}; what was spent"
        " stays spent. Check that the extra is installed as a whole: pip install"
        " 'sfumato[synthetic]'"
    )


def _multiples(measurement: NoisyMarginal) -> NDArray[np.float64]:
    if measurement.merged is None:
        return measurement.counts * 0 + 1
    return measurement.merged


def _close_pipe(pipe: Any) -> None:
    """Close a pipe whose other end may be gone."""
    try:
        pipe.close()
    except OSError:
        return
