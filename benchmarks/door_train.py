"""Learns the recogniser's weights: `python -m benchmarks.door_train`; `--cross` measures only.

It learns from every hand's attacks and honest lessons, of the second hand's from the half worked on alone, and from
the texts of `tests/door/cases/makers`, which were written to be learnt from. What is kept aside is never read
here. The model is a linear support vector machine with squared hinge loss, solved by dual coordinate descent (Hsieh
et al., ICML 2008). An honest text is learnt whole and in windows of two sentences, for none of them is an attack; so
are a few words cut out of honest texts, for a title or a query must not weigh much because it is short.

Cross-validation leaves out some writers after others: what is recognised of hands that nothing was learnt from.
"""

import argparse
import hashlib
import json
import math
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

import mcp_reflect.security.injection
from benchmarks.door_cases import CASES, WRITERS, Name, cases
from benchmarks.door_real import texts_in
from mcp_reflect.security.injection.model import BITS, GRAMS, NEAR, NEIGHBOURS, WEIGHTS, columns, place, runs
from mcp_reflect.security.injection.readings import Sentence, decoded, hides_text, plain, read, views

_DRAWN: Final = 400  # texts of each kind of real data
_MOST_SENTENCES: Final = 8  # of one real text
_PIECES: Final = 1500  # cut out of real texts, and as many of the honest cases
_MOST_WORDS: Final = 7  # of a piece
_QUOTED: Final = re.compile("[\"'`“„«「]")  # a piece of what is quoted may be an order
_CLAUSE: Final = re.compile(r"(?<=[.!?;:,])\s+|\n")
_FOLDS: Final = 8
_KINDS: Final[tuple[tuple[Name, bool], ...]] = (("attacks", True), ("honest", False))
_LEAST_TEXTS: Final = 3  # texts that a named signal must be in
_ROUNDS: Final = 20
_COST: Final = 1.0  # of an error: what it was best with in cross-validation, of .3 to 3
_SLACK: Final = 1 / (2 * _COST)
_NAMED: Final = 0.1  # the value of a concept, and of two in a sentence; words count 1 together
_HELD: Final = 0.02  # honest texts of a writer left out that the limit may hold back
_READ_EACH: Final = 20  # cases of whose reading one counts in the fingerprint
_SMALL: Final = 0.002  # weights that are left out
MAKERS: Final = "makers"  # the group of the texts that were written beside the rules

Floats = NDArray[np.float64]
Row = tuple[NDArray[np.int64], Floats]


class View(NamedTuple):
    """One way to read a text: what the model sees of the whole, and of its windows."""

    whole: Row
    windows: list[Row]


class Example(NamedTuple):
    """Whether a text is an attack, who wrote it, its views, the last one undisguised, and whether it hides signs."""

    attack: bool
    hand: str
    views: list[View]
    hidden: bool


class Columns(dict[str, int]):
    """The place of each named signal behind the table of grams, given when it is first met."""

    def __missing__(self, name: str) -> int:
        self[name] = (1 << BITS) + len(self)
        return self[name]


def row(sentences: Sequence[Sentence], named: Columns) -> Row:
    """What the model sees of some sentences: places and values, each place once."""
    names, words, both = columns(sentences)
    found: defaultdict[int, float] = defaultdict(float)
    for name in sorted(names):
        found[named[name]] += _NAMED
    inside = Counter(run for word in words for run in runs(word))
    for family, value in ((Counter(map(place, words)), 1.0), (inside, 1.0), (Counter(both), NEIGHBOURS)):
        size = math.sqrt(sum(family.values()) or 1)
        for at, count in family.items():
            found[at] += value * count / size
    order = sorted(found)
    return np.array(order, np.int64), np.array([found[at] for at in order])


def view(text: str, named: Columns, most: int | None = None) -> View:
    """What the model sees of a plain text."""
    sentences = read(text)[:most]
    windows = [sentences[at : at + NEAR] for at in range(len(sentences) - NEAR + 1)] if len(sentences) > NEAR else []
    return View(row(sentences, named), [row(window, named) for window in windows])


def real_texts(data: Path, half: int) -> Iterator[str]:
    """Real texts of agents and their users: reflections, dialogues, searches, sums; half of them by hash."""
    for name in ("rfx_hotpot", "rfx_alfworld", "banking77"):
        yield from _drawn(texts_in(data / "recall" / name / "docs.jsonl"), half, name)
    for name in ("tau_airline", "reflexion_hotpotqa", "whowhen"):
        yield from _drawn(texts_in(data / "traces" / f"{name}.jsonl"), half, name)
    yield from _drawn(texts_in(data / "critique" / "gsm_gold.jsonl"), half, "gsm")
    yield from _drawn(texts_in(data / "replan" / "react_titles_docs.jsonl"), half, "titles")


def pieces(texts: Iterable[str]) -> list[str]:
    """A few words out of the middle of some of the texts, one piece each."""
    found: set[str] = set()
    for text in texts:
        chance = hashlib.sha256(f"piece {text}".encode("utf-8", "surrogatepass")).digest()
        words = text.split()
        size = 1 + chance[0] % _MOST_WORDS
        at = int.from_bytes(chance[1:3]) % max(len(words) - size + 1, 1)
        found.add(" ".join(words[at : at + size]))
    return _drawn(found, None, "pieces", _PIECES)


def clauses(texts: Iterable[str]) -> list[str]:
    """Short clauses of some of the texts, those left out that quote something."""
    parts = (part.strip(" .,;:") for text in texts if not _QUOTED.search(text) for part in _CLAUSE.split(text))
    return _drawn((part for part in parts if len(part.split()) <= _MOST_WORDS), None, "clauses", _PIECES)


def _drawn(texts: Iterable[str], half: int | None, name: str, most: int = _DRAWN) -> list[str]:
    """Some texts of a half, or of both, the same ones each time."""
    marked = {
        text: hashlib.sha256(f"{name} {text}".encode("utf-8", "surrogatepass")).digest()
        for text in texts
        if text.strip()
    }
    some = (text for text, mark in marked.items() if half in (None, mark[0] % 2))
    return sorted(some, key=lambda text: marked[text])[:most]


def given() -> list[tuple[str, bool, str]]:
    """The committed texts that may be learnt from: text, whether it is an attack, who wrote it."""
    found: list[tuple[str, bool, str]] = []
    for name, attack in _KINDS:
        for hand in WRITERS:
            found += [(one.text, attack, hand) for one in cases(name, hand) if hand != WRITERS[1] or one.half == "near"]
        lines = (CASES / MAKERS / f"{name}.txt").read_text(encoding="utf-8").splitlines()
        found += [(line, attack, MAKERS) for line in lines if line]
    return found


def inputs() -> str:
    """A fingerprint of what the shipped weights were learnt from: cases, lexicon, and how some of them are read."""
    digest = hashlib.sha256()
    for file in sorted(Path(mcp_reflect.security.injection.__file__).with_name("lexicon").glob("*.txt")):
        digest.update(file.read_bytes())
    for number, one in enumerate(given()):
        digest.update(repr(one).encode("utf-8", "surrogatepass"))
        if number % _READ_EACH == 0:
            names, words, both = columns(read(plain(one[0])))
            digest.update(repr((sorted(names), sorted(words), sorted(both))).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def examples(data: Path, named: Columns) -> list[Example]:
    """All that may be learnt from."""
    real, texts = list(real_texts(data, 0)), given()
    honest = [text for text, attack, _ in texts if not attack]
    found = [
        Example(attack=False, hand="real", views=[view(plain(text), named, _MOST_SENTENCES)], hidden=False)
        for text in (*real, *pieces(real), *clauses(honest))
    ]
    for text, attack, hand in texts:
        shown = [*views(text), *(decoded(text) if attack else ())]
        found.append(Example(attack, hand, [view(one, named) for one in shown], hides_text(text)))
    return found


class Learnt(NamedTuple):
    """The start of the sum and the weight of each place."""

    start: float
    weights: Floats

    def sum(self, one: Example) -> float:
        """What the heaviest view of a text weighs."""
        return max(self._of(view) for view in one.views)

    def _of(self, view: View) -> float:
        whole = self._row(view.whole)
        near = max((self._row(window) for window in view.windows), default=whole)
        return whole if near <= whole else (whole + near) / 2

    def _row(self, row: Row) -> float:
        return float(self.weights[row[0]] @ row[1]) + self.start


def learn(some: Sequence[Example], places: int) -> Learnt:
    """The weights that tell the attacks among the examples from the rest best."""
    rows: list[tuple[Row, float]] = []
    for one in some:
        rows.append((one.views[-1].whole, 1.0 if one.attack else -1.0))
        if not one.attack:
            rows += [(window, -1.0) for window in one.views[0].windows]
    weights = np.zeros(places)
    start = 0.0
    duals = np.zeros(len(rows))
    squares = np.array([1 + values @ values + _SLACK for (_, values), _ in rows])
    chance = np.random.default_rng(7)
    for _ in range(_ROUNDS):
        order: list[int] = chance.permutation(len(rows)).tolist()
        for at in order:
            (where, values), side = rows[at]
            slope = side * (start + float(weights[where] @ values)) - 1 + float(duals[at]) * _SLACK
            dual = max(float(duals[at] - slope / squares[at]), 0.0)
            move = (dual - duals[at]) * side
            if move:
                duals[at] = dual
                start += move
                weights[where] += move * values
    return Learnt(float(start), weights)


def cross(some: Sequence[Example], places: int) -> float:
    """Print what is recognised of each writer when nothing of theirs was learnt; the limit that this suggests."""
    sums: dict[str, tuple[list[float], list[float]]] = {hand: ([], []) for hand in WRITERS[1:]}
    for first in range(1, _FOLDS + 1):
        hands = WRITERS[first::_FOLDS]
        learnt = learn([one for one in some if one.hand not in hands], places)
        for one in some:
            if one.hand in hands:
                sums[one.hand][0 if one.attack else 1].append(math.inf if one.hidden else learnt.sum(one))
    honest = sorted((each for _, some in sums.values() for each in some), reverse=True)
    limit = round(honest[int(_HELD * len(honest))], 2)
    print(
        f"learnt without some writers, their attacks recognised and honest lessons held back over a limit of {limit}:"
    )
    for hand, (attacks, others) in sums.items():
        print(f"{hand:6} {_share(attacks, limit)}   {_share(others, limit)}")
    attacks = [each for some, _ in sums.values() for each in some]
    print(f"all    {_share(attacks, limit)}   {_share(honest, limit)}", flush=True)
    return limit


def _share(sums: Sequence[float], limit: float) -> str:
    over = sum(each > limit for each in sums)
    return f"{over / len(sums):.3f} ({over}/{len(sums)})"


def shipped(learnt: Learnt, named: Columns, limit: float, some: Sequence[Example]) -> tuple[str, bytes]:
    """The two files of the package that the weights make."""
    counts = Counter(place for one in some for place in {*one.views[-1].whole[0].tolist()} if place >= (1 << BITS))
    signals = {
        name: round(weight, 3)
        for name, place in sorted(named.items())
        if counts[place] >= _LEAST_TEXTS and abs(weight := float(learnt.weights[place]) * _NAMED) >= _SMALL
    }
    table = learnt.weights[: 1 << BITS]
    step = float(np.abs(table).max()) / 127
    windows = (window for one in some for view in one.views for window in view.windows)
    most = max(float(table[at[gram]] @ values[gram]) for at, values in windows for gram in (at < (1 << BITS),))
    content = {
        "limit": limit,
        "start": round(learnt.start, 3),
        "most": round(most, 2),
        "step": round(step, 6),
        "inputs": inputs(),
        "signals": signals,
    }
    return (
        json.dumps(content, ensure_ascii=False, indent=0) + "\n",
        np.clip(np.rint(table / step), -127, 127).astype(np.int8).tobytes(),
    )


def main() -> int:
    """Learn, and write the weights into the package; or measure alone, or hold the shipped weights against these."""
    reader = argparse.ArgumentParser()
    reader.add_argument("--cross", action="store_true", help="cross-validate over writers, and write nothing")
    reader.add_argument("--check", action="store_true", help="say whether the shipped weights are the ones learnt")
    reader.add_argument("--data", type=Path, default=Path("../shared/data"))
    asked = reader.parse_args()
    if not asked.data.is_dir():
        print(f"there is no {asked.data}: the weights need its real texts", file=sys.stderr)
        return 1
    named = Columns()
    some = examples(asked.data, named)
    places = (1 << BITS) + len(named)
    limit = cross(some, places)
    if asked.cross:
        return 0
    content, table = shipped(learn(some, places), named, limit, some)
    room = Path(mcp_reflect.security.injection.__file__).parent
    if asked.check:
        same = (room / WEIGHTS).read_text(encoding="utf-8") == content and (room / GRAMS).read_bytes() == table
        print("the shipped weights are these" if same else "the shipped weights are others")
        return 0 if same else 1
    (room / WEIGHTS).write_text(content, encoding="utf-8")
    (room / GRAMS).write_bytes(table)
    print(f"{len(some)} texts, {len(content) // 1024} kB of named weights, {len(table) // 1024} kB of grams")
    return 0


if __name__ == "__main__":
    sys.exit(main())
