"""Programs written for five older engines run on these adapters, one file each, thin over the services.

decision_node: a graph's reflection on keep, kill or marry. engine_v2: reflections on an agent's events. self_correction:
reasoning that is checked and corrected. search_node: failed searches that are planned again. reflection_api, with its
reader judge_replies: checks of an agent's output by its own model. docs/systems.md has an example of each.
"""

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

_T = TypeVar("_T")


def run(work: Callable[[], Coroutine[Any, Any, _T]]) -> _T:
    """Run a coroutine from plain code, whether or not a loop runs in this thread."""
    with ThreadPoolExecutor(max_workers=1) as thread:
        return thread.submit(asyncio.run, work()).result()
