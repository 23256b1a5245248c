"""The decision node: six checks in order, then a reflection on the decision and how it was carried out."""

from pathlib import Path
from typing import Any

import pytest

from mcp_reflect.config import Settings
from mcp_reflect.nodes import reflection_node
from mcp_reflect.services.engine import Engine

_STATE: dict[str, Any] = {
    "decision": {"action": "keep", "component": "model_a"},
    "execution": {"component": "model_a", "result": "trained", "metrics": {"accuracy": 0.92}},
}


def _node(tmp_path: Path, **more: Any) -> dict[str, Any]:
    return reflection_node({**_STATE, **more}, make_engine=lambda: Engine(Settings(bank=tmp_path / "bank.db")))


def test_a_sound_decision_is_reflected_on(tmp_path: Path) -> None:
    gained = _node(tmp_path)
    assert gained["validation_results"]["valid"]
    assert gained["reflections"] == [gained["reflection"]]
    assert "error" not in gained


@pytest.mark.parametrize("name", ["error", "error_message"])
def test_an_error_in_the_state_fails_the_second_check(tmp_path: Path, name: str) -> None:
    gained = _node(tmp_path, **{name: "Execution crashed"})
    assert gained["validation_results"]["failed_check"] == "state_errors"
    assert gained["error"] == "state.error says: Execution crashed"
    assert "reflection" not in gained


def test_a_failed_check_is_logged_with_its_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _node(tmp_path, error="Execution crashed")
    assert "state_errors" in capsys.readouterr().err
