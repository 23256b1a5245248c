"""What the search tool itself proposed: ranked, since trying them all is not an option."""

from typing import Final

from mcp_reflect.replan.words import content, stem, tokens

_PLACE: Final = 0.05  # what a place further down the tool's list costs: a tool orders by likeness
_LENGTH: Final = 0.03  # what a word more costs: a short text finds the longer ones as well
_FOUND: Final = 0.3  # what it costs to have all words of an earlier suggestion, which finds it too
_READ: Final = 50  # suggestions read; tools propose ten or so
"""The first three were set on the development episodes, in the middle of a flat stretch, not at its peak."""


def ranked(suggestions: tuple[str, ...], text: str, message: str) -> tuple[str, ...]:
    """The suggestions, best first: like what was searched, and adding words of what was asked.

    A suggestion of the very words that failed is left out; of equal ones the first stays.
    """
    wanted, asked, failed = _stems(text), _stems(message), set(tokens(text))

    def score(place: int) -> float:
        own = _stems(suggestions[place])
        like = len(own & wanted) / max(1, len(own | wanted))
        new = len((own & asked) - wanted) / max(1, len(own))
        return like + new - _PLACE * place - _LENGTH * len(own)

    scores: dict[tuple[str, ...], tuple[float, str]] = {}
    for place, suggestion in enumerate(suggestions[:_READ]):
        if set(tokens(suggestion)) not in (failed, set()):
            scores.setdefault(tokens(suggestion), (score(place), suggestion.strip()))
    return tuple(_without_echoes(sorted(scores.values(), key=lambda scored: -scored[0])))


def _without_echoes(scored: list[tuple[float, str]]) -> list[str]:
    """In order of score, less for what an earlier pick finds as well."""
    picked: list[str] = []
    rest = [(score, suggestion, _stems(suggestion)) for score, suggestion in scored]
    while rest:
        chosen = [_stems(suggestion) for suggestion in picked]
        best = max(rest, key=lambda item: item[0] - _FOUND * any(other <= item[2] for other in chosen))
        rest.remove(best)
        picked.append(best[1])
    return picked


def _stems(text: str) -> frozenset[str]:
    return frozenset(stem(word) for word in content(text))
