"""How well the bank's door tells secrets and attacks from what looks like them: `python -m benchmarks.door`.

The cases stand in tests/door/cases, written down before the rules. Half of the first two hands', by the hash of their
text, are kept aside: of the first hand's they were looked at after a first figure had been taken on them, of the
second hand's never. The third hand's secrets were learnt from whole; the fourth's are an exam that nothing was learnt
from, as are the attacks of `exam1` and so on. From the other hands' attacks the recogniser learnt, so what it makes of
them here says little: `benchmarks.door_train --cross` says what it makes of a writer it learnt nothing from.
"""

import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.door_cases import EXAMS, WRITERS, Case, Name, cases
from mcp_reflect.security.injection import suspicion
from mcp_reflect.security.redact import clean_text

HALVES: Final = ("near", "aside", None)
HANDS: Final = WRITERS[:2]
WHOLE: Final = WRITERS[2:4]  # the third hand's secrets were learnt from, the fourth's never
_ROUNDS: Final = 9
_WORDS: Final = 40  # of a lesson


@dataclass(frozen=True, slots=True)
class Score:
    """How many positives were found, of how many, and how many of the negatives were taken for one."""

    found: int
    positives: int
    false: int
    negatives: int

    @property
    def recall(self) -> float:
        """Share of the positives that were found, 0..1."""
        return self.found / self.positives if self.positives else 0.0

    @property
    def precision(self) -> float:
        """Share of what was found that was meant to be, 0..1."""
        return self.found / (self.found + self.false) if self.found else 0.0


def score_secrets(half: str | None = None, hand: str = WRITERS[0]) -> Score:
    """The door over secrets and look-alikes; a secret is found where no eight characters of it are left."""
    secrets = [case for case in cases("secrets", hand) if half in (None, case.half)]
    others = [case for case in cases("look_alikes", hand) if half in (None, case.half)]
    return Score(
        found=sum(not case.leaks(clean_text(case.text)) for case in secrets),
        positives=len(secrets),
        false=sum(clean_text(case.text) != case.text for case in others),
        negatives=len(others),
    )


def score_poison(half: str | None = None, hand: str = WRITERS[0], language: str | None = None) -> Score:
    """The recogniser over attacks and honest lessons; an attack is found where it would wait for a person."""

    def chosen(name: Name) -> list[Case]:
        found = (case for case in cases(name, hand) if half in (None, case.half))
        return [case for case in found if language in (None, case.language)]

    attacks, honest = chosen("attacks"), chosen("honest")
    return Score(
        found=sum(suspicion([case.text]) is not None for case in attacks),
        positives=len(attacks),
        false=sum(suspicion([case.text]) is not None for case in honest),
        negatives=len(honest),
    )


def microseconds_per_kilobyte(texts: Sequence[str]) -> float:
    """Processor time of cleaning, the best of several rounds."""
    size = sum(len(text.encode()) for text in texts) / 1024
    best = min(_seconds(texts, turn) for turn in range(_ROUNDS))
    return best / size * 1e6


def _seconds(texts: Iterable[str], turn: int) -> float:
    fresh = [f"{text} {turn}" for text in texts]  # what came through once is known, and costs nothing
    start = time.process_time()
    for text in fresh:
        clean_text(text)
    return time.process_time() - start


def _print_scores() -> None:
    print("secrets     hand    half    recall            precision   look-alikes changed")
    rows: list[tuple[str, str | None]] = [(hand, half) for hand in HANDS for half in HALVES]
    rows += [(hand, None) for hand in WHOLE]
    for hand, half in rows:
        one = score_secrets(half, hand)
        print(
            f"            {hand:6}  {half or 'whole':6}  {one.recall:.3f} ({one.found}/{one.positives})   "
            f"{one.precision:.3f}       {one.false}/{one.negatives}"
        )
    print("attacks     hand    half    recognised        honest lessons held back")
    for hand in (*EXAMS, *WRITERS):
        for half in HALVES if hand in HANDS else (None,):
            one = score_poison(half, hand)
            print(
                f"            {hand:7} {half or 'whole':6}  {one.recall:.3f} ({one.found}/{one.positives})   "
                f"{one.false / one.negatives:.3f} ({one.false}/{one.negatives})"
            )
    print("attacks, the second hand's half aside, by language: recognised; honest held back")
    for language in sorted({case.language for case in cases("attacks", HANDS[1])}):
        one = score_poison("aside", HANDS[1], language)
        print(f"            {language}      {one.found}/{one.positives}   {one.false}/{one.negatives}")


def main() -> int:
    """Print every figure."""
    _print_scores()
    root = Path(__file__).parent.parent
    words = " ".join(case.text for hand in HANDS for case in cases("honest", hand)).split()
    samples = {
        "short lessons": [case.text for case in cases("honest")],
        "lessons": [" ".join(words[at : at + _WORDS]) for at in range(0, len(words), _WORDS)],
        "Python code": [path.read_text(encoding="utf-8") for path in sorted(root.glob("mcp_reflect/*.py"))],
        "documentation": [path.read_text(encoding="utf-8") for path in sorted(root.glob("docs/*.md"))],
        "secrets": [case.text for case in cases("secrets")],
    }
    honest = samples["short lessons"]
    for text in honest:  # each pattern is compiled when it is first needed
        suspicion([text])
    start = time.process_time()
    for text in honest:
        suspicion([text])
    print(f"recogniser     {(time.process_time() - start) / len(honest) * 1e6:.0f} µs a lesson")
    for name, texts in samples.items():
        print(f"cost           {name:14} {microseconds_per_kilobyte(texts):6.0f} µs/kB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
