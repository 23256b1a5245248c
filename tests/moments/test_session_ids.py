"""The id of a session, as hooks make it of what a host sends."""

from mcp_reflect.moments.payload import session_of


def test_a_short_id_stays_as_it_is() -> None:
    assert session_of({"session_id": "s1"}) == "s1"
    assert session_of({"session_id": "s1", "agent_id": "a7"}) == "s1/a7"
    assert session_of({"session_id": " ", "agent_id": "a7"}) is None


def test_two_sessions_with_long_ids_stay_apart() -> None:
    first, second = (session_of({"session_id": "s" * 200 + end}) for end in "ab")
    assert first is not None
    assert second is not None
    assert first != second
    assert len(first) == 200


def test_two_agents_of_a_session_with_long_ids_stay_apart() -> None:
    long = {"session_id": "s" * 300}
    first, second = (session_of({**long, "agent_id": "a" * 300 + end}) for end in "ab")
    assert first is not None
    assert second is not None
    assert first != second
    assert len(first) <= 200
    assert first.rpartition("/")[0] == second.rpartition("/")[0]
