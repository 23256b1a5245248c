"""What hosts and users rest on is today as it was recorded; a change is made on purpose and recorded."""

import json

from tests.recordings.sources import RECORDED, hooks


def test_each_case_is_answered_as_it_was_recorded() -> None:
    today = json.loads(json.dumps(hooks()))
    lines = RECORDED.read_text("utf-8").splitlines()
    before = {key: value for line in lines for key, value in json.loads(line).items()}
    changed = {
        case: (before.get(case), today.get(case))
        for case in before | today
        if before.get(case) != today.get(case)
    }
    assert changed == {}, "record anew with `python -m tests.recordings.sources`, and read the diff"
