"""What the repository promises about itself: its commands, its versions, its size, what it names."""

import json
import os
import re
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from ruamel.yaml import YAML

import mcp_reflect

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
CI = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))[
    "project"
]
SERVER: dict[str, Any] = json.loads((ROOT / "server.json").read_text(encoding="utf-8"))
SCHEMA: dict[str, Any] = json.loads(
    (ROOT / "tests" / "data" / "server.schema.json").read_text(encoding="utf-8")
)

PACKAGE_INDEX = re.compile(
    r"\b(pypi|pythonhosted|npmjs|yarnpkg|anaconda|conda)[.](org|com|io)\b"
    r"|(?:--?(?:extra-)?index-url|\bfind-links)\b[ =:]*[\"']?(?:https?:|file:|[$/.])"
)


def documents_and_settings() -> Iterator[Path]:
    """Whatever tells a person or a program where to get something; test data may quote anything."""
    for path in ROOT.iterdir():
        if path.is_file():
            yield path
    for room in (".ci", "docs", "prompts", "mcp_reflect", "benchmarks"):
        yield from (
            path for path in (ROOT / room).rglob("*") if path.is_file() and path.suffix != ".pyc"
        )


def pages() -> list[Path]:
    return sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])


def shell_lines(text: str) -> list[str]:
    """The lines of a page's shell blocks."""
    return [
        line
        for block in re.findall(r"```sh\n(.*?)```", text, re.DOTALL)
        for line in block.splitlines()
    ]


def test_the_readme_starts_everything_with_two_commands() -> None:
    assert shell_lines(README) == [
        "python3 -m venv .venv && .venv/bin/pip install -q . && .venv/bin/mcp-reflect demo",
        "python3 -m venv .venv && .venv/bin/pip install -q -e '.[test]' && .venv/bin/pytest",
    ]


def test_the_readme_test_command_is_the_one_ci_runs() -> None:
    (command,) = [line for line in shell_lines(README) if "pytest" in line]
    assert [line for line in CI.splitlines() if line.endswith("pytest")] == [command]


def test_the_readme_fits_a_screen_or_two() -> None:
    assert len(README.splitlines()) <= 80


def test_the_site_lists_every_page_of_the_docs_in_one_of_four_groups() -> None:
    yaml: Any = YAML(typ="safe")
    groups: list[dict[str, list[str]]] = yaml.load(
        (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    )["nav"]
    assert [name for group in groups for name in group] == ["Start", "Use", "Operate", "Understand"]
    listed = [page for group in groups for pages in group.values() for page in pages]
    assert sorted(listed) == sorted(path.name for path in (ROOT / "docs").glob("*.md"))


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.name)
def test_every_link_of_a_page_leads_to_a_file(page: Path) -> None:
    targets = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    assert [target for target in targets if not (page.parent / target).exists()] == []


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.name)
def test_json_and_toml_in_a_page_can_be_pasted(page: Path) -> None:
    for language, block in re.findall(
        r"```(json|toml)\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL
    ):
        assert (json.loads if language == "json" else tomllib.loads)(block)


def test_ci_is_a_script_that_bash_reads() -> None:
    assert os.access(ROOT / ".ci" / "run", os.X_OK)
    subprocess.run(["bash", "-n", str(ROOT / ".ci" / "run")], check=True)


def test_ci_names_the_stage_that_failed(tmp_path: Path) -> None:
    for command in ("bash", "dirname", "mktemp", "rm"):
        (tmp_path / command).symlink_to(shutil.which(command) or command)
    script = [str(tmp_path / "bash"), str(ROOT / ".ci" / "run")]
    done = subprocess.run(
        script, env={"PATH": str(tmp_path)}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        "No Python 3.11 or newer with venv and pip on PATH.",
        "",
        "CI failed in the stage: Python 3.11 or newer",
    ]


def test_no_file_names_a_package_index_host() -> None:
    named = {
        path.relative_to(ROOT).as_posix(): found.group()
        for path in documents_and_settings()
        if b"\0" not in (content := path.read_bytes())  # numbers and pictures name nothing
        and (found := PACKAGE_INDEX.search(content.decode("utf-8", "replace")))
    }
    assert named == {}


def server_faults(server: dict[str, Any]) -> str:
    """What is wrong with a server.json; nothing is the empty string."""
    try:
        jsonschema.validate(server, SCHEMA)
    except jsonschema.ValidationError as error:
        return error.message
    return ""


def test_server_json_is_valid_by_the_registry_rules_of_2025_12_11() -> None:
    assert server_faults(SERVER) == ""


@pytest.mark.parametrize(
    "fault",
    [
        {"name": "mcp-reflect"},
        {"description": "x" * 101},
        {"packages": [{"registryType": "pypi", "identifier": "mcp-reflect-server"}]},
        {"packages": [{**SERVER["packages"][0], "version": "latest"}]},
        {"homepage": "https://example.org"},
    ],
    ids=["no namespace", "long description", "no transport", "no exact version", "unknown name"],
)
def test_server_json_would_not_be_valid_with(fault: dict[str, Any]) -> None:
    assert server_faults({**SERVER, **fault})


def test_server_json_announces_the_package_that_pyproject_builds() -> None:
    package, image = SERVER["packages"]
    assert package["identifier"] == PROJECT["name"]
    assert image["identifier"].endswith(f":{PROJECT['version']}")  # the registry wants it there
    recipe = (ROOT / "Dockerfile").read_text("utf-8")
    assert f'LABEL io.modelcontextprotocol.server.name="{SERVER["name"]}"' in recipe
    # A host that was only told the package runs the command of that name.
    assert PROJECT["scripts"][package["identifier"]] == PROJECT["scripts"]["mcp-reflect"]


def test_the_readme_carries_the_name_of_server_json() -> None:
    assert f"<!-- mcp-name: {SERVER['name']} -->" in README


def test_versions_agree() -> None:
    newest = re.search(
        r"^## (\d\S+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert newest
    versions = {
        SERVER["version"],
        *(package["version"] for package in SERVER["packages"] if "version" in package),
        newest.group(1),
    }
    assert versions == {PROJECT["version"]} == {mcp_reflect.__version__}


def test_the_licence_is_apache_2() -> None:
    text = (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert "Apache License" in text
    assert "Version 2.0, January 2004" in text
    assert "END OF TERMS AND CONDITIONS" in text
    assert PROJECT["license"] == "Apache-2.0"


@pytest.mark.parametrize("package", ["mcp", "pydantic", "aiosqlite", "anthropic", "structlog"])
def test_each_main_package_is_imported_by_the_product(package: str) -> None:
    used = re.compile(rf"^ *(?:import|from) {package}\b", re.MULTILINE)
    files = (ROOT / "mcp_reflect").rglob("*.py")
    assert any(used.search(file.read_text(encoding="utf-8")) for file in files)


def test_every_file_that_the_map_of_the_code_names_is_there() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    named = {*re.findall(r"`([\w.]+/[\w./]*)`", text), *re.findall(r"(?m)^(\w+/[\w./]+)  ", text)}
    places = (ROOT, ROOT / "mcp_reflect")
    missing = {name for name in named if not any((place / name).exists() for place in places)}
    assert not {name for name in missing if "NAME" not in name}
