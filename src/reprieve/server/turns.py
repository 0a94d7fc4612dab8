"""One after the other: of many who have something to do at the same moment, one begins in each turn of the loop.

What each of them does is short. A hundred that were woken together would do it without a break all the same, and nobody
else would be served meanwhile. Who is alone does not wait at all.
"""

import asyncio
from collections import deque

from starlette.requests import Request


class Turns:
    """Whose turn it is."""

    def __init__(self) -> None:
        self._taken = False
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def next(self) -> None:
        """Wait until nobody else has begun in this turn of the loop."""
        loop = asyncio.get_running_loop()
        if self._taken:
            turn = loop.create_future()
            self._waiting.append(turn)
            await turn
        else:
            self._taken = True
            loop.call_soon(self._pass_on, loop)

    def _pass_on(self, loop: asyncio.AbstractEventLoop) -> None:
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():  # who has left meanwhile needs none
                turn.set_result(None)
                loop.call_soon(self._pass_on, loop)
                return
        self._taken = False


def turns_of(request: Request) -> Turns:
    """Those of the application that a request is made to."""
    turns: Turns = request.app.state.turns
    return turns
