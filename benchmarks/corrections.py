"""Which prompts read as a person's correction: `python -m benchmarks.corrections --data ../shared/data`.

The weights are learned with `--fit` from tests/data/prompts.jsonl. tests/data/prompts_aside.jsonl has other voices, and
no weight was learned from it. `--data` adds the prompts of a sample, and `--show` prints what is read wrongly.

`--fit` is a logistic regression by stochastic gradients. Of a correction with several sentences it learns from the one
that scores most, of other prompts from all. It keeps the features of most weight and learns these again.
"""

import argparse
import json
import math
import random
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from mcp_reflect.moments.corrections import WEIGHTS, corrects, features, score

OWN: Final = Path(__file__).parent.parent / "tests" / "data" / "prompts.jsonl"
ASIDE: Final = OWN.with_name("prompts_aside.jsonl")
MOST_FEATURES: Final = 6_000
ROUNDS: Final = 14
RATE: Final = 0.05
DECAY: Final = 1e-4

Sentence = tuple[int, bool, dict[str, float]]
"""The number of its prompt, whether this is a correction, and its features."""


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]


def fit(records: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Return the weights of features that tell corrections from other prompts."""
    found = [(i, r["correction"], of) for i, r in enumerate(records) for of in features(r["text"])]
    seen = Counter(name for *_, names in found for name in names)
    weights = learn(found, [name for name, times in seen.items() if times > 1])
    return learn(found, sorted(weights, key=lambda name: -abs(weights[name]))[:MOST_FEATURES])


def learn(found: Sequence[Sentence], names: Collection[str]) -> dict[str, float]:
    """Return the weights of these features, learned from all sentences, then from those that tell."""
    known = {"", *names}
    kept = [
        (i, wanted, {n: much for n, much in of.items() if n in known}) for i, wanted, of in found
    ]
    weights = descend(kept)
    best: dict[int, Sentence] = {}
    for sentence in kept:
        i, _, of = sentence
        if i not in best or score(of, weights) > score(best[i][2], weights):
            best[i] = sentence
    return descend(
        [sentence for sentence in kept if not sentence[1] or best[sentence[0]] is sentence]
    )


def descend(examples: Sequence[Sentence]) -> dict[str, float]:
    weights: defaultdict[str, float] = defaultdict(float)
    squares: defaultdict[str, float] = defaultdict(lambda: 1e-6)
    order, chance = list(examples), random.Random(0)  # noqa: S311 - an order, no secret
    for _ in range(ROUNDS):
        chance.shuffle(order)
        for _, wanted, of in order:
            error = 1 / (1 + math.exp(-score(of, weights))) - wanted
            for name, much in of.items():
                slope = error * much + DECAY * weights[name]
                squares[name] += slope * slope
                weights[name] -= RATE * slope / math.sqrt(squares[name])
    return weights


def write(weights: Mapping[str, float]) -> None:
    alike: defaultdict[float, list[str]] = defaultdict(list)
    for name, weight in sorted(weights.items()):
        alike[round(weight, 1)].append(name)
    lines = ["\t".join([str(weight), *alike[weight]]) for weight in sorted(alike) if weight]
    WEIGHTS.write_text("\n".join(lines) + "\n", encoding="utf-8")


def measure(name: str, records: Sequence[Mapping[str, Any]], *, show: bool) -> None:
    for kind, wanted in (("corrections", True), ("other prompts", False)):
        group = [record for record in records if record["correction"] is wanted]
        wrong = [record for record in group if corrects(record["text"]) is not wanted]
        read_so = len(group) - len(wrong) if wanted else len(wrong)
        print(f"{name:10} {kind:14} read as corrections: {read_so:4} of {len(group):4}")
        for record in wrong if show else ():
            print("   ", record["text"][:200])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path)
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--fit", action="store_true")
    options = parser.parse_args()
    if options.fit:
        write(fit(read(OWN)))
    measure("learned", read(OWN), show=options.show)
    measure("aside", read(ASIDE), show=options.show)
    if options.data:
        measure("sample", read(options.data / "moments" / "prompts.jsonl"), show=options.show)


if __name__ == "__main__":
    main()
