"""Answers of a search that found nothing, which is less than an error: `[]`, `{"total": 0}`, "No results found."."""

from typing import Final

from mcp_reflect.models.common import Json, json_of
from mcp_reflect.sessions.word_tables import pattern

# Characters of an answer to a search: a longer one holds something, whatever its first words are.
SHORT: Final = 600

_MOST_JSON: Final = 20_000  # characters of an answer that is read as JSON

_SAYS_NOTHING = pattern(r"""
    (?i)^[\s"'(\[]{0,8}(?:error: {0,3})?(?:sorry, |unfortunately, )?(?:could(?:n't| not) find\b
    |no (?:\w{1,20} ){0,3}(?:results?|matches|match|hits|documents?|files?|records?|rows|entries|items|data)\b
    (?! (?:from|were lost|loss))
    |(?:the )?last page searched was not found|0 (?:results?|matches|hits|rows|records|documents|files|items)\b
    |nothing (?:was )?found|not found\b|found (?:0|no|nothing)\b|(?:your |the )?(?:search|query|term)\b.{0,300}?
    (?:returned (?:no|0|nothing)|did ?n[o']t match|did not return|found (?:no|nothing|0)|has no results|yielded no
    |no results)
    |there (?:are|were) no (?:\w{1,20} ){0,3}(?:results?|matches|records|documents)|empty (?:result|set|response)
    |none found|no (?:such )?(?:page|article|entry)\b.{0,80}(?:found|exists?)
    |that page (?:could not be found|does not exist))""")

_EMPTY: Final = frozenset(
    {"", "[]", "{}", "null", "none", "()", "[[]]", '""', "''", "n/a", "set()", "undefined"}
)

_LISTS: Final = (
    "results items hits data documents matches rows records entries organic value docs".split()
)

_COUNTS: Final = (
    "count total total_count totalCount num_results total_results numFound hits found".split()
)


def found_nothing(answer: str) -> bool:
    """True where the whole answer of a search says that there is nothing.

    It is empty, an empty list or object (`{"hits": []}`), or a sentence such as "No results found."; a long text is not,
    unless it begins with "Could not find", behind which some tools list pages of suggestions.
    """
    text = answer.strip()
    if text.lower() in _EMPTY:
        return True
    # What begins with a bracket may be text: `[SAS] was not found`.
    if text[:1] in "{[" and len(text) <= _MOST_JSON:
        value = json_of(text)
        if value is not None:
            return _is_empty_value(value)
    may_say_so = len(text) <= SHORT or text.lower().startswith("could not find")
    return may_say_so and bool(_SAYS_NOTHING.match(text))


def _is_empty_value(value: Json) -> bool:
    """True for `[]`, `{}`, `[[], ""]`, for an object whose lists of results are empty, and for one whose counts are 0."""
    if isinstance(value, list):
        return all(item in ([], {}, None, "") for item in value)
    if not isinstance(value, dict) or not value:
        return value in (None, {})
    lists = [value[key] for key in _LISTS if isinstance(value.get(key), list)]
    counts = [value[key] for key in _COUNTS if key in value]
    if lists:
        return not any(lists)
    return bool(counts) and all(type(count) is int and count == 0 for count in counts)
