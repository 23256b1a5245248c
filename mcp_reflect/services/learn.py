"""Learn from the sessions that hosts left on this machine: find their files, read each once, keep what they show.

Files are read by processes of their own (`python -m mcp_reflect.services.learn`), which take a path on a line and
answer with JSON on a line; they end with the process that started them. Nothing leaves the machine.
"""

import asyncio
import json
import os
import sys
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, cast

from mcp_reflect import children
from mcp_reflect.clock import DAY
from mcp_reflect.config import ServerUrl
from mcp_reflect.errors import InputError
from mcp_reflect.models.common import Json, Scope, from_json, json_of
from mcp_reflect.models.finding import Finding, FindingKind, Seen, StoredFinding, Wording
from mcp_reflect.projects import project_of, stored_name
from mcp_reflect.security.gate import clean_inputs
from mcp_reflect.security.redact import clean, clean_text
from mcp_reflect.services.context import Context
from mcp_reflect.services.findings import gives_orders
from mcp_reflect.sessions.found import facts_of, is_said
from mcp_reflect.sessions.past_sessions import read_session
from mcp_reflect.sessions.session_lines import record_keys
from mcp_reflect.sessions.session_places import SessionPlace, copies_in, sessions_of
from mcp_reflect.sessions.session_times import last_worked
from mcp_reflect.sessions.text import clip
from mcp_reflect.sessions.tools import file_of
from mcp_reflect.storage.retrieval.index import STOP_WORDS, terms_of

_WORKERS: Final = 2
_SMALL: Final = 4_000_000  # bytes that are read sooner in this process than others start
_KEPT_AT: Final = 8_000_000  # bytes that were read, after which what they showed is stored
_MOST_ANSWER: Final = 64_000_000  # bytes of what a worker says of one file
_LEAST_SESSIONS: Final = (
    3  # in which a person says the same, until it counts as said again and again
)
_PERSON_SECONDS: Final = 120.0  # that a correction costs a person
_FAILURE_SECONDS: Final = 30.0  # that a failure costs at least
_LONGEST_SAID: Final = 300  # characters of what a person says; what is longer is a task


@dataclass(slots=True)
class Learned:
    """What was read: numbers of sessions and bytes, and the faults of files by their paths."""

    sessions: int = 0
    known: int = 0
    others: int = 0
    bytes: int = 0
    faults: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])


def scopes_of_folders(
    context: Context, folders: Iterable[str | None]
) -> Callable[[str | None], Scope | None]:
    """Return a function that gives the scope of a session's folder, None if the folder is unknown."""
    here, scopes = context.settings.folder or Path.cwd(), context.scopes
    parts = context.settings.subprojects
    own = project_of(here, parts)
    known = {str(here.resolve()), own, *(folder for folder in folders if folder)}
    hashes = {f"sha256:{sha256(folder.encode()).hexdigest()}": folder for folder in known}

    @cache
    def scope_of(folder: str | None) -> Scope | None:
        folder = hashes.get(folder or "", folder or "")
        if not folder or folder.startswith("sha256:"):
            return None
        # A folder of another machine, such as of Windows seen from WSL, is a project by its name.
        name = project_of(Path(folder), parts) if Path(folder).is_absolute() else folder
        stored = stored_name(name)
        return (
            scopes.own
            if name == own
            else Scope(scopes.own.tenant, scopes.names.get(stored, stored))
        )

    return scope_of


# Reading them.

_Queue = list[tuple[SessionPlace, Scope]]
_Copies = Mapping[Path, tuple[Path, ...]]
_Pairs = list[tuple[Finding, Seen]]
_Done = Callable[[SessionPlace, Scope, _Pairs, list[str]], Awaitable[None]]


def _is_chosen(
    context: Context, place: SessionPlace, scope: Scope, *, every: bool, days: float | None
) -> bool:
    """Return whether a session is of a project that is asked for, and was worked in within the days that are."""
    if not (every or scope == context.scopes.own):
        return False
    return days is None or last_worked(place) >= context.clock.now() - days * DAY


async def learn(
    context: Context,
    hosts: Sequence[str],
    *,
    every_project: bool = False,
    days: float | None = None,
    progress: Callable[[int, int, int], None] | None = None,
) -> Learned:
    """Read the sessions that were not read before, and keep what they show as findings.

    What was read is kept every few megabytes and at the end, also of an interruption, so that a later call goes on
    there. `progress` is called with the bytes that were read, those of all files, and the number of files left.
    """
    learned, findings = Learned(), context.bank.findings
    places = [place for host in hosts for place in sessions_of(host, learned.faults)]
    copies = copies_in(places)
    learned.faults += _without_folder(places) if every_project else []
    scope_of = scopes_of_folders(context, [place.folder for place in places])
    read = await findings.files_read(context.scopes.own.tenant)
    queue: _Queue = []
    for place in places:
        scope = scope_of(place.folder)
        if scope is None or not _is_chosen(context, place, scope, every=every_project, days=days):
            learned.others += 1
        elif read.get(place.key) == (place.size, place.changed):
            learned.known += 1
        else:
            queue.append((place, scope))
    whole = sum(place.size for place, _ in queue)
    requests = not isinstance(
        context.settings.bank, ServerUrl
    )  # a team need not know what one asks for
    fresh: list[
        tuple[SessionPlace, Scope, _Pairs]
    ] = []  # a transaction for each would take longer than reading it

    async def keep() -> None:
        kept = [*fresh]
        fresh.clear()
        for own in dict.fromkeys(scope for _, scope, _ in kept):
            files = [
                (place.key, place.size, place.changed) for place, scope, _ in kept if scope == own
            ]
            await findings.learn(
                own,
                files,
                [pair for _, scope, found in kept if scope == own for pair in found],
                weigh,
            )

    async def done(place: SessionPlace, scope: Scope, found: _Pairs, faults: list[str]) -> None:
        learned.faults += [(str(place.path), fault) for fault in faults]
        learned.sessions, learned.bytes = learned.sessions + 1, learned.bytes + place.size
        fresh.append(
            (
                place,
                scope,
                [pair for pair in found if requests or pair[0].kind is not FindingKind.SAID],
            )
        )
        if sum(place.size for place, _, _ in fresh) >= _KEPT_AT:
            await keep()
        if progress:
            progress(learned.bytes, whole, len(queue) - learned.sessions)

    apart = whole >= _SMALL
    workers = min(_WORKERS, os.cpu_count() or 1) if apart else 1
    try:
        async with asyncio.TaskGroup() as group:
            for first in range(workers):
                group.create_task(
                    (_read_apart if apart else _read_here)(queue[first::workers], copies, done)
                )
    finally:
        await keep()
    return learned


def _without_folder(places: Iterable[SessionPlace]) -> list[tuple[str, str]]:
    """Return the faults of sessions that belong to no project."""
    fault = "it does not say in which folder it worked"
    return [(str(place.path), fault) for place in places if place.folder is None]


async def _read_here(queue: _Queue, copies: _Copies, done: _Done) -> None:
    for place, scope in queue:
        await done(place, scope, *read(place.path, place.host, copies.get(place.path, ())))


async def _read_apart(queue: _Queue, copies: _Copies, done: _Done) -> None:
    """Read files in a separate process, which is restarted if a file kills it."""
    left = deque(queue)
    while left:
        process = await children.start_worker(__name__, _MOST_ANSWER)
        sender, receiver = cast("tuple[Any, Any]", (process.stdin, process.stdout))
        try:
            sender.write(
                "".join(
                    json.dumps(
                        [str(place.path), place.host, [*map(str, copies.get(place.path, ()))]]
                    )
                    + "\n"
                    for place, _ in left
                ).encode()
            )
            answer: Any = {}
            while left and answer is not None:
                place, scope = left.popleft()
                answer = None
                with suppress(OSError, ValueError):
                    answer = json_of(await receiver.readline())
                if answer is None:
                    await done(place, scope, [], ["the process that read it ended"])
                else:
                    pairs = [
                        (from_json(Finding, one), from_json(Seen, two))
                        for one, two in answer["found"]
                    ]
                    await done(place, scope, pairs, answer["faults"])
        finally:
            if process.returncode is None:
                process.kill()
            await process.wait()


def weigh(finding: Finding, sessions: int, times: int, seconds: float) -> float:
    """Return what a finding cost in seconds; 0 for one that is not worth showing yet."""
    match finding.kind:
        case FindingKind.CORRECTION | FindingKind.UNDONE:
            return times * _PERSON_SECONDS
        case FindingKind.SAID:
            return times * _PERSON_SECONDS / 2 if sessions >= _LEAST_SESSIONS else 0.0
        case _ if sessions > 1 or _is_worth_a_look(finding):
            return max(times * _FAILURE_SECONDS, seconds)
        case _:
            return 0.0


def _is_worth_a_look(finding: Finding) -> bool:
    """Return whether a finding of one session may be useful in another: something worked, and it is no mere edit."""
    return finding.worked is not None and file_of(finding.worked.arguments) is None


def read(
    path: Path | str, host: str, originals: Iterable[Path | str] = ()
) -> tuple[_Pairs, list[str]]:
    """Return what a session's file shows, each thing once, and its faults.

    Records that one of the `originals` has as well are left out: they are read there.
    """
    try:
        known = frozenset[str]().union(*(record_keys(Path(one)) for one in originals))
        found, faults = read_session(Path(path), host, known)
    except OSError as error:
        return [], [error.strerror or "it cannot be read"]
    except (
        ValueError,
        TypeError,
        LookupError,
        AttributeError,
        RecursionError,
    ) as error:  # of another version
        return [], [f"it cannot be read: {type(error).__name__}"]
    pairs: dict[str, tuple[Finding, Seen]] = {}
    for finding, seen in kept(found):
        first, known = pairs.get(finding.thing, (finding, None))
        if known is not None:
            seen = replace(  # noqa: PLW2901
                known, times=known.times + seen.times, lines=(*known.lines, *seen.lines)[:8]
            )
        pairs[finding.thing] = (finding if first.kind is FindingKind.SAID else first), seen
    return [*pairs.values()], faults


def kept(pairs: Iterable[tuple[Finding, Seen]]) -> Iterator[tuple[Finding, Seen]]:
    """Yield what is kept of a session, without secrets.

    What a person said is known by the stems of its words; it is left out if it is long. It is a correction where they
    refused a call and said why, else a request: whether a request corrects is for its reader to say.
    """
    for found, seen in pairs:
        finding = found
        if is_said(found):
            words = sorted({*terms_of(clean_text(found.thing))} - STOP_WORDS)
            least = 2 if found.kind is FindingKind.SAID else 1
            if len(words) < least or len(found.thing) > _LONGEST_SAID:
                continue
            finding = replace(found, thing=f"{found.kind}: {' '.join(words)}"[:300])
        elif gives_orders(found):
            continue  # a review would repeat words that give orders to their reader
        yield (
            from_json(Finding, clean(asdict(finding))),
            replace(
                seen, session=clean_text(seen.session), lines=tuple(map(clean_text, seen.lines))
            ),
        )


# Have a language model word findings. A person still decides about each.

_MOST_WORDS: Final = 600  # characters of a mistake or a correction
_BATCH: Final = 10  # findings in a request
_MOST_LINES: Final = 6  # of the evidence of a finding
_ANSWER_TOKENS: Final = 120  # that a model writes about a finding, more or less
_CHARS: Final = 4  # in a token, more or less


async def unworded(context: Context) -> list[StoredFinding]:
    """Return the findings that no model has worded. InputError if no model is configured."""
    from mcp_reflect.llm.runner import NO_CLIENT, Role  # noqa: PLC0415 - not needed to read sessions

    if context.runner.llm(Role.REFLECTOR, NO_CLIENT) is None:
        fix = "Name one: --model claude-code (or codex, gemini, anthropic:MODEL, openai:MODEL@URL)."
        raise InputError("--model", "no language model is configured", fix)
    found = await context.bank.findings.waiting(context.scopes.own)
    return [one for one in found if one.finding.wording is None]


def estimated_tokens(context: Context, found: Sequence[StoredFinding]) -> int:
    """Return the tokens that a model will use for these findings, more or less."""
    rendered = [
        context.runner.render("learn", clean_inputs(_inputs(batch))) for batch in _batches(found)
    ]
    read = sum(len(one.system) + len(one.user) for one in rendered) // _CHARS
    return read + _ANSWER_TOKENS * len(found)


async def word(context: Context, found: Sequence[StoredFinding]) -> tuple[int, int, str | None]:
    """Ask the model, ten findings at once, and keep its words. It ends with the first failure.

    Returns the number of findings that it worded, the tokens that it used, and what failed.
    """
    from mcp_reflect.llm.runner import NO_CLIENT, Role  # noqa: PLC0415 - not needed to read sessions

    written = tokens = 0
    for batch in _batches(found):
        reply = await context.runner.generate(
            Role.REFLECTOR, "learn", clean_inputs(_inputs(batch)), host=NO_CLIENT, read=_lessons_in
        )
        tokens += reply.input_tokens + reply.output_tokens
        if reply.value is None:
            return written, tokens, reply.note
        known = {one.id: one for one in batch}
        for lesson in reply.value:
            if (one := known.pop(str(lesson.get("id")), None)) and lesson.get("correction"):
                wording = Wording(
                    mistake=clip(str(lesson.get("mistake") or ""), _MOST_WORDS),
                    correction=clip(str(lesson["correction"]), _MOST_WORDS),
                    wrong_call=lesson.get("wrong_call"),
                    right_call=lesson.get("right_call"),
                    by=reply.thinker or "",
                )
                await context.bank.findings.reword(
                    context.scopes.own, one.id, replace(one.finding, wording=wording)
                )
                written += 1
    return written, tokens, None


def _batches(found: Sequence[StoredFinding]) -> list[Sequence[StoredFinding]]:
    return [found[start : start + _BATCH] for start in range(0, len(found), _BATCH)]


def _inputs(batch: Sequence[StoredFinding]) -> dict[str, str]:
    """Return the findings as text, each followed by its lines, so that none is taken for another's."""
    texts: list[str] = []
    for one in batch:
        lines = [line for seen in one.seen[-2:] for line in seen.lines][:_MOST_LINES]
        texts.append(f"- {one.id} ({one.finding.kind}): {facts_of(one.finding)}")
        texts += [f"    line {clip(line, 300)}" for line in lines]
    return {"findings": "\n".join(texts)}


def _lessons_in(answer: Json) -> list[Mapping[str, Any]]:
    lessons: Any = answer.get("lessons") if isinstance(answer, dict) else None
    if not isinstance(lessons, list):
        raise InputError("lessons", "it is not a list", "Send a list of objects.")
    return [
        cast("Mapping[str, Any]", one)
        for one in cast("list[Any]", lessons)
        if isinstance(one, dict)
    ]


# A process that reads.


def main() -> None:
    """Answer each line of stdin, a path and its host, with what the file shows."""
    for line in sys.stdin:
        found, faults = read(*json.loads(line))
        pairs = [(asdict(finding), asdict(seen)) for finding, seen in found]
        sys.stdout.write(json.dumps({"found": pairs, "faults": faults}) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
