"""What policies have in common that look for less than their design's own order found."""

from reprieve import texts
from reprieve.configuration import Settings
from reprieve.engine.improvement import Improved
from reprieve.engine.plan import Remark
from reprieve.engine.preemption import BasePolicy
from reprieve.engine.reasons import FewerAreEnough


class ImprovingPolicy(BasePolicy):
    """A policy that says what its rules allowed."""

    settings: Settings

    def search_steps(self) -> int:
        return self.settings.search_steps if self.settings.search != "Design" else 0

    def improved(self, better: Improved) -> Remark:
        before, after = better.before, better.after
        reason = FewerAreEnough(
            None if before is None else before.victims,
            after.victims,
            0 if before is None else before.violations,
            after.violations,
        )
        return texts.remarks.fewer_are_enough(reason)
