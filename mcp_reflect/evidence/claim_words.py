"""The words by which a claim is known, in nine languages; they stand in words/claims.txt, one entry a line."""

import re
from collections.abc import Mapping
from typing import Final

from mcp_reflect.evidence.command_kinds import words_of_kinds
from mcp_reflect.evidence.kinds import CHECKS, ProofKind
from mcp_reflect.evidence.word_lists import read_word_list
from mcp_reflect.patterns import lazy_compile

_LISTS: Final = read_word_list("claims")


def _any(*entries: str) -> re.Pattern[str]:
    return lazy_compile("|".join(f"(?:{entry})" for entry in entries), re.IGNORECASE)


def _listed(heading: str) -> re.Pattern[str]:
    return _any(*_LISTS[heading])


# Names of programs that are plain words as well, or stand for more than one kind of proof.
_PLAIN_WORDS: Final = frozenset(_LISTS["plain words"])


def _programs(kind: ProofKind) -> str:
    """Return the names of the programs that give a proof of the kind, as the table of proofs has them.

    A program that gives no other proof is named by its first word: "ty passes".
    """
    table = words_of_kinds()
    others: set[str] = set()
    for other in CHECKS - {kind}:
        others.update(words[0] for words in table[other])
    names: set[str] = set()
    for words in table[kind]:
        name = " ".join(words)
        if len(words) < 3 and " *" not in name:
            names.add(name.rstrip("*"))
        if words[0] not in others:
            names.add(words[0].rstrip("*"))
    escaped = "|".join(re.escape(name) for name in sorted(names - _PLAIN_WORDS))
    return rf"(?<![\w-])(?:{escaped})(?!\w)"


_NAMED_BY_PROGRAMS: Final = (
    ProofKind.TESTS,
    ProofKind.BUILD,
    ProofKind.TYPES,
    ProofKind.LINT,
    ProofKind.FORMAT,
)


def _nouns(kind: ProofKind) -> re.Pattern[str]:
    entries = _LISTS[f"nouns {kind}"]
    if kind in _NAMED_BY_PROGRAMS:
        return _any(*entries, _programs(kind))
    return _any(*entries)


NOUNS: Final[Mapping[ProofKind, re.Pattern[str]]] = {
    kind: _nouns(kind) for kind in ProofKind if f"nouns {kind}" in _LISTS
}
"""The words of a kind, by which a claim or an admission is known to be about it."""

DIRECT: Final[Mapping[ProofKind, re.Pattern[str]]] = {
    kind: _listed(f"direct {kind}") for kind in ProofKind if f"direct {kind}" in _LISTS
}
"""A participle that says what was done: "Committed.", "I've pushed it"."""

GOOD: Final = _listed("good")
TARGET: Final = _listed("target")
"""A target or script by its name, which may hold several kinds of checks."""
ALL_GREEN: Final = _listed("all_green")

SAID: Final[Mapping[ProofKind, re.Pattern[str]]] = {
    ProofKind.IMAGE: _listed("made"),
    **dict.fromkeys(sorted(CHECKS), GOOD),
    ProofKind.MIGRATION: _listed("applied"),
    ProofKind.DEPLOYMENT: _listed("deployed_words"),
    ProofKind.HEALTH: _listed("up"),
}
"""What is said of the nouns of a kind that went well."""

# What makes it no claim.
NOTHING_BAD: Final = _listed("nothing_bad")
NOT: Final = _listed("not")
UNSURE: Final = _listed("unsure")
ELSEWHERE: Final = _listed("elsewhere")
EXCEPT: Final = _listed("except")
EARLIER: Final = _listed("earlier")
EARLIER_FIRST: Final = _listed("earlier first")
PLAN: Final = _listed("plan")

# Admissions.
BAD: Final = _listed("bad")
BAD_ONCE: Final = _listed("bad_once")
SOME_FAIL: Final = _listed("some fail")
COVERAGE_BELOW: Final = _listed("coverage below")
PARTS_OF_CHECKS: Final = CHECKS - {ProofKind.TESTS}
"""What a run of all checks may show beside its tests."""
