"""Writes what is generated: `python -m tests.server.generate`, or `--check` that it is up to date."""

import json
import re
import runpy
import sys
from collections.abc import Mapping
from dataclasses import MISSING
from pathlib import Path
from typing import Any

from mcp_reflect.config import PREFIX, documented
from mcp_reflect.schemas.fields import Arguments
from mcp_reflect.server.catalog import TOOLS, ToolSpec

ROOT = Path(__file__).parent.parent.parent
PLUGINS = ROOT / "packaging" / "plugins.py"
MARK = "<!-- Written by `python -m tests.server.generate`; edit the code instead. -->"
ABOUT_SETTINGS = "Set these environment variables for the server, which reads them once, at the start. Defaults are in brackets."
ABOUT_TOOLS = """Every tool also takes `project`, another project that `MCP_REFLECT_PROJECTS` allows, and all but should_reflect
`detail: true`, to answer with every field. Answers leave out empty fields."""


def tool_json(spec: ToolSpec) -> dict[str, Any]:
    """Return a tool as tools/list shows it, with the hints that differ from the protocol's defaults."""
    hints: dict[str, bool] = (
        {"readOnlyHint": True} if spec.read_only else {"destructiveHint": spec.destructive}
    )
    return {
        "name": spec.name,
        "title": spec.title,
        "description": spec.description,
        "inputSchema": listed_schema(spec),
        "outputSchema": output_schema(spec.answer),
        "annotations": {
            **hints,
            **({"idempotentHint": True} if spec.idempotent else {}),
            "openWorldHint": False,
        },
    }


def tools_text() -> str:
    """Return the content of tools.json."""
    return json.dumps([tool_json(spec) for spec in TOOLS], indent=1, ensure_ascii=False) + "\n"


def input_schema(shape: type[Arguments]) -> dict[str, Any]:
    """Return the input schema of a shape, without references, titles and limits of texts; `read` checks them all."""
    schema = shape.model_json_schema()
    definitions = schema.get("$defs", {})
    properties = {name: _flat(item, definitions) for name, item in schema["properties"].items()}
    return {
        "properties": properties,
        **{name: schema[name] for name in ("required", "type") if name in schema},
    }


def listed_schema(spec: ToolSpec) -> dict[str, Any]:
    """Return the input schema as tools/list shows it: the listed arguments, without bounds and defaults."""
    schema = input_schema(spec.shape)
    hidden = {"default", "minimum", "maximum"}
    properties = {
        name: {key: value for key, value in schema["properties"][name].items() if key not in hidden}
        for name in spec.listed.split()
    }
    return {**schema, "properties": properties}


def output_schema(answer: str) -> dict[str, Any]:
    """Return the JSON schema of an answer. No field is required: what is empty is left out. There may be others."""
    properties: dict[str, Any] = {}
    for part in answer.split(";"):
        kind, _, names = part.partition(":")
        properties |= {name: {"type": kind.strip()} for name in names.split()}
    return {"type": "object", "properties": properties}


def _flat(schema: dict[str, Any], definitions: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of one argument, without references and null."""
    if "$ref" in schema:
        definition = definitions[schema["$ref"].rsplit("/", 1)[-1]]
        schema = {"type": definition.get("type"), "enum": definition.get("enum"), **schema}
    options = [option for option in schema.get("anyOf", ()) if option != {"type": "null"}]
    if len(options) == 1:
        return _flat(
            {**options[0], **{name: value for name, value in schema.items() if name != "anyOf"}},
            definitions,
        )
    kept = ("description", "type", "enum", "items", "default", "minimum", "maximum")
    flat = {name: schema[name] for name in kept if schema.get(name) is not None}
    if options:
        flat["type"] = [option["type"] for option in options]
    if isinstance(flat.get("items"), dict):
        flat["items"] = _flat(flat["items"], definitions)
    if not isinstance(flat.get("default"), int | float | str) or flat["default"] == "":
        flat.pop("default", None)
    hidden = ("minimum", "maximum") if flat.get("type") == "number" else ()
    return {name: value for name, value in flat.items() if name not in hidden and value != {}}


def tools_page() -> str:
    """Return the content of docs/tools.md."""
    parts = [f"# Tools\n\n{MARK}\n\n{ABOUT_TOOLS}\n"]
    for spec in TOOLS:
        schema = input_schema(spec.shape)
        needed = schema.get("required", [])
        listed = {
            name: item
            for name, item in schema["properties"].items()
            if name not in ("project", "detail")
        }
        parts.append(f"\n## {spec.name}\n\n{_first_sentence(spec.description)}\n\n")
        plain: dict[str, list[str]] = {}
        for name, item in listed.items():
            about = ", ".join(
                [_kind(item), *(["required"] if name in needed else []), *_bounds(item)]
            )
            if "description" in item or name in needed:
                parts.append(
                    f"- `{name}` ({about}){': ' * ('description' in item)}{item.get('description', '')}\n"
                )
            else:
                plain.setdefault(about, []).append(f"`{name}`")
        parts += [f"- {kind}: {', '.join(names)}\n" for kind, names in plain.items()]
        aliases = [f"`{alias}` for `{name}`" for alias, name in spec.shape.ALIASES.items()]
        result = ", ".join(f"`{name}`" for name in output_schema(spec.answer)["properties"])
        parts.append(
            f"\nAnswers {result}.{' Also takes ' + ', '.join(aliases) + '.' if aliases else ''}\n"
        )
    return "".join(parts)


def _first_sentence(description: str) -> str:
    """Return what a tool is for; the rest of its description tells a model what the page lists."""
    return re.split(r"(?<=[.?]) ", description, maxsplit=1)[0]


def settings_page() -> str:
    """Return the content of docs/settings.md."""
    named: dict[str, list[str]] = {}
    for item in documented():
        default = "" if item.default in (None, (), "", MISSING) else f" (`{item.default}`)"
        named.setdefault(item.metadata["meaning"], []).append(
            f"`{PREFIX}{item.name.upper()}`{default}"
        )
    lines = [f"- {', '.join(names)}: {meaning}\n" for meaning, names in named.items()]
    return f"# Settings\n\n{MARK}\n\n{ABOUT_SETTINGS}\n\n{''.join(lines)}"


def _kind(item: dict[str, Any]) -> str:
    if "enum" in item:
        return "one of " + ", ".join(f"`{value}`" for value in item["enum"])
    kind = item.get("type", "any")
    if not isinstance(kind, str):
        return " or ".join(kind)
    return f"list of {_kind(item['items'])}" if kind == "array" and "items" in item else str(kind)


def _bounds(item: dict[str, Any]) -> list[str]:
    bounds = [
        f"{word} {item[name]}"
        for name, word in (("minimum", "from"), ("maximum", "to"))
        if name in item
    ]
    return [*bounds, *([f"default {json.dumps(item['default'])}"] if "default" in item else [])]


def files() -> dict[str, str]:
    """Return the generated files with their contents; those of plugins come from packaging/plugins.py."""
    plugins: dict[str, str] = runpy.run_path(str(PLUGINS))["files"]()
    return {
        "mcp_reflect/server/tools.json": tools_text(),
        "docs/tools.md": tools_page(),
        "docs/settings.md": settings_page(),
        **plugins,
    }


def main(arguments: list[str]) -> int:
    """Write the files, or with --check say which differ and return 1."""
    check, made = "--check" in arguments, files()
    stale = [
        name
        for name in made
        if not (ROOT / name).exists() or (ROOT / name).read_text("utf-8") != made[name]
    ]
    for name in stale:
        sys.stderr.write(
            f"{name} is out of date: run python -m tests.server.generate\n"
            if check
            else f"wrote {name}\n"
        )
        if not check:
            (ROOT / name).parent.mkdir(parents=True, exist_ok=True)
            (ROOT / name).write_text(made[name], encoding="utf-8")
    return 1 if stale and check else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
