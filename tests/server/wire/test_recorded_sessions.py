"""A client of any protocol version hears today what it heard when its session was recorded."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.server.wire.session import VERSIONS, played, recording, requests


@pytest.mark.parametrize("version", VERSIONS)
def test_a_recorded_session_is_answered_as_it_was(version: str, tmp_path: Path) -> None:
    lines: list[dict[str, Any]] = [
        json.loads(line) for line in recording(version).read_text("utf-8").splitlines()
    ]
    sent = [line["sent"] for line in lines if "sent" in line]
    assert sent == requests(version)
    for question, answer, recorded in zip(
        [message for message in sent if "id" in message],
        played(sent, tmp_path / "bank.db"),
        [line["answer"] for line in lines if "answer" in line],
        strict=True,
    ):
        assert answer == recorded, question["method"]
