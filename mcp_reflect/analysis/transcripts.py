"""Runs from the files that agents leave behind.

Read are the arguments of `reflect` themselves, sessions of Claude Code, Codex, Gemini CLI, SWE-agent and pi, and
message lists (OpenAI, Anthropic, LangChain).
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from mcp_reflect.analysis import transcript_records as records
from mcp_reflect.analysis.transcript_records import Record, RunBuilder, as_list, as_record, as_records, text_of
from mcp_reflect.errors import InputError
from mcp_reflect.signature import digest


@dataclass(frozen=True, slots=True)
class Transcript:
    """The runs of a file, each with its place (`line 3, `), and the lines that could not be read.

    A run that was read off a transcript has a `run_id`, which names the session and the content.
    """

    runs: list[tuple[str, dict[str, Any]]]
    bad: list[str] = field(default_factory=list[str])


def read_transcript(text: str, outcome: str = "partial", session: str | None = None) -> Transcript:
    """The runs of a text.

    Args:
        text: The content of the file.
        outcome: How the runs ended, which no transcript says.
        session: Overrides the session's own name.

    Raises:
        InputError: Nothing can be read, or a line among the arguments of `reflect` is bad.
    """
    transcript = Transcript([])
    numbered = _records(text, transcript.bad)
    for place, run in _runs(numbered, transcript.bad):
        prefix = f"{place}, " if place else ""
        if not isinstance(run, RunBuilder):
            transcript.runs.append((prefix, dict(run)))
            continue
        for part in run.runs(outcome):  # an id of session and content, so that the same one is known again
            content = json.dumps(part, sort_keys=True, ensure_ascii=False, default=str)
            name = (session or run.session or "transcript")[:150]
            transcript.runs.append((prefix, {**part, "run_id": f"{name}#{digest(content)}"}))
    return transcript


def _records(text: str, bad: list[str]) -> list[tuple[str, Record]]:
    """The JSON objects of a text, or of its lines, by their places; what is none is named in `bad`."""
    values: list[tuple[str, object]] = []
    try:
        whole = json.loads(text)
        values = [(f"item {number}", item) for number, item in enumerate(as_list(whole), start=1)] or [("", whole)]
    except (ValueError, RecursionError):
        for number, line in enumerate(text.split("\n"), start=1):
            try:
                values += [(f"line {number}", json.loads(line))] if line.strip() else []
            except (ValueError, RecursionError) as error:
                bad.append(f"line {number}: it is not JSON: {str(error)[:80]}")
    fault = "it is not a JSON object"
    bad += [f"{place}: {fault}" if place else fault for place, value in values if not isinstance(value, dict)]
    numbered = [(place, as_record(value)) for place, value in values if value == {} or as_record(value)]
    if not numbered:
        fix = "Give reflect's arguments, a session of Claude Code or Codex, or messages."
        raise InputError("file", bad[0] if bad else "it is empty", fix)
    return numbered


def _runs(numbered: Sequence[tuple[str, Record]], bad: list[str]) -> Iterator[tuple[str, RunBuilder | Record]]:
    """The runs in the form of the first records, by their places; the arguments of `reflect` as they are."""
    form = next(filter(None, (records.reader_of(record) for _, record in numbered[:50])), None)
    if len(numbered) == 1 and (run := _session(numbered[0][1])):
        yield "", run
    elif form is not None:
        run = RunBuilder()
        for place, record in numbered:
            if "type" in record or "role" in record:
                form(run, record)
            else:
                bad.append(f"{place}: it is no record of this form")
        yield "", run
    elif any("messages" in record for _, record in numbered):  # one conversation a record
        for place, record in numbered:
            run = RunBuilder()
            for message in as_records(record.get("messages")):
                records.add_message(run, message)
            bad += [] if run.events else [f"{place}: it holds no messages"]
            yield place, run
    elif bad:
        place, _, fault = bad[0].partition(": ")
        raise InputError(place, fault, "Give one JSON object a line.")
    else:
        yield from numbered


# Sessions in one JSON value: SWE-agent and Gemini CLI.

# Commands that SWE-agent itself provides; anything else runs in its shell.
_SWE_TOOLS: Final = frozenset(
    (
        *("open", "goto", "scroll_up", "scroll_down", "create", "edit", "insert", "submit", "exit_cost"),
        *("search_dir", "search_file", "find_file", "str_replace_editor", "view_image", "filemap"),
    )
)


def _session(whole: Record) -> RunBuilder | None:
    steps, messages = as_records(whole.get("trajectory")), as_records(whole.get("messages"))
    if steps and all("action" in step and "observation" in step for step in steps):
        return _swe_agent(steps, as_records(whole.get("history")))
    if any(message.get("type") == "gemini" for message in messages):
        return _gemini(str(whole.get("sessionId") or "") or None, messages)
    return None


def _swe_agent(steps: Sequence[Record], history: Sequence[Record]) -> RunBuilder:
    run = RunBuilder()
    tasks = [item for item in history if item.get("role") == "user" and not item.get("is_demo")]
    run.asked(text_of(tasks[0].get("content")) if tasks else "")
    for step in steps:
        run.told(str(step.get("thought") or ""))
        action = str(step.get("action") or "").strip()
        tool = action.split(maxsplit=1)[0] if action else "bash"
        run.called(tool if tool in _SWE_TOOLS else "bash", {"command": action})
        run.answered(text_of(step.get("observation")))
    return run


def _gemini(session: str | None, messages: Sequence[Record]) -> RunBuilder:
    run = RunBuilder(session=session)
    for message in messages:
        text = text_of(message.get("content"))
        if message.get("type") == "user":
            run.asked(text)
            continue
        run.told(text)
        for call in as_records(message.get("toolCalls")):
            run.called(call.get("name"), call.get("args"), call.get("id"))
            parts = [as_record(part.get("functionResponse")) for part in as_records(call.get("result"))]
            values = as_record(parts[0].get("response") if parts else None)
            answer = text_of(values.get("output", values.get("error"))) or text_of(call.get("resultDisplay"))
            failed = call.get("status") in ("error", "cancelled") or "error" in values
            run.answered(answer, call.get("id"), failed=failed)
    return run
