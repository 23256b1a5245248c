"""What a piece of a test suite holds: its tests, assertions and skips, in the ways that words/suites.txt lists."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Final

from mcp_reflect.evidence.word_lists import read_word_list

_MOST_TEXT: Final = 60_000  # characters of a piece that are read
_MOST_LINE: Final = 400  # characters of a line that are read
_MOST_SUMMARY: Final = 4_000  # characters in which a runner sums up what it did to snapshots
_COMMENT: Final = re.compile(r"\s*(?:#(?!\[)|//|\*|--(?=\s)|<!--)")


@dataclass(frozen=True, slots=True)
class SuiteText:
    """What a piece of a test file has.

    | field          | what it has                                                             |
    |----------------|-------------------------------------------------------------------------|
    | `tests`        | the names of tests                                                      |
    | `assertions`   | the lines of assertions, without blanks, and how often each stands      |
    | `skips`        | how many tests are skipped on every platform                            |
    | `onlys`        | how many marks there are by which only some tests run                   |
    | `swallowed`    | how many failures nobody sees, such as `except Exception: pass`         |
    | `parametrized` | how many tables of cases there are                                      |
    | `own_calls`    | the lines that call functions of the suite, which may assert something  |
    """

    tests: frozenset[str]
    assertions: Counter[str]
    skips: int
    onlys: int
    swallowed: int
    parametrized: int
    own_calls: frozenset[str]


def is_test_file(path: str) -> bool:
    """Return whether a file holds tests, by its path."""
    return bool(suite_pattern("test_file").search(path.replace("\\", "/")))


def is_snapshot_file(path: str) -> bool:
    """Return whether a file holds what tests compare with."""
    return bool(suite_pattern("snapshot_file").search(path.replace("\\", "/")))


def holds_rust_tests(path: str, text: str) -> bool:
    """Return whether a piece of a source file of Rust has tests, which may stand beside what they test."""
    return path.endswith(".rs") and "#[" in text and bool(test_names(text))


def read_suite_text(text: str) -> SuiteText:
    """Read a piece of a test file; comments hold nothing."""
    lines = list(_code_lines(text))
    calls = {line.strip() for line in lines if suite_pattern("own_call").search(line)}
    asserted = [line for line in lines if _is_assertion(line)]
    return SuiteText(
        tests=test_names("\n".join(lines)),
        assertions=Counter("".join(line.split()) for line in asserted),
        skips=sum(_is_unconditional_skip(lines, index) for index in range(len(lines))),
        onlys=sum(bool(suite_pattern("only").search(line)) for line in lines),
        swallowed=len(suite_pattern("swallowed").findall("\n".join(lines))),
        parametrized=sum(bool(suite_pattern("parametrized").search(line)) for line in lines),
        own_calls=frozenset(call for call in calls if not suite_pattern("trivial").search(call)),
    )


def test_names(text: str) -> frozenset[str]:
    """Return the names of the tests that a text defines."""
    matches = _matches_of("test", text)
    return frozenset(match[match.lastindex or 0] for match in matches)


def defined_names(text: str) -> frozenset[str]:
    """Return the names that a text of a program defines: functions, classes, fields and the like."""
    return frozenset(match[1] for match in _matches_of("definition", text))


def _matches_of(group: str, text: str) -> Iterator[re.Match[str]]:
    """Yield the places in a text at which a pattern of a group in `words/suites.txt` matches."""
    for entry in read_word_list("suites")[group]:
        yield from re.finditer(entry, text[:_MOST_TEXT], re.MULTILINE)


def tests_left_out(path: str, text: str) -> int:
    """Return how many times the settings of a suite leave tests out."""
    if not suite_pattern("suite_settings").search(path.replace("\\", "/")):
        return 0
    return sum(1 for _ in suite_pattern("leaves_out").finditer(text[:_MOST_TEXT]))


def has_failed_tests(output: str) -> bool:
    """Return whether an output says that a test failed."""
    return bool(suite_pattern("failed_run").search(output))


def rewrites_snapshots(command: str, output: str) -> bool:
    """Return whether a command told its runner to rewrite snapshots, unless the output says that all were new."""
    if not suite_pattern("rewrites_snapshots").search(command):
        return False
    summary = output[-_MOST_SUMMARY:]
    has_new_ones = suite_pattern("only_new_snapshots").search(summary) is not None
    has_updated_ones = re.search(r"snapshots? updated", summary) is not None
    return has_updated_ones or not has_new_ones


@cache
def suite_pattern(heading: str) -> re.Pattern[str]:
    """Return the entries under a heading of `words/suites.txt` as one pattern."""
    return re.compile("|".join(_without_references(heading)), re.MULTILINE)


def _without_references(heading: str) -> Iterator[str]:
    """Return the entries of a list as they can stand side by side: a reference to a group gets the group's new number."""
    groups = 0
    for entry in read_word_list("suites")[heading]:
        yield _renumbered(f"(?:{entry})", groups)
        groups += re.compile(entry).groups


def _renumbered(pattern: str, groups_before: int) -> str:
    r"""Return a pattern whose references count the groups before it: `(a)\1` -> `(a)\3` behind two groups."""
    return re.sub(r"\\(\d)", lambda reference: f"\\{int(reference[1]) + groups_before}", pattern)


def _code_lines(text: str) -> Iterator[str]:
    """Yield the lines that are no comment, since an assertion in a comment asserts nothing."""
    inside_comment = False
    for line in text[:_MOST_TEXT].splitlines():
        if not inside_comment and "/*" in line:
            inside_comment = "*/" not in line.partition("/*")[2]
            if line.lstrip().startswith("/*"):
                continue
        elif inside_comment:
            inside_comment = "*/" not in line
            continue
        if not _COMMENT.match(line):
            yield line[:_MOST_LINE]


def _is_assertion(line: str) -> bool:
    """Return whether a line asserts something that can fail: not `assert True`."""
    is_trivial = suite_pattern("trivial").search(line) is not None
    return suite_pattern("assertion").search(line) is not None and not is_trivial


def _is_unconditional_skip(lines: list[str], index: int) -> bool:
    """Return whether a line skips a test whatever the platform is: no condition stands in it or in the two before it."""
    if not suite_pattern("skip").search(lines[index]):
        return False
    lines_around = lines[max(0, index - 2) : index + 1]
    return not any(suite_pattern("conditional").search(line) for line in lines_around)
