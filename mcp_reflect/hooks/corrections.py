"""Whether a prompt corrects how the agent works, for longer than its task.

A correction stands in a sentence of its own: it says from now on, never, without asking me, we use this here. A task may
have the same words ("make sure that the form is never submitted twice"): there they are about the program, and stand
behind a verb that orders it. A question, and what is quoted or in code, corrects nothing.

The tables have the words of English, German, French, Spanish, Portuguese, Italian, Dutch, Japanese and Chinese.
"""

import re
from typing import Final

from mcp_reflect.patterns import lazy_compile

_MOST_CHARS: Final = 1_500  # of a prompt: what follows is a specification or was pasted


def _any(*patterns: str) -> re.Pattern[str]:
    return lazy_compile("(?:" + "|".join(f"(?:{pattern})" for pattern in patterns) + ")")


_CODE: Final = lazy_compile(r"```.*?(?:```|\Z)|^>.*$", re.DOTALL | re.MULTILINE)
_QUOTED: Final = lazy_compile(
    r"\"[^\"\n]*\"|“[^”\n]*”|„[^“”\n]*[“”]|«[^»\n]*»|「[^」\n]*」|『[^』\n]*』|(?<!\w)'[^'\n]*'(?!\w)"
)
_NAME: Final = lazy_compile(r"`[^`\n]*`")
_SENTENCE: Final = lazy_compile(r"[^.!?。！？\n]+(?:[.](?=[\w/])[^.!?。！？\n]*)*[?？]?")
_CLAUSE: Final = lazy_compile(r"[,;:，；：、—–]\s*|\s-+\s|\s(?=so (?:never|always|don't))")
_LEAD: Final = lazy_compile(
    r"(?:(?:no+|nope|nah|wrong|again|actually|wait|hey|ok|okay|hmm|um|well|and|but|so|also|oh|stop(?=[,.!])|look|listen|sorry|btw|fyi|pls|please|nein|bitte|und|doch|non"
    r"|et|mais|stp|s'il te plaît|oye|por favor|y|pero|não|e|mas|ma|per favore|nee|en|maar|alsjeblieft|いや|違う|不对|不是|请|你)(?![\w'])[\s,:!.-]*)+"
)

# What is about the program that is worked on, not about the way of working: orders, wishes, and what a program does.
_TASK: Final = _any(
    r"(?:add|make|ensure|implement|create|fix|update|change|rename|show|generate|summarize|translate|build|refactor|explain|design|extend|let|give|find|migrate|replace"
    r"|convert|move|validate|check|verify|test|set|log|document|draft|tell|help|review|look|investigate|debug|port|draw|render|display|adjust|modify|improve|extract|remove)\b",
    r"(?:i|we) (?:want|need|would like|'d like|remember|think|believe|wonder|am|was|have|had) (?!you\b)",
    r"(?:can|could|would|will|is|are|was|were|do|does|did|should|shall|has|have|may|might) (?:you|i|we|it|the|this|that|there|they|these|those|a|an)\b",
    r"(?:prüf|stell|sorge?\b|füge? |erstell|änder|zeig|erklär|implementier|bau|schreib)\w*", r"(?:assure|ajoute|crée|vérifie|montre|explique|modifie|implémente|corrige|fais en sorte)\b",
    r"(?:asegúr|añad|agreg|cre[ae]\b|verific|muestr|explic|implement|corrig|haz )\w*", r"(?:certifi|garant|adicion|cri[ae]\b|mostr|corrij|faça )\w*",
    r"(?:assicur|aggiung|crea\b|mostr|spieg|corregg|fai )\w*", r"(?:zorg|voeg|maak|controleer|toon|laat|leg uit)\b", r"(?:确保|添加|增加|创建|修复|实现|解释|检查|让|把|给)",
)  # fmt: skip
_THING: Final = _any(  # a sentence that begins so is about a thing of the program
    r"(?!il (?:ne )?faut)(?:the|an?|every|all|each|if|when(?:ever)?|users?|it|there|der|die|das|ein\w*|wenn|le|la|les|l'|une?|el|los|las|si|os?|as?|uma?|se|il|lo|gli|i|de|het|een|als|ich|ik|j'\w+|je|yo|eu|io|(?:siempre|sempre) (?:me|mi|\w+o)|\w+o (?:siempre|sempre))\b", r"(?:页面|按钮|密码|用户|如果|当)|.*は(?:常に|絶対に)",
)  # fmt: skip
_CASE: Final = lazy_compile(r"(?:if|when(?:ever)?|wenn|sobald|si|se|als|quand|cuando|quando|如果|当)\b(?! you\b)")
_FOR_NOW: Final = _any(
    r"\b(?:for now|right now|yet|this time|just this once|for the moment|for today|at the moment)\b",
    r"\b(?:in|for|with|on) this (?:task|pr|pull request|function|refactor|refactoring|file|one|change|step|method|class|ticket|dialog|component|case|page|commit|endpoint)\b",
    r"\b(?:vorerst|diesmal|für jetzt|noch nicht|pour l'instant|cette fois|por ahora|esta vez|por enquanto|desta vez|per ora|questa volta|voorlopig|deze keer)\b", r"今回|とりあえず|暂时|这次",
)  # fmt: skip

# What holds from here on, or was said before: also in a sentence that orders something.
_STANDING: Final = _any(
    r"\b(?:from (?:now|here|today) on(?:wards?)?(?!,? (?:the|all|this|every|each) [\w ]{1,30}(?:should|must|will|shall|is|are)\b)|going forward|from this point on|henceforth|for future reference)\b",
    r"\bi keep (?:telling|asking|reminding) you\b|\b(?:i|we)(?:'ve| have)? (?:already |just )?(?:told you|reminded you|warned you|asked you (?:already|before|not to|never|many|twice|several|to always|to stop)|said (?:it|this|that) (?:\w+ )?(?:times|before|already))\b",
    r"\b(?:as|like) i(?:'ve| have)? (?:already )?(?:said|told|mentioned|asked) (?:before|already|earlier|last time|many|several|you)",
    r"^(?:in (?:the )?future|as a (?:general )?rule)\b|^(?:use|run|don't|do|ask|write|keep|avoid)\b.*\bin (?:the )?future$", r"\bhow (?:many times|often) (?:do|must|have|did) i\b", r"\byou (?:keep|always|constantly|still keep) (?:\w+ing|forget|ignore|use|do|add|run|write|make)\b", r"\bwhy do you (?:keep|always|still)\b",
    r"^you(?:'ve| have)? (?:just )?(?:(?!need)\w+ed|did|used|wrote|ran|made|forgot|put|broke|got) (?:[^,]* )?again\b|^again,? you\b|^you again\b|\bmake it a habit\b|\bkeep (?:that|this|it) in mind\b|\bget used to\b",
    r"\b(?:(?:every|each) ?time|whenever) you (?!click|press|open|reload|refresh|log|visit|select|go|type|enter|submit|scroll|hover|close|load|start|switch|call|save|hit|tap|get|try)\w+", r"\bwe have a rule\b|\bour (?:rule|convention|policy|standard|guideline)s?(?: here)? (?:is|are|says?)\b|\bthe (?:house rule|convention|(?:rule|policy|standard) (?:here|in this \w+))(?: here)? (?:is|says?)\b",
    r"\bab (?:jetzt|sofort|nun|heute)\b|^(?:in zukunft|künftig|zukünftig)\b|\bvon (?:nun|jetzt) an\b|\bgesagt,? dass|\b(?:dir|euch) (?:\w+ ){0,3}gesagt|\bwie oft (?:muss|soll|habe?) ich\b|\bdu (?:hast|benutzt|machst|vergisst) (?:\w+ ){0,2}?(?:schon wieder|ständig|dauernd|jedes mal)",
    r"\bmerke? dir\b|\bdenke? (?:immer )?daran\b|\bvergiss nicht,? dass\b|\bnächste[sn]? mal(?!,? (?:wenn|dass))|\bhöre? (?:\w+ ){0,3}?auf\b",
    r"\bà partir de maintenant\b|\bdorénavant\b|^(?:désormais|à l'avenir)\b(?!,? l)|\b(?:t'|vous |te l'|vous l')ai (?:déjà )?(?:dit|demandé|répété)\b|\bcombien de fois\b|\bprochaine fois\b(?! qu)|^(?:arrête|cesse)z? d[e']|\b(?:souviens-toi|rappelle-toi|retiens|n'oublie(?:z)? (?:pas|jamais)) (?:bien )?qu[e']",
    r"\ba partir de ahora\b|\bde (?:ahora|aquí) en adelante\b|\b(?:te|os) (?:lo )?(?:he dicho|dije|había dicho|pedí)\b|\bcuántas veces\b|\bpróxima vez\b(?! que (?:el|la|un|se))|^(?:deja|dejad|para) de \w+r(?:lo|la|los|las)?\b|\b(?:recuerda|acuérdate(?: de)?|ten en cuenta|no (?:te )?olvides(?: de)?) que\b",
    r"\ba partir de agora\b|\bde agora em diante\b|\bdoravante\b|\b(?:já (?:te|lhe|vos)? ?|eu (?:te )?(?:já )?(?:te )?)(?:disse|falei|avisei)\b|\bquantas vezes\b|\bpróxima vez\b(?! que (?:o|a|um))|^(?:pare|pára|para|deixe|chega) de \w+r\b|\b(?:lembre(?:-se)?(?: de)?|lembra|tenha em mente|não (?:se )?esqueça(?: de)?) que\b",
    r"\bd'ora in (?:poi|avanti)\b|\bda (?:ora|adesso) in (?:poi|avanti)\b|\b(?:ti|vi|te l'|ve l')\s?(?:ho|avevo) (?:già )?(?:detto|chiesto)\b|\bquante volte\b|\bprossima volta\b(?! che (?:il|la|un|l'))|\b(?:smettila|smetti|smettetela|piantala|basta) (?:di|con)\b|\b(?:ricorda|ricordati|tieni (?:presente|a mente)|non dimenticare) che\b",
    r"\bvanaf nu\b|\bvoortaan\b|\bin het vervolg\b|\bvan nu af aan\b|\bik (?:heb|had|zei) (?:\w+ ){0,4}?gezegd\b|\bhoe vaak (?:moet|heb) ik\b|\bvolgende keer\b(?! dat)|^stop met\b|\bhoud? (?:nou |eens )?op met\b|\bonthoud\b|\bdenk eraan\b|\bvergeet niet dat\b",
    r"今後は?、|今後は|これからは|次回(?:から|は)|次から|今度から|(?:前に?も|何度も?|さっきも)(?:言|いい|お伝え)|覚えておいて|覚えといて|(?:のは|を|ことは)(?:もう)?(?:やめて|止めて)|二度と",
    r"^(?:那)?(?:以后|今后|往后|下次|下回)(?!用户|登录)|从现在(?:开始|起)|(?:说|讲|告诉|提醒)过(?:你|了|多|很多|好几|不)|说了(?:多少|几|很多|好几)(?:次|遍)|记住(?!用户|密码|登录|我|账号)|请?记得[，：:]|别再|不要再|不要总|别总|不要每次|千万(?:不要|别)",
)  # fmt: skip

# Without asking, before each commit, no more: a bound on the agent's own steps.
_BOUND: Final = _any(
    r"\b(?:don't|do not|never|no) .*\bwithout (?:asking|my|checking|approval|permission|telling)\b|(?<!\bi )(?<!\bthey )\b(?:don't|do not) (?!need|want)\w+ .*\b(?:again|ever|anymore|any more|unless i)\b|\b(?:don't|no need to) ask (?:me )?(?:before|for|when|every)|^ask (?:me )?(?:first )?before\b|\b(?:don't|do not|never) .*\bby hand\b|^no \w+ in (?:the )?(?:commits?|commit messages|comments|code|answers|prs?)\b",
    r"\b(?:before|after|on|for|with) (?:each|every) (?:commit|push|change|edit|pr|pull request|task|step|merge|release|deployment)\b", r"\b(?:keep|make|write|give) your (?:answers?|replies|summaries|explanations|messages|comments|commits?)\b|\byour (?:answers|replies|summaries|commit messages) (?:should|must)\b",
    r"\bohne (?:mich )?(?:vorher )?zu fragen\b|\b(?:vor|nach) jede[mr] (?:commit|push|änderung|schritt|merge|release)\b|\bmehr,? ohne\b", r"\bsans (?:me )?(?:le )?demander\b|\b(?:avant|après) chaque (?:commit|push|modification|étape)\b|^ne \w+ plus (?:jamais |de |rien|d')",
    r"\bsin (?:preguntar|consultar)\w*\b|\b(?:antes|después) de cada (?:commit|push|cambio|paso)\b|^no vuelvas a \w+r\b", r"\bsem (?:me )?(?:perguntar|consultar|avisar)\b|\b(?:antes|depois) de cada (?:commit|push|mudança|passo)\b|^não \w+ mais\b",
    r"\bsenza (?:chieder|avvisar|consultar)\w*\b|\b(?:prima|dopo) (?:di )?ogni (?:commit|push|modifica|passo)\b|^non \w+ (?:più|mai più)\b", r"\bzonder (?:het )?(?:\w+ ){0,2}te vragen\b|\b(?:voor|na) elke (?:commit|push|wijziging|stap)\b|^(?!laat)\w+ (?:niets|geen|nooit) .*\bmeer\b",
    r"\bdon't touch .*,? (?:it|they|that)\b|^ne touche(?:z|s)? (?:pas|jamais)\b|^no (?:toques|modifiques)\b|^não (?:mexa|toque)\b|^non toccare\b|^(?:kom|blijf) .*\b(?:niet aan|af)\b|^lass die finger\b|^fass\w* .*\bnicht an\b",
    r"勝手に.*(?:ないで|するな)|(?:毎回|いちいち).*(?:ないで|やめ)", r"(?:没问我|不问我|没经过我).*(?:别|不要)|(?:不要|别|不许|不准)(?:擅自|随便|直接)",
)  # fmt: skip

# How to work, as an order at the beginning of a clause.
_ORDER: Final = _any(
    r"(?:you (?:should|must|have to|need to|can|may|are (?:not )?(?:allowed|supposed) to) )?(?:always|never|don't ever|do not ever) (?!mind\b|on\b|the\b|a\b|an\b|in\b|been\b|seen\b|again\b|said\b|\w+ed\b)\w+",
    r"(?:stop|quit|no more) \w+ing\b(?! (?:here|there|now)\b)", r"you (?:should|must)(?:n't| not) (?!be\b)\w+", r"remember(?: that|$| to (?:always|never)|: )|(?:don't|do not|never) forget that", r"next time(?! (?:the|a|an|it|he|she|i|we|they|that|someone|somebody|users?|my)\b)",
    r"i (?:don't|do not|never) want you to|i want you to (?:always|never)|i(?:'d| would)? prefer (?:that )?you (?:always|never)", r"i(?:'d| would) rather (?:you|that you)\b|(?:the )?same mistake (?:again|as)\b|(?:for the record|for your information|note for later|new rule|rule number)\b",
    r"du (?:sollst|darfst|solltest|musst) (?:\w+ ){0,3}?(?:nie|niemals|nicht|kein\w*|immer|jedes mal)\b", r"tu (?:ne )?dois (?:jamais|toujours|pas)\b", r"(?:no )?debes (?:nunca|siempre)|(?:você|voce) (?:nunca|sempre) deve|(?:non )?devi (?:mai|sempre)\b", r"je (?:moet|mag) (?:\w+ ){0,2}?(?:nooit|altijd|niet|geen)\b",
    r".*(?:絶対|決して)(?!.*(?:表示|よう)).*(?:ないで|するな|ないこと|ダメ|だめ|やめ)|.*(?:必ず|いつも|常に)(?!.*(?:ように|表示)).*(?:前に|使って|実行|てから)|.*前に(?:は)?必ず|.*もうやめて|.*(?:禁止|ルール)(?:です|だ|は|$)",
    r"(?!密码|页面|按钮).*(?:永远(?:不要|别)|绝对?不(?:要|能|许)|一律|禁止)(?!.*用户)|.*(?:每次|总是|一定要|必须|都要)(?!.*用户).*(?:之前|先跑|先运行|先问|使用)",
)  # fmt: skip
# Always and never anywhere in a sentence that is not about a thing; English has them at the beginning of a clause.
_EVER: Final = _any(
    r"\b(?:nie|niemals|immer|grundsätzlich)\b(?! (?:wieder|noch|mehr|sichtbar|wenn)\b)", r"\b(?:toujours|jamais)\b(?! visible)", r"\b(?:nunca|jamás|jamais|siempre|sempre|mai)\b(?! vis[ií]b?v?el?)", r"\b(?:nooit|altijd)\b(?! zichtbaar)",
)  # fmt: skip

# How it is done here, as a fact.
_PLACE: Final = _any(
    r"\b(?:in (?:this|our) (?:repo|project|code ?base|repository|team|company|monorepo|api)|around here|on this (?:box|machine|team|project))\b", r"\b(?:in diesem (?:projekt|repo|repository|code)|bei uns)\b", r"\b(?:dans ce (?:projet|dépôt|repo|code)|chez nous)\b",
    r"\b(?:en este (?:proyecto|repo|repositorio)|n[eo]ste (?:projeto|repo|repositório)|in questo (?:progetto|repo|repository)|da noi|in dit (?:project|repo)|bij ons)\b", r"(?:ここでは|この(?:プロジェクト|リポジトリ|コード)では|うちでは|弊社では)|(?:这个|本)(?:项目|仓库|代码库)(?:里|中)?",
)  # fmt: skip
_ONLY_TELLS: Final = _any(  # what is there, which says nothing of how to work
    r"\bthere (?:is|are)\b|\bwe (?:have|want|need|support|call|show|get)\b|\b(?:gibt es|il y a|hay|há|tem|c'è|ci sono|er is|er zijn)\b|があ|有(?:一|两|几|个)",
)  # fmt: skip
_HABIT: Final = _any(
    r"\bwe (?:always|never|only|exclusively) (?!wanted|had|got|saw|were|was|could|been|have|need|see|get|call|show|return|support|\w+ed\b)\w+", r"\bwe (?:don't|do not|no longer|can't|never) (?:ever )?(?:use (?!this|that|it\b)|do (?:that|this|it)\b|allow\b|want (?:any|\w+ing)|(?:commit|push|write|mock|deploy|edit|touch|log|hardcode|merge|squash|rebase|install|abbreviate|pin|nest|inline)\b)",
    r"\bwe (?:use|write|run|log|format|deploy|commit|name|prefer|stick|work|keep|test|put|import|do)\b.*(?:\bhere\b|, not\b|,? (?:never|not) \w+|\binstead of\b|\bis not allowed\b|\beverywhere\b|\bonly\b)", r"^use \S+, (?:not|never) \S+|\b(?:is|are) (?:not allowed|forbidden) here\b", r"^(?:here|that's (?:not )?how)\b,? .*\bwe (?:\w+)\b|\bthis (?:repo|project|code ?base|repository|box|machine) (?:is|uses|has|only uses|runs) (?:.* )?only\b|\bonly (?:ever )?(?:use|run|commit|push) .*\bhere\b",
    r"\b(?:don't|do not) \w+ .*, (?:we \w+|they(?:'re| are)|it's|that's|because|since)\b.*", r"\b(?:is|are) (?:read only|off limits|generated|overwritten)\b.*\b(?:never|ever|no|don't)\b",
    r"\bwir (?:\w+en)\b.*\b(?:hier|immer|nie|niemals|kein\w*|nicht|statt|sondern)\b|\bhier (?:\w+ )?\w+en wir\b", r"\b(?:on|nous) (?:n')?(?!a\b|avons)\w+\b.*\b(?:ici|jamais|toujours|pas|plutôt|plus|uniquement|que)\b|\bici,? (?:on|nous)\b",
    r"^(?:here|hier|ici|aquí|aqui|qui)\b.*, (?:not|never|no|nicht|kein\w*|pas|jamais|nunca|não|non|mai|niet|geen)\b|^(?:aquí|aqui|qui)\b.* s[ei] \w+|\b(?:aquí|aqui|qui)\b,? (?:\w+ ){0,3}?(?:usamos|usa|usiamo|utilizamos|utilizziamo|escribimos|escrevemos|scriviamo|hacemos|fazemos|trabajamos|nunca|siempre|sempre)\b|\b(?:usamos|usiamo|utilizamos|utilizziamo|escribimos|escrevemos|scriviamo|a gente (?:não )?usa)\b.*\b(?:aquí|aqui|qui|siempre|sempre|nunca|no|não|non|mai)\b",
    r"\b(?:we|wij) \w+en\b.*\b(?:hier|nooit|altijd|geen|niet)\b|\bhier \w+en (?:we|wij)\b", r"(?:ここでは|私たちは).*(?:使って|使い|書きます|書いて|統一|ルール)(?!.*か$)", r"我们(?:这里|这边|这儿|项目|团队|都|一直|只|统一|从来|从不|不|里|在)+(?:用|使用|采用|写)(?!户)|我们.{1,12}(?:要放|都|必须|统一用|一律用)",
)  # fmt: skip
_REJECTS: Final = _any(
    r"(?:no+|nope|nah|wrong|not like that|not again|that's (?:wrong|not right|not how)|again|actually|wait|stop|careful|why did you|you did it again|you got it wrong|argh|ugh)(?!\w)(?! (?:problem|worries|need))",
    r"(?:nein|nee|no|não|non),? (?:so nicht|zo niet|così no|así no|assim não|pas comme ça)|não é assim|così no|así no|so nicht",
)  # fmt: skip
_FACT: Final = _any(
    r"(?<!\bi )(?<!\bthey )\b(?:don't|do not|never) (?!worry|know|think|understand|like|change|touch that|do that\b|want|need|see|have|show)\w+",
    r"\b(?:lives?|belongs?|goe?s?(?: through| next| in(?:to)?| under)|must (?:always|never|not)|(?:is|are) (?:always|never|not allowed|forbidden|off limits|stored|shared|generated|read|called|only|returned|utc|in (?:cents|utc|seconds|ms|milliseconds|meters|english)))\b",
    r"\byou (?:must|have to|can't|cannot|mustn't) (?!add|fix|change|make)\w+", r"\b(?:gehör\w+|vont|van junto|vanno|ficam|staan|horen)\b",
)  # fmt: skip
_QUESTION: Final = lazy_compile(
    r"[?？]$|か$|吗$|^(?:what|which|who|where|when (?!you)|how|why|warum|wieso|wie|was|pourquoi|comment|est-ce|por qué|por que|¿|perché|come|waarom|hoe|为什么|なぜ)\b"
)
_REPROACH: Final = lazy_compile(
    r"^(?:why (?:do|did|are) you (?:keep|always|still)|how (?:many times|often) (?:do|must|have)|wie oft|combien de fois|cuántas veces|quantas vezes|quante volte|hoe vaak)"
)


def corrects(prompt: str) -> bool:
    """Return whether a prompt corrects how the agent works, for longer than this task."""
    text = _CODE.sub(" ", prompt[:_MOST_CHARS].replace("’", "'"))
    if text.lstrip()[:1] in "/<":  # a command of the host, or what it adds
        return False
    text = _NAME.sub("X", _QUOTED.sub("X", text)).lower()
    rejected = False
    for raw in _SENTENCE.findall(text):
        whole = raw.strip(" \t-*•")
        rejected = rejected or bool(_REJECTS.match(whole))
        if _corrects(_without_lead(whole), whole, rejected=rejected):
            return True
    return False


def _without_lead(text: str) -> str:
    lead = _LEAD.match(text)
    return text[lead.end() :] if lead else text


def _corrects(sentence: str, whole: str, *, rejected: bool) -> bool:
    if (_QUESTION.search(sentence) and not _REPROACH.match(sentence)) or _FOR_NOW.search(sentence):
        return False
    if _STANDING.search(sentence) or _STANDING.search(whole):
        return True
    if _TASK.match(sentence):
        return False
    if _BOUND.search(sentence):
        return True
    clauses = [_without_lead(clause) for clause in _CLAUSE.split(sentence) if clause]
    if any(map(_ORDER.match, clauses)) and not _CASE.match(sentence):
        return True
    if not _THING.match(sentence) and _EVER.search(sentence):
        return True
    if _HABIT.search(sentence) or (_PLACE.search(whole) and not _ONLY_TELLS.search(sentence)):
        return True
    return rejected and bool(_FACT.search(sentence))
