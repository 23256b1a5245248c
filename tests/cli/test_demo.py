"""`mcp-reflect demo` plays the whole loop with real servers."""

import json

import pytest

from mcp_reflect.cli import main


def test_the_demo_recalls_its_lesson_from_a_new_server_and_raises_its_effectiveness(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["demo", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert [hit["id"] for hit in result["recalled"]["lessons"]] == [result["lesson"]]
    assert "PYTHONPATH=src" in result["recalled"]["lessons"][0]["text"]
    assert result["updated"]["effectiveness"] > 0.5
