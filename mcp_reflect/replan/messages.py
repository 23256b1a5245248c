"""What to tell the person: one or two friendly sentences without technical terms."""

import re
from typing import Final

from mcp_reflect.models.search import EmptyCause, Query, SearchDiagnosis, Strategy
from mcp_reflect.replan.words import fold, tokens

_TECHNICAL: Final = """
    api boolean bm25 catalog catalog config database dataset embedding embeddings endpoint faceted facet facets
    filter filters fts fuzzy id index json keyword keywords lexical limit llm master mode modes null parameter
    parameters pivot query queries regex relax replan retry retries rewrite row rows schema score semantic
    similarity sql sqlite string syntax table tables threshold timeout token tokens tool vector vocabulary
    """
TECHNICAL: Final = frozenset(_TECHNICAL.split())
"""Words that mean something to us and nothing to the person who asked."""

_SENTENCE = re.compile(r"(?<=[.!?])\s+")
_FALLBACK: Final = "Let me broaden my search a little and look again."
GAVE_UP: Final = (
    "I looked in several ways and found nothing that fits. "
    "Could you tell me a bit more about what you need, or shall I look for something close to it?"
)
FOUND: Final = "I found something for you; there is no need to look again."


def tell(strategy: Strategy, diagnosis: SearchDiagnosis, new: tuple[Query, ...], failed: frozenset[str]) -> str:
    """The sentence for a plan."""
    elsewhere = next((query.table for query in new if query.table not in failed), None)
    if strategy is Strategy.PIVOT and elsewhere is not None:
        return f"Nothing came up there, so let me look {_place_messages(elsewhere)} instead."
    if strategy is Strategy.REWRITE:
        if diagnosis.kind in {EmptyCause.SPELLING, EmptyCause.JARGON, EmptyCause.UNKNOWN_WORDS}:
            return "Nothing came up for that wording, so let me try the words that are more usual here."
        return "Nothing matched exactly, so let me look for it in broader words."
    return _FALLBACK


def is_friendly(message: str, said: str = "") -> bool:
    """One or two sentences, no names with underscores, at most 300 characters, and not a word of ours.

    A word that the person `said` is theirs: who asks for a dark mode may read of a mode.
    """
    text = message.strip()
    sentences = [part for part in _SENTENCE.split(text) if part]
    plain = not (set(tokens(text)) & TECHNICAL - set(tokens(said))) and "_" not in text and "{" not in text
    return 0 < len(text) <= 300 and len(sentences) <= 2 and plain


def _place_messages(table: str) -> str:
    """A table's name as a place in a sentence; names that no person would use become `in another place`."""
    words = tokens(table.replace("_", " ").replace("-", " "))
    natural = 0 < len(words) <= 3 and all(word.isalpha() and len(word) > 2 for word in words)
    if not natural or set(words) & TECHNICAL or fold(words[0]) in {"tbl", "tab", "idx"}:
        return "in another place"
    return f"among the {' '.join(words)}" if words[-1].endswith("s") else f"in the {' '.join(words)} section"
