"""Relax, rewrite or pivot: from the diagnosis, what failed already, and what has paid off in this bank."""

import hashlib
from typing import Final

from mcp_reflect.models.search import Diagnosis, Kind, Payoff, Plan, SearchState, Strategy

EXPLORE: Final = 0.1
"""Share of choices that take the second best, so that a strategy that had bad luck gets another chance."""

_PRIOR: Final = 4.0
"""How many observed plans weigh as much as our own expectation; below it, luck decides too much."""

_FAILED: Final = 0.5
"""A strategy that just failed in this search counts half."""


def choose(diagnosis: Diagnosis, state: SearchState, last: Plan | None = None) -> tuple[Strategy, ...]:
    """All three strategies, the best first. The same search and retry always give the same order."""
    weights = {strategy: _weight(strategy, diagnosis) for strategy in Strategy}
    values = {
        strategy: weights[strategy]
        * _learned(diagnosis.kind, strategy, state.payoffs)
        * (_FAILED if last is not None and last.strategy is strategy else 1.0)
        for strategy in Strategy
    }
    order = sorted(Strategy, key=lambda strategy: (-values[strategy], strategy))
    if _chance(state) < EXPLORE and values[order[1]] > 0 and _is_learned(diagnosis.kind, state.payoffs):
        order[0], order[1] = order[1], order[0]
    return tuple(order)


def _weight(strategy: Strategy, diagnosis: Diagnosis) -> float:
    """The heaviest finding for a strategy in 0..1; the others add a tenth, so that two hints beat one."""
    found = sorted((finding.weight for finding in diagnosis.findings if finding.strategy is strategy), reverse=True)
    return min(1.0, found[0] + 0.1 * sum(found[1:3])) if found else 0.05


def _learned(kind: Kind, strategy: Strategy, payoffs: tuple[Payoff, ...]) -> float:
    """1 without experience; up to 2 where a strategy always paid off for this kind, towards 0 where it never did."""
    used = sum(payoff.used for payoff in payoffs if (payoff.kind, payoff.strategy) == (kind, strategy))
    paid = sum(payoff.paid for payoff in payoffs if (payoff.kind, payoff.strategy) == (kind, strategy))
    return 2.0 * (min(paid, used) + _PRIOR / 2) / (max(used, 0) + _PRIOR)


def _is_learned(kind: Kind, payoffs: tuple[Payoff, ...]) -> bool:
    return any(payoff.kind is kind and payoff.used > 0 for payoff in payoffs)


def _chance(state: SearchState) -> float:
    """A number in 0..1 that belongs to this search and retry."""
    digest = hashlib.sha256(f"{state.search_id}/{state.retry_count}".encode()).digest()
    return int.from_bytes(digest[:6]) / 2**48
