"""The longest turn of the event loop while calls are answered; benchmarks take it too."""

import asyncio
import time


class Watch:
    """The work of calls: that of the process, and the longest turn of the event loop, in time of the processor."""

    def __init__(self) -> None:
        self.longest_turn = 0.0

    async def ticks(self) -> None:
        """Look at the clock of this thread at every turn of the loop."""
        last = time.thread_time()
        while True:
            await asyncio.sleep(0.001)
            now = time.thread_time()
            self.longest_turn, last = max(self.longest_turn, now - last), now
