"""Check that a tag, pyproject.toml, server.json, the README and CHANGELOG.md name one version and one owner.

`python packaging/check_release.py v0.3.0` exits with 1 and a line for each difference.
"""

import json
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent


def problems(tag: str, root: Path = ROOT) -> Iterator[str]:
    """Yield a sentence for each place that differs from the tag."""
    version = tag.removeprefix("v")
    project: dict[str, Any] = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]
    server: dict[str, Any] = json.loads((root / "server.json").read_text("utf-8"))
    package: dict[str, Any] = server["packages"][0]
    for place, value in (
        ("pyproject.toml", project.get("version", version)),
        ("server.json", server["version"]),
        ("the package in server.json", package["version"]),
    ):
        if value != version:
            yield f"{place} has the version {value}, and the tag is {tag}."
    if package["identifier"] != project["name"]:
        yield f"server.json names the package {package['identifier']}, and pyproject.toml {project['name']}."
    if f"mcp-name: {server['name']}" not in (root / "README.md").read_text("utf-8"):
        yield f"README.md does not name {server['name']}, which the registry asks for."
    if f"## {version}" not in (root / "CHANGELOG.md").read_text("utf-8"):
        yield f"CHANGELOG.md has no section {version}."


def main(words: list[str]) -> int:
    """Print what differs."""
    found = list(problems(words[0]))
    print("\n".join(found) or f"All places name {words[0]}.")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
