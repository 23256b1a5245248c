"""The resources of the server: records of the bank, each read by its address. Reading counts no lesson as used.

The module is imported when a resource is first asked for.
"""

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final
from urllib.parse import unquote

import anyio.to_thread
from mcp.server.mcpserver.exceptions import ResourceNotFoundError
from mcp.shared.exceptions import MCPError
from mcp.types import INTERNAL_ERROR, INVALID_PARAMS

from mcp_reflect.clock import dated
from mcp_reflect.dashboard.contents import MAX_APP_RECORDS, collect
from mcp_reflect.errors import McpReflectError, NotFoundError
from mcp_reflect.llm.prompts import described
from mcp_reflect.models.common import compact, plain
from mcp_reflect.models.lesson_words import quarantine_notice
from mcp_reflect.models.run import Outcome
from mcp_reflect.security.redact import clean_text, quoted
from mcp_reflect.server.orders import without_orders
from mcp_reflect.services.engine import Engine

_MOST_COMPLETED: Final = 100
"""Values that a client is proposed at once; the protocol allows no more."""

_MOST_COMPARED: Final = 1_000  # records whose ids are compared with the typed start
_MAX_ADDRESS_CHARS: Final = 200  # of an unknown address in an error
_REDACTION_MARK: Final = "[redacted:"
_WORD_FIELDS: Final = (
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
_SUMMARY_FIELDS: Final = ("thinker", "reflection", "error_category", "importance", "generated_at")


async def read(engine: Engine, uri: str) -> str:
    """Return a resource as JSON; MCPError, which has the address without secrets, if it cannot be read.

    An error of the SDK's own kind will not do: it repeats the address as it was sent, in the answer and in the log.
    """
    try:
        value = await _value_at(engine, uri)
    except (NotFoundError, ResourceNotFoundError) as error:
        raise MCPError(INVALID_PARAMS, str(error), {"uri": _clean_address(uri)}) from None
    except McpReflectError as error:
        raise MCPError(INTERNAL_ERROR, str(error), {"uri": _clean_address(uri)}) from None
    return json.dumps(value, ensure_ascii=False, indent=1)


async def _value_at(engine: Engine, uri: str) -> Any:
    """Return the value at an address.

    | the address                    | its value                                         |
    |--------------------------------|---------------------------------------------------|
    | has a secret in it             | none: the error would repeat it                   |
    | `bank://stats`                 | by `_READER_BY_BANK_NAME`                         |
    | `lesson://les_3f2a90`          | by `_READER_BY_SCHEME`, with the name behind it   |
    | is any other                   | none                                              |
    """
    scheme, _, rest = uri.partition("://")
    name = unquote(rest).strip("/")
    if _has_secret(uri) or _has_secret(name):
        raise _unknown(unquote(uri))
    if scheme == "bank" and name in _READER_BY_BANK_NAME:
        return await _READER_BY_BANK_NAME[name](engine)
    if scheme in _READER_BY_SCHEME and name:
        return await _READER_BY_SCHEME[scheme](engine, name)
    raise _unknown(unquote(uri))


def _clean_address(uri: str) -> str:
    """Return an address without its secrets, also those that are written with `%`."""
    if _has_secret(unquote(uri)):
        uri = unquote(uri)
    return clean_text(uri)


def _has_secret(address: str) -> bool:
    """Return whether redaction finds a secret in an address: no record has one in its name."""
    return clean_text(address).count(_REDACTION_MARK) > address.count(_REDACTION_MARK)


def _unknown(address: str) -> ResourceNotFoundError:
    """Return the error for an address that names nothing."""
    return ResourceNotFoundError(f"Unknown resource: {quoted(address, _MAX_ADDRESS_CHARS)}")


async def _board(engine: Engine) -> Any:
    """Return the data of the board, without words in quarantine: a model may read it too."""
    return await collect(engine, most=MAX_APP_RECORDS, whole=False)


async def _stats(engine: Engine) -> Any:
    """Return the counts of the bank."""
    return dict(await engine.get_stats())


async def _lessons(engine: Engine) -> Any:
    """Return the latest lessons of the project."""
    scope = engine.scopes.own
    lessons = await engine.bank.lessons.latest(scope, limit=engine.settings.max_listed)
    return {"scope": str(scope), "lessons": [_showable_record(plain(lesson)) for lesson in lessons]}


async def _reflections(engine: Engine) -> Any:
    """Return the latest reflections, each with the fields of a summary that it has."""
    scope = engine.scopes.own
    stored = await engine.bank.reflections.latest(scope, limit=engine.settings.max_listed)
    reflections: list[dict[str, Any]] = []
    for item in stored:
        summary = {name: item.body.get(name) for name in _SUMMARY_FIELDS}
        reflections.append({"id": item.id, **compact(summary)})
    return {"scope": str(scope), "reflections": reflections}


async def _of_lesson(engine: Engine, name: str) -> Any:
    """Return a lesson; or its neighbors in the graph, for the address of a lesson with `/neighbors` behind it."""
    bank = engine.bank
    scope = engine.scopes.own
    lesson_id = name.removesuffix("/neighbors")
    full_id = await bank.lessons.resolve_id(scope, lesson_id)
    if lesson_id == name:
        return await _lesson(engine, full_id)
    lesson = await bank.lessons.get(scope, full_id)
    return {"id": lesson.id, "neighbors": await _neighbors(engine, "record", lesson.id)}


async def _of_graph(engine: Engine, name: str) -> Any:
    """Return the neighbors of a node of the graph, by its kind and name: `graph://tool/bash`."""
    node_kind, slash, node_name = name.partition("/")
    if not slash:
        raise _unknown(f"graph://{name}")
    neighbors = await _neighbors(engine, node_kind, node_name)
    return {"kind": clean_text(node_kind), "name": clean_text(node_name), "neighbors": neighbors}


async def _of_prompt(engine: Engine, name: str) -> Any:
    """Return a template as it serves now."""
    prompts = engine.context.runner.prompts
    if name not in prompts.names():
        raise _unknown(f"prompt://{name}")
    template = described(prompts.load(name))
    return {
        **compact(template),
        "overridden": template["overridden"],
        "inputs": template["inputs"],
    }


async def complete(engine: Engine, name: str, start: str) -> list[str]:
    """Return the values that begin with `start`; `name` is an argument of a prompt, or a template of addresses."""
    bank = engine.bank
    scope = engine.scopes.own
    values: list[str] = []
    match name:
        case "lesson_id" | "lesson://{id}":
            lessons = await bank.lessons.latest(scope, kind=None, state=None, limit=_MOST_COMPARED)
            values = [lesson.id for lesson in lessons]
        case "reflection_id" | "reflection://{id}":
            reflections = await bank.reflections.latest(scope, limit=_MOST_COMPARED)
            values = [reflection.id for reflection in reflections]
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
    """Return a lesson with its versions, its links and its neighbors in the graph."""
    bank = engine.bank
    scope = engine.scopes.own
    lesson = await bank.lessons.get(scope, name)
    versions = [_showable_record(version) for version in await bank.lessons.history(scope, name)]
    for version in versions:
        # The words of a version were judged when they were written, the reason for it was not.
        version["reason"] = without_orders(str(version.get("reason", "")))
    return {
        **_showable_record(plain(lesson)),
        "effectiveness_estimate": lesson.estimate(),
        "versions": versions,
        "links": without_orders(await bank.lessons.links(scope, name)),
        "neighbors": await _neighbors(engine, "record", name),
    }


async def _reflection(engine: Engine, name: str) -> dict[str, Any]:
    """Return a reflection with the run that it is about, its versions and its links."""
    bank = engine.bank
    scope = engine.scopes.own
    stored = await bank.reflections.by_id(scope, name)
    value = {
        **compact(stored.body),
        "version": stored.version,
        "trace": stored.trace,
        "versions": [
            _showable_record(version) for version in await bank.lessons.history(scope, name)
        ],
        "links": await bank.lessons.links(scope, name),
    }
    return await anyio.to_thread.run_sync(without_orders, value)  # a long trace takes a second


async def _neighbors(engine: Engine, kind: str, name: str) -> list[dict[str, Any]]:
    """Return the neighbors of a node of the graph; `through` of one is the name that links both, as of a tool.

    Such a name came with a run, and was not judged when it was stored, so that it is judged here.
    """
    neighbors = await engine.bank.views.neighbors(engine.scopes.own, kind, name)
    for neighbor in neighbors:
        if "through" in neighbor:
            neighbor["through"] = without_orders(neighbor["through"])
    return neighbors


def _showable_record(record: dict[str, Any]) -> dict[str, Any]:
    """Return a lesson or a version of one, with times as text; one in quarantine is without its words."""
    dated_record = dated(record)
    if dated_record.get("trust") != "quarantined":
        return dated_record
    reason = dated_record.get("held") or "it waits for a person"
    fields = {name: value for name, value in dated_record.items() if name not in _WORD_FIELDS}
    return {**fields, "text": quarantine_notice(reason)}


_READER_BY_BANK_NAME: Final[Mapping[str, Callable[[Engine], Awaitable[Any]]]] = {
    "board": _board,
    "stats": _stats,
    "lessons": _lessons,
    "reflections": _reflections,
}
"""The addresses bank://NAME."""

_READER_BY_SCHEME: Final[Mapping[str, Callable[[Engine, str], Awaitable[Any]]]] = {
    "lesson": _of_lesson,
    "reflection": _reflection,
    "graph": _of_graph,
    "prompt": _of_prompt,
}
"""The addresses that a name follows, by their scheme."""
