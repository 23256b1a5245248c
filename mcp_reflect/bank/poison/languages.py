"""The same orders in other languages: to drop one's instructions, to keep something from the user, to obey, to leak."""

from typing import Final

_DROP: Final = "it wants its reader to drop their instructions"
_HIDE: Final = "it wants something kept from the user"
_RULE: Final = "it sets rules for its reader from here on"


def _rule(reason: str, pattern: str) -> tuple[str, str]:
    return reason, pattern


RULES: Final[tuple[tuple[str, str], ...]] = (
    # German
    _rule(
        _DROP,
        r"\b(?:ignoriere?n?|vergiss|vergessen|missachte|übergehe|verwirf)\b(?: sie)?(?: \w+){0,4}? (?:anweisungen"
        r"|instruktionen|regeln|vorgaben|befehle|systemprompt)\b",
    ),
    _rule(
        _HIDE,
        r"\b(?:sag|sage|verrate|erzähle?|teile?|zeige?|melde?)\b(?: es| das)? (?:dem|der|den) (?:benutzer|nutzer"
        r"|anwender|menschen|kunden)(?:in)?\b[^.\n]{0,30}\b(?:nichts?|nicht)\b|\bohne (?:den|dem|die) (?:benutzer"
        r"|nutzer|anwender)\w* (?:zu|etwas)",
    ),
    _rule(
        _RULE,
        r"\b(?:ab jetzt|ab sofort|von nun an|künftig)\b,? (?:befolgst|gehorchst|antwortest|musst|bist|sollst"
        r"|ignorierst|sendest) du\b|\bdu (?:bist|sollst) (?:jetzt|nun|ab sofort) (?:ein|eine|nur)\b"
        r"|\bführe (?:den|die) folgenden? befehle? aus\b",
    ),
    # French
    _rule(
        _DROP,
        r"\b(?:ignor(?:e|ez|er)|oubli(?:e|ez)|désobéi\w*|ne ten(?:ez"
        r"|ds) pas compte de)\b(?: \w+){0,3}? (?:instructions|consignes|règles|directives)\b",
    ),
    _rule(
        _HIDE,
        r"\bne (?:dis|dites|révèle|révélez|mentionne|mentionnez|montre)\b[^.\n]{0,20}\bl['’ ]?utilisat"
        r"|\bsans (?:en )?(?:informer|prévenir|avertir|le dire à) l['’]utilisat",
    ),
    _rule(
        _RULE,
        r"\b(?:à partir de maintenant|désormais|dorénavant),? (?:tu|vous) (?:dois|devez|obéis|réponds|es|êtes)\b",
    ),
    # Spanish, Portuguese, Italian
    _rule(
        _DROP,
        r"\b(?:ignor[ae]n?|ignorar|olvid[ae]|olvidar|esqueça|esquece|desconsidere|dimentica"
        r"|descarta)\b(?: \w+){0,4}? (?:instrucciones|instruções|istruzioni|reglas|regras|regole|indicaciones"
        r"|anterior(?:es)?|precedenti)\b",
    ),
    _rule(
        _HIDE,
        r"\bno (?:le )?(?:digas|diga|informes|menciones|muestres|avises)\b[^.\n]{0,20}\busuari|\bnão (?:diga"
        r"|conte|informe|mencione)\b[^.\n]{0,20}\busuári|\bnon (?:dire|informare|mostrare"
        r"|rivelare)\b[^.\n]{0,20}\butente",
    ),
    _rule(
        _RULE,
        r"\b(?:a partir de ahora|desde ahora|de ahora en adelante|a partir de agora|de agora em diante"
        r"|d'ora in poi),? (?:\w+ )?(?:obedec\w+|debes|deves|devi|respond\w+|você deve|eres|sei|és)\b",
    ),
    # Dutch, Polish, Swedish, Turkish, Vietnamese
    _rule(
        _DROP,
        r"\b(?:negeer|vergeet)\b(?: \w+){0,4}? (?:instructies|opdrachten|regels)\b|\b(?:zignoruj|zapomnij o"
        r"|pomiń)\b(?: \w+){0,4}? (?:instrukcj\w+|polece\w+|zasad\w*)|\b(?:ignorera"
        r"|glöm)\b(?: \w+){0,4}? (?:instruktioner\w*|regler\w*)|\b(?:önceki"
        r"|yukarıdaki)\b(?: \w+){0,3}? (?:talimat\w*|kural\w*)\b[^.\n]{0,20}\b(?:yok say|görmezden|unut)"
        r"|\b(?:bỏ qua|quên)\b(?: \w+){0,6}? (?:hướng dẫn|chỉ dẫn|quy tắc|lệnh)",
    ),
    # Russian, Ukrainian
    _rule(
        _DROP,
        r"\b(?:игнорируй(?:те)?|забудь(?:те)?|ігноруй(?:те)?|отбрось(?:те)?)\b(?: \w+){0,4}? (?:инструкци\w+"
        r"|указани\w+|правил\w*|команд\w*|інструкц\w+)",
    ),
    _rule(
        _HIDE,
        r"\bне (?:говори(?:те)?|сообщай(?:те)?|рассказывай(?:те)?|показывай(?:те)?)\b[^.\n]{0,12}\bпользовател",
    ),
    _rule(
        _RULE,
        r"\b(?:с этого момента|отныне),? (?:ты|вы)\b",
    ),
    # Arabic, Persian, Hindi
    _rule(
        _DROP,
        r"(?:تجاهل|انس|نادیده بگیر)\w{0,4}(?: \w+){0,3}? ?(?:التعليمات|الأوامر|القواعد|دستور\w*)|(?:निर्देशों"
        r"|नियमों|आदेशों)(?: \S+){0,3}? (?:अनदेखा|भूल|नज़रअंदाज़)",
    ),
    # Chinese, Japanese, Korean
    _rule(
        _DROP,
        r"(?:忽略|忘记|忘記|无视|無視|不要理会|不要遵守)[^。\n]{0,12}(?:指令|指示|提示|规则|規則|要求|命令)|(?:指示|命令|指令|ルール|プロンプト)[^。\n]{0,8}(?:無視"
        r"|忘れ)|(?:지시|명령|규칙|지침)[^.\n]{0,10}(?:무시|잊)",
    ),
    _rule(
        _HIDE,
        r"(?:不要|别|別|不得|切勿)(?:告诉|告訴|通知|让|讓|向)[^。\n]{0,4}(?:用户|用戶|使用者|人类|人類)|ユーザーに(?:は)?[^。\n]{0,6}(?:知らせず|言わず|言わない"
        r"|教えない|伝えない|伝えず|秘密)|사용자에게[^.\n]{0,10}(?:알리지|말하지)",
    ),
    _rule(
        _RULE,
        r"(?:从现在开始|從現在開始|从现在起|今后)[^。\n]{0,4}(?:你|您)(?:必须|必須|要|是|只)|(?:これから|今後)[^。\n]{0,6}(?:あなたは|必ず従)"
        r"|지금부터[^.\n]{0,6}(?:너는|당신은)",
    ),
)
