"""What a plan says: to the person who waits, in friendly words, and to the caller, what it can write itself."""

import re
from collections.abc import Collection
from typing import Final

from mcp_reflect.models.search import EmptyCause, Query, Strategy
from mcp_reflect.replan.syntax import Tool, tool_of
from mcp_reflect.replan.vocabulary import Vocabulary
from mcp_reflect.replan.words import content, tokens

TECHNICAL: Final = frozenset(
    """
    api boolean bm25 catalog catalogue config database dataset embedding embeddings endpoint faceted facet facets
    filter filters fts fuzzy id index json keyword keywords lexical limit llm master mode modes null parameter
    parameters pivot query queries regex relax replan retry retries rewrite row rows schema score semantic
    similarity sql sqlite string syntax table tables threshold timeout token tokens tool vector vocabulary
    """.split()
)
"""Words that mean something to us and nothing to the person who asked."""

GAVE_UP: Final = (
    "I looked in several ways and found nothing that fits. "
    "Could you tell me a bit more about what you need, or shall I look for something close to it?"
)
ASKS: Final = "I found nothing that fits. Could you tell me a bit more about what you need?"
FOUND: Final = "I found something for you; there is no need to look again."
_LISTED: Final = 15  # entries of a vocabulary that a note to the caller lists
_ADVICE: Final = {
    Tool.SQL: "the condition with the value as the column has it, or with another column",
    Tool.PATTERN: "another name that a programmer may have used, or a word of a message or comment near it",
    Tool.COMMAND: "a shorter pattern or another name for it, without the restrictions on files and folders",
    Tool.WEB: "the thing itself in two to four words, as a page about it would say it",
}


def of_plan(strategy: Strategy, new: Collection[Query], empty: Collection[str], cause: EmptyCause) -> str:
    """Return the sentence for the person who waits."""
    elsewhere = next((query.table for query in new if query.table not in empty), None)
    if strategy is Strategy.PIVOT and elsewhere is not None:
        return f"Nothing came up there, so let me look {place_in_words(elsewhere)} instead."
    if strategy is not Strategy.REWRITE:
        return "Let me broaden my search a little and look again."
    if cause in {EmptyCause.SPELLING, EmptyCause.UNKNOWN_WORDS}:
        return "Nothing came up for that wording, so let me try the words that are more usual here."
    return "Nothing matched exactly, so let me look for it in broader words."


def to_write(query: Query, message: str, known: Vocabulary) -> str:
    """Return what the caller can write where rules have no good words."""
    if not known.words:
        said = "the same in other words, as the data may say it; a catalog with a vocabulary would show them"
        return _ADVICE.get(tool_of(query), said)
    matches = known.matches(content(query.query_text or message))
    lacking = [f'"{term}"' for term, match in matches.items() if not match.words][:3]
    wanted = f"another word for {', '.join(lacking)}" if lacking else "other words"
    listed = ", ".join(known.entries[:_LISTED])
    return f"{wanted} from the vocabulary of {query.table} and in its language: {listed:.400}"


def is_friendly(message: str, asked: str = "") -> bool:
    """Return True for one or two sentences of at most 300 characters without names, markup and technical terms.

    A word that the person used when they `asked` is theirs: who asks for a dark mode may read of a mode.
    """
    text = message.strip()
    sentences = [part for part in re.split(r"(?<=[.!?])\s+", text) if part]
    plain = not (set(tokens(text)) & TECHNICAL - set(tokens(asked))) and "_" not in text and "{" not in text
    return 0 < len(text) <= 300 and len(sentences) <= 2 and plain


def place_in_words(table: str) -> str:
    """Return a table's name as a place in a sentence; `in another place` for names that no person would use."""
    words = tokens(table.replace("_", " "))
    natural = 0 < len(words) <= 3 and all(word.isalpha() and len(word) > 2 for word in words)
    if not natural or set(words) & (TECHNICAL | {"tbl", "tab", "idx"}):
        return "in another place"
    return f"among the {' '.join(words)}" if words[-1].endswith("s") else f"in the {' '.join(words)} section"
