"""`mcp-reflect recall TASK`."""

from typing import Any

from mcp_reflect.cli.common import parser, say, say_json, with_engine
from mcp_reflect.config import Limits, Settings
from mcp_reflect.errors import InputError
from mcp_reflect.models.lesson import Recall, RecallQuery, RecordKind
from mcp_reflect.services.results import plain


def run(arguments: list[str]) -> int:
    """Print the lessons that fit a task."""
    words = parser("recall", "The lessons that fit a task, best first, each with the reason why.")
    words.add_argument("task", help="what you are about to do, in your words")
    words.add_argument("--task-type", help="like debugging, search, deploy")
    words.add_argument("--context", help="where you are: counts for lessons from the same context")
    words.add_argument("--symptom", action="append", default=[], dest="symptoms", help="an error text that you see")
    words.add_argument("--tag", action="append", default=[], dest="tags", help="only lessons with any of these tags")
    words.add_argument("--kind", action="append", default=[], dest="kinds", help="lesson, strategy or reflection")
    words.add_argument("--limit", type=int, default=3, help="at most so many (1 to 50, default 3)")
    words.add_argument("--max-chars", type=int, default=1500, help="at most so many characters of lessons")
    words.add_argument("--min-importance", type=float, default=0.0, help="0 to 1")
    words.add_argument("--min-effectiveness", type=float, default=0.0, help="0 to 1")
    words.add_argument("--project", help="a project that MCP_REFLECT_PROJECTS allows")
    given = vars(words.parse_args(arguments))
    as_json, project = given.pop("json"), given.pop("project")
    settings = Settings.from_env()
    ask = _ask(given, settings)
    found = with_engine(lambda engine: engine.recall_for(ask, project), settings)
    if as_json:
        say_json(plain(found))
    else:
        _show(found)
    return 0


def _ask(given: dict[str, Any], limits: Limits) -> RecallQuery:
    """The words as a question, checked here: the door of the tools would cost more time than the recall."""
    if not given["task"].strip():
        raise InputError("task", "it is empty", "Say what you are about to do.")
    limits.refuse_more("max_task_chars", "task", len(given["task"]))
    kinds = [kind.value for kind in RecordKind]
    for kind in given["kinds"]:
        if kind not in kinds:
            from mcp_reflect.security.redact import quoted  # noqa: PLC0415 - only an error needs it

            raise InputError("--kind", f"'{quoted(kind)}' is not one", f"Give one of {', '.join(kinds)}.")
    for name, least, most in (
        ("limit", 1, limits.max_recalled),
        ("max_chars", 1, limits.max_recalled_chars),
        ("min_importance", 0, 1),
        ("min_effectiveness", 0, 1),
    ):
        if not least <= given[name] <= most:
            raise InputError(
                f"--{name.replace('_', '-')}", f"{given[name]} is not in {least} to {most}", "Give a number there."
            )
    lists: dict[str, Any] = {"symptoms": tuple(given["symptoms"]), "tags": tuple(given["tags"])}
    read: dict[str, Any] = {**given, **lists, "kinds": tuple(RecordKind(kind) for kind in given["kinds"])}
    return RecallQuery(**read)


def _show(found: Recall) -> None:
    if not found.lessons:
        say(f"Nothing on this in {found.scope}.")
    for place, hit in enumerate(found.lessons, start=1):
        say(f"{place}. {hit.text}\n   {hit.kind} {hit.id} · {hit.trust} · {hit.why}")
    held = ", ".join(f"{count} {reason.replace('_', ' ')}" for reason, count in found.hidden.items())
    if held:
        say(f"Held back: {held}.")
    say(f"Recall {found.recall_id}.")
