"""The bundle as a host starts it: `python -m tools.hosts.bundle DIR`, where DIR is an unpacked .mcpb; uv is on PATH.

The command and its environment are those of the manifest, with nothing set by the person: the first lesson is stored,
and is one for all projects, since a host with a window starts its servers in nobody's directory.
"""

import json
import sys
from pathlib import Path
from typing import Any

from tests.clients.stdio import Era, RawServer
from tools.hosts.clean_homes import called
from tools.hosts.trying import LESSON, clean_home, held, step


def main() -> int:
    """Try it; see the module."""
    folder = Path(sys.argv[1]).absolute()
    manifest: dict[str, Any] = json.loads((folder / "manifest.json").read_text("utf-8"))
    config = manifest["server"]["mcp_config"]
    chosen = {
        f"user_config.{name}": option["default"] for name, option in manifest["user_config"].items()
    }
    command = [
        filled(word, {"__dirname": str(folder), **chosen})
        for word in (config["command"], *config["args"])
    ]
    with clean_home("bundle") as home:
        env = {name: filled(text, chosen) for name, text in config["env"].items()}
        kept = {**home.env, "PYTHONPATH": "", **env}
        with step("its environment made, started, and the first lesson stored"):
            server = RawServer(command, env=kept, cwd=home.folder, timeout=90)
            server.open(Era.LEGACY)
            with server:
                stored = called(server, "store_lesson", {**LESSON, "detail": True})
        held(stored["scope"] == "global", f"the lesson is for all projects: {stored}")
    return 0


def filled(text: str, places: dict[str, str]) -> str:
    """A word of the manifest with its places filled in."""
    for name, value in places.items():
        text = text.replace(f"${{{name}}}", value)
    return text


if __name__ == "__main__":
    sys.exit(main())
