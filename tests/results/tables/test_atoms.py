"""What a table is put beside: which cells can hold somebody, what linked tables tell, what bounds a
total, and who is alone.
"""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

pytest.importorskip("highspy")

import sfumato as sf
from sfumato.errors import Unsatisfiable
from sfumato.release.register.store import start_register
from sfumato.results.tables.audit import audit
from sfumato.results.tables.problem import NOBODY
from sfumato.results.tables.published_tables import put_beside


@pytest.fixture
def register(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with start_register(tmp_path / "r.db") as opened:
        yield opened


def frame_of(**groups):
    """Records of groups: ``a_y=3`` are three records of region a and sex y, the last of them in an
    earlier year.
    """
    kinds = [name.split("_") for name, count in groups.items() for _ in range(count)]
    years = [
        (number == count - 1 and "old") or "new"
        for count in groups.values()
        for number in range(count)
    ]
    regions, sexes = zip(*kinds, strict=True)
    return pl.DataFrame(
        {"region": regions, "sex": sexes, "year": years, "x": np.arange(len(kinds)) % 7 + 10.0}
    )


def beside(frame, register, by, rules, measure="count", **options):
    where = options.pop("where", None)
    judged = sf.tabulate(frame, by, measure, where=where, register=register).sensitive(*rules)
    memory = judged.table.memory
    earlier, unknown = memory.earlier(judged)
    assert earlier and not unknown
    problem = judged.problem(total_known=False, **options)
    return put_beside(
        judged, problem, memory, earlier, singles=judged.table.attacked_by_singles(None)
    )


def test_an_empty_cell_that_nobody_can_be_in_is_no_way_out(register, tmp_path):
    """The first table tells that nobody is in (a, z); the second may suppress that cell, and hides
    nothing by it.
    """
    frame = frame_of(a_y=12, b_y=9, b_z=11)
    rules = [sf.Threshold(3)]
    sf.tabulate(frame, ["region", "sex"], register=register).protect(rules).write(
        tmp_path / "one", to="x"
    )
    joint = beside(frame, register, ["region", "sex"], rules, where="year = new", zeros="free")
    seen = audit(joint.problem, joint.hidden(np.ones(joint.size, dtype=bool)))
    empty = [at for at in range(joint.size) if joint.problem.value[at] == 0]
    assert len(empty) == 1
    assert seen.high[seen.hidden.tolist().index(empty[0])] == 0


def test_an_empty_cell_that_was_suppressed_may_hold_somebody(register, tmp_path):
    frame = frame_of(a_y=12, b_y=9, b_z=11)
    rules = [sf.Threshold(3, zeros=True)]
    sf.tabulate(frame, ["region", "sex"], register=register).protect(rules).write(
        tmp_path / "one", to="x"
    )
    joint = beside(frame, register, ["sex", "region"], rules, zeros="free")
    seen = audit(joint.problem, joint.hidden(np.ones(joint.size, dtype=bool)))
    empty = next(at for at in range(joint.size) if joint.problem.value[at] == 0)
    assert seen.high[seen.hidden.tolist().index(empty)] >= 3


def test_linked_tables_do_not_tell_what_they_are_not_broken_down_by(register, tmp_path):
    """Regions and sexes are published side by side; regions of one sex would tell the one person of
    the other in region a.
    """
    frame = frame_of(a_y=10, a_z=1, b_y=10, b_z=9, c_y=10, c_z=8)
    rules = [sf.Threshold(3)]
    first = sf.tabulate(frame, [["sex"], ["region"]], register=register).protect(rules)
    assert not first.hidden.any()
    first.write(tmp_path / "one", to="x")
    second = sf.tabulate(frame, ["region"], where="sex = y", register=register).protect(rules)
    told = dict(second.to_polars().iter_rows())
    assert told["a"] == "x"
    assert "x" in (told["b"], told["c"], told["Total"])
    assert second.beside.between == {1: 1}


def test_who_knows_cells_roughly_does_not_know_a_suppressed_total(register, tmp_path):
    """One person more than before: the new total has to go, and is known within the percentage, no
    better.
    """
    frame = frame_of(a_y=12, b_y=9, b_z=11)
    rules = [sf.Threshold(5)]
    more = pl.concat([frame, frame[:1].with_columns(x=pl.lit(99.0))])
    sf.tabulate(frame, ["region"], register=register).protect(rules).write(tmp_path / "one", to="x")
    made = sf.tabulate(more, ["region"], register=register).protect(
        rules, options=sf.ProtectOptions(prior=100.0)
    )
    assert made.beside.verdict == "holds"
    assert dict(made.to_polars().iter_rows()) == {"Total": "x", "a": "x", "b": "20"}
    assert sf.verify(
        made.write(tmp_path / "two", to="x") / "share", owner=tmp_path / "two" / "owner"
    ).holds


def test_only_what_cells_tell_is_known_to_who_is_alone_in_it(register, tmp_path):
    """One person is alone in (a, z), which follows from no cell of two tables by region and by
    sex.
    """
    frame = frame_of(a_y=12, a_z=1, b_y=9, b_z=11)
    rules = [sf.Threshold(3)]
    sf.tabulate(frame, ["region"], "sum(x)", register=register).protect(rules).write(
        tmp_path / "one", to="x"
    )
    assert (beside(frame, register, ["sex"], rules, "sum(x)").problem.owner == NOBODY).all()
    joint = beside(frame, register, ["region", "sex"], rules, "sum(x)")
    assert (joint.problem.owner[: joint.size] != NOBODY).sum() == 1


def test_one_cell_and_one_person_are_said_as_such():
    frame = frame_of(a_y=1)
    with pytest.raises(
        Unsatisfiable, match=r"^the only cell of the table is sensitive, .* holds 1 person \("
    ):
        sf.tabulate(frame, ["region"]).protect([sf.Threshold(3)])
