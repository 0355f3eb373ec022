"""Periods of the calendar: how they are written, and where they begin and end."""

from __future__ import annotations

import datetime

from hypothesis import given
from hypothesis import strategies as st

from sfumato.methods.hierarchies.date_periods import bounds, read_period, write_period
from tests.methods.hierarchies.test_date_periods import DAY, days


@given(days, st.sampled_from(["day", "week", "month", "quarter", "year", "decade"]))
def test_periods_begin_and_end_where_their_label_changes(day, period):
    first, after = (datetime.date.fromordinal(n) for n in bounds(period, day))
    label = write_period(period, day)
    assert first <= day < after
    assert {write_period(period, first), write_period(period, after - DAY)} == {label}
    assert label not in {write_period(period, first - DAY), write_period(period, after)}
    kind, inside = read_period(label)
    assert (kind, write_period(period, inside)) == (period, label)
