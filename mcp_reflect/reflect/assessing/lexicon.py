"""The words by which a text judges: what it judges, how, how surely, and where it only asks, wishes or plans.

They are ordinary English of reviews and retrospectives, each with its forms; none is taken from a data set.
"""

import re
from typing import Final


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


DECISION_NOUNS: Final = _set("decision decisions choice choices judgement judgment selection")
DECISION_ACTS: Final = _set(
    "decided decide chose chosen choosing choose picked picking selected selecting keeping killing marrying keep "
    "kill marry assumed assuming opted"
)
EXECUTION_NOUNS: Final = _set(
    "execution executions implementation outcome result results run runs component tool tools job call calls retry "
    "merge deployment rollout command request query step steps attempt performance tests test it"
)
EXECUTION_ACTS: Final = _set("executed executing ran running called calling implemented edited carried deployed")

GOOD: Final = _set(
    "good right correct fine solid excellent great perfect better best strong ideal proper well flawless flawlessly "
    "smoothly perfectly correctly properly nicely adequate acceptable satisfactory"
)
BAD: Final = _set(
    "bad wrong incorrect poor poorly badly worse worst weak flawed inadequate unacceptable sloppy sloppily wrongly "
    "incorrectly improper problematic disappointing careless unsatisfactory"
)
GOOD_DECISION: Final = _set(
    "appropriate appropriately wise wisely sound justified reasonable sensible defensible suitable suited warranted "
    "prudent rational well-reasoned well-founded fitting"
)
BAD_DECISION: Final = _set(
    "inappropriate unwise unsound unjustified unreasonable unsuitable unwarranted mistake mistaken mistakenly "
    "premature misguided backfired hasty irrational ill-advised questionable misjudged misjudgement regrettable"
)
GOOD_EXECUTION: Final = _set(
    "effective effectively successful successfully succeeded succeeds succeed worked works work completed met meets "
    "delivered delivers deliver passed passes pass efficient efficiently achieved achieves achieve fulfilled smooth"
)
BAD_EXECUTION: Final = _set(
    "ineffective ineffectively unsuccessful unsuccessfully failed fails fail failing failure failures crashed crashes "
    "crash error errors broke broken breaks stuck missed misses miss inefficient regressed regression stalled hung "
    "exception exceptions"
)
# Words of every trade: a verdict only where something that runs stands before them, not a person.
AMBIGUOUS: Final = _set(
    "worked works work completed met meets delivered delivers deliver passed passes pass missed misses miss hung broke"
)
PEOPLE: Final = _set("i he she they we you who his her their our my")
NEGATIONS: Final = _set(
    "not no never neither nor nothing none nobody without hardly scarcely barely lacks lacked lack cannot rarely"
)
HEDGES: Final = _set(
    "might may could perhaps possibly maybe seems seem seemed seemingly appears appear appeared apparently probably "
    "likely presumably arguably suspect guess somewhat tentatively unclear uncertain unsure"
)
EMPHASIS: Final = _set(
    "clearly definitely certainly obviously undoubtedly unquestionably evidently surely absolutely decidedly plainly "
    "unmistakably indisputably"
)
PARTLY: Final = _set("partly partially mixed half-way")

_SURE: Final = "surely_so"
_NOT: Final = "not"
# Turns of phrase, in order, and the plain words that say the same.
IDIOMS: Final[tuple[tuple[re.Pattern[str], str], ...]] = tuple(
    (re.compile(pattern), plain)
    for pattern, plain in (
        (
            r"\b(?:without|beyond|(?:there (?:is|was) )?no)(?: an?y?| the| shadow of| reasonable)* doubts?\b",
            " clearly ",
        ),
        (r"\b(?:can(?:not| not|'t)|could not|couldn't|hard to|difficult to) (?:tell|say|know|judge)\b", " unclear "),
        (r"\b(?:am|is|are|was|were) (?:not|n't|far from) (?:sure|certain|clear|known)\b", " is unclear "),
        (r"\b(?:do|does|did)(?: not|n't) know\b", " unclear "),
        (r"\b(?:could|can) (?:hardly|scarcely|not|n't) (?:have (?:been|gone) |be |go )better\b", " was good "),
        (r"\b(?:anything but|far from|by no means|in no way|nowhere near|not at all)\b", f" {_NOT} "),
        (r"n't\b", f" {_NOT}"),
        (r"\bno reason (?:not |)to\b", " decision wrong to "),
        (r"\b(?:every|good|ample|sound) reasons? to\b", " decision right to "),
        (r"\b(?:pa(?:id|ys?) off|bore fruit|as good as could be expected)\b", " succeeded "),
        (r"\b(?:rolled back|reverted|undone|timed[ -]out|time-?out|ran out of|fell short|falls? short)\b", " failed "),
        (r"\bin a loop\b|\bin circles\b", " stuck "),
        (r"\bwould (?:make|take) the same (?:choice|decision)\b", " decision right "),
        (r"\bwould do (?:it|the same|this) again\b", " decision right "),
    )
)
# What is done to a decision in words: "the metrics support the decision".
SUPPORTS: Final = _set(
    "support supports supported justify justifies confirm confirms confirmed vindicate vindicated bear"
)
CONTRADICTS: Final = _set("contradict contradicts contradicted undermine undermines undermined refute refuted refutes")

REGRET: Final = re.compile(
    r"\b(?:should|ought to|needed to|could)(?: not| never)? have (?!been\b)|\bwish (?:i|we) had\b|"
    r"\binstead of (?!the\b)"
)
ASSUMED: Final = re.compile(r"\b(?:assum\w+|thought|believed|mistook|misread|misunderstood|misinterpreted)\b")
PLANNED: Final = re.compile(
    r"\b(?:next|will|shall|going to|must|need to|needs to|make sure|ensure|recommend\w*|suggest that|"
    r"should (?!(?:not |never )?have\b)|ought to (?!have\b)|let us|consider|mitigate|avoid|prevent)\b|'ll\b|^\W*to \w"
)
CONDITIONAL: Final = re.compile(
    r"^\W*(?:if|unless|had|suppose|whether|were)\b|\bwould(?: not)? have\b|\bwould\b|\bif\b"
)
REPORTED: Final = re.compile(r"\bwhether\b|\b(?:asked|wondered|asks|wonders) (?:if|me|us|him|her|them)\b")
