"""The prompts, filled with arguments and with what the bank holds on them. Imported when one is first used.

Filling a prompt counts no lesson as applied.
"""

from collections.abc import Collection, Mapping
from typing import Any, Final

from mcp.shared.exceptions import MCPError
from mcp.types import INVALID_PARAMS, GetPromptResult, Prompt, PromptMessage, TextContent

from mcp_reflect import services
from mcp_reflect.config import Limits
from mcp_reflect.errors import InputError, McpReflectError, did_you_mean
from mcp_reflect.models.lesson import waits
from mcp_reflect.models.reflection import StoredReflection
from mcp_reflect.models.run import Outcome
from mcp_reflect.security.injection import suspicion
from mcp_reflect.security.redact import clean_text, quoted
from mcp_reflect.server.listing import PROMPTS
from mcp_reflect.server.resources import without_orders
from mcp_reflect.services.engine import Engine

_MOST_REFLECTIONS: Final = 12
_MOST_LESSONS: Final = 30
_LOOK: Final = 200  # newest records among which those of a task type are searched


async def get(engine: Engine, name: str, arguments: Mapping[str, Any]) -> GetPromptResult:
    """Return a prompt as a message. Raises MCPError (invalid params) for an unknown name or a bad argument."""
    try:
        if name not in PROMPTS:
            raise InputError("name", f"there is no prompt '{quoted(name)}'", _nearest(name, PROMPTS))
        inputs = await _inputs(engine, name, _read_arguments(PROMPTS[name], arguments, engine.settings))
        rendered = engine.context.runner.render(name, inputs)
    except McpReflectError as error:
        raise MCPError(code=INVALID_PARAMS, message=str(error)) from None
    content = TextContent(type="text", text=f"{rendered.system}\n\n{rendered.user}")
    messages = [PromptMessage(role="user", content=content)]
    return GetPromptResult(description=PROMPTS[name].description, messages=messages)


def _read_arguments(prompt: Prompt, arguments: Mapping[str, Any], limits: Limits) -> dict[str, str]:
    """Return the redacted arguments that are not blank: hosts send an argument that a person left out as `""`."""
    about = {item.name: item.description or "" for item in prompt.arguments or ()}
    values = {argument: str(value) for argument, value in arguments.items() if str(value or "").strip()}
    for argument in arguments:
        if argument not in about:
            raise InputError(quoted(argument), f"{prompt.name} has no such argument", _nearest(argument, about))
        limits.refuse_more("max_prompt_chars", argument, len(values.get(argument, "")))
    for item in prompt.arguments or ():
        if item.required and item.name not in values:
            fix = f"Send it: {about[item.name][:1].lower()}{about[item.name][1:]}."
            raise InputError(item.name, "it is missing", fix)
    return {argument: clean_text(value) for argument, value in values.items()}


def _nearest(name: str, known: Collection[str]) -> str:
    return did_you_mean(name, known, f"Send one of {', '.join(known)}.")


async def _inputs(engine: Engine, name: str, values: dict[str, str]) -> dict[str, Any]:
    """Return the inputs of a prompt's template."""
    match name:
        case "start_task":
            await services.triggers.begin_task(engine.context)
            lessons = await _checklist(engine, values["task"], values.get("task_type"))
            nothing = "Earlier runs left nothing on this. There is nothing to go through."
            return {"task": values["task"], "lessons": lessons or nothing}
        case "critique_answer":
            goal, answer = values.get("goal"), values.get("answer")
            lessons = await _checklist(engine, goal or answer, values.get("task_type"))
            return {"goal": goal, "answer": answer, "lessons": lessons}
        case "review_task":
            return await _review_inputs(engine, values)
        case "distill_lessons":
            return await _distill_inputs(engine, values)
        case _:
            return {"user_message": values.get("user_message"), "tried": values.get("tried")}


async def _review_inputs(engine: Engine, values: dict[str, str]) -> dict[str, Any]:
    name = values.get("reflection_id")
    stored = await engine.bank.reflections.by_id(engine.scopes.own, name) if name else None
    outcome = values.get("outcome", stored.outcome if stored else "").strip().lower()
    if outcome and outcome not in [*Outcome]:
        fault = f"'{quoted(outcome)}' is not one of its values"
        raise InputError("outcome", fault, f"Send one of {', '.join(Outcome)}.")
    return {
        "task": values.get("task") or (without_orders(stored.task) if stored else None),
        "outcome": Outcome(outcome) if outcome else None,
        "stored": _reflection_note(stored) if stored else None,
    }


async def _distill_inputs(engine: Engine, values: dict[str, str]) -> dict[str, Any]:
    bank, scope, task_type = engine.bank, engine.scopes.own, values.get("task_type")
    if name := values.get("reflection_id"):
        reflections = [await bank.reflections.by_id(scope, name)]
    else:
        newest = await bank.reflections.latest(scope, limit=_LOOK if task_type else _MOST_REFLECTIONS)
        reflections = [item for item in newest if task_type in (None, _task_type(item))][:_MOST_REFLECTIONS]
    if name := values.get("lesson_id"):
        lessons = [await bank.lessons.get(scope, name)]
    else:
        latest = await bank.lessons.latest(scope, limit=_LOOK if task_type else _MOST_LESSONS)
        lessons = [lesson for lesson in latest if task_type in (None, lesson.task_type)][:_MOST_LESSONS]
    return {
        "task_type": task_type,
        "reflections": "\n".join(map(_reflection_note, reflections)),
        "lessons": "\n".join(f"- lesson {item.id}: {waits(item.held) if item.held else item.text}" for item in lessons),
    }


async def _checklist(engine: Engine, task: str | None, task_type: str | None) -> str | None:
    """Return what recall_lessons finds for a task as points to go through, without orders; None for none."""
    if not task:
        return None
    sent = {"task": task[: engine.settings.max_task_chars], **({"task_type": task_type} if task_type else {})}
    recall = await services.lessons.recall(engine.context, sent, applied=False)
    hits = [hit for hit in recall.lessons if not suspicion((hit.text, hit.task_type, hit.external_id))]
    lines = [f"recall_id: {recall.recall_id}"]
    for hit in hits:
        lines.append(f"- [ ] {hit.kind} {hit.id} ({hit.fit} fit: {hit.why})")
        pair = [f"      avoid: {hit.mistake}", f"      instead: {hit.correction}"]
        lines += pair if hit.mistake and hit.correction else [f"      {hit.text}"]
    return "\n".join(lines) if hits else None


def _reflection_note(stored: StoredReflection) -> str:
    body = stored.body
    head = f"- reflection {stored.id} by {stored.thinker}, {stored.outcome}: {without_orders(stored.task)}"
    strategy = f"\n      next time: {body['strategy']}" if body.get("strategy") else ""
    return f"{head}\n      {body.get('reflection')}{strategy}"


def _task_type(stored: StoredReflection) -> object:
    return stored.trace.get("task_type") if isinstance(stored.trace, dict) else None
