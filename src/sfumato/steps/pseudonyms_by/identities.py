"""Who is in a table: the different identities, and where each is."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from sfumato.core.encoding import SEPARATOR, encode_column, joint_label

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    from sfumato.core.dataset import Dataset


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Identities:
    """``texts`` are sorted, each once; ``rows`` says per column which of them each row has (one past the end: none)."""

    texts: Sequence[str]
    rows: Mapping[str, NDArray[np.int64]]

    def written(self, name: str, codes: Sequence[str], dtype: pl.DataType) -> pl.Series:
        """A column with the code of each row's identity; missing stays missing."""
        import polars as pl

        return pl.Series(name, [*codes, None], dtype=pl.String).cast(dtype).gather(self.rows[name])

    def repeated(self, name: str) -> int:
        """How many identities of a column have several rows."""
        import numpy as np

        return int((np.bincount(self.rows[name], minlength=len(self.texts) + 1)[:-1] > 1).sum())


def identities_of(dataset: Dataset, columns: Sequence[str], *, together: bool) -> Identities:
    """The identities of some columns, all in one list; together, the columns make one identity under the first's name."""
    import numpy as np

    found = {
        name: _encoded(dataset, columns if together else (name,)) for name in (columns[:1] if together else columns)
    }
    lists = [[text for text in texts if text is not None] for texts, _ in found.values()]
    every = sorted(lists[0] if len(lists) == 1 else set().union(*lists))  # quick where one list is sorted already
    rows = {}
    for name, (texts, codes) in found.items():
        if texts[: len(every)] != every:
            place: dict[str | None, int] = {**{text: i for i, text in enumerate(every)}, None: len(every)}
            rows[name] = np.array([place[text] for text in texts], dtype=np.int64)[codes]
        else:
            rows[name] = codes
    return Identities(every, rows)


def _encoded(dataset: Dataset, names: Sequence[str]) -> tuple[list[str | None], NDArray[np.int64]]:
    """The identities of a column or of several together, missing last if it occurs, and the number of each row's."""
    import polars as pl

    if len(names) > 1:
        joint = encode_column(dataset, tuple(names))
        return list(joint.labels), joint.codes
    column = dataset.column(names[0])
    labels, codes = _encoded_text(column) if column.dtype == pl.String else _encoded_any(dataset, names[0])
    return [_identity(label) for label in labels], codes


def _encoded_any(dataset: Dataset, name: str) -> tuple[Sequence[str | None], NDArray[np.int64]]:
    encoded = encode_column(dataset, name)
    return encoded.labels, encoded.codes


def _encoded_text(column: pl.Series) -> tuple[Sequence[str | None], NDArray[np.int64]]:
    """Encode text without leaving polars: three times as fast as the general way, and the same."""
    import numpy as np

    values = column.drop_nulls().unique().sort().to_list()
    ranks = column.rank("dense").fill_null(len(values) + 1)
    return [*values, *([None] if column.null_count() else [])], ranks.to_numpy().astype(np.int64) - 1


def _identity(label: str | None) -> str | None:
    return f"={label}" if label is not None and SEPARATOR not in label else joint_label((label,))
