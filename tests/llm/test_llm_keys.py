"""Where keys come from, and that they go nowhere else."""

import os
from pathlib import Path

import pytest

from mcp_reflect.llm.protocol import LLMSettingError
from mcp_reflect.llm.providers import Key, find_key

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
