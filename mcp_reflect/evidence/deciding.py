"""Which lines of the outputs could decide a claim: of the right kind of call, and bound to the claim by what it names.

A claim that something was changed is decided by edits, one on how something ended by the newest run of its kind, any other
by a line that says so. Where nothing binds, nothing is shown.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from mcp_reflect.evidence.bound_lines import (
    Binding,
    BoundLine,
    choose_lines,
    with_leading_lines,
)
from mcp_reflect.evidence.claim_terms import ClaimTerms, DecidedBy
from mcp_reflect.evidence.kinds import CHECKS
from mcp_reflect.evidence.newest import NewestOutputs
from mcp_reflect.evidence.outputs import ERROR, MOST_FORM, Output
from mcp_reflect.evidence.result_lines import leading_line, result_lines
from mcp_reflect.evidence.roles import HISTORY, MENDED, RAN
from mcp_reflect.evidence.word_lists import pattern_of

_MOST_COMPARED: Final = 200  # outputs that are compared with a claim
_LEAST_COMPARED: Final = 12  # the same beside very many claims
_COMPARED_IN_ALL: Final = 600  # outputs that are compared with all claims together
_FEW_CLAIMS: Final = 3
_LINES_OF_FEW: Final = 40  # lines of an output that are compared with each of few claims
_LINES_OF_MANY: Final = 10

# What counts for a line beside what it shares.
_FOR_LAST_OUTPUT: Final = 0.3
_FOR_ONE_BEFORE: Final = 0.6  # of what the output after it counts for
_FOR_NAMED_LINE: Final = 0.5
_FOR_EMPTY_OUTPUT: Final = 1.0

_FEW_LINES: Final = 6  # lines of an output that answers as a whole
_VERY_FEW_LINES: Final = 3
_LEAST_OF_RESULT: Final = (
    0.3  # the part of a claim on how something ended that the command of a run shares
)
_LEAST_OF_OTHER: Final = 0.5  # the same of any other claim
_NEARLY: Final = 0.8  # the part of the largest share with which a newer run is preferred

_VALUES: Final = tuple(
    (pattern_of(f"{name} words", "claim_kinds"), pattern_of(f"{name} lines", "claim_kinds"))
    for name in ("coverage", "flag", "push", "state")
)
"""Values that outputs write in a form of their own: how a claim calls them, and the lines that have them."""

_EXTENT_WORDS: Final = pattern_of("extent words", "claim_kinds")
_EXTENT: Final = pattern_of("extent lines", "claim_kinds")
"""What a commit or a diff covers: how a claim says it, and the line that counts it."""

_RAN_SCRIPT: Final = pattern_of("script words", "claim_kinds")
_SCRIPT: Final = pattern_of("script commands", "claim_kinds")
"""How a claim says that a script was run, and the commands that run one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """How much is compared with a claim: how many outputs of one kind, and lines of each. All claims have one second."""

    outputs: int
    lines: int

    @classmethod
    def of(cls, claims: int) -> "Effort":
        """Return the effort for each of so many claims."""
        for_each = _COMPARED_IN_ALL // max(1, claims)
        outputs = max(_LEAST_COMPARED, min(_MOST_COMPARED, for_each))
        lines = _LINES_OF_FEW if claims <= _FEW_CLAIMS else _LINES_OF_MANY
        return cls(outputs=outputs, lines=lines)


class DecidingOutputs:
    """The outputs of a session, as they decide claims."""

    def __init__(self, outputs: Sequence[Output], effort: Effort) -> None:
        """Take the outputs, oldest first, of each that repeats another one only the newest."""
        self._outputs = outputs
        self._effort = effort
        self._newest = NewestOutputs(outputs)
        self._last = max((output.number for output in outputs), default=0)

    def status_of(self, output: Output) -> str | None:
        """Return what the lines of an output do not say of it."""
        return self._newest.status_of(output)

    def lines_for(self, claim: ClaimTerms, most: int) -> list[BoundLine]:
        """Return the few lines that could decide a claim, those of the first kind of output that binds."""
        if claim.is_open:
            return []
        lines: list[BoundLine] = []
        for kind in claim.decided_by:
            lines = self._lines_of(kind, claim)
            if lines:
                break
        chosen = choose_lines(lines, claim, most)
        return with_leading_lines(chosen, self._leading(chosen, claim), most)

    def _leading(self, chosen: Sequence[BoundLine], claim: ClaimTerms) -> Iterator[BoundLine]:
        """Yield of each output with a chosen line the one that says how it ended."""
        for output in {line.output.number: line.output for line in chosen}.values():
            index = leading_line(output, claim)
            if index is not None:
                bound = self._bound(claim, output, {index: 1.0})
                yield from (line for line in bound if line.place == index)

    def _lines_of(self, kind: DecidedBy, claim: ClaimTerms) -> list[BoundLine]:
        """Return the lines of outputs of a kind that are bound to a claim."""
        if kind is DecidedBy.CHANGE:
            return list(self._changes(claim))
        if kind is DecidedBy.RESULT:
            return list(self._results(claim))
        return list(self._texts(claim))

    def _changes(self, claim: ClaimTerms) -> Iterator[BoundLine]:
        """Yield the lines that decide a claim on a change; the first row that fits decides.

        | the outputs                                        | the lines                                                 |
        |----------------------------------------------------|-----------------------------------------------------------|
        | end with an edit that was rejected                 | of that edit                                              |
        | have edits of a file that the claim names          | of these edits; where none is bound, that there was one   |
        | are any other                                      | of all edits, of the removal of what the claim names, and |
        |                                                    | of commits, where the claim is on these or no edit is bound |
        """
        last = self._outputs[-1] if self._outputs else None
        if last is not None and last.is_rejected:
            yield from self._bound(claim, last, dict(result_lines(last, claim)))
            return
        edits = [output for output in self._outputs if output.is_edit or output.is_rejected]
        edits = self._likeliest(edits, claim)
        edits_of_file = [output for output in edits if _is_of_named_file(output, claim)]
        if edits_of_file:
            yield from self._changes_of_file(edits_of_file, claim)
            return
        lines = [line for output in edits for line in self._change(claim, output)]
        yield from lines
        removals = self._newest.removals_of(claim)
        for output in self._outputs:
            if output.number in removals:
                yield from self._removal(claim, output)
            elif HISTORY in output.roles and (claim.speaks_of_history or not lines):
                yield from self._change(claim, output)

    def _changes_of_file(self, edits: Sequence[Output], claim: ClaimTerms) -> list[BoundLine]:
        """Return the lines of the edits of a file; where none is bound to the claim, that the last edit was made."""
        lines = [line for output in edits for line in self._change(claim, output)]
        if lines:
            return lines
        return [BoundLine(edits[-1], None, _FOR_EMPTY_OUTPUT, tells_result=True)]

    def _removal(self, claim: ClaimTerms, output: Output) -> list[BoundLine]:
        """Return what a removal printed about the claim; of one that printed nothing, that it did."""
        if output.is_empty:
            return [BoundLine(output, None, _FOR_EMPTY_OUTPUT, tells_result=True)]
        return self._bound(claim, output)

    def _change(self, claim: ClaimTerms, output: Output) -> list[BoundLine]:
        """Return the lines of a change that are bound to a claim, those that it wrote; of a commit with what it sums up.

        An edit that was rejected, and not made again, says why, if its words are those of the claim.
        """
        if output.is_rejected:
            shared = set(filter(claim.tells, _in_command(output, claim)))
            is_about_claim = len(shared) > 1 or any(map(claim.is_name, shared))
            if not is_about_claim:
                return []
            return self._bound(claim, output, dict(result_lines(output, claim)))
        lines = self._bound(claim, output)
        if lines and HISTORY in output.roles:
            return self._bound(claim, output, dict(result_lines(output, claim)))
        written = [line for line in lines if line.place in output.written_places]
        return written or lines

    def _results(self, claim: ClaimTerms) -> Iterator[BoundLine]:
        """Yield how the runs ended of which the claim speaks, and the values that they print; the first row decides.

        | the claim                                               | the lines                                              |
        |---------------------------------------------------------|--------------------------------------------------------|
        | speaks of trouble, and the last output has some         | of the last output                                     |
        | says what a commit or a diff covers                     | of the newest one that counts it, and of other runs    |
        | is any other                                            | of the runs that it speaks of, and the values in them  |
        """
        if self._outputs and self._is_answered_by_last(claim, self._outputs[-1]):
            last = self._outputs[-1]
            yield from self._bound(claim, last, dict(result_lines(last, claim)))
            return
        runs = self._runs_of(claim)
        if claim.speaks_of_history and _EXTENT_WORDS.search(claim.text):
            extent = self._extent()
            if extent is not None:
                yield from self._bound(claim, extent.output, extent.results)
                runs = [run for run in runs if HISTORY not in run.roles]
        values = {value.output.number: value for value in self._values(claim)}
        for output in {run.number: run for run in runs}.values():
            if output.is_empty:
                continue
            results = dict(result_lines(output, claim))
            if output.number in values:
                results |= values.pop(output.number).results
            yield from self._bound(claim, output, results)
        for value in values.values():
            yield from self._bound(claim, value.output, value.results)

    def _extent(self) -> "_TellingOutput | None":
        """Return the newest commit or diff that counts its files and lines, with the line that does; None for none."""
        for output in reversed(self._outputs):
            if HISTORY not in output.roles:
                continue
            last_index = _last_match(_EXTENT, output)
            if last_index is not None:
                return _TellingOutput(output, {last_index: 1.0})
        return None

    def _texts(self, claim: ClaimTerms) -> Iterator[BoundLine]:
        """Yield the lines of any output that are bound to the claim, and those that it names by their numbers."""
        named = self._newest.named_lines(claim)
        asked = [
            output
            for output in self._outputs
            if not output.is_plan and (claim.speaks_of_history or not output.is_act_of_git)
        ]
        for output in self._likeliest(asked, claim):
            line_weights = dict.fromkeys(named.get(output.number, ()), _FOR_NAMED_LINE)
            is_short = len(output.lines) <= _FEW_LINES
            is_near = output.number == self._last and output.is_run and is_short
            yield from self._bound(claim, output, line_weights, is_near=is_near)

    def _likeliest(self, outputs: Sequence[Output], claim: ClaimTerms) -> Sequence[Output]:
        """Return the outputs that share most with a claim, as many as are compared with it, in their order."""
        if len(outputs) <= self._effort.outputs:
            return outputs
        shared = [
            sum(weight for term, weight in claim.weights.items() if term in output.terms)
            for output in outputs
        ]
        best = sorted(range(len(outputs)), key=lambda index: (-shared[index], -index))
        return [outputs[index] for index in sorted(best[: self._effort.outputs])]

    def _bound(
        self,
        claim: ClaimTerms,
        output: Output,
        results: dict[int, float] | None = None,
        *,
        is_near: bool = False,
    ) -> list[BoundLine]:
        """Return the lines of an output that are bound to a claim; the later it came, the more they count."""
        nearness = _FOR_LAST_OUTPUT * _FOR_ONE_BEFORE ** (self._last - output.number)
        binding = Binding(
            claim=claim,
            output=output,
            nearness=nearness,
            results=results or {},
            is_near=is_near,
            most=self._effort.lines,
        )
        return binding.lines()

    def _values(self, claim: ClaimTerms) -> Iterator["_TellingOutput"]:
        """Yield the newest run that prints a value of which the claim speaks, with the last line that has it."""
        for words, form in _VALUES:
            if not words.search(claim.text):
                continue
            for output in reversed(self._outputs):
                if not (output.is_run or HISTORY in output.roles):
                    continue
                last_index = _last_match(form, output)
                if last_index is not None:
                    yield _TellingOutput(output, {last_index: 1.0})
                    break

    def _runs_of(self, claim: ClaimTerms) -> list[Output]:
        """Return the runs of whose end a claim speaks, by the first of these rules that finds any.

        The newest of each kind that it names; of each role; the run that it names; a script; a command of git.
        """
        runs = (
            list(self._newest_of_kinds(claim))
            or list(self._newest_of_roles(claim.roles & {RAN, MENDED}))
            or self._named_run(claim)
            or self._run_of_script(claim)
        )
        if claim.speaks_of_history and not runs:
            return list(self._newest_of_roles({HISTORY}))
        return runs

    def _run_of_script(self, claim: ClaimTerms) -> list[Output]:
        """Return the newest run of a script, for a claim that says that one was run and names none."""
        if not _RAN_SCRIPT.search(claim.text):
            return []
        runs = [one for one in self._outputs if one.is_run and _SCRIPT.search(one.command)]
        return runs[-1:]

    def _newest_of_kinds(self, claim: ClaimTerms) -> Iterator[Output]:
        """Yield the newest run of each kind, and the newest whose command shares a word with the claim.

        A run that shows this kind above all stands before one that runs all checks.
        """
        for kind in claim.kinds:
            runs = [output for output in self._outputs if kind in output.roles]
            runs_of_kind_alone = [output for output in runs if not output.roles >= CHECKS] or runs
            yield from runs_of_kind_alone[-1:]
            named = [
                output
                for output in runs_of_kind_alone
                if any(map(claim.tells, _in_command(output, claim)))
            ]
            yield from named[-1:]

    def _newest_of_roles(self, roles: Iterable[str]) -> Iterator[Output]:
        """Yield the newest output of each role."""
        for role in roles:
            yield from [output for output in self._outputs if role in output.roles][-1:]

    def _named_run(self, claim: ClaimTerms) -> list[Output]:
        """Return the newest of the runs whose command shares most with the claim: its program, its file, its words.

        A claim that says how something ended, or has a number, is bound by a smaller part. None where no command shares
        enough.
        """
        shares: dict[int, float] = {}
        says_end = claim.speaks_of_result or claim.has_number
        for index, output in enumerate(self._outputs):
            if not self._may_answer(output, claim):
                continue
            shared = set(filter(claim.tells, _in_command(output, claim)))
            is_short = len(output.lines) <= _FEW_LINES and says_end
            is_named = any(map(claim.is_name, shared)) or bool(shared & output.programs)
            if is_short or is_named or len(shared) > 1:
                shares[index] = sum(claim.weights[term] for term in shared) / claim.whole
        largest = max(shares.values(), default=0.0)
        least = _LEAST_OF_RESULT if says_end else _LEAST_OF_OTHER
        if largest < least:
            return []
        nearly_largest = [index for index, share in shares.items() if share >= _NEARLY * largest]
        return [self._outputs[max(nearly_largest)]]

    def _may_answer(self, output: Output, claim: ClaimTerms) -> bool:
        """True for a run, for a look that answers in a few lines, and for git where the claim is on commits."""
        if HISTORY in output.roles:
            return claim.speaks_of_history
        is_answer = len(output.lines) <= _FEW_LINES and " " in output.command
        return output.is_run or (is_answer and not (output.is_edit or output.is_rejected))

    def _is_answered_by_last(self, claim: ClaimTerms, last: Output) -> bool:
        """True where the claim speaks of trouble and the last output has some: a work mostly speaks of what it saw last.

        That is an edit that was rejected, a run with an error, or a very short one that shares a word with the claim.
        """
        if last.is_empty or not claim.speaks_of_trouble:
            return False
        if last.is_rejected:
            return True
        if not last.is_run:
            return False
        if any(ERROR.search(line[:MOST_FORM]) for line in last.lines):
            return True
        shared = last.terms & claim.weights.keys()
        return len(last.lines) <= _VERY_FEW_LINES and any(map(claim.tells, shared))


class _TellingOutput(NamedTuple):
    """An output, with the indexes of the lines that tell what a claim says, each with how surely it does."""

    output: Output
    results: dict[int, float]


def _last_match(pattern: re.Pattern[str], output: Output) -> int | None:
    """Return the index of the last line that has a pattern, None where none has."""
    for index in reversed(range(len(output.lines))):
        if pattern.search(output.lines[index][:MOST_FORM]):
            return index
    return None


def _in_command(output: Output, claim: ClaimTerms) -> set[str]:
    """Return the terms of a claim that stand in the command of an output."""
    return output.tool_terms & claim.weights.keys()


def _is_of_named_file(output: Output, claim: ClaimTerms) -> bool:
    """True for an edit of a file that the claim names with its ending: "README.md", "src/cart.py"."""
    names = {term for term in claim.weights if term[0] == "=" and "." in term}
    return output.is_of_file and bool(names & output.tool_terms)
