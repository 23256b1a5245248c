"""Learns the weights of the recogniser's signals: `python -m benchmarks.door_train`; `--cross` measures only.

It learns from the first hand's cases, the worked-on half of the second hand's, and the texts of
`tests/door/cases/train_*.txt`, which were written to be learnt from. What is kept aside is never read here. The
model is a linear support vector machine with squared hinge loss, solved by dual coordinate descent (Hsieh et al.,
ICML 2008), which needs some seconds and no package.
"""

import argparse
import hashlib
import json
import random
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import mcp_reflect.bank.poison
from benchmarks.door_cases import CASES, Name, cases
from mcp_reflect.bank.poison.judge import by_signs, orders
from mcp_reflect.bank.poison.model import WEIGHTS, parts
from mcp_reflect.bank.poison.signals import signals
from mcp_reflect.bank.poison.views import plain

_DRAWN: Final = 150  # texts of each kind of real data
_MOST_PARTS: Final = 4  # of one real text
_KINDS: Final[tuple[tuple[Name, bool], ...]] = (("attacks", True), ("honest", False))
_LEAST_TEXTS: Final = 5  # texts that a signal must be in
_ROUNDS: Final = 30
_COST: Final = 0.05  # of an error: what it was best with in cross-validation, of .003 to .3
_SLACK: Final = 1 / (2 * _COST)
_WORD: Final = 0.5  # the value of a word's signal, so that concepts are learnt before words
_LIMIT: Final = 0.6  # at most 3 % of the honest half kept aside are held back
_DOUBT: Final = 0.0
_SMALL: Final = 0.005  # weights that are left out


class Example(NamedTuple):
    """A text with its signals, whether it is an attack, and the group that cross-validation leaves out together."""

    text: str
    signals: frozenset[str]
    attack: bool
    group: str


class Learnt(NamedTuple):
    """The start of the sum and the weights."""

    start: float
    weights: dict[str, float]

    def sum(self, found: frozenset[str]) -> float:
        """The sum over a text's signals."""
        return self.start + sum(self.weights.get(name, 0.0) for name in found)


def real_texts(data: Path, half: int) -> Iterator[str]:
    """Real texts of agents and their users, in parts: reflections, dialogues, searches, sums; half of them by hash."""
    texts: list[str] = []
    for name in ("rfx_hotpot", "rfx_alfworld", "banking77"):
        texts += _drawn((one["text"] for one in _lines(data / "recall" / name / "docs.jsonl")), half, name)
    for name in ("tau_airline", "reflexion_hotpotqa", "whowhen"):
        runs = _lines(data / "traces" / f"{name}.jsonl")
        texts += _drawn((str(step["content"] or "") for run in runs for step in run["steps"]), half, name)
    texts += _drawn((" ".join(one["steps"]) for one in _lines(data / "critique" / "gsm_gold.jsonl")), half, "gsm")
    pages = [path.read_text(encoding="utf-8") for path in sorted((CASES.parents[2] / "docs").glob("*.md"))]
    texts += _drawn((part for page in pages for part in page.split("\n\n")), half, "pages")
    for text in texts:
        yield from parts(plain(text))[:_MOST_PARTS]


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def _drawn(texts: Iterable[str], half: int, name: str) -> list[str]:
    """Some texts of a half, the same ones each time."""
    marked = {text: hashlib.sha256(f"{name} {text}".encode()).digest() for text in texts if text.strip()}
    return sorted((text for text, mark in marked.items() if mark[0] % 2 == half), key=lambda text: marked[text])[
        :_DRAWN
    ]


def examples(data: Path) -> list[Example]:
    """All that may be learnt from."""
    found = [Example(text, frozenset(signals(text)), attack=False, group="real") for text in real_texts(data, 0)]
    for name, attack in _KINDS:
        texts = [(case.text, f"first {case.family}") for case in cases(name, "first")]
        texts += [(case.text, f"second {case.family}") for case in cases(name, "second") if case.half == "near"]
        lines = (CASES / f"train_{name}.txt").read_text(encoding="utf-8").splitlines()
        texts += [(line, "written to learn from") for line in lines if line]
        found += [Example(text, frozenset(signals(plain(text))), attack, group) for text, group in texts]
    return found


def learn(given: Sequence[Example]) -> Learnt:
    """The weights that tell the attacks among the examples from the rest best."""
    counts = Counter(name for one in given for name in one.signals)
    names = {name for name, count in counts.items() if count >= _LEAST_TEXTS}
    rows = [_Row([*_values(one.signals & names)], 1.0 if one.attack else -1.0) for one in given]
    weights = dict.fromkeys(names, 0.0)
    start = 0.0
    duals = [0.0] * len(rows)
    order = list(range(len(rows)))
    chance = random.Random(7)  # noqa: S311 - an order, no secret
    for _ in range(_ROUNDS):
        chance.shuffle(order)
        for at in order:
            row, dual = rows[at], duals[at]
            slope = row.side * (start + sum(weights[name] * value for name, value in row.values)) - 1 + dual * _SLACK
            duals[at] = max(dual - slope / row.square, 0.0)
            move = (duals[at] - dual) * row.side
            if move:
                start += move
                for name, value in row.values:
                    weights[name] += move * value
    return Learnt(start, {name: weight * _value(name) for name, weight in weights.items()})


class _Row:
    """An example as the solver needs it: values, side (1 attack, -1 honest), and the diagonal of its quadratic form."""

    def __init__(self, values: list[tuple[str, float]], side: float) -> None:
        self.values = values
        self.side = side
        self.square = 1 + sum(value * value for _, value in values) + _SLACK


def _values(found: Iterable[str]) -> Iterator[tuple[str, float]]:
    return ((name, _value(name)) for name in sorted(found))


def _value(name: str) -> float:
    return _WORD if name.startswith("w:") else 1.0


def cross(given: Sequence[Example]) -> None:
    """Print what is recognised of each of the second hand's families when it was learnt without that family."""
    families = sorted({one.group for one in given if one.attack and one.group.startswith("second")})
    honest = [one for one in given if not one.attack and one.group.startswith("second")]
    found = held = 0
    for number, family in enumerate(families):
        aside = {one.text for one in honest[number :: len(families)]}
        tested = [one for one in given if (one.group == family and one.attack) or one.text in aside]
        texts = {one.text for one in tested}
        learnt = learn([one for one in given if one.text not in texts])
        flagged = [one for one in tested if _is_over(one, learnt)]
        found += sum(one.attack for one in flagged)
        held += sum(not one.attack for one in flagged)
        missed = sum(one.attack for one in tested) - sum(one.attack for one in flagged)
        print(f"{family:28} missed {missed:3} of {sum(one.attack for one in tested):3}", flush=True)
    attacks = [one for one in given if one.attack and one.group.startswith("second")]
    print(f"recognised {found}/{len(attacks)}, honest held back {held}/{len(honest)}")


def _is_over(one: Example, learnt: Learnt) -> bool:
    total = learnt.sum(one.signals)
    return total > _LIMIT or (total > _DOUBT and orders(plain(one.text)) is not None) or by_signs(one.text) is not None


def main() -> int:
    """Learn, and write the weights into the package, or measure by cross-validation."""
    reader = argparse.ArgumentParser()
    reader.add_argument("--cross", action="store_true")
    reader.add_argument("--data", type=Path, default=Path("../shared/data"))
    asked = reader.parse_args()
    if not asked.data.is_dir():
        print(f"there is no {asked.data}: the weights need its real texts", file=sys.stderr)
        return 1
    given = examples(asked.data)
    if asked.cross:
        cross(given)
        return 0
    learnt = learn(given)
    kept = {name: round(weight, 3) for name, weight in sorted(learnt.weights.items()) if abs(weight) >= _SMALL}
    content = {"limit": _LIMIT, "doubt": _DOUBT, "start": round(learnt.start, 2), "signals": kept}
    path = Path(mcp_reflect.bank.poison.__file__).with_name(WEIGHTS)
    path.write_text(json.dumps(content, ensure_ascii=False, indent=0) + "\n", encoding="utf-8")
    print(f"{len(kept)} weights of {len(given)} texts, {path.stat().st_size // 1024} kB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
