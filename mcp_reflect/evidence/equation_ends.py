"""Where an equation begins and ends in a sentence, so that its first and its last number are whole.

A number that belongs to a date, a label, a range or another number is no start and no end of a sum: "May 3 + 4", "5 ft 3".
"""

from collections.abc import Sequence
from typing import Final

from mcp_reflect.evidence.sum_words import words_for
from mcp_reflect.evidence.tokens import Token, TokenKind
from mcp_reflect.evidence.unit_names import is_currency, is_unit_at

_BEFORE_A_SUM: Final = frozenset(",:;([{|—…→⇒，：；")
_BEHIND_A_SUM: Final = frozenset(".,:;)]}|—…→⇒，：；。")
"""Marks behind which and before which a sum may stand."""


def starts_plainly(tokens: Sequence[Token], first: int) -> bool:
    """True if what stands before a run does not belong to its first number.

    Otherwise that number is a part of something larger, such as "May 3", "4:30" or "12,000", and its side is left out.
    """
    if first == 0:
        return True
    before, token = tokens[first - 1], tokens[first]
    is_unknown = token.kind is TokenKind.WORD  # nothing is a larger number with a letter
    if is_unknown:
        return before.kind is TokenKind.WORD or before.text in ",:;→⇒"
    if before.kind is TokenKind.OTHER:
        return _starts_behind_a_mark(tokens, first)
    if before.kind is TokenKind.WORD and token.has_blank_before:
        return _starts_behind_a_word(tokens, first)
    return False  # the word touches the number: "v2"


def _starts_behind_a_mark(tokens: Sequence[Token], first: int) -> bool:
    """True for "Total: 3 + 4", "(3 + 4", and with no blank between for "total:3 + 4".

    Without a blank "4:30" is a time and "12,000" is one number. Behind "#" or "@" a number is a name.
    """
    mark = tokens[first - 1].text
    if mark not in _BEFORE_A_SUM:
        return False
    if tokens[first].has_blank_before:
        return True
    is_clock = mark == ":" and first > 1 and tokens[first - 2].kind is TokenKind.NUMBER
    return mark != "," and not is_clock


def _starts_behind_a_word(tokens: Sequence[Token], first: int) -> bool:
    """Return whether the word before a run, with a blank between, is no part of its first number; the first row decides.

    | the word                                     | the sum begins behind it                                        |
    |----------------------------------------------|-----------------------------------------------------------------|
    | is the first of a sentence: "Hence 3 + 4"    | unless it is a label ("Step 3 + 4"), a month or joins numbers   |
    | links a sum to its sentence: "it is 3 + 4"   | always                                                          |
    | joins two numbers: "of", "and"               | only behind an amount: "a total of 3 + 4", not "5 and 3 + 4"    |
    | any other: "we add 3 + 4"                    | unless it is a label, the unit of a number, or a name           |

    "5 ft 3 + 4" has a unit, and "the Boeing 737 + 3" a name, which is a capital behind another word.
    """
    before = tokens[first - 1]
    earlier = tokens[first - 2] if first > 1 else None
    word = before.text.lower()
    if earlier is None:
        return word not in _UNFIT
    if word in words_for("linking"):
        return True
    if word in words_for("joined"):
        return _begins_an_amount(word, earlier)
    is_unit = earlier.kind is TokenKind.NUMBER
    is_capital_behind_word = before.text[0].isupper() and earlier.kind is TokenKind.WORD
    is_name = is_capital_behind_word and not _has_unit(tokens, first)
    return word not in _UNFIT and not is_unit and not is_name


def _has_unit(tokens: Sequence[Token], first: int) -> bool:
    """True for a number that cannot be part of a name before it, since it has a unit: "Tim 60 feet / 3", "Tim $5 + $3"."""
    if is_currency(tokens[first]):
        return True
    return first + 1 < len(tokens) and is_unit_at(tokens, first + 1)


def _begins_an_amount(word: str, earlier: Token) -> bool:
    """True for "a total of 24 + 48", "comes to 3 × 4" and ", and 3 + 4", where no number stands before."""
    if earlier.text in (",", ")"):
        return word in words_for("adding")
    if earlier.kind is not TokenKind.WORD:
        return False
    if word == "to":
        return True
    if word == "by":
        return earlier.text.lower() not in words_for("operations")
    return earlier.text.lower() in words_for("amounts")


_UNFIT: Final = words_for("labels") | words_for("joined") | words_for("months") | {"x"}
"""Words behind which a number is no start of a sum: "Step 3", "of 3", "May 3", "x 3"."""


def ends_plainly(tokens: Sequence[Token], end: int) -> bool:
    """Return whether what stands behind a run does not belong to its last number; the first row that fits decides.

    | behind the run                        | ends plainly                                                         |
    |---------------------------------------|----------------------------------------------------------------------|
    | nothing                               | yes                                                                  |
    | a parenthesis                         | with a blank before it: "7 (in all)", not "7(2)"                     |
    | a mark                                | where a sum may end so: "7." and a blank, "7)", not "7,5" or "7#"    |
    | a month                               | no: "17 March"                                                       |
    | a word, and then a number             | no: "5 ft 3 in"                                                      |
    | a word, another one, and a number     | where the second one adds nothing: not "7 apples and 2 pears"        |
    | any other word                        | yes                                                                  |
    """
    if end == len(tokens):
        return True
    token = tokens[end]
    following = tokens[end + 1 : end + 3]
    if token.kind is TokenKind.OPEN:
        return token.has_blank_before
    if token.kind is TokenKind.OTHER:
        closes = token.text in ")]}"
        is_last_or_apart = not following or following[0].has_blank_before
        return token.text in _BEHIND_A_SUM and (closes or is_last_or_apart)
    if token.kind is not TokenKind.WORD or token.text.lower() in words_for("months"):
        return False
    kinds = [one.kind for one in following]
    if kinds[:1] == [TokenKind.NUMBER]:
        return False
    if kinds[1:] != [TokenKind.NUMBER]:
        return True
    return following[0].text.lower() not in words_for("adding")
