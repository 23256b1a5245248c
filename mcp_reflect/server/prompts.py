"""The prompts, which hosts show as slash commands."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from mcp.shared.exceptions import MCPError
from mcp.types import INVALID_PARAMS, GetPromptResult, Prompt, PromptArgument, PromptMessage, TextContent

from mcp_reflect.config import Limits
from mcp_reflect.errors import InputError, McpReflectError
from mcp_reflect.server import resources
from mcp_reflect.server.resources import told
from mcp_reflect.server.service import Service

if TYPE_CHECKING:
    from mcp_reflect.models.lesson import Lesson, Recall, RecallQuery
    from mcp_reflect.models.reflection import StoredReflection


# What fills the templates of the prompts: the arguments, and what the bank holds on them. It counts nothing.


_MOST_REFLECTIONS: Final = 12
_MOST_LESSONS: Final = 30
_LOOK: Final = 200  # how far back a task type is looked for


def outcomes() -> list[str]:
    """How a run can end."""
    from mcp_reflect.models.run import Outcome  # noqa: PLC0415 - nothing of ours at the start

    return [outcome.value for outcome in Outcome]


async def start_task(service: Service, given: dict[str, str]) -> dict[str, Any]:
    """The task with its lessons as a checklist."""
    query = replace(_ask(given["task"], given, service.settings), strong_only=True)
    found = await service.engine().recall_for(query, applied=False)
    nothing = "Earlier runs left nothing on this. There is nothing to go through."
    return {"task": given["task"], "lessons": checklist(found) or nothing}


async def review_task(service: Service, given: dict[str, str]) -> dict[str, Any]:
    """The task, how it ended, and what is stored about it."""
    from mcp_reflect.models.run import Outcome  # noqa: PLC0415 - nothing of ours at the start

    engine = service.engine()
    name = given.get("reflection_id")
    before = await engine.bank.reflections.by_id(engine.scopes.own, name) if name else None
    outcome = given.get("outcome", before.outcome if before else "").strip().lower()
    if outcome and outcome not in outcomes():
        from mcp_reflect.security.redact import quoted  # noqa: PLC0415 - nothing of ours at the start

        raise InputError("outcome", f"'{quoted(outcome)}' is none", f"Send one of {', '.join(outcomes())}.")
    return {
        "task": given.get("task") or (told(before.task) if before else None),
        "outcome": Outcome(outcome) if outcome else None,
        "stored": _note(before) if before else None,
    }


async def critique_answer(service: Service, given: dict[str, str]) -> dict[str, Any]:
    """The answer, what it is for, and the lessons that may bear on it."""
    goal, answer = given.get("goal"), given.get("answer")
    about = goal or answer
    query = replace(_ask(about, given, service.settings), strong_only=True) if about else None
    found = await service.engine().recall_for(query, applied=False) if query else None
    return {"goal": goal, "answer": answer, "lessons": checklist(found) if found else None}


async def replan_search(service: Service, given: dict[str, str]) -> dict[str, Any]:
    """What is looked for, and what was tried."""
    del service
    return {"user_message": given.get("user_message"), "tried": given.get("tried")}


async def distill_lessons(service: Service, given: dict[str, str]) -> dict[str, Any]:
    """Reflections to look over, and the lessons that are kept."""
    engine = service.engine()
    scope, kind = engine.scopes.own, given.get("task_type")
    if name := given.get("reflection_id"):
        reflections = [await engine.bank.reflections.by_id(scope, name)]
    else:
        reflections = await engine.bank.reflections.latest(scope, limit=_LOOK if kind else _MOST_REFLECTIONS)
        reflections = [one for one in reflections if kind is None or _task_type(one) == kind][:_MOST_REFLECTIONS]
    if name := given.get("lesson_id"):
        lessons = [await engine.bank.lessons.get(scope, name)]
    else:
        lessons = await engine.bank.lessons.latest(scope, limit=_LOOK if kind else _MOST_LESSONS)
        lessons = [one for one in lessons if kind is None or one.task_type == kind][:_MOST_LESSONS]
    return {
        "task_type": kind,
        "reflections": "\n".join(map(_note, reflections)),
        "lessons": "\n".join(map(_kept, lessons)),
    }


def checklist(found: "Recall") -> str:
    """Lessons and strategies as points to go through; nothing where there are none."""
    lines: list[str] = []
    for hit in found.lessons:
        lines.append(f"- [ ] {hit.kind} {hit.id} ({hit.why})")
        if hit.mistake and hit.correction:
            lines += [f"      avoid: {hit.mistake}", f"      instead: {hit.correction}"]
        else:
            lines.append(f"      {hit.text}")
    return "\n".join([f"recall_id: {found.recall_id}", *lines]) if lines else ""


def _ask(task: str, given: dict[str, str], limits: "Limits") -> "RecallQuery":
    """What is asked of the bank. A long answer is searched for by its beginning."""
    from mcp_reflect.schemas.fields import read  # noqa: PLC0415 - nothing of ours at the start
    from mcp_reflect.schemas.lessons import RecallArguments  # noqa: PLC0415 - nothing of ours at the start
    from mcp_reflect.security.redact import clean_text  # noqa: PLC0415 - same

    arguments = {"task": clean_text(task)[: limits.max_task_chars], "task_type": given.get("task_type")}
    return read(RecallArguments, {name: value for name, value in arguments.items() if value}, limits).ask()


def _note(one: "StoredReflection") -> str:
    body: dict[str, Any] = one.body if isinstance(one.body, dict) else {}
    lines = [
        f"- reflection {one.id} by {one.thinker}, {one.outcome}: {told(one.task)}",
        f"      {body.get('reflection')}",
    ]
    return "\n".join([*lines, *([f"      next time: {body['strategy']}"] if body.get("strategy") else [])])


def _kept(one: "Lesson") -> str:
    from mcp_reflect.models.lesson import waits  # noqa: PLC0415 - nothing of ours at the start

    return f"- lesson {one.id}: {waits(one.held) if one.held else one.text}"


def _task_type(one: "StoredReflection") -> object:
    return one.trace.get("task_type") if isinstance(one.trace, dict) else None


# The prompts, which hosts show as slash commands: their names, arguments, and values to complete them with.


_MOST: Final = 100  # values of a completion

Given = dict[str, str]


class PromptEntry(NamedTuple):
    """A prompt as it is listed. `inputs` makes what its template is filled with; `needed` are required arguments."""

    title: str
    description: str
    arguments: dict[str, str]
    inputs: Callable[[Service, Given], Awaitable[dict[str, Any]]]
    needed: tuple[str, ...] = ()


_TASK_TYPE: Final = "Like debugging, search, deploy"

PROMPTS: Final = {
    "start_task": PromptEntry(
        "Start a task",
        "Start a task with the lessons and strategies that earlier runs left for it",
        {"task": "What you are about to do", "task_type": _TASK_TYPE},
        start_task,
        ("task",),
    ),
    "review_task": PromptEntry(
        "Review a task",
        "Look back at a task that ended: what went wrong or right, why, and what to do next time",
        {
            "task": "What the task was; the agent knows it if you leave it out",
            "outcome": "success, failure, partial, timeout or error",
            "reflection_id": "A stored reflection to add the agent's judgement to",
        },
        review_task,
    ),
    "critique_answer": PromptEntry(
        "Critique an answer",
        "Check an answer against evidence before it is handed over, and correct only what is wrong",
        {
            "goal": "What the answer is for; the last question if you leave it out",
            "answer": "The answer to check; the agent's last one if you leave it out",
            "task_type": _TASK_TYPE,
        },
        critique_answer,
    ),
    "replan_search": PromptEntry(
        "Replan a search",
        "Search again in another way after a search came back empty",
        {
            "user_message": "What is looked for; the last question if you leave it out",
            "tried": "What was searched for so far; the agent knows it if you leave it out",
        },
        replan_search,
    ),
    "distill_lessons": PromptEntry(
        "Distil lessons",
        "Look over stored reflections for causes that come again, and keep a lesson for each",
        {
            "task_type": _TASK_TYPE,
            "reflection_id": "Only this reflection",
            "lesson_id": "Only this lesson: does it still hold?",
        },
        distill_lessons,
    ),
}


def listed() -> list[Prompt]:
    """Every prompt with its arguments."""
    return [
        Prompt(
            name=name,
            title=one.title,
            description=one.description,
            arguments=[
                PromptArgument(name=argument, description=about, required=argument in one.needed)
                for argument, about in one.arguments.items()
            ],
        )
        for name, one in PROMPTS.items()
    ]


async def get(service: Service, name: str, arguments: dict[str, Any]) -> GetPromptResult:
    """A prompt as a message. MCPError (invalid params) for an unknown name or a bad argument.

    It counts no lesson as applied.
    """
    try:
        if name not in PROMPTS:
            raise InputError("name", f"there is no prompt '{_quoted(name)}'", _nearest(name, PROMPTS))
        one = PROMPTS[name]
        inputs = await one.inputs(service, _given(name, one, arguments, service.settings))
        rendered = service.engine().context.runner.render(name, inputs)
    except McpReflectError as error:
        raise MCPError(code=INVALID_PARAMS, message=str(error)) from None
    content = TextContent(type="text", text=f"{rendered.system}\n\n{rendered.user}")
    return GetPromptResult(description=one.description, messages=[PromptMessage(role="user", content=content)])


async def complete(service: Service, prompt: str, argument: str, start: str) -> list[str]:
    """Values for an argument: outcomes, the task types of this scope's lessons (most frequent first), or its ids."""
    if prompt not in PROMPTS or argument not in PROMPTS[prompt].arguments:
        return []
    engine = service.engine()
    match argument:
        case "outcome":
            values = outcomes()
        case "task_type":
            values = await engine.bank.lessons.task_types(engine.scopes.own)
        case "reflection_id":
            return await resources.complete(service, "reflection://{id}", start)
        case "lesson_id":
            return await resources.complete(service, "lesson://{id}", start)
        case _:
            values = []
    return [value for value in values if value.startswith(start)][:_MOST]


def _given(name: str, one: PromptEntry, arguments: dict[str, Any], limits: Limits) -> Given:
    """The arguments that say something: hosts send what a person left out as an empty text."""
    for argument in arguments:
        if argument not in one.arguments:
            raise InputError(_quoted(argument), f"{name} has no such argument", _nearest(argument, one.arguments))
    given = {argument: str(value) for argument, value in arguments.items() if str(value or "").strip()}
    for argument, value in given.items():
        limits.refuse_more("max_prompt_chars", argument, len(value))
    from mcp_reflect.security.redact import clean_text  # noqa: PLC0415 - nothing of ours at the start

    given = {argument: clean_text(value) for argument, value in given.items()}  # a model reads it
    for argument in one.needed:
        if argument not in given:
            raise InputError(
                argument,
                "it is missing",
                f"Send it: {one.arguments[argument][:1].lower()}{one.arguments[argument][1:]}.",
            )
    return given


def _quoted(name: str) -> str:
    from mcp_reflect.security.redact import quoted  # noqa: PLC0415 - nothing of ours at the start

    return quoted(name)


def _nearest(name: str, known: dict[str, Any]) -> str:
    near = get_close_matches(name[:80], known, n=1)
    return f"Did you mean '{near[0]}'?" if near else f"Send one of {', '.join(known)}."
