from mcp_reflect.models.search import EmptyCause, Payoff, SearchState, Strategy
from mcp_reflect.replan.diagnosis import Finding, choose
from mcp_reflect.replan.planner import plan
from tests.replan.samples import empty_state, request

_BOTH = (
    Finding("t", EmptyCause.THRESHOLD, Strategy.RELAX, 0.6, ""),
    Finding("t", EmptyCause.UNKNOWN_WORDS, Strategy.REWRITE, 0.5, ""),
)


def test_without_experience_the_heaviest_finding_decides() -> None:
    assert choose(_BOTH, ())[0] is Strategy.RELAX


def test_what_never_paid_off_gives_way_to_what_did() -> None:
    bad = Payoff(kind=EmptyCause.THRESHOLD, strategy=Strategy.RELAX, used=10, paid=0)
    good = Payoff(kind=EmptyCause.THRESHOLD, strategy=Strategy.REWRITE, used=10, paid=9)
    assert choose(_BOTH, (bad, good))[0] is Strategy.REWRITE


def test_experience_with_another_kind_changes_nothing() -> None:
    other = Payoff(kind=EmptyCause.UNKNOWN_WORDS, strategy=Strategy.RELAX, used=50, paid=0)
    assert choose(_BOTH, (other,))[0] is Strategy.RELAX


def test_a_strategy_that_just_failed_in_this_search_counts_half() -> None:
    assert choose(_BOTH, (), Strategy.RELAX)[0] is Strategy.REWRITE


def test_learned_payoffs_reach_the_plan() -> None:
    kind = plan(request(), empty_state()).cause
    payoffs = (
        Payoff(kind=kind, strategy=Strategy.REWRITE, used=40, paid=0),
        Payoff(kind=kind, strategy=Strategy.RELAX, used=40, paid=40),
    )
    assert plan(request(), SearchState(search_id="s", payoffs=payoffs)).strategy is Strategy.RELAX
