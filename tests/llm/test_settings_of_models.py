"""From settings to the language model of each role, and where keys come from: they go nowhere else."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from mcp_reflect.llm.protocol import LLM, LLMSettingError, Role
from mcp_reflect.llm.providers import Key, Model, Registry, Spec, Unusable, find_key, is_near, parse_spec
from mcp_reflect.llm.sdk import Anthropic, OpenAI
from tests.llm.requests import MemoryUsageStore, asking

KEYS = {"ANTHROPIC_API_KEY": "sk-ant-1", "OPENAI_API_KEY": "sk-oai-2"}


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("anthropic:claude-sonnet-5-5", Spec("anthropic", "claude-sonnet-5-5")),
        (" Anthropic: claude-opus-5-5 ", Spec("anthropic", "claude-opus-5-5")),
        ("openai:qwen3@http://localhost:11434/v1", Spec("openai", "qwen3", "http://localhost:11434/v1")),
        ("openai:qwen3:8b@http://[::1]:11434/v1/", Spec("openai", "qwen3:8b", "http://[::1]:11434/v1")),
        (
            "openai:@cf/meta/llama@https://api.example.com/v1",
            Spec("openai", "@cf/meta/llama", "https://api.example.com/v1"),
        ),
        ("anthropic:claude-opus-4@20250514", Spec("anthropic", "claude-opus-4@20250514")),
        ("openai:org/model", Spec("openai", "org/model")),
        ("off", None),
        ("OFF ", None),
        ("", None),
    ],
)
def test_a_spec_says_provider_model_and_address(text: str, spec: Spec | None) -> None:
    assert parse_spec("MCP_REFLECT_LLM", text) == spec


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("gpt-5", "names no provider"),
        (":gpt-5", "names no provider"),
        ("http://localhost:11434", "names no provider"),
        ("openai:", "names no model"),
        ("openai:@http://localhost", "names no model"),
        ("openai:two words", "names no model"),
        ("openai:x\x00y", "names no model"),
        ("openai:qwen3@localhost:11434/v1", "does not start with http"),
        ("openai:qwen3@localhost", "does not start with http"),
        ("openai:qwen3@10.0.0.1:8000", "does not start with http"),
        ("openai:qwen3@http://", "cannot be used"),
        ("openai:qwen3@http://localhost:99999", "cannot be used"),
        ("openai:qwen3@http://localhost/v1?key=1", "cannot be used"),
        ("openai:qwen3@http://localhost/v1#x", "cannot be used"),
        ("openai:qwen3@http://local host/v1", "cannot be used"),
        ("openai:qwen3@http://[::1/v1", "cannot be used"),
        ("openai:qwen3@http://münchen.example/v1", "cannot be used"),
    ],
)
def test_a_bad_spec_gets_an_error_that_names_setting_fault_and_fix(text: str, fault: str) -> None:
    with pytest.raises(LLMSettingError, match=fault) as caught:
        parse_spec("MCP_REFLECT_LLM_CRITIC", text)
    assert caught.value.setting == "MCP_REFLECT_LLM_CRITIC"
    assert str(caught.value).startswith("MCP_REFLECT_LLM_CRITIC: ")
    assert caught.value.fix


@pytest.mark.parametrize("text", ["openai:x@https://me:hunter2@host/v1", "x@https://me:hunter2@host/v1"])
def test_a_password_in_an_address_is_refused_and_not_repeated(text: str) -> None:
    with pytest.raises(LLMSettingError) as caught:
        parse_spec("MCP_REFLECT_LLM", text)
    assert "hunter2" not in str(caught.value)


def opened(registry: Registry, role: Role) -> LLM:
    """The provider's own model of a role."""
    model = registry.llm(role)
    assert isinstance(model, Model)
    return model.llm


def test_a_role_has_its_own_or_the_common_one_or_none() -> None:
    registry = Registry(
        {
            **KEYS,
            "MCP_REFLECT_LLM": "anthropic:claude-sonnet-5-5",
            "MCP_REFLECT_LLM_CRITIC": "openai:qwen3@http://localhost:11434/v1",
            "MCP_REFLECT_LLM_DREAMER": "off",
            "MCP_REFLECT_LLM_PLANNER": "  ",
        }
    )
    assert isinstance(opened(registry, Role.CRITIC), OpenAI)
    assert isinstance(opened(registry, Role.REFLECTOR), Anthropic)
    assert registry.llm(Role.DREAMER) is None
    assert registry.llm(Role.PLANNER) is registry.llm(Role.REFLECTOR)
    assert registry.problems() == []


def test_without_settings_nobody_thinks() -> None:
    registry = Registry({})
    assert [registry.llm(role) for role in Role] == [None] * 6
    assert registry.problems() == []


async def test_a_setting_that_is_wrong_fails_the_completion_and_not_the_start() -> None:
    registry = Registry({**KEYS, "MCP_REFLECT_LLM": "gpt-5", "MCP_REFLECT_LLM_CRITIC": "openai:gpt-5"})
    llm = registry.llm(Role.REFLECTOR)
    assert isinstance(llm, Unusable)
    for _ in range(2):
        with pytest.raises(LLMSettingError, match="MCP_REFLECT_LLM: "):
            await llm.complete(asking())
    assert isinstance(opened(registry, Role.CRITIC), OpenAI)
    assert [problem.setting for problem in registry.problems()] == ["MCP_REFLECT_LLM"]


@pytest.mark.parametrize(
    ("spec", "setting"),
    [
        ("anthropic:claude-sonnet-5-5", "ANTHROPIC_API_KEY"),
        ("openai:gpt-5", "OPENAI_API_KEY"),
    ],
)
def test_a_missing_key_is_named(spec: str, setting: str) -> None:
    (problem,) = Registry({"MCP_REFLECT_LLM": spec}).problems()
    assert problem.setting == setting
    assert "MCP_REFLECT_LLM_KEY_FILE" in problem.fix


def test_a_local_endpoint_needs_no_key() -> None:
    assert Registry({"MCP_REFLECT_LLM": "openai:qwen3@http://localhost:11434/v1"}).problems() == []
    assert Registry({"MCP_REFLECT_LLM": "openai:qwen3", "OPENAI_BASE_URL": "http://localhost:1/v1"}).problems() == []


@pytest.mark.parametrize(("provider", "name"), [("anthropic", "ANTHROPIC_BASE_URL"), ("openai", "OPENAI_BASE_URL")])
def test_a_bad_base_url_names_its_variable(provider: str, name: str) -> None:
    (problem,) = Registry({**KEYS, "MCP_REFLECT_LLM": f"{provider}:x", name: "localhost:8000"}).problems()
    assert problem.setting == name


@pytest.mark.parametrize(
    ("url", "near"),
    [
        ("http://localhost:11434/v1", True),
        ("http://127.0.0.1:1", True),
        ("http://[::1]:1", True),
        ("http://192.168.1.7:8000/v1", True),
        ("http://gpu-box:8000/v1", True),
        ("http://host.docker.internal:1234", True),
        ("http://8.8.8.8/v1", False),
        ("http://api.example.com/v1", False),
    ],
)
def test_a_key_does_not_cross_a_public_network_in_clear_text(url: str, near: bool) -> None:
    assert is_near(url) is near
    problems = Registry({**KEYS, "MCP_REFLECT_LLM": f"openai:x@{url}"}).problems()
    assert ["in clear text" in problem.fault for problem in problems] == ([] if near else [True])
    assert Registry({"MCP_REFLECT_LLM": f"openai:x@{url}"}).problems() == []


def test_roles_with_the_same_model_share_it() -> None:
    registry = Registry({**KEYS, "MCP_REFLECT_LLM": "openai:gpt-5"}, MemoryUsageStore())
    assert len({id(registry.llm(role)) for role in Role}) == 1


def loaded_by(code: str, environment: Mapping[str, str]) -> set[str]:
    """The modules of a fresh interpreter after `code`."""
    script = f"{code}\nimport sys\nprint(*sys.modules)"
    run = subprocess.run(
        [sys.executable, "-c", script], env=dict(environment), capture_output=True, text=True, check=True, timeout=60
    )
    return set(run.stdout.split())


def test_neither_the_start_nor_the_binding_of_roles_imports_an_sdk_or_an_http_client() -> None:
    code = f"""
from mcp_reflect.llm.protocol import Role
from mcp_reflect.llm.providers import Registry
settings = {{"MCP_REFLECT_LLM": "anthropic:x", "MCP_REFLECT_LLM_CRITIC": "openai:y", **{KEYS!r}}}
assert Registry(settings).problems() == []
"""
    modules = loaded_by(code, {"PYTHONPATH": str(Path(__file__).parents[2]), "PATH": ""})
    assert "mcp_reflect.llm.sdk" in modules
    unwanted = {"anthropic", "httpx2", "httpx", "httpcore", "httpcore2", "pydantic", "mcp", "anyio"}
    assert not unwanted & modules


NAMES = ("ANTHROPIC_API_KEY", "OTHER_KEY")
MAIN = {"MCP_REFLECT_LLM": "anthropic:claude-sonnet-5-5"}
posix = pytest.mark.skipif(os.name != "posix", reason="mode bits are POSIX")


def key_file(folder: Path, content: str | bytes, mode: int = 0o600) -> dict[str, str]:
    path = folder / "key"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    path.chmod(mode)
    return {"MCP_REFLECT_LLM_KEY_FILE": str(path)}


def revealed(key: Key | None) -> str | None:
    return None if key is None else key.text


def test_the_environment_gives_the_key_under_the_first_name_that_is_set() -> None:
    assert revealed(find_key({"OTHER_KEY": " t ", "ANTHROPIC_API_KEY": ""}, NAMES)) == "t"
    assert revealed(find_key({"OTHER_KEY": "t", "ANTHROPIC_API_KEY": "k"}, NAMES)) == "k"
    assert find_key({"OPENAI_API_KEY": "o"}, NAMES) is None


def test_a_file_may_name_its_keys_and_comes_before_the_environment(tmp_path: Path) -> None:
    content = "export ANTHROPIC_API_KEY='sk-file'\nOPENAI_API_KEY = \"sk-other\"\n"
    settings = {**MAIN, **key_file(tmp_path, content), "ANTHROPIC_API_KEY": "sk-env"}
    key = find_key(settings, NAMES)
    assert revealed(key) == "sk-file"
    assert repr(key) == "Key(source='MCP_REFLECT_LLM_KEY_FILE (ANTHROPIC_API_KEY)')"
    assert revealed(find_key(settings, ("OPENAI_API_KEY",))) == "sk-other"


@posix
@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o660, 0o777])
def test_a_file_that_others_can_read_is_refused_with_the_command_that_helps(tmp_path: Path, mode: int) -> None:
    with pytest.raises(LLMSettingError, match="so others can read the key") as caught:
        find_key({**MAIN, **key_file(tmp_path, "ANTHROPIC_API_KEY=sk-1", mode)}, NAMES)
    assert f"chmod 600 {tmp_path / 'key'}" in caught.value.fix
    assert "sk-1" not in str(caught.value)


@posix
def test_a_file_that_only_its_owner_can_read_is_good(tmp_path: Path) -> None:
    assert revealed(find_key({**MAIN, **key_file(tmp_path, "ANTHROPIC_API_KEY=sk-1", 0o400)}, NAMES)) == "sk-1"


@pytest.mark.parametrize("content", ["", "# nothing\n", "sk-2", "sk-1\nsk-2\n", b"\xff\xfe\x00", "NAME=x\nsk-2"])
def test_a_file_without_keys_is_refused(tmp_path: Path, content: str | bytes) -> None:
    with pytest.raises(LLMSettingError, match="MCP_REFLECT_LLM_KEY_FILE") as caught:
        find_key({**MAIN, **key_file(tmp_path, content)}, NAMES)
    assert "sk-2" not in str(caught.value)


def test_a_file_that_is_not_there_or_is_a_folder_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path / "none", tmp_path):
        with pytest.raises(LLMSettingError, match="cannot be read"):
            find_key({**MAIN, "MCP_REFLECT_LLM_KEY_FILE": str(path)}, NAMES)


@pytest.mark.parametrize("text", ["sk 1", "sk-ü", "sk\x07-1"])
def test_a_key_that_no_header_can_carry_is_refused_and_not_shown(text: str) -> None:
    with pytest.raises(LLMSettingError, match="ANTHROPIC_API_KEY") as caught:
        find_key({"ANTHROPIC_API_KEY": text}, NAMES)
    assert text not in str(caught.value)
    assert caught.value.__cause__ is None


def test_a_key_shows_its_source_only() -> None:
    key = Key("sk-secret", "ANTHROPIC_API_KEY")
    assert "sk-secret" not in f"{key} {key!r}"
