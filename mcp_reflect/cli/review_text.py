"""Show what waits for a person's decision, all of it, with the texts from outside as quotations."""

from mcp_reflect.cli.finding_text import text_of
from mcp_reflect.cli.lesson_text import lines_in_question
from mcp_reflect.cli.output import quotation, write_line
from mcp_reflect.cli.review_decisions import Item
from mcp_reflect.models.lesson import Lesson
from mcp_reflect.models.proposal import changes_of, guard_words
from mcp_reflect.services.ground import STILL_TRUE
from mcp_reflect.services.proposals import wish_of
from mcp_reflect.services.reviews import Proposed
from mcp_reflect.services.roots import Doubted
from mcp_reflect.text.one_line import one_line


def show(item: Item) -> None:
    """Print what waits, with its evidence."""
    if isinstance(item, Proposed):
        _show_proposal(item)
        return
    if isinstance(item, Doubted):
        write_line("\n".join(lines_in_question(item.lesson)))
        write_line(f"{item.lesson.id}: {one_line(item.told)}: {STILL_TRUE}\n")
        return
    if isinstance(item, Lesson):
        reason = one_line(item.held or "an agent stored it, and nobody has looked at it")
        write_line("\n".join(lines_in_question(item)))
        write_line(f"{item.id} ({item.kind}, from {item.source}): {reason}\n")
        return
    write_line(text_of(item.id, item))


def _show_proposal(item: Proposed) -> None:
    """Print what an agent wants of a lesson: the lesson, all that would change, and the wish last, above the question."""
    lesson, proposal = item.lesson, item.proposal
    write_line(f"The lesson {lesson.id}, which you keep:")
    write_line(quotation(lesson.text))
    write_line(f"Its guard:\n{quotation(guard_words(lesson))}")
    for change in changes_of(lesson, proposal.kind, proposal.body):
        name = change.field.replace("_", " ")
        write_line(f"{name} now:\n{quotation(change.before or 'none')}")
        write_line(f"{name} then:\n{quotation(change.after or 'none')}")
    write_line(f"The agent's reason:\n{quotation(proposal.reason)}")
    write_line(f"{proposal.id}: an agent wants to {wish_of(proposal.kind)}.\n")
