"""Learn from past sessions: `mcp-reflect learn`."""

import sys
from argparse import Namespace
from dataclasses import replace
from typing import Final

from mcp_reflect.cli.commands import CliParser, add_number
from mcp_reflect.cli.finding_text import record_of, text_of
from mcp_reflect.cli.output import (
    confirm,
    counted,
    counted_sessions,
    write_json,
    write_line,
)
from mcp_reflect.cli.running import with_engine
from mcp_reflect.config import Settings
from mcp_reflect.services.engine import Engine
from mcp_reflect.services.learn import Learned, learn
from mcp_reflect.services.wording import estimated_tokens, unworded, word_findings
from mcp_reflect.sessions.session_sources import HOSTS
from mcp_reflect.text.one_line import visible

_MOST_SHOWN: Final = 10
"""The findings that a person is shown, unless --limit says otherwise."""

_BAR_CHARS: Final = 30


def add_learn_arguments(parser: CliParser) -> None:
    """Add the options of `mcp-reflect learn`."""
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
    about = f"list at most this many findings (default {_MOST_SHOWN}; with --json all)"
    add_number(parser, "--limit", 1, 10_000, metavar="N", help=about)


def run_learn(options: Namespace) -> None:
    """Read the sessions that your agents left on this machine, and list what they teach, the costliest first.

    Each session is read once, on this machine; what is found waits for you in `mcp-reflect lessons review`. Secrets are
    taken out before anything is stored. You can interrupt it: the next `learn` continues.
    """
    settings = Settings.from_env()
    if options.model:
        settings = replace(settings, llm=options.model)
    with_engine(lambda engine: _learn(engine, options), settings)


async def _learn(engine: Engine, options: Namespace) -> None:
    """Read the past sessions, have a model word what was found (--model), and print what waits with a summary."""
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
    waiting = await engine.bank.findings.waiting(engine.scopes.own, every_project=options.all)
    if options.json:
        for stored in waiting[: options.limit]:
            write_json(record_of(stored))
        return
    for number, stored in enumerate(waiting[: options.limit or _MOST_SHOWN], start=1):
        write_line(text_of(number, stored, with_project=options.all))
    write_line(_summary(engine, learned, len(waiting), options))


async def _have_words_written(engine: Engine, options: Namespace) -> None:
    """Ask the model for words, after saying what that takes; what is said goes to stderr, beside the JSON."""
    findings = await unworded(engine.context)
    if not findings:
        return
    tokens = estimated_tokens(engine.context, findings)
    model = engine.context.runner.bound()["reflector"]
    question = f"{len(findings)} findings: about {tokens} tokens of {model}. Ask it?"
    if not options.yes and not confirm(question, f"it takes about {tokens} tokens of {model}"):
        return
    result = await word_findings(engine.context, findings)
    report = f"{model} worded {result.worded} findings with {result.tokens} tokens."
    if result.fault:
        report += f" It stopped: {result.fault}."
    sys.stderr.write(f"{report}\n")


def show_progress(done: int, size: int, files: int) -> None:
    """Draw a bar on stderr, where that is a terminal: `done` of `size` bytes are read, and `files` sessions are left."""
    if not sys.stderr.isatty():
        return
    filled = _BAR_CHARS * done // max(size, 1)
    bar = f"{'#' * filled}{'.' * (_BAR_CHARS - filled)}"
    counts = f"{done / 1e6:.0f} of {size / 1e6:.0f} MB, {files} sessions left"
    sys.stderr.write(f"\r\x1b[K[{bar}] {counts}")
    sys.stderr.flush()


def _summary(engine: Engine, learned: Learned, waiting: int, options: Namespace) -> str:
    """Return what was read, and how many findings now wait for the person: "Read 2 sessions (23 KB), 5 were known. …"."""
    session_counts = (learned.sessions, learned.known, learned.others, len(learned.faults))
    if not any(session_counts) and not waiting:
        hosts = ", ".join(dict.fromkeys(options.host or HOSTS))
        return f"There is no session of {hosts} on this machine yet."
    return f"{_read_text(learned, options)} {_waiting_text(engine, waiting, options)}"


def _read_text(learned: Learned, options: Namespace) -> str:
    """Return how many sessions were read now, and why the others were not.

    "Read 2 sessions (23 KB), 5 were known, 9 are of other projects (--all)."
    """
    sessions = counted_sessions(learned.sessions, learned.bytes)
    text = f"Read {sessions}, {learned.known} were known"
    if not options.all:
        text += f", {learned.others} are of other projects (--all)"
    text += "."
    if learned.faults:
        text += f" {len(learned.faults)} faults, see above."
    return text


def _waiting_text(engine: Engine, waiting: int, options: Namespace) -> str:
    """Return how many findings wait for a decision of the person."""
    where = str(engine.scopes.own)
    if options.all:
        where = "all projects"
    if not waiting:
        return f"Nothing waits for you in {where}."
    findings = counted(waiting, "finding")
    return f"{findings} for you to decide about in {where}: mcp-reflect lessons review"
