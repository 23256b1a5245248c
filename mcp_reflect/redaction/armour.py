"""Private keys in the armour of their files: from the line that begins them to the line that ends them."""

from typing import Final

from mcp_reflect.patterns import late
from mcp_reflect.redaction.marks import mark, replaced

_PEM: Final = late(
    r"-{4,5} ?BEGIN (?:[A-Z0-9]{2,10} ){0,3}(?:PRIVATE KEY(?: BLOCK)?|OpenVPN Static key V1) ?-{4,5}"
    r"(?P<body>(?:(?!-{4,5} ?END)[\s\S]){0,20000})(?:-{4,5} ?END [A-Za-z0-9 ]{0,40}-{4,5})?"
)
_XML: Final = late(r"<(?P<name>D|P|Q|DP|DQ|InverseQ)>(?P<secret>[A-Za-z0-9+/=\s]{20,2000})</(?P=name)>")
_KEY: Final = late(r"[A-Za-z0-9+/=]{24}|[0-9a-f]{32}")  # an example has dots or a word in angles instead
_DIGIT: Final = late(r"[0-9]")
_SOON: Final = 400  # characters after the beginning; headers may stand before the key
_PUTTY: Final = late(
    r"(?P<keep>Private-Lines: \d{1,3}(?:\s{1,4}|\\{1,7}n))(?:[A-Za-z0-9+/=]{1,80}(?:\r?\n|\\{1,7}n|\s|$)){1,200}"
    r"(?:Private-MAC: [0-9a-f]{40,64})?"
)


def _is_key(body: str) -> bool:
    """Whether a key follows the line that begins one, and no example or program."""
    found = _KEY.search(body, 0, _SOON)
    return found is not None and bool(_DIGIT.search(body, found.start(), found.start() + 64))


def cut_armour(text: str) -> str:
    """The text with a mark for each private key."""
    if "PRIVATE KEY" in text or "OpenVPN Static key" in text:
        text = _PEM.sub(lambda found: mark("private_key") if _is_key(found["body"]) else found[0], text)
    if "Private-Lines:" in text:
        text = _PUTTY.sub(lambda found: found["keep"] + mark("private_key"), text)
    if "<RSAKeyValue>" in text:
        text = replaced(text, [(*found.span("secret"), "private_key") for found in _XML.finditer(text)])
    return text
