"""Agents' work through the whole of `critique`, with a judge whose verdicts were recorded.

The judge is a language model that read, without labels, what `write_questions` writes: for each piece of work its goal,
steps, outputs and the claims that `critique` lists. It saw nothing of what exact checks find. A line `{"id", "verdicts": [{claim,
verdict, reason}]}` has what it called wrong or not shown, by its words, so that a recording outlives another way to
split sentences; everything else holds. The verdicts are replayed on two paths: as a model that the server asks, and as
a host that sends them for the critique_id.

How the files tests/evidence/cases/judged_*.jsonl were made stands in benchmarks/results.md.
"""

import asyncio
import json
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal

from benchmarks.work import Outcome, overlaps, work_of
from mcp_reflect.config import Settings
from mcp_reflect.evidence.verifying import verifier
from mcp_reflect.llm.protocol import Reply, Request, Stop, UnreachableError
from mcp_reflect.models.critique import Claim
from mcp_reflect.services.engine import Engine

Asked = Literal["model", "host"]
PATHS: Final[tuple[Asked, ...]] = ("model", "host")


class Replayed:
    """A model that gives the verdicts recorded for one piece of work."""

    def __init__(self) -> None:
        self.reply: Any = None

    async def complete(self, request: Request) -> Reply:
        """Return the recorded reply; raises UnreachableError where there is none."""
        if self.reply is None:
            raise UnreachableError("replayed", "no reply was recorded", "Record one.")
        del request
        return Reply(text=json.dumps(self.reply), stop=Stop.END, llm="replayed")


def write_questions(cases: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Write what the judge reads of each piece of work: no label, no finding."""
    with path.open("w", encoding="utf-8") as file:
        for case in cases:
            work = work_of(case)
            file.write(f"=== {case['id']}\nGOAL: {case['goal']}\n")
            file.writelines(
                f"STEP {place}: {step}\n" for place, step in enumerate(work.steps, start=1)
            )
            for result in work.tool_results:
                file.write(
                    f"OUTPUT of {result.tool} (exit {result.exit_code}):\n{result.content.rstrip()}\n"
                )
            for claim in _claims(case):
                file.write(f"CLAIM {claim.number}: {claim.text}\n")


def _claims(case: Mapping[str, Any]) -> tuple[Claim, ...]:
    work = work_of(case)
    return verifier(work)(work.steps).claims


def judged(
    cases: Sequence[Mapping[str, Any]],
    replies: Mapping[str, Any],
    path: Asked,
) -> list[Outcome]:
    """Return what `critique` says of each piece of work with the judge on this path."""
    return asyncio.run(_judged(cases, replies, path))


async def _judged(
    cases: Sequence[Mapping[str, Any]], replies: Mapping[str, Any], path: Asked
) -> list[Outcome]:
    outcomes: list[Outcome] = []
    model = Replayed()
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(
            bank=Path(folder) / "bank.db", project="work", critique="always", log_level="error"
        )
        async with Engine(settings, llm=model if path == "model" else None) as engine:
            for case in cases:
                reply = _numbered(replies[case["id"]], _claims(case))
                model.reply = reply
                names = ("goal", "steps", "response", "tool_results")
                sent: dict[str, Any] = {name: case[name] for name in names if case.get(name)} | {
                    "max_iterations": 0
                }
                answer = await engine.critique(**sent)
                if path == "host":
                    answer = await engine.critique(critique_id=answer.critique_id, analysis=reply)
                outcomes.append(Outcome.of(answer, reply["issues"]))
    return outcomes


def _numbered(reply: Mapping[str, Any], claims: Sequence[Claim]) -> dict[str, Any]:
    """Return a reply whose verdicts name the claims of today by number; what is not one of them is an issue."""
    verdicts = {claim.number: {"claim": claim.number, "verdict": "holds"} for claim in claims}
    issues: list[str] = []
    for item in reply["verdicts"]:
        own = [claim.number for claim in claims if overlaps(item["claim"], claim.text)]
        for number in own:
            if verdicts[number]["verdict"] != "wrong":
                verdicts[number] = {**item, "claim": number}
        if not own:
            issues.append(f"{item['claim']}: {item['verdict']}")
    return {"verdicts": list(verdicts.values()), "issues": issues}
