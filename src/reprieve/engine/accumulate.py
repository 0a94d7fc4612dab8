"""One that is enough goes alone, else they go together: a step of the search, for domains that know a gap.

Candidates stand in the order in which they are asked. The first that covers the gap alone goes alone, wherever it
stands; but as soon as those asked so far cover it together, they go together and nobody after them is asked.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from reprieve.engine.arrays import Ints, Mask

Amounts = NDArray[Any]
_COUNTABLE = 2**62
LARGEST = 2**63 - 1


def one_or_together(gap: list[int], shares: Ints, candidates: Mask) -> list[int] | None:
    """The ranks that make way; None: not even all of them cover the gap. `shares`: a row a rank, a column a resource.

    Who holds nothing of what is missing is passed over: its leaving would not help.
    """
    if not gap or max(gap) > LARGEST:
        return None
    ranks = (candidates & (shares > 0).any(axis=1)).nonzero()[0]
    if not len(ranks):
        return None
    # More than the gap is as good as the gap: what is added up stays small enough to count.
    useful: Amounts = np.minimum(shares[ranks], np.array(gap, dtype=np.int64))
    if max(gap) * len(ranks) >= _COUNTABLE:
        useful = useful.astype(object)
    together = _first((useful.cumsum(axis=0) >= gap).all(axis=1))
    alone = _first((useful >= gap).all(axis=1))
    if alone is not None and (together is None or alone <= together):
        return [int(ranks[alone])]
    return None if together is None else ranks[: together + 1].tolist()


def _first(holds: Any) -> int | None:
    """Where something holds first."""
    place = int(holds.argmax())
    return place if holds[place] else None
