"""The readers of past sessions' files: this process, or others (`python -m mcp_reflect.services.session_workers`).

Such a process takes a path on a line and answers with JSON on a line; it ends with the process that started it.
"""

import asyncio
import json
import sys
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final, cast

from mcp_reflect import children
from mcp_reflect.models.common import Scope, from_json, json_of
from mcp_reflect.models.finding import Finding, FindingKind, Seen
from mcp_reflect.security.redact import clean, clean_text
from mcp_reflect.services.finding_asks import gives_orders
from mcp_reflect.sessions.found import is_of_person
from mcp_reflect.sessions.past_sessions import read_session
from mcp_reflect.sessions.session_lines import record_keys
from mcp_reflect.sessions.session_sources import SessionSource
from mcp_reflect.storage.retrieval.terms import terms_of
from mcp_reflect.text.stemmer import STOP_WORDS

_MAX_ANSWER_BYTES: Final = 64_000_000
"""Of another process, about one file."""

_MAX_SAYING_CHARS: Final = 300
"""Of a person's words; longer ones are a task."""

_LEAST_WORDS_OF_SAYING: Final = 2  # fewer, as in "go on", say nothing about the work
_LEAST_WORDS_OF_CORRECTION: Final = 1  # of a person who refused a call
_MAX_THING_CHARS: Final = 300  # of the text by which findings are compared
_MOST_LINES: Final = 8  # of a finding that a session shows several times

SessionFindings = list[tuple[Finding, Seen]]
"""The findings of a session, each thing once, with the evidence for it."""


@dataclass(frozen=True, slots=True)
class SessionToRead:
    """The file of a past session, the project that it is of, and files from which it was copied."""

    place: SessionSource
    scope: Scope
    originals: tuple[Path, ...] = ()


Done = Callable[[SessionToRead, SessionFindings, Sequence[str]], Awaitable[None]]
"""Called with each session that was read, its findings, and the faults of its file."""


async def read_here(queue: Sequence[SessionToRead], done: Done) -> None:
    """Read files in this process."""
    for session in queue:
        shown, faults = read(session.place.path, session.place.host, session.originals)
        await done(session, shown, faults)


async def read_apart(queue: Sequence[SessionToRead], done: Done) -> None:
    """Read files in another process; where a file makes it end, another one is started for the rest."""
    unread = deque(queue)
    while unread:
        process = await children.start_worker(__name__, _MAX_ANSWER_BYTES)
        sender, receiver = cast("tuple[Any, Any]", (process.stdin, process.stdout))
        try:
            sender.write(b"".join(_request_of(session) for session in unread))
            await _take_answers(unread, receiver, done)
        finally:
            if process.returncode is None:
                process.kill()
            await process.wait()


async def _take_answers(
    unread: deque[SessionToRead], receiver: asyncio.StreamReader, done: Done
) -> None:
    """Take the answers of a process, one file after the other, in the order in which they were asked for.

    Where the process ends early, the file that it was reading is at fault. This function returns then, with the other
    files in `unread`, for which the caller starts another process: a file that ends its reader costs no other file.
    """
    while unread:
        session = unread.popleft()
        answer: Any = None
        with suppress(OSError, ValueError):
            answer = json_of(await receiver.readline())
        if answer is None:
            await done(session, [], ["the process that read it ended"])
            return
        findings = [
            (from_json(Finding, finding), from_json(Seen, evidence))
            for finding, evidence in answer["found"]
        ]
        await done(session, findings, answer["faults"])


def _request_of(session: SessionToRead) -> bytes:
    """Return the line that asks for a session: the arguments of `read` as JSON."""
    originals = [str(path) for path in session.originals]
    request = [str(session.place.path), session.place.host, originals]
    return json.dumps(request).encode() + b"\n"


def read(
    path: Path | str, host: str, originals: Iterable[Path | str] = ()
) -> tuple[SessionFindings, list[str]]:
    """Return the findings of a session's file, each thing once, and the faults of the file.

    Records that one of the `originals` has as well are left out: they are read there.
    """
    try:
        copied_records: set[str] = set()
        for original in originals:
            copied_records |= record_keys(Path(original))
        pairs, faults = read_session(Path(path), host, frozenset(copied_records))
    except OSError as error:
        return [], [error.strerror or "it cannot be read"]
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
        # The file is of another version.
        return [], [f"it cannot be read: {type(error).__name__}"]
    pair_by_thing: dict[str, tuple[Finding, Seen]] = {}
    for finding, evidence in kept(pairs):
        earlier = pair_by_thing.get(finding.thing)
        if earlier is None:
            pair_by_thing[finding.thing] = (finding, evidence)
        else:
            pair_by_thing[finding.thing] = _joined(earlier, finding, evidence)
    return [*pair_by_thing.values()], faults


def _joined(
    earlier: tuple[Finding, Seen], finding: Finding, evidence: Seen
) -> tuple[Finding, Seen]:
    """Return a finding that its session shows once more, with the evidence of both times.

    Words that a person only said give way to the same words as a correction, which weighs more.
    """
    joined_finding, earlier_evidence = earlier
    if joined_finding.kind is FindingKind.SAID:
        joined_finding = finding
    times = earlier_evidence.times + evidence.times
    lines = (*earlier_evidence.lines, *evidence.lines)[:_MOST_LINES]
    return joined_finding, replace(earlier_evidence, times=times, lines=lines)


def kept(pairs: Iterable[tuple[Finding, Seen]]) -> Iterator[tuple[Finding, Seen]]:
    """Yield the findings of a session that are kept, each with its evidence, without secrets.

    | the finding                                              | kept                                                      |
    |----------------------------------------------------------|-----------------------------------------------------------|
    | is a person's words                                      | as the stems of the words, which give no orders           |
    | is a person's words, and a task or too few               | no                                                        |
    | has a line that gives orders to the reader of a review   | no                                                        |
    | any other                                                | as it is                                                  |
    """
    for finding, evidence in pairs:
        if is_of_person(finding):
            kept_finding = _known_by_stems(finding)
        elif gives_orders(finding):
            kept_finding = None
        else:
            kept_finding = finding
        if kept_finding is None:
            continue
        lines = tuple(clean_text(line) for line in evidence.lines)
        cleaned = replace(evidence, session=clean_text(evidence.session), lines=lines)
        yield from_json(Finding, clean(asdict(kept_finding))), cleaned


def _known_by_stems(finding: Finding) -> Finding | None:
    """Return a person's words as a finding known by their stems; None for a task, or for too few words.

    The thing "Always run the tests!" becomes "said: alway run test": the same words in another session are the same finding.
    """
    stems = sorted({*terms_of(clean_text(finding.thing))} - STOP_WORDS)
    least_words = _LEAST_WORDS_OF_CORRECTION
    if finding.kind is FindingKind.SAID:
        least_words = _LEAST_WORDS_OF_SAYING
    if len(stems) < least_words or len(finding.thing) > _MAX_SAYING_CHARS:
        return None
    return replace(finding, thing=f"{finding.kind}: {' '.join(stems)}"[:_MAX_THING_CHARS])


def main() -> None:
    """Answer each line of stdin, which names a file and its host, with the findings of the file."""
    for line in sys.stdin:
        findings, faults = read(*json.loads(line))
        pairs = [(asdict(finding), asdict(evidence)) for finding, evidence in findings]
        sys.stdout.write(json.dumps({"found": pairs, "faults": faults}) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
