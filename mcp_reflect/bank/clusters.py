"""Records that resemble each other. The same records give the same clusters, in whatever order they come."""

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from mcp_reflect.bank.merging import points, same_lesson, same_text, telling_words
from mcp_reflect.bank.opposites import contradict
from mcp_reflect.models.lesson import Kind, Lesson, Trust

ALIKE: Final = 0.35
"""The least share of words that any two members of a cluster have in common (Jaccard)."""

_TRUST: Final = (Trust.QUARANTINED, Trust.OBSERVED, Trust.CONFIRMED, Trust.TRUSTED)

Stop = Callable[[], bool]
"""Asked now and then whether to give up: the work is done beside a server's calls, and yields to them."""


class StoppedError(Exception):
    """The work was given up, for somebody else needs the machine."""


def same_record(one: Lesson, other: Lesson) -> bool:
    """Whether two records of a kind say the same in nearly the same words."""
    if one.kind is not other.kind or one.project != other.project:
        return False
    if one.kind is not Kind.LESSON:
        return same_text(one.text, other.text)
    if None not in (one.task_type, other.task_type) and one.task_type != other.task_type:
        return False
    mine, theirs = (one.mistake or "", one.correction or ""), (other.mistake or "", other.correction or "")
    return same_lesson(mine, theirs) and not contradict(mine, theirs)


def _parts(record: Lesson) -> tuple[str, ...]:
    return (record.mistake or "", record.correction or "") if record.kind is Kind.LESSON else (record.text,)


def same_groups(records: Iterable[Lesson], stop: Stop) -> list[tuple[Lesson, ...]]:
    """Every record in one group, the one to keep first. No two kept ones are the same: once more finds none.

    A record joins the first one kept, in order of worth, that says the same.
    """
    groups: list[list[Lesson]] = []
    near: dict[object, list[list[Lesson]]] = {}  # what carries the point differs in no two that are the same
    for record in sorted(records, key=_worth):
        _heed(stop)
        some = near.setdefault((record.kind, *map(points, _parts(record))), [])
        home = next((group for group in some if same_record(group[0], record)), None)
        if home is None:
            home = list[Lesson]()
            groups.append(home)
            some.append(home)
        home.append(record)
    return [tuple(group) for group in groups]


def clusters(records: Sequence[Lesson], stop: Stop) -> list[tuple[Lesson, ...]]:
    """Clusters of two and more, each of one kind: complete linkage, so every two members are alike.

    The most alike are joined first; equals are told apart by their texts, never by their place.
    """
    ordered = sorted(records, key=lambda record: (record.kind.value, record.text, record.id))
    words = [telling_words(record.text) for record in ordered]
    near: dict[tuple[int, int], float] = {}
    for place, mine in enumerate(words):
        _heed(stop)
        for other in range(place + 1, len(words)):
            if ordered[place].kind is not ordered[other].kind:
                break  # sorted by kind
            share = len(mine & words[other]) / (len(mine | words[other]) or 1)
            if share >= ALIKE:
                near[place, other] = share
    home = list(range(len(ordered)))
    members = {place: [place] for place in home}
    for one, other in sorted(near, key=lambda pair: (-round(near[pair], 9), pair)):
        first, second = sorted((home[one], home[other]))
        every = ((min(a, b), max(a, b)) for a in members[first] for b in members[second])
        if first != second and all(pair in near for pair in every):
            for place in members[second]:
                home[place] = first
            members[first] += members.pop(second)
    return [tuple(ordered[place] for place in sorted(group)) for group in members.values() if len(group) > 1]


def _worth(record: Lesson) -> tuple[int, float, int, float, str, str]:
    """The best first; what tells two apart is in the records, and the id only where they are equal in all."""
    evidence = (record.wins + 2) / (record.wins + record.losses + 4)
    return (
        -_TRUST.index(record.trust),
        -round(evidence, 4),
        -record.strength,
        -record.importance,
        record.text,
        record.id,
    )


def _heed(stop: Stop) -> None:
    if stop():
        raise StoppedError
