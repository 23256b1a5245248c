"""What the caller can write itself: hints to an agent, which may know better words than the rules do."""

from typing import Final

from mcp_reflect.models.search import Query
from mcp_reflect.replan.catalog import Catalog
from mcp_reflect.replan.syntax import Tool, tool_of
from mcp_reflect.replan.vocabulary import Vocabulary
from mcp_reflect.replan.words import MOST_WORDS, content, without_quotes

_LISTED: Final = 15  # entries of a vocabulary that a note to the caller lists
_LONGEST_LIST: Final = 400  # characters of them
_LONGEST_OTHER_LIST: Final = 200  # characters of those of another table
_MOST_OTHERS: Final = 3  # other tables, and words that the data lacks

_BY_TOOL: Final = {
    Tool.SQL: "the condition with a value that the column has; SELECT DISTINCT shows them",
    Tool.PATTERN: (
        "another name that a programmer may have used, or a word of a message or comment near it"
    ),
    Tool.COMMAND: (
        "a shorter pattern or another name for it, without the restrictions on files and folders"
    ),
    Tool.WEB: "the thing itself in two to four words, as a page about it would say it",
    Tool.TEXT: (
        "the same in other words, as the data may say it; a catalog with a vocabulary would show them"
    ),
}


def what_to_write(query: Query, message: str, vocabulary: Vocabulary) -> str:
    """Return what the caller can write: words of the data where these are known, else what such a tool takes best.

    'another word for "kayak" from the vocabulary of products and in its language: canoe, boat, paddle'
    """
    if not vocabulary.words:
        return _BY_TOOL[tool_of(query)]
    matches = vocabulary.matches(content(query.query_text or message))
    lacking = [f'"{without_quotes(term)}"' for term, words in matches.items() if not words]
    wanted = "other words"
    if lacking:
        wanted = f"another word for {', '.join(lacking[:_MOST_OTHERS])}"
    listed = ", ".join(vocabulary.entries[:_LISTED])[:_LONGEST_LIST]
    return f"{wanted} from the vocabulary of {query.table} and in its language: {listed}"


def words_elsewhere(query: Query, message: str, catalog: Catalog) -> str:
    """Return the words of other tables, "products (canoe, boat)", where this one lacks words of the search; else empty."""
    searched = content(query.query_text or message)[:MOST_WORDS]
    if all(catalog.words_of(query.table).matches(searched).values()):
        return ""
    others = [
        entry for entry in catalog.described if entry.table != query.table and entry.vocabulary
    ]
    lines: list[str] = []
    for entry in others[:_MOST_OTHERS]:
        listed = ", ".join(entry.vocabulary[:_LISTED])[:_LONGEST_OTHER_LIST]
        lines.append(f"{entry.table} ({listed})")
    return "; ".join(lines)
