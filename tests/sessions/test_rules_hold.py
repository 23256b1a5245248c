"""Laws that hold for every trace: no exception, the same answer twice, event ids that exist, linear time."""

from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_reflect.models.common import Json
from mcp_reflect.models.run import Event, EventType, Outcome, Trace
from mcp_reflect.sessions.diagnose import diagnose
from tests.sessions.run import Run

TEXTS = st.one_of(
    st.text(max_size=80),
    st.sampled_from(
        [
            "Search[Nick Park]",
            "Finish[x]",
            "Could not find [a]. Similar: ['b', 'c']",
            "No Results",
            "[]",
            '{"error": {"error": [{"message": null}]}}',
            "Traceback (most recent call last):\nKeyError: 'a'",
            "exitcode: 1 (execution failed)",
            "HTTP/1.1 404 Not Found",
            "1 failed, 2 passed in 0.1s",
            "\ud800\x00",
        ]
    ),
)
JSONS: st.SearchStrategy[Json] = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), TEXTS),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=6), inner, max_size=3)
    ),
    max_leaves=6,
)


@st.composite
def traces(draw: st.DrawFn) -> Trace:
    count = draw(st.integers(0, 14))
    events = tuple(
        Event(
            id=f"e{n}",
            type=draw(st.sampled_from(EventType)),
            content=draw(TEXTS),
            tool=draw(
                st.sampled_from([None, "search", "bash", "Search", "read_file", "", "\ud800"])
            ),
            arguments=draw(st.one_of(st.none(), JSONS)),
            error=draw(st.sampled_from([None, None, "", "timed out"])),
            metadata=draw(
                st.dictionaries(
                    st.sampled_from(["call_id", "exit_code", "status", "is_error"]),
                    JSONS,
                    max_size=2,
                )
            ),
        )
        for n in range(count)
    )
    return Trace(task="t", outcome=draw(st.sampled_from(Outcome)), events=events)


@given(traces())
@settings(max_examples=30, deadline=None)
def test_any_trace_is_diagnosed_alike_twice_by_events_that_exist(
    trace: Trace,
) -> None:
    diagnosis = diagnose(trace)
    assert diagnosis == diagnose(trace)
    known = {event.id for event in trace.events}
    assert set(diagnosis.source_event_ids) <= known
    assert diagnosis.first_failing_event is None or diagnosis.first_failing_event in known
    assert {failure.event_id for failure in diagnosis.failures} <= known


def test_a_megabyte_without_a_line_break_is_read() -> None:
    for text in (
        "a" * 1_000_000,
        "a/" * 500_000,
        "Error: " * 140_000,
        "x." * 500_000,
        " " * 1_000_000,
        "[" * 1_000_000,
    ):
        assert diagnose(
            Run()
            .bash("make", text)
            .call("search", {"query": text}, text)
            .call("edit", text, text)
            .trace()
        ).summary


def test_arguments_nested_deep_do_not_break_the_rules() -> None:
    deep: Json = "x"
    for _ in range(5_000):
        deep = [deep]
    assert (
        diagnose(Run().call("f", {"a": deep}, "Error: too deep").trace()).first_failing_event
        == "e2"
    )


def test_no_text_of_a_reflection_has_a_cut_a_temporary_path_or_a_label() -> None:
    run = Run("Ship it")
    for number in range(12):
        command = (
            f"cd /tmp/x{number} && ./build --target {'a' * number} {'and on ' * 40 * (number % 2)}"
        )
        arguments: Json = {"command": command, "description": "Build the whole thing once more"}
        run.call(
            "Bash",
            arguments,
            error=f"Error: /tmp/x{number}/a.c is bad. {'The rest goes on and on ' * 30}",
        )
        run.call("search", {"query": f"what is {'very ' * 60}bad"}, "No results found.")
    run.says(EventType.USER_FEEDBACK, "That's wrong. " + "It goes on and on " * 40)
    seen = diagnose(run.trace())
    texts = [seen.summary, *(fact.text for fact in seen.facts)]
    assert len(texts) >= 3
    for text in texts:
        assert not any(part in text for part in (" ... ", "…", "tmp/x", "Build the whole thing")), (
            text
        )
