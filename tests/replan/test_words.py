"""How the words of a query are compared, taken apart and written anew."""

import re
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from mcp_reflect.models.search import CatalogEntry, Query, SearchRequest, SearchState
from mcp_reflect.replan.patterns import loose_pattern
from mcp_reflect.replan.planner import plan
from mcp_reflect.replan.syntax import Tool, parts, tool_of, variants, without_operators
from mcp_reflect.replan.vocabulary import Vocabulary
from mcp_reflect.replan.words import (
    content,
    is_name,
    most_telling_first,
    normalized,
    similar,
    terms,
    tokens,
)
from mcp_reflect.text.stemmer import stem
from tests.replan.samples import empty_state, query, request, texts


@pytest.mark.parametrize(
    ("word", "data", "found"),
    [
        ("kuberentes", "kubernetes", "kubernetes"),
        ("botle", "bottle", "bottle"),
        ("tents", "tent", "tent"),
        ("glove", "gloves", "gloves"),
        ("headlamp", "head lamp", "head lamp"),
        ("email", "e mail", "e mail"),
        ("veganer", "vegan", "vegan"),
        ("trail", "trial", "trial"),
        ("data", "data date", "data"),
        ("car", "cat 2025", ""),
        ("2024", "cat 2025", ""),
        ("k8s", "Kubernetes", "kubernetes"),
        ("ml", "machine learning", "machine learning"),
        ("llms", "large language models", "large language models"),
        ("moeller", "Jürgen Möller", "moller"),
        ("raten", "Ratenzahlung", "ratenzahlung"),
        ("aleksandra", "Alexandra Nowak", "alexandra"),
        ("kennwort", "Passwort zurücksetzen", "passwort"),
        ("quantum", "edge computing", ""),
    ],
)
def test_a_word_that_the_data_lacks_becomes_one_that_it_has(
    word: str, data: str, found: str
) -> None:
    assert " ".join(Vocabulary((data,)).match(word)) == found


@pytest.mark.parametrize("written", ["recieve", "receve", "receivee", "rezeive"])
def test_a_swapped_missing_additional_or_wrong_letter_is_a_slip(written: str) -> None:
    assert similar(written, ["give", "receive"]) == "receive"


@pytest.mark.parametrize(
    ("one", "other"),
    [("costs", "cost"), ("batteries", "battery"), ("planned", "planning"), ("serves", "serve")],
)
def test_forms_of_a_word_share_a_stem(one: str, other: str) -> None:
    assert stem(one) == stem(other)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("Show the trains to Kiel", {"Kiel"}),
        ("Trains", set[str]()),
        ("NATO meets", {"NATO"}),
        ("Nato meets", set[str]()),
        ("order 17 and a4", {"17", "a4"}),
        ("is “old Kiel”, (Bonn) or bonn!", {"“old Kiel”", "Bonn"}),
    ],
)
def test_names_have_a_digit_quotes_or_a_capital_that_no_sentence_asks_for(
    text: str, named: set[str]
) -> None:
    assert {term for term in terms(text) if is_name(term, text)} == named


def test_names_tell_more_than_what_was_said_and_rare_words_more_than_common_ones() -> None:
    assert most_telling_first(("find", "kiel", "harbour"), "Find the harbour of Kiel") == (
        "kiel",
        "harbour",
        "find",
    )
    assert most_telling_first(("cheap", "train", "tickets", "2026"), "a train to Kiel") == (
        "train",
        "tickets",
        "cheap",
        "2026",
    )


def test_a_term_stays_as_it_is_written() -> None:
    assert terms('ORA-12541, on "Ubuntu 26.04"!') == ("ORA-12541", "on", '"Ubuntu 26.04"')


def test_words_of_conversation_are_left_out() -> None:
    assert content("Can you please tell me where my new card is?") == ("new", "card")


def test_a_text_of_stop_words_keeps_them() -> None:
    assert content("who are you") == ("who", "are", "you")


def test_word_order_and_case_do_not_make_a_text_new_but_quotes_do() -> None:
    assert normalized("Zero Trust!") == normalized("trust, zero") == normalized("zero zero trust")
    assert normalized('"zero trust"') != normalized("zero trust")
    assert normalized('"zero trust"') != normalized('"trust zero"')


def planned(text: str, message: str = "", tool: str = "") -> list[str]:
    query = Query(table="t", query_text=text, tool=tool)
    request = SearchRequest(search_id="s", user_message=message or text, queries=(query,))
    return [new.query_text for new in plan(request, SearchState(search_id="s")).new_queries]


@pytest.mark.parametrize(
    ("term", "others"),
    [
        (
            "calculateShippingCost",
            {"calculate_shipping_cost", "calculate shipping cost", "shipping cost"},
        ),
        ("pay-out", {"pay_out", "payout", "pay out"}),
        ("too_many_invites", {"too many invites", "many invites"}),
        ("TKT-0042", {"TKT-42", "TKT42", "42"}),
        ("00042", {"42"}),
    ],
)
def test_a_term_with_a_form_has_a_family(term: str, others: set[str]) -> None:
    assert others <= set(variants(term))


@pytest.mark.parametrize(
    "written", ["reviewReminder", "review-reminder", "Review reminder", "A/REVIEW_REMINDER"]
)
def test_a_loose_pattern_finds_every_way_to_write_a_term_with_grep(
    tmp_path: Path, written: str
) -> None:
    (tmp_path / "a.txt").write_text(f"the {written} mail")
    for flags in ("-r", "-rE"):
        command = ["grep", flags, "-e", loose_pattern(parts("review_reminder")), "."]
        assert (
            subprocess.run(command, cwd=tmp_path, capture_output=True, check=False).returncode == 0
        )


@pytest.mark.parametrize(
    ("text", "message", "finds", "passes"),
    [
        (
            "REQUEST_TIMEOUT_SECONDS",
            "where is the timeout read",
            "REQUEST_TIMEOUT = 3",
            "seconds = 3",
        ),
        ("retry_after_seconds", "where is the retry read", "retry_after = 3", "seconds = 3"),
        ("TODO.*cache", "TODO comments about the cache", "# todo: Cache it", "the cache"),
        (
            "/api/v1/payments",
            "which file defines the payments route",
            'route("payments")',
            "def api",
        ),
        (
            "CREATE TABLE orders",
            "the SQL of the table",
            'create table if not exists "orders"',
            "CREATE TABLE a",
        ),
    ],
)
def test_the_patterns_for_grep_find_capitals_and_paths_and_no_common_word(
    text: str, message: str, finds: str, passes: str
) -> None:
    patterns = planned(text, message, "grep")
    assert any(re.search(pattern, finds) for pattern in patterns)
    assert not any(re.search(pattern, passes) for pattern in patterns)


@pytest.mark.parametrize("count", [0, 1, 2])
def test_a_separator_is_tried_on_the_first_call_whatever_it_counts(count: int) -> None:
    query = Query(table="docs", query_text="pay-out")
    request = SearchRequest(
        search_id="s", user_message="how is a pay-out made", queries=(query,), retry_count=count
    )
    made = plan(request, SearchState(search_id="s"))
    assert not made.give_up
    assert "pay_out" in [new.query_text for new in made.new_queries]


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("dialysis -planned", "dialysis"),
        ("dialysis NOT planned", "dialysis"),
        ("sleeping bag -20", "sleeping bag -20"),
        ('title : "recovery codes"', '"recovery codes"'),
        ("NEAR(webhooks twice, 1)", "webhooks twice"),
        ("site:postgresql.org replication slots", "replication slots"),
        ("file:database.tf deletion_protection", "deletion_protection"),
        ("a state-of-the-art e-mail", "a state-of-the-art e-mail"),
        ("see http://a.b/c at 10:30", "see http://a.b/c at 10:30"),
    ],
)
def test_operators_are_read_and_not_taken_for_words(text: str, plain: str) -> None:
    assert without_operators(text) == plain


def test_a_web_search_keeps_its_site_before_it_gives_it_up() -> None:
    made = planned(
        "site:postgresql.org logical replication slots documentation",
        "replication slots",
        "web_search",
    )
    assert made[0].endswith("site:postgresql.org")
    assert not any("organisation" in text for text in made)


@pytest.mark.parametrize(
    ("query", "tool"),
    [
        (Query(table="t", query_text="SELECT * FROM t WHERE a = 'b'"), Tool.SQL),
        (Query(table="t", query_text="grep -rn foo src"), Tool.COMMAND),
        (Query(table="t", query_text="foo", tool="Grep"), Tool.PATTERN),
        (Query(table="t", query_text="foo", tool="semantic_search"), Tool.TEXT),
        (Query(table="t", query_text="foo", tool="search_tickets"), Tool.TEXT),
        (Query(table="t", query_text="find a calculation procedure"), Tool.TEXT),
    ],
)
def test_the_tool_is_known_by_its_text_its_mode_or_its_name(query: Query, tool: Tool) -> None:
    assert tool_of(query) is tool


@pytest.mark.parametrize(
    ("statement", "stored"),
    [
        ("SELECT id FROM t WHERE a = 'declined'", "Declined"),
        ("SELECT id FROM t WHERE a LIKE 'Steel*' AND b = 2", "Steelworks"),
        ("SELECT id FROM t WHERE a = 'O''Brien'", "o'brien"),
        ("SELECT id FROM t WHERE a LIKE '%zürich%' AND b = 2", "ZÜRICH"),
        ("SELECT id FROM t WHERE a = 'óscar peña' AND b NOT LIKE '%2%'", "Óscar Peña"),
    ],
)
def test_a_simple_statement_looks_for_the_name_in_any_case(statement: str, stored: str) -> None:
    loose, rows = planned(statement)
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE TABLE t (id, a, b)")
        connection.execute("INSERT INTO t VALUES (1, ?, 1)", [stored])
        assert connection.execute(loose).fetchall()
    assert rows == "SELECT * FROM t LIMIT 20"
    assert planned(loose) == [rows]


@pytest.mark.parametrize(
    ("statement", "message", "where"),
    [
        (
            "SELECT id FROM t WHERE a LIKE '%Login problem%' AND made > '2026-11-16'",
            "tickets about login from last week",
            "LOWER(a) LIKE '%login%' AND made > '2026-11-16'",
        ),
        (
            "SELECT * FROM t WHERE made BETWEEN '2026-01-01' AND '2026-03-31' AND region = 'EMEA'",
            "orders between january and march",
            "made BETWEEN '2026-01-01' AND '2026-03-31'",
        ),
        ("SELECT * FROM t WHERE a = 'O''Neill'", "employee O'Neill", "LOWER(a) LIKE '%o_neill%'"),
    ],
)
def test_a_statement_keeps_what_the_person_asked_for(
    statement: str, message: str, where: str
) -> None:
    assert planned(statement, message)[0] == f"SELECT * FROM t WHERE {where}"  # noqa: S608


def test_a_command_ignores_case() -> None:
    assert (
        planned("grep -rn calculateShippingCost src/")[0]
        == "grep -i -rn calculateShippingCost src/"
    )
    assert planned("rg -i foo") == []


_LANGUAGES = [
    ("Steuererklärung", "Wann ist die Steuererklärung fällig?"),
    ("déclaration d'impôts", "Quand faut-il rendre la déclaration d'impôts ?"),
    ("declaración de la renta", "¿Cuándo vence la declaración de la renta?"),
    ("zeznanie podatkowe", "Kiedy trzeba złożyć zeznanie podatkowe?"),
    ("налоговая декларация", "Когда подавать налоговую декларацию?"),
    ("確定申告", "確定申告の期限はいつですか"),
]


@pytest.mark.parametrize(("text", "message"), _LANGUAGES, ids=[text for text, _ in _LANGUAGES])
def test_in_other_languages_no_english_form_is_made_up_and_no_question_word_searched(
    text: str, message: str
) -> None:
    written = {
        *tokens(text),
        *tokens(message),
        *(word for form in variants(text) for word in tokens(form)),
    }
    for planned_text in planned(text, message):
        assert set(tokens(planned_text)) <= written
        asked = set(tokens(planned_text)) - set(tokens(text))
        assert not asked & {"wann", "ist", "quand", "cuando", "kiedy", "когда"}


def test_a_question_to_a_vector_index_becomes_a_statement() -> None:
    query = Query(
        table="docs",
        query_text="How do I renew a passport?",
        search_mode="vector",
        score_threshold=0.8,
    )
    request = SearchRequest(search_id="s", user_message=query.query_text, queries=(query,))
    made = plan(request, SearchState(search_id="s")).new_queries
    assert all(new.query_text and 0.15 <= (new.score_threshold or 0) < 0.8 for new in made)
    assert "renew passport" in [new.query_text for new in made]


_MODES = [
    "keyword",
    "semantic",
    "vector",
    "hybrid",
    "fulltext",
    "bm25",
    "faceted",
    "master",
    "exact",
    "boolean",
    "x",
]
_WORDS = ("volcano", "eruption", "iceland", "airport", "closed", "photo")


@pytest.mark.parametrize("vocabulary", [(), _WORDS])
@pytest.mark.parametrize("mode", _MODES)
def test_the_name_of_a_tables_only_mode_changes_no_words(
    mode: str, vocabulary: tuple[str, ...]
) -> None:
    def planned(name: str) -> list[str]:
        place = CatalogEntry(table="articles", search_modes=(name,), vocabulary=vocabulary)
        failed = query("iceland volcanoe", "articles", search_mode=name)
        return texts(
            plan(
                request(failed, message="Which airport was closed?", catalog=(place,)),
                empty_state(),
            )
        )

    assert planned(mode) == planned("search")


def test_the_message_and_the_text_are_never_glued_together() -> None:
    failed = query("eruption iceland", "articles", search_mode="")
    asked = request(
        failed,
        message="Which airport was closed by the eruption?",
        catalog=(CatalogEntry(table="articles"),),
    )
    assert all(
        len(text.split()) == len(set(text.split())) <= 4
        for text in texts(plan(asked, empty_state()))
    )


def test_a_single_common_word_is_not_proposed() -> None:
    failed = Query(table="talks", query_text="open new day")
    made = plan(
        request(failed, message="open new day", catalog=(CatalogEntry(table="talks"),)),
        empty_state(),
    )
    assert all(len(text.split()) > 1 for text in texts(made))
