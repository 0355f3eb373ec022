"""What the bench can be asked, and where the function of each is.

A task is entered here and nowhere else: its name, its ``module:function`` below this room, and its
lane. ``quick`` ones are counts that follow the mouse; ``long`` ones tell how far they are and can
be stopped. A function takes the bench, the progress to call, and named plain values (a recipe is
a :class:`~sfumato.core.recipe.Recipe`); it gives plain data back.
"""

from __future__ import annotations

import dataclasses
from typing import Literal


@dataclasses.dataclass(frozen=True)
class Task:
    """Where a task is, in which lane it runs, and whether it is about the recipe (which is then
    given to it).

    One that cannot be ``cancelled`` ends soon by itself: what it writes stands whole or not at all.
    """

    home: str
    lane: Literal["quick", "long"] = "quick"
    recipe: bool = True
    cancelled: bool = True


TASKS: dict[str, Task] = {
    "open_data": Task("data:open_data", "long", recipe=False),
    "look_at_path": Task("data:look_at_path", "long", recipe=False),
    "import_arx": Task("data:import_arx", "long", recipe=False),
    "propose": Task("data:propose", "long", recipe=False),
    "columns": Task("data:columns", "long", recipe=False),
    "alone": Task("data:alone"),
    "suggest": Task("data:suggest", recipe=False),
    "rows": Task("data:rows"),
    "overview": Task("hierarchies:overview"),
    "levels": Task("hierarchies:levels"),
    "without_place": Task("hierarchies:without_place"),
    "search_levels": Task("hierarchies:search_levels", "long"),
    "begin": Task("hierarchies:begin"),
    "groups": Task("hierarchies:groups"),
    "regroup": Task("hierarchies:regroup"),
    "delimiter_of": Task("hierarchies:delimiter_of", recipe=False),
    "export_hierarchy": Task("hierarchies:export_hierarchy"),
    "today": Task("promises:today"),
    "make": Task("run:make", "long"),
    "standing": Task("promises:standing"),
    "combinations": Task("promises:combinations"),
    "policy_presets": Task("policies:presets", recipe=False),
    "read_policy": Task("policies:read_policy", recipe=False),
    "compile_policy": Task("policies:compile_policy", "long"),
    "comply_policy": Task("policies:comply_policy", "long", recipe=False),
    "survey": Task("explore:survey", "long"),
    "front": Task("explore:front"),
    "nodes_near": Task("explore:nodes_near"),
    "list_nodes": Task("explore_nodes:list_nodes"),
    "nodes_around": Task("explore_nodes:nodes_around"),
    "reasons": Task("explore:reasons"),
    "level_examples": Task("explore:level_examples"),
    "compare": Task("explore:compare", "long", recipe=False),
    "made_versions": Task("look:made_versions", recipe=False),
    "look": Task("look:look", recipe=False),
    "look_columns": Task("look:look_columns", recipe=False),
    "look_pair": Task("look:look_pair", recipe=False),
    "look_rows": Task("look:look_rows", recipe=False),
    "why_risky": Task("look:why_risky", recipe=False),
    "look_classes": Task("look:look_classes", recipe=False),
    "attack": Task("look:attack", "long", recipe=False),
    "look_attacks": Task("look:look_attacks", recipe=False),
    "look_combinations": Task("look_figures:look_combinations", recipe=False),
    "look_risks": Task("risk_figures:look_risks", recipe=False),
    "look_summary": Task("look_figures:look_summary", recipe=False),
    "look_prediction": Task("prediction:look_prediction", "long", recipe=False),
    "look_contract": Task("look:look_contract", recipe=False),
    "measure": Task("look:measure", "long", recipe=False),
    "budget_state": Task("questions:budget_state"),
    "start_budget": Task("questions:start_budget", "long"),
    "error_expected": Task("questions:error_expected"),
    "ask_question": Task("questions:ask_question", "long"),
    "draft_reports": Task("look:draft_reports", "long", recipe=False),
    "unpromised": Task("promises:unpromised"),
    "price_of_promises": Task("promises:price_of_promises", "long"),
    "before_writing": Task("before_writing:before_writing"),
    "decide": Task("decide:decide_release", "long"),
    "help_decision": Task("decide:help_decision", "long"),
    "begin_register": Task("write:begin_register", "long", recipe=False, cancelled=False),
    "ask_register": Task("write:ask_register", "long", recipe=False),
    "write": Task("write:write", "long", recipe=False, cancelled=False),
}


def by_the_clock(seconds: float) -> float:
    """Seconds after which no other attack is begun by who may compute for so many: a busy machine
    shares its processors, and loops are compiled once.

    >>> by_the_clock(20)
    80
    """
    return 3 * seconds + 20
