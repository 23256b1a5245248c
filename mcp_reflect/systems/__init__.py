"""The systems of the five documents, one file each: thin adapters over the services (docs/systems.md)."""

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

_T = TypeVar("_T")


def run(work: Callable[[], Coroutine[Any, Any, _T]]) -> _T:
    """Run a coroutine from plain code, whether or not a loop runs in this thread."""
    with ThreadPoolExecutor(max_workers=1) as thread:
        return thread.submit(asyncio.run, work()).result()
