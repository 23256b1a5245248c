"""Sorting words by their letters, and numbers: letters named, chains of <, the sorted list."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from mcp_reflect.critique.checks.checker import Finding, Fix, Work
from mcp_reflect.records.verdict import Status

_MOST_WORDS = 200
_LONGEST_STEP = 8_000
_GOAL = re.compile(
    r"\b(?:sort|order|arrange|put|alphabetize)\b(?! out)([^:\n]{0,160}):\s{0,5}(List:)?\s{0,5}([^\n]{1,8000})",
    re.IGNORECASE,
)
_KEY = re.compile(
    r"\b(?:alphabetical\w*|lexicographic\w*|ascending|descending|(?:numerical|increasing|decreasing) order|alphabet|"
    r"(?:smallest|largest|lowest|highest) to|numbers|integers)\b",
    re.IGNORECASE,
)
_DOWN = re.compile(
    r"\b(?:descending|reverse|decreasing|largest to smallest|highest to lowest|z to a|backwards?)\b", re.IGNORECASE
)
_NUMBER = re.compile(r"[-+]?\d{1,15}(?:\.\d{1,15})?")
_NTH = re.compile(
    r"\b(first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth)\s{1,3}letters?\b", re.IGNORECASE
)
_PLACES = ["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"]
_LETTER = re.compile(
    r"(?<![\w'-])[\"“]?([\w'-]{1,60})[\"”]?\s?:\s?[\"“]?([A-Za-z])[\"”]?(?:\s{0,2}\((\d{1,2})\))?(?![\w\"'])"
)
_NOW = re.compile(r"\bwe now have\b", re.IGNORECASE)
_ANSWER = re.compile(
    r"\b(?:answer is|sorted (?:list|order|words|numbers)(?: is| are)?|final answer)\s{0,3}:?\s{0,3}([^\n]{1,8000})$",
    re.IGNORECASE,
)
_TOKEN = re.compile(r"[\"“]([^\"“”\s]{1,60})[\"”]|(<)|(\[)|(\])|(\?)|\((\d{1,2})\)")


@dataclass(frozen=True, slots=True)
class _Task:
    """`words` as given; `numeric` for numbers; `down` for the other direction."""

    words: tuple[str, ...]
    numeric: bool
    down: bool

    def key(self, word: str) -> tuple[float, str]:
        """What a word is sorted by."""
        return (float(word), "") if self.numeric else (0.0, word.lower())

    def right(self, first: str, second: str) -> bool:
        """Whether the two may stand in this order, by all their characters or by their letters alone."""
        one, two = (second, first) if self.down else (first, second)
        if self.key(one) <= self.key(two):
            return True
        return not self.numeric and _letters(one) <= _letters(two) and not (one.isalpha() and two.isalpha())

    def sorted(self) -> list[str]:
        """The right answer."""
        return sorted(self.words, key=self.key, reverse=self.down)


def _letters(word: str) -> str:
    return "".join(char for char in word.lower() if char.isalnum())


def check_sorting(work: Work) -> Iterator[Finding]:
    """Only where the goal asks to sort a list that it gives."""
    task = _task(work.goal)
    if task is None:
        return
    nth = 0
    for number, step in enumerate(work.steps, start=1):
        if len(step) > _LONGEST_STEP:
            continue
        if (found := _NTH.search(step)) and not task.numeric:
            nth = _PLACES.index(found[1].lower()) + 1
        finding = (
            _letters_named(number, step, task, nth)
            or _labelled(number, step, task, nth)
            or _chain(number, step, task)
            or _answer(number, step, task)
        )
        if finding is not None:
            yield finding


def _task(goal: str) -> _Task | None:
    found = _GOAL.search(goal[:10_000])
    if found is None or not (found[2] or _KEY.search(found[0][: len(found[1]) + 12])):
        return None
    listed = found[3].strip().rstrip(".")
    words = [part.strip(" \"'.[]()") for part in (listed.split(",") if "," in listed else listed.split())]
    if not 2 <= len(words) <= _MOST_WORDS or any(not word or " " in word for word in words):
        return None
    numeric = all(_NUMBER.fullmatch(word) for word in words)
    return _Task(tuple(words), numeric, bool(_DOWN.search(goal[:10_000].split(listed, maxsplit=1)[0])))


def _fail(number: int, claim: str, expected: str, detail: str, fix: Fix | None = None) -> Finding:
    return Finding(step=number, status=Status.FAIL, claim=claim[:200], expected=expected[:400], detail=detail, fix=fix)


def _letters_named(number: int, step: str, task: _Task, nth: int) -> Finding | None:
    """Entries like "costume": "o" (15) under "the second letter": the letter, and its number in the alphabet."""
    known = {word.lower() for word in task.words}
    said = [found for found in _LETTER.finditer(step) if found[1].lower() in known]
    if not said or not nth:
        return None
    for found in said:
        word, letter = found[1].lower(), found[2].lower()
        true = word[nth - 1 : nth]
        if not true.isalpha() or not true.isascii():
            continue
        if letter != true:
            fix = Fix(start=found.start(2), end=found.end(2), text=true)
            return _fail(number, found[0], true, f"letter {nth} of {word} is {true}", fix)
        place = ord(true) - ord("a") + 1
        if found[3] and int(found[3]) != place:
            fix = Fix(start=found.start(3), end=found.end(3), text=str(place))
            return _fail(number, found[0], f"{true} ({place})", f"{true} is letter {place} of the alphabet", fix)
    return Finding(step=number, status=Status.PASS, claim=step.strip()[:200])


def _labelled(number: int, step: str, task: _Task, nth: int) -> Finding | None:
    """(3) ["costume" ? "counterpart"]: the label is the letter they share; at the first letter all words are there."""
    if not nth or task.down or not _NOW.search(step):
        return None
    label = 0
    said: Counter[str] = Counter()
    for found in _TOKEN.finditer(step):
        if found[6]:
            label = int(found[6])
        elif found[2]:
            label = 0
        elif found[1]:
            word = found[1].lower()
            said[word] += 1
            if label and label not in _indices(word[:nth]) and len(word) >= nth and word.isalpha() and word.isascii():
                true = word[nth - 1]
                detail = f"letter {nth} of {word} is {true} ({ord(true) - 96})"
                return _fail(number, step.strip(), f"{word} is not among ({label})", detail)
    given = Counter(word.lower() for word in task.words)
    if nth == 1 and said and said != given and 2 * sum((given & said).values()) >= len(task.words):
        missing = ", ".join(list((given - said).elements())[:5])
        return _fail(
            number, step.strip(), "every word of the list", f"missing: {missing}" if missing else "a word too many"
        )
    return None


def _indices(letters: str) -> set[int]:
    return {ord(char) - 96 for char in letters}


def _chain(number: int, step: str, task: _Task) -> Finding | None:
    """In "a" < ["b" ? "c"] < "d" each word before a < must sort before the one after it."""
    if "<" not in step or task.down:
        return None
    known = {word.lower() for word in task.words}
    groups = _groups(step) if '"' in step or "“" in step else _bare_groups(step, known)
    if len(groups) < 2 or any(word not in known for group in groups for word in group):
        return None
    for before, after in pairwise(groups):
        wrong = next(((one, two) for one in before for two in after if not task.right(one, two)), None)
        if wrong is not None:
            return _fail(number, step.strip(), f"{wrong[1]} < {wrong[0]}", f"{wrong[1]} sorts before {wrong[0]}")
    return Finding(step=number, status=Status.PASS, claim=step.strip()[:200])


def _groups(step: str) -> list[list[str]]:
    """Words between < signs; words with a question mark between them share a group."""
    groups: list[list[str]] = [[]]
    for found in _TOKEN.finditer(step):
        if found[1]:
            groups[-1].append(found[1].lower())
        elif found[2]:
            groups.append([])
    return groups if all(groups) else []


def _bare_groups(step: str, known: set[str]) -> list[list[str]]:
    """The same where the words stand without quotes: the words of the list between two < signs."""
    parts = [re.findall(r"[\w'-]{1,60}", part.lower()) for part in step.split("<")]
    groups = [[word for word in part if word in known] for part in parts]
    return groups if all(groups) else []


def _answer(number: int, step: str, task: _Task) -> Finding | None:
    found = _ANSWER.search(step)
    if found is None:
        return None
    text = found[1].strip().strip(".[]()\"' ")
    parts = [part.strip(" \"'.[]()") for part in (text.split(",") if "," in text else text.split())]
    if len(parts) < 2 or not all(parts):
        return None
    return _judged(number, step, parts, task, (found.start(1), text))


def _judged(number: int, step: str, parts: Sequence[str], task: _Task, where: tuple[int, str]) -> Finding | None:
    given = Counter(word.lower() for word in task.words)
    said = Counter(part.lower() for part in parts)
    if task.numeric and not all(_NUMBER.fullmatch(part) for part in parts):
        return None
    # Prose that holds a few of the words is no list of them.
    if sum((given & said).values()) * 2 < len(parts):
        return None
    right = " ".join(task.sorted()) if "," not in where[1] else ", ".join(task.sorted())
    start = step.find(where[1], where[0])
    fix = Fix(start=start, end=start + len(where[1]), text=right) if start >= 0 else None
    if given != said:
        missing, extra = list((given - said).elements()), list((said - given).elements())
        detail = f"missing: {', '.join(missing[:5])}" if missing else f"not in the list: {', '.join(extra[:5])}"
        return _fail(number, where[1], right, detail, fix)
    wrong = next(((one, two) for one, two in pairwise(parts) if not task.right(one, two)), None)
    if wrong is not None:
        return _fail(number, where[1], right, f"{wrong[1]} sorts before {wrong[0]}", fix)
    return Finding(step=number, status=Status.PASS, claim=where[1][:200])
