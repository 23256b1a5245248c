"""A team's service whose replicas, connections and database end under load, and tenants that call it at random.

Short forms of `python -m benchmarks.team faults` and `python -m benchmarks.tenants`; `.ci/postgres` runs them.
"""

import pytest

pytestmark = pytest.mark.postgresql


def test_no_acknowledged_store_is_lost_and_no_call_fails_while_replicas_and_connections_end() -> (
    None
):
    from benchmarks import team  # noqa: PLC0415 - few test environments have psycopg

    words = "faults --lessons 100 --clients 6 --kills 8 --cuts 4 --seconds 300"
    outcome = team.break_it(team.arguments(words.split()))
    assert (outcome.kills, outcome.lost, outcome.refused) == (8, [], [])
    assert outcome.cuts > 0
    assert outcome.stored > 0


def test_no_answer_crosses_between_tenants_with_the_same_ids_and_texts() -> None:
    from benchmarks import tenants  # noqa: PLC0415 - same

    outcome = tenants.compare(10, 400, 6)
    assert (outcome.crossed, outcome.wrong, outcome.foreign) == ([], [], 0)
    assert outcome.own > 100
