"""Twice the text is at most about twice the steps, and a call reads so much of what it is sent, and says what it left out."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from mcp import Client

from mcp_reflect.errors import InputError
from mcp_reflect.evidence.digest import Outputs
from mcp_reflect.evidence.runs import MOST_READ_IN_ALL, clipped_results
from mcp_reflect.evidence.work import statements_of
from mcp_reflect.limits import Limits
from mcp_reflect.models.common import Json
from mcp_reflect.models.critique import ToolResult
from mcp_reflect.replan.words import content, most_telling_first
from mcp_reflect.schemas.analysis import read_analysis
from mcp_reflect.schemas.critique import CritiqueArguments
from mcp_reflect.schemas.reading import read
from mcp_reflect.schemas.run import ReflectArguments
from mcp_reflect.schemas.stored_runs import plain_run
from mcp_reflect.security.reading_allowance import MOST_CUES, shared_allowance
from mcp_reflect.security.redact import clean, clean_text
from mcp_reflect.security.secret_labels import reading_weight
from tests.fuzz.steps import steps_of
from tests.server.calls import told

MOST_RATIO = 2.8  # where work grows with the square it is four


def _telling(text: str) -> object:
    return most_telling_first(content(text), text)


def _claims(text: str) -> object:
    return statements_of([text])


@pytest.mark.parametrize(
    ("function", "unit"),
    [
        (_telling, "one\\ntwo\\n"),
        (_telling, "proxy timeout, "),
        (_claims, "+ api_key: none\n"),
        (_claims, "Please check it. "),
        (clean_text, "the seed phrase is "),
        (clean_text, "seed phrase abandon ability able "),
        (clean_text, "token: "),
        (clean_text, "+ api_key: none\n"),
        (clean_text, "the password is Kelp4Dune and "),
        (clean_text, "All tests pass, and 密码 "),
    ],
)
def test_twice_the_text_takes_twice_the_steps(function: Callable[[str], object], unit: str) -> None:
    few, many = (unit * (length // len(unit)) for length in (6_000, 12_000))
    function(f"first of all {few}")  # it has compiled what it needs
    assert steps_of(lambda: function(f"b {many}")) < MOST_RATIO * steps_of(
        lambda: function(f"a {few}")
    )


def test_texts_of_one_value_share_the_cues_behind_which_is_read() -> None:
    value = [f"case {place} " + "our seed words are in the " * 90 for place in range(60)]
    with shared_allowance() as allowance:
        clean(value)
        assert allowance.cues_left < 0
    assert MOST_CUES < 60 * 90


def test_a_phrase_behind_the_cues_of_a_call_is_cut_unread() -> None:
    phrase = "abandon ability able about above absent absorb abstract absurd abuse access acid"
    crowd = [f"case {place} " + "our seed words are in the " * 99 for place in range(30)]
    cleaned = clean([*crowd, f"the seed phrase: {phrase}"])
    assert phrase not in cleaned[-1]


def _run_of(count: int) -> dict[str, Any]:
    events: list[dict[str, Any]] = []
    for place in range(count // 2):
        events += [{"tool": f"t{place}", "arguments": {}}, {"content": f"line {place}"}]
    return {"task": "Read", "outcome": "failure", "events": events}


def test_of_a_very_long_run_the_ends_are_read_and_the_middle_is_counted() -> None:
    limits = Limits(max_events=100)
    short = read(ReflectArguments, _run_of(200), limits)
    long = read(ReflectArguments, _run_of(2_000), limits)
    assert (short.unread_events, len(short.events)) == (0, 200)
    assert (long.unread_events, len(long.events)) == (1_900, 100)
    assert [event.id for event in long.events][18:22] == ["e19", "e20", "e1921", "e1922"]
    run = plain_run(long, limits)
    assert run["cut"]["events"] == 1_900
    assert run["events"][-1]["content"] == "line 999"


def test_a_run_ten_times_as_long_takes_hardly_more_steps() -> None:
    limits = Limits(max_events=100)
    read(ReflectArguments, _run_of(20), limits)
    long = steps_of(lambda: read(ReflectArguments, _run_of(4_000), limits))
    assert long < 6 * steps_of(lambda: read(ReflectArguments, _run_of(400), limits))


DENSE = "api_key=none and token: none\n"


def _read_of(text: str) -> Sequence[ToolResult]:
    return clipped_results([ToolResult(content=text, tool="cat")] * 400)


def test_outputs_full_of_names_of_secrets_count_more_and_older_ones_are_left_out() -> None:
    plain, dense = _read_of("one more line\n" * 100), _read_of(DENSE * 50)
    assert len(dense) < len(plain) / 3
    assert sum(reading_weight(each.content) for each in dense[1:]) <= MOST_READ_IN_ALL
    assert all(each.content for each in dense)  # none stands there as an empty output


def test_a_log_of_tests_counts_as_long_as_it_is() -> None:
    log = "test_shop.py::test_price PASSED [ 12%]\n" * 100
    assert reading_weight(log) == len(log)


async def test_outputs_that_critique_does_not_read_are_counted_as_others(client: Client) -> None:
    outputs = [{"tool": f"cat {place}", "content": DENSE * 90} for place in range(390)]
    work = {"goal": "x", "response": "All 40 tests pass.", "tool_results": outputs}
    found = await told(client, "critique", work)
    assert found["other_outputs"] == 390 - len(found.get("outputs", []))


def _claims_and_lines(form: str, count: int) -> Callable[[], object]:
    """Return the digest of many claims beside an output that says the same."""
    text = "\n".join(form.format(place) for place in range(count))
    result = ToolResult(content=text, tool="pytest", exit_code=1)
    claims = statements_of([text]).claims
    return lambda: Outputs([result]).digest(claims)


@pytest.mark.parametrize("form", ["- All {0} tests pass in module m{0}.", "Step {0} works"])
def test_how_an_output_ended_is_read_once_for_all_claims(form: str) -> None:
    few, many = (_claims_and_lines(form, count) for count in (100, 600))
    few()  # it has compiled what it needs
    most_ratio = 2.9  # where each claim reads each line, it is more than three
    assert steps_of(many) < most_ratio * steps_of(few)


def _reading_of_work(count: int) -> CritiqueArguments:
    """Return a work beside an output with so many names that no output has."""
    output = {f"k{place}": place for place in range(count)}
    return read(CritiqueArguments, {"response": "2+2 is 4", "tool_results": [output]})


def test_of_very_many_names_in_one_object_the_first_are_read_and_the_others_counted() -> None:
    assert "tool_results[0].8800 more names: no such argument" in _reading_of_work(9_000).ignored
    few = steps_of(lambda: _reading_of_work(300))
    assert steps_of(lambda: _reading_of_work(9_000)) < 10 * few


def test_an_analysis_of_very_many_fields_is_refused_at_once() -> None:
    few: dict[str, Json] = {f"note {place}": place for place in range(400)}
    many: dict[str, Json] = {f"note {place}": place for place in range(10_000)}
    assert read_analysis({**few, "mistake": "ran npm", "correction": "Run pnpm here"}).mistake
    with pytest.raises(InputError, match="analysis: it has 10,000 fields"):
        read_analysis(many)
