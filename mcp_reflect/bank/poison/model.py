"""A weighing of a text's signals: a linear model, whose weights `python -m benchmarks.door_train` learnt.

The weight of each signal stands in `weights.json`, for a person to read; a sum over a limit is suspicious.
"""

import json
import math
import re
from functools import cache
from importlib import resources
from typing import Final, NamedTuple

from mcp_reflect.bank.poison.signals import signals

WEIGHTS: Final = "weights.json"
_MOST_NAMED: Final = 3  # signals that a reason names
_SPAN: Final = 420  # characters that are weighed at once: what the model learnt from was of such lengths
_FOR_PARTS: Final = 0.1
_END: Final = re.compile(r"[.!?;\n。！？।]")

# What a concept is called where a reason is given.
_SAID: Final = {
    "READER": "models and agents", "RULES": "their instructions", "DROP": "dropping or overriding",
    "SKIP": "leaving steps out", "USER": "the user", "HIDE": "keeping something hidden", "DECEIVE": "deceiving",
    "SEND": "sending out", "SECRET": "secrets", "DATA": "private data", "MEMORY": "what is remembered",
    "SPREAD": "spreading itself", "APPROVE": "approving", "CHECK": "checks and consent",
    "GRANTED": "a consent given beforehand", "DELETE": "deleting", "DISABLE": "switching off or opening",
    "CONTROL": "safeguards", "GIVE": "granting", "ACCESS": "access", "RUN": "running or fetching", "CODE": "code",
    "PAY": "paying", "MONEY": "money", "PROMOTE": "promoting", "AUTHORITY": "a claim of authority",
    "URGENT": "pressure", "OBEY": "obeying", "THIS": "the text itself", "ROLE": "playing a role",
    "DECODE": "decoding", "REPLACE": "replacing", "URL": "an address", "EMAIL": "an address", "HOST": "an address",
    "IP": "an address", "ACCOUNT": "an account", "AMOUNT": "a sum", "PATH": "private files", "SHELL": "commands",
    "ALWAYS": "a rule without an end", "CONTRARY": "going against what was asked", "TELL": "what is told",
}  # fmt: skip


class Weights(NamedTuple):
    """The limit over which a text is suspicious, that where a rule spoke up too, the sum's start, and the weights."""

    limit: float
    doubt: float
    start: float
    signals: dict[str, float]


class Weighed(NamedTuple):
    """A text's sum, and the weights of the signals that it is made of."""

    sum: float
    found: dict[str, float]

    @property
    def why(self) -> str:
        """In words what added most to the sum."""
        return _why(self.found)


@cache
def weights() -> Weights:
    """The weights, read once."""
    content = json.loads(resources.files("mcp_reflect.bank.poison").joinpath(WEIGHTS).read_text(encoding="utf-8"))
    return Weights(content["limit"], content["doubt"], content["start"], content["signals"])


def weigh(text: str) -> Weighed:
    """The heaviest part of a plain text; of many parts one has to be heavier, as chance has more tries."""
    weighed = list(map(_weigh, parts(text)))
    one = max(weighed, key=lambda one: one.sum, default=Weighed(weights().start, {}))
    return one._replace(sum=one.sum - _FOR_PARTS * math.log2(max(len(weighed), 1)))


def _weigh(text: str) -> Weighed:
    known = weights()
    found = {name: known.signals[name] for name in signals(text) if name in known.signals}
    return Weighed(known.start + sum(found.values()), found)


def _why(found: dict[str, float]) -> str:
    said: dict[str, float] = {}
    for name, weight in found.items():
        for concept in re.split("[+&]", name):
            if word := _SAID.get(concept.lstrip("^").removeprefix("not-")):
                said[word] = said.get(word, 0) + weight
    return ", ".join(sorted(said, key=lambda word: -said[word])[:_MOST_NAMED])


def parts(text: str) -> list[str]:
    """The text in parts that end where sentences end, each beginning with the last sentence of the one before."""
    if len(text) <= _SPAN * 1.5:
        return [text]
    ends = [found.end() for found in _END.finditer(text)]
    parts: list[str] = []
    start = 0
    while start < len(text):
        inside = [end for end in ends if start < end <= start + _SPAN]
        end = inside[-1] if inside else min(start + _SPAN, len(text))
        parts.append(text[start:end])
        start = inside[-2] if len(inside) > 1 and inside[-2] > start else end
    return parts
