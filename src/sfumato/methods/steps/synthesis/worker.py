"""Fits graphical models in a process of its own: jax wants settings that hold for a whole process,
and must not be forked.

It is started as a script, knows nothing of sfumato, and is told noisy counts only: no data ever
come here. Columns are numbers here. Messages are a header in JSON and arrays, in both directions;
the first thing it says is that it is ready.
"""

from __future__ import annotations

import io
import json
import os
import struct
import sys
from collections.abc import Sequence
from typing import Any, BinaryIO

import numpy as np

from sfumato.core.fields import Document

LENGTH = struct.Struct("<Q")
ITERATIONS = 1000


def send(to: BinaryIO, header: Document, arrays: Sequence[Any] = ()) -> None:
    """Write one message."""
    text = io.BytesIO()
    np.savez(
        text,
        header=np.frombuffer(json.dumps(header).encode(), dtype=np.uint8),
        **dict(_number_arrays(arrays)),
    )
    to.write(LENGTH.pack(text.tell()) + text.getvalue())
    to.flush()


def receive(source: BinaryIO) -> tuple[Document, list[Any]]:
    """Read one message; EOFError where there will be none."""
    length = LENGTH.unpack(_exactly(source, LENGTH.size))[0]
    # Arrays only: pickles could run code.
    with np.load(io.BytesIO(_exactly(source, length)), allow_pickle=False) as content:
        header = json.loads(content["header"].tobytes())
        return header, [content[f"array{i}"] for i in range(len(content.files) - 1)]


def _number_arrays(arrays: Sequence[Any]) -> Document:
    return {f"array{i}": np.asarray(array) for i, array in enumerate(arrays)}


def _exactly(source: BinaryIO, length: int) -> bytes:
    content = source.read(length)
    # A short read means that the other side has ended.
    if len(content) < length:
        raise EOFError
    return content


class Modeller:
    """One model after another of the same columns; the next begins where the last ended."""

    def __init__(self, sizes: Sequence[int]) -> None:
        import mbi

        self.mbi = mbi
        names = map(str, range(len(sizes)))
        self.domain = mbi.Domain(tuple(names), tuple(sizes))
        self.model: Any = None

    def fit(self, header: Document, arrays: Sequence[Any]) -> tuple[Document, list[Any]]:
        """Fit a model to noisy counts; of every clique the counts, and the variances of its cells
        as multiples of σ².
        """
        from mbi import estimation

        cliques = header["cliques"]
        sigmas = header["sigmas"]
        pairs = zip(arrays[::2], arrays[1::2], strict=True)
        noisy = []
        for clique, sigma, (counts, cells_merged) in zip(cliques, sigmas, pairs, strict=True):
            noisy.append(self._measurement(_clique(clique), counts, cells_merged, sigma))
        self.model = estimation.MirrorDescent().estimate(
            self.domain, noisy, known_total=header["total"], iters=ITERATIONS, warm_start=self.model
        )
        return {}, []

    def _measurement(
        self, clique: tuple[str, ...], counts: object, cells_merged: Any, sigma: float
    ) -> Any:
        if (cells_merged == 1).all():
            return self.mbi.LinearMeasurement(counts, clique, stddev=sigma)
        # A cell of m merged ones has m times the variance: divided by its root, all are alike.
        weights = 1 / np.sqrt(cells_merged)
        query = self.mbi.marginal_loss.WeightedQuery(weights)
        return self.mbi.LinearMeasurement(counts * weights, clique, stddev=sigma, query=query)

    def marginals(self, header: Document, _: Sequence[Any]) -> tuple[Document, list[Any]]:
        """What the model thinks of some cliques."""
        return {}, [self._marginal(_clique(clique)) for clique in header["cliques"]]

    def _marginal(self, clique: tuple[str, ...]) -> Any:
        """By numpy: every new clique would be compiled again, which takes a hundred times as long
        as the sums.
        """
        if self.model.marginals.supports(clique):
            return np.asarray(self.model.marginals.project(clique).datavector(), dtype=np.float64)
        import opt_einsum

        operands: list[Any] = []
        for part in self.model.potentials.cliques:
            logs = np.asarray(self.model.potentials[part].values, dtype=np.float64)
            # Less the largest: exponentials of large potentials would overflow.
            operands += [np.exp(logs - logs.max()), [int(name) for name in part]]
        axes = [int(name) for name in clique]
        counts = np.asarray(opt_einsum.contract(*operands, axes)).ravel()
        whole = float(counts.sum())
        # Where even that fails the library's own, slower way is taken.
        if not np.isfinite(whole) or whole <= 0:
            return np.asarray(self.model.project(clique).datavector(), dtype=np.float64)
        return counts * (float(self.model.total) / whole)

    def sizes(self, header: Document, _: Sequence[Any]) -> tuple[Document, list[Any]]:
        """Megabytes of the model if one more clique were measured, for every one of several."""
        from mbi import junction_tree

        present = [_clique(clique) for clique in header["present"]]
        candidates = [[*present, _clique(clique)] for clique in header["cliques"]]
        return {
            "megabytes": [
                float(junction_tree.hypothetical_model_size(self.domain, cliques))
                for cliques in candidates
            ]
        }, []

    def draw(self, header: Document, _: Sequence[Any]) -> tuple[Document, list[Any]]:
        """Rows of the model, by columns; the library draws from numpy's global stream, which is
        ours here.
        """
        words = [int(word) for word in header["seed"]]
        # A process of its own, for a library that draws from there.
        np.random.seed(words)  # noqa: NPY002
        synthetic = self.model.synthetic_data(rows=header["rows"])
        return {}, [
            np.asarray(synthetic.data[name], dtype=np.int64) for name in self.domain.attributes
        ]


def _clique(numbers: Sequence[int]) -> tuple[str, ...]:
    return tuple(map(str, numbers))


def prepare_process() -> None:
    """Set what must be set before the libraries are imported."""
    import jax

    settings: Any = jax.config
    settings.update("jax_enable_x64", True)  # with 32 bits the fit stalls
    settings.update("jax_enable_compilation_cache", False)
    settings.update("jax_platforms", "cpu")


def main() -> None:
    """Answer messages until there are no more."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever libraries print must not stand between the messages
    questions = sys.stdin.buffer
    try:
        prepare_process()
        header, _ = receive(questions)
        modeller = Modeller(header["sizes"])
        send(answers, {"ready": True})
    except ImportError as error:
        send(answers, {"missing": error.name or "mbi"})
        return
    verbs = {
        "fit": modeller.fit,
        "marginals": modeller.marginals,
        "sizes": modeller.sizes,
        "draw": modeller.draw,
    }
    while True:
        try:
            header, arrays = receive(questions)
        except EOFError:
            return
        try:
            send(answers, *verbs[header["do"]](header, arrays))
        except MemoryError:
            send(answers, {"failed": "MemoryError", "memory": True})
        except Exception as error:  # noqa: BLE001 - whatever it is, who asked must hear of it
            send(
                answers,
                {"failed": type(error).__name__, "memory": "RESOURCE_EXHAUSTED" in str(error)},
            )


if __name__ == "__main__":
    main()
