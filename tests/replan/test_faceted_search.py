from tests.replan.written_searches import Case, Ending, cases, engine, search


def _end(case: Case) -> Ending:
    small = engine(case.world)
    try:
        return search(case, small)
    finally:
        small.close()


def test_four_of_five_empty_searches_find_something_wanted_within_two_retries() -> None:
    missed = [case.name for case in cases() if not set(_end(case).rows) & case.wanted]
    assert len(missed) <= 0.2 * len(cases()), missed
