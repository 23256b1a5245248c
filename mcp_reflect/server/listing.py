"""What the server lists, each from a file: tools, resources, and prompts, which hosts show as commands."""

import json
from functools import cache
from pathlib import Path
from typing import Any, Final

from mcp.types import Prompt, Resource, ResourceTemplate

JSON: Final = "application/json"
APP: Final = "text/html;profile=mcp-app"
"""A page that a host may show in a conversation (the MCP extension io.modelcontextprotocol/ui, 2026-01-26)."""
BOARD: Final = "ui://mcp-reflect/board"


def _read(name: str) -> Any:
    return json.loads((Path(__file__).parent / name).read_text(encoding="utf-8"))


@cache
def tools() -> list[dict[str, Any]]:
    """Return the tools as the generated file lists them."""
    return _read("tools.json")


_LISTS: Final = _read("lists.json")
PROMPTS: Final = {prompt["name"]: Prompt.model_validate(prompt) for prompt in _LISTS["prompts"]}
_ABOUT: Final = "The template as it serves now, and whether it is overridden"
RESOURCES: Final = [
    *map(Resource.model_validate, _LISTS["resources"]),
    *(Resource(uri=f"prompt://{n}", name=n, title=f"Prompt {n}", description=_ABOUT, mime_type=JSON) for n in PROMPTS),
]
TEMPLATES: Final = [*map(ResourceTemplate.model_validate, _LISTS["templates"])]
