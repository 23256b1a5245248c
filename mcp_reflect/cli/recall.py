"""Print the lessons that fit a task: `mcp-reflect recall TASK`."""

from argparse import Namespace

from mcp_reflect.cli.commands import CliParser
from mcp_reflect.cli.engine import with_engine
from mcp_reflect.cli.output import other_projects, write_json, write_line
from mcp_reflect.config import Limits, Settings
from mcp_reflect.errors import InputError
from mcp_reflect.models.common import plain
from mcp_reflect.models.lesson import Recall, RecallQuery, RecordKind
from mcp_reflect.services.engine import Engine


def add_recall_arguments(parser: CliParser) -> None:
    parser.add_argument("task", help="what you are about to do, in your words")
    parser.add_argument("--task-type", help="like debugging, search, deploy")
    parser.add_argument("--context", help="where you are: counts for lessons from the same context")
    parser.add_argument("--symptom", action="append", default=[], dest="symptoms", help="an error text that you see")
    parser.add_argument("--tag", action="append", default=[], dest="tags", help="only lessons with any of these tags")
    parser.add_argument("--kind", action="append", default=[], dest="kinds", help="lesson, strategy or reflection")
    parser.add_argument("--limit", type=int, default=3, help="at most so many (1 to 50, default 3)")
    parser.add_argument("--max-chars", type=int, default=1500, help="at most so many characters of lessons")
    parser.add_argument("--min-importance", type=float, default=0.0, help="0 to 1")
    parser.add_argument("--min-effectiveness", type=float, default=0.0, help="0 to 1")
    parser.add_argument("--project", help="a project that MCP_REFLECT_PROJECTS allows")


def run_recall(options: Namespace) -> int:
    """Print the lessons that fit a task, best first, each with the reason why."""
    settings = Settings.from_env()
    request = _request(options, settings)

    async def work(engine: Engine) -> None:
        # A person who looks is not an agent who applies: it does not count as a use.
        recall = await engine.context.recall(request, options.project, applied=False)
        if options.json:
            write_json(plain(recall))
            return
        _print(recall)
        if not recall.lessons:
            counts = await engine.bank.lessons.projects(engine.scopes.own.tenant)
            if others := other_projects(counts, engine.scopes.named(options.project).project):
                write_line(others)

    with_engine(work, settings)
    return 0


def _request(options: Namespace, limits: Limits) -> RecallQuery:
    """Check the arguments here: importing the schemas of the tools would take longer than the recall."""
    if not options.task.strip():
        raise InputError("task", "it is empty", "Say what you are about to do.")
    limits.refuse_more("max_task_chars", "task", len(options.task))
    for option, number, least, most in (
        ("--limit", options.limit, 1, limits.max_recalled),
        ("--max-chars", options.max_chars, 1, limits.max_recalled_chars),
        ("--min-importance", options.min_importance, 0, 1),
        ("--min-effectiveness", options.min_effectiveness, 0, 1),
    ):
        if not least <= number <= most:
            raise InputError(option, f"{number} is not in {least} to {most}", "Give a number in that range.")
    return RecallQuery(
        task=options.task,
        task_type=options.task_type,
        context=options.context,
        symptoms=tuple(options.symptoms),
        tags=tuple(options.tags),
        kinds=tuple(map(_kind, options.kinds)),
        limit=options.limit,
        max_chars=options.max_chars,
        min_importance=options.min_importance,
        min_effectiveness=options.min_effectiveness,
    )


def _kind(name: str) -> RecordKind:
    try:
        return RecordKind(name)
    except ValueError:
        from mcp_reflect.security.redact import quoted  # noqa: PLC0415 - only an error needs it

        raise InputError("--kind", f"'{quoted(name)}' is not one", f"Give one of {', '.join(RecordKind)}.") from None


def _print(recall: Recall) -> None:
    if not recall.lessons:
        write_line(f"Nothing on this in {recall.scope}.")
    for place, hit in enumerate(recall.lessons, start=1):
        fit = "fits well" if hit.fit == "strong" else "fits weakly"
        write_line(f"{place}. {hit.text}\n   {hit.kind} {hit.id} · {hit.trust} · {fit}: {hit.why}")
    hidden = ", ".join(f"{count} {reason.replace('_', ' ')}" for reason, count in recall.hidden.items())
    if hidden:
        write_line(f"Held back: {hidden}.")
    write_line(f"Recall {recall.recall_id}.")
