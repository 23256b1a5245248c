"""What a work states: every sentence, but for those that state nothing by their form."""

import pytest

from mcp_reflect.evidence.work import SentenceForm, form_of, split, statements_of
from tests.evidence.case_files import HERE


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        ("All 13 tests pass. I will deploy it tomorrow.", ["All 13 tests pass."]),
        ("Is it faster? It takes 12 ms.", ["It takes 12 ms."]),
        ("Tag v2.0", ["Tag v2.0"]),
        ("I have not tested it on Windows.", ["I have not tested it on Windows."]),
        ("If the tests pass, merge it.", ["If the tests pass, merge it."]),
        ("3500 × 0.12 = 420", ["3500 × 0.12 = 420"]),
        ("> 9 of 9 pass", []),
        ("```\n3 passed\n```\nThe build works.", ["code block: 3 passed", "The build works."]),
        ("Roses are red", ["Roses are red"]),
        ("Hello! The plan has 900 words.", ["The plan has 900 words."]),
        ("## Summary of 3 fixes\n**Files changed:**\n- Fixed 2 tests", ["Fixed 2 tests"]),
        ("Ich werde es morgen ausrollen. Alle Tests laufen.", ["Alle Tests laufen."]),
        ("¿Listo? Todo pasa.", ["Todo pasa."]),
        ("The date is 25. November 2026.", ["The date is 25. November 2026."]),
        ("The folder is `/shop__cart`.", ["The folder is `/shop__cart`."]),
        ("__Fixed__ the a__b name. It **runs**.", ["Fixed the a__b name.", "It runs."]),
        ("Before submitting, it would be prudent to run it. It runs.", ["It runs."]),
        ("After the fix, all tests pass.", ["After the fix, all tests pass."]),
        ("Oh no! You're absolutely right. It fails.", ["It fails."]),
        ("I see the issue. The path is wrong.", ["The path is wrong."]),
        ("I see the issue in `load`.", ["I see the issue in `load`."]),
        ("Gray is brighter now. The scale is:", ["Gray is brighter now."]),
        ("It is gray. If you want it brighter, let me know!", ["It is gray."]),
        ("If the file is missing, it fails.", ["If the file is missing, it fails."]),
    ],
)
def test_every_sentence_is_a_statement_but_for_its_form(step: str, expected: list[str]) -> None:
    assert [claim.text for claim in statements_of([step]).claims] == expected


def test_what_is_left_out_is_counted_by_its_form() -> None:
    found = statements_of(["Hello! Is it fast? Is it small? I will see. It is small."])
    assert found.note == "no statements, left out: 1 greeting, 2 questions, 1 plan"


@pytest.mark.parametrize(
    "text",
    ["Perfect!", "**Great!**", "Parfait !", "¡Perfecto!", "太好了！", "Now I'll update the CSS."],
)
def test_a_mere_exclamation_and_what_is_to_come_state_nothing(text: str) -> None:
    assert form_of(text) in (SentenceForm.EXCLAMATION, SentenceForm.PLAN)


@pytest.mark.parametrize("text", ["Perfect score of 10.", "Great is 5.", "Good: 3 of 3 passed."])
def test_a_sentence_that_only_begins_with_an_exclamation_is_a_statement(text: str) -> None:
    assert form_of(text) is None


def test_claims_are_numbered_over_all_steps_and_each_sentence_once() -> None:
    found = statements_of(["It works.", "It works. It is fast."]).claims
    assert [(claim.number, claim.step, claim.text) for claim in found] == [
        (1, 1, "It works."),
        (2, 2, "It is fast."),
    ]


def test_a_numbered_list_is_split_into_its_steps() -> None:
    assert split("1. Add 7: 3x = 18\n2. Divide: x = 6") == ("1. Add 7: 3x = 18", "2. Divide: x = 6")


def test_a_sentence_that_begins_in_lower_case_is_parted_where_that_is_certain() -> None:
    unsure = {"The port is 8080. the server answers.", "It exits with 0. stderr is empty."}
    lines = (HERE / "cases" / "sentences.txt").read_text(encoding="utf-8").splitlines()
    for line in lines:
        whole = line.replace(" | ", " ")
        if line.startswith("#") or whole in unsure:
            continue
        assert [claim.text for claim in statements_of([whole]).claims] == line.split(" | ")


def test_the_list_behind_a_plan_is_a_plan() -> None:
    work = "To mend it, I need to:\n1. Replace the span.\n2. Update the style.\n\nThe page is in HTML 5."
    for steps in ([work], split(work)):
        claims = [claim.text for claim in statements_of(steps).claims]
        assert claims == ["The page is in HTML 5."]


def test_a_claim_inside_a_plan_is_one() -> None:
    work = "Now that the tests pass, let me commit. Now add the file. First we should look."
    claims = [claim.text for claim in statements_of([work]).claims]
    assert claims == ["Now that the tests pass, let me commit."]
