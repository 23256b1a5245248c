"""Pyright refuses a plain text where a clean one is asked for: in a bank, in what hooks say and in errors of tools."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from mcp_reflect.security.redact import clean_text
from mcp_reflect.storage.values import Bound, bound

BEFORE = """
from mcp_reflect.security.clean import Clean
from mcp_reflect.models.warning import HookInput
from mcp_reflect.server.service import failure
from mcp_reflect.services.hook_events import hook_answer
from mcp_reflect.storage.repository import Writing
from mcp_reflect.storage.values import Bound


def write(writing: Writing, hook: HookInput, plain: str, clean: Clean) -> None:
"""
REFUSED = {
    "a value of a statement": 'Bound({"lesson": plain})',
    "values that did not pass the gate": 'writing.execute("lesson_add", {"lesson": plain})',
    "an answer to a hook": "hook_answer(hook, plain)",
    "an error of a tool": "failure(plain)",
}
TAKEN = {
    "a value of a statement": 'Bound({"lesson": clean, "at": 1.5})',
    "values that passed the gate": 'writing.execute("lesson_add", Bound({"lesson": clean}))',
    "an answer to a hook": "hook_answer(hook, clean)",
    "an error of a tool": "failure(clean)",
    "words of our own code": 'failure("Try again later.")',
}


@pytest.mark.long
def test_pyright_refuses_a_plain_text_in_each_place_and_takes_a_clean_one(tmp_path: Path) -> None:
    pytest.importorskip("pyright")
    lines = [*REFUSED.values(), *TAKEN.values()]
    code = BEFORE + "".join(f"    {line}\n" for line in lines)
    file = tmp_path / "attempt.py"
    file.write_text(code, encoding="utf-8")
    (tmp_path / "pyrightconfig.json").write_text('{"typeCheckingMode": "standard"}')
    command = [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable]
    done = subprocess.run([*command, str(file)], capture_output=True, text=True, check=False)
    found = json.loads(done.stdout)["generalDiagnostics"]
    first = BEFORE.count("\n")
    refused = {one["range"]["start"]["line"] - first for one in found if one["severity"] == "error"}
    assert refused == set(range(len(REFUSED)))


def test_what_is_bound_is_clean() -> None:
    token = "ghp" + "_aB3dE5gH7jK9mN1pQ3sT5vX7zA9cE1gI3kM5"
    values = bound({"text": f"token {token}", "list": [token], "count": 3, "none": None})
    assert isinstance(values, Bound)
    assert token not in str(values)
    assert values["text"] == clean_text(f"token {token}")
    assert (values["count"], values["none"]) == (3, None)
