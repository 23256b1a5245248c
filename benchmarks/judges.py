"""Agents' work through the whole of `critique`, with a judge whose replies were recorded.

A judge is a language model that got the critic's prompts (`write_prompts`), without labels. Its replies, a line
`{"id": ..., "reply": {...}}` for each piece of work, are replayed on two paths: as a model that the server asks, and
as a host that sends the reply as its analysis where `next` asks for one.

The replies in tests/checkers/cases/judged_*.jsonl were written on 2026-11-22 by a language model, in four sessions that
saw the prompts (version 4 of `critique`) and neither labels nor checkers. Empty fields were dropped. Version 5 adds
that honest reports of an unreached goal are no fault, and that a judge may dispute a finding of the checks.
"""

import asyncio
import json
import re
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal, cast

from benchmarks.work import Outcome
from mcp_reflect.checkers.verify import issue_of
from mcp_reflect.config import Settings
from mcp_reflect.llm.endpoint import reply_of
from mcp_reflect.llm.protocol import NOTHING_USED, Reply, Request, Stop, UnreachableError
from mcp_reflect.models.common import RULES
from mcp_reflect.models.critique import Critique, Status
from mcp_reflect.services.engine import Engine

Asked = Literal["model", "host"]
PATHS: Final[tuple[Asked, ...]] = ("model", "host")
_QUOTED: Final = re.compile(r'"(.+)"', re.DOTALL)
_CONTRADICTED: Final = re.compile(r"(?:Step \d+: )?(.+): contradicted", re.DOTALL)


class Replayed:
    """A model that gives the reply recorded for one piece of work, and keeps the requests."""

    def __init__(self) -> None:
        self.reply: Any = None
        self.requests: list[Request] = []

    async def complete(self, request: Request) -> Reply:
        """Return the recorded reply; raises UnreachableError where there is none."""
        self.requests.append(request)
        if self.reply is None:
            raise UnreachableError("replayed", "no reply was recorded", "Record one.")
        text = self.reply if isinstance(self.reply, str) else json.dumps(self.reply)
        return reply_of(request, "replayed", text, Stop.END, NOTHING_USED)


def write_prompts(cases: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Write `{id, system, user}` for each piece of work: the prompt that the critic gets. It holds no label."""
    asyncio.run(_write_prompts(cases, path))


def judged(cases: Sequence[Mapping[str, Any]], replies: Mapping[str, Any], path: Asked) -> list[Outcome]:
    """Return what `critique` says of each piece of work with the judge on this path; rules alone where no reply is."""
    return asyncio.run(_judged(cases, replies, path))


async def _write_prompts(cases: Sequence[Mapping[str, Any]], path: Path) -> None:
    model = Replayed()
    with tempfile.TemporaryDirectory() as folder, path.open("w", encoding="utf-8") as lines:
        async with Engine(_settings(folder, "always"), llm=model) as engine:
            for case in cases:
                await engine.critique(**_arguments(case))
                request = model.requests.pop()
                line = {"id": case["id"], "system": request.system, "user": request.user}
                lines.write(json.dumps(line, ensure_ascii=False) + "\n")


async def _judged(cases: Sequence[Mapping[str, Any]], replies: Mapping[str, Any], path: Asked) -> list[Outcome]:
    outcomes: list[Outcome] = []
    model = Replayed()
    with tempfile.TemporaryDirectory() as folder:
        async with Engine(_settings(folder, "auto"), llm=model if path == "model" else None) as engine:
            for case in cases:
                model.reply = reply = replies.get(case["id"])
                answer = await engine.critique(**_arguments(case))
                if path == "host" and reply is not None and answer.next:
                    answer = await engine.critique(critique_id=answer.critique_id, analysis=reply)
                outcomes.append(_outcome(answer))
    return outcomes


def _settings(folder: str, critique: Literal["auto", "always"]) -> Settings:
    return Settings(bank=Path(folder) / "bank.db", project="work", critique=critique, log_level="error")


def _arguments(case: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of `critique` for a piece of work."""
    names = ("goal", "steps", "response", "tool_results")
    return {name: case[name] for name in names if case.get(name)} | {"max_iterations": 0}


def _outcome(answer: Critique) -> Outcome:
    """Return what an answer says; a claim that the rules contradict and the judge disputes is no issue."""
    failed = {issue_of(verdict): verdict.claim for verdict in answer.verdicts if verdict.status is Status.FAIL}
    by_rules = [failed[issue] for issue in answer.issues if issue in failed]
    issues = [issue for issue in answer.issues if issue not in failed]
    unshown = [verdict.claim for verdict in answer.verdicts if verdict.status is Status.UNSUPPORTED]
    if answer.thinker != RULES:  # before a judge has spoken, the questions are about every open claim
        questions = cast("list[str]", answer.next.get("questions", []))
        unshown += [found[1] for question in questions if (found := _QUOTED.search(question))]
    return Outcome(
        contradicted=(*by_rules, *(quote[1] for issue in issues if (quote := _CONTRADICTED.match(issue)))),
        issues=tuple(issue for issue in issues if not _CONTRADICTED.match(issue)),
        unshown=tuple(unshown),
        passes=answer.passes_quality_gate is True,
        coverage=answer.coverage,
    )
