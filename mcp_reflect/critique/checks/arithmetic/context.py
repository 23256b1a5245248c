"""What the words around a claim say about how it is meant."""

import re

from mcp_reflect.critique.checks.checker import Work

# Where numbers do not follow the arithmetic of the integers, or symbols are given another meaning.
_OTHER_ARITHMETIC = re.compile(
    r"\b(?:mod(?:ulo|ular)?|congruen\w*|binary|octal|hexadecimal|hex|base[- ](?:\d|two|ten|eight|sixteen|n\b|b\b)|"
    r"in base|xor|boolean|bitwise|GF|clock arithmetic|finite field|ring|cryptarithm\w*|alphametic|roman numeral\w*|"
    r"define[sd]? (?:a |an |the |as )?(?:new )?operat\w*|operation|operator|concatenat\w*|matchstick\w*|"
    r"quaternion\w*|matri(?:x|ces)|tropical|saturating|overflow\w*)\b|\\bmod|\\pmod|\\oplus|⊕|⊗|≡|\\equiv|"
    r"\\mathbb\{?[ZF]|[ℤ𝔽]|Z_\{?[\dnp]|F_\{?[\dpq]",
    re.IGNORECASE,
)
_REFUTED = re.compile(
    r"\b(?:wrong|incorrect\w*|false|untrue|not true|mistak\w+|contradict\w*|impossible|absurd|nonsense|error|"
    r"should (?:be|have)|instead of|rather than|suppose|supposing|assum\w+|claim(?:s|ed)?|pretend\w*|hypothe\w+|"
    r"does ?n[o']t|isn['’]t|not equal|trial|trying|guess\w*|joke|buggy|bug|assert\w*|mismatch\w*|typo)\b"
    r"|\b(?:if|unless|whether|try|not)\s*\W{0,3}$",
    re.IGNORECASE,
)
_ABOUT = re.compile(
    r"~|\b(?:about|approx\w*|roughly|around|nearly|almost|circa|round(?:s|ed|ing)?|nearest|estimat\w+|"
    r"significant|sig(?:\.|\b)|decimal|truncat\w+|ish)\b|\.\.\.|…|\\sim|\\dots|\\ldots",
    re.IGNORECASE,
)


def other_arithmetic(work: Work) -> bool:
    """Whether the task is one in which 5 + 4 = 2 may be right."""
    return _OTHER_ARITHMETIC.search(work.goal[:20_000]) is not None


def speaks_of_other_arithmetic(step: str) -> bool:
    return _OTHER_ARITHMETIC.search(step) is not None


def refuted(step: str, start: int, end: int) -> bool:
    """Whether the text may only be quoting, supposing or rejecting the claim."""
    if step[end : end + 12].lstrip(" .)*`").startswith("?"):
        return True
    before, behind = step[max(0, start - 60) : start], step[end : end + 50]
    return _REFUTED.search(before) is not None or _REFUTED.search(behind) is not None


def about(step: str, start: int, end: int) -> bool:
    """Whether the numbers are said to be rounded: about, ≈, rounded to."""
    return _ABOUT.search(step, max(0, start - 30), min(len(step), end + 40)) is not None
