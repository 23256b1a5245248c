"""Print the lessons that fit a task: `mcp-reflect recall`."""

from argparse import Namespace
from typing import Any, Final

from mcp_reflect import services
from mcp_reflect.cli.commands import CliParser, add_number
from mcp_reflect.cli.output import write_result
from mcp_reflect.cli.running import settings_of, with_engine
from mcp_reflect.cli.service_client import ask_as
from mcp_reflect.errors import InputError
from mcp_reflect.limits import DEFAULT
from mcp_reflect.models.common import compact, from_json, plain
from mcp_reflect.models.lesson import RecordKind
from mcp_reflect.models.recall import Recall, RecallQuery
from mcp_reflect.services.engine import Engine

_SINGLE_VALUES: Final = (
    "task",
    "task_type",
    "context",
    "limit",
    "max_chars",
    "min_importance",
    "min_effectiveness",
)
"""The fields of a query that are options with one value."""

_WORDS_FOR_FIT: Final = {"strong": "fits well", "weak": "fits weakly"}
"""What a person reads for how well a lesson fits the task."""


def add_recall_arguments(parser: CliParser) -> None:
    """Add the options of `mcp-reflect recall`."""
    parser.add_argument("task", help="what you are about to do, in your words")
    parser.add_argument("--task-type", help="like debugging, search, deploy")
    parser.add_argument("--context", help="where you are: lessons from the same context come first")
    parser.add_argument(
        "--symptom", action="append", default=[], dest="symptoms", help="an error text that you see"
    )
    parser.add_argument(
        "--tag",
        action="append",
        default=[],
        dest="tags",
        help="only lessons with any of these tags",
    )
    kinds = [kind.value for kind in RecordKind]
    parser.add_argument(
        "--kind", action="append", default=[], dest="kinds", choices=kinds, help="only this kind"
    )
    most = DEFAULT.max_recalled
    add_number(
        parser, "--limit", 1, most, default=3, help=f"at most so many (1 to {most}, default 3)"
    )
    most = DEFAULT.max_recalled_chars
    add_number(
        parser, "--max-chars", 1, most, default=4000, help="at most so many characters of lessons"
    )
    add_number(parser, "--min-importance", 0.0, 1.0, default=0.0, help="0 to 1")
    add_number(parser, "--min-effectiveness", 0.0, 1.0, default=0.0, help="0 to 1")


def run_recall(options: Namespace) -> None:
    """Print the lessons that fit a task, best first, each with the reason why."""
    settings = settings_of(options)
    if not options.task.strip():
        raise InputError("task", "it is empty", "Say what you are about to do.")
    settings.refuse_more("max_task_chars", "task", len(options.task))
    query_fields: dict[str, Any] = {name: getattr(options, name) for name in _SINGLE_VALUES}
    query_fields["symptoms"] = tuple(options.symptoms)
    query_fields["tags"] = tuple(options.tags)
    if options.url:
        answer = ask_as(options, "recall", query_fields | {"kinds": options.kinds})
        write_result(options, compact(answer), _recall_text(from_json(Recall, answer)))
        return
    # Made by hand: the schemas of the tools would take longer to import than the recall takes.
    query = RecallQuery(**query_fields, kinds=tuple(map(RecordKind, options.kinds)))

    async def work(engine: Engine) -> None:
        """Recall as an agent would, but without counting a use: a person who looks applies nothing."""
        own, holdout = engine.scopes.own, engine.settings.holdout
        recall = await engine.bank.recalls.recall(own, query, applied=False, holdout=holdout)
        if recall.lessons:
            recall = await services.ground.with_remarks(engine.context, own, recall)
        text = _recall_text(recall)
        if not recall.lessons:
            text += await _hint_at_other_projects(engine)
        write_result(options, plain(recall), text)

    with_engine(work, settings)


async def _hint_at_other_projects(engine: Engine) -> str:
    """Return which other projects have lessons: where nothing was found, the person may stand in the wrong folder."""
    own = engine.scopes.own
    counts = await engine.bank.lessons.projects(own.tenant)
    other_projects = [
        f"{name or '(global)'} ({count})" for name, count in counts.items() if name != own.project
    ]
    if not other_projects:
        return ""
    return f"\nThis bank has lessons of other projects: {', '.join(other_projects)}."


def _recall_text(recall: Recall) -> str:
    """Return the lessons of a recall for a person, two lines each, or that there is none."""
    lines: list[str] = []
    if not recall.lessons:
        lines.append(f"Nothing on this in {recall.scope}.")
    for number, hit in enumerate(recall.lessons, start=1):
        fit = _WORDS_FOR_FIT[hit.fit]
        text = hit.text.replace("\n", "\n   | ")  # no line of a text can pass for one of ours
        lines.append(f"{number}. {text}\n   {hit.kind} {hit.id} · {hit.trust} · {fit}: {hit.why}")
    return "\n".join([*lines, f"Recall {recall.recall_id}."])
