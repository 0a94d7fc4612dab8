"""How many requests a second: a bucket of tokens, as Kubernetes' own clients have it."""

import asyncio
from collections.abc import Callable


class RateLimit:
    """`qps` requests a second in the long run, `burst` of them at once. Whoever waits is served in the order of asking.

    The server has limits of its own and says so with 429: that is for whoever sends.
    """

    def __init__(self, qps: float, burst: int, elapsed: Callable[[], float] | None = None) -> None:
        """No limit where `qps` is 0 or less. `elapsed`: the event loop's own clock, unless somebody says otherwise."""
        self._qps = qps
        self._burst = max(1, burst)
        self._elapsed = elapsed or (lambda: asyncio.get_running_loop().time())
        self._next: float | None = None
        """When a request may be sent that finds the bucket as the last one left it; earlier: there are tokens left."""

    async def wait(self) -> None:
        """Until the next request may be sent."""
        seconds = self.reserve()
        if seconds > 0:
            await asyncio.sleep(seconds)

    def reserve(self) -> float:
        """Take a token; how long until it is there."""
        if self._qps <= 0:
            return 0.0
        now = self._elapsed()
        filled = now - (self._burst - 1) / self._qps
        begins = filled if self._next is None else max(self._next, filled)
        self._next = begins + 1 / self._qps
        return max(0.0, begins - now)
