"""The regular expressions and tables of the lexer. None of them nests a repetition in another."""

import re

from mcp_reflect.critique.checks.arithmetic.tokens import WORD_OPERATORS, Kind

_UNIT = (
    r"(?:(?:kg|mg|µg|μg|km|cm|mm|nm|µm|μm|ms|ns|min|hr|mol|mmol|kmol|kJ|MJ|eV|keV|MeV|kW|kWh|Wh|MW|kN|Pa|kPa|MPa|"
    r"atm|Hz|kHz|MHz|GHz|mL|ml|dL|cal|kcal|rad|KB|MB|GB|TB|mA|kV|mV|ft|lb|oz|dm|"
    r"[msghlLNJWVAKCFTMΩ])(?![A-Za-z0-9_'’(])(?:\^\{?[-−]?[1-4]\}?|[²³]|⁻[¹²³])?)"
)
SCANNER = re.compile(
    r"""
    (?P<skip>\\(?:left|right|,|;|!|:|quad|qquad|\ |displaystyle|boxed|fbox|big|Big|bigl|bigr)(?![A-Za-z])
        |[ \t\u00a0\u2009\u202f]+|(?<![\w)])[*_]{2,3}(?=[\w$(√\\])
        |(?<=[\w)%.])[*_]{2,3}(?![\w(]|\s?[\d(])|(?<=[:!?,;])[*_]{2,3}|`|&)
    |(?P<calc><<[^<>\n]{0,200}>>)
    |(?P<opaque>https?://\S{1,500}|\d{4}-\d\d-\d\d(?:T[\d:.]{1,20})?|\d{1,4}:\d[\d:.]{0,20}|\d+\.\d+\.\d[\d.]*|0\d+(?![\d.,])
        |0[xXbB][0-9a-fA-F]+|\.\.+|…|⋯|\\[cl]?dots|[+\-*/%]=|={2,}|_{2,}|\d+(?:st|nd|rd|th)\b|\d[\d,.]{0,12}['’]\d+)
    |(?P<number>(?:\d{1,3}(?:(?:,|\{,\})\d{2,3}){0,8}(?:,|\{,\})\d{3}(?![\d])|\d+)(?:\.\d+)?(?:[eE][+\-]?\d{1,4}(?![\w.]))?
        |\.\d+(?:[eE][+\-]?\d{1,4}(?!\w))?)
    |(?P<vulgar>[½⅓⅔¼¾⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞])
    |(?P<raised>[⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺]+)
    |(?P<arrow><?=+>|<?-{1,2}>|<-|[⇒→⟹←↔⟶⇔]|\\(?:implies|Rightarrow|to|rightarrow|iff)(?![A-Za-z]))
    |(?P<rel><=|>=|!=|≤|≥|≠|≈|≃|≅|~=|:=|=|<|>|\\(?:approx|leq?|geq?|neq?|simeq|lt|gt)(?![A-Za-z]))
    |(?P<root>√|\\sqrt|sqrt(?![A-Za-z])|[Ss]quare\ root\ of(?![A-Za-z]))
    |(?P<pi>π|\\pi(?![A-Za-z])|pi(?![A-Za-z0-9]))
    |(?P<frac>\\[dt]?frac(?![A-Za-z]))
    |(?P<op>\*\*|[-+*/^×·⋅∙∗✕✖÷∕⁄−–]|\\(?:times|cdot|div)(?![A-Za-z])|(?:multiplied|divided)\ by(?![A-Za-z]))
    |(?P<label>\\(?:text|mathrm|mbox|textbf|mathbf|operatorname)\{[^{}]{0,60}\}|°\s?[CFK]?|\\?º)
    |(?P<percent>\\?%|per\ ?cent(?![A-Za-z]))
    |(?P<command>\\[A-Za-z]+)
    |(?P<currency>\\?\$|[€£¥₹]|(?:US|USD|EUR)\$?(?=\s?\d))
    |(?P<open>\\?[\[({])
    |(?P<close>\\?[\])}])
    |(?P<word>[^\W\d_⁰¹²³⁴⁵⁶⁷⁸⁹½¼¾](?:[^\W⁰¹²³⁴⁵⁶⁷⁸⁹½¼¾]|['’]|_\{[^{}]{0,20}\}|-(?=[a-z]{2})(?<=[a-z]{2}-)){0,60})
    |(?P<point>\.)
    |(?P<bang>!)
    |(?P<end>\\\\|[,;:?\n\r|"“”—―])
    |(?P<other>.)
    """,
    re.VERBOSE | re.DOTALL,
)
BEHIND_NUMBER = re.compile(rf"[ \u00a0]?{_UNIT}(?:[ ]?[/·⋅*][ ]?\(?{_UNIT}(?:[·⋅ ]{_UNIT}\))?)*(?![A-Za-z0-9_(])")
HYPHENED = re.compile(r"-[A-Za-z]{2,20}")
NUMBER_TAIL = re.compile(r",\d|[a-z]*\d|\.\d")
OPERATORS = {
    "×": "*",
    "·": "*",
    "⋅": "*",
    "∙": "*",
    "∗": "*",
    "✕": "*",
    "✖": "*",
    r"\times": "*",
    r"\cdot": "*",
    "multiplied by": "*",
    "÷": "/",
    "∕": "/",
    "⁄": "/",
    r"\div": "/",
    "divided by": "/",
    "−": "-",
    "–": "-",
    "**": "^",
}
RELATIONS = {
    "<=": "≤",
    ">=": "≥",
    "!=": "≠",
    "≃": "≈",
    "≅": "≈",
    "~=": "≈",
    r"\approx": "≈",
    r"\simeq": "≈",
    r"\le": "≤",
    r"\leq": "≤",
    r"\ge": "≥",
    r"\geq": "≥",
    r"\ne": "≠",
    r"\neq": "≠",
    r"\lt": "<",
    r"\gt": ">",
    ":=": "=",
}
WORD_RELATIONS = {"equals": "=", "is": "is", "are": "is", "was": "is", "makes": "is", "gives": "is"}
NEXT = re.compile(r"[^ ]|\Z")
RELATED = re.compile(r"[=≈≠<>≤≥≃≅\\]| (?:is|are|was|equals|makes|gives) ")
DIGIT = re.compile(r"[\d½¼¾π]|[A-Za-z]['\d_]* ?[-+*/×÷]")
# Most of a text is plain: these tokens need no look at the full scanner, which gives the same for them.
PLAIN = re.compile(
    r"[A-Za-z]{2,40}(?=[ ,.;:)\n]|\Z)|(?:[1-9]\d{0,8}|0)(?=[)+*]| [-+*/=×÷])|[()](?=[ \w(]|\Z)|[=+](?= [\w(])|,(?= )"
)
SIGNS = {"(": Kind.OPEN, ")": Kind.CLOSE, "=": Kind.REL, "+": Kind.OP, ",": Kind.BREAK}
SPECIAL = frozenset(
    (
        "pi",
        "sqrt",
        "square",
        "multiplied",
        "divided",
        "per",
        "percent",
        "us",
        "usd",
        "eur",
        *WORD_OPERATORS,
        *WORD_RELATIONS,
    )
)
BLOCKS = re.compile(r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)", re.DOTALL)
BULLET = re.compile(r"(?m)^[ \t]*(?:[-*+•–][ \t]+|\d{1,3}[.)][ \t]+|#+[ \t]+|>[ \t]+)")
