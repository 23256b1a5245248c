"""The scripted language model of the tests is strict, or no test that uses it proves anything."""

import pytest

from mcp_reflect.llm.protocol import Role, Stop
from tests.llm.requests import SCHEMA, asking
from tests.scripted import Scripted, ScriptError


async def test_it_answers_in_order_and_parses_what_was_asked_for_by_schema() -> None:
    with Scripted("one", '{"a": 2}', lambda request: request.user) as llm:
        assert (await llm.complete(asking())).text == "one"
        assert (await llm.complete(asking(schema=SCHEMA))).parsed == {"a": 2}
        assert (await llm.complete(asking("three"))).text == "three"
    assert [request.user for request in llm.asked] == ["What went wrong?", "What went wrong?", "three"]


async def test_an_empty_answer_is_an_empty_reply() -> None:
    with Scripted("") as llm:
        assert (await llm.complete(asking())).stop is Stop.EMPTY


async def test_it_fails_on_an_unexpected_call() -> None:
    with Scripted() as llm, pytest.raises(ScriptError, match="unexpected call 1"):
        await llm.complete(asking())


async def test_it_fails_on_a_call_of_another_role() -> None:
    with pytest.raises(ScriptError, match="critic"), Scripted("x", roles=[Role.CRITIC]) as llm:
        await llm.complete(asking())


def test_it_fails_on_a_leftover_answer() -> None:
    with pytest.raises(ScriptError, match="1 answers"), Scripted("x"):
        pass


def test_a_failed_block_keeps_its_own_error() -> None:
    with pytest.raises(KeyError), Scripted("x"):
        raise KeyError
