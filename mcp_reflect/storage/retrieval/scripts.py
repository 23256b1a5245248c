"""The runs of letters in texts that are not ASCII alone, in every script."""

import re
from typing import Final

# Thai, Chinese, Japanese, Korean: words are not set apart by spaces.
_UNSPACED: Final = "\u0e00-\u0e7f\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\u1100-\u11ff"
# Signs of vowels and the like, which are no letters to `re`: Arabic and Hebrew points, the scripts of India.
_MARKS: Final = "\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0900-\u0dff"
_LETTERS: Final = rf"(?:[^\W_{_UNSPACED}]|[{_MARKS}])+"

CHUNK: Final = re.compile(rf"[{_UNSPACED}]+|{_LETTERS}(?:[._/:\\@'’-]+{_LETTERS})*")
"""Letters and digits, and what joins them; or a run of a script without spaces."""

PART: Final = re.compile(rf"(?:[^\W_]|[{_MARKS}])+")
"""The letters and digits between what joins them."""

UNSPACED: Final = re.compile(rf"[{_UNSPACED}]")
"""A letter of a script without spaces."""
