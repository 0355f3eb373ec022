"""What every k would cost a table: from its own figures, and by the steps of a recipe."""

from __future__ import annotations

import polars as pl

import sfumato as sf


def test_a_table_and_its_recipe_say_what_each_k_costs():
    from sfumato.core.progress import silent
    from sfumato.guidance.cost_of_k import choose_for

    people = sf.read(
        pl.DataFrame({"age": [30] * 6 + [31] * 4 + [70] * 2, "n": range(12), "w": [10] * 12})
    )
    people = people.with_roles(quasi="age", keep="n", weight="w").with_hierarchies(
        age=sf.suppress()
    )
    recipe = sf.Recipe(people.schema, (sf.KAnonymity(2),), (sf.GlobalRecoding(budget=0.2),))
    found = choose_for(people, recipe, risk=0.2, progress=silent)
    # sizes 6, 4, 2: below 3 stand 2 records, below 5 stand 6, below 10 all; 2 of 12 may go; the top
    # is one class of 12
    assert [(p.k, p.exposed, p.suppressed) for p in found.prices] == [
        (3, 2, 2),
        (5, 6, 0),
        (10, 12, 0),
        (20, 12, None),
    ]
    assert found.prices[1].loss == 1.0
    assert (found.asked.strict, found.reachable) == (5, 5)
    assert found.asked.population == 120 and found.asked.sample is not None
    assert found.sentences()[-1] == "Choose k = 5: the recipe reaches it at a loss of 100 %."
    far = choose_for(people, recipe, risk=0.05, progress=silent)
    assert far.reachable == 10
    assert ", which bounds the risk by" in far.sentences()[-1]
