"""What is said to the person who waits while a search is tried again."""

import re
from collections.abc import Collection
from typing import Final

from mcp_reflect.models.search import EmptyCause, Query, Strategy
from mcp_reflect.replan.word_lists import listed_words
from mcp_reflect.replan.words import tokens

GAVE_UP: Final = (
    "I looked in several ways and found nothing that fits. "
    "Could you tell me a bit more about what you need, or shall I look for something close to it?"
)
ASKS: Final = "I found nothing that fits. Could you tell me a bit more about what you need?"
FOUND: Final = "I found something for you; there is no need to look again."

_LONGEST: Final = 300  # characters
_MOST_SENTENCES: Final = 2
_MOST_NAME_WORDS: Final = 3  # words of a table's name that still reads as a place


def message_of(
    strategy: Strategy, new: Collection[Query], empty: Collection[str], cause: EmptyCause
) -> str:
    """Return the sentence for the person who waits while these queries run.

    `new` are the queries, `empty` the tables that gave nothing, and `cause` why, as far as that is known.
    """
    other_tables = [query.table for query in new if query.table not in empty]
    if strategy is Strategy.PIVOT and other_tables:
        where = table_in_words(other_tables[0])
        return f"Nothing came up there, so let me look {where} instead."
    if strategy is not Strategy.REWRITE:
        return "Let me broaden my search a little and look again."
    if cause is EmptyCause.UNKNOWN_WORDS:
        return "Nothing came up for that wording, so let me try the words that are more usual here."
    return "Nothing matched exactly, so let me look for it in broader words."


def is_friendly(message: str, asked: str = "") -> bool:
    """Return whether a text is one or two sentences, at most 300 characters, without names, markup and jargon.

    Words that the person used in `asked` are allowed: whoever asked for a dark mode may read "mode".
    """
    text = message.strip()
    if not 0 < len(text) <= _LONGEST:
        return False
    if "_" in text or "{" in text:
        return False
    sentences = [part for part in re.split(r"(?<=[.!?])\s+", text) if part]
    if len(sentences) > _MOST_SENTENCES:
        return False
    return listed_words("technical").isdisjoint(set(tokens(text)) - set(tokens(asked)))


def table_in_words(table: str) -> str:
    """Return a table's name as it stands in a sentence: "among the press releases", "in the archive section".

    "in another place" for a name that no person would use, such as `tbl_x2`.
    """
    words = tokens(table.replace("_", " "))
    is_short = 0 < len(words) <= _MOST_NAME_WORDS
    is_spelled_out = all(word.isalpha() and len(word) > 2 for word in words)
    if not is_short or not is_spelled_out or not listed_words("technical").isdisjoint(words):
        return "in another place"
    name = " ".join(words)
    if name.endswith("s"):
        return f"among the {name}"
    return f"in the {name} section"
