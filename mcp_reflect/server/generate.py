"""Writes what is generated: `python -m mcp_reflect.server.generate`, or `--check` that it is up to date."""

import json
import sys
from dataclasses import MISSING
from pathlib import Path
from typing import Any, Final

from mcp_reflect.config import PREFIX, documented
from mcp_reflect.server.catalog import TOOLS, ToolSpec, input_schema, listed_schema, output_schema

ROOT = Path(__file__).parent.parent.parent
MARK = "<!-- Written by `python -m mcp_reflect.server.generate`; edit the code instead. -->"


def tool_json(spec: ToolSpec) -> dict[str, Any]:
    """Return a tool as tools/list shows it, with the hints that differ from the protocol's defaults."""
    hints: dict[str, bool] = {"readOnlyHint": True} if spec.read_only else {"destructiveHint": spec.destructive}
    return {
        "name": spec.name,
        "description": spec.description,
        "inputSchema": listed_schema(spec),
        "outputSchema": output_schema(spec.answer),
        "annotations": {**hints, **({"idempotentHint": True} if spec.idempotent else {}), "openWorldHint": False},
    }


def tools_text() -> str:
    """Return the content of tools.json."""
    return json.dumps([tool_json(spec) for spec in TOOLS], indent=1, ensure_ascii=False) + "\n"


def tools_page() -> str:
    """Return the content of docs/tools.md."""
    parts = [f"# Tools\n\n{MARK}\n"]
    for spec in TOOLS:
        schema = input_schema(spec.shape)
        needed = schema.get("required", [])
        parts.append(f"\n## {spec.name}\n\n{spec.description}\n\n| argument | type | |\n|---|---|---|\n")
        for name, item in schema["properties"].items():
            parts.append(f"| `{name}`{' (required)' if name in needed else ''} | {_kind(item)} | {_about(item)} |\n")
        if spec.shape.ALIASES:
            also = ", ".join(f"`{alias}` for `{name}`" for alias, name in spec.shape.ALIASES.items())
            parts.append(f"\nAlso accepted: {also}.\n")
        result = ", ".join(f"`{name}`" for name in output_schema(spec.answer)["properties"])
        parts.append(f"\nAnswers {result} and, where there is more to say, others; empty fields are left out.\n")
    return "".join(parts)


def settings_page() -> str:
    """Return the content of docs/settings.md."""
    parts = [f"# Settings\n\n{MARK}\n\nEnvironment variables, read once at the start.\n\n"]
    parts.append("| setting | type | default | meaning |\n|---|---|---|---|\n")
    for item in documented():
        default = "" if item.default in (None, (), "", MISSING) else f"`{item.default}`"
        kind = str(item.type).replace("typing.", "").replace("pathlib._local.", "").replace("pathlib.", "")
        kind = kind.removeprefix("<class '").removesuffix("'>").replace(" | None", "").replace("|", "\\|")
        parts.append(f"| `{PREFIX}{item.name.upper()}` | {kind} | {default} | {item.metadata['meaning']} |\n")
    return "".join(parts)


def _kind(item: dict[str, Any]) -> str:
    if "enum" in item:
        return " \\| ".join(f"`{json.dumps(value)}`" for value in item["enum"])
    kind = item.get("type", "any")
    return f"list of {_kind(item['items'])}" if kind == "array" and "items" in item else str(kind)


def _about(item: dict[str, Any]) -> str:
    bounds = [f"{word} {item[name]}" for name, word in (("minimum", "from"), ("maximum", "to")) if name in item]
    default = f"default {json.dumps(item['default'])}" if "default" in item else ""
    return "; ".join(filter(None, [item.get("description"), " ".join(bounds), default]))


FILES: Final = {
    "mcp_reflect/server/tools.json": tools_text,
    "docs/tools.md": tools_page,
    "docs/settings.md": settings_page,
}
"""The generated files, and the functions that return their contents."""


def main(arguments: list[str]) -> int:
    """Write the files, or with --check say which differ and return 1."""
    check = "--check" in arguments
    stale = [name for name in FILES if not (ROOT / name).exists() or (ROOT / name).read_text("utf-8") != FILES[name]()]
    for name in stale:
        sys.stderr.write(
            f"{name} is out of date: run python -m mcp_reflect.server.generate\n" if check else f"wrote {name}\n"
        )
        if not check:
            (ROOT / name).write_text(FILES[name](), encoding="utf-8")
    return 1 if stale and check else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
