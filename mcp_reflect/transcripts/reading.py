"""Which form a file has, and the runs in it.

Read are the arguments of `reflect` themselves, session files of Claude Code and Codex, message lists
(OpenAI, Anthropic, LangChain), OpenTelemetry spans, and ReAct text.
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, cast

from mcp_reflect.errors import InputError
from mcp_reflect.transcripts import codex, messages, react, spans
from mcp_reflect.transcripts.events import Gathered, as_list, as_record

Record = dict[str, Any]
FIX: Final = "Give reflect's arguments, a session of Claude Code or Codex, messages, spans, or ReAct text."


@dataclass(frozen=True, slots=True)
class Found:
    """The runs of a file, each with where it stands (`line 3, `), and the lines that could not be read.

    A run that was read off a transcript has a `run_id`, which names the session and the content.
    """

    runs: list[tuple[str, Record]]
    bad: list[str] = field(default_factory=list[str])


def read_transcript(text: str, outcome: str = "partial", session: str | None = None) -> Found:
    """The runs of a text. `outcome` is how they ended, which no transcript says; `session` overrides its own name.

    InputError where nothing can be read, or for a bad line among the arguments of `reflect`.
    """
    try:
        whole = json.loads(text)
    except RecursionError:
        raise InputError("file", "it is nested too deep", "Send flatter JSON.") from None
    except ValueError:
        numbered, bad = _lines(text)
        if not numbered:
            if react.is_react(text):
                return Found(_named(react.runs_in(text), outcome, session))
            raise InputError("file", bad[0] if bad else "it is empty", FIX) from None
        return _read(numbered, bad, "line", outcome, session)
    if isinstance(whole, dict):
        return _read([(1, cast("Record", whole))], [], "", outcome, session)
    if not isinstance(whole, list):
        raise InputError("file", "it is neither an object nor a list", FIX)
    items: list[tuple[int, Record]] = []
    for number, item in enumerate(cast("list[object]", whole), start=1):
        if not isinstance(item, dict):
            raise InputError(f"item {number}", "it is not a JSON object", "Give task, outcome and events.")
        items.append((number, cast("Record", item)))
    return _read(items, [], "item", outcome, session)


def _lines(text: str) -> tuple[list[tuple[int, Record]], list[str]]:
    """The lines that are JSON objects, numbered, and what is wrong with the others."""
    found: list[tuple[int, Record]] = []
    bad: list[str] = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError) as error:
            bad.append(f"line {number}: it is not JSON: {str(error)[:80]}")
            continue
        if isinstance(value, dict):
            found.append((number, cast("Record", value)))
        else:
            bad.append(f"line {number}: it is not a JSON object")
    return found, bad


def _read(
    records: Sequence[tuple[int, Record]], bad: list[str], place: str, outcome: str, session: str | None
) -> Found:
    """Take the form from the first record that has one; records that are none of that form are named as bad."""
    for test, take in _FORMS:
        if any(test(record) for _, record in records[:50]):
            runs = list(take(records, bad, place))
            return Found(_named(runs, outcome, session), bad)
    if any("messages" in record for _, record in records):
        return _conversations(records, bad, place, outcome, session)
    if bad:
        number, _, rest = bad[0].partition(": ")
        raise InputError(number, rest, "Give one JSON object a line.")
    return Found([(f"{place} {number}, " if place else "", record) for number, record in records])


def _conversations(
    records: Sequence[tuple[int, Record]], bad: list[str], place: str, outcome: str, session: str | None
) -> Found:
    """One conversation a record, under `messages`."""
    found: list[tuple[str, Record]] = []
    for number, record in records:
        run = Gathered()
        for message in as_list(record.get("messages")):
            messages.add_message(run, as_record(message))
        if not run.events:
            bad.append(f"{place} {number}: it holds no messages".strip())
        found += [(f"{place} {number}, " if place else "", one) for _, one in _named([run], outcome, session)]
    return Found(found, bad)


def _one_run(
    add: Callable[[Gathered, Mapping[str, Any]], None], test: Callable[[Mapping[str, Any]], bool]
) -> Callable[[Sequence[tuple[int, Record]], list[str], str], Iterator[Gathered]]:
    def take(records: Sequence[tuple[int, Record]], bad: list[str], place: str) -> Iterator[Gathered]:
        run = Gathered()
        for number, record in records:
            if not test(record):
                bad.append(f"{place} {number}: it is no record of this form")
                continue
            add(run, record)
        yield run

    return take


def _spans(records: Sequence[tuple[int, Record]], bad: list[str], place: str) -> Iterator[Gathered]:
    del bad, place  # spans of other libraries stand among them
    yield from spans.by_trace([span for _, record in records for span in spans.spans_in(record)])


_FORMS: Final = (
    (codex.is_codex_line, _one_run(codex.add_codex_line, codex.is_codex_line)),
    (messages.is_claude_line, _one_run(messages.add_claude_line, lambda record: "type" in record)),
    (spans.is_spans, _spans),
    (codex.is_item, _one_run(codex.add_item, lambda record: "type" in record)),
    (messages.is_message, _one_run(messages.add_message, messages.is_message)),
)


def _named(
    runs: Iterator[Gathered] | Sequence[Gathered], outcome: str, session: str | None
) -> list[tuple[str, Record]]:
    """Each run with an id that names its session and content, so that the same one is known again."""
    found: list[tuple[str, Record]] = []
    for gathered in runs:
        for run in gathered.runs(outcome):
            content = json.dumps(run, sort_keys=True, ensure_ascii=False, default=str)
            digest = hashlib.sha256(content.encode("utf-8", "replace")).hexdigest()[:16]
            found.append(("", {**run, "run_id": f"{(session or gathered.session or 'transcript')[:150]}#{digest}"}))
    return found
