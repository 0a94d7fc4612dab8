"""What a plan for a binding says beyond what plans of all policies say: its effects need it."""

from collections.abc import Sequence
from typing import NamedTuple

from reprieve.model.names import UnitName
from reprieve.model.resources import NOTHING, Resources
from reprieve.policies.federation.bindings import BindingFacts
from reprieve.policies.federation.division import Division
from reprieve.policies.federation.residents import Resident


class BindingTerms(NamedTuple):
    """How many replicas go where, and who loses which cluster."""

    facts: BindingFacts
    division: Division = {}
    evictions: Sequence[Resident] = ()
    gap: Resources = NOTHING
    """What was missing before they left."""

    @property
    def placement(self) -> dict[UnitName, str]:
        """`dublin`; `dublin=3,frankfurt=2` where it is more than one, with the replicas that are there already."""
        if not self.division:
            return {}
        total = self.facts.after(self.division)
        parts = [f"{name}={replicas}" if replicas and len(total) > 1 else name for name, replicas in total.items()]
        return {self.facts.unit: ",".join(parts)}
