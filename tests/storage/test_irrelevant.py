"""A lesson that did not fit a task fits similar tasks less; its worth stays."""

from mcp_reflect.models.lesson import Fit
from mcp_reflect.services.engine import Engine

TASK = "deploy the orders service on a Friday"
OTHER = "Friday: the release of the orders service failed at the gateway; choose a weekday to deploy the next version"
LESSON = {"mistake": "Deployed the orders service on a Friday", "correction": "Deploy the orders service on a Tuesday"}


async def test_a_lesson_that_did_not_fit_a_task_is_weak_for_similar_tasks_and_strong_for_others(engine: Engine) -> None:
    stored = await engine.store_lesson(**LESSON)
    recall = await engine.recall(task=TASK)
    assert recall.lessons[0].fit is Fit.STRONG
    outcome = await engine.record_outcome(recall_id=recall.recall_id, success="irrelevant")
    assert [lesson.id for lesson in outcome.updated] == [stored.lesson_id]
    (again,) = (await engine.recall(task="Deploy the orders service on Friday evening")).lessons
    assert (again.fit, again.effectiveness) == (Fit.WEAK, None)
    assert again.score < 0.5
    assert "did not fit a task like this" in again.why
    (other,) = (await engine.recall(task=OTHER)).lessons
    assert other.fit is Fit.STRONG
