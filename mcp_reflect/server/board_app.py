"""The board as an MCP App (extension io.modelcontextprotocol/ui, 2026-01-26): a tool that opens it, and its page.

A host shows an app's page at every call of its tool. So the board has a tool of its own, which an agent calls when a
person asks to see the lessons, and no link on `recall_lessons`: nobody asks for a page at a recall. The tool has to be
visible to the model, since a host opens no page for a tool that only pages may call. It is listed for clients alone
that show such pages; all others have eight tools.

A host may keep the page, so it holds no lessons. They come with the tool's result, in `_meta`, which hosts hand to the
page and not to the model.
"""

from typing import TYPE_CHECKING, Any, Final

from mcp.server.apps import APP_MIME_TYPE, EXTENSION_ID, client_supports_apps
from mcp.server.extension import Extension
from mcp.types import CallToolResult, TextContent, Tool, ToolAnnotations

if TYPE_CHECKING:
    from mcp.server.mcpserver import Context

    from mcp_reflect.services.engine import Engine

URI: Final = "ui://mcp-reflect/board"
MIME_TYPE: Final = APP_MIME_TYPE
PAGE_META: Final[dict[str, Any]] = {"ui": {"prefersBorder": True}}
DATA: Final = "mcp-reflect/board"
"""The field of the result's `_meta` that holds what the page shows."""

TOOL: Final = Tool(
    name="show_board",
    title="Show the board",
    description=(
        "Show the person the board of lessons, as a page. Call it only when they ask to see or browse what was "
        "learned. It tells you nothing: to read lessons, call recall_lessons."
    ),
    input_schema={
        "type": "object",
        "properties": {
            "search": {
                "type": "string",
                "description": "Words that the lessons must have, if they asked for some alone",
            }
        },
    },
    annotations=ToolAnnotations(read_only_hint=True, open_world_hint=False),
    _meta={"ui": {"resourceUri": URI, "visibility": ["model", "app"]}},
)


class BoardApp(Extension):
    """Tells clients that this server has a page for hosts that show some."""

    identifier = EXTENSION_ID


def is_offered(context: "Context[Any, Any] | None") -> bool:
    """True if the client of a call shows pages: the tool is there for no other."""
    return context is not None and client_supports_apps(context)


def page() -> str:
    """Return the page, without lessons."""
    from mcp_reflect.dashboard.page import render_page  # noqa: PLC0415 - nothing of the engine at the start

    return render_page("app").html


async def show(engine: "Engine") -> CallToolResult:
    """Return the tool's answer: a sentence for the model, and what the page shows.

    Words in quarantine are left out: a host may let its model read all of it after all.
    """
    from mcp_reflect.dashboard.contents import MAX_APP_RECORDS, collect  # noqa: PLC0415 - see `page`

    data = await collect(engine, most=MAX_APP_RECORDS, whole=False)
    for_model = (
        f"The host has the board of {engine.scopes.own} to show. If the person sees no page, "
        "`mcp-reflect board` opens it in their browser."
    )
    return CallToolResult(content=[TextContent(type="text", text=for_model)], _meta={DATA: data})
