"""The resources: the bank to look into. Reading counts nothing as used. Imported when one is first read."""

import json
from typing import Any, Final, cast
from urllib.parse import unquote

import anyio.to_thread
from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError

from mcp_reflect.clock import dated
from mcp_reflect.dashboard.page import MAX_APP_RECORDS, collect, render_page
from mcp_reflect.errors import McpReflectError, NotFoundError
from mcp_reflect.llm.prompts import described
from mcp_reflect.models.common import compact, plain
from mcp_reflect.models.lesson import waits
from mcp_reflect.models.run import Outcome
from mcp_reflect.security.injection import suspicion
from mcp_reflect.security.redact import clean_text, quoted
from mcp_reflect.services.engine import Engine

_LONGEST_NAME: Final = 40  # characters; one plain word of this length is not an instruction
_MOST_COMPLETED: Final = 100
_WORDS: Final = ("mistake", "correction", "why", "task_type", "context", "symptoms", "keywords", "tags", "external_id")
_SUMMARY: Final = ("thinker", "reflection", "error_category", "importance", "generated_at")


async def read(engine: Engine, uri: str) -> str:
    """Return the text of a resource: JSON, or the board's page. Raises ResourceNotFoundError or ResourceError."""
    try:
        value = await _value(engine, uri)
    except NotFoundError as error:
        raise ResourceNotFoundError(str(error)) from None
    except McpReflectError as error:
        raise ResourceError(str(error)) from None
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=1)


async def _value(engine: Engine, uri: str) -> Any:  # noqa: C901 - one case for each address
    bank, scope, limit = engine.bank, engine.scopes.own, engine.settings.max_listed
    scheme, _, rest = uri.partition("://")
    name = unquote(rest).strip("/")
    match scheme, name:
        case ("ui", "mcp-reflect/board") | ("bank", "board"):
            # Without the words in quarantine: a model may read it too.
            data = await collect(engine, most=MAX_APP_RECORDS, whole=False)
            if scheme == "bank":
                return data
            return render_page("app", data).html
        case "bank", "stats":
            return dict(await engine.get_stats())
        case "bank", "lessons":
            lessons = await bank.lessons.latest(scope, limit=limit)
            return {"scope": str(scope), "lessons": [_shown(plain(lesson)) for lesson in lessons]}
        case "bank", "reflections":
            stored = await bank.reflections.latest(scope, limit=limit)
            fields = {item.id: {name: item.body.get(name) for name in _SUMMARY} for item in stored}
            return {"scope": str(scope), "reflections": [{"id": name, **compact(fields[name])} for name in fields]}
        case "lesson", _ if name.endswith("/neighbors"):
            lesson = await bank.lessons.get(scope, name.removesuffix("/neighbors"))
            return {"id": lesson.id, "neighbors": await _neighbors(engine, "record", lesson.id)}
        case "lesson", _ if name:
            return await _lesson(engine, name)
        case "reflection", _ if name:
            return await _reflection(engine, name)
        case "graph", _ if "/" in name:
            kind, _, record = name.partition("/")
            neighbors = await _neighbors(engine, kind, record)
            return {"kind": clean_text(kind), "name": clean_text(record), "neighbors": neighbors}
        case "prompt", _ if name in engine.context.runner.prompts.names():
            prompt = described(engine.context.runner.prompts.load(name))
            return {**compact(prompt), "overridden": prompt["overridden"], "inputs": prompt["inputs"]}
        case _:
            raise ResourceNotFoundError(f"Unknown resource: {quoted(unquote(uri), 200)}")


async def complete(engine: Engine, name: str, start: str) -> list[str]:
    """Return values that begin with `start` for an argument of a prompt, or for a template of addresses."""
    bank, scope, values = engine.bank, engine.scopes.own, []
    match name:
        case "lesson_id" | "lesson://{id}":
            values = [lesson.id for lesson in await bank.lessons.latest(scope, kind=None, state=None, limit=1000)]
        case "reflection_id" | "reflection://{id}":
            values = [reflection.id for reflection in await bank.reflections.latest(scope, limit=1000)]
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
        "versions": [{**version, "reason": without_orders(str(version.get("reason", "")))} for version in versions],
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
    return [item | {key: without_orders(item[key]) for key in item if key == "through"} for item in neighbors]


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
    judged: dict[str, str] = {}

    def judge(value: Any) -> Any:
        if isinstance(value, dict):
            return {judge(str(name)): judge(item) for name, item in cast("dict[Any, Any]", value).items()}
        if isinstance(value, list | tuple):
            return [judge(item) for item in cast("list[Any]", value)]
        if not isinstance(value, str) or (len(value) <= _LONGEST_NAME and value.isascii() and len(value.split()) <= 1):
            return value
        if value not in judged:
            reason = suspicion((value,))
            judged[value] = value if reason is None else waits(reason)
        return judged[value]

    return judge(value)
