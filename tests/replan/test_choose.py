from dataclasses import replace

from mcp_reflect.models.search import EmptyCause, Payoff, SearchDiagnosis, SearchFinding, SearchState, Strategy
from mcp_reflect.replan.planner import EXPLORE, choose, plan
from tests.replan.samples import empty_state, request

_RELAX, _REWRITE = (
    SearchFinding(kind=EmptyCause.THRESHOLD, table="t", strategy=Strategy.RELAX, weight=0.6, detail=""),
    SearchFinding(kind=EmptyCause.JARGON, table="t", strategy=Strategy.REWRITE, weight=0.5, detail=""),
)
_BOTH = SearchDiagnosis(findings=(_RELAX, _REWRITE))


def _state(number: int = 0, *payoffs: Payoff) -> SearchState:
    return SearchState(search_id=f"search-{number}", payoffs=payoffs)


def test_without_experience_the_heaviest_finding_decides_always() -> None:
    assert {choose(_BOTH, _state(number))[0] for number in range(200)} == {Strategy.RELAX}


def test_what_never_paid_off_gives_way_to_what_did() -> None:
    bad = Payoff(kind=EmptyCause.THRESHOLD, strategy=Strategy.RELAX, used=10, paid=0)
    good = Payoff(kind=EmptyCause.THRESHOLD, strategy=Strategy.REWRITE, used=10, paid=9)
    chosen = [choose(_BOTH, _state(number, bad, good))[0] for number in range(200)]
    assert chosen.count(Strategy.REWRITE) > 150


def test_experience_with_another_kind_changes_nothing() -> None:
    other = Payoff(kind=EmptyCause.JARGON, strategy=Strategy.RELAX, used=50, paid=0)
    assert choose(_BOTH, _state(1, other))[0] is Strategy.RELAX


def test_exploration_takes_about_a_tenth_and_is_reproducible() -> None:
    good = Payoff(kind=EmptyCause.THRESHOLD, strategy=Strategy.RELAX, used=10, paid=9)
    chosen = [choose(_BOTH, _state(number, good))[0] for number in range(1000)]
    assert chosen == [choose(_BOTH, _state(number, good))[0] for number in range(1000)]
    explored = sum(strategy is not Strategy.RELAX for strategy in chosen)
    assert 0.5 * EXPLORE < explored / 1000 < 1.5 * EXPLORE


def test_a_strategy_that_just_failed_in_this_search_counts_half() -> None:
    last = replace(plan(request(), empty_state()), strategy=Strategy.RELAX)
    assert choose(_BOTH, _state(), last)[0] is Strategy.REWRITE


def test_learned_payoffs_reach_the_plan() -> None:
    kind = plan(request(), empty_state()).diagnosis.kind
    payoffs = (
        Payoff(kind=kind, strategy=Strategy.REWRITE, used=40, paid=0),
        Payoff(kind=kind, strategy=Strategy.RELAX, used=40, paid=40),
    )
    plans = [plan(request(), SearchState(search_id=f"s{n}", payoffs=payoffs)).strategy for n in range(30)]
    assert plans.count(Strategy.RELAX) > 20
