"""What the search tool itself proposed: ranked, since trying them all is not an option."""

from mcp_reflect.replan.words import content, names, normalised, stem, tokens


def ranked(suggestions: tuple[str, ...], text: str, message: str) -> tuple[str, ...]:
    """The suggestions, best first: close to what was searched, then to what was asked, then in the tool's order.

    One that only repeats the failed text is left out. A tool orders by likeness, so its order counts too.
    """
    wanted, asked = _stems(text), _stems(message)
    proper = frozenset(stem(word) for word in names(message))

    def score(place: int) -> float:
        own = _stems(suggestions[place])
        close = len(own & wanted) / len(own | wanted) if own else 0.0
        fresh = len((own & asked) - wanted) / len(own) if own else 0.0
        named = len(own & proper) / len(own) if own else 0.0
        return 1.0 * close + 1.0 * fresh + 0.3 * named - 0.1 * place

    failed = normalised(text)
    places = [place for place, suggestion in enumerate(suggestions) if normalised(suggestion) != failed]
    best = sorted(places, key=lambda place: (-score(place), place))
    seen: dict[tuple[str, ...], str] = {}
    for place in best:
        seen.setdefault(tokens(suggestions[place]), suggestions[place].strip())
    return tuple(suggestion for words, suggestion in seen.items() if words)


def _stems(text: str) -> frozenset[str]:
    return frozenset(stem(word) for word in content(text))
