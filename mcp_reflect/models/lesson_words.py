"""The words of a lesson: how its mistake and its correction become one text, and are read out of one."""

from typing import Final

from mcp_reflect.patterns import lazy_compile

_SHORT_ID_CHARS: Final = 6  # 30 random bits: of 1,000 lessons hardly two share them
_WORD: Final = lazy_compile(r"[^\W\d_]{2,}")


def lesson_text(mistake: str, correction: str) -> str:
    """Return a lesson as one text: the mistake as a sentence, then the correction.

    ("Ran npm install", "Use pnpm.") -> "Ran npm install. Use pnpm."
    """
    sentence = mistake.rstrip()
    if sentence and not sentence.endswith(tuple(".!?。！？")):
        sentence += "."
    return f"{sentence} {correction.strip()}"


def short_id(lesson_id: str) -> str:
    """Return an id that a reader can type: `les_01jd…x7k2m9` -> `les_x7k2m9`.

    All tools and commands that take an id of a lesson take this form of it, too.
    """
    return f"les_{lesson_id[-_SHORT_ID_CHARS:]}"


def with_id(lesson_id: str, text: str) -> str:
    """Return a lesson as hooks show it, so that the agent can name it later: "les_x7k2m9: Use pnpm."."""
    return f"{short_id(lesson_id)}: {text}"


def text_of_parts(mistake: str | None, correction: str | None) -> str | None:
    """Return the text of a lesson that may lack one of its parts (None or empty).

    | mistake           | correction  | text                                     |
    |-------------------|-------------|------------------------------------------|
    | "Ran npm install" | "Use pnpm." | "Ran npm install. Use pnpm."             |
    | "Ran npm install" | none        | "Tried without success: Ran npm install" |
    | none              | "Use pnpm." | "Use pnpm."                              |
    | none              | none        | None, or the empty correction            |
    """
    if mistake and correction:
        return lesson_text(mistake, correction)
    if mistake:
        return f"Tried without success: {mistake}"
    return correction


def exported_words(text: str, mistake: str | None, correction: str | None) -> dict[str, str | None]:
    """Return the words of a lesson as an import reads them: its parts, or its text where that is not made of them.

    | the lesson                              | `lesson`    | `mistake`  | `correction` |
    |-----------------------------------------|-------------|------------|--------------|
    | "Ran npm. Use pnpm."                    |             | "Ran npm." | "Use pnpm."  |
    | "Tried without success: npm install"    |             | "npm …"    |              |
    | one text: "Never force-push"            | the text    |            |              |
    """
    mistake, correction = mistake or None, correction or None
    if text == text_of_parts(mistake, correction):
        return {"lesson": None, "mistake": mistake, "correction": correction}
    is_one_text = not correction and mistake in (None, text)
    if is_one_text:
        mistake = None
    return {"lesson": text, "mistake": mistake, "correction": correction}


def has_content(*texts: str | None, letters: int = 3) -> bool:
    """Return whether the texts say something: their different words have at least `letters` letters in total.

    A word has two letters or more and counts once, so that "x", "1.2" and "ok ok" say nothing.
    """
    words = {word.lower() for text in texts for word in _WORD.findall(text or "")}
    return sum(map(len, words)) >= letters


_LABELED: Final = lazy_compile(
    r"(?is)^\W*(?:mistake|problem|what went wrong|wrong)\W*:\W*(?P<mistake>.+?)"
    r"\W*\b(?:correction|fix|solution|instead|what works|right)\W*:\W*(?P<correction>.+)$"
)
# Words that surely begin an instruction; behind any other word, the text may still be about the mistake.
_INSTRUCTION: Final = (
    r"(?:(?:so|then|please|always|now|next time|in future|first|better|(?:I|we|you) (?:should|must|will))[ ,]+)*"
    r"(?:instead|use|run|rerun|do|don['’]t|never|avoid"
    r"|add|set|go|put|call|make|check|try|install|deploy|write|read|open|create|remove|delete|replace|switch|update|upgrade"
    r"|pin|pass|send|keep|move|wait|retry|ask|verify|ensure|prefer|fix|start|stop|restart|configure|enable|disable"
    r"|increase|raise|lower|reduce|commit|push|pull|merge|rebase|rename|catch|skip|ignore|wrap|clear|generate|declare|convert)"
    r"\b(?!\s+(?:is|was|are|were|has|had|of)\b)|(?:I|we|you) should(?:n['’]t| not)? have\b|把|请|使用|改用|应该|必须|不要|先|用"
)
_TWO_SENTENCES: Final = lazy_compile(  # a dot inside of a name, as in `.env`, ends no sentence; nor does a semicolon
    rf"(?is)(?P<mistake>\S.{{8,}}?(?:[.!?](?=\s)|[。！？]))\s*(?P<correction>(?:{_INSTRUCTION}).*\S)"
)
_ADVICE: Final = lazy_compile(f"(?i){_INSTRUCTION}")


def lesson_parts(text: str) -> tuple[str, str]:
    """Return the mistake and the correction in a text; an empty one for each that its form does not show.

    | text                                   | mistake            | correction  |
    |----------------------------------------|--------------------|-------------|
    | "Mistake: ran npm. Fix: use pnpm."     | "ran npm"          | "use pnpm." |
    | "I ran npm install. Use pnpm instead." | the first sentence | the second  |
    | "Use pnpm."                            | ""                 | "Use pnpm." |
    | "npm install broke the lock file."     | ""                 | ""          |
    """
    parts = _LABELED.match(text) or _TWO_SENTENCES.match(text)
    if parts is not None:
        return parts["mistake"].strip(), parts["correction"].strip()
    stripped = text.strip()
    if _ADVICE.match(stripped):
        return "", stripped
    return "", ""


TOLD_SO: Final = "told: an agent says that a person said so"
"""Shown beside a lesson that an agent stored as a person's word, until a person keeps it."""

ORIGINS: Final = {
    "imported": "imported from outside",
    "repeated": "repeats text from outside",
    "told": TOLD_SO,
}
"""What `Hit.why` says of a lesson whose words did not come from the agent that stored it."""


def quarantine_notice(reason: str) -> str:
    """Return what an agent reads in place of a lesson in quarantine, whose words it may not see."""
    return f"(in quarantine: {reason}. A person sees it with `mcp-reflect lessons review`.)"
