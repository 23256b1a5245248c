"""A command over the test's bank."""

from pathlib import Path

import pytest

from tests.cli.commands import Command
from tests.conftest import place_empty_bank


@pytest.fixture
def command(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Command:
    place_empty_bank(tmp_path / "bank.db")
    monkeypatch.setenv("MCP_REFLECT_BANK", str(tmp_path / "bank.db"))
    monkeypatch.setenv("MCP_REFLECT_PROJECT", "app")
    return Command(capsys, tmp_path)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home directory of a person who has registered us in no host."""
    folder = tmp_path / "home"
    folder.mkdir()
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(folder))
    monkeypatch.setenv("APPDATA", str(folder / "AppData" / "Roaming"))
    return folder
