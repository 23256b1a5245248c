"""Who holds what while pairs of people swap: balls, gifts, books, partners, positions."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from mcp_reflect.critique.checks.checker import Finding, Fix, Work
from mcp_reflect.records.verdict import Status

_MOST_PEOPLE = 20
_MOST_SWAPS = 200
_LONGEST_STEP = 4_000

_VERB = (
    r"(?:has|gets|holds|owns|receives|buys|wears|takes|starts with|begins with|is (?:currently )?(?:dancing with|"
    r"playing|"
    r"holding|wearing|assigned(?: to)?|given|partnered with|paired with|sitting in|in possession of|carrying))"
)
_HOLDS = re.compile(
    rf"\b([A-Z][\w'-]{{0,30}}) {_VERB} (?:an? |the )?(\S[^,.;:\n]{{0,80}}?)(?=,? and (?:[A-Z][\w'-]{{0,30}}) "
    rf"{_VERB}|[,.;:\n]|$)"
)
_WITH = r"(?:swaps?|trades?|switch(?:es)?|exchanges?|swapped|traded|switched|exchanged)"
_PAIR = re.compile(
    rf"\b([A-Z][\w'-]{{0,30}}) and ([A-Z][\w'-]{{0,30}}) (?:both )?{_WITH}\b|"
    rf"\b([A-Z][\w'-]{{0,30}}) {_WITH} (?:[a-z]+ ){{0,3}}with ([A-Z][\w'-]{{0,30}})\b"
)
_SAID = re.compile(
    r"(?:^|[,;.:(]|\band\b)\s{0,5}([A-Z][\w'-]{0,30})\s{0,2}(?::|=|->|→)\s{0,3}(?!\s)([^,;:\n.()=]{1,80})"
)
_OPTION = re.compile(r"\(([A-Z])\)\s{0,3}([^\n(]{1,100})")
_ANSWER = re.compile(r"\banswer is:?\s{0,3}\(?([A-Z])\)?\s{0,3}\.?\s{0,3}$")
_ASKED = re.compile(
    rf"\b(?:[Aa]t the end|[Ii]n the end|[Ff]inally)[^\n]{{0,60}}?,? ([A-Z][\w'-]{{0,30}}) {_VERB}(?: an?| "
    rf"the)?\s{{0,3}}:?$",
    re.MULTILINE,
)
_END = re.compile(r"\b(?:at|in) the end\b|\bafter (?:all|every)\b|\bfinally,? [A-Z]\w+ (?:has|is)\b", re.IGNORECASE)
_START = re.compile(r"\b(?:start|begin\w*|initial\w*|originally)\b", re.IGNORECASE)
_FILLER = frozenset(
    {"a", "an", "the", "ball", "present", "gift", "book", "position", "partner", "and", "box", "card", "hat"}
)


@dataclass(slots=True)
class _Story:
    """`held` is who holds what now; `swaps` the pairs in order; `done` how many of them have been made."""

    held: dict[str, str]
    swaps: list[tuple[str, str]]
    names: dict[str, str]
    done: int = 0
    lost: bool = False
    things: dict[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])

    def after(self, count: int) -> dict[str, str]:
        """Who holds what after the first `count` swaps."""
        held = dict(self.held)
        for one, other in self.swaps[:count]:
            held[one], held[other] = held[other], held[one]
        return held

    def thing(self, text: str) -> str | None:
        """The one thing that the words mean, None where that is not certain."""
        words = _words(text)
        exact = [thing for thing, own in self.things.items() if own == words]
        close = exact or [thing for thing, own in self.things.items() if words and words <= own]
        return close[0] if len(close) == 1 else None


def _words(text: str) -> frozenset[str]:
    found = frozenset(re.findall(r"[a-z0-9]+", text.lower()))
    return (found - _FILLER) or found


def check_swaps(work: Work) -> Iterator[Finding]:
    """Only where the goal gives everyone something and then names the swaps."""
    story = _story(work.goal)
    if story is None:
        return
    asked = _ASKED.search(work.goal.split("Options:")[0].strip())
    options = dict(_OPTION.findall(work.goal.rpartition("Options:")[2]))
    for number, step in enumerate(work.steps, start=1):
        if len(step) > _LONGEST_STEP:
            story.lost = True
            continue
        finding = _step(number, step, story)
        if (finding is None or finding.status is not Status.FAIL) and asked and asked[1] in story.held:
            finding = _answer(number, step, story, asked[1], options) or finding
        if finding is not None:
            yield finding


def _story(goal: str) -> _Story | None:
    text = goal.split("Options:", maxsplit=1)[0]
    pairs = list(_PAIR.finditer(text))[:_MOST_SWAPS]
    if not pairs:
        return None
    held = {name: thing.strip() for name, thing in _HOLDS.findall(text[: pairs[0].start()])}
    held = {name: thing for name, thing in held.items() if name not in {"They", "Everyone", "Each", "He", "She", "It"}}
    swaps = [(found[1] or found[3], found[2] or found[4]) for found in pairs]
    known = 1 < len(held) <= _MOST_PEOPLE and len(set(held.values())) == len(held)
    if not known or not {name for pair in swaps for name in pair} <= held.keys():
        return None
    if any(one == other for one, other in swaps):
        return None
    initials = {name[0]: name for name in held}
    names = {name: name for name in held} | (initials if len(initials) == len(held) else {})
    return _Story(held, swaps, names, things={thing: _words(thing) for thing in held.values()})


@dataclass(frozen=True, slots=True)
class _Said:
    name: str
    thing: str | None
    start: int
    end: int


def _holdings(step: str, story: _Story) -> list[_Said]:
    found: list[_Said] = []
    for pattern in (_SAID, _HOLDS):
        for match in pattern.finditer(step):
            name = story.names.get(match[1])
            if name is None:
                continue
            words = re.split(r"(?<!\s)\s+(?:So the|so the|Therefore|and [A-Z])", match[2], maxsplit=1)[0].rstrip()
            found.append(_Said(name, story.thing(words), match.start(2), match.start(2) + len(words)))
        if found:
            break
    return found


def _step(number: int, step: str, story: _Story) -> Finding | None:
    if story.lost:
        return None
    mentioned = [(story.names.get(m[1] or m[3]), story.names.get(m[2] or m[4])) for m in _PAIR.finditer(step)]
    said = _holdings(step, story)
    if not mentioned and not said:
        return None
    due = story.swaps[story.done : story.done + len(mentioned)]
    if mentioned and [set(pair) for pair in mentioned] != [set(pair) for pair in due]:
        story.lost = True
        return _misread(number, step, mentioned, story)
    if not said or any(part.thing is None for part in said):
        story.done += len(mentioned)
        return None
    if mentioned:
        story.done += len(mentioned)
    elif not _moved_on(step, said, story):
        return None
    return _compared(number, step, said, story)


def _moved_on(step: str, said: list[_Said], story: _Story) -> bool:
    """Sets how many swaps a listing without a swap stands after; False where that is not certain."""
    if _END.search(step):
        story.done = len(story.swaps)
        return True
    table = step[said[0].start - 2 : said[0].start].strip()[-1:] in {":", "=", ">", "→"}
    if story.done == 0 and _START.search(step):
        return True
    # A table goes on to the next swap where it can, a sentence may speak of the last one again.
    for done in (story.done + 1, story.done) if table and story.done else (story.done, story.done + 1):
        if done <= len(story.swaps) and all(part.thing == story.after(done)[part.name] for part in said):
            story.done = done
            return True
    if table:
        story.done = min(story.done + 1, len(story.swaps))
    return table or story.done == len(story.swaps)


def _misread(number: int, step: str, mentioned: list[tuple[str | None, str | None]], story: _Story) -> Finding | None:
    """A single swap that opens the step, is not due, and was not the one before: the step has the wrong pair."""
    found = _PAIR.search(step)
    last = story.swaps[story.done - 1] if story.done else None
    if (
        len(mentioned) != 1
        or None in mentioned[0]
        or found is None
        or not re.fullmatch(r"[\s(\d).:-]{0,8}", step[: found.start()])
    ):
        return None
    if story.done >= len(story.swaps) or (last and set(last) == set(mentioned[0])):
        return None
    due = " and ".join(story.swaps[story.done])
    return Finding(
        step=number, status=Status.FAIL, claim=step.strip()[:200], expected=f"{due} swap", detail="another swap is due"
    )


def _compared(number: int, step: str, said: list[_Said], story: _Story) -> Finding:
    true = story.after(story.done)
    for part in said:
        if part.thing != true[part.name]:
            return Finding(
                step=number,
                status=Status.FAIL,
                claim=step.strip()[:200],
                expected=", ".join(f"{name}: {thing}" for name, thing in true.items())[:400],
                detail=f"after {story.done} swaps {part.name} has {true[part.name]}",
                fix=Fix(start=part.start, end=part.end, text=true[part.name]),
            )
    return Finding(step=number, status=Status.PASS, claim=step.strip()[:200])


def _answer(number: int, step: str, story: _Story, asked: str, options: dict[str, str]) -> Finding | None:
    found = _ANSWER.search(step)
    if found is None or found[1] not in options:
        return None
    true = story.after(len(story.swaps))[asked]
    chosen = story.thing(options[found[1]].strip(" ."))
    if chosen is None:
        return None
    if chosen == true:
        return Finding(step=number, status=Status.PASS, claim=step.strip()[:200])
    right = [letter for letter, text in options.items() if story.thing(text.strip(" .")) == true]
    return Finding(
        step=number,
        status=Status.FAIL,
        claim=found[0][:200],
        expected=f"({right[0]}) {true}" if right else true,
        detail=f"at the end {asked} has {true}",
        fix=Fix(start=found.start(1), end=found.end(1), text=right[0]) if right else None,
    )
