"""The gate: what comes from outside is cleaned whole, and only there a text gets the type that says so."""

import ast
from pathlib import Path

import pytest

import mcp_reflect
from mcp_reflect.security.clean import Clean
from mcp_reflect.security.gate import clean_arguments, joined, shortened
from mcp_reflect.security.redact import clean_text
from mcp_reflect.security.text_ends import clean_ends

PACKAGE = Path(mcp_reflect.__file__).parent
TOKEN = "ghp" + "_aB3dE5gH7jK9mN1pQ3sT5vX7zA9cE1gI3kM5"


def test_only_the_package_of_security_makes_a_clean_text() -> None:
    makers = {
        file.relative_to(PACKAGE).parts[0]
        for file in PACKAGE.rglob("*.py")
        if "Clean(" in (text := file.read_text(encoding="utf-8"))
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Clean"
    }
    assert makers == {"security"}


@pytest.mark.parametrize(
    "command",
    [
        f"echo \x1b[32m{TOKEN[:12]}\x1b[0m{TOKEN[12:]}",
        f"echo {TOKEN[:12]}\\\n{TOKEN[12:]}",
        f'curl -H "Authorization: Bearer {TOKEN}"',
    ],
)
def test_a_call_as_an_object_is_cleaned_before_it_becomes_json(command: str) -> None:
    sent = {"wrong_call": {"tool": "Bash", "arguments": {"command": command}}}
    cleaned = str(clean_arguments(sent))
    assert TOKEN[12:] not in cleaned
    assert "[redacted:" in cleaned


def test_a_secret_at_the_cut_of_a_long_text_is_found_before_the_cut() -> None:
    text = "line of a log\n" * 5_000
    for at in range(990, 1_001, 2):
        long = f"{text[:at]} {TOKEN} {text}"
        assert TOKEN[:8] not in clean_ends(long, 1_000)


def test_what_is_derived_by_the_gate_stays_clean() -> None:
    text = clean_text(f"token {TOKEN} ok")
    assert isinstance(shortened(text, 5), Clean)
    assert isinstance(joined(" ", [text, text]), Clean)
    assert not isinstance(text[:5], Clean)
