"""The two ends of a long text, clean: the beginning and the end are kept, and no half of a secret stands at a cut.

A cut may halve a secret, and half of one is not recognized. So each end is cleaned together with a *margin* beyond the
cut, which shows the secret whole, and what came from the margin is dropped again.
"""

from typing import Final, NamedTuple

from mcp_reflect.patterns import lazy_compile
from mcp_reflect.security.clean import Clean
from mcp_reflect.security.normal_form import normalize
from mcp_reflect.security.redact import clean_text, note_clean
from mcp_reflect.security.secret_search import LONGEST_SECRET
from mcp_reflect.security.secret_shapes import long_words

_MARGIN: Final = 4_000
"""Characters of the usual margin: of the longest secret but a private key."""

_BESIDE_CUT: Final = 400
"""Characters beside a cut, of which a longer secret that reaches over the margin has some lines."""

_SIGNS_OF_LONG_SECRETS: Final = ("PRIVATE", "OpenVPN")  # in the first line of a private key
_CODE: Final = lazy_compile("[A-Za-z0-9+=]{20,}")  # without the signs of paths and names
_MARKS: Final = lazy_compile(r"(\[redacted:\w{1,40}\])")


class Ends(NamedTuple):
    """A clean text, or the first and the last characters of one, without secrets at the cuts."""

    head: Clean
    tail: Clean | None = None

    def around(self, between: str) -> Clean:
        """Return both ends as one text, with a line of ours between them. It is not read again before it is stored."""
        return note_clean(f"{self.head}\n{between}\n{self.tail}")


def clean_ends(text: str, most: int) -> Clean:
    """Return a text clean, a long one as its two ends of `most` characters, with "..." between them."""
    ends = ends_of(text, most)
    if ends.tail is None:
        return ends.head
    return ends.around("...")


def ends_of(text: str, most: int) -> Ends:
    """Return a text clean, whole or as its two ends of `most` characters.

    A text that is longer than its ends with their margins is not read in between. Any other one is cleaned whole first.
    """
    if len(text) > 2 * (most + _MARGIN):
        return Ends(Clean(_head(text, most)[:most]), Clean(_tail(text, most)[-most:]))
    whole = clean_text(text)
    if len(whole) <= 2 * most:
        return Ends(whole)
    return Ends(Clean(whole[:most]), Clean(whole[-most:]))


def _head(text: str, most: int) -> str:
    """Return the first `most` characters of a text clean; a mark may make them longer.

    Of "Deployed. export TOKEN=ghp_… and then it worked", 30 end in the token. The margin shows it whole, so that it is
    marked: "Deployed. export TOKEN=[redacted:github_token]". What stands behind it came from the margin, and goes. It is
    read backward, as the end that is kept lies behind the margin then.
    """
    beginning = normalize(text[: 2 * (most + LONGEST_SECRET)])
    around_cut = beginning[max(0, most - LONGEST_SECRET) : most + LONGEST_SECRET]
    margin = _margin(around_cut, beginning[most : most + _BESIDE_CUT])
    raw = beginning[: most + margin]
    parts = _MARKS.split(clean_text(raw))
    parts_backward = [part[::-1] for part in reversed(parts)]
    return _behind_margin(raw[::-1], parts_backward, len(raw) - most)[::-1]


def _tail(text: str, most: int) -> str:
    """Return the last `most` characters of a text clean; a mark may make them longer.

    Of the same text, 40 begin in the token: "[redacted:github_token] and then it worked".
    """
    ending = normalize(text[-2 * (most + LONGEST_SECRET) :])
    before_cut = ending[-most - LONGEST_SECRET : -most]
    margin = _margin(before_cut, ending[-most - _BESIDE_CUT : -most])
    raw = ending[-most - margin :]
    return _behind_margin(raw, _MARKS.split(clean_text(raw)), len(raw) - most)


def _margin(within_reach: str, beside_cut: str) -> int:
    """Return how wide a margin has to be, by the text within reach of a secret and by what of it stands beside the cut.

    A secret that is longer than the usual margin and reaches over it fills what stands beside the cut with its long words,
    and it is a private key that says so, or mere code.
    """
    if not long_words(beside_cut):
        return _MARGIN
    is_key = any(sign in within_reach for sign in _SIGNS_OF_LONG_SECRETS)
    chars_of_code = sum(len(run) for run in _CODE.findall(beside_cut))
    is_mostly_code = 2 * chars_of_code >= len(beside_cut)
    if is_key or is_mostly_code:
        return LONGEST_SECRET
    return _MARGIN


def _behind_margin(raw: str, parts: list[str], margin: int) -> str:
    """Return what of a cleaned text certainly came from behind the margin of the raw text.

    `parts` has in turn a part of the raw text that stayed and a mark. Each part is taken to stand at the first index
    where it can stand, so it never counts as further from the edge than it is; a part that is not found is passed over.

    "key=abc123 the end" is cleaned to "key=", a mark and " the end". Behind a margin of 11 characters certainly came
    "the end"; behind one of 6, which ends in the secret, the mark and " the end".
    """
    search_from = 0
    last = len(parts) - 1
    for index in range(0, len(parts), 2):
        part = parts[index]
        start = raw.find(part, search_from)
        if index == last and raw.endswith(part):
            start = len(raw) - len(part)
        if start < 0:
            continue
        end = start + len(part)
        if start >= margin:
            return "".join(parts[max(0, index - 1) :])
        if end > margin:
            return "".join((part[margin - start :], *parts[index + 1 :]))
        search_from = end
    return ""
