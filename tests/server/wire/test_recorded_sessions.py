"""A client of any protocol version hears today what it heard when its session was recorded."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.server.wire.session import VERSIONS, played, recording, requests


@pytest.mark.parametrize("version", VERSIONS)
def test_a_recorded_session_is_answered_as_it_was(version: str, tmp_path: Path) -> None:
    lines: list[dict[str, Any]] = [json.loads(line) for line in recording(version).read_text("utf-8").splitlines()]
    sent = [line["sent"] for line in lines if "sent" in line]
    assert sent == requests(version)
    for question, answer, recorded in zip(
        [message for message in sent if "id" in message],
        played(sent, tmp_path / "bank.db"),
        [line["answer"] for line in lines if "answer" in line],
        strict=True,
    ):
        assert answer == recorded, question["method"]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_session_has_an_answer_to_every_kind_of_request(version: str) -> None:
    lines = [json.loads(line) for line in recording(version).read_text("utf-8").splitlines()]
    answers = [line["answer"] for line in lines if "answer" in line]
    assert sum("error" in answer for answer in answers) == 3
    assert [bool(answer["result"].get("isError")) for answer in answers if "content" in answer.get("result", {})] == [
        False, False, False, False, False, False, False, True, False, False,
    ]  # fmt: skip
