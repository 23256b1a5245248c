"""The words of a text: what is written into the index, and what a question is asked with.

FTS5's own tokenizer splits at everything that is neither letter nor digit and stems English (porter);
what it cannot see is done here: camelCase is split, and scripts without spaces give pairs of letters.
"""

import re
from typing import Final

MOST_TERMS: Final = 48

_WORD: Final = re.compile(r"[^\W_]+(?:[._/:\\-][^\W_]+)*_*", re.UNICODE)
_PART: Final = re.compile(r"[^\W_]+", re.UNICODE)
_CAMEL: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
# Chinese, Japanese, Korean, Thai: no spaces between words.
_UNSPACED: Final = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\u0e00-\u0e7f]+")

STOP_WORDS: Final = frozenset(
    """a about after all also am an and any are as at be been before being but by can could did do does doing done
    for from get gets got had has have having he her here him his how i if in into is it its itself just let me
    more most my need no not now of off on once one only or other our out over own please same she should so some
    such than that the their them then there these they this those through to too under until up use used using
    very was we were what when where which while who whom why will with would you your""".split()
)


def index_text(text: str) -> str:
    """`text` with the parts of its identifiers and unspaced words added, for the index."""
    extra = [part for word in _PART.findall(text) for part in _inner(word)]
    return f"{text}\n{' '.join(extra)}" if extra else text


def telling_terms(text: str) -> list[str]:
    """The distinct words to ask for, lower case, without stop words, and single letters only where there is no more.

    An identifier or path gives itself, as a phrase of its parts, and each part. At most 48.
    """
    every: dict[str, None] = {}
    for match in _WORD.finditer(text):
        parts = [part for word in _PART.findall(match.group()) for part in [word, *_inner(word)]]
        whole = _PART.findall(match.group())
        if len(whole) > 1:
            every[" ".join(whole).lower()] = None
        for part in parts:
            every[part.lower()] = None
    words = [term for term in every if term not in STOP_WORDS]
    return ([term for term in words if len(term) > 1 or not term.isascii()] or words)[:MOST_TERMS]


def match_any(terms: list[str]) -> str:
    """An FTS5 expression that any of `terms` satisfies. Each is quoted, so none is read as syntax."""
    return " OR ".join(quoted(term) for term in terms)


def quoted(term: str) -> str:
    """One term as an FTS5 string: several words in it are a phrase."""
    return '"' + term.replace('"', '""') + '"'


def _inner(word: str) -> list[str]:
    """The words inside a word: the parts of camelCase, pairs of letters of an unspaced script."""
    run = _UNSPACED.search(word)
    if run:
        letters = run.group()
        return [letters[place : place + 2] for place in range(len(letters) - 1)] if len(letters) > 2 else []
    parts = _CAMEL.findall(word)
    return [part for part in parts if len(part) > 1] if len(parts) > 1 else []
