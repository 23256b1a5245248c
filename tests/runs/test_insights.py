"""Reflections in markdown give their insights, however their headings are written."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_reflect.models.reflection import Insights
from mcp_reflect.schemas.analysis import read_insights

HASHES = """# Summary
Went fine.
## Strengths
- fast
- clear
### Improvements
1. more tests
# Recommendation
Add tests."""
BOLD = """**Summary:** Went fine.
**Strengths:**
* fast
* clear
**Improvements**
+ more tests
**Recommendation**: Add tests."""
LABELS = """Summary: Went fine.
Strengths:
• fast
• clear
Improvements:
– more tests
Recommendation: Add tests."""
NUMBERED = """1. **Summary**: Went fine.
2. **What went well**:
   - fast
   - clear
3. **Weaknesses**:
   - more tests
4. **Next steps**: Add tests."""
LEVELS = """# Summary
Went fine.

### Strengths
1) fast
2) clear

### Improvements
- more
  tests

#### Recommendation:
Add tests."""


@pytest.mark.parametrize("text", [HASHES, BOLD, LABELS, NUMBERED, LEVELS])
def test_headings_of_every_form_are_read(text: str) -> None:
    read = read_insights(text)
    assert read.summary == "Went fine."
    assert read.strengths == ("fast", "clear")
    assert read.improvements == ("more tests",)
    assert read.recommendation == "Add tests."
    assert len(read.raw_sections) == 4


def test_missing_sections_are_empty() -> None:
    assert read_insights("") == Insights()
    assert read_insights("Only words.") == Insights(summary="Only words.")
    assert read_insights("## Strengths\n") == Insights(raw_sections={"Strengths": ""})


def test_raw_sections_keep_the_headings_as_written() -> None:
    assert read_insights("## What Went Well?\n- a\n## Odd Thing\ntext").raw_sections == {
        "What Went Well?": "- a",
        "Odd Thing": "text",
    }


def test_nested_items_are_items() -> None:
    assert read_insights("## Strengths\n- a\n  - b\n    1. c\n").strengths == ("a", "b", "c")


def test_headings_of_any_depth_and_of_any_words_around_theirs() -> None:
    text = (
        "######## Key strengths of this run\n- fast\n## Room for improvement\n1) tests\n# ✅ Recommendations:\nGo on."
    )
    read = read_insights(text)
    assert (read.strengths, read.improvements, read.recommendation) == (("fast",), ("tests",), "Go on.")


def test_a_title_that_names_a_thing_is_no_section_of_its_word() -> None:
    read = read_insights("# Reflection on Keep Decision for Component 'improver'\n## Strengths\n- fast")
    assert (read.improvements, read.strengths) == ((), ("fast",))


@given(st.text(st.sampled_from("#*_:-=\n `~1.SumaryStrength")))
def test_no_text_makes_it_raise(text: str) -> None:
    read_insights(text)
