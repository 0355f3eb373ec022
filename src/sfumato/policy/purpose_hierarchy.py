"""The hierarchy of purposes: one parent each, no circles, and nothing in a sub-purpose that its parent does not allow."""

from __future__ import annotations

from sfumato.policy.findings import Findings
from sfumato.policy.policy import Policy, Purpose


def lint_hierarchy(found: Findings, policy: Policy) -> None:
    """Find everything inconsistent in the hierarchy of a policy's purposes."""
    known = {p.name: p for p in policy.purposes}
    parents: dict[str, str] = {}
    for i, (above, below) in enumerate(policy.hierarchy):
        path = f"$.hierarchy[{i}]"
        if above not in known and below not in known:
            found.warning("unknown_purpose", path, f"neither {above!r} nor {below!r} is a purpose of this policy")
        if parents.setdefault(below, above) != above:
            found.error("two_parents", path, f"purpose {below!r} has two super-purposes; one is allowed")
        if above in known and below in known:
            _within(found, known[above], known[below], path)
    _circles(found, parents)


def _circles(found: Findings, parents: dict[str, str]) -> None:
    cleared: set[str] = set()
    for start in parents:
        walked: list[str] = []
        purpose = start
        while purpose in parents and purpose not in walked and purpose not in cleared:
            walked.append(purpose)
            purpose = parents[purpose]
        if purpose in walked:
            circle = " → ".join([*walked[walked.index(purpose) :], purpose])
            found.error("cyclic_purposes", "$.hierarchy", f"purposes stand above themselves: {circle}")
        cleared.update(walked)


def _within(found: Findings, above: Purpose, below: Purpose, path: str) -> None:
    parts = (
        ("data", {d.name for d in below.data} - {d.name for d in above.data}),
        ("recipients", {r.name for r in below.recipients} - {r.name for r in above.recipients}),
        ("legal bases", {b.name for b in below.legal_bases} - {b.name for b in above.legal_bases}),
    )
    for what, more in parts:
        if more:
            told = f"sub-purpose {below.name!r} has {what} that {above.name!r} does not have: {', '.join(sorted(more))}"
            found.error("sub_purpose_wider", path, told)
    if (above.opt_out, above.required) != (below.opt_out, below.required):
        told = f"sub-purpose {below.name!r} must be required and open to opting out just as {above.name!r} is"
        found.error("sub_purpose_differs", path, told)
