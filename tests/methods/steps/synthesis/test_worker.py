"""Fits graphical models in a process of its own: jax wants settings that hold for a whole process,
and must not be forked."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.methods.steps.synthesis import worker


def test_messages_come_through_as_they_were_sent(tmp_path):
    with (tmp_path / "m").open("w+b") as file:
        worker.send(file, {"do": "fit", "x": [1, 2]}, [np.arange(3.0), np.array([[1, 2]])])
        file.seek(0)
        header, arrays = worker.receive(file)
        assert (
            header == {"do": "fit", "x": [1, 2]}
            and arrays[0].tolist() == [0, 1, 2]
            and arrays[1].tolist() == [[1, 2]]
        )
        with pytest.raises(EOFError):
            worker.receive(file)
