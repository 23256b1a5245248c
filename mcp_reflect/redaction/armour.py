"""Private keys in the armour of their files: from the line that begins them to the line that ends them."""

import re
from typing import Final

from mcp_reflect.redaction.marks import mark

_PEM: Final = re.compile(
    r"-----BEGIN (?:[A-Z0-9]{2,10} ){0,3}PRIVATE KEY(?: BLOCK)?-----"
    r"(?P<body>(?:(?!-----END)[\s\S]){0,20000})(?:-----END [A-Z0-9 ]{0,40}-----)?"
)
_KEY: Final = re.compile(r"[A-Za-z0-9+/=]{8}")  # an example has dots or a word in angles instead
_PUTTY: Final = re.compile(
    r"(?P<keep>Private-Lines: \d{1,3}(?:\s{1,4}|\\{1,7}n))(?:[A-Za-z0-9+/=]{1,80}(?:\r?\n|\\{1,7}n|\s|$)){1,200}"
    r"(?:Private-MAC: [0-9a-f]{40,64})?"
)


def cut_armour(text: str) -> str:
    """The text with a mark for each private key."""
    if "PRIVATE KEY" in text:
        text = _PEM.sub(lambda found: mark("private_key") if _KEY.search(found["body"]) else found[0], text)
    if "Private-Lines:" in text:
        text = _PUTTY.sub(lambda found: found["keep"] + mark("private_key"), text)
    return text
