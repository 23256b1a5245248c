"""What rules would do with a bank's records at rest: merge what says the same, tie what resembles, archive the useless.

Rules write no new text. The same records give the same plan in whatever order they come, and a plan that was
applied leaves nothing for the next one.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from mcp_reflect.bank.capacity import NEVER_FROM
from mcp_reflect.bank.clusters import Stop, clusters, same_groups
from mcp_reflect.bank.standing import Rates
from mcp_reflect.models.common import RULES
from mcp_reflect.models.consolidation import Archiving, DreamPlan, Merge
from mcp_reflect.models.lesson import Lesson, Trust

# Where nobody ever proved anything, an agent's own word is enough to archive (not to hide): shown so often, and of so
# little use by its own account.
OFTEN: Final = 8
LITTLE: Final = 0.25


def planned(
    records: Sequence[Lesson], rates: Rates, tied: Mapping[str, tuple[str, ...]], stop: Stop = lambda: False
) -> DreamPlan:
    """The plan of rules alone; `tied` says which records are tied as similar already."""
    useless = {record.id: reason for record in records if (reason := useless_reason(record, rates))}
    groups = same_groups((record for record in records if record.id not in useless), stop)
    found = clusters([group[0] for group in groups], stop)
    pairs = [(cluster[0].id, member.id) for cluster in found for member in cluster[1:]]
    return DreamPlan(
        looked_at=len(records),
        clusters=tuple(tuple(member.id for member in cluster) for cluster in found),
        ties=tuple(pair for pair in pairs if pair[1] not in tied.get(pair[0], ())),
        merges=tuple(
            Merge(keep=group[0].id, gone=tuple(one.id for one in group[1:]), reason="the same in other words")
            for group in groups
            if len(group) > 1
        ),
        archivings=tuple(Archiving(id=name, reason=reason) for name, reason in useless.items()),
        thinker=RULES,
    )


def may_archive(record: Lesson) -> bool:
    """Whether a record may be archived by itself at all."""
    return record.importance < NEVER_FROM and record.trust is not Trust.TRUSTED


def useless_reason(record: Lesson, rates: Rates) -> str | None:
    """Why a record has proved useless, null where it has not."""
    if not may_archive(record):
        return None
    if rates.harmful(record):
        return "its outcomes prove that it does more harm than good"
    tried = record.times_applied >= OFTEN and record.effectiveness is not None
    if tried and record.proof == 0 and (record.effectiveness or 0.0) < LITTLE:
        return f"shown {record.times_applied} times and of no use by its agents' own account"
    return None
