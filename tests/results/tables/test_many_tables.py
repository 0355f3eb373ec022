"""Two thousand random small tables: none that is published fails the audit of a stranger who reads
what was written.
"""

from __future__ import annotations

import collections

import pytest

pytest.importorskip("highspy")

from tests.results.tables.many_tables import published

EACH = 100


@pytest.mark.parametrize("part", range(20))
def test_no_published_table_of_many_fails(part, tmp_path):
    words = collections.Counter()
    for number in range(part * EACH, (part + 1) * EACH):
        word, wrong = published(number, tmp_path)
        assert wrong == [], number
        words[word.split()[-1]] += 1
    assert words["holds"] > EACH // 2
