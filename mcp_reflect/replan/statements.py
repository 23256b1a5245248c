"""SQL statements to run in place of one that found nothing: with fewer conditions, and at last with none."""

import re
from collections.abc import Iterator
from typing import Final

from mcp_reflect.replan.words import tokens

_WORD_OF_VALUE: Final = re.compile(r"\w(?:[^\s%*/+()-]|'')*")
_TABLE: Final = re.compile(r"\bFROM\s+([\w.\"`]+)", re.IGNORECASE)
_DATED: Final = re.compile(
    r"(?<![\w.\"`])[\w.\"`]+\s*(?:\bBETWEEN\s*'\d{4}-[^']*'\s*AND|[<>]=?)\s*'\d{4}-[^']*'",
    re.IGNORECASE,
)
_CONDITION: Final = re.compile(
    r"(?<![\w.\"`])([\w.\"`]+)\)?\s*(?:=|\b(?:I?LIKE|GLOB)\b)\s*'((?:[^']|'')*)'", re.IGNORECASE
)


def simple_statements(text: str, message: str) -> Iterator[str]:
    """Yield SQL statements with fewer conditions than the failed one, and at last one for some rows of its table.

    `SELECT id FROM t WHERE name = 'Red Bikes' AND day > '2024-01-01'` gives
    `SELECT * FROM t WHERE LOWER(name) LIKE '%red%bikes%' AND day > '2024-01-01'`, where the person's message has both
    words; then the same without the date; then `SELECT * FROM t LIMIT 20`.
    """
    table_match = _TABLE.search(text)
    if table_match is None:
        return
    for conditions in _simpler_conditions(text, message):
        if conditions:
            yield f"SELECT * FROM {table_match[1]} WHERE {' AND '.join(conditions)}"  # noqa: S608
    yield f"SELECT * FROM {table_match[1]} LIMIT 20"  # noqa: S608


def _simpler_conditions(text: str, message: str) -> list[list[str]]:
    """The conditions of each statement, on the dates and on the words of the first text condition.

    | the statement                              | first            | then         |
    |--------------------------------------------|------------------|--------------|
    | has no text condition                      | the dates        |              |
    | has dates, and words that nobody asked for | the dates        | the words    |
    | any other                                  | words and dates  | the words    |

    Words that the person's message lacks are a guess of the caller, so that the dates are surer.
    """
    dates = [match[0] for match in _DATED.finditer(text)]
    text_condition = _CONDITION.search(text)
    words = _WORD_OF_VALUE.findall(text_condition[2]) if text_condition else []
    if text_condition is None or not words:
        return [dates]
    asked = set(tokens(message))
    words_of_message = [word for word in words if not asked.isdisjoint(tokens(word))]
    loose_condition = _like(text_condition[1], words_of_message or words)
    if dates and not words_of_message:
        return [dates, [loose_condition]]
    return [[loose_condition, *dates], [loose_condition]]


def _like(column: str, words: list[str]) -> str:
    """A condition that finds the words in their order, in any case: `LOWER(name) LIKE '%red%bikes%'`.

    An umlaut or another letter that is not ASCII stands for any letter (`_`), since LOWER of many databases leaves it as
    it is; so does an apostrophe.
    """
    pattern = re.sub(r"[^\x00-\x7f]|''", "_", "%".join(words).lower())
    return f"LOWER({column}) LIKE '%{pattern}%'"
