"""What a command refuses it may repeat, but no secret in it, and no half of one that was cut."""

import pytest

from mcp_reflect.cli import main
from mcp_reflect.config import Settings
from tests.secrets import SECRETS

pytestmark = pytest.mark.usefixtures("command")
KEY = SECRETS["github_token"]
WORDS = [
    ("{}",),
    ("recall", "x", "--kind", "{}"),
    ("prompts", "show", "{}"),
    ("install", "{}"),
    ("lessons", "show", "{}"),
    ("lessons", "{}"),
    ("recall", "x", "--limit", "{}"),
    ("serve", "{}"),
    ("dream", "--undo", "{}"),
    ("reflect", "{}"),
]


@pytest.mark.parametrize("before", [0, 20, 50, 70, 77])
@pytest.mark.parametrize("words", WORDS, ids=" ".join)
def test_no_half_of_a_key_is_repeated(capsys: pytest.CaptureFixture[str], words: tuple[str, ...], before: int) -> None:
    hidden = f"{'w ' * (before // 2)}{KEY} after"
    try:
        code = main([word.replace("{}", hidden) for word in words])
    except SystemExit as ended:
        code = ended.code
    said = capsys.readouterr()
    assert code in {1, 2}
    assert KEY[4:12] not in said.out + said.err


@pytest.mark.parametrize("name", ["LOG_LEVEL", "ENABLED", "MAX_EVENTS", "HOLDOUT", "LLM", "LLM_RETRIES"])
def test_no_half_of_a_key_in_a_setting_is_repeated(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(f"MCP_REFLECT_{name}", f"{'w ' * 32}{KEY}")
    main(["doctor"])
    said = capsys.readouterr()
    assert KEY[4:12] not in said.out + said.err
    assert said.out + said.err


def test_a_name_that_is_no_setting_is_repeated_without_the_key_in_it() -> None:
    assert KEY[4:12] not in str(Settings.from_env({f"MCP_REFLECT_{'X_' * 25}{KEY}": "1"}).misspelled())
