"""The resources: the bank to look into. Reading counts nothing as used."""

import json
from typing import Any, Final, NamedTuple
from urllib.parse import unquote

import anyio.to_thread
from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError

from mcp_reflect.errors import McpReflectError, NotFoundError
from mcp_reflect.server.service import Service

# What a resource repeats of a run or of who told something: where it reads as an order, a person sees it, no model.
#
# Records are judged when they are written. Traces, reasons and the names of tools are kept as they came, so they are
# judged when they are read: they are evidence, and a person looks at them with the command line.


_LONGEST_NAME: Final = 40  # characters of one plain word, which orders nobody about


def without_orders(value: Any) -> Any:
    """A JSON value with a word in the place of each text, and of each name in an object, that reads as an order."""
    return _sifted(value, {})


def told(text: str) -> str:
    """The text, or why a person has to see it first."""
    return _told(text, {})


def _sifted(value: Any, known: dict[str, str]) -> Any:
    match value:
        case str():
            return _told(value, known)
        case dict():
            return {_told(str(name), known): _sifted(item, known) for name, item in value.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
        case list() | tuple():
            return [_sifted(item, known) for item in value]  # pyright: ignore[reportUnknownVariableType]
        case _:
            return value


def _told(text: str, known: dict[str, str]) -> str:
    if len(text) <= _LONGEST_NAME and text.isascii() and len(text.split()) <= 1:
        return text
    if text not in known:
        from mcp_reflect.models.lesson import waits  # noqa: PLC0415 - same
        from mcp_reflect.security.injection import suspicion  # noqa: PLC0415 - nothing of the engine at the start

        reason = suspicion((text,))
        known[text] = text if reason is None else waits(reason)
    return known[text]


# The bank to look into. Reading counts nothing as applied.


JSON: Final = "application/json"
APP: Final = "text/html;profile=mcp-app"
"""A page that a host may show in a conversation (the MCP extension io.modelcontextprotocol/ui, 2026-01-26)."""

BOARD: Final = "ui://mcp-reflect/board"


class ResourceEntry(NamedTuple):
    """A resource or template as it is listed."""

    uri: str
    name: str
    title: str
    description: str
    mime_type: str = JSON


RESOURCES: Final = (
    ResourceEntry("bank://stats", "stats", "Bank statistics", "What is in the bank, counted"),
    ResourceEntry("bank://lessons", "lessons", "Lessons", "The newest lessons of this project and global ones"),
    ResourceEntry("bank://reflections", "reflections", "Reflections", "The newest reflections of this project"),
    ResourceEntry(
        BOARD, "board", "Board", "What was learned, as a page for a person: worth, evidence, effect over time", APP
    ),
)
TEMPLATES: Final = (
    ResourceEntry("lesson://{id}", "lesson", "Lesson", "A lesson with its worth, versions, links"),
    ResourceEntry(
        "lesson://{id}/neighbours", "neighbours", "Neighbours", "The records one step from a lesson, and why"
    ),
    ResourceEntry("graph://{kind}/{name}", "graph", "Graph", "The records of a tool, file, failure or error_code"),
    ResourceEntry("reflection://{id}", "reflection", "Reflection", "A reflection with its redacted trace and versions"),
    ResourceEntry(
        "prompt://{name}", "prompt", "Prompt template", "A prompt template as it serves now, and where it is from"
    ),
)


_COMMANDS: Final = ("start_task", "review_task", "critique_answer", "replan_search", "distill_lessons")


def listed() -> list[ResourceEntry]:
    """The resources of a fixed address, and the templates of the slash commands; `prompt://{name}` reads any."""
    about = "The template as it serves now, and whether it is overridden"
    return [*RESOURCES, *(ResourceEntry(f"prompt://{name}", name, f"Prompt {name}", about) for name in _COMMANDS)]


async def read(service: Service, uri: str) -> str:
    """The text of a resource: JSON, or the board's page. Raises ResourceNotFoundError or ResourceError."""
    scheme, _, rest = uri.partition("://")
    try:
        match scheme, unquote(rest).strip("/"):
            case "ui", "mcp-reflect/board":
                return await _board_page(service)
            case "bank", name if name in _BANK:
                value: Any = await _BANK[name](service)
            case "graph", name if "/" in name:
                value = await _graph(service, *name.split("/", 1))
            case "lesson", name if name:
                value = await _lesson(service, name)
            case "reflection", name if name:
                value = await _reflection(service, name)
            case "prompt", name if name in service.engine().context.runner.prompts.names():
                value = _prompt(service, name)
            case _:
                raise _unknown(uri)
    except NotFoundError as error:
        raise ResourceNotFoundError(str(error)) from None
    except McpReflectError as error:
        raise ResourceError(str(error)) from None
    return json.dumps(value, ensure_ascii=False, indent=1)


def _unknown(uri: str) -> ResourceNotFoundError:
    from mcp_reflect.security.redact import quoted  # noqa: PLC0415 - nothing of ours at the start

    return ResourceNotFoundError(f"Unknown resource: {quoted(unquote(uri), 200)}")


async def complete(service: Service, template: str, start: str) -> list[str]:
    """Ids of this scope that begin with what was typed, newest first; names of prompt templates."""
    engine = service.engine()
    scope = engine.scopes.own
    if template == "lesson://{id}":
        ids = [lesson.id for lesson in await engine.bank.lessons.latest(scope, kind=None, state=None, limit=1000)]
    elif template == "reflection://{id}":
        ids = [reflection.id for reflection in await engine.bank.reflections.latest(scope, limit=1000)]
    else:
        ids = engine.context.runner.prompts.names() if template == "prompt://{name}" else []
    return [name for name in ids if name.startswith(start)][:100]


def mime_type(uri: str) -> str:
    """What a resource is read as."""
    return APP if uri == BOARD else JSON


async def _board(service: Service) -> dict[str, Any]:
    """The board's data; without the words in quarantine, for a model may read it too."""
    from mcp_reflect.dashboard.data import MAX_APP_RECORDS, collect  # noqa: PLC0415 - nothing of the engine at the start

    return await collect(service.engine(), most=MAX_APP_RECORDS, whole=False)


async def _board_page(service: Service) -> str:
    from mcp_reflect.dashboard.page import render_page  # noqa: PLC0415 - nothing of ours at the start

    return render_page("app", await _board(service)).html


async def _lessons(service: Service) -> dict[str, Any]:
    from mcp_reflect.models.common import plain  # noqa: PLC0415 - nothing of the engine at the start

    engine = service.engine()
    found = await engine.bank.lessons.latest(engine.scopes.own, limit=engine.settings.max_listed)
    return {"scope": str(engine.scopes.own), "lessons": [shown(plain(lesson)) for lesson in found]}


async def _reflections(service: Service) -> dict[str, Any]:
    engine = service.engine()
    found = await engine.bank.reflections.latest(engine.scopes.own, limit=engine.settings.max_listed)
    return {"scope": str(engine.scopes.own), "reflections": [_summary(item.body, item.id) for item in found]}


async def _lesson(service: Service, name: str) -> dict[str, Any]:
    from mcp_reflect.models.common import plain  # noqa: PLC0415 - same
    from mcp_reflect.storage.effectiveness import rounded_effectiveness  # noqa: PLC0415 - nothing of the engine at the start

    if name.endswith("/neighbours"):
        return await _neighbours(service, name.removesuffix("/neighbours"))
    engine = service.engine()
    scope = engine.scopes.own
    lesson = await engine.bank.lessons.get(scope, name)
    return {
        **shown(plain(lesson)),
        "standing": rounded_effectiveness(await engine.bank.lessons.effectiveness(scope, lesson)),
        "versions": [_version(version) for version in await engine.bank.lessons.history(scope, name)],
        "links": without_orders(await engine.bank.lessons.links(scope, name)),
        "neighbours": await _near(service, "record", name),
    }


async def _neighbours(service: Service, name: str) -> dict[str, Any]:
    engine = service.engine()
    lesson = await engine.bank.lessons.get(engine.scopes.own, name)
    return {"id": lesson.id, "neighbours": await _near(service, "record", lesson.id)}


async def _graph(service: Service, kind: str, name: str) -> dict[str, Any]:
    from mcp_reflect.security.redact import clean_text  # noqa: PLC0415 - nothing of ours at the start

    found = await _near(service, kind, name)
    return {"kind": clean_text(kind), "name": clean_text(name), "neighbours": found}


async def _near(service: Service, kind: str, name: str) -> list[dict[str, Any]]:
    """One step of the graph; a name that two records share came with a run, and is judged here."""
    engine = service.engine()
    found = await engine.bank.views.neighbors(engine.scopes.own, kind, name)
    return [{**one, **({"through": told(str(one["through"]))} if "through" in one else {})} for one in found]


_WORDS: Final = ("mistake", "correction", "why", "task_type", "context", "symptoms", "keywords", "tags", "external_id")


def shown(record: dict[str, Any]) -> dict[str, Any]:
    """A lesson or a version of one, times as text; of what is in quarantine, everything but its words."""
    from mcp_reflect.clock import dated  # noqa: PLC0415 - same
    from mcp_reflect.models.lesson import waits  # noqa: PLC0415 - nothing of the engine at the start

    record = dated(record)
    if record.get("trust") != "quarantined":
        return record
    kept = {name: value for name, value in record.items() if name not in _WORDS}
    return {**kept, "text": waits(record.get("held") or "it waits for a person")}


def _version(record: dict[str, Any]) -> dict[str, Any]:
    """A version of a lesson. Its words were judged when they were written, the reason for it was not."""
    record = shown(record)
    return {**record, "reason": told(str(record.get("reason", "")))}


async def _reflection(service: Service, name: str) -> dict[str, Any]:
    from mcp_reflect.models.common import compact  # noqa: PLC0415 - nothing of the engine at the start

    engine = service.engine()
    scope = engine.scopes.own
    found = await engine.bank.reflections.by_id(scope, name)
    whole = {
        **compact(found.body),
        "version": found.version,
        "trace": found.trace,
        "versions": [shown(version) for version in await engine.bank.lessons.history(scope, name)],
        "links": await engine.bank.lessons.links(scope, name),
    }
    return await anyio.to_thread.run_sync(without_orders, whole)  # a long trace takes a second


async def _stats(service: Service) -> dict[str, Any]:
    return dict(await service.engine().get_stats())


_BANK: Final = {"stats": _stats, "lessons": _lessons, "reflections": _reflections, "board": _board}


def _prompt(service: Service, name: str) -> dict[str, Any]:
    from mcp_reflect.llm.prompts import described  # noqa: PLC0415 - nothing of ours at the start
    from mcp_reflect.models.common import compact  # noqa: PLC0415 - same

    found = described(service.engine().context.runner.prompts.load(name))
    return {**compact(found), "overridden": found["overridden"], "inputs": found["inputs"]}


def _summary(body: Any, name: str) -> dict[str, Any]:
    kept = ("thinker", "reflection", "error_category", "importance", "generated_at")
    return {"id": name, **{key: body[key] for key in kept if body.get(key) is not None}}
