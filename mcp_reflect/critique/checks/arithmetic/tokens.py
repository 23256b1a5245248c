"""The tokens of arithmetic in prose, and the words that matter to it."""

from enum import IntEnum, auto
from fractions import Fraction
from typing import NamedTuple

ONE = Fraction(1)


class Kind(IntEnum):
    """What a piece of text is to a reader of sums; whole numbers, since they are looked up at every token."""

    NUMBER = auto()
    NAME = auto()  # a variable: one letter, perhaps with an index
    WORD = auto()
    LABEL = auto()  # a unit behind a number, `m/s²`
    OP = auto()  # + - * / ^ and the word operators
    REL = auto()  # = ≈ < > ≤ ≥ ≠ and `is`
    OPEN = auto()
    CLOSE = auto()
    PERCENT = auto()
    CURRENCY = auto()
    ROOT = auto()
    PI = auto()
    FRAC = auto()  # LaTeX \frac
    FACTORIAL = auto()
    BREAK = auto()  # the end of a clause
    OPAQUE = auto()  # whatever cannot be read: no sum goes through it


class Token(NamedTuple):
    """Characters `start` to `end` of the step; `text` is normalised (× is *, − is -).

    `value` and `decimals` belong to numbers: 1,250.50 has value 2501/2 and 2 decimals; in scientific
    notation and before million the decimals may be negative. `gap` tells of white space before it.
    """

    kind: Kind
    text: str
    start: int
    end: int
    gap: bool
    value: Fraction = ONE
    decimals: int = 0


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())


WORD_OPERATORS = {"plus": "+", "minus": "-", "times": "*"}

SCALES = {
    "dozen": 12,
    "dozens": 12,
    "hundred": 100,
    "thousand": 10**3,
    "million": 10**6,
    "millions": 10**6,
    "billion": 10**9,
    "trillion": 10**12,
    "lakh": 10**5,
    "crore": 10**7,
}

# Behind a number these end the quantity: what follows is another clause, not a label.
STOPS = words(
    "and or so then is are was were be because since which that but if when while where as thus hence therefore "
    "let has have had we he she they it you gets get makes make costs equals equal giving gives leaves leaving "
    "than more less fewer greater off of squared cubed remainder mod modulo choose out both not"
)

# Before a number these change its value, so that a sum that starts there is not the whole claim.
LEADS = words(
    "twice double triple thrice half minus negative log ln lg sin cos tan exp sqrt times plus over squared mod "
    "than between arcsin arccos arctan cot sec csc lim max min gcd lcm gcf hcf abs det floor ceil choose quarter "
    "third dozen hundred thousand million point ratio root average mean step part question problem exercise "
    "example line page chapter section eq equation figure table no number item round pages lines days years ages "
    "grades rows weeks chapters version rule case"
)

FRACTION_WORDS = words(
    "half third thirds quarter quarters fourth fourths fifth fifths sixth sixths seventh eighth eighths ninth "
    "tenth tenths percent root square cube double one-half one-third two-thirds one-fourth three-fourths three- "
    "quarters one-quarter one-fifth power logarithm log sine cosine cents"
)

DETERMINERS = words("the his her their its my our those these all your this that a")
