"""Who may be preempted by those who wait: what a policy's decisions for them say of everybody else.

For a policy that does not say whom else it would let preempt. What a rule protects is protected; who makes way, or was
only spared because it need not go, may be preempted.
"""

from collections.abc import Iterable, Sequence

import numpy as np

from reprieve.engine.exposure import ALLOWED, Asker, Exposure
from reprieve.engine.plan import Plan
from reprieve.engine.reasons import CheaperElsewhere, NoHelp, NoSuchPreemptor, NotEnough, Reason, Reprieved
from reprieve.model.names import UnitName

_BY_STEPS = (Reprieved, CheaperElsewhere, NotEnough, NoHelp)
"""Why somebody stays whom no rule protects from the asker."""


def by_those_who_wait(plans: Sequence[Plan], names: Iterable[UnitName]) -> Exposure:
    """One asker for each decision, which must still be fresh; `names` are all that could be asked about."""
    said = [_said(plan) for plan in plans]
    units = list(dict.fromkeys([*names, *(unit for found in said for unit in found)]))
    kinds = list(dict.fromkeys(reason.rule for found in said for reason in found.values() if reason is not None))
    numbers = {kind: number for number, kind in enumerate(kinds, 2)}
    protected = np.ones((len(plans), len(units)), dtype=np.int16)
    for row, found in enumerate(said):
        for column, unit in enumerate(units):
            if unit in found:
                reason = found[unit]
                protected[row, column] = ALLOWED if reason is None else numbers[reason.rule]
    askers = [Asker(plan.preemptor, 0) for plan in plans]
    return Exposure(askers, units, protected, lambda asker, unit: said[asker].get(units[unit]) or NoSuchPreemptor())


def _said(plan: Plan) -> dict[UnitName, Reason | None]:
    """What protects everybody within reach; None: nothing. In several places, the one where nothing does counts."""
    found: dict[UnitName, Reason | None] = {}
    for spared in plan.details.spared:
        reason = None if isinstance(spared.reason, _BY_STEPS) else spared.reason
        found[spared.unit] = reason if found.get(spared.unit, reason) is not None else None
    return {**found, **dict.fromkeys((victim.unit for victim in plan.victims), None)}
