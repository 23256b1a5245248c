import pytest

from mcp_reflect.models.search import Tried
from mcp_reflect.replan import attempts
from tests.replan.written_searches import Case, Ending, cases, engine, search


def _end(case: Case) -> Ending:
    small = engine(case.world)
    try:
        return search(case, small)
    finally:
        small.close()


def test_at_least_forty_searches_are_written_down() -> None:
    assert len(cases()) >= 40


def test_four_of_five_empty_searches_find_something_wanted_within_two_retries() -> None:
    missed = [case.name for case in cases() if not set(_end(case).rows) & case.wanted]
    assert len(missed) <= 0.2 * len(cases()), missed


@pytest.mark.parametrize("case", cases(), ids=lambda case: f"{case.world}: {case.name}")
def test_no_search_runs_a_query_twice(case: Case) -> None:
    ran = _end(case).ran
    same = [(one, two) for i, two in enumerate(ran) for one in ran[:i] if attempts.key(one) == attempts.key(two)]
    assert all(attempts.repeated(two, [Tried(query=one)], more_rows=True) is None for one, two in same)
