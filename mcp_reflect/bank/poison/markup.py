"""Marks that make a text pose as something else: a message of a role, a tool call, the end of what is data."""

import re
from typing import Final, NamedTuple

from mcp_reflect.redaction import compiled

_ROLE: Final = r"(?:system(?:-reminder| message| prompt)?|assistant|human|developer|operator|admin(?:istrator)?)"

_ROLES: Final = (
    r"<\|(?:im_start|start_header_id|system|user|assistant)\|>\s{0,3}(?:system|user|assistant|new|you|\w+<\|end)"
    r"|<\|(?:endoftext|eot_id|im_end)\|>\s{0,3}<\|"
    r"|<<SYS>>[^<]{3,400}(?:<</SYS>>|$)|\[INST\][^\[]{3,400}\[/INST\]"
    r"|(?:^|\n)[ \t]{0,4}(?:#{1,6}[ \t]{0,3}|\*{1,2}|\[|\"{3}\s{0,3})?(?:system|assistant|human"
    r"|developer)\]?\*{0,2}[ \t]?:"
    r"\*{0,2}[ \t\n]{1,3}\S{2,}"
    r"|(?:^|\n)\s{0,4}\[(?:system|admin|developer)\]\s"
    r"|[\"']?role[\"']?\s{0,3}:\s{0,3}[\"']?(?:system|developer)[\"']?\s{0,3}[,\n]\s{0,3}[\"']?content[\"']?\s{0,3}:"
    r"|<(system|system-reminder|developer|user|assistant|instructions?|admin)>[^<]{8,2000}</\1>"
    r"|\bBEGIN SYSTEM PROMPT\b|\bEND SYSTEM PROMPT\b"
    r"|[\[(](?:assistant|ai|llm|system|model|chatgpt|claude)[:,]\s"
    r"|<!--\s{0,3}(?:assistant|ai|llm|system|agents?|claude|chatgpt|copilot)\b[^>]{5,400}-->"
    r"|\[//\]: # \([^)\n]{0,40}\b(?:ai|agents?|llms?|assistants?)\b[^)]{5,400}\)"
    r"|(?:^|\n)#{2,4}\s?(?:instructions?|response|system|new task):"
)

_TOOLS: Final = (
    r"<(?:tool_call|function_calls|tool_use|function_call|tool_code)\b[^>]{0,80}>\s{0,3}\S|<invoke name=|<function=\w"
    r"|<parameter name=|<\|python_tag\|>|\[TOOL_CALLS\]\s{0,3}\[|\bto=functions\.\w"
    r"|[\"'](?:tool_calls|function_call)[\"']\s{0,3}:\s{0,3}[\[{]|[\"']type[\"']\s{0,3}:\s{0,3}[\"']tool_use[\"']"
    r"|```tool_(?:code|call)|(?:^|\n)Action:[^\n]{1,80}\n\s{0,4}Action Input:"
    r"|\btool[ _]?call\s{0,2}[:(]"
    r"|[\"'](?:name|tool|function)[\"']\s{0,3}:\s{0,3}[\"'][\w.:/-]{1,80}[\"']\s{0,3},\s{0,3}"
    r"[\"'](?:arguments|args|parameters|input|params)[\"']\s{0,3}:"
)

# The end of what is data, and something after it; our own fence and those of others.
_ENDS: Final = (
    r"</(?:data|untrusted|tool_result|function_results|lesson|context|document|user|input)(?: [0-9a-f]{6,16})?>"
    r"\s{0,10}(?:\S{1,20}\s{1,5}){0,8}?(?:<|ignore|you\b|assistant|human|now\b|follow|obey|approve|the data)"
    r"|\]\]>\s{0,3}</\w{1,20}>\s{0,3}<(?:instructions?|system)"
    r"|\b(?:end of|-{2,}\s?end of) (?:data|lesson|context|input|document|untrusted content|message"
    r"|page)\b[\s\S]{0,60}?"
    r"(?:assistant|system|follow|ignore|obey|instruction|trusted|approve|new )"
    r"|\bthe (?:data|lesson|document|context|input) ends here\b"
    r"|(?:^|\n)[ \t]{0,4}(?:[-=#*~<\[_]{1,40}[ \t]{0,3})(?:end|begin|start|stop)(?: of)?[ _](?:the )?"
    r"(?:data|memory|memories|lessons?|context|input|document|untrusted|quoted?|message|page|tool|result|output|user|system|trusted|new|admin"
    r"|instructions?)\b"
)

# A fence that is opened or closed, or a quotation of three signs.
_FENCES: Final = r"(?:^|\n)[ \t]{0,4}(?:`{3,12}|~{3,12}|\"{3}|'{3})[ \t]{0,3}\w{0,20}[ \t]{0,3}(?:\n|$)"

_FILLED: Final = (
    r"(?:\{\{?|<[a-z]|\$\{?[A-Za-z_]|%7B|[=/][A-Z_]*(?:BASE64|CHAT|SECRET|TOKEN|CONVERSATION|PROMPT|HISTORY"
    r"|API_?KEY)|\[[A-Z_]{4,})"
)
_CARRIERS: Final = (
    rf"!?\[[^\]\n]{{0,200}}\]\(\s{{0,3}}https?://[^)\n]{{0,400}}?{_FILLED}[^)\n]{{0,400}}\)"
    rf"|(?:^|\n)\[[^\]\n]{{1,80}}\]:\s{{0,3}}https?://[^\s]{{0,300}}?{_FILLED}"
    r"|\$\([^)\n]{1,120}\)[\w.-]{0,40}\.[a-z]{2,20}\b"
    rf"|<(?:img|iframe|script|link|a|form)\b[^>]{{0,200}}?(?:src|href"
    rf"|action)=[\"']?https?://[^\"'>\n]{{0,300}}?{_FILLED}"
    r"|<(?:span|div|p)\b[^>]{0,100}(?:display:\s?none|font-size:\s?0|opacity:\s?0)[^>]{0,100}>[^<]{10,}"
)


class Mark(NamedTuple):
    """A name, words of which one is in every text that the pattern matches, and the pattern."""

    name: str
    gate: tuple[str, ...]
    pattern: str

    def finds(self, text: str, folded: str) -> bool:
        """Whether the mark is in a text, given with its lower case."""
        return any(word in folded for word in self.gate) and bool(compiled(self.pattern, re.IGNORECASE).search(text))


MARKS: Final = (
    Mark("role",
         ("<|", "[inst]", "<<sys", "system", "assistant", "human", "developer", "admin", "<user", "<instruc", "[ai",
          "(ai", "[llm", "[model", "[claude", "[chatgpt", "<!--", "[//]", "##"), _ROLES),
    Mark("tool", ("<tool", "<func", "<invoke", "<param", "<|python", "[tool_calls]", "to=functions",
                                     "tool_call", "function_call", "tool_use", "```tool", "action input",
                                     "tool call", "arguments", "args", "param", "input"), _TOOLS),
    Mark("end", ("</", "]]>", "end", "begin", "start", "stop"), _ENDS),
    Mark("fence", ("```", "~~~", '"""', "'''"), _FENCES),
    Mark("carrier",
         ("](", "]:", "$(", "src=", "href=", "action=", "display:", "font-size", "opacity"), _CARRIERS),
)  # fmt: skip

# Each word of the gates once: most texts have none of them, and are through after one look.
_WORDS: Final = tuple(sorted({word for mark in MARKS for word in mark.gate}))


def marks(text: str) -> list[str]:
    """The names of the marks that a text bears."""
    folded = text.lower()
    if not any(word in folded for word in _WORDS):
        return []
    return [mark.name for mark in MARKS if mark.finds(text, folded)]
