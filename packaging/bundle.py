"""The .mcpb, which Claude Desktop installs with a click: `python packaging/bundle.py WHEEL FOLDER`.

Writes FOLDER/mcp-reflect-VERSION.mcpb and, beside it, what it holds as FOLDER/mcpb, so that the official tool can look
at both, and FOLDER/server.json for the registry, with the bundle's hash. The host's uv makes the environment from the
wheel inside (specification 0.4, server type `uv`): our dependencies have compiled parts, so that no folder of them would
run on every system.

Names, versions and words come from server.json, pyproject.toml and the tools' own list: nothing is said twice.
"""

import hashlib
import json
import shutil
import sys
import tomllib
import zipfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
TIME = (2026, 1, 1, 0, 0, 0)
"""The time of every file: the same wheel makes the same bundle."""

MAIN = """\
from mcp_reflect.cli import main

raise SystemExit(main([]))
"""
# What a person may set in the host's window, and the setting it becomes. An empty one is as if it were not there.
SETTINGS: dict[str, tuple[str, dict[str, Any]]] = {
    "project": (
        "MCP_REFLECT_PROJECT",
        {
            "type": "string",
            "title": "Project",
            "description": "The project whose lessons are read and written. Empty: lessons for all projects.",
        },
    ),
    "bank": (
        "MCP_REFLECT_BANK",
        {
            "type": "string",
            "title": "Bank",
            "description": "The file that keeps what was learned. Empty: bank.db in your data directory.",
        },
    ),
    "llm": (
        "MCP_REFLECT_LLM",
        {
            "type": "string",
            "title": "Language model",
            "description": "Who thinks deeper on the server's side, like openai:qwen3. Empty: rules and your agent.",
        },
    ),
}


def manifest() -> dict[str, Any]:
    """The bundle's manifest, by specification 0.4."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    server = json.loads((ROOT / "server.json").read_text("utf-8"))
    tools = json.loads((ROOT / "mcp_reflect" / "server" / "tools.json").read_text("utf-8"))
    return {
        "manifest_version": "0.4",
        "name": server["title"],
        "display_name": server["title"],
        "version": project["version"],
        "description": server["description"],
        "author": {"name": server["name"].split("/")[0].removeprefix("io.github.")},
        "repository": {"type": "git", "url": server["repository"]["url"]},
        "homepage": server["websiteUrl"],
        "license": project["license"],
        "keywords": project["keywords"],
        "server": {
            "type": "uv",
            "entry_point": "server/main.py",
            "mcp_config": {
                "command": "uv",
                # Not --directory: the working directory says which project the lessons belong to.
                "args": ["run", "--project", "${__dirname}", "${__dirname}/server/main.py"],
                "env": {name: f"${{user_config.{key}}}" for key, (name, _) in SETTINGS.items()},
            },
        },
        "tools": [{"name": tool["name"], "description": tool["description"]} for tool in tools],
        "prompts_generated": True,
        "compatibility": {
            "platforms": ["darwin", "win32", "linux"],
            "runtimes": {"python": project["requires-python"]},
        },
        "user_config": {
            key: {**shown, "required": False, "default": ""} for key, (_, shown) in SETTINGS.items()
        },
    }


def environment(wheel: str) -> str:
    """The pyproject.toml that the host's uv reads: the wheel, with what it needs."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    return (
        f'[project]\nname = "mcp-reflect-bundle"\nversion = "{project["version"]}"\n'
        f'requires-python = "{project["requires-python"]}"\ndependencies = ["{project["name"]}"]\n\n'
        f'[tool.uv.sources]\n{project["name"]} = {{ path = "{wheel}" }}\n'
    )


def build(wheel: Path, folder: Path) -> Path:
    """Write the bundle and what it holds; the bundle's file."""
    inside = folder / "mcpb"
    if inside.exists():
        shutil.rmtree(inside)
    (inside / "server").mkdir(parents=True)
    (inside / "manifest.json").write_text(
        json.dumps(manifest(), indent=2, ensure_ascii=False) + "\n", "utf-8"
    )
    (inside / "pyproject.toml").write_text(environment(wheel.name), "utf-8")
    (inside / "server" / "main.py").write_text(MAIN, "utf-8")
    shutil.copyfile(wheel, inside / wheel.name)
    shutil.copyfile(ROOT / "LICENSE", inside / "LICENSE")
    made = folder / f"mcp-reflect-{manifest()['version']}.mcpb"
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(inside.rglob("*")):
            if path.is_file():
                info = zipfile.ZipInfo(path.relative_to(inside).as_posix(), TIME)
                info.external_attr = 0o644 << 16
                archive.writestr(info, path.read_bytes(), zipfile.ZIP_DEFLATED)
    (folder / "server.json").write_text(json.dumps(registered(made), indent=2) + "\n", "utf-8")
    return made


def registered(made: Path) -> dict[str, Any]:
    """Return server.json for the registry, with the bundle and its hash, which are known only now."""
    server = json.loads((ROOT / "server.json").read_text("utf-8"))
    address = f"{server['repository']['url']}/releases/download/v{server['version']}/{made.name}"
    bundle = {
        "registryType": "mcpb",
        "identifier": address,
        "fileSha256": hashlib.sha256(made.read_bytes()).hexdigest(),
        "transport": {"type": "stdio"},
    }
    return {**server, "packages": [*server["packages"], bundle]}


if __name__ == "__main__":
    print(build(Path(sys.argv[1]), Path(sys.argv[2])))
