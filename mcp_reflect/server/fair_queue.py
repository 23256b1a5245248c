"""Turns for heavy work of a service: the pile of one tenant does not delay another."""

import asyncio
from collections import Counter, OrderedDict, deque
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Final

AT_ONCE: Final = 2
"""Pieces of heavy work that run at the same time, each of another tenant: more would slow light requests down."""

MOST_HELD: Final = 16 << 20
"""Bytes of a tenant that wait for their turn; a request above is refused, and its client sends it later."""


class FairQueue:
    """Hands out turns to tenants: one at most to each, AT_ONCE in all.

    Tenants that wait come one after the other, however much each has to do: with a single turn, and the requests a1 a2
    a3 of one tenant before b1 of another, the order is a1 a2 b1 a3: b takes its turn before a has all of its own.
    """

    def __init__(self, at_once: int = AT_ONCE, most_held: int = MOST_HELD) -> None:
        self._at_once = at_once
        self._most_held = most_held
        self._running: set[str] = set()
        # The tenants that wait; the one whose turn comes next is the first.
        self._waiting: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()
        self._held: Counter[str] = Counter()

    def hold(self, tenant: str, size: int) -> bool:
        """Count the bytes of a request that waits; False, and not counted, if the tenant then has too many.

        A tenant's only request is never refused: else one that is larger than the limit could never be sent.
        """
        held = self._held[tenant]
        if held and held + size > self._most_held:
            return False
        self._held[tenant] += size
        return True

    def let_go(self, tenant: str, size: int) -> None:
        """Count the bytes of a request as done, which `hold` counted."""
        self._held[tenant] -= size
        if not self._held[tenant]:
            del self._held[tenant]

    @asynccontextmanager
    async def turn(self, tenant: str) -> AsyncGenerator[None]:
        """Wait for a turn of a tenant, and give it back at the end."""
        if tenant in self._running or len(self._running) >= self._at_once:
            await self._wait(tenant)
        else:
            self._running.add(tenant)
        try:
            yield
        finally:
            self._give_back(tenant)

    async def _wait(self, tenant: str) -> None:
        """Wait until a turn is given to the tenant."""
        turn = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(tenant, deque()).append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            came_just_then = turn.done() and not turn.cancelled()
            if came_just_then:  # nobody will use it: the next one gets it
                self._give_back(tenant)
            raise

    def _give_back(self, tenant: str) -> None:
        """End the running work of a tenant, and give turns to the tenants that wait, in their order."""
        self._running.discard(tenant)
        for name in list(self._waiting):
            if len(self._running) >= self._at_once:
                return
            if name not in self._running:
                self._call_next(name)

    def _call_next(self, tenant: str) -> None:
        """Give a turn to the first who waits of a tenant, and put the tenant at the end of the circle."""
        turns = self._waiting.pop(tenant)
        while turns:
            turn = turns.popleft()
            if not turn.done():
                self._running.add(tenant)
                turn.set_result(None)
                break
        if turns:
            self._waiting[tenant] = turns
