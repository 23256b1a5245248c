"""A call that works after the same act failed, where other work or another form of the call made it work.

`git push` failed ("no upstream branch"), and `git push -u origin main` worked: that is hard-won. A call that fails and
works when it is made again is not: it failed by chance.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from mcp_reflect.models.finding import Finding, FindingKind, SessionCall
from mcp_reflect.patterns import lazy_compile
from mcp_reflect.sessions.acts import (
    SessionAct,
    acts_of,
    changes_something,
    ends_with_look,
    is_edit,
    normalized,
    waits,
)
from mcp_reflect.sessions.found import finding_of
from mcp_reflect.sessions.tools import command_of
from mcp_reflect.sessions.word_tables import word_set

NEAR: Final = 12
"""The most calls between a failure and the call that worked: further apart they have little to do with each other."""

_WORDS_FOR_SAME_ACT: Final = (
    2  # words of a command by which it is known under another name of its subcommand
)
TRIES: Final = 2  # failures of a test or build, after which its success after an edit is hard-won
_MOST_ACTS: Final = 20  # of a call that are compared by their words

_HALF: Final = 0.5  # the share of the words of an object that two calls have in common
_WORD: Final = re.compile(r"[^\W_]+")
_HOST: Final = re.compile(r"\w{1,20}://([^/\s?#]+)")
_MENDING: Final = word_set("--fix --write --unsafe --autofix --apply --in-index")
_QUOTES: Final = str.maketrans("", "", "\"'`\\")
_NO_PROGRAM: Final = lazy_compile(r"(?i)command not found|not recognized|not installed")
_NOT_THERE_YET: Final = lazy_compile(
    r"(?i)timed? ?out|connection refused|connect to|ECONNREFUSED|not ready|unreachable|unavailable|still \w+ing"
)


def worked_later(before: Sequence[SessionCall], call: SessionCall) -> Finding | None:
    """Return the finding that `call` completes, None for none: an act of it failed in one of the calls before.

    The nearest failed call is looked at first. A program's own check (`shopctl check`) is no act here: `turned_check` is
    for it, and what it says tells nothing of the act beside it.
    """
    if call.says_no or call.expected:
        return None
    acts = {act.name: act for act in acts_of(call) if not (act.is_idle or act.is_own_check)}
    first_near = max(len(before) - NEAR, 0)
    for index in reversed(range(first_near, len(before))):
        failed = before[index]
        between = before[index + 1 :]
        made_again = _acts_made_again(failed, acts)
        if not made_again:
            if _is_replaced_by_another_program(failed, acts_of(call)):
                return finding_of(
                    FindingKind.WORKED, acts_of(failed)[-1].name, failed=failed, worked=call
                )
            continue
        if _has_worked(between, failed):
            return None
        for act, again in made_again:
            tries = _Tries(
                before=before, failed=failed, act=act, between=between, call=call, again=again
            )
            if _is_hard_won(tries):
                line = _line_of_failure(failed, call)
                return finding_of(
                    FindingKind.WORKED, act.name, failed=failed, worked=call, line=line
                )
    return None


def _line_of_failure(failed: SessionCall, worked: SessionCall) -> str:
    """Return the line of the failed call, empty where another program in that call may have printed it."""
    programs_that_work = {act.program for act in acts_of(worked)}
    if all(act.program in programs_that_work for act in acts_of(failed)):
        return failed.line
    return ""


def works_in_place_of(failed: SessionCall, worked: SessionCall) -> bool:
    """Return whether a call does an act of a failed one in another form: `git push -u origin main` for `git push`."""
    if worked.says_no:
        return False
    acts = {act.name: act for act in acts_of(worked) if not act.is_idle}
    return any(
        _works_in_other_form(act, again, failed) for act, again in _acts_made_again(failed, acts)
    )


def _works_in_other_form(act: SessionAct, again: SessionAct, failed: SessionCall) -> bool:
    """Return whether the form of an act is why it then worked; the first row that fits decides.

    | the act                    | its other form is why                                                             |
    |----------------------------|-----------------------------------------------------------------------------------|
    | is a test or a build       | where its folder or setup is another one, or the error asked for a flag that it has |
    | is a program's own check   | never: what it checks has changed                                                 |
    | is the same                | never                                                                             |
    | is any other               | where it is about the same object                                                 |

    A test that passes later in another form alone may have been mended in between.
    """
    if act.is_test:
        is_moved = (act.folder, act.setup) != (again.folder, again.setup)
        has_flag_of_error = any(flag in failed.line for flag in again.flags - act.flags)
        return (is_moved or has_flag_of_error) and _covers(act, again)
    if act.is_own_check or _is_same(act, again):
        return False
    return _is_alike(act, again, failed)


class _ActMadeAgain(NamedTuple):
    """An act of a failed call, and the act of a later call that does the same."""

    act: SessionAct
    again: SessionAct


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tries:
    """An act that failed and worked later: `act` in the `failed` call, and `again` in the `call` that worked.

    `before` are all calls before the one that worked, `between` those of them after the failed one.
    """

    before: Sequence[SessionCall]
    failed: SessionCall
    act: SessionAct
    between: Sequence[SessionCall]
    call: SessionCall
    again: SessionAct

    @property
    def is_edited(self) -> bool:
        """True where a file was edited in between."""
        return any(is_edit(item) and not item.failed for item in self.between)

    @property
    def done(self) -> list[SessionCall]:
        """The calls between that may have changed something."""
        return [item for item in self.between if changes_something(item)]

    @property
    def is_done_first(self) -> bool:
        """True where the call that worked does something else before the act, in one line: `npm ci && npm test`."""
        failed_acts = {(act.name, act.operands, act.flags) for act in acts_of(self.failed)}
        acts = acts_of(self.call)
        acts_before = acts[: acts.index(self.again)]
        return any((act.name, act.operands, act.flags) not in failed_acts for act in acts_before)


def _acts_made_again(failed: SessionCall, acts: Mapping[str, SessionAct]) -> list[_ActMadeAgain]:
    """Return the acts of a failed call that are made again, each with the one among `acts` (by name) that does the same.

    Which act of a line failed is not known, so that the last one comes first, and a program's own checks at the end.
    Where an act is not made again, those before it in the line are left out: that a part of the line works says nothing
    of the rest.
    """
    is_output_of_another = not failed.failed and ends_with_look(failed)
    if not failed.says_no or failed.expected or is_output_of_another:
        return []
    made_again: list[_ActMadeAgain] = []
    for act in reversed(acts_of(failed)):
        again = _same_act(act, acts)
        if again is not None:
            made_again.append(_ActMadeAgain(act, again))
        elif not act.is_own_check:
            break
    return sorted(made_again, key=lambda pair: pair.act.is_own_check)


def _same_act(act: SessionAct, acts: Mapping[str, SessionAct]) -> SessionAct | None:
    """Return the act of the same name, else that of the same program with all of its words; None for none.

    A flag in front may hide the subcommand: `systemctl --user restart indexer` does what `systemctl restart indexer` does.
    """
    if act.name in acts:
        return acts[act.name]
    if len(act.words) < _WORDS_FOR_SAME_ACT or len(acts) > _MOST_ACTS:
        return None
    for other in acts.values():
        if other.program == act.program and act.words <= other.words:
            return other
    return None


def _is_replaced_by_another_program(failed: SessionCall, acts: Sequence[SessionAct]) -> bool:
    """True where the program of a failed call was not there, and another one did the same: `pnpm install` for `npm install`.

    The same letters in another order are a slip of the fingers, which teaches nothing: `gti status`.
    """
    if not failed.failed or failed.expected or not _NO_PROGRAM.search(failed.line):
        return False
    failed_acts = acts_of(failed)
    if not failed_acts or not failed_acts[-1].words:
        return False
    absent = failed_acts[-1]
    for other in acts:
        is_slip_of_fingers = sorted(absent.program) == sorted(other.program)
        if absent.words <= other.words and not is_slip_of_fingers:
            return True
    return False


def _has_worked(between: Sequence[SessionCall], failed: SessionCall) -> bool:
    """True where the failed call itself worked in the meantime, so that the call which works now is other work."""
    return any(
        not call.says_no and normalized(call.arguments) == normalized(failed.arguments)
        for call in between
    )


def _is_hard_won(tries: _Tries) -> bool:
    """Return whether an act was hard-won; the first row that fits decides.

    | the act that worked                        | is hard-won where                                          |
    |--------------------------------------------|------------------------------------------------------------|
    | was only waited for                        | never                                                      |
    | has other quotes in a shell                | always: the shell did not read the failed ones             |
    | is the same                                | something was done before it (`_was_prepared`)             |
    | is a test, and files were edited           | something was done before it                               |
    | is a test in another form                  | it does all that the failed run did                        |
    | is a program's own check in another form   | never                                                      |
    | is another act in another form             | it is about the same object (`_is_alike`)                  |
    """
    if _was_waited_for(tries.failed, (*tries.between, tries.call)):
        return False
    if _has_other_quotes(tries.failed, tries.call):
        return True
    act, again = tries.act, tries.again
    if _is_same(act, again):
        return tries.failed.failed and _was_prepared(tries)
    if act.is_test and tries.is_edited:
        return _was_prepared(tries)
    if act.is_test:
        return _covers(act, again)
    return not act.is_own_check and _is_alike(act, again, tries.failed)


def _is_same(act: SessionAct, again: SessionAct) -> bool:
    """True for the same act of the same program; how the output of a command is cut makes no difference."""
    same_program = act.program == again.program
    return same_program and replace(act, part=None) == replace(again, part=None)


def _has_other_quotes(failed: SessionCall, worked: SessionCall) -> bool:
    """True for the same command in other quotation marks: a parser reads the same words, but the shell refused them."""
    one, other = command_of(failed.arguments), command_of(worked.arguments)
    if one is None or other is None or not failed.failed:
        return False
    return one != other and one.translate(_QUOTES) == other.translate(_QUOTES)


def _was_waited_for(failed: SessionCall, later: Sequence[SessionCall]) -> bool:
    """Return whether something was only not there yet ("connection refused"), and the agent waited for it (`sleep 5`)."""
    return bool(_NOT_THERE_YET.search(failed.line)) and any(map(waits, later))


def _was_prepared(tries: _Tries) -> bool:
    """True where something was done before the act worked; else it failed by chance.

    | the act that failed                            | was prepared where                                          |
    |------------------------------------------------|-------------------------------------------------------------|
    | is an edit, which never fails by chance        | any call stands between, be it a look at the file           |
    | is a test, and all that was done are edits     | it failed TRIES times: one edit is the normal course of work |
    | is any other                                   | something was done between, or before it in the same line   |
    """
    if is_edit(tries.failed):
        return bool(tries.between)
    done = tries.done
    if tries.act.is_test and done and all(is_edit(item) or _mends(item) for item in done):
        return _failures_in_a_row(tries.before, tries.act) >= TRIES
    return bool(done) or tries.is_done_first


def _mends(call: SessionCall) -> bool:
    """True for linters and formatters that change the files themselves (`ruff check --fix`), which is as good as an edit."""
    acts = acts_of(call)
    return bool(acts) and all(act.is_test and not _MENDING.isdisjoint(act.flags) for act in acts)


def _failures_in_a_row(before: Sequence[SessionCall], act: SessionAct) -> int:
    """Count the failures of an act in its folder since a call of it last worked."""
    count = 0
    for call in reversed(before):
        same_acts = [other for other in acts_of(call) if other.name == act.name]
        if not same_acts:
            continue
        if not call.failed:
            break
        if same_acts[0].folder == act.folder:
            count += 1
    return count


def _covers(act: SessionAct, again: SessionAct) -> bool:
    """True where the run of a test that worked does all that the failed one did: a smaller run proves nothing.

    `again` is the one that worked. A linter that was told to mend what it finds is the normal course of work, and
    teaches nothing.
    """
    same_folder = act.folder == again.folder or not act.folder
    is_mending = not _MENDING.isdisjoint(again.flags - act.flags)
    is_no_smaller = act.operands <= again.operands and act.flags <= again.flags
    return same_folder and is_no_smaller and not is_mending


def _is_alike(act: SessionAct, again: SessionAct, failed: SessionCall) -> bool:
    """True for an act on the same object: on another one, it is other work; the first row that fits decides.

    | the operands of both acts                                | same object                             |
    |----------------------------------------------------------|-----------------------------------------|
    | name hosts, and none that is the same                    | no                                      |
    | are all there again, or one of them is                   | yes                                     |
    | are of acts with different names                         | yes: all words are there (`_same_act`)  |
    | are different, after a search that only found nothing    | if they are as many: it is another try  |
    | are different, after a failure                           | if half of their words are the same     |
    """
    hosts, other_hosts = _hosts_in(act), _hosts_in(again)
    if hosts and other_hosts and hosts.isdisjoint(other_hosts):
        return False
    if act.operands <= again.operands or act.operands & again.operands:
        return True
    if act.name != again.name:
        return True
    if not failed.failed:
        return len(act.operands) == len(again.operands)
    one, other = _words_of(act), _words_of(again)
    return len(one & other) >= min(len(one), len(other)) * _HALF > 0


def _hosts_in(act: SessionAct) -> set[str]:
    """Return the hosts of the addresses among the operands of an act."""
    matches = (_HOST.match(word) for word in act.operands)
    return {match[1] for match in matches if match is not None}


def _words_of(act: SessionAct) -> set[str]:
    """Return the words in the operands of an act, in one case."""
    return set(_WORD.findall(" ".join(act.operands).casefold()))
