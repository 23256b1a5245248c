"""What a message claims to be shown: that tests pass, that it builds, is committed, pushed, deployed and so on.

A claim is a clause that names a kind of proof and says that it went well, now. Plans, advice, questions, quotations,
conditions and what others said are not claims. If the message admits that something of a kind failed or was not run, it
claims nothing of that kind. Words of nine languages stand in claim_words.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Final

from mcp_reflect.evidence import claim_words as words
from mcp_reflect.evidence.admissions import Admission, admissions_in
from mcp_reflect.evidence.kinds import CHECKS, ProofKind
from mcp_reflect.evidence.name_kinds import kinds_of_name
from mcp_reflect.evidence.word_lists import read_word_list
from mcp_reflect.patterns import lazy_compile

_MOST_MESSAGE: Final = 12_000  # characters that are read at each end of a message
_MOST_SENTENCE: Final = 600
_MOST_SENTENCES: Final = 150  # that are read at each end of a message; more are no prose
_MOST_CLAUSES: Final = 30  # of a sentence, each of which is read with all that stands before it
_SHORT: Final = 80
_LEAST_NAME: Final = (
    5  # letters of a program's name that is not read as a word: `go`, `make`, `node`
)

_FENCE: Final = lazy_compile(r"^ {0,8}(?:```|~~~)")
_QUOTED_LINE: Final = lazy_compile(r"^ {0,3}>")
_QUOTES: Final = lazy_compile(
    r"“[^”\n]{0,300}”|„[^“”\n]{0,300}[“”]|«[^»\n]{0,300}»|\"[^\"\n]{1,300}\"|「[^」\n]{0,300}」|『[^』\n]{0,300}』"
)
_SENTENCE_END: Final = lazy_compile(r"(?<=[.!?])(?=\s+[^a-z\s])|(?<=[。！？])|\n")
_CLAUSE_END: Final = lazy_compile(
    r"[;；]|, |，|、| [—–-] |\s\|\s|(?<=\w)\. | (?:but|however|aber|mais|pero|mas|ma|maar) "
)
_SEMICOLON: Final = lazy_compile(r"[;；]")
_MARKUP: Final = lazy_compile(r"\*{1,3}|__|^#{1,6} |^\s*(?:[-*+•]|\d{1,2}[.)])\s+(?:\[[xX]\] )?")
_OPEN_BOX: Final = lazy_compile(r"^\s*[-*+]\s+\[ ?\]")
_ITEM: Final = lazy_compile(r"^\s*(?:[-*+•]|\d{1,2}[.)])\s")
# A part of the tests may pass where others fail.
_PART: Final = lazy_compile(
    r"\b(?:new|this|that|single|one|its|both|these|those|two|three|affected|related|relevant|targeted|existing|"
    r"remaining|other|unit|integration|smoke) (?:\w+ ){0,3}?tests?\b(?! (?:suite|run))|\bthe [a-z]+ tests\b|\btest_\w+"
)
_SOME_OF: Final = lazy_compile(
    r"\b(?:one|two|three|four|five|six|seven|eight|nine|most|some|half) of (?:the )?\w",
    re.IGNORECASE,
)
_OF: Final = lazy_compile(
    r"(?<![\w.])(\d{1,6}) ?(?:/|of|out of|von|de|di|van|sur) ?(?:(?:the|all|den|les|las|los|os|des) )?(\d{1,6})(?!\w|\.\d)"
)
_WORDS_BEHIND: Final = lazy_compile(
    r"(?: (?!(?:all|every|and|alle|und|tous|toutes|todas|todos|tutti)\b)[\w-]{1,30}){1,3}",
    re.IGNORECASE,
)
_WORD_BEFORE: Final = lazy_compile(r"[\w-]{1,30}[ :(=]{1,3}$")
_CHECKS: Final = lazy_compile(r"\bchecks?\b", re.IGNORECASE)
_DEPENDS: Final = lazy_compile(
    r"\b(?:if|when|whenever|unless|until|once|wenn|falls|sobald|si|quand|cuando|quando|als)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class SuccessClaim:
    """A claim of a message: the kinds of proof that show it (any of them), the sentence, and whether of a part only."""

    kinds: frozenset[ProofKind]
    text: str
    part: bool = False


_Programs = Mapping[str, Iterable[ProofKind]]


def claims_of(message: str, programs: _Programs = MappingProxyType({})) -> list[SuccessClaim]:
    """Return the claims of a message, in its order, one for each kind.

    `programs` have the names of those that the session ran, in lower case, with what each may show.
    """
    sentences = list(_sentences(message))
    if len(sentences) > 2 * _MOST_SENTENCES:
        sentences = [*sentences[:_MOST_SENTENCES], *sentences[-_MOST_SENTENCES:]]
    found: list[tuple[int, SuccessClaim]] = []
    for at, sentence in enumerate(sentences):
        found += [(at, claim) for claim in _claims_in(sentence, programs)]
    admitted = [
        (at, *admission)
        for at, sentence in enumerate(sentences)
        for admission in _admissions_in(sentence)
    ]
    kept: dict[frozenset[ProofKind], SuccessClaim] = {}
    for at, claim in found:
        denied = any(
            claim.kinds & kinds and (not past or place >= at) for place, kinds, past in admitted
        )
        if not denied:
            kept[claim.kinds] = claim
    return list(kept.values())


def _sentences(message: str) -> Iterator[str]:
    """Return the sentences without code, quotations, marks of Markdown and the items of a plan."""
    if len(message) > 2 * _MOST_MESSAGE:
        message = f"{message[:_MOST_MESSAGE]}\n\n{message[-_MOST_MESSAGE:]}"
    fenced = planned = False
    for line in message.split("\n"):
        if _FENCE.match(line):
            fenced = not fenced
            continue
        if fenced or _QUOTED_LINE.match(line) or _OPEN_BOX.match(line):
            continue
        if not line.strip():
            continue
        if planned and _ITEM.match(line):
            continue
        plain = _MARKUP.sub("", line).strip()
        heading = (
            line.startswith("#") or plain.endswith((":", "：")) or line.lstrip().startswith("**")
        )
        planned = heading and bool(words.PLAN.search(plain))
        if planned:
            continue
        for sentence in _SENTENCE_END.split(_QUOTES.sub(" ", plain)):
            if any(map(str.isalpha, sentence)):
                yield sentence.strip()[:_MOST_SENTENCE]


def _claims_in(sentence: str, programs: _Programs) -> Iterator[SuccessClaim]:
    """Yield what a sentence claims, clause by clause; nothing of a question, or of work that is somewhere else."""
    if sentence.endswith(("?", "？")) or words.ELSEWHERE.search(sentence):
        return
    clauses = list(_in_clauses(sentence, _clauses(sentence), programs))
    if not clauses and len(sentence) < _SHORT:
        # "12 tests, all passing": what is said stands in one clause, of what in another.
        clauses = list(_in_clauses(sentence, [sentence], programs))
    yield from clauses


def _in_clauses(
    sentence: str, clauses: Sequence[str], programs: _Programs
) -> Iterator[SuccessClaim]:
    """Yield what the clauses of a sentence claim, in their order, each with the whole sentence as its text.

    What stands before a clause matters as well, up to a semicolon: "I expect that it builds, and all tests pass" is sure
    of neither, and "An empty list returns None if asked; all tests pass" is sure of the tests.
    """
    if words.EXCEPT.search(sentence):  # "All tests pass except one."
        return
    start = 0
    for clause in clauses:
        place = sentence.find(clause, start)
        start = place + len(clause)
        before = _said_before(sentence, place)
        if words.UNSURE.search(before) or _speaks_of_a_share(clause):
            continue
        for kinds, found in _stated(clause, programs):
            if _is_sure(clause, found):
                only_tests = kinds == frozenset({ProofKind.TESTS})
                is_of_part = only_tests and bool(_PART.search(clause.lower()))
                yield SuccessClaim(kinds, sentence, is_of_part)


def _said_before(sentence: str, place: int) -> str:
    """Return what stands before a clause, up to a semicolon, unless the sentence begins with a condition."""
    before = sentence[:place]
    if _DEPENDS.match(sentence):
        return before
    return _SEMICOLON.split(before)[-1]


def _speaks_of_a_share(clause: str) -> bool:
    """True for "38 of 40 tests pass", "38/40 passed" and "most of the tests pass": the rest is left open.

    Of a date or a step ("all tests pass on 3/11", "step 1 of 3: all tests pass"), no tests stand beside the numbers.
    """
    if _SOME_OF.search(clause):
        return True
    return any(
        int(found[1]) < int(found[2]) and _counts_tests(clause, found)
        for found in _OF.finditer(clause)
    )


def _counts_tests(clause: str, found: re.Match[str]) -> bool:
    """Return whether tests, checks or their success stand right behind two numbers, or right before them."""
    behind = _WORDS_BEHIND.match(clause, found.end())
    before = _WORD_BEFORE.search(clause[: found.start()][-_SHORT:])
    beside = [behind[0] if behind else "", before[0] if before else ""]
    return any(
        words.NOUNS[ProofKind.TESTS].search(text) or words.GOOD.search(text) or _CHECKS.search(text)
        for text in beside
    )


def _is_sure(clause: str, found: re.Match[str]) -> bool:
    """Return whether the words that say that it went well are said without doubt, condition and denial.

    - a condition behind them: "the tests pass once the server is up"
    - an earlier time in or behind them: "the tests passed before my last edit"
    - doubt before or in them: "the tests should pass", and in Japanese right behind them
    - a "not" anywhere in the clause: "it does not build". "No errors" and "0 failed" deny nothing
    """
    if _DEPENDS.search(clause, found.end()) or _is_of_earlier(clause, found):
        return False
    before = clause[: found.end()]
    right_behind = clause[found.end() : found.end() + _MOST_ENDING]
    is_japanese = right_behind > _LAST_OF_OTHER_SCRIPTS
    if is_japanese:
        before += right_behind
    if words.UNSURE.search(before):
        return False
    return not words.NOT.search(words.NOTHING_BAD.sub(" ", clause))


def _is_of_earlier(clause: str, found: re.Match[str]) -> bool:
    """Return whether what went well did so before something else: then nothing is said of how it is now."""
    if words.EARLIER.search(clause, found.start()):
        return True
    return words.EARLIER_FIRST.search(clause) is not None


_MOST_ENDING: Final = 3  # signs in which Japanese says that something is a condition or only likely
_LAST_OF_OTHER_SCRIPTS: Final = "\u3000"


def _clauses(sentence: str) -> list[str]:
    clauses = [clause for clause in _CLAUSE_END.split(sentence) if clause.strip()]
    return clauses[:_MOST_CLAUSES]


_Stated = tuple[frozenset[ProofKind], re.Match[str]]
"""Kinds of proof that a clause says to have gone well (any of them shows it), and the words that say so."""


def _stated(clause: str, programs: _Programs) -> Iterator[_Stated]:
    """Yield what a clause says to have gone well, the surest words first; what is vague counts only without them.

    - words that name and praise at once: "committed", "deployed to production"
    - a noun with what is said of its kind: "the tests pass", "the build is green"
    - where neither names a kind: "everything is green", "make check passes", "gleam is happy"
    """
    by_participle = _kinds_by_participle(clause)
    for kind, found in by_participle.items():
        yield _shown_by(kind, clause), found
    by_noun = _kinds_by_noun(clause, by_participle)
    for kind, found in by_noun.items():
        yield frozenset({kind}), found
    if by_participle or by_noun:
        return
    stated = _stated_of_all_checks(clause) or _stated_of_a_program(clause, programs)
    if stated is not None:
        yield stated


def _kinds_by_participle(clause: str) -> dict[ProofKind, re.Match[str]]:
    found = {kind: pattern.search(clause) for kind, pattern in words.DIRECT.items()}
    return {kind: match for kind, match in found.items() if match is not None}


def _shown_by(kind: ProofKind, clause: str) -> frozenset[ProofKind]:
    """Return the kinds of runs that show one that was named: "pushed the image" is shown by `docker push` as well."""
    if kind is ProofKind.PUSH and words.NOUNS[ProofKind.IMAGE].search(clause):
        return frozenset({kind, ProofKind.IMAGE})
    return frozenset({kind})


def _kinds_by_noun(
    clause: str, named: Mapping[ProofKind, re.Match[str]]
) -> dict[ProofKind, re.Match[str]]:
    """Return the kinds whose noun stands in the clause with what is said of it, without those that are named already.

    Images come first in SAID, so that "the image builds" is no claim of a build.
    """
    by_noun: dict[ProofKind, re.Match[str]] = {}
    for kind, said in words.SAID.items():
        is_image_that_builds = kind is ProofKind.BUILD and (
            ProofKind.IMAGE in named or ProofKind.IMAGE in by_noun
        )
        if kind in named or is_image_that_builds or not words.NOUNS[kind].search(clause):
            continue
        found = said.search(clause)
        if found is not None:
            by_noun[kind] = found
    return by_noun


def _stated_of_all_checks(clause: str) -> _Stated | None:
    """Return all checks for "all green", and for a target that holds them: "`make check` passes"."""
    found = words.ALL_GREEN.search(clause)
    target = words.TARGET.search(clause)
    if found is None and target is not None:
        name = target[target.lastindex or 0]
        if kinds_of_name(name) >= CHECKS:
            found = words.GOOD.search(clause)
    return None if found is None else (CHECKS, found)


def _stated_of_a_program(clause: str, programs: _Programs) -> _Stated | None:
    """Return what the first program of the session that the clause praises may show: "bazel is green"."""
    good = words.GOOD.search(clause)
    if good is None:
        return None
    for word in re.findall(r"[\w.+-]+\w", clause.lower()):
        if word in programs and len(word) >= _LEAST_NAME:
            return frozenset(programs[word]), good
    return None


def admitted_kinds(message: str) -> frozenset[ProofKind]:
    """Return the kinds of which a message says that they fail now or were not run."""
    kinds: set[ProofKind] = set()
    for sentence in _sentences(message):
        kinds.update(*(admitted for admitted, past in _admissions_in(sentence) if not past))
    return frozenset(kinds)


def _admissions_in(sentence: str) -> Iterator[Admission]:
    return admissions_in(_clauses(words.NOTHING_BAD.sub(" ", sentence)))


_LONGEST_DONE: Final = 160  # characters of a message that only says that the work is done
_PUNCTUATION: Final = " \t\n.!…。！¡✅✓✔🎉👍🚀*_~"
_DONE_CLAUSE_END: Final = lazy_compile(r", (?:and )?|，|、| [—–-] ")
_LANGUAGES: Final = (
    "english",
    "german",
    "french",
    "spanish",
    "portuguese",
    "italian",
    "dutch",
    "japanese",
    "chinese",
)
_WITHOUT_BLANKS: Final = ("japanese", "chinese")


def only_says_done(message: str) -> bool:
    """True for "Done." and the like: a short message whose every clause says that the work is done."""
    text = message.strip().replace("’", "'")
    if not text or len(text) > _LONGEST_DONE or "```" in text:
        return False
    clauses: list[str] = []
    for sentence in _sentences(text):
        clauses += _DONE_CLAUSE_END.split(sentence)
    clauses = [clause.strip(_PUNCTUATION).lower() for clause in clauses]
    clauses = [clause for clause in clauses if clause]
    return bool(clauses) and all(map(_says_done, clauses))


def _says_done(clause: str) -> bool:
    """True if a clause says in one of the languages that the work is done."""
    return any(words.say(clause) for words in _done_words())


@dataclass(frozen=True, slots=True)
class _DoneWords:
    """The words of a language that say that the work is done, those that may stand beside them, and whole phrases."""

    done: frozenset[str]
    beside: frozenset[str]
    phrases: frozenset[str]
    has_blanks: bool

    def say(self, clause: str) -> bool:
        """Return whether a clause says that the work is done, with no word that may say more."""
        if clause in self.phrases:
            return True
        said = set(clause.split()) if self.has_blanks else set(self._cut(clause))
        return not said.isdisjoint(self.done) and said <= self.done | self.beside

    def _cut(self, clause: str) -> list[str]:
        """Return the words of a clause without blanks, each the longest that is known; one letter where none is."""
        known = self.done | self.beside
        longest = max(map(len, known))
        words: list[str] = []
        start = 0
        while start < len(clause):
            sizes = range(min(longest, len(clause) - start), 1, -1)
            size = next((n for n in sizes if clause[start : start + n] in known), 1)
            words.append(clause[start : start + size])
            start += size
        return words


@cache
def _done_words() -> tuple[_DoneWords, ...]:
    """Return the words of each language that say that work is done; they are read once."""
    lists = read_word_list("done")
    return tuple(
        _DoneWords(
            frozenset(lists[f"{language} done"]),
            frozenset(lists[f"{language} beside"]),
            frozenset(lists[f"{language} phrases"]),
            has_blanks=language not in _WITHOUT_BLANKS,
        )
        for language in _LANGUAGES
    )
