"""What the search tool itself proposed: ranked, since trying them all is not an option."""

from mcp_reflect.replan.words import content, stem, tokens


def ranked(suggestions: tuple[str, ...], text: str, message: str) -> tuple[str, ...]:
    """The suggestions, best first: like what was searched, and adding words of what was asked.

    Each place further down the tool's list costs a tenth: a tool orders by likeness, so its order counts.
    A suggestion of the very words that failed is left out.
    """
    wanted, asked = _stems(text), _stems(message)

    def score(place: int) -> float:
        own = _stems(suggestions[place])
        like = len(own & wanted) / max(1, len(own | wanted))
        new = len((own & asked) - wanted) / max(1, len(own))
        return like + new - 0.1 * place

    failed = set(tokens(text))
    places = [place for place, suggestion in enumerate(suggestions) if set(tokens(suggestion)) not in (failed, set())]
    seen: dict[tuple[str, ...], str] = {}
    for place in sorted(places, key=lambda place: (-score(place), place)):
        seen.setdefault(tokens(suggestions[place]), suggestions[place].strip())
    return tuple(seen.values())


def _stems(text: str) -> frozenset[str]:
    return frozenset(stem(word) for word in content(text))
