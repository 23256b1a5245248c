"""One wrong sentence for each rule of evidence that no other rule contradicts, and its true twin."""

import pytest

from mcp_reflect.checkers.base import Work
from mcp_reflect.checkers.evidence.checker import EvidenceChecker
from mcp_reflect.models.critique import Status, ToolResult

UNITTEST = (
    "test_find (t.C.test_find) ... ok\ntest_tax (t.C.test_tax) ... FAIL\nRan 2 tests in 0.1s\n\nFAILED (failures=1)"
)
CASES = {
    "outcomes": ("2 failed, 3 passed in 0.10s", 1, "All tests are green.", "The tests fail."),
    "counts": ("2 failed, 3 passed in 0.10s", 1, "4 tests failed.", "2 tests failed."),
    "names": (UNITTEST, 1, "`test_tax` passes.", "`test_tax` fails."),
    "commands": ("Segmentation fault", 139, "The script ran without errors.", "The script crashed."),
    "names of a family": ("a.py:1:1: F401 unused", 1, "Ruff reports F811.", "Ruff reports F401."),
    "contrary lines": ("Changes not staged for commit:\n  a.py", 0, "The working tree is clean.", "It is dirty."),
    "places": ("app/load.py:42: ValueError", 1, "The error is in load.py:24.", "The error is in load.py:42."),
    "versions": ("httpx 0.27.0", 0, "httpx 0.28.1 is there.", "httpx 0.27.0 is there."),
    "dates": ("due 2025-03-04, paid 2025-03-09", 0, "It was paid on 8 March.", "It was paid on March 9."),
    "labels": ("p99: 1910 ms\np50: 120 ms", 0, "The p99 is 910 ms.", "The p99 is 1910 ms."),
    "unit of a label": ('{"file":"a.bin","size_kb":2048}', 0, "The size is 2 GB.", "The size is 2 MB."),
    "states": ('{"order":17,"status":"open"}', 0, "It is cancelled.", "It is open."),
    "fields": ('{"email":"a@b.ch"}', 0, "The email is c@b.ch.", "The email is a@b.ch."),
    "what is done": ("ERROR: relation does not exist", 1, "The relation is created.", "The relation is missing."),
    "dry runs": ("Would remove tmp/\n(dry-run)", 0, "tmp was removed.", "A dry run of the removal of tmp."),
    "acts that failed": ("error: failed to push some refs", 1, "I pushed the refs.", "The push was refused."),
}  # fmt: skip


def statuses(sentence: str, content: str, exit_code: int) -> set[Status]:
    result = ToolResult(content=content, tool="sh", exit_code=exit_code)
    work = Work(goal="", steps=(sentence,), tool_results=(result,))
    return {finding.status for finding in EvidenceChecker().check(work)}


@pytest.mark.parametrize("rule", CASES)
def test_each_rule_contradicts_its_mistake_and_not_the_truth(rule: str) -> None:
    content, exit_code, wrong, right = CASES[rule]
    assert Status.FAIL in statuses(wrong, content, exit_code)
    assert Status.FAIL not in statuses(right, content, exit_code)


@pytest.mark.parametrize(
    "sentence", ["I mailed it to everybody.", "The benchmark suite passes.", "The latency fell to 80 ms."]
)
def test_an_act_a_check_or_a_measurement_without_a_result_is_unsupported(sentence: str) -> None:
    assert statuses(sentence, "src/a.py  src/b.py", 0) == {Status.UNSUPPORTED}
