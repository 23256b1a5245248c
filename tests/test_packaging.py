"""What is shipped beside the wheel: the bundle's manifest and the image's recipe."""

import hashlib
import json
import runpy
import zipfile
from pathlib import Path
from typing import Any

import pytest

from mcp_reflect.config import Settings

ROOT = Path(__file__).parent.parent
RECIPE = (ROOT / "Dockerfile").read_text("utf-8")


@pytest.fixture(scope="module")
def bundle() -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "packaging" / "bundle.py"))


def test_the_bundle_offers_settings_that_there_are_and_fills_each_in(
    bundle: dict[str, Any],
) -> None:
    manifest = bundle["manifest"]()
    env = manifest["server"]["mcp_config"]["env"]
    assert {f"${{user_config.{name}}}" for name in manifest["user_config"]} == set(env.values())
    empty = Settings.from_env(dict.fromkeys(env, ""))
    assert empty == Settings.from_env({})


def test_the_bundle_says_what_the_server_says(bundle: dict[str, Any]) -> None:
    manifest = bundle["manifest"]()
    tools = json.loads((ROOT / "mcp_reflect" / "server" / "tools.json").read_text("utf-8"))
    server = json.loads((ROOT / "server.json").read_text("utf-8"))
    assert [tool["name"] for tool in manifest["tools"]] == [tool["name"] for tool in tools]
    assert (manifest["version"], manifest["description"]) == (
        server["version"],
        server["description"],
    )


def test_the_same_wheel_makes_the_same_bundle(bundle: dict[str, Any], tmp_path: Path) -> None:
    wheel = tmp_path / "mcp_reflect_server-0.3.0-py3-none-any.whl"
    wheel.write_bytes(b"a wheel")
    first = bundle["build"](wheel, tmp_path / "out").read_bytes()
    made = bundle["build"](wheel, tmp_path / "out")
    assert made.read_bytes() == first
    registered = json.loads((tmp_path / "out" / "server.json").read_text("utf-8"))["packages"]
    assert [package["registryType"] for package in registered] == ["pypi", "oci", "mcpb"]
    assert registered[-1]["fileSha256"] == hashlib.sha256(first).hexdigest()
    assert registered[-1]["identifier"].endswith(f"/{made.name}")
    with zipfile.ZipFile(made) as archive:
        assert {"manifest.json", "pyproject.toml", "server/main.py", "LICENSE", wheel.name} == set(
            archive.namelist()
        )


def test_the_image_runs_as_a_user_without_rights_and_keeps_the_bank_in_a_volume() -> None:
    last = RECIPE.split("\nFROM ")[-1].splitlines()
    assert "USER reflect" in last
    assert "VOLUME /bank" in last
    assert any("MCP_REFLECT_BANK=/bank/bank.db" in line for line in last)
    assert last[-1] == 'ENTRYPOINT ["mcp-reflect"]'


def test_the_image_is_built_from_files_that_there_are_and_that_docker_may_read() -> None:
    allowed = {
        line[1:]
        for line in (ROOT / ".dockerignore").read_text("utf-8").splitlines()
        if line.startswith("!")
    }
    copied = [
        word
        for line in RECIPE.splitlines()
        if line.startswith("COPY ") and "--from" not in line
        for word in line.split()[1:-1]
    ]
    assert set(copied) == allowed
    assert [name for name in copied if not (ROOT / name).exists()] == []


def test_a_release_names_each_place_that_differs_from_its_tag(tmp_path: Path) -> None:
    problems = runpy.run_path(str(ROOT / "packaging" / "check_release.py"))["problems"]
    assert list(problems("v0.3.0")) == []
    for name in ("pyproject.toml", "server.json", "README.md", "CHANGELOG.md"):
        (tmp_path / name).write_text((ROOT / name).read_text("utf-8"), "utf-8")
    (tmp_path / "README.md").write_text("# mcp-reflect", "utf-8")
    assert list(problems("v9.9.9", tmp_path)) == [
        "pyproject.toml has the version 0.3.0, and the tag is v9.9.9.",
        "server.json has the version 0.3.0, and the tag is v9.9.9.",
        "the package in server.json has the version 0.3.0, and the tag is v9.9.9.",
        "README.md does not name io.github.mcp-reflect/mcp-reflect, which the registry asks for.",
        "CHANGELOG.md has no section 9.9.9.",
    ]
