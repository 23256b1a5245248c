"""Self-correction: an engine that takes reasoning steps, finds the failing ones, has them corrected, and verifies again.

Sums and equations are computed; all else is a language model's to judge. Without a model, only what is certainly wrong is
corrected, and the other steps come back as they were.
"""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from queue import SimpleQueue
from threading import Thread
from typing import Any, Final

from mcp_reflect.config import Settings
from mcp_reflect.llm.protocol import LLM, Reply, Request, Role
from mcp_reflect.models.critique import Critique
from mcp_reflect.services.critique import Iteration
from mcp_reflect.services.engine import Engine
from mcp_reflect.systems import run

Callback = Callable[[int, Sequence[str]], None]
SKIPPED: Final = ("lookup", "creative")
"""The kinds of task that a caller may name, for which steps are not checked."""


class SelfCorrection:
    """The engine of the document, by its methods and attributes; its plain functions also work in a running loop.

    `llm` is an object with `complete(request)`, the name of a model (`provider:model`), or None for that of the
    settings. `critique_prompt` and `improve_prompt` go before the prompts of an `llm` that is an object. `on_start` is
    called with the number of an iteration and its issues, `on_complete` with its number and the new steps.
    """

    def __init__(
        self,
        llm: LLM | str | None = None,
        max_iterations: int = 2,
        *,
        settings: Settings | None = None,
    ) -> None:
        self.settings = settings or Settings.from_env()
        if isinstance(llm, str):
            self.settings = replace(self.settings, llm=llm)
            llm = None
        self.llm = llm
        self.max_iterations = max_iterations
        self.critique_prompt = ""
        self.improve_prompt = ""
        self.on_start: Callback | None = None
        self.on_complete: Callback | None = None

    def enhance_reasoning(
        self, query: str, initial_trace: Sequence[str], *, kind: str | None = None
    ) -> list[str]:
        """Return the steps, corrected as far as possible. Those of a task of a kind in SKIPPED come back unchecked."""
        trace = list(initial_trace)
        if not trace or kind in SKIPPED or self.max_iterations <= 0:
            return trace

        async def work() -> Critique:
            """Have the steps checked and corrected by an engine of this call."""
            async with self._engine() as engine:
                return await engine.critique(
                    goal=query,
                    steps=trace,
                    max_iterations=self.max_iterations,
                    on_start=self.on_start,
                    on_complete=self.on_complete,
                )

        return list(run(work).corrected_steps) or trace

    def enhance_stream(self, query: str, initial_trace: Sequence[str]) -> Iterator[str]:
        """Yield what happens as text, as it happens: the steps, each iteration, and the last step as the answer."""
        trace = list(initial_trace)
        yield f"[REASON]\n{_numbered(trace)}\n\n"
        steps = trace
        iterations = 0
        for event in self._events(query, trace):
            if isinstance(event, Iteration):
                steps = list(event.steps)
                iterations = event.iteration
                if iterations == 1:
                    yield _verified(trace, event.issues)
                what_is_fixed = f"Fixing {len(event.issues)} issue(s)"
                yield f"[REFLECT]\n   Iteration {iterations}: {what_is_fixed}\n{_numbered(steps)}\n\n"
            elif isinstance(event, Critique) and not iterations:
                steps = list(event.corrected_steps) or trace
                yield _verified(trace, event.issues)
                yield f"[REFLECT]\n   Iteration 1: {_left(event.issues)}\n\n"
        answer = ""
        if steps:
            answer = steps[-1]
        yield f"[ANSWER]\n{answer}\n"

    def _events(self, query: str, trace: list[str]) -> Iterator[Any]:
        """Yield the events of a critique as they come, from a loop in a thread of its own."""
        events: SimpleQueue[Any] = SimpleQueue()

        async def work() -> None:
            """Put each event of the critique into the queue."""
            async with self._engine() as engine:
                sent = {"goal": query, "steps": trace, "max_iterations": self.max_iterations}
                async for event in engine.critique_stream(**sent):
                    events.put(event)

        def in_thread() -> None:
            """Run the critique in a loop of this thread; None in the queue is its end."""
            try:
                asyncio.run(work())
            except Exception as error:  # noqa: BLE001 - raised again in the caller's thread
                events.put(error)
            events.put(None)

        thread = Thread(target=in_thread, daemon=True)
        thread.start()
        while (event := events.get()) is not None:
            if isinstance(event, Exception):
                raise event
            yield event
        thread.join()

    def _engine(self) -> Engine:
        """Return the engine for one call, whose model is told the caller's own prompts first."""
        llm = self.llm
        if llm is not None and (self.critique_prompt or self.improve_prompt):
            llm = _Prompted(llm, self.critique_prompt.strip(), self.improve_prompt.strip())
        return Engine(self.settings, llm=llm)


class _Prompted:
    """A model that is told the caller's own words first, by its role."""

    def __init__(self, llm: LLM, critique: str, improve: str) -> None:
        self._llm = llm
        self._words = {Role.CRITIC: critique, Role.CORRECTOR: improve}

    async def complete(self, request: Request) -> Reply:
        """Return the model's reply to the request behind the caller's words."""
        words = self._words.get(request.role)
        if words:
            request = replace(request, system=f"{words}\n\n{request.system}")
        return await self._llm.complete(request)


def _left(issues: Sequence[str]) -> str:
    """Return how many issues stay where nothing was corrected: "2 issue(s) left"."""
    if not issues:
        return "No issues found"
    return f"{len(issues)} issue(s) left"


def _numbered(steps: Sequence[str]) -> str:
    """Return the steps, one a line, with their numbers."""
    return "\n".join(f"{number}. {step}" for number, step in enumerate(steps, start=1))


def _verified(steps: Sequence[str], issues: Sequence[str]) -> str:
    """Return the text for the first look at the steps: how many there are, and the issues in them."""
    listed = "".join(f"   {issue}\n" for issue in issues)
    return f"[VERIFY]\n   {len(steps)} steps | {len(issues)} issue(s)\n{listed}\n"
