"""Print the lessons that fit a task: `mcp-reflect recall TASK`."""

from argparse import Namespace
from typing import Any

from mcp_reflect.cli.commands import CliParser, add_number, add_service_arguments
from mcp_reflect.cli.output import other_projects, write_result
from mcp_reflect.cli.place import with_engine
from mcp_reflect.config import DEFAULT, Settings
from mcp_reflect.errors import InputError
from mcp_reflect.models.common import compact, from_json, plain
from mcp_reflect.models.lesson import Recall, RecallQuery, RecordKind
from mcp_reflect.services.engine import Engine


def add_recall_arguments(parser: CliParser) -> None:
    parser.add_argument("task", help="what you are about to do, in your words")
    parser.add_argument("--task-type", help="like debugging, search, deploy")
    parser.add_argument("--context", help="where you are: counts for lessons from the same context")
    parser.add_argument("--symptom", action="append", default=[], dest="symptoms", help="an error text that you see")
    parser.add_argument("--tag", action="append", default=[], dest="tags", help="only lessons with any of these tags")
    kinds = [kind.value for kind in RecordKind]
    parser.add_argument("--kind", action="append", default=[], dest="kinds", choices=kinds, help="only this kind")
    most = DEFAULT.max_recalled
    add_number(parser, "--limit", 1, most, default=3, help=f"at most so many (1 to {most}, default 3)")
    most = DEFAULT.max_recalled_chars
    add_number(parser, "--max-chars", 1, most, default=1500, help="at most so many characters of lessons")
    add_number(parser, "--min-importance", 0.0, 1.0, default=0.0, help="0 to 1")
    add_number(parser, "--min-effectiveness", 0.0, 1.0, default=0.0, help="0 to 1")
    add_service_arguments(parser)


def run_recall(options: Namespace) -> None:
    """Print the lessons that fit a task, best first, each with the reason why."""
    settings = Settings.from_env()
    if not options.task.strip():
        raise InputError("task", "it is empty", "Say what you are about to do.")
    settings.refuse_more("max_task_chars", "task", len(options.task))
    # The schemas of the tools would take longer to import than the recall takes.
    names = set(RecallQuery.__slots__) - {"kinds", "symptoms", "tags"}
    values: dict[str, Any] = {name: value for name, value in vars(options).items() if name in names}
    values |= {name: tuple(getattr(options, name)) for name in ("symptoms", "tags")}
    if options.url:
        from mcp_reflect.cli.place import ask_as  # noqa: PLC0415 - most have a bank of their own

        value = ask_as(options, "recall", values | {"kinds": options.kinds})
        write_result(options, compact(value), _text(from_json(Recall, value)))
        return
    query = RecallQuery(**values, kinds=tuple(map(RecordKind, options.kinds)))

    async def work(engine: Engine) -> None:
        # A person who looks is not an agent who applies: it does not count as a use.
        scope, holdout = engine.scopes.named(options.project), engine.settings.holdout
        recall = await engine.bank.recalls.recall(scope, query, applied=False, holdout=holdout)
        counts = {} if recall.lessons else await engine.bank.lessons.projects(engine.scopes.own.tenant)
        others = other_projects(counts, scope.project)
        write_result(options, plain(recall), _text(recall) + (f"\n{others}" if others else ""))

    with_engine(work, settings)


def _text(recall: Recall) -> str:
    lines = [] if recall.lessons else [f"Nothing on this in {recall.scope}."]
    for place, hit in enumerate(recall.lessons, start=1):
        fit = "fits well" if hit.fit == "strong" else "fits weakly"
        text = hit.text.replace("\n", "\n   | ")  # no line of a text can pass for one of ours
        lines.append(f"{place}. {text}\n   {hit.kind} {hit.id} · {hit.trust} · {fit}: {hit.why}")
    return "\n".join([*lines, f"Recall {recall.recall_id}."])
