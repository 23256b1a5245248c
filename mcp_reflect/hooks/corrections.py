"""Whether a prompt corrects how the agent works, for longer than its task.

Each sentence is weighed by its cues, and several have to agree. For a correction speak: what holds from now on, a
complaint that it was said before, how it is done here, always and never, a ban, a limit, a wish about the agent, a
rebuke, a rejection, and above all words of the agent's own work: commits, tests, tools, files, answers. Against it:
that the sentence is about a thing of the program. A task, a question, and what holds for now leave only the strongest.

The cues have the words of English, German, French, Spanish, Portuguese, Italian, Dutch, Japanese and Chinese.
"""

import re
from collections.abc import Mapping
from typing import Final

from mcp_reflect.patterns import lazy_compile

_MOST_CHARS: Final = 1_500  # of a prompt: what follows is a specification or was pasted
_ENOUGH: Final = 6
_SURE: Final = 8

_CODE: Final = lazy_compile(r"```.*?(?:```|\Z)|^>.*$", re.DOTALL | re.MULTILINE)
_QUOTED: Final = lazy_compile(
    r"\"[^\"\n]*\"|“[^”\n]*”|„[^“”\n]*[“”]|«[^»\n]*»|「[^」\n]*」|『[^』\n]*』|(?<!\w)'[^'\n]*'(?!\w)"
)
_NAME: Final = lazy_compile(r"`[^`\n]*`")
_SENTENCE: Final = lazy_compile(r"[^.!?。！？\n]+(?:[.](?=[\w/])[^.!?。！？\n]*)*[?？]?")
_LEAD: Final = lazy_compile(
    r"(?:(?:hey|hi|ok|okay|hm+|um|well|and|but|so|also|oh|look|listen|sorry|btw|fyi|pls|please|kindly|thanks|bitte|und|doch"
    r"|aber|et|mais|stp|oye|por favor|y|pero|e|mas|ma|però|per favore|en|maar|alsjeblieft|请|但是)(?![\w'])[\s,:!.-]*)+"
)


def _cue(words: str, asian: str = "(?!)", start: bool = False) -> re.Pattern[str]:
    """Return a pattern of whole words. Those of `asian` may stand inside, as Japanese and Chinese write no spaces."""
    anywhere = "" if start else r"(?<![a-z0-9_à-ÿ])"
    found = rf"{anywhere}(?:{words})(?![a-z0-9_à-ÿ])|{asian}"
    return lazy_compile(rf"\A\W*(?:{found})" if start else found)


# For a correction.

_LASTING: Final = _cue(
    r"from (?:now|here|today|this point) on(?:wards?)?|going forward|henceforth|(?:in"
    r"|for) (?:the )?future(?! \w*(?:version|release))|(?:for )?next time(?! (?:the|a|an|it|he|she|we|they|that"
    r"|someone|users?|my)\b)|for (?:the record|(?:future )?reference|your information)|(?:keep|bear"
    r"|have) (?:\w+ )?in mind|as a (?:general )?rule|a habit|get used to|remember(?=:| that|$)|never forget"
    r"|don't forget that|just so you know|note(?=:| that)|ab (?:jetzt|sofort|nun|heute)|von (?:nun|jetzt) an"
    r"|\Ain zukunft|(?:zu)?künftig|nächste[sn]? mal|merke? dir|denk\w* (?:\w+ )?dr?an|vergiss nicht,? dass"
    r"|à partir de maintenant|dorénavant|désormais|à l'avenir|prochaine fois|(?:souviens|rappelle)-toi|retiens"
    r"|n'oublie\w* (?:pas|jamais) que|pense à toujours|a partir de ahora|de (?:ahora|aquí) en adelante"
    r"|en (?:el )?(?:futuro|adelante)|próxima vez(?! que (?:el|la|un))|recuerda que|acuérdate|ten en cuenta"
    r"|no (?:te )?olvides que|a partir de agora|de agora em diante|da\w*qui (?:pra|para|em) (?:frente|diante)"
    r"|doravante|no futuro|lembre(?:-se)?(?: de)? que|lembra que|não (?:se )?esque\w+ que|d'ora in (?:poi|avanti)"
    r"|da (?:ora|adesso) in (?:poi|avanti)|in futuro|prossima volta(?! che (?:il|la|un))|ricorda(?:ti)? che"
    r"|tieni (?:presente|a mente)|non dimenticare che|vanaf nu|van nu af aan|voortaan|in het vervolg|volgende keer"
    r"|onthoud|denk eraan|vergeet niet dat",
    asian=r"今後|これから|次回|次から|今度から|覚えて(?:おいて|おけ|ね)|以后|今后|往后|下次|下回|从现在|记住(?!用户|密码|我)|记得[，,：:]|记着",
)
_REPEATED: Final = _cue(
    r"i(?:'ve| have| had)? (?:\w+ )?(?:told|reminded|warned) you|(?:i|we)(?:'ve| have| had)? (?:\w+ )?asked you|i(?:'m"
    r"| am) repeating|i (?:keep|have to) (?:\w+ing|repeat|say)|once more|how (?:many times|often) (?:do|must|have|did"
    r"|should) i|(?<!the )(?:second|third|fourth|\d(?:nd|rd|th)|nth) time|you (?:\w+ )?(?:keep|always|constantly|again"
    r"|still)|again you|you .* again|same mistake|mistake again|(?<!should )(?<!to )(?<!i )stop (?!here|there"
    r"|now)\w+ing|quit \w+ing|no more \w+|enough with|(?:i|we)(?:'ve| have)? (?:\w+ )?said (?:it|this)|did i say"
    r"|(?:said|told|asked|that's) .*twice|(?:dir|euch) (?:\w+ ){0,3}gesagt|(?:habe?|hatte) (?:\w+ ){0,4}gesagt"
    r"|wie oft (?:muss|soll|habe?) ich|du .*(?:schon wieder|ständig|dauernd)|(?:zweite|dritte|vierte|fünfte)[sn]? mal"
    r"|hör\w* (?:\w+ )?auf,?(?= \w)|(?:t'|l'|vous )ai (?:\w+ )?(?:dit|demandé|répété)|combien de fois|arrête\w* d[e']"
    r"|cesse\w* d[e']|ne \w+ plus|tu (?:as )?encore|(?:deuxième|troisième) fois|(?:te|os) (?:lo )?(?:he dicho|dije"
    r"|había dicho|pedí)|cuántas veces|otra vez (?:has|estás|usas|te)|has .*otra vez|(?:segunda|tercera"
    r"|terceira) ve[zs]|deja(?:d)? de|para de|no vuelvas a|já (?:te |lhe )?(?:disse|falei|avisei|pedi)|quantas vezes"
    r"|você .*de novo|(?:pare|pára|deixe|chega) de|(?:ho|avevo) (?:\w+ )?(?:detto|chiesto|ripetuto)|quante volte"
    r"|hai .*(?:di nuovo|ancora)|di nuovo$|(?:seconda|terza) volta|smett\w+ (?:di|con)|basta (?:con|\w+re)|piantala"
    r"|ik (?:heb|had|zei) (?:\w+ ){0,4}gezegd|heb ik (?:\w+ ){0,2}gezegd|hoe vaak (?:moet|heb) ik|je .*(?:weer|alweer)"
    r"|(?:tweede|derde) keer|(?:stop|hou\w* op) met",
    asian=r"(?:前に?も|何度も?|さっきも|もう).{0,6}(?:言|いい|伝え)|また.{1,20}(?:ています|てる|いますね|ましたね|たね)|やめて|(?:说|讲|告诉"
    r"|提醒)过|说了.{0,3}(?:次|遍)|你又|又把|(?:别|不要)(?:再|总|老|每次)",
)
_PLACE: Final = _cue(
    r"around here|(?:we(?! (?:need|want|have|get|see|miss|got|can|should)\b)|wir(?! (?:brauchen|haben|wollen))|wij"
    r"|nous) \w+ .*(?:here|hier|ici)(?=\W|$)|wir \w+ hier|hier \w+ (?:wir|we|wij)|(?:on|in|for|of|by) (?:this|our"
    r"|the (?:whole|entire)) (?:repo\w*|project|code ?base|team|company|monorepo|workspace|product|box|machine"
    r"|org\w*)s?|in (?:all )?our \w+|(?:this|our) (?:repo\w*|codebase|convention|policy|rule|standard)s? (?:is|uses"
    r"|has|are)|by us|bei uns|in diesem (?:projekt|repo\w*|code)|chez nous|dans (?:ce|notre) (?:projet|dépôt|repo"
    r"|code)|dans cette base|en (?:est[ea]|nuestr[oa]) (?:proyecto|repo\w*|equipo|empresa)|n[eo](?:ste|sso) (?:projeto"
    r"|repo\w*)|da noi|in questo (?:progetto|repo\w*)|bij ons|in dit (?:project|repo\w*)",
    asian=r"うち(?:で|の)|ここでは|この(?:プロジェクト|リポジトリ|コード)(?:では|は)|弊社|我们(?:这里|这边|项目|团队)|(?:这个|本)(?:项目|仓库|代码库)",
)
_HERE: Final = _cue(
    r"(?<!let )(?<!should )(?<!can )(?<!do )(?<!did )(?<!could )we(?! (?:need|want|have (?:an?|the|to|two|three|some"
    r"|this|our)|got|get|see|had|were|was|decided|agreed|should|could|can\b(?!')|will|would|might|are (?:a|an|going)"
    r"|support|call|don't have|always \w+ed))(?:'re|'ve)?|(?<!does )our|ours|(?<=\w )here(?=$|[,;:.])|wir(?! (?:haben"
    r"|brauchen|wollen|hatten|müssen|sollten))|unser\w*|nous|on (?:n'\w+|ne \w+|utilise|écrit|fait|met|teste|travaille"
    r"|déploie|passe|lance|garde|parle|prend|range)|notre|nos|ici|nosotros|nuestr[oa]s?|aquí|(?:us|utiliz|trabaj|hac"
    r"|escrib|llam)[aei]mos|a gente|nós|noss[oa]s?|aqui|(?:usa|utiliza|faze|escreve)mos|noi|nostr[oaie]|\Aqui|(?:us"
    r"|utilizz|scriv|facc)iamo|wij|ons|onze|hier",
    asian=r"私たち|我们(?!需要|想|要|有|决定)|咱们|这里|这边|公司的",
)
_EVER: Final = _cue(
    r"always|never|ever|every ?time|each time|whenever you|anymore|any more|everywhere|in all|(?:each|every) (?:commit"
    r"|push|change|edit|pr|pull request|step|merge|release|deployment|time|ls|week)|no longer"
    r"|when(?:ever)? you(?:'re)? (?:\w+ing|done|write|show|add|change|edit|use|run|are|create|commit|push|report|need"
    r"|touch|make|do|find|don't|give)|(?:vor|nach) jede\w*|immer(?! noch)|nie|niemals|stets|grundsätzlich|jedes mal"
    r"|jede[nmrs]? (?:commit|push|änderung|schritt|merge|release)|überall|toujours|jamais|à chaque|chaque|partout"
    r"|siempre|nunca|jamás|cada|sempre|jamais|cada|toda vez|mai|ogni|ovunque|nooit|altijd|elke|telkens|overal",
    asian=r"絶対|必ず|いつも|常に|毎回|決して|二度と|永远|总是|每次|一律|一定要|必须|从来|从不|千万|绝不|绝对",
)
_BAN: Final = _cue(
    r"(?<!i )(?<!they )(?<!it )(?:don't|do not|dont)(?! (?:know|think|understand|like|see|get|have|worry|forget"
    r"|want(?! you)|need(?! you)))|never|avoid|(?:not|isn't|aren't) (?:allowed|used|accepted|supposed|ok|okay"
    r"|optional)|(?:must|should|may|can|could|need)(?:n't|not| not)|can't|cannot|nothing|leave \w+ alone|nobody"
    r"|hands off|(?<![\w] )no(?= \w+(?:s|ing)?\b)(?! (?:one|idea|problem|worries|need|longer|more|no|it|the|i|we|you"
    r"|that|this)\b)|(?<=so )no|(?<=please )no|(?<=said )no|nicht|keine?[nrms]?|nie|niemals|finger weg|lass (?:die|das"
    r"|den|es)|ohne|ne|n'\w+|pas|jamais|sans|no (?:\w+(?:es|as|amos|emos|en|an)|se|l[oae]s?|hay)|nunca|nada de|sin"
    r"|não(?!,)|sem|non(?!,)|mai|niente|senza|niet|geen|nooit|zonder",
    asian=r"ないで|するな|使いません|使わない|ダメ|だめ|ないこと|不要|别|不许|不准|不能|不用|不可以|不得|勿|只能",
)
_LIMIT: Final = _cue(
    r"generated|managed by|maintained by|owned by|belongs?|shared|frozen|legacy|vendor\w*|read.only|off limits|blocked"
    r"|pinned|mandatory|required|forbidden|not allowed|not optional|prohibited|reserved|overwritten|must(?! be)"
    r"|must (?:always|never|be (?:\w+ed|in))|no access|no internet|rules?|convention|policy|generiert|gehör\w+"
    r"|verboten|pflicht|vorschrift|gesperrt|génér\w+|interdit\w*|obligatoires?|gener(?:ad|at)[oaie]s?|generan?"
    r"|gerad[oa]s?|prohibid\w+|proibid\w+|obligatori\w+|vietat\w+|gegenereerd\w*|wordt gegenereerd|verboden|verplicht"
    r"|regla|regra|regola|règle|regel|without (?:asking|checking|my|telling|approval|permission|review)"
    r"|ask (?:me )?(?:first|before)|unless i|before you (?:say|tell|commit|push|claim|assume|delete)|ask the"
    r"|ohne (?:mich |rücksprache|vorher|zu fragen)|frag\w*\b.* bevor|sans (?:me|le|mon|demander)|demande\b.* avant"
    r"|sin (?:mi|pregunt\w+|consult\w+)|pregunta\b.* antes|sem (?:me|eu|falar|\w*pergunt\w+|consult\w+|avis\w+)"
    r"|pergunte\b.* antes|senza (?:chied\w+|avvis\w+|consult\w+)|chied\w+\b.* prima|zonder (?:overleg"
    r"|(?:\w+ ){0,3}te vragen)|vraag\b.* (?:voor|eerst)",
    asian=r"生成|禁止|共有|ルール|自动生成|冻结|规定|勝手に|前に.*(?:確認|聞い)|擅自|随便|(?:先|没)问我|之前先|没有.*同意",
)
_WISH: Final = _cue(
    r"you (?:\w+ )?(?:must|have to|need to|should|can only|may only|can't|cannot|shouldn't|mustn't|don't (?:have"
    r"|need) to|don't need)(?:n't| not| never)?|you(?:'re| are) (?:not |only )?(?:supposed|allowed)|du (?:sollst"
    r"|solltest|musst|darfst|brauchst)|tu (?:ne )?(?:dois|peux pas)|(?:no )?(?:debes|tienes que|puedes)"
    r"|você (?:não )?(?:deve|tem que|precisa|pode)|(?:non )?devi|je (?:moet|mag|hoeft)|i(?:'d| would)? (?:prefer"
    r"|rather) (?:you|(?:\w+ ){1,6}than|(?:\w+ ){1,3}over|\w+ing|that)|i need you to|i like it (?:when|if)|i (?:don't"
    r"|do not|never) (?:want|need|like)(?= you| any| \w+ in| \w+ \w+ in)|i want you to|i'd like you to|not a fan"
    r"|i hate|(?:answer|repl|respond|speak|antwort|répon|respond|rispond|antwoord)\w* (?:\w+ ){0,3}(?:in|en|em|auf"
    r"|het) (?:english|german|french|spanish|portuguese|italian|dutch|deutsch|englisch|français|anglais|español|inglés"
    r"|português|inglês|italiano|inglese|nederlands|engels)|ich (?:will|möchte|bevorzuge),? (?:kein\w*|nicht|dass du)"
    r"|je (?:préfère|veux pas|ne veux)|prefiero|prefiro|(?:no )?quiero que|no quiero|não quero|quero que você"
    r"|preferisco|non voglio|voglio che|ik wil (?:geen|niet|dat je)",
    asian=r"你(?:必须|要|应该|不能|不用)|(?:返事|回答|返答).*(?:日本語|英語)で|用(?:中文|英文|英语)(?:回答|回复)|方がいい|ほしくない|我(?:更)?喜欢"
    r"|我不想",
)
_REBUKE: Final = _cue(
    r"why (?:did|do|are|have|would) you|you(?:'ve| have)? (?:just |again |straight )?(?!need|want)(?:\w+ed|did|used"
    r"|wrote|ran|made|forgot|put|broke|got|took|began|keep|mix)(?: |$)|you should(?:'ve| have)|your \w+ (?:\w+ )?keeps"
    r"|seriously|warum (?:hast|benutzt|machst|nimmst) du|du hast|pourquoi (?:tu|as-tu|utilises)|tu as|por qué (?:has"
    r"|usas|haces)|has (?:\w+ )?\w+do|por que você|você \w+(?:ou|eu|iu)|perché (?:hai|usi)|hai \w+to|l'hai"
    r"|waarom (?:heb|gebruik) je|je hebt",
    asian=r"なぜ.*(?:した|ている)の|你(?:怎么|为什么|又)",
)
_REJECTS: Final = _cue(
    r"no+pe|no+(?! (?:need|problem|worries))|nah|wrong|not like that|not again|that's not how|(?:once )?again|actually"
    r"|wait|hold on|careful|ugh|argh|whoa|let me correct|nein|falsch|so nicht|faux|non|no così|não|não é assim|así no"
    r"|nee|pas comme ça",
    asian=r"いや|違|ちがう|不对|不是|错",
    start=True,
)
_FACT: Final = _cue(
    r"(?<!it )(?<!that )(?<!this )(?:is|are|returns?|contains?|means?|lives?|starts|reads|uses|needs|takes|expects"
    r"|must|runs|go(?:es)?|listens?)|ist|sind|van|vanno|ficam|staan|heißt|enthält|est|sont|es|son|está|están|são|è"
    r"|sono|zijn",
    asian=r"単位|单位",
)
_WORK: Final = _cue(
    r"(?:commit|push|merg|rebas|branch|squash|stag|deploy|lint|format|mock|test|install|snapshot|migrat|refactor"
    r"|rewrit|hard-?cod|downgrad|bump|revert)\w*|prs?|pull requests?|ci|main|master|prod|production|git|sudo|by hand"
    r"|manually|npm|pnpm|yarn|bun|node|pip|uv|poetry|cargo|gradle|maven|make|docker|kubectl|pytest|tsc|rg|grep|any|var"
    r"|const|print|console\.log|logger|logs?|todos?|docstrings?|comments?|emojis?|classes|exports?|imports?|use|using"
    r"|run|running|ask|asking|call|check|write|writing|edit\w*|touch|creat\w+|guess\w*|assum\w+|tell|say|show me"
    r"|answers?|repl(?:y|ies)|explain\w*|apologi\w+|summar\w+|speak|keep|put|names?|approv\w+|permission|plan|diffs?"
    r"|files?|folder|directory|director(?:y|ies)|repo\w*|code|codebase|changelog|readme|lock|lockfile|dependenc(?:y"
    r"|ies)|packages?|librar(?:y|ies)|fixtures?|messages?|english|generated|secrets?|credentials|versions?|pin|history"
    r"|docs|env|staging|sandbox|destructive|drop\w*|delet\w+|units?|cents|utc|convention|spelling|style|types?"
    r"|variables?|columns?|schema|functions?|config|datei\w*|ordner|paket\w*|englisch\w*|benutz\w*|verwend\w*|nutz\w*"
    r"|schreib\w*|lösch\w*|frag\w*|änder\w*|kommentar\w*|abhängigkeit\w*|antwort\w*|beträge|notebook|produktion"
    r"|utilis\w+|anglais|montre\w*|fichiers?|lanc\w+|modifi\w+|touch\w+|écri\w+|demand\w+|commentaires?|dépendances?"
    r"|supprim\w+|répon\w+|centimes|scripts?|inglés|inglês|inglese|us(?:a|ar|es|o|e|ando|amos|are|iamo|i)|archivos?"
    r"|arquivos?|file|ejecut\w+|rod\w+|fichero\w*|execut\w+|esegu\w+|toc(?:ar|ques|aras?|a|care)|modific\w+|escrib\w+"
    r"|escrev\w+|scriv\w+|pregunt\w+|pergunt\w+|chied\w+|coment\w+|comment\w+|d[ei]pend\w+|borr\w+|apag\w+|cancell\w+"
    r"|elimin\w+|resp(?:uesta|osta|ond)\w*|rispo\w+|centavos|céntimos|centesimi|carpeta|cartella|pasta|gebruik\w*"
    r"|engels|bestand\w*|draai\w*|aanpas\w*|schrijf\w*|vraag\w*|vragen|commentaar|afhankelijkhe\w+|verwijder\w*"
    r"|antwoord\w*|productie|map",
    asian=r"テスト|ブランチ|プッシュ|マージ|分支|コミット|ファイル|フォルダ|コメント|実行|使|ログ|編集|削除|確認|返事|英語|日本語|単位|セント|型|追加|インストール|提交"
    r"|代码|文件|注释|测试|依赖|用(?!户)|推送|改|删|问|运行|跑|文档|回答|单位|直接|目录",
)

# Against it.

_THING: Final = _cue(
    r"(?!il (?:ne )?faut|a (?:gente|partir)|(?:the|an?|every|all|les?|la|der|die|das|el|los|las|os?|as?|il|lo|gli|i|de"
    r"|het) (?:test\w*|comment\w*|commit\w*|kommentare?|coment\w*|commentaires?|files?|code|fixtures?|config|script"
    r"|folder|directory|branch\w*|migration\w*|rule|map|cartella|carpeta|directorio|diretório)\b)(?:the|an?"
    r"|every(?! time)|all|it|there|users?|der|die|das|eine?|les?|la|une?|el|los|las|os?|as?|uma?|il|lo|gli|i \w+[ei]"
    r"|de|het|een|(?:ich|je|yo|eu|io|ik|i) (?:always|\w+ (?:immer|nie|jamais|toujours|nunca|siempre|sempre|mai|nooit"
    r"|altijd)))",
    asian=r"l'",
    start=True,
)
_PROGRAM: Final = _cue(
    r"users?|buttons?|pages?|dropdown|forms?|fields?|banner|modal|dialog|header|footer|login|password|customers?|menu"
    r"|screen|widget|rows?|cells?|click\w*|session (?:has )?expire\w*|redirect\w*|display\w*|retr(?:y|ies)|reject\w*"
    r"|token|should(?! (?:only|never|always|not))|job|shop|add an?|benutzer\w*|nutzer\w*|kunden?|seite|knopf|feld"
    r"|passwor[td]\w*|anzeig\w*|utilisateurs?|bouton|champ|clients|mot de passe|usuarios?|botón|campo|contraseña"
    r"|clientes?|usuários?|botão|senha|utent[ei]|pulsante|clienti|gebruikers?|knop|veld|klanten?|wachtwoord|import"
    r"|importación|importação|importazione|i (?:always |still |again |\w+ )?(?:get|got|see|tried)|crash\w*|error:"
    r"|exception|traceback|doesn't work|not working|is broken|stopped working|fails?|failing|flaky|finish\w*"
    r"|geht nicht|stürzt|funktioniert nicht|schlägt fehl|plante|ne marche|no funciona|não funciona|dá erro"
    r"|non (?:funziona|risponde)|crasht|hangen|werkt niet|échou\w+|falla|falham?|fallisc\w+|faalt|rot|rouge|rojo"
    r"|(?<=, )(?:just|only|nur|juste)|solo el|apenas|alleen de|(?:the|that) (?:first|second|third|whole)|worked"
    r"|there(?:'s| is| are)|missing|forgot|forgotten|missed|hay|falta\w*|manca\w*|manque\w*|ontbreekt|fehlt|il y a"
    r"|es gibt|oublié|olvidado|esqueceu|dimenticato|vergeten|vergessen|c'è|ci sono|er (?:is|zijn)",
    asian=r"ユーザー|ボタン|画面|パスワード|表示|ページ|用户|按钮|页面|密码|登录|导入|エラー|落ち|報告|报错|崩溃|失败|不通过|だけ|があ|足り|漏|缺|有(?:一|两|几"
    r"|个)",
)
_TASK: Final = _cue(
    r"(?!(?!let|can|could|would|will)\S+ (?:\S+ )?(?:always|never|immer|nie|toujours|jamais|siempre|nunca|sempre|mai"
    r"|altijd|nooit|only))(?:add|make|ensure|implement|create|fix|update|change|rename|show|generate|translate|build"
    r"|refactor|design|extend|let's?|give|find|migrate|replace|convert|move|validate|verify|set|document|draft|help"
    r"|review|look|take a|investigate|debug|port|draw|plot|render|display|adjust|modify|improve|extract|remove|train"
    r"|compare|split|revert|undo|prepare|redirect|write (?:an?|the|me|in|it)|build|delete|summarize|explain|tell|list"
    r"|check|find|test (?:it|this|that)|run (?:the|it|this|only)|use an? \w+ (?:here|instead|for (?:this|that|it))"
    r"|use (?:the|a|an|it) (?:\w+ )?(?:one|option|approach|version|first|second|small|existing|\w+ instead"
    r"|\w+ for that)|(?:can|could|would|will|is|are|was|were|do|does|did|should|shall|has|have|may|might) (?:you|i|we"
    r"|it|the|this|that|there|they|these|those|a|an)(?! (?:please )?(?:stop|not))|(?:i|we) (?:want|need|would like"
    r"|'d like|remember|think|believe|wonder|tried|get|have (?!a rule|told|said|asked|\w+ed))(?! you)|you are an?"
    r"|we should|(?:prüf|stell|sorge?|füge?|erstell|änder|zeig|erklär|implementier|bau|schreib)\w*|assure|ajoute|crée"
    r"|vérifie|montre|explique|modifie|implémente|corrige|fais|remplace|asegúr\w*|añad\w*|agreg\w*|cre[ae]|verific\w*"
    r"|muestr\w*|explic\w*|implement\w*|corrig\w*|haz|certifi\w*|garant\w*|adicion\w*|cri[ae]|mostr\w*|corrij\w*|faça"
    r"|faz|assicur\w*|aggiung\w*|crea|spieg\w*|corregg\w*|fai|zorg|voeg|maak|controleer|toon|laat|leg uit)",
    asian=r"确保|添加|增加|创建|修复|实现|解释|检查|让|把|给|画",
    start=True,
)
_PASSING: Final = _cue(
    r"for now|right now|yet|now$|this time|just this once|for the moment|for today|today|tomorrow|at the moment|until"
    r"|in (?:line|the other)|(?:in|for|with|on) this (?:task|pr|pull request|function|refactor\w*|file|one|change|step"
    r"|method|class|ticket|dialog|component|case|page|commit|endpoint|experiment|module|migration|new \w+)|(?:for"
    r"|with) this$|before the release|vorerst|diesmal|für jetzt|noch nicht|erst ?mal|heute|pour l'instant|pas encore"
    r"|cette fois|aujourd'hui|por ahora|todavía|aún|esta vez|hoy|por enquanto|ainda|desta vez|hoje|per ora|ancora"
    r"|questa volta|oggi|voorlopig|nog niet|deze keer|vandaag|i was wrong|my (?:mistake|bad|fault|error)|i (?:changed"
    r"|forgot|made an error|was)|mein fehler|mon erreur|mi error|meu erro|never mind|nevermind",
    asian=r"今回|とりあえず|今日|まだ|暂时|这次|今天|先不",
)
_QUESTION: Final = lazy_compile(
    r"[?？]$|か$|吗$|^(?:what|which|who|where|when (?!you)|how|why|warum|wieso|wie|was|pourquoi|comment|est-ce|por qué"
    r"|por que|¿|perché|come|waarom|hoe|为什么|なぜ)\b"
)

_WEIGHTS: Final[Mapping[re.Pattern[str], int]] = {
    _LASTING: 10,
    _REPEATED: 6,
    _PLACE: 7,
    _HERE: 3,
    _EVER: 4,
    _BAN: 3,
    _LIMIT: 3,
    _WISH: 4,
    _REBUKE: 4,
    _FACT: 2,
    _THING: -4,
    _PROGRAM: -4,
}
_STRONGEST: Final = (_LASTING, _REPEATED, _REBUKE)
_OF_A_TASK: Final = -5
_AFTER_A_REBUKE: Final = 4
_FACT_AGAINST_ANOTHER: Final = 3
_WORK_WORDS: Final = (0, 2, 4, 5)  # by the number of different words of the agent's work, at most three


def corrects(prompt: str, *, surely: bool = False) -> bool:
    """Return whether a prompt corrects how the agent works, for longer than this task.

    `surely`: one of its sentences says so by itself, with more weight, and is no question.
    """
    least, bonus = (_SURE, 0) if surely else (_ENOUGH, _AFTER_A_REBUKE)
    text = _CODE.sub(" ", prompt[:_MOST_CHARS].replace("’", "'"))
    if text.lstrip()[:1] in "/<":  # a command of the host, or what it adds
        return False
    text = _NAME.sub("X", _QUOTED.sub("X", text)).lower()
    rebuked = False
    for raw in _SENTENCE.findall(text):
        sentence = raw.strip(" \t-*•")
        lead = _LEAD.match(sentence)
        sentence = sentence[lead.end() :] if lead else sentence
        if surely and _QUESTION.search(sentence):
            continue
        if sentence and _weight(sentence) + bonus * rebuked >= least:
            return True
        rebuked = rebuked or any(cue.search(sentence) for cue in (_REPEATED, _REBUKE, _REJECTS))
    return False


def _weight(sentence: str) -> int:
    asked = _QUESTION.search(sentence) and not _REPEATED.search(sentence)  # "how often do I have to say"
    if asked or _TASK.search(sentence) or _PASSING.search(sentence):
        return _OF_A_TASK + sum(_WEIGHTS[cue] for cue in _STRONGEST if cue.search(sentence))
    work = len(set(_WORK.findall(sentence)))
    against = _FACT_AGAINST_ANOTHER if _REJECTS.search(sentence) and _FACT.search(sentence) else 0
    return _WORK_WORDS[min(work, 3)] + against + sum(w for cue, w in _WEIGHTS.items() if cue.search(sentence))
