"""Linear equations in one unknown: each must keep the solution of the one it was made from."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from mcp_reflect.critique.checks.arithmetic.chains import Chain
from mcp_reflect.critique.checks.arithmetic.evaluator import PLAIN, evaluate
from mcp_reflect.critique.checks.arithmetic.linear import Linear, UnknownError
from mcp_reflect.critique.checks.arithmetic.rounding import Match, matches
from mcp_reflect.critique.checks.arithmetic.syntax import Parsed, Var
from mcp_reflect.critique.checks.arithmetic.tokens import Kind, words
from mcp_reflect.critique.checks.arithmetic.writing import fix_of, plain_text
from mcp_reflect.critique.checks.checker import Finding
from mcp_reflect.models.critique import Status

# One equation follows from the one before only where nothing but these words stands between them.
_CONNECTING = words(
    "so then therefore thus hence which gives give we get have and subtract subtracting add adding divide dividing "
    "multiply multiplying both sides side by from to the simplify simplifying simplifies simplified combine combining "
    "like terms term solve solving for it is means that this implies yields isolate isolating move moving left right "
    "equation numbers number result results obtain find finally now first next step expand expanding distribute "
    "distributing collect collecting constant constants rearrange rearranging leaves leaving becomes reduces each "
    "cancel cancelling on us in of value answer unknown variable minus plus times through out frac text quad let's "
    "rightarrow implies iff"
)
_WORDS = re.compile(r"[^\W\d_][\w'’]*")
_MAX_BETWEEN = 400  # characters
_MAX_SOLUTIONS = 6


@dataclass(slots=True)
class _Thread:
    """The equations in one unknown that follow from one another.

    The first of `solutions` is theirs; those of earlier threads come behind it, since `2x = 6 or 2x = 12,
    so x = 3` goes back to one.
    """

    solutions: list[Fraction]
    step: int
    end: int
    solved: bool  # the last was `x = number`


@dataclass(slots=True)
class Equations:
    """Follows the unknowns over the steps of a work."""

    steps: Sequence[str]
    _threads: dict[str, _Thread] = field(default_factory=dict[str, _Thread])

    def see(self, number: int, chain: Chain) -> Iterator[Finding]:
        """What is known of each equation of the chain that stands for itself."""
        for index in range(len(chain.relations)):
            finding = self._see(number, chain, index)
            if finding is not None:
                yield finding

    def _see(self, number: int, chain: Chain, index: int) -> Finding | None:
        members = chain.members[index : index + 2]
        names = {token.text for member in members for token in member.tokens if token.kind is Kind.NAME}
        if not names:
            return None
        left, right = members[0].left, members[1].right
        single = chain.relations[index] == "=" and stands_alone(chain, index)
        solved = _solve(left, right) if single and left is not None and right is not None else None
        if solved is None or left is None or right is None or left.unsure or right.unsure:
            for name in names:
                self._threads.pop(name, None)
            return None
        name, solution = solved
        found, behind = members[0].tokens, members[1].tokens
        start, end = found[left.start].start, behind[right.end - 1].end
        bare = isinstance(left.node, Var) and right.literal is not None
        thread = self._threads.get(name)
        if thread is None or (thread.solved and not bare) or not self._follows(thread, number, start):
            earlier = thread.solutions[: _MAX_SOLUTIONS - 1] if thread else []
            self._threads[name] = _Thread([solution, *earlier], number, end, bare)
            return None
        keeps = any(_same_solution(known, solution, right) for known in thread.solutions)
        finding = None
        if keeps:
            claim = self.steps[number - 1][start:end]
            finding = Finding(step=number, status=Status.PASS, claim=claim)
        elif not thread.solved:
            finding = self._failure(number, chain, index, thread, (start, end))
        if not keeps and len(thread.solutions) < _MAX_SOLUTIONS:
            thread.solutions.append(solution)  # what follows from a mistake is no second one
        thread.step, thread.end, thread.solved = number, end, bare
        return finding

    def _follows(self, thread: _Thread, number: int, start: int) -> bool:
        if number == thread.step:
            between = self.steps[number - 1][thread.end : start]
        else:
            parts = [self.steps[thread.step - 1][thread.end :], *self.steps[thread.step : number - 1]]
            between = " ".join([*parts, self.steps[number - 1][:start]])
        if len(between) > _MAX_BETWEEN or "?" in between or "±" in between:
            return False
        return all(len(word) == 1 or word.lower() in _CONNECTING for word in _WORDS.findall(between))

    def _failure(
        self, number: int, chain: Chain, index: int, thread: _Thread, place: tuple[int, int]
    ) -> Finding | None:
        step, (start, end) = self.steps[number - 1], place
        left, right = chain.members[index].left, chain.members[index + 1].right
        if left is None or right is None:
            return None
        solution, claim = thread.solutions[0], step[start:end]
        name = next(iter(evaluate(left.node, PLAIN).terms), None)
        fix = None
        if right.literal is not None and name is not None:
            try:
                wanted = evaluate(left.node, PLAIN)
                fix = fix_of(step, chain, index, right, wanted.constant + wanted.terms[name] * solution)
            except UnknownError:
                fix = None
        text = plain_text(solution)
        return Finding(
            step=number,
            status=Status.FAIL,
            claim=claim,
            expected=fix.text if fix else text,
            detail=f"{claim[:200]}: the equation before it holds for {name or 'the unknown'} = {text}",
            fix=fix,
        )


def stands_alone(chain: Chain, index: int) -> bool:
    """Whether the relation is no link of a longer chain: `2x = 4, x = 2`, but not `y = 2x = 4`."""
    first, second = chain.members[index], chain.members[index + 1]
    joined_before = index > 0 and first.left is first.right
    joined_behind = index + 1 < len(chain.relations) and second.left is second.right
    return not (joined_before or joined_behind)


def _solve(left: Parsed, right: Parsed) -> tuple[str, Fraction] | None:
    """The unknown and its one value, where the two sides make a linear equation in one unknown."""
    try:
        a, b = evaluate(left.node, PLAIN), evaluate(right.node, PLAIN)
        apart = _minus(a, b)
    except (UnknownError, ZeroDivisionError):
        return None
    if len(apart.terms) != 1 or apart.inexact:
        return None
    ((name, factor),) = apart.terms.items()
    return name, -apart.constant / factor


def _minus(a: Linear, b: Linear) -> Linear:
    names = a.terms.keys() | b.terms.keys()
    terms = {name: a.terms.get(name, Fraction(0)) - b.terms.get(name, Fraction(0)) for name in names}
    kept = {name: factor for name, factor in terms.items() if factor}
    return Linear(a.constant - b.constant, kept, a.inexact or b.inexact)


def _same_solution(known: Fraction, solution: Fraction, right: Parsed) -> bool:
    if known == solution:
        return True
    literal = right.literal
    decimals = literal[0].decimals if literal else 0
    about = known.denominator != 1 or solution.denominator != 1
    return about and matches(known, solution, decimals, inexact=False, about=False) is not Match.NO
