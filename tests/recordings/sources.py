"""What the rules say today of the cases of these tests, one text for each case.

    python -m tests.recordings.sources                  # record anew; then read the diff
    python -m tests.recordings.sources lives commands   # some of them

Cases with a truth of their own are judged elsewhere; a recording shows every change of an answer, so that nobody makes
one without seeing it.
"""

import asyncio
import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks import failed_searches
from mcp_reflect.checkers.base import Work, checkers, split
from mcp_reflect.config import Settings
from mcp_reflect.models.common import plain
from mcp_reflect.models.critique import ToolResult
from mcp_reflect.models.search import SearchState
from mcp_reflect.replan.planner import plan
from mcp_reflect.security.injection import suspicion
from mcp_reflect.security.redact import clean_text
from mcp_reflect.services.engine import Engine
from tests.checkers.cases import lines, load
from tests.held_clock import HeldClock
from tests.recordings import arguments, edits, lives, options, replies, runs, works
from tests.security.corpus import cases

HERE = Path(__file__).parent
TESTS = HERE.parent

Recording = dict[str, Any]


def verdicts() -> Recording:
    """Each checker's findings on the works of the cases: step, status, and what would be right."""
    recording: Recording = {}
    files = ("evidence", "evidence_later", "code", "execution")
    works = [(case.id, case.work) for name in files for case in load(name)]
    texts = [line for name in ("arithmetic", "units", "dates") for line in lines(name)]
    works += [(line["id"], Work(goal="", steps=(line["text"],))) for line in texts]
    for line in lines("work_dev"):
        results = tuple(ToolResult(**result) for result in line.get("tool_results", ()))
        steps = line.get("steps") or split(line["response"])
        works.append((line["id"], Work(goal=line["goal"], steps=tuple(steps), tool_results=results)))
    for name, work in works:
        for checker in checkers():
            findings = [
                f"{item.step} {item.status.value} {item.expected or item.claim} {item.detail or ''}".rstrip()
                for item in checker.check(work)
            ]
            if findings:
                recording[f"{name} {checker.name}"] = findings
    return recording


def secrets() -> Recording:
    """The texts of secrets and look-alikes as they are stored."""
    return {
        f"{kind} {at}": clean_text(case["text"])
        for kind in ("secrets", "lookalikes")
        for at, case in enumerate(cases(kind))
    }


def orders() -> Recording:
    """Why a text from outside waits for a person; None where it does not."""
    return {
        f"{kind} {at}": suspicion([case["text"]])
        for kind in ("attacks", "honest")
        for at, case in enumerate(cases(kind))
    }


def calls() -> Recording:
    """The whole answers to calls of agents, in one bank."""
    sent = (TESTS / "server/calls_of_agents/calls.jsonl").read_text("utf-8").splitlines()
    return asyncio.run(_answers([json.loads(line) for line in sent]))


def searches() -> Recording:
    """The first plans for searches that failed."""
    recording: Recording = {}
    for search in failed_searches.searches():
        if search["half"] == "dev":
            planned = plan(failed_searches.request_of(search), SearchState(search_id=search["message"]))
            recording[search["id"]] = plain(planned)
    return recording


def recalls() -> Recording:
    """What is recalled by near words, by a symptom and for foreign tasks, and why."""
    folder = TESTS / "storage/cases"
    lessons = [json.loads(line) for line in (folder / "recall_lessons.jsonl").read_text("utf-8").splitlines()]
    foreign = [json.loads(line) for line in (folder / "recall_foreign_tasks.jsonl").read_text("utf-8").splitlines()]
    names = ("mistake", "correction")
    stored = [{"tool": "store_lesson", "arguments": {name: line[name] for name in names}} for line in lessons]
    tasks = [line[kind] for line in lessons for kind in ("near", "symptom")] + [line["task"] for line in foreign]
    asked = [{"tool": "recall_lessons", "arguments": {"task": task}} for task in tasks]
    parts = ("id", "fit", "score", "why")
    return {
        case: [" ".join(str(hit[part]) for part in parts) for hit in answer.get("lessons", ())]
        for case, answer in asyncio.run(_answers([*stored, *asked])).items()
        if "recall_lessons" in case
    }


async def _answers(sent: list[dict[str, Any]]) -> Recording:
    recording: Recording = {}
    with tempfile.TemporaryDirectory() as folder:
        async with Engine(Settings(bank=Path(folder) / "bank.db", project="app"), clock=HeldClock()) as engine:
            lesson = plain(await engine.store_lesson(mistake="Sent a tray unsealed", correction="Seal it"))["lesson_id"]
            for at, call in enumerate(sent):
                arguments = json.loads(json.dumps(call["arguments"]).replace("$lesson", lesson))
                answer = plain(await engine.call(call["tool"], arguments))
                recording[f"{at} {call['tool']}"] = {k: v for k, v in answer.items() if k != "reflection_time_ms"}
    return recording


SOURCES: dict[str, Callable[[], Recording]] = {
    source.__name__: source
    for source in (
        *(verdicts, secrets, orders, calls, searches, recalls),
        *(works.changed_numbers, works.equations, works.corrections, works.opinions, works.critiques),
        *(runs.diagnoses, runs.pairs, runs.sized, runs.answers, runs.decisions, runs.texts, runs.transcripts),
        *(arguments.readings, arguments.traces, arguments.analyses, arguments.drafts),
        *(arguments.searched, replies.replies, replies.hooks, replies.spending, replies.cut_secrets),
        *(lives.lives, lives.sized_records, lives.commands, edits.edits, edits.hooks_of_hosts, options.options),
    )
}


def recorded(name: str) -> Recording:
    """Return what was recorded."""
    text = (HERE / f"{name}.jsonl").read_text("utf-8")
    return {key: value for line in text.splitlines() for key, value in json.loads(line).items()}


if __name__ == "__main__":
    for name in sys.argv[1:] or SOURCES:
        text = "".join(json.dumps({key: value}, ensure_ascii=False) + "\n" for key, value in SOURCES[name]().items())
        (HERE / f"{name}.jsonl").write_text(text, "utf-8")
