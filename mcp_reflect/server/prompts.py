"""The prompts of the server, filled with a person's arguments and with records of the bank.

Filling a prompt counts no lesson as used. The module is imported when a prompt is first asked for.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from mcp.shared.exceptions import MCPError
from mcp.types import INVALID_PARAMS, GetPromptResult, Prompt, PromptMessage, TextContent

from mcp_reflect import services
from mcp_reflect.errors import InputError, McpReflectError, did_you_mean
from mcp_reflect.limits import Limits
from mcp_reflect.models.lesson import Lesson
from mcp_reflect.models.lesson_words import quarantine_notice
from mcp_reflect.models.recall import Hit
from mcp_reflect.models.reflection import StoredReflection
from mcp_reflect.models.run import Outcome
from mcp_reflect.security.injection import suspicion
from mcp_reflect.security.redact import clean_text, quoted
from mcp_reflect.server.orders import without_orders
from mcp_reflect.services.engine import Engine

_MOST_REFLECTIONS: Final = 12
_MOST_LESSONS: Final = 30
_MOST_SEARCHED: Final = 200  # newest records, among which those of a task type are searched


async def fill(
    engine: Engine, known: Mapping[str, Prompt], name: str, sent: Mapping[str, Any]
) -> GetPromptResult:
    """Return one of the known prompts as a message. MCPError (invalid params): an unknown name or a bad argument."""
    try:
        if name not in known:
            raise InputError("name", f"there is no prompt '{quoted(name)}'", _nearest(name, known))
        inputs = await _inputs(engine, name, _read_arguments(known[name], sent, engine.settings))
        rendered = engine.context.runner.render(name, inputs)
    except McpReflectError as error:
        raise MCPError(code=INVALID_PARAMS, message=str(error)) from None
    content = TextContent(type="text", text=f"{rendered.system}\n\n{rendered.user}")
    messages = [PromptMessage(role="user", content=content)]
    return GetPromptResult(description=known[name].description, messages=messages)


def _read_arguments(asked: Prompt, arguments: Mapping[str, Any], limits: Limits) -> dict[str, str]:
    """Return the redacted arguments that are not blank: hosts send an argument that a person left out as `""`.

    InputError for an argument that the prompt does not have, that is too long, or that is required and missing.
    """
    descriptions = {item.name: item.description or "" for item in asked.arguments or ()}
    values = {name: str(value) for name, value in arguments.items() if str(value or "").strip()}
    for name in arguments:
        if name not in descriptions:
            fault = f"{asked.name} has no such argument"
            raise InputError(quoted(name), fault, _nearest(name, descriptions))
        limits.refuse_more("max_prompt_chars", name, len(values.get(name, "")))
    for item in asked.arguments or ():
        if item.required and item.name not in values:
            description = descriptions[item.name]
            fix = f"Send it: {description[:1].lower()}{description[1:]}."
            raise InputError(item.name, "it is missing", fix)
    return {name: clean_text(value) for name, value in values.items()}


def _nearest(name: str, known: Collection[str]) -> str:
    """Return the advice for an unknown name: the known one that it is like, or all of them."""
    return did_you_mean(name, known, f"Send one of {', '.join(known)}.")


async def _inputs(engine: Engine, name: str, values: dict[str, str]) -> dict[str, Any]:
    """Return the inputs of a prompt's template."""
    match name:
        case "start_task":
            await services.triggers.begin_task(engine.context)
            lessons = await _checklist(engine, values["task"], values.get("task_type"))
            no_lessons = "Earlier runs left nothing on this. There is nothing to go through."
            return {"task": values["task"], "lessons": lessons or no_lessons}
        case "critique_answer":
            goal = values.get("goal")
            answer = values.get("answer")
            lessons = await _checklist(engine, goal or answer, values.get("task_type"))
            return {"goal": goal, "answer": answer, "lessons": lessons}
        case "review_task":
            return await _review_inputs(engine, values)
        case "distill_lessons":
            return await _distill_inputs(engine, values)
        case "guards":
            inputs = await _distill_inputs(engine, {})
            return {"files": values.get("files"), "lessons": inputs["lessons"]}
        case _:  # replan_search
            return {"user_message": values.get("user_message"), "tried": values.get("tried")}


async def _review_inputs(engine: Engine, values: dict[str, str]) -> dict[str, Any]:
    """Return the inputs of a review: the task and its outcome as the person wrote them, else of the stored reflection.

    {"reflection_id": "r1", "outcome": "failure"} -> the task and the note of r1, with the outcome "failure".
    """
    inputs: dict[str, Any] = {"task": None, "outcome": None, "stored": None}
    outcome = values.get("outcome", "")
    reflection_id = values.get("reflection_id")
    if reflection_id:
        stored = await engine.bank.reflections.by_id(engine.scopes.own, reflection_id)
        inputs["task"] = without_orders(stored.task)
        inputs["stored"] = _reflection_note(stored)
        outcome = values.get("outcome", stored.outcome)
    if "task" in values:
        inputs["task"] = values["task"]
    if outcome:
        inputs["outcome"] = _outcome(outcome)
    return inputs


def _outcome(sent: str) -> Outcome:
    """Return the outcome that a person wrote: " Success " -> SUCCESS; InputError for another word."""
    outcome = sent.strip().lower()
    if outcome not in [*Outcome]:
        fault = f"'{quoted(outcome)}' is not one of its values"
        raise InputError("outcome", fault, f"Send one of {', '.join(Outcome)}.")
    return Outcome(outcome)


async def _distill_inputs(engine: Engine, values: dict[str, str]) -> dict[str, Any]:
    """Return the reflections and lessons from which a model is to distill lessons, a line or more each."""
    reflections = await _reflections_for(engine, values)
    lessons = await _lessons_for(engine, values)
    return {
        "task_type": values.get("task_type"),
        "reflections": "\n".join(map(_reflection_note, reflections)),
        "lessons": "\n".join(map(_lesson_note, lessons)),
    }


async def _reflections_for(engine: Engine, values: dict[str, str]) -> Sequence[StoredReflection]:
    """Return the reflection that was named, else the newest, of a task type if one was sent."""
    reflections = engine.bank.reflections
    scope = engine.scopes.own
    reflection_id = values.get("reflection_id")
    if reflection_id:
        return [await reflections.by_id(scope, reflection_id)]
    task_type = values.get("task_type")
    if task_type is None:
        return await reflections.latest(scope, limit=_MOST_REFLECTIONS)
    newest = await reflections.latest(scope, limit=_MOST_SEARCHED)
    of_type = [stored for stored in newest if _task_type(stored) == task_type]
    return of_type[:_MOST_REFLECTIONS]


async def _lessons_for(engine: Engine, values: dict[str, str]) -> Sequence[Lesson]:
    """Return the lesson that was named, else the newest, of a task type if one was sent."""
    lessons = engine.bank.lessons
    scope = engine.scopes.own
    lesson_id = values.get("lesson_id")
    if lesson_id:
        return [await lessons.get(scope, await lessons.resolve_id(scope, lesson_id))]
    task_type = values.get("task_type")
    if task_type is None:
        return await lessons.latest(scope, limit=_MOST_LESSONS)
    newest = await lessons.latest(scope, limit=_MOST_SEARCHED)
    of_type = [lesson for lesson in newest if lesson.task_type == task_type]
    return of_type[:_MOST_LESSONS]


def _lesson_note(lesson: Lesson) -> str:
    """Return a lesson in a line; one that waits for a person is without its words, with the reason."""
    text = lesson.text
    if lesson.held:
        text = quarantine_notice(lesson.held)
    return f"- lesson {lesson.id}: {text}"


async def _checklist(engine: Engine, task: str | None, task_type: str | None) -> str | None:
    """Return the lessons that fit a task as points to go through, without those that read as orders; None for none."""
    if not task:
        return None
    sent = {"task": task[: engine.settings.max_task_chars]}
    if task_type:
        sent["task_type"] = task_type
    recall = await services.lessons.recall(engine.context, sent, applied=False)
    hits = [
        hit for hit in recall.lessons if not suspicion((hit.text, hit.task_type, hit.external_id))
    ]
    if not hits:
        return None
    lines = [f"recall_id: {recall.recall_id}"]
    for hit in hits:
        lines += _point_lines(hit)
    return "\n".join(lines)


def _point_lines(hit: Hit) -> list[str]:
    """Return a lesson as the lines of a point to tick off.

    - [ ] lesson les_x7k2m9 (strong fit: same error)
          avoid: Ran npm install
          instead: Use pnpm
    """
    head = f"- [ ] {hit.kind} {hit.id} ({hit.fit} fit: {hit.why})"
    if hit.mistake and hit.correction:
        return [head, f"      avoid: {hit.mistake}", f"      instead: {hit.correction}"]
    return [head, f"      {hit.text}"]


def _reflection_note(stored: StoredReflection) -> str:
    """Return a reflection with its strategy, if it has one."""
    task = without_orders(stored.task)
    lines = [f"- reflection {stored.id} by {stored.thinker}, {stored.outcome}: {task}"]
    lines.append(f"      {stored.body.get('reflection')}")
    if stored.body.get("strategy"):
        lines.append(f"      next time: {stored.body['strategy']}")
    return "\n".join(lines)


def _task_type(stored: StoredReflection) -> object:
    """Return the task type of the run that a reflection is about, None if it has none."""
    if not isinstance(stored.trace, dict):
        return None
    return stored.trace.get("task_type")
