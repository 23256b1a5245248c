"""Learn from runs and past sessions, and promote what was learned: `mcp-reflect reflect | learn | promote`."""

import os
import sys
import zlib
from argparse import Namespace
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Final

from mcp_reflect.cli.commands import CliParser, add_number
from mcp_reflect.cli.files import read_text
from mcp_reflect.cli.output import (
    confirm,
    counted,
    diff,
    visible,
    write_json,
    write_line,
    write_result,
)
from mcp_reflect.cli.place import with_engine
from mcp_reflect.clock import iso
from mcp_reflect.config import Settings
from mcp_reflect.errors import InputError
from mcp_reflect.models.common import plain
from mcp_reflect.models.finding import Finding, FindingKind, FoundCall, StoredFinding
from mcp_reflect.models.reflection import Reflection
from mcp_reflect.security.redact import clean_text
from mcp_reflect.services import promote
from mcp_reflect.services.engine import Engine
from mcp_reflect.services.learn import (
    Learned,
    estimated_tokens,
    learn,
    unworded,
    word,
)
from mcp_reflect.sessions.session_places import HOSTS, folder_in
from mcp_reflect.sessions.text import brief
from mcp_reflect.sessions.tools import call_line
from mcp_reflect.sessions.transcripts import Transcript, read_transcript
from mcp_reflect.speaker import refuse_agent, speaker_of_process

_SHOWN: Final = 10
_BAR: Final = 30  # characters
_MOST_CALL: Final = 300  # characters of a call
_WORDS: Final = {
    "failure": "a failure that came back",
    "hard_won": "it worked after a failure",
    "correction": "you refused a call, and said why",
    "undone": "you said this, and the agent undid its work",
    "repeated": "you said it again and again",
}
_HEAD: Final = 400_000  # characters of a transcript, in which it names the session's folder
_OUTCOMES: Final = ("success", "failure", "partial", "timeout", "error")


def add_reflect_arguments(parser: CliParser) -> None:
    about = "a file, or a folder of .json and .jsonl files; - reads stdin"
    parser.add_argument("files", nargs="+", metavar="FILE", help=about)
    about = "how it ended, if the file does not say"
    parser.add_argument("--outcome", choices=_OUTCOMES, default="partial", help=about)
    parser.add_argument("--session", help="the session's id, if hooks watched it")
    about = "the folder it worked in, if the file does not say (default: this directory)"
    parser.add_argument("--folder", help=about)


def run_reflect(options: Namespace) -> None:
    """Reflect on each run of some files, each for the project of the folder in which its session ran.

    The file is a session of an agent program, a list of messages (OpenAI, Anthropic, LangChain), or the arguments of
    the reflect tool (task, outcome, events, …) as JSON or one per line. Runs that were reflected on before are skipped.
    """
    settings = Settings.from_env()
    names = [name for given in options.files for name in _files(given)]
    for name in names:
        text = read_text(name, settings)
        transcript = read_transcript(text, options.outcome, options.session)
        for fault in transcript.bad:
            sys.stderr.write(f"mcp-reflect: {fault}; skipped.\n")
        if transcript.runs:
            folder = folder_in(text[:_HEAD].encode(errors="replace")) or options.folder
            own = replace(settings, folder=Path(folder) if folder else None)
            with_engine(lambda engine, runs=transcript: _reflect(engine, runs, options), own)
        elif len(names) == 1:
            raise InputError(
                "file", "it has no tool call", "Give a transcript in which an agent called a tool."
            )


def _files(name: str) -> list[str]:
    if name == "-" or not Path(name).is_dir():
        return [name]
    return [
        str(file)
        for file in sorted(Path(name).rglob("*.json*"))
        if file.suffix in (".json", ".jsonl")
    ]


@contextmanager
def _alone(engine: Engine, session: str | None) -> Generator[bool]:
    """Yield whether no other process reflects on the session; none does until the block ends. Windows cannot tell."""
    if session is None or sys.platform == "win32":
        yield True
        return
    import fcntl  # noqa: PLC0415 - not on Windows

    path = engine.bank.path.with_name(f"{engine.bank.path.name}.reflecting")
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), "r+b") as file:
        try:
            fcntl.lockf(
                file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, zlib.crc32(session.encode())
            )  # a byte for a session
        except OSError:
            yield False
        else:
            yield True


async def _reflect(engine: Engine, transcript: Transcript, options: Namespace) -> None:
    with _alone(engine, options.session) as alone:
        for place, arguments in transcript.runs if alone else ():
            await _reflect_on(engine, place, arguments, options)


async def _reflect_on(
    engine: Engine, place: str, arguments: dict[str, Any], options: Namespace
) -> None:
    run_id = clean_text(str(arguments.get("run_id", "")))
    known = (
        await engine.bank.reflections.of_run(engine.scopes.own, run_id) if "#" in run_id else None
    )
    if known is not None:
        write_result(options, {"reflection_id": known, "known": True}, f"Known already: {known}.\n")
        return
    try:
        reflection = await engine.reflect(**arguments)
    except InputError as error:
        raise InputError(f"{place}{error.field}", error.fault, error.fix) from None
    write_result(options, plain(reflection), _reflected(reflection))


def _reflected(reflection: Reflection) -> str:
    category = reflection.error_category or "no category"
    lines = [
        reflection.reflection,
        f"Next time: {reflection.strategy}" if reflection.strategy else "",
        *(f"Lesson {lesson.id}: {lesson.status}." for lesson in reflection.lessons),
        f"Reflection {reflection.reflection_id} by {reflection.thinker}, {category}.\n",
    ]
    return "\n".join(filter(None, lines))


def add_learn_arguments(parser: CliParser) -> None:
    parser.add_argument(
        "--all", action="store_true", help="the sessions of all projects, not only of this one"
    )
    add_number(
        parser, "--days", 0.0, 100_000.0, metavar="N", help="sessions of the last N days alone"
    )
    parser.add_argument(
        "--host",
        action="append",
        choices=[*HOSTS],
        help="sessions of this host; may be given again",
    )
    about = "let a language model word the lessons: NAME (claude-code, codex, gemini, ...), or the configured one"
    parser.add_argument("--model", nargs="?", const="", metavar="NAME", help=about)
    parser.add_argument("--yes", action="store_true", help="use the model without asking first")
    about = f"list at most this many findings (default {_SHOWN}; with --json all)"
    add_number(parser, "--limit", 1, 10_000, metavar="N", help=about)


def run_learn(options: Namespace) -> None:
    """Read the sessions that your agents left on this machine, and list what they teach, the costliest first.

    Each session is read once, on this machine; what is found waits for you in `mcp-reflect lessons review`. Secrets are
    taken out before anything is stored. You can interrupt it: the next `learn` continues.
    """
    settings = replace(Settings.from_env(), llm=options.model) if options.model else None
    with_engine(lambda engine: _learn(engine, options), settings)


async def _learn(engine: Engine, options: Namespace) -> None:
    hosts = [*dict.fromkeys(options.host or HOSTS)]
    learned = await learn(
        engine.context, hosts, every_project=options.all, days=options.days, progress=show_progress
    )
    if sys.stderr.isatty():
        sys.stderr.write("\r\x1b[K")
    for path, fault in learned.faults:
        sys.stderr.write(f"mcp-reflect: {visible(path)}: {fault}; left out.\n")
    if options.model is not None:
        await _have_words_written(engine, options)
    found = await engine.bank.findings.waiting(engine.scopes.own, every_project=options.all)
    if options.json:
        for one in found[: options.limit]:
            write_json(record_of(one))
        return
    for number, one in enumerate(found[: options.limit or _SHOWN], start=1):
        write_line(text_of(number, one, with_project=options.all))
    write_line(_summary(engine, learned, len(found), options))


async def _have_words_written(engine: Engine, options: Namespace) -> None:
    """Ask the model for words, after saying what that takes; what is said goes to stderr, beside the JSON."""
    found = await unworded(engine.context)
    if not found:
        return
    tokens = estimated_tokens(engine.context, found)
    model = engine.context.runner.bound()["reflector"]
    question = f"{len(found)} findings: about {tokens} tokens of {model}. Ask it?"
    if not options.yes and not confirm(question, f"it takes about {tokens} tokens of {model}"):
        return
    written, tokens, note = await word(engine.context, found)
    fault = f" It stopped: {note}." if note else ""
    sys.stderr.write(f"{model} worded {written} findings with {tokens} tokens.{fault}\n")


def show_progress(done: int, size: int, files: int) -> None:
    """Show on stderr, where that is a terminal, the bytes that were read, of all, and the number of files left."""
    if sys.stderr.isatty():
        filled = _BAR * done // max(size, 1)
        told = f"{done / 1e6:.0f} of {size / 1e6:.0f} MB, {files} sessions left"
        sys.stderr.write(f"\r\x1b[K[{'#' * filled}{'.' * (_BAR - filled)}] {told}")
        sys.stderr.flush()


def kind_of(found: StoredFinding) -> str:
    """Return the kind of a finding for a person: failure, hard_won, correction, undone or repeated."""
    match found.finding.kind:
        case FindingKind.SAID:
            return "repeated"
        case FindingKind.CORRECTION | FindingKind.UNDONE as kind:
            return kind.value
        case _:
            return "failure" if found.sessions > 1 else "hard_won"


def record_of(found: StoredFinding) -> dict[str, Any]:
    """Return a finding for a program: facts, and the words of a model where it was asked."""
    finding = found.finding
    is_said = kind_of(found) in ("repeated", "correction", "undone")
    return {
        "id": found.id,
        "kind": kind_of(found),
        "project": found.project,
        "sessions": [
            {**asdict(seen), "date": None if seen.at is None else iso(seen.at)}
            for seen in found.seen
        ],
        "count": sum(seen.times for seen in found.seen) or found.sessions,
        "seconds": round(found.weight),
        "call": _call(finding.failed),
        "error": None if is_said else finding.line,
        "said": finding.line if is_said else None,
        "deciding": _call(finding.deciding),
        "worked": _call(finding.worked),
        "wording": asdict(finding.wording) if finding.wording else None,
    }


def _call(call: FoundCall | None) -> str | None:
    return call_line(call.tool, call.arguments) if call else None


def _evidence_of(found: StoredFinding, most: int = 2) -> list[str]:
    """Return lines about the sessions that show a finding, the latest first."""
    lines: list[str] = []
    for seen in found.seen[: -most - 1 : -1]:
        day = iso(seen.at)[:10] if seen.at is not None else "no date"
        lines.append(f"{day} {seen.host} {seen.session}")
        lines += [f"  line {line}" for line in seen.lines[:3]]
    return lines


def text_of(name: object, found: StoredFinding, *, with_project: bool = False) -> str:
    """Return a finding for a person, under its number or id: its facts, its evidence, and a model's words."""
    finding, count = found.finding, sum(seen.times for seen in found.seen)
    often = f"{count} times" if count > 1 else "once"
    where = f"in {found.sessions} sessions" if found.sessions > 1 else "in one session"
    spent = sum(seen.seconds for seen in found.seen)
    cost = f", {spent / 60:.0f} min" if spent >= 60 else ""
    project = f" ({found.project})" if with_project else ""
    head = f"{name}. {_WORDS[kind_of(found)]}: {often} {where}{cost}{project}"
    evidence = [f"     {line}" for line in _evidence_of(found)]
    return visible("\n".join([head, *_facts_of(finding), *_wording_of(finding), *evidence, ""]))


def _facts_of(finding: Finding) -> list[str]:
    code = f" (exit code {finding.exit_code})" if finding.exit_code else ""
    if finding.kind in (FindingKind.SAID, FindingKind.UNDONE):
        return [f"   you said: {finding.line}"]
    if finding.kind is FindingKind.CORRECTION:
        return [f"   refused: {_short(finding.failed)}", f"   you said: {finding.line}"]
    failed = [f"   failed{code}: {_short(finding.failed)}", f"     {finding.line}"]
    between = [f"   in between: {_short(finding.deciding)}"] if finding.deciding else []
    worked = [f"   worked: {_short(finding.worked)}"] if finding.worked else []
    return [*failed, *between, *worked]


def _wording_of(finding: Finding) -> list[str]:
    if finding.wording is None:
        return []
    wording = finding.wording
    mistake = [f"     {wording.mistake}"] if wording.mistake else []
    return [f"   in the words of {wording.by}:", *mistake, f"     {wording.correction}"]


def _short(call: FoundCall | None) -> str:
    return brief(_call(call) or "", _MOST_CALL)


def _summary(engine: Engine, learned: Learned, found: int, options: Namespace) -> str:
    where = "all projects" if options.all else str(engine.scopes.own)
    if not (learned.sessions or learned.known or learned.others or learned.faults or found):
        hosts = ", ".join(dict.fromkeys(options.host or HOSTS))
        return f"There is no session of {hosts} on this machine yet."
    read = f"Read {counted(learned.sessions, 'session')} ({learned.bytes / 1e6:.1f} MB), {learned.known} were known"
    others = "" if options.all else f", {learned.others} are of other projects (--all)"
    left = f" {len(learned.faults)} faults, see above." if learned.faults else ""
    wait = f"{counted(found, 'finding')} for you to decide about in {where}: mcp-reflect lessons review"
    return f"{read}{others}.{left} {wait if found else f'Nothing waits for you in {where}.'}"


def add_promote_arguments(parser: CliParser) -> None:
    about = f"{', '.join(promote.FILES)} (default: those that are there, else CLAUDE.md)"
    parser.add_argument("file", nargs="?", metavar="FILE", choices=promote.FILES, help=about)
    about = "lessons of a task type or tag, three or more: .claude/skills/SUBJECT/SKILL.md"
    parser.add_argument("--skill", metavar="SUBJECT", help=about)
    parser.add_argument(
        "--lesson",
        action="append",
        default=[],
        metavar="ID",
        help="this lesson; may be given again",
    )
    parser.add_argument(
        "--undo", action="store_true", help="take the block out again: of the file, or of every one"
    )
    parser.add_argument("--yes", action="store_true", help="do not ask")


def run_promote(options: Namespace) -> int:
    """Write your lessons and proven ones into a block of the project's instruction file, after showing the change.

    The block follows its lessons, and hooks do not repeat what the file says. Nothing outside of it is changed.
    """
    return with_engine(lambda engine: _promote(engine, options))


async def _promote(engine: Engine, options: Namespace) -> int:
    context = engine.context
    if options.undo:
        plans = await promote.undo_plans(context, options.file, options.skill)
    else:
        if options.file or options.skill:
            names = [options.file or ""]
        else:
            names = promote.files_there(promote.root_of(context)) or ["CLAUDE.md"]
        plans = [
            await promote.plan(context, name, subject=options.skill, ids=options.lesson)
            for name in names
        ]
    changed = [plan for plan in plans if plan.before != plan.after]
    for plan in () if options.json else plans:
        _show_plan(plan)
    if changed:
        refuse_agent(speaker_of_process(), "promote", "write lessons into a project's files")
    if (
        changed
        and not options.yes
        and not confirm("Write this?", "it changes a file of the project")
    ):
        write_line("Nothing was written.")
        return 1
    for plan in changed if not options.undo else plans:
        await promote.apply(context, plan)
    if options.json:
        for plan in plans:
            lessons = plan.promotion.lessons if plan.promotion else ()
            left_out = [{"id": name, "reason": reason} for name, reason in plan.left_out]
            record = {
                "file": str(plan.path),
                "changed": plan in changed,
                "lessons": [*lessons],
                "left_out": left_out,
            }
            write_json(record)
    elif changed:
        write_line(
            "Undone."
            if options.undo
            else "Written. `mcp-reflect promote --undo` takes it out again."
        )
    return 0


def _show_plan(plan: promote.Plan) -> None:
    for name, reason in plan.left_out:
        write_line(f"{name}: left out, {reason}.")
    if plan.before == plan.after:
        write_line(f"{plan.path}: nothing changes.")
        return
    write_line(diff(plan.path, plan.before, plan.after).rstrip("\n"))
