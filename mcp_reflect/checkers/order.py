"""Steps of a plan that undo each other: a backup after the migration, a use after the deletion."""

import re
from collections.abc import Iterator
from typing import Final

from mcp_reflect.checkers.base import Finding, Work
from mcp_reflect.models.critique import Status

_LEAD: Final = r"^\W{0,4}(?:\d+[.)]\s*)?(?:then |and |finally |next,? )?"
_ENDS: Final = re.compile(
    _LEAD + r"(?:delete|remove|drop|revoke|destroy|wipe|purge|truncate|"
    r"erase|uninstall|decommission|shut down|tear down|terminate)\b(?P<object>[^.;,]{3,120})",
    re.IGNORECASE,
)
_CHANGES: Final = re.compile(
    _LEAD + r"(?:migrate|upgrade|overwrite|reformat|repartition|alter|"
    r"convert|apply the migration|run the migration)\b(?P<object>[^.;,]{3,120})",
    re.IGNORECASE,
)
_NEEDS: Final = re.compile(
    r"\b(?:compress|archive|upload|copy|export|back(?:ing)? up|dump|snapshot|read|use|accept|keep|download|save|sync|"
    r"transition with|accepted)\b",
    re.IGNORECASE,
)
_BACKUP: Final = re.compile(
    _LEAD + r"(?:take|make|create|write|do)?\s?(?:a |an |the )?(?:final |full |fresh )?"
    r"(?:back ?up|dump|snapshot)\b",
    re.IGNORECASE,
)
_BEFORE: Final = re.compile(r"\bbefore (?:you |we |the )?(\w{4,})ing\b", re.IGNORECASE)
_WORD: Final = re.compile(r"[a-z][\w/.-]{2,}")
_LOOSE: Final = frozenset(
    "the all its and for from with that this those these same them everything below than into".split()
)


class OrderChecker:
    """Contradicts a step that needs what an earlier step has ended or changed."""

    name = "order"

    def check(self, work: Work) -> Iterator[Finding]:
        """Yield at most one finding per step. Only works of several steps are plans."""
        steps = work.steps[:200]
        for later in range(1, len(steps)):
            for earlier in range(later):
                if reason := _undone(steps[earlier][:400], steps[later][:400]):
                    yield Finding(
                        step=later + 1,
                        status=Status.FAIL,
                        claim=steps[later][:300],
                        expected=f"before step {earlier + 1}",
                        detail=reason,
                    )
                    break


def _undone(earlier: str, later: str) -> str | None:
    if (ended := _ENDS.match(earlier)) and _NEEDS.search(later) and _shared(ended["object"], later) >= 2:
        return "it needs what the earlier step has ended"
    if (changed := _CHANGES.match(earlier)) and _BACKUP.match(later) and _shared(changed["object"], later):
        return "a copy of what the earlier step has changed comes too late"
    for found in _BEFORE.finditer(later):
        if re.match(_LEAD + re.escape(found[1][:5]), earlier, re.IGNORECASE):
            return f"the earlier step does that already: {found[0]}"
    return None


def _shared(first: str, second: str) -> int:
    """Return the number of content words that both texts have."""
    words = [{word.rstrip("s.") for word in _WORD.findall(text.lower())} - _LOOSE for text in (first, second)]
    return len(words[0] & words[1])
