"""Messages with so many values that to parse them would keep everybody else waiting: they are refused before."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_reflect.config import Settings
from mcp_reflect.dense import MOST_SEPARATORS, is_dense
from tests.server.teams import replica
from tests.sessions import sessions

MANY = MOST_SEPARATORS + 10


@pytest.mark.parametrize(
    "value", ["[]", "{}", "0", '""', '"a,b"', '{"a":1}', r'"\""', r'"\\"', "null"]
)
def test_a_message_with_too_many_values_is_dense(value: str) -> None:
    assert is_dense(f"[{','.join([value] * MANY)}]".encode())
    assert not is_dense(f"[{','.join([value] * (MOST_SEPARATORS // 2 - 1))}]".encode())


def test_an_object_with_too_many_names_is_dense() -> None:
    assert is_dense(json.dumps(dict.fromkeys(range(MANY))).encode())


@given(
    st.lists(st.sampled_from(['"', "\\", ",", "[", "{", "a", "\n", "ä"]), max_size=12).map("".join)
)
def test_what_stands_in_texts_counts_for_nothing(piece: str) -> None:
    text = f"{piece}[,]" * (MOST_SEPARATORS // 2)
    assert not is_dense(json.dumps({"a": text, "b": [text[:9], text]}).encode())


def test_a_session_of_four_megabytes_is_not_dense() -> None:
    session = sessions.claude()
    sent = {"hook": {"moment": "end"}, "transcript": session * (3_000_000 // len(session))}
    assert not is_dense(json.dumps(sent).encode())


async def test_the_service_refuses_a_dense_message(settings: Settings) -> None:
    async with replica(settings) as team, team.http(await team.token("writer")) as http:
        for path in ("/mcp", "/api/hook", "/api/import"):
            answer = await http.post(
                path,
                content=f'{{"lines":[{",".join(["[]"] * MANY)}]}}',
                headers={"Content-Type": "application/json"},
            )
            assert answer.status_code == 413
            assert f"more than {MOST_SEPARATORS} values" in answer.text
