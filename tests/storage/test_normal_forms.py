"""Normal forms of texts: as Unicode has them, and in bounded time for runs of combining marks."""

import random
import re
import unicodedata
from pathlib import Path
from typing import Literal, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_reflect.normal_forms import normal_form

Form = Literal["NFC", "NFD", "NFKC", "NFKD"]
FORMS: tuple[Form, ...] = get_args(Form)
MARKS = "\u0316\u0301\u0345\u05b0"
PACKAGE = Path(__file__).parents[2] / "mcp_reflect"


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "text", ["plain", "naïve Größe", "e" + MARKS * 7, "ﬁ ½ Å", "한국어 日本語", "ậ̀ ẹ́"]
)
def test_a_text_of_a_language_has_the_form_that_unicode_gives_it(form: Form, text: str) -> None:
    assert normal_form(form, text) == unicodedata.normalize(form, text)


@given(st.text(alphabet="aé한" + MARKS, max_size=200), st.sampled_from(FORMS))
def test_no_run_of_marks_is_longer_than_thirty_characters_of_the_text_give(
    text: str, form: Form
) -> None:
    found = normal_form(form, text)
    longest = max((len(run) for run in re.findall(f"[{MARKS}]+", found)), default=0)
    assert longest <= 31  # thirty, and one that a letter like é is taken apart into
    if not re.search(f"[{MARKS}]{{31}}", text):
        assert found == unicodedata.normalize(form, text)


def test_a_letter_with_two_hundred_thousand_marks_keeps_thirty() -> None:
    draw = random.Random(1)
    text = "a" + "".join(draw.choices(MARKS, k=200_000)) + "b"
    assert len(normal_form("NFD", text)) == 32


def test_no_other_module_takes_a_normal_form() -> None:
    sources = (file for file in PACKAGE.rglob("*.py") if file.name != "normal_forms.py")
    assert [file for file in sources if "unicodedata.normalize" in file.read_text("utf-8")] == []
