"""Resources and prompts: the bank to look into, and prompts filled with arguments and with what the bank holds.

Imported when one is first asked for. Neither reading nor filling counts a lesson as used.
"""

import json
from collections.abc import Collection, Mapping
from typing import Any, Final, cast
from urllib.parse import unquote

import anyio.to_thread
from mcp.server.mcpserver.exceptions import ResourceNotFoundError
from mcp.shared.exceptions import MCPError
from mcp.types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    GetPromptResult,
    Prompt,
    PromptMessage,
    TextContent,
)

from mcp_reflect import services
from mcp_reflect.clock import dated
from mcp_reflect.config import Limits
from mcp_reflect.dashboard.contents import MAX_APP_RECORDS, collect
from mcp_reflect.errors import InputError, McpReflectError, NotFoundError, did_you_mean
from mcp_reflect.llm.prompts import described
from mcp_reflect.models.common import compact, plain
from mcp_reflect.models.lesson import waits
from mcp_reflect.models.reflection import StoredReflection
from mcp_reflect.models.run import Outcome
from mcp_reflect.security.injection import suspicion
from mcp_reflect.security.redact import clean_text, quoted
from mcp_reflect.services.engine import Engine

_LONGEST_NAME: Final = 40  # characters; one plain word of this length is not an instruction
_MOST_COMPLETED: Final = 100
_WORDS: Final = (
    "mistake",
    "correction",
    "why",
    "task_type",
    "context",
    "symptoms",
    "keywords",
    "tags",
    "external_id",
)
_SUMMARY: Final = ("thinker", "reflection", "error_category", "importance", "generated_at")


async def read(engine: Engine, uri: str) -> str:
    """Return a resource as JSON. Raises MCPError, with the address cleaned.

    The SDK repeats the address of a ResourceError as it was sent, in its answer and in its log.
    """
    try:
        value = await _value(engine, uri)
    except (NotFoundError, ResourceNotFoundError) as error:
        raise MCPError(INVALID_PARAMS, str(error), {"uri": clean_text(uri)}) from None
    except McpReflectError as error:
        raise MCPError(INTERNAL_ERROR, str(error), {"uri": clean_text(uri)}) from None
    return json.dumps(value, ensure_ascii=False, indent=1)


async def _value(engine: Engine, uri: str) -> Any:
    bank, scope, limit = engine.bank, engine.scopes.own, engine.settings.max_listed
    scheme, _, rest = uri.partition("://")
    name = unquote(rest).strip("/")
    match scheme, name:
        case "bank", "board":
            # Without the words in quarantine: a model may read it too.
            return await collect(engine, most=MAX_APP_RECORDS, whole=False)
        case "bank", "stats":
            return dict(await engine.get_stats())
        case "bank", "lessons":
            lessons = await bank.lessons.latest(scope, limit=limit)
            return {"scope": str(scope), "lessons": [_shown(plain(lesson)) for lesson in lessons]}
        case "bank", "reflections":
            stored = await bank.reflections.latest(scope, limit=limit)
            fields = {item.id: {name: item.body.get(name) for name in _SUMMARY} for item in stored}
            return {
                "scope": str(scope),
                "reflections": [{"id": name, **compact(fields[name])} for name in fields],
            }
        case "lesson", _ if name.endswith("/neighbors"):
            part = await bank.lessons.resolve_id(scope, name.removesuffix("/neighbors"))
            lesson = await bank.lessons.get(scope, part)
            return {"id": lesson.id, "neighbors": await _neighbors(engine, "record", lesson.id)}
        case "lesson", _ if name:
            return await _lesson(engine, await bank.lessons.resolve_id(scope, name))
        case "reflection", _ if name:
            return await _reflection(engine, name)
        case "graph", _ if "/" in name:
            kind, _, record = name.partition("/")
            neighbors = await _neighbors(engine, kind, record)
            return {"kind": clean_text(kind), "name": clean_text(record), "neighbors": neighbors}
        case "prompt", _ if name in engine.context.runner.prompts.names():
            template = described(engine.context.runner.prompts.load(name))
            return {
                **compact(template),
                "overridden": template["overridden"],
                "inputs": template["inputs"],
            }
        case _:
            raise ResourceNotFoundError(f"Unknown resource: {quoted(unquote(uri), 200)}")


async def complete(engine: Engine, name: str, start: str) -> list[str]:
    """Return values that begin with `start` for an argument of a prompt, or for a template of addresses."""
    bank, scope, values = engine.bank, engine.scopes.own, []
    match name:
        case "lesson_id" | "lesson://{id}":
            values = [
                lesson.id
                for lesson in await bank.lessons.latest(scope, kind=None, state=None, limit=1000)
            ]
        case "reflection_id" | "reflection://{id}":
            values = [
                reflection.id for reflection in await bank.reflections.latest(scope, limit=1000)
            ]
        case "prompt://{name}":
            values = engine.context.runner.prompts.names()
        case "task_type":
            types = await bank.lessons.task_types(scope)  # most frequent first
            values = [value for value in types if without_orders(value) == value]
        case "outcome":
            values = [*Outcome]
        case _:
            pass
    return [value for value in values if value.startswith(start)][:_MOST_COMPLETED]


async def _lesson(engine: Engine, name: str) -> dict[str, Any]:
    bank, scope = engine.bank, engine.scopes.own
    lesson = await bank.lessons.get(scope, name)
    versions = [_shown(version) for version in await bank.lessons.history(scope, name)]
    return {
        **_shown(plain(lesson)),
        "effectiveness_estimate": lesson.estimate(),
        # The words of a version were judged when they were written, the reason for it was not.
        "versions": [
            {**version, "reason": without_orders(str(version.get("reason", "")))}
            for version in versions
        ],
        "links": without_orders(await bank.lessons.links(scope, name)),
        "neighbors": await _neighbors(engine, "record", name),
    }


async def _reflection(engine: Engine, name: str) -> dict[str, Any]:
    bank, scope = engine.bank, engine.scopes.own
    stored = await bank.reflections.by_id(scope, name)
    value = {
        **compact(stored.body),
        "version": stored.version,
        "trace": stored.trace,
        "versions": [_shown(version) for version in await bank.lessons.history(scope, name)],
        "links": await bank.lessons.links(scope, name),
    }
    return await anyio.to_thread.run_sync(without_orders, value)  # a long trace takes a second


async def _neighbors(engine: Engine, kind: str, name: str) -> list[dict[str, Any]]:
    """Return one step of the graph. A name that two records share came with a run, so it is judged here."""
    neighbors = await engine.bank.views.neighbors(engine.scopes.own, kind, name)
    return [
        item | {key: without_orders(item[key]) for key in item if key == "through"}
        for item in neighbors
    ]


def _shown(record: dict[str, Any]) -> dict[str, Any]:
    """Return a lesson or a version of one, with times as text; from quarantine everything but its words."""
    record = dated(record)
    if record.get("trust") != "quarantined":
        return record
    kept = {name: value for name, value in record.items() if name not in _WORDS}
    return {**kept, "text": waits(record.get("held") or "it waits for a person")}


def without_orders(value: Any) -> Any:
    """Return a JSON value in which a note replaces each text, and each name in an object, that reads as an order.

    Records are judged when they are written. Traces, reasons and the names of tools are kept as they came: they are
    evidence, which a person reads on the command line, and are judged when a model may read them.
    """
    if isinstance(value, dict):
        items = cast("dict[Any, Any]", value).items()
        return {without_orders(str(name)): without_orders(item) for name, item in items}
    if isinstance(value, list | tuple):
        return [without_orders(item) for item in cast("list[Any]", value)]
    if not isinstance(value, str) or (
        len(value) <= _LONGEST_NAME and value.isascii() and len(value.split()) <= 1
    ):
        return value
    reason = suspicion((value,))
    return value if reason is None else waits(reason)


_MOST_REFLECTIONS: Final = 12
_MOST_LESSONS: Final = 30
_LOOK: Final = 200  # newest records among which those of a task type are searched


async def prompt(
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
    """Return the redacted arguments that are not blank: hosts send an argument that a person left out as `""`."""
    about = {item.name: item.description or "" for item in asked.arguments or ()}
    values = {
        argument: str(value) for argument, value in arguments.items() if str(value or "").strip()
    }
    for argument in arguments:
        if argument not in about:
            raise InputError(
                quoted(argument), f"{asked.name} has no such argument", _nearest(argument, about)
            )
        limits.refuse_more("max_prompt_chars", argument, len(values.get(argument, "")))
    for item in asked.arguments or ():
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
        case "guards":
            kept = (await _distill_inputs(engine, {}))["lessons"]
            return {"files": values.get("files"), "lessons": kept}
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
        newest = await bank.reflections.latest(
            scope, limit=_LOOK if task_type else _MOST_REFLECTIONS
        )
        reflections = [item for item in newest if task_type in (None, _task_type(item))][
            :_MOST_REFLECTIONS
        ]
    if name := values.get("lesson_id"):
        lessons = [await bank.lessons.get(scope, await bank.lessons.resolve_id(scope, name))]
    else:
        latest = await bank.lessons.latest(scope, limit=_LOOK if task_type else _MOST_LESSONS)
        lessons = [lesson for lesson in latest if task_type in (None, lesson.task_type)][
            :_MOST_LESSONS
        ]
    return {
        "task_type": task_type,
        "reflections": "\n".join(map(_reflection_note, reflections)),
        "lessons": "\n".join(
            f"- lesson {item.id}: {waits(item.held) if item.held else item.text}"
            for item in lessons
        ),
    }


async def _checklist(engine: Engine, task: str | None, task_type: str | None) -> str | None:
    """Return what recall_lessons finds for a task as points to go through, without orders; None for none."""
    if not task:
        return None
    sent = {
        "task": task[: engine.settings.max_task_chars],
        **({"task_type": task_type} if task_type else {}),
    }
    recall = await services.lessons.recall(engine.context, sent, applied=False)
    hits = [
        hit for hit in recall.lessons if not suspicion((hit.text, hit.task_type, hit.external_id))
    ]
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
