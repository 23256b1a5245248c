"""A trace is shown whole where it fits and cut from the middle where not."""

from hypothesis import given
from hypothesis import strategies as st

from mcp_reflect.models.common import Json
from mcp_reflect.models.run import Event, EventType, Outcome, Trace
from mcp_reflect.runs.text import shortened, trace_text


def trace(*contents: str, cut: dict[str, int] | None = None) -> Trace:
    events = [Event(id=f"e{n}", type=EventType.OBSERVATION, content=text) for n, text in enumerate(contents, 1)]
    return Trace(task="t", outcome=Outcome.FAILURE, events=tuple(events), cut=cut)


def test_a_short_trace_is_shown_whole() -> None:
    event = Event(id="e1", type=EventType.TOOL_CALL, tool="search", arguments={"q": "tea"}, error="no such table")
    shown = trace_text(Trace(task="t", outcome=Outcome.FAILURE, events=(event,)), 1000)
    assert shown == '[e1] tool_call search {"q": "tea"} | error: no such table'


def test_a_long_trace_keeps_its_start_and_its_end_and_says_what_it_lost() -> None:
    shown = trace_text(trace(*[f"event {n} " + "x" * 90 for n in range(100)]), 2000)
    assert "[e1] " in shown
    assert "[e100] " in shown
    assert "[e50] " not in shown
    kept = shown.count("observation")
    assert f"[{100 - kept} of 100 events in the middle left out" in shown


def test_one_huge_event_does_not_push_out_the_others() -> None:
    shown = trace_text(trace("first", "A" * 50_000 + "end of it", "last"), 2000)
    assert "first" in shown
    assert "last" in shown
    assert "end of it" in shown
    assert "characters cut" in shown


def test_an_earlier_cut_is_said() -> None:
    assert trace_text(trace("a", cut={"events": 3, "characters": 9}), 1000).startswith("[3 events and 9 characters")


def test_arguments_nested_too_deep_are_said_to_be() -> None:
    deep: Json = []
    for _ in range(100_000):
        deep = [deep]
    event = Event(id="e1", type=EventType.TOOL_CALL, tool="t", arguments=deep)
    assert "nested too deep" in trace_text(Trace(task="t", outcome=Outcome.ERROR, events=(event,)), 1000)


@given(st.lists(st.text(max_size=400), max_size=40), st.integers(400, 3000))
def test_the_text_is_never_longer_than_asked(contents: list[str], limit: int) -> None:
    assert len(trace_text(trace(*contents), limit)) <= limit


@given(st.text(max_size=300), st.integers(80, 200))
def test_a_shortened_text_fits(text: str, limit: int) -> None:
    assert len(shortened(text, limit)) <= limit
