"""What hosts and users rest on is today as it was recorded; a change is made on purpose and recorded."""

import json

import pytest

from tests.recordings.sources import SOURCES, recorded


@pytest.mark.parametrize("name", SOURCES)
def test_each_case_is_answered_as_it_was_recorded(name: str) -> None:
    today = json.loads(json.dumps(SOURCES[name]()))
    before = recorded(name)
    changed = {
        case: (before.get(case), today.get(case)) for case in before | today if before.get(case) != today.get(case)
    }
    assert changed == {}, "record anew with `python -m tests.recordings.sources`, and read the diff"
