"""An advice counts as used where it names a call of the session, not where it has a word of the same letters."""

import pytest

from mcp_reflect.services.followed_lessons import pattern_of_act


@pytest.mark.parametrize(
    ("act", "advice", "is_named"),
    [
        ("make", "Make sure that npm ci ran first", False),
        ("make", "Always make a copy before it", False),
        ("make", "Run `make` before the tests", True),
        ("make", "Run `make -j4 all` before the tests", True),
        ("make", "Run `cd app && make` before the tests", True),
        ("make", "Run make -j4 before the tests", True),
        ("make", "Read `docs/make.md` before it", False),
        ("make", "Run `makefile2` first", False),
        ("search", "Search by the id of a person", False),
        ("git push", "Use git push with a lease", True),
        ("git push", "Git push needs a lease", False),
        ("src/a.py", "Read src/a.py before an edit", True),
        ("src/a.py", "Read lib_src/a.pyc before an edit", False),
    ],
)
def test_a_call_is_named_as_it_is_written(act: str, advice: str, is_named: bool) -> None:
    assert bool(pattern_of_act(act).search(advice)) is is_named
