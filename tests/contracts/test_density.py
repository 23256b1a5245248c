"""The tool that says how dense the code is."""

from pathlib import Path

import pytest

from tools.density import Density, count, density, grown

ONE_EACH = '''"""A docstring
of two lines."""

# A comment.
def pairs(rows: list[list[int]]) -> list[int]:
    """Another docstring."""
    return [value for row in rows for value in row] if rows else []
'''


def test_docstrings_comments_and_blank_lines_are_no_code(tmp_path: Path) -> None:
    (file := tmp_path / "one.py").write_text(ONE_EACH)
    counted = count(file)
    assert (counted.lines, counted.conditional, counted.nested, counted.long) == (2, 1, 1, 0)
    assert density(counted).conditional == 500.0


def test_a_line_over_a_hundred_characters_is_long(tmp_path: Path) -> None:
    (file := tmp_path / "one.py").write_text(f"{'x' * 97} = 1\n{'y' * 96} = 1\n")
    assert count(file).long == 1


@pytest.mark.parametrize(
    ("now", "words"),
    [
        (Density(38.0, 20.0, 1.0, 5.0), []),
        (Density(30.0, 10.0, 0.0, 0.0), []),
        (Density(38.0, 23.0, 1.0, 5.0), ["conditional 20.0 -> 23.0"]),
        (
            Density(39.0, 20.0, 2.6, 5.0),
            ["characters 38.0 -> 39.0", "nested 1.0 -> 2.6"],
        ),
    ],
)
def test_what_grew_beyond_the_tolerance_is_named(now: Density, words: list[str]) -> None:
    assert grown(now, Density(38.0, 20.0, 1.0, 5.0)) == words
