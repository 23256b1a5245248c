"""The prompts, which hosts show as slash commands: their names, arguments, and values to complete them with."""

from collections.abc import Awaitable, Callable
from difflib import get_close_matches
from typing import Any, Final, NamedTuple

from mcp.shared.exceptions import MCPError
from mcp.types import INVALID_PARAMS, GetPromptResult, Prompt, PromptArgument, PromptMessage, TextContent

from mcp_reflect.config import Limits
from mcp_reflect.errors import InputError, McpReflectError
from mcp_reflect.server import prompt_inputs, resources
from mcp_reflect.server.service import Service

_MOST: Final = 100  # values of a completion

Given = dict[str, str]


class Listed(NamedTuple):
    """A prompt as it is listed. `inputs` makes what its template is filled with; `needed` are required arguments."""

    title: str
    description: str
    arguments: dict[str, str]
    inputs: Callable[[Service, Given], Awaitable[dict[str, Any]]]
    needed: tuple[str, ...] = ()


_TASK_TYPE: Final = "Like debugging, search, deploy"

PROMPTS: Final = {
    "start_task": Listed(
        "Start a task",
        "Start a task with the lessons and strategies that earlier runs left for it",
        {"task": "What you are about to do", "task_type": _TASK_TYPE},
        prompt_inputs.start_task,
        ("task",),
    ),
    "review_task": Listed(
        "Review a task",
        "Look back at a task that ended: what went wrong or right, why, and what to do next time",
        {
            "task": "What the task was; the agent knows it if you leave it out",
            "outcome": "success, failure, partial, timeout or error",
            "reflection_id": "A stored reflection to add the agent's judgement to",
        },
        prompt_inputs.review_task,
    ),
    "critique_answer": Listed(
        "Critique an answer",
        "Check an answer against evidence before it is handed over, and correct only what is wrong",
        {
            "goal": "What the answer is for; the last question if you leave it out",
            "answer": "The answer to check; the agent's last one if you leave it out",
            "task_type": _TASK_TYPE,
        },
        prompt_inputs.critique_answer,
    ),
    "replan_search": Listed(
        "Replan a search",
        "Search again in another way after a search came back empty",
        {
            "user_message": "What is looked for; the last question if you leave it out",
            "tried": "What was searched for so far; the agent knows it if you leave it out",
        },
        prompt_inputs.replan_search,
    ),
    "distill_lessons": Listed(
        "Distil lessons",
        "Look over stored reflections for causes that come again, and keep a lesson for each",
        {
            "task_type": _TASK_TYPE,
            "reflection_id": "Only this reflection",
            "lesson_id": "Only this lesson: does it still hold?",
        },
        prompt_inputs.distill_lessons,
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
        rendered = service.engine().thinking.render(name, inputs)
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
            values = prompt_inputs.outcomes()
        case "task_type":
            values = await engine.bank.task_types(engine.scopes.own)
        case "reflection_id":
            return await resources.complete(service, "reflection://{id}", start)
        case "lesson_id":
            return await resources.complete(service, "lesson://{id}", start)
        case _:
            values = []
    return [value for value in values if value.startswith(start)][:_MOST]


def _given(name: str, one: Listed, arguments: dict[str, Any], limits: Limits) -> Given:
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
