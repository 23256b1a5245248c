"""One wrong sentence for each rule of evidence that no other rule contradicts, and its true twin."""

import pytest

from mcp_reflect.checkers.base import Work
from mcp_reflect.checkers.evidence.checker import CLAUSE_RULES, SENTENCE_RULES, EvidenceChecker
from mcp_reflect.checkers.evidence.judgements import ClauseRule, SentenceRule
from mcp_reflect.models.critique import Status, ToolResult

UNITTEST = (
    "test_find (t.C.test_find) ... ok\ntest_tax (t.C.test_tax) ... FAIL\nRan 2 tests in 0.1s\n\nFAILED (failures=1)"
)
DISKS = "host   used\n-----  -----\nweb-1  20 GB\ndb-1   31 GB\n"
CASES = {
    "outcomes": ("2 failed, 3 passed in 0.10s", 1, "All tests are green.", "The tests fail."),
    "counts": ("2 failed, 3 passed in 0.10s", 1, "4 tests failed.", "2 tests failed."),
    "names": (
        *("FAILED t.py::test_tax - x\n1 failed, 3 passed in 0.10s", 1),
        *("`test_tax` passes.", "`test_tax` fails."),
    ),
    "names in a list": (UNITTEST, 1, "`test_tax` passes.", "`test_tax` fails."),
    "commands": ("Segmentation fault", 139, "The script ran without errors.", "The script crashed."),
    "contrary lines": ("Changes not staged for commit:\n  a.py", 0, "The working tree is clean.", "It is dirty."),
    "versions": ("httpx 0.27.0", 0, "httpx 0.28.1 is there.", "httpx 0.27.0 is there."),
    "dates": ("due 2025-03-04, paid 2025-03-09", 0, "It was paid on 8 March.", "It was paid on March 9."),
    "labels": ("p99: 1910 ms\np50: 120 ms", 0, "The p99 is 910 ms.", "The p99 is 1910 ms."),
    "unit of a label": ('{"file":"a.bin","size_kb":2048}', 0, "The size is 2 GB.", "The size is 2 MB."),
    "states": ('{"order":17,"status":"open"}', 0, "It is cancelled.", "It is open."),
    "what is done": ("ERROR: relation does not exist", 1, "The relation is created.", "The relation is missing."),
    "dry runs": ("Would remove tmp/\n(dry-run)", 0, "tmp was removed.", "A dry run of the removal of tmp."),
    "extremes": (DISKS, 0, "web-1 uses the most.", "db-1 uses the most."),
    "comparisons": (DISKS, 0, "web-1 uses more than db-1.", "db-1 uses more than web-1."),
    "totals": ("312 a.ts\n87 b.ts\n540 c.ts", 0, "Together that is 993.", "Together that is 939."),
    "limits": (DISKS, 0, "Every host is above 25 GB used.", "Every host is above 15 GB used."),
    "values of a named row": (DISKS, 0, "web-1 has 31 GB used.", "web-1 has 20 GB used."),
    "two rows in one clause": (
        *("state | orders\n------+-------\npaid  | 88\ndue   | 17", 0),
        *("17 orders are paid and 88 are due.", "88 orders are paid and 17 are due."),
    ),
    "what a pronoun stands for": (DISKS, 0, "See web-1. It has 31 GB used.", "See db-1. It has 31 GB used."),
    "marks": ("✓ src/lint 4s\n✗ src/deploy 9s", 0, "The job src/deploy passed.", "The job src/deploy failed."),
    "lines of a file": (
        *("a.py:12:5: E722 Do not use bare except\na.py:20:9: E711 Comparison to None", 1),
        *("The bare except is in line 20.", "The bare except is in line 12."),
    ),
    "signs of a list": (
        *("db/a.bin: OK\ndb/b.bin: FAILED\ndb/c.bin: OK", 1),
        *("db/b.bin is fine.", "db/a.bin is fine."),
    ),
    "signs of all others": (
        *("db/a.bin: OK\ndb/b.bin: FAILED\ndb/c.bin: FAILED\ndb/d.bin: OK", 1),
        *("db/b.bin failed. Every other file is fine.", "db/b.bin failed, as did db/c.bin."),
    ),
    "days of a row": (
        *("75711d8 2026-03-04 Add tests\n681c663 2026-03-06 (tag: v0.9.1)", 0),
        *("The commit v0.9.1 is of 4 March.", "The commit v0.9.1 is of 6 March."),
    ),
    "what is as much": (DISKS, 0, "web-1 uses as much as db-1.", "web-1 uses less than db-1."),
    "sums of named rows": (
        *("service,usd\ncompute,1240\negress,185\nlogs,75", 0),
        *("Egress and logs are 360 together.", "Egress and logs are 260 together."),
    ),
    "ranks of a kind": (
        *("json  4.8 ms  size= 97.4 KiB\ncsv   4.6 ms  size= 29.1 KiB", 0),
        *("json gives the smallest output.", "csv gives the smallest output."),
    ),
    "acts that failed": ("error: failed to push some refs", 1, "I pushed the refs.", "The push was refused."),
}  # fmt: skip


def statuses(sentence: str, content: str, exit_code: int, checker: EvidenceChecker | None = None) -> set[Status]:
    result = ToolResult(content=content, tool="sh", exit_code=exit_code)
    work = Work(goal="", steps=(sentence,), tool_results=(result,))
    return {finding.status for finding in (checker or EvidenceChecker()).check(work)}


@pytest.mark.parametrize("rule", CASES)
def test_each_rule_contradicts_its_mistake_and_not_the_truth(rule: str) -> None:
    content, exit_code, wrong, right = CASES[rule]
    assert Status.FAIL in statuses(wrong, content, exit_code)
    assert Status.FAIL not in statuses(right, content, exit_code)


def without(rule: SentenceRule | ClauseRule) -> EvidenceChecker:
    """Return a checker that lacks one rule."""
    return EvidenceChecker(
        [other for other in SENTENCE_RULES if other is not rule], [other for other in CLAUSE_RULES if other is not rule]
    )


@pytest.mark.parametrize("rule", [*SENTENCE_RULES, *CLAUSE_RULES], ids=lambda rule: rule.__name__)
def test_a_case_notices_each_rule_that_is_missing(rule: SentenceRule | ClauseRule) -> None:
    checker = without(rule)
    assert any(Status.FAIL not in statuses(wrong, content, code, checker) for content, code, wrong, _ in CASES.values())


@pytest.mark.parametrize(
    "sentence", ["I mailed it to everybody.", "The benchmark suite passes.", "The latency fell to 80 ms."]
)
def test_an_act_a_check_or_a_measurement_without_a_result_is_unsupported(sentence: str) -> None:
    assert statuses(sentence, "src/a.py  src/b.py", 0) == {Status.UNSUPPORTED}
