"""Lessons of an import made ready before the bank is locked: cleaned, judged, taken apart for the index.

That takes longer than writing them. It is done ahead of the writing, in a thread, so that a server goes on answering,
or in processes of its own where somebody asked for them.
"""

import asyncio
import os
import sys
from collections import deque
from collections.abc import AsyncGenerator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Final

from mcp_reflect.bank import lessons
from mcp_reflect.bank.written import Written, written
from mcp_reflect.clock import Clock
from mcp_reflect.models.common import Scope
from mcp_reflect.models.lesson import Lesson, LessonDraft

PAGE: Final = 200  # lessons made ready at once
LEAST_SHARED: Final = 5_000  # lessons from which on processes are worth their start, half a second

_NICE: Final = 5  # that the processes take less of a busy processor than a server does


@dataclass(frozen=True, slots=True)
class Ready:
    """A record as it will be stored; `written` is null where it may be merged into another one."""

    scope: Scope
    lesson: Lesson
    written: Written | None


def made_ready(drawn_up: Sequence[tuple[Scope, Lesson]], *, merge: bool = False) -> list[Ready]:
    """Records as they will be stored."""
    checked = [(scope, lessons.quarantined_if_suspicious(lesson)) for scope, lesson in drawn_up]
    return [Ready(scope, lesson, None if merge else written(scope, lesson)) for scope, lesson in checked]


async def ready(
    drafts: Sequence[tuple[Scope, LessonDraft]],
    clock: Clock,
    processes: int,
    *,
    merge: bool = False,
    least_shared: int = LEAST_SHARED,
) -> AsyncGenerator[list[Ready]]:
    """The drafts as records, in their order, a page at a time; some pages are made ahead.

    They are made by so many `processes` where that is more than one and there are `least_shared` of them, else in a
    thread. With `merge` they are not taken apart for the index yet.
    """
    shared = processes > 1 and len(drafts) >= least_shared
    executor = _processes(processes) if shared else ThreadPoolExecutor(1)
    loop = asyncio.get_running_loop()
    ahead: deque[asyncio.Future[list[Ready]]] = deque()
    try:
        for start in range(0, len(drafts), PAGE):
            page = [(scope, lessons.drawn_up(draft, scope, clock)) for scope, draft in drafts[start : start + PAGE]]
            ahead.append(loop.run_in_executor(executor, partial(made_ready, page, merge=merge)))
            if len(ahead) > (2 * processes if shared else 1):
                yield await ahead.popleft()
        while ahead:
            yield await ahead.popleft()
    finally:
        for one in ahead:
            one.cancel()
            with suppress(asyncio.CancelledError):
                await one
        executor.shutdown(wait=False, cancel_futures=True)


def _processes(count: int) -> Executor:
    # Imported here: a recall on the command line imports this module. New processes, not forks: this one has threads.
    from concurrent.futures import ProcessPoolExecutor  # noqa: PLC0415
    from multiprocessing import get_context  # noqa: PLC0415

    return ProcessPoolExecutor(count, mp_context=get_context("spawn"), initializer=_end_with_parent)


def _end_with_parent() -> None:
    """Have this process end when the one that asked for it does, however that ends: it would wait for work for ever.

    What anything here prints goes to stderr, for stdout may carry the protocol; and whoever recalls meanwhile has the
    processor first.
    """
    from multiprocessing import parent_process  # noqa: PLC0415 - see above
    from threading import Thread  # noqa: PLC0415 - same

    def watch() -> None:
        if (parent := parent_process()) is not None:
            parent.join()
            os._exit(1)

    Thread(target=watch, daemon=True).start()
    os.dup2(2, 1)
    if sys.platform != "win32":
        os.nice(_NICE)
