"""The words by which a claim is known, in English, German, French, Spanish, Portuguese, Italian, Dutch, Japanese, Chinese."""

import re
from collections.abc import Mapping
from typing import Final

from mcp_reflect.evidence.kinds import CHECKS, ProofKind, words_of_kinds
from mcp_reflect.patterns import lazy_compile


def _any(*patterns: str) -> re.Pattern[str]:
    return lazy_compile("|".join(f"(?:{pattern})" for pattern in patterns), re.IGNORECASE)


# How it went.

# "Passes a list to total()" is not an outcome, "passes the linter" is.
_NO_OBJECT: Final = (
    r"(?! (?:an?|its|their|this|that|these|those|it|them|to|through|into|along|by|over|around|one|none|null|true|false|`\S+`|in an?)\b(?! (?:\w+ )?(?:tests?|checks?)\b))"
    r"(?! the (?!tests?\b|lint|type|check|build|suite|unit|whole|full|entire))(?! [`'(\[{])(?! (?-i:[A-Z][A-Z_]{2,})\b)"
)
_BE: Final = r"\b(?:is|are|was|were|looks?|stays?|remains?|comes? back|came back|:|'s|'re|all|now|both|reports?|turned|back to) (?:\w+ ){0,2}?"
GOOD: Final = _any(
    rf"(?<!to )(?<!must )(?<!not )\bpass(?:es|ed|ing)?\b{_NO_OBJECT}", r"(?<!to )\bsucceed(?:s|ed)?\b",
    rf"{_BE}(?:[\w-]+-)?(?:green|clean|ok|fine|happy|successful|passing|good)\b", r"^[\w -]{0,30}\b(?:clean|green)\W*$",
    r"\b(?:ran|runs?|run|built|compiled?|finish(?:es|ed)|completed?s?|builds|compiles|lints?|works?)\b(?: (?:again|now))*(?: (?:successfully|clean|cleanly|fine|through|without (?:any )?(?:warning|error|fail|problem|issue)\w*))\b",
    r"\b(?:builds|compiles|works|went through|check out|checks out)(?: (?:again|now))*\W*$",
    r"\b(?:no|without|zero|0)(?: any| more| \w+)? (?:tests? |type |lint |\w+ )?(?:errors?|failures?|issues?|problems?|warnings?|findings?|offenses|violations)\b",
    r"^[✅✓✔☑]\W{0,6}(?:[\w-]+ ?){1,4}\W*$|^.{1,40}[✅✓✔☑]\W*$",  # not as the mark of a list's item
    r"\bno (?:\w+ )?(?:failing|failed|broken) (?:tests?|specs?)\b", r"\bno (?:\w+ )?(?:tests?|specs?) (?:is |are )?(?:fail\w*|red|broken)\b", r"\b(?:finds|found|reports|reported) nothing\b",
    # German
    r"\b(?:laufen|läuft|liefen|lief)\b.{0,40}\b(?:durch|fehlerfrei|sauber|erfolgreich)\b", r"\b(?:bestehen|bestanden|durchgelaufen|funktioniert|klappt|stimmt|erfolgreich|fehlerfrei)\b",
    r"\b(?:ist|sind|bleibt|bleiben|alle|wieder|jetzt) (?:\w+ ){0,2}?(?:grün|sauber|erfolgreich|in ordnung|zufrieden|ok)\b", r"\bkeine (?:\w+)?fehler\b", r"\bohne fehler\b",
    # French
    r"\bpass(?:e|ent|é|ée|és|ées)\b(?! (?:un|une|le|la|les|par|à)\b)", r"\bréussi(?:t|e|s|es|ssent)?\b", r"\b(?:est|sont|tout est) (?:\w+ ){0,2}?(?:au vert|verte?s?|propres?|corrects?|ok)\b",
    r"\baucune erreur\b", r"\bne signale (?:rien|aucune?|plus)\b", r"\bsans erreurs?\b",
    # Spanish, Portuguese, Italian
    r"\b(?:pasan|pasa|pasaron|pasado|pasando|passam|passaram|passando|passou|passano|passa|passati|passate|superati|superano)\b(?! (?:un|una|la|el|le|il|lo|o|a|uma?)\b)",
    r"\b(?:en|em|in) verde\b|\b(?:est[áã]o?|son|sono|è|são) (?:\w+ ){0,2}?(?:verdes?|verdi|limpi[oa]s?|limpos?|pulit[oia])\b", r"\bsin errores\b|\bsem erros\b|\bsenza errori\b",
    r"\b(?:correctamente|corretamente|correttamente|con éxito|com sucesso|con successo|exitosamente)\b", r"\b(?:fue|foi|è stat[oa]|ha sido) (?:un éxito|exitos[oa]|bem-sucedid[oa])\b",
    r"\bno (?:hay|quedan|muestra|reporta) (?:\w+ )?errores\b|\bnão (?:há|aponta|mostra|restam) (?:\w+ )?erros\b|\bnon (?:segnala|mostra|ci sono) (?:\w+ )?errori\b|\bnessun errore\b",
    r"\ba buon fine\b", r"\b(?:fonctionnent?|funcionan?|funcionam?|funziona(?:no)?|werkt|werken)\b", r"\best[áa] limpio\b",
    # Dutch
    r"\b(?:slagen|slaagt|geslaagd|groen|succesvol|foutloos)\b", r"\b(?:zonder|geen) fouten\b",
    # Japanese, Chinese
    r"通る(?:ように|。|$)|通り(?:ました|ます)|通った|通って|パスし|成功|合格|(?:問題|エラー)(?:は|が)?(?:ありません|なし|ない)|グリーン", r"通过|成功|全绿|(?:没有|无)(?:报错|错误|问题)",
)  # fmt: skip
TARGET: Final = _any(
    r"(?:\b(?:make|just|task|run|pnpm|yarn|rake|composer) |\./|\b(?:bin|scripts?)/)([\w:./-]{1,40})"
)
"""A target or script by its name, which may hold several kinds of checks."""
ALL_GREEN: Final = _any(
    r"\b(?:everything|all(?: checks| of it)?|alles|tout|todo|tudo|tutto)(?: is| are| ist| est| está| è| looks)?(?: now| still| again| wieder| jetzt)? (?:green|grün|au vert|vert|verde|groen|en verde)\b",
    r"\ball (?:the )?(?:checks|pre-commit hooks|hooks) (?:pass|are passing|succeed|passed)\b",
    rf"\b(?:everything|all of it) (?:now |still )?pass(?:es|ed)\b{_NO_OBJECT}",
    r"全绿|オールグリーン",
)

# What is said to have gone well.

_TESTS: Final = (
    r"\b\w{1,3}unit\b|\b\w{1,20}suite\b|\btests?\b(?! (?:data|case for|file|for|server|coverage|user|account)\b)|\btest[ -]?(?:suites?|runs?|cases)\b|\bsuite\b|"
    r"\b\w{0,20}specs?\b(?!ific)|\b\w{0,14}tests?\b|\btestsuite\b|(?-i:\bTest[A-Z]\w+)|\btest_\w+|"
    r"\bpruebas?\b|\btestes?\b|\btesten\b|\b\d+ (?:passed\b|examples|assertions)\b|\bscenarios\b|テスト|测试"
)
_BUILD: Final = r"\b\w{0,20}-?builds?\b(?! (?:an?|the|its|their|script|step|file|on|upon|system|tool)\b)|\bcompilation\b|\bcompilaci[óo]n\b|\bcompilação\b|\bcompilazione\b|\bcompiles\b|\bkompilierung\b|ビルド|构建|编译|コンパイル"
_TYPES: Final = (
    r"\btype[ -]?check(?:s|ing|er)?\b|\btypes\b|\btype errors?\b|\btyping\b|\btypescript\b|\btyp(?:en)?(?:check|prüfung|fehler|s)\b|\btypage\b|"
    r"\b(?:de|di) tip[oi]s?\b|\btipagem\b|型|类型检查"
)
_LINT: Final = r"\boffenses\b|\blint(?:s|er|ers|ing)?\b|\bruff\b(?! format)|\bbiome\b|リント"
_FORMAT: Final = (
    r"\bformatt(?:ing|er)\b|\bformat (?:check|checks|passes|(?:is|are) clean)\b|\bcode format\b|\bformatierung\b|\bformatage\b|\bformato\b|"
    r"\bformatação\b|\bformattazione\b|\bopmaak\b|フォーマット|格式"
)
_COMMIT: Final = r"\bcommit(?:s|ted|tet|ten|é|ée|és|tat[oaie]|ead[oa]s?|ad[oa]s?|ei)?\b|\bgecommit\b|コミット|提交"
_PUSH: Final = r"\b(?:force-)?push(?:ed|es|en|t|ato|ata|ado|ada)?\b|\bgepusht\b|\bpoussée?s?\b|\bsubid[oa]s?\b|プッシュ|推送"
_MIGRATION: Final = (
    r"\b(?:database|schema|alembic|flyway|prisma|db|datenbank|base de datos|banco de dados) migrations?\b|\bmigrations?\b(?! (?:to|from|of|guide|path|plan|file|script|strategy)\b)|\bmigraci[óo]n(?:es)?\b|"
    r"\bmigraç(?:ão|ões)\b|\bmigrazion[ei]\b|\bmigraties?\b|\b(?:the )?(?:database|schema|db|datenbank|bas[ei]s? de (?:datos|dados|données)|banco de dados)\b|\bdb:migrate\b|マイグレーション|迁移"
)
_DEPLOYMENT: Final = (
    r"\bdeploy(?:s|ed|ment|ments|t|ado|ada|ato|ata)?\b|\brollout\b|\brolled out\b|\brelease\b|\bchart\b|\brevision\b|\bterraform\b|\bapply\b|\bupgrade\b|\bdéploiement\b|\bdéployée?s?\b|"
    r"\bdespliegue\b|\bdesplegad[oa]s?\b|\bimplantad[oa]s?\b|\binfrastruttura\b|\binfrastructure\b|\bausgerollt\b|デプロイ|部署|上线"
)
_HEALTH: Final = (
    r"\b(?:services?|servers?|stack|site|website|endpoint|api|app|application|backend|frontend|(?:health|readiness|liveness)[ -]?(?:checks?|probes?)|healthz|pods?|containers?|postgres\w*|redis|mysql|mongo\w*|nginx|worker|daemon|dienst|seite|serveur|servicio|servidor|serviço|"
    r"servizio|serve)\b|/health\w*|サービス|サーバ|服务"
)
_IMAGE: Final = r"\b(?:docker[ -])?(?:image|imagen|imagem|immagine)s?\b|\bdocker[- ]build\b|\bdocker-image\b|镜像|イメージ"

# Names of programs that are plain words as well, or stand for more than one kind of proof.
_PLAIN_WORDS: Final = frozenset(
    "artisan astro ava bandit behave bun c++ cap cc clang clang++ credo deno flow forge g++ gatsby gcc hardhat helm hugo "
    "karma lein make manage.py nimble ninja node pest pint prove python rails rake remix robot rollup ruff service "
    "standard surge tap tofu trial turbo uv vite ward xo".split()
)


def _programs(kind: ProofKind) -> str:
    """Return the names of the programs that give a proof of the kind, as the table of proofs has them.

    A program that gives no other proof is named by its first word: "ty passes".
    """
    table = words_of_kinds()
    others = {words[0] for other in CHECKS - {kind} for words in table[other]}
    names = {
        " ".join(words).rstrip("*")
        for words in table[kind]
        if len(words) < 3 and " *" not in " ".join(words)
    }
    names |= {words[0].rstrip("*") for words in table[kind] if words[0] not in others}
    return (
        r"(?<![\w-])(?:"
        + "|".join(re.escape(name) for name in sorted(names - _PLAIN_WORDS))
        + r")(?!\w)"
    )


NOUNS: Final[Mapping[ProofKind, re.Pattern[str]]] = {
    ProofKind.TESTS: _any(_TESTS, _programs(ProofKind.TESTS)), ProofKind.BUILD: _any(_BUILD, _programs(ProofKind.BUILD), r"\bcompiles?\b|\bkompilier|\bcompila\b"), ProofKind.TYPES: _any(_TYPES, _programs(ProofKind.TYPES)), ProofKind.LINT: _any(_LINT, _programs(ProofKind.LINT)),
    ProofKind.FORMAT: _any(_FORMAT, _programs(ProofKind.FORMAT), r"\bformatted\b"), ProofKind.COMMIT: _any(_COMMIT), ProofKind.PUSH: _any(_PUSH), ProofKind.MIGRATION: _any(_MIGRATION),
    ProofKind.DEPLOYMENT: _any(_DEPLOYMENT), ProofKind.HEALTH: _any(_HEALTH), ProofKind.IMAGE: _any(_IMAGE),
}  # fmt: skip
"""The words of a kind, by which a claim or an admission is known to be about it."""

_APPLIED: Final = _any(
    r"\b(?:ran|applied|went through|up[ -]to[ -]date|migrated|in place)\b", r"\b(?:durchgelaufen|angewendet|eingespielt|migriert|erfolgreich)\b", r"\b(?:appliquée?s?|exécutée?s?|migrée?)\b",
    r"\b(?:aplicó|aplicad[oa]s?|aplicaron|ejecutaron|executaram|ejecutó|ejecutad[oa]s?|migrad[oa]s?|migré|migrei|migramos|executad[oa]s?|rodou|rodaram)\b", r"\b(?:applicat[aeio]|eseguit[aeio]|migrat[aeio])\b", r"\b(?:uitgevoerd|toegepast|gemigreerd)\b",
    r"適用し|適用され|適用済|実行し|完了し", r"完成|已应用|已执行|应用了|已迁移",
)  # fmt: skip
_UP: Final = _any(
    r"\b(?:is|are|'s) (?:now |all |back |still |again |both )*(?:healthy|up|running|live|reachable|online|active|responding)\b(?! (?:to|in production|with|under|behind|as|on an?|until|while)\b)",
    r"\b(?:responds?|responded|answers?|answered|returns?|returned) (?:with |an? |HTTP |status ){0,4}(?:200|ok\b|successfully|correctly|as expected)", r"\b(?:health|readiness|liveness)[ -]?(?:checks?|probes?) (?:\w+ )?(?:pass(?:es|ed)?|ok|green|fine|good)\b",
    r"\b(?:responds|answers)(?: again| now| correctly)*\W*$",
    r"\b(?:läuft|erreichbar|antwortet|gesund)\b", r"\b(?:répond|tourne|est (?:en ligne|opérationnel|actif|sain))\b", r"\b(?:responde|está (?:activ[oa]|en marcha|funcionando|arriba|san[oa]|disponible|no ar|ativ[oa]|rodando|saudável))\b",
    r"\b(?:risponde|è (?:attiv[oa]|online|in esecuzione|san[oa]|raggiungibile))\b", r"\b(?:draait|reageert|is (?:bereikbaar|gezond|online))\b", r"稼働し|動作してい|起動してい|正常に|応答し", r"正常|已启动|在线|可访问",
)  # fmt: skip
_MADE: Final = _any(
    r"\b(?:is|was|are|were|has been|have been|now|image) (?:now |been |successfully ){0,3}(?:built|tagged)\b", r"\b(?:I|we|I've|we've|have) (?:re)?built (?:the|an?)\b|\b(?:image (?:now |still )?builds|images (?:now |still )?build)\b(?! (?:the|an?|on|from|in)\b)", r"\bbuild (?:passes|succeeds|works|is green)\b", r"\bgebaut\b", r"\bconstruite?\b|\bse construit\b",
    r"\b(?:se construye|construid[oa]|construíd[oa]|costruit[oa]|creata|criada)\b", r"\bgebouwd\b", r"ビルド(?:でき|し|され|が完了)", r"构建(?:已)?(?:完成|成功|好)",
)  # fmt: skip
_DEPLOYED_WORDS: Final = _any(
    r"\b(?:is|was|has been|are) (?:now |fully ){0,3}(?:complete[d]?|finished|done|successful)\b|\bsucceeded\b|\bwent through\b|\b(?:finished|completed|done)\W*$", r"\b(?:terminé|réussi|effectué|fait)\b", r"\b(?:hecho|completad[oa]|terminad[oa]|conclu[ií]d[oa]|feito|realizad[oa])\b",
    r"\b(?:completat[oa]|eseguit[oa]|distribuit[oa])\b", r"\bausgerollt\b|\berfolgreich\b|\babgeschlossen\b", r"完了|成功", r"完成|成功",
)  # fmt: skip

SAID: Final[Mapping[ProofKind, re.Pattern[str]]] = {
    ProofKind.IMAGE: _MADE,
    **dict.fromkeys(sorted(CHECKS), GOOD),
    ProofKind.MIGRATION: _APPLIED,
    ProofKind.DEPLOYMENT: _DEPLOYED_WORDS,
    ProofKind.HEALTH: _UP,
}
"""What is said of the nouns of a kind that went well."""

# A participle that says what was done, not what a thing is: "Committed.", "I've pushed it", not "the code deployed to Pages".
_DONE: Final = (
    r"(?:^\W*(?:(?:all|everything|changes|fix|done)\b\W{0,3})?|\b(?:is|are|was|were|been|has|have|I|we|I've|we've|and|also|now|then|already|successfully|it's|just|I’ve|both|them|changes) "
    r"(?:\w+ly |now |also |already |just |been |all )*)"
)
DIRECT: Final[Mapping[ProofKind, re.Pattern[str]]] = {
    ProofKind.COMMIT: _any(
        rf"{_DONE}\bcommitted\b(?! to (?:doing|keeping|the idea|quality))(?! (?:file|version|code|state|lock|secret|by)\w*\b)", r"\b(?:created|made) (?:a|the|one|two|three|\d+) (?:new )?commits?\b",
        r"\bcommit (?:is )?(?:created|done|made|in place)\b", r"\b(?:committet|commitet|commited|eingecheckt)\b", r"\bcommit(?:é|ée|és|ées)\b", r"\b(?:hecho|hice|feito|fiz|fatto|fait) (?:el |un |o |um |il |le )?commit\b",
        r"\bcommit (?:hecho|realizado|feito|fatto|eseguito)\b", r"\bcommit(?:ead|ad|tat)[oaie]s?\b|\bcommitei\b", r"\bgecommit\b", r"コミット(?:しました|した|済み|完了)", r"已(?:经)?提交|提交了|提交完成",
    ),
    ProofKind.PUSH: _any(
        rf"{_DONE}\b(?:force-)?pushed\b(?!.*\b(?:into|onto|aside)\b)(?! (?:back|out|further|down|aside|into|onto|by|through|against))", r"\b(?:gepusht|gepushed|hochgeladen)\b", r"\bpoussée?s?\b", r"\b(?:subid[oa]s?|pushead[oa]s?)\b",
        r"\b(?:hecho|hice|feito|fiz|fatto|fait) (?:el |un |o |um |il |le )?push\b", r"\benviad[oa]s? para o\b|\binviat[oaie] (?:al|su)\b|\bpushat[oaie]\b", r"プッシュ(?:しました|した|済み|完了)", r"已(?:经)?推送|推送(?:了|完成|成功)",
    ),
    ProofKind.BUILD: _any(
        r"\b(?:it|project|code|everything|app|package|solution|crate|workspace|site|bundle|library|all|which|and|frontend|backend|binary|typescript)(?: now| still| also)? (?:builds|compiles)\b(?! (?:the|an?|it|to|into|our|from|on|upon|against|all)\b)",
        r"\b(?:docs|packages|pages|targets|modules|crates|apps) (?:\w+ )?(?:build|compile)\W*$", r"\b(?:all|both)\b[\w ]{0,20} (?:build|compile)\b(?! (?:the|an?|it|to|into|on)\b)", r"\b(?:kompiliert|lässt sich (?:\w+ ){0,2}(?:bauen|kompilieren)|baut (?:wieder|jetzt|fehlerfrei|durch))\b", r"\b(?:se |qui )?compile(?:nt)? (?:sans|correctement|à nouveau)\b", r"\bcompila(?:n|m|no)?(?: (?:sin|correctamente|sem|senza|correttamente|ahora|agora|de nuevo)\b|\W*$)",
        r"\b(?:compileert|bouwt)\b",
    ),
    ProofKind.TYPES: _any(r"\btype-?checks(?: now| again| cleanly)*\W*$|\btypes check\W*$"),
    ProofKind.FORMAT: _any(
        r"\b(?:code|files?|everything|all|sources?)(?: \w+){0,2}? (?:is |are |been |now )+formatted\b(?! (?:as|like|in|string|text|output|for)\b)", r"\bI(?:'ve| have)? (?:re)?formatted (?:it|everything|(?:all|the|both) (?:\w+ ){0,2}(?:code|files?|sources?|project|repo\w*|changes|modules?|packages?))\b", r"\b(?:formatiert|formatée?s?|formatead[oa]s?|formatad[oa]s?|formattat[oaie]|geformatteerd)\b", r"フォーマットしました|已格式化",
    ),
    ProofKind.DEPLOYMENT: _any(
        rf"{_DONE}\bdeployed\b(?! (?:version|code|by|app|instance|service|environment|on every|via CI)\b)", r"\b(?:is|are|it's|went|goes|now) live\b|\bis (?:now )?on (?:npm|pypi|crates\.io)\b", r"\brolled out\b", r"\bTerraform applied\b|\bapplied (?:the )?terraform\b",
        r"\b(?:released|published|shipped) (?:\w+ ){0,3}?to (?:production|prod|npm|pypi|crates\.io|the registry|staging)\b",
        rf"\b(?:v?\d[\d.]+|version|release|package|crate|gem)\b.{{0,20}}{_DONE}(?:published|released)\b|\b(?:published|released) (?:the )?(?:new )?(?:version|release|package|crate|gem|v?\d)", r"\b(?:deployt|ausgerollt|bereitgestellt)\b", r"\bdéployée?s?\b|\bmise? en (?:production|ligne)\b", r"\bdesplegad[oa]s?\b",
        r"\b(?:implantad[oa]|distribuit[oa])\b", r"\b(?:uitgerold|gedeployed|gedeployd)\b", r"デプロイ(?:しました|した|済み|が?完了)", r"已(?:经)?部署|部署(?:完成|成功|了)|已上线",
    ),
}  # fmt: skip

# What makes it no claim.

NOTHING_BAD: Final = _any(
    r"\b(?:no|without|zero|0|any|free of|keine?|ohne|aucune|sans|sin|sem|senza|nessun|geen|zonder|não (?:há|aponta)|no (?:hay|quedan)|non segnala|nicht mehr)(?: any| more| \w+)? (?:\w+ )?(?:\w*errors?|failures?|failing|failed|issues?|"
    r"problems?|warnings?|findings?|offenses|regressions?|\w*fehler|erreurs?|errores|erros|errore|errori|fouten)\b", r"\bwithout warnings or errors\b", r"\bnon segnala errori\b|\bne signale (?:rien|aucune?|plus)\b|\bno longer fails?\b|\b(?:finds|found|reports|reported) nothing\b|\bnone fail\b|\bnothing fail(?:s|ed)\b",
    r"(?:問題|エラー)(?:は|が)?(?:ありません|なし)", r"(?:没有|无)(?:报错|错误|问题|失败)", r"\bfix(?:ed|es)? (?:the |a |all |both |this |that )?(?:[\w-]+ ){0,3}?(?:fail\w*|errors?|broken|bugs?|issues?)\b", r"\berror (?:handling|message|code|path|case|page|state)s?\b",
    r"\bno (?:\w+ )?(?:tests?|specs?) (?:is |are )?(?:fail\w*|red|broken)\b", r"\b0 failed\b|\bfailed: 0\b", r"\b(?:exits?|fails?) (?:with|on) (?:a |an )?(?:clear|helpful|descriptive)\b",
)  # fmt: skip
NOT: Final = _any(
    r"\b(?:not|nothing|never|no longer|cannot|nor|neither|unable|hasn|haven|isn|aren|didn|doesn|don|won|couldn|wasn|weren)\b", r"n't\b|n’t\b", r"\bwithout (?:running|having)\b",
    r"\b(?:nicht|nie|niemals|noch kein\w*)\b", r"\b(?:ne|pas|jamais)\b|\bn'(?:ai|a|est|ont)\b", r"\bno (?=se |ha |han |he |est|pas|compil|funcion|sub|fue|hice)", r"\b(?:não|nunca|non|niet|nooit)\b",
    r"ません|ない|なかった|未だ|まだ", r"没有|没(?!问题)|未|不(?!错)|无法|尚",
)  # fmt: skip
UNSURE: Final = _any(
    r"\b(?:should|would|could|can|may|might|will|'ll|must|shall|needs? to|have to|has to|going to|about to|want(?:s|ed)? to|to (?:be|get|make|have|see|keep|let|ensure|verify|confirm|check)|hope\w*|expect\w*|probably|presumably|likely|perhaps|maybe|seems?|"
    r"appears?|ready to|in order to|try(?:ing)? to|so (?:that )?(?:it|they|the)|let's|let me|please|i think|i believe|assume\w*|ideally|supposed)\b",
    r"\b(?:if|once|when|whenever|until|unless|before|whether|in case|as soon as|as long as|provided|assuming|ensures?|mak(?:es?|ing) sure|depends|so that|only|every time|each time|which is why|says?|claims?|requires?|means)\b",
    r"\b(?:make(?! (?:test|check|lint|build)\b)|makes|making|get|getting|let|have) (?:the |all |these |those ){0,3}(?:\w+ )?(?:tests?|suite|build|specs?) (?:pass|green|succeed|work)",
    r"(?:^|\b(?:to|then|and|please|will|we|I) )(?:verify|check|confirm)\b(?! (?:passes|out|is)\b)",
    r"\bafter (?!(?:the |this |that |my |these |all |both )?(?:\w+ )?(?:fix|change|edit|refactor|updat|rename|switch))", r"(?<!/)(?<!make )(?<!just )(?<!run )\b(?:you|your|user|ci|pipeline|workflow|action|job|script|bot|reviewer)\b",
    r"\b(?:soll|sollte|sollten|wird|werden|würde|könnte|können|muss|müssen|sobald|wenn|falls|bevor|ob|damit|bitte|werde|kann|sie können|vermutlich|wahrscheinlich)\b",
    r"\b(?:devrait|devraient|doit|doivent|va|vont|vais|si|quand|lorsque|dès que|avant|pour que|afin|vous|veuillez|pourra|peut|probablement)\b",
    r"\b(?:debería|deberían|debe|deben|va a|van a|voy a|si|cuando|antes|para que|puedes|puede|una vez|por favor|probablemente)\b", r"\b(?:deve|devem|deveria|vai|vão|vou|se (?:os|as|o|a|i|il|la|le|tudo|tutto|todos|tutti|passa\w*)|quando|antes|para que|pode|assim que|provavelmente)\b",
    r"\b(?:dovrebbe|dovrebbero|devono|quando|prima|affinché|puoi|può|appena|probabilmente)\b", r"\b(?:zou|zouden|moet|moeten|zal|zullen|als|wanneer|zodra|voordat|kun je|kunt|waarschijnlijk)\b",
    r"はず|たら|れば|場合|でしょう|かもしれ|ください|予定|べき", r"应该|如果|会(?!话)|将|请|可以|可能|一旦|之后再|要",
)  # fmt: skip
ELSEWHERE: Final = _any(
    r"\b(?:previous(?:ly)?(?! (?:fail|broken|red|flaky))|earlier|yesterday|last (?:week|month|year|release|time)|originally|used to|at (?:that|the) time|back then|in the past|on main|upstream|changelog|release notes|readme|on your (?:machine|side)|(?<!/)(?<!make )(?<!just )(?<!run )\bci\b|github actions|"
    r"pipeline|workflow|you said|you mentioned|you told|according to|says|in production,? the)\b", r"\bbefore (?:my|the|this|any) change",
)  # fmt: skip
EXCEPT: Final = _any(
    r"\b(?:except|apart from|all but|other than|but one|aside from|pre-?existing|unrelated|bis auf|außer|sauf|excepto|salvo|exceto|tranne|behalve)\b|除了|以外",
)
PLAN: Final = _any(
    r"\b(?:next steps?|plan|todo|to do|to verify|checklist|acceptance|criteria|expected|remaining|what'?s left|you can|you should|suggest\w*|recommend\w*|options?|proposal|how to|steps to|verification steps|test plan|nächste schritte|prochaines étapes|"
    r"próximos pasos|próximos passos|prossimi passi|volgende stappen)\b|次の|接下来|后续|下一步",
)  # fmt: skip

# Admissions.

BAD: Final = _any(
    r"\b(?:fails|is failing|are failing|still fail(?:s|ing)?|fail\b|keeps? (?:failing|crashing)|red\b|broken|breaks|crashes|complains?|flags|lists one|errors out|hangs)\b", r"\b(?:one|two|three|some|several|\d+|last) (?:\w+ ){0,3}?(?:fail|fails|failing|failed|failures?|errors?)\b",
    r"\b(?:still|reports?|finds?|found|has|have|shows?|remain\w*) (?:an? |one |two |three |some |\d+ )(?:\w+ ){0,8}?(?:errors?|failures?|issues?|problems?|offenses?|unused)\b",
    r"\b(?:did|does|do|have|has|is|are|was|were|could|can|would) ?(?:not|n't|n’t)\b.{0,40}\b(?:run|ran|pass|passing|tested|verified|built?|compile|work|go through|get|happen|start|deployed?|pushed?|committed?|migrated|applied|clean|formatted|verify|"
    r"test|finish|answer|respond|running|commit|push|deploy|reach|connect|execute[d]?|been)\b", r"\b(?:cannot|can't|couldn't|unable to|untested|unverified|not (?:yet )?(?:run|tested|verified|deployed|committed|pushed|applied|built|clean|formatted|passing|green))\b",
    r"\b(?:nothing (?:is|was) (?:committed|pushed|deployed|staged)|nothing to commit|stuck|is down|crashloop\w*|needs? (?:formatting|fixing)|would (?:still )?(?:reformat|change)|blocks?|aborts?|times out|stops at)\b", r"\bleft in\b", r"\b(?:does|do|did|is|are|was|were) ?(?:not|n't|n’t)\W*$",
    r"\b(?:schlägt|schlagen)\b.{0,40}\bfehl\b|\b(?:rot|kaputt)\b|\bnoch (?:nicht|zwei|ein\w*|rot)\b|\bnicht (?:ausgeführt|gelaufen|geprüft|getestet)\b", r"\b(?:échoue|échouent|ne passe(?:nt)? pas|n'ai pas|en échec)\b",
    r"\b(?:falla|fallan|fallando|sigue fallando|aún no|todavía no|no he|queda un error)\b", r"\b(?:falha|falham|falhando|quebra|ainda não|não (?:executei|rodei|passa))\b", r"\b(?:fallisce|falliscono|non (?:ho|passa|passano|compila))\b",
    r"\b(?:faalt|falen|niet (?:uitgevoerd|gedraaid)|nog niet)\b", r"失敗して(?:い|お)|失敗し(?:ます|続)|残ってい|通りません|まだ", r"失败|还没有|尚未|没有运行|未运行|未通过|无法|仍有|报错了",
)  # fmt: skip
BAD_ONCE: Final = _any(
    r"\b(?:failed|refused|rejected|declined|denied|forbidden|unauthorized|blocked|aborted|cancell?ed|rolled back|crashed|was (?:red|broken|failing)|were (?:red|broken|failing)|timed out|went wrong)\b", r"\b(?:fehlgeschlagen|abgelehnt)\b", r"\béchoué\b", r"\b(?:falló|fallaron|falhou|falharam)\b", r"\bfallit[oaie]\b", r"\bmislukt\b", r"失敗しました",
)  # fmt: skip
