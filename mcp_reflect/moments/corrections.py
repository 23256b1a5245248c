"""Whether a prompt corrects how the agent works, for longer than its task.

Each sentence is scored by itself: its words, its pairs of neighboring words, and the concepts that it names, alone and
in pairs (a ban and a tool, for example), have weights. The concepts have the words of English, German, French, Spanish,
Portuguese, Italian, Dutch, Japanese and Chinese. `python -m benchmarks.corrections --fit` learns the weights in
corrections.txt from the prompts in tests/data/prompts.jsonl.
"""

import math
import re
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import combinations, pairwise
from pathlib import Path
from typing import Final

from mcp_reflect.patterns import lazy_compile

WEIGHTS: Final = Path(__file__).with_name("corrections.txt")
"""A line is a weight and the features that have it, between tabs; the feature "" belongs to every sentence."""

_KEEP: Final = (
    "mcp-reflect: this prompt seems to correct how you work. If it holds beyond this task, keep it: call store_lesson "
    'with what you did as mistake, what the person wants as correction, and evidence "user". Otherwise do nothing.'
)
_MOST_CHARS: Final = 1_500  # of a prompt: what follows is a specification or was pasted
_ENOUGH: Final = 1.0  # fewer than 2 of 100 other prompts score more
_SURE: Final = 1.6
_OF_WORDS: Final = 6.0  # beside 1 for a concept

_NOT_SAID: Final = lazy_compile(
    r"```.*?(?:```|\Z)|^>.*?$|`[^`\n]*`|\"[^\"\n]*\"|“[^”\n]*”|„[^“”\n]*[“”]|«[^»\n]*»|「[^」\n]*」|『[^』\n]*』"
    r"|(?<!\w)'[^'\n]*'(?!\w)|[a-zA-Z0-9_.@~:-]*[/\\][a-zA-Z0-9_./\\-]*",
    re.DOTALL | re.MULTILINE,
)
_SENTENCE: Final = lazy_compile(r"[^.!?。！？\n]+(?:[.](?=[\w/])[^.!?。！？\n]*)*[?？]?")
_TOKEN: Final = lazy_compile(
    r"[぀-ヿ一-鿿]|[^\W_぀-ヿ一-鿿]+(?:'[^\W_]+)*|[^\w\s]"
)  # of Japanese and Chinese, a character

# A word with * is the beginning of one. Behind the slash stand words of Japanese and Chinese, which write no spaces.
_CONCEPTS: Final = {
    "lasting": "from now on|from here on|going forward|in future|in the future|for the future|next time|for the record"
    "|for reference|keep in mind|in general|as a rule|remember|note that|just so you know|fyi|heads up|careful|ab jetzt"
    "|ab sofort|künftig*|zukünftig*|nächstes mal|merk dir|merke dir|grundsätzlich|à partir de maintenant|dorénavant"
    "|désormais|à l'avenir|prochaine fois|retiens|a partir de ahora|de ahora en adelante|próxima vez|recuerda"
    "|ten en cuenta|a partir de agora|de agora em diante|daqui|lembr*|d'ora in poi|da ora in poi|prossima volta"
    "|ricorda*|vanaf nu|voortaan|volgende keer|onthoud|denk eraan"
    "/今後|これから|次回|次から|覚えて|以后|今后|下次|从现在|记住|记得",
    "repeated": "told you|reminded you|i said|i just said|say again|how many times|how often|second time|third time"
    "|fourth time|twice|you keep|you always|you constantly|you again|you still|you tend|u always|again|stop|quit"
    "|no more|once more|dir gesagt|dir doch gesagt|schon wieder|ständig|dauernd|zum dritten mal|wie oft|hör auf"
    "|déjà dit|combien de fois|arrête|cesse|encore|he dicho|dije|cuántas veces|otra vez|tercera vez|deja de|para de"
    "|já disse|falei|de novo|pare de|già detto|ho detto|quante volte|di nuovo|terza volta|smett*|basta|al gezegd"
    "|hoe vaak|weer|steeds|derde keer|hou op"
    "/何度|前にも|また|言っ|やめて|说过|又|别再|别老|别总|老是",
    "we": "we|our|ours|us|here|this repo|this repository|this project|this team|this codebase|house|convention|policy"
    "|wir|uns|unser*|hier|nous|on|notre|nos|ici|ce dépôt|ce projet|nosotros|nuestr*|aquí|usamos|este proyecto"
    "|este equipo|a gente|nós|noss*|aqui|este projeto|neste|noi|nostr*|qui|usiamo|questo progetto|wij|ons|onze"
    "|dit project"
    "/うち|私たち|ここでは|このプロジェクト|このリポジトリ|チーム|我们|咱们|这里|这边|这个项目|这个仓库|团队",
    "ever": "always|never|ever|every|everywhere|each|whenever|anymore|any more|all|only|must|both|immer|nie|niemals"
    "|jede*|überall|toujours|jamais|chaque|partout|siempre|nunca|jamás|cada|sempre|mai|ogni|todo*|nooit|altijd|elke"
    "|overal/絶対|必ず|いつも|常に|毎回|決して|永远|总是|每次|一律|必须|从来|千万|绝",
    "ban": "don't|do not|dont|not|never|no|avoid|without|can't|cannot|nothing|nobody|leave|nicht|kein*|ohne|lass|ne"
    "|n'*|pas|sans|plus|sin|nada|não|sem|non|senza|niente|nessun*|niet|geen|zonder/ない|するな|ダメ|禁止|不|别|勿|没",
    "limit": "generated|shared|frozen|off limits|blocked|protected|pinned|mandatory|required|forbidden|allowed|banned"
    "|reserved|overwritten|rule|rules|first|before|ask*|ok|permission|approval|generier*|verboten|pflicht|frag*|vorher"
    "|bevor|erst|génér*|interdit*|demand*|avant|generad*|gerad*|antes|pregunt*|pergunt*|permis*|proibid*|generat*"
    "|vietat*|prima|chied*|gegenereerd*|eerst|voor|voordat|vraag*"
    "/生成|禁止|ルール|決まり|規則|先に|前に|確認|聞い|规定|先|之前|问|同意",
    "you": "you|your|u|du|dein*|tu|ton|tes|te|você|je|jouw|hai|has/你|您",
    "task": "add|make|ensure|implement|create|fix|update|change|rename|show|generate|translate|build|refactor|let*|give"
    "|find|migrate|replace|convert|move|set|document|draft|review|look|investigate|debug|plot|render|adjust|remove"
    "|train|compare|split|revert|undo|prepare|delete|summari*|explain|list|check|write|can|could|would|will|is|are|was"
    "|do|does|did|should|shall|i want|i need|i would|i think|i have|füg*|bau*|mach*|änder*|zeig*|erklär*|schreib*"
    "|ersetz*|übersetz*|kannst|ajoute|crée|montre|explique|modifie|corrige|fais|remplace|écris|supprime|est-ce|tu peux"
    "|añad*|agreg*|crea|cambia|quita|escribe|explica*|haz|puedes|adicion*|cri*|troca|coloca|faz|mostra|escreve|pode"
    "|aggiung*|togli|spieg*|scrivi|fai|puoi|voeg|maak|vervang|schrijf|verander|leg|kun"
    "/追加して|削除して|修正して|変更して|表示|説明して|更新して|帮我|把|加一|写个|解释|修复",
    "passing": "for now|right now|yet|now|this time|today|tomorrow|at the moment|until|in this|for this|with this"
    "|vorerst|diesmal|noch nicht|heute|pour l'instant|cette fois|por ahora|esta vez|hoy|por enquanto|desta vez|hoje"
    "|per ora|questa volta|oggi|voorlopig|nog niet|deze keer|vandaag/今回|今日|まだ|今は|暂时|这次|今天|先不|先别",
    "question": "what|which|who|where|when|how|why|any|warum|wieso|wie|was|pourquoi|comment|perché|come|waarom|hoe"
    "/?|？|¿|吗|呢|なぜ|为什么",
    "work": "commit*|push*|merg*|rebas*|branch*|deploy*|lint*|format*|mock*|test|tests|install*|migrat*|pr|prs"
    "|pull request|ci|main|master|prod*|git|sudo|npm|pnpm|yarn|bun|node|pip|uv|poetry|cargo|gradle*|make|docker|kubectl"
    "|pytest|log|logs|logger|todo|todos|comment|comments|emoji*|import|imports|use|using|run*|edit*|touch|answer|answers"
    "|reply|explain*|summar*|file|files|folder|repo*|code|changelog|readme|lockfile|dependenc*|package|packages|message"
    "|messages|english|secret|secrets|version|versions|docs|staging|delet*|unit|units|cents|utc|spelling|style|name"
    "|names|column|columns|schema|config|datei*|paket*|englisch|benutz*|verwend*|nutz*|kommentar*|antwort*|änder*"
    "|utilis*|anglais|fichier*|modifi*|répon*|inglés|inglês|inglese|usa|usar|uses|uso|usamos|usiamo|archivo*|arquivo*"
    "|coment*|gebruik*|engels|bestand*|antwoord*"
    "/テスト|ブランチ|プッシュ|コミット|ファイル|コメント|使|返事|英語|日本語|提交|代码|文件|注释|测试|依赖|用|推送|改|文档|回答",
}
_AT_THE_START: Final = ("task", "question")
_BEFORE_IT: Final = ("please", "pls", "ok", "okay", "now", "then", "also", ",")


def ask_to_keep(prompt: str, setting: str) -> str | None:
    """Return the ask to keep what a person's prompt corrects, None if it corrects nothing; "off" asks for nothing."""
    return _KEEP if setting != "off" and corrects(prompt) else None


def corrects(prompt: str, *, surely: bool = False) -> bool:
    """Return whether a prompt corrects how the agent works, for longer than this task; `surely` asks for more."""
    weights = _weights()
    return any(score(found, weights) > (_SURE if surely else _ENOUGH) for found in features(prompt))


def features(prompt: str) -> Iterator[dict[str, float]]:
    """Yield what each sentence of a prompt is scored by, with how much it counts; nothing for a command of the host."""
    text = prompt[:_MOST_CHARS].replace("’", "'").lstrip()
    if text[:1] in ("/", "<"):
        return
    told, before = list[str](), list[str]()
    for sentence in _SENTENCE.findall(_NOT_SAID.sub(" X ", text).lower()):
        words = ["^", *_TOKEN.findall(sentence), "$"]
        runs = {*words, *map(" ".join, pairwise(words))}
        own = _named(words[1:-1], sentence)
        named = own + before
        together = (a + b for a, b in combinations(named, 2))
        known = dict.fromkeys((*named, *together, *told), 1.0)
        yield {"": 1.0} | dict.fromkeys(runs, _OF_WORDS / math.sqrt(len(runs))) | known
        before = before or ["<task"] * ("+task1" in named)
        told = [f"<{name}" for name in own]


def score(found: Mapping[str, float], weights: Mapping[str, float]) -> float:
    """Return the score of a sentence with these features, above 0 where it is more likely to correct than not."""
    return sum(weights.get(name, 0.0) * much for name, much in found.items())


def _named(words: list[str], sentence: str) -> list[str]:
    """Return the concepts that a sentence names; add one with a 2 or 3 if two or three of its words occur."""
    start = next((i for i, word in enumerate(words) if word not in _BEFORE_IT), 0)
    runs = {" ".join(words[i : i + n]) for n in (1, 2, 3, 4) for i in range(len(words))}
    first = {" ".join(words[start : start + n]) for n in (1, 2)}
    named: list[str] = []
    for concept, (whole, stems, asian) in _concepts().items():
        among = first if concept in _AT_THE_START else runs
        begun = (run for run in among - whole if run.startswith(stems) and " " not in run)
        times = len(among & whole) + sum(1 for _ in begun) + sum(word in sentence for word in asian)
        named += [f"+{concept}{n}" for n in range(1, min(times, 3) + 1)]
    return named


@cache
def _concepts() -> dict[str, tuple[set[str], tuple[str, ...], list[str]]]:
    """Return the words of the concepts: whole ones, beginnings, and those that may stand inside a word."""
    table: dict[str, tuple[set[str], tuple[str, ...], list[str]]] = {}
    for concept, listed in _CONCEPTS.items():
        latin, asian = (part.split("|") for part in listed.split("/"))
        stems = tuple(word[:-1] for word in latin if word.endswith("*"))
        table[concept] = {word for word in latin if not word.endswith("*")}, stems, asian
    return table


@cache
def _weights() -> dict[str, float]:
    lines = (line.split("\t") for line in WEIGHTS.read_text(encoding="utf-8").splitlines())
    return {name: float(weight) for weight, *names in lines for name in names}
