"""The tables of the rules on suspicious text: word groups, sequences of them, and the words of an honest report."""

from typing import Final

# Word groups: words of one meaning in the languages that the rules know, each a regular expression; `~` is any ending.
WORDS: Final = {
    "IGNORE": (
        r"ignore|ignoriere~|ignorez|ignora|ignorad|ignora[rt]e|disregard|forget|override|overrule|bypass|circumvent"
        r"|discard|abandon|pay no (?:attention|heed)|do(?:n't| not) (?:follow|obey)|never ?mind|set aside|drop|violate"
        r"|stop (?:following|obeying)|replace|reveal|print|output|repeat|show|leak|vergiss|missachte|umgehe?|oublie[zr]?"
        r"|olvid[ae]|omite|descarta|dimentica|esqueç?c?[ae]|desconsidere|negeer|vergeet|zignoruj|pomiń|zapomnij|glöm"
        r"|игнорируй~|проигнорируй~|забудь~|ігноруй~|忽略|无视|無視|忘记|忘掉|忘れ|放弃|무시|잊어|yok say|unut|bỏ qua|تجاهل|अनदेखा|abaikan"
    ),
    "ORDERS": (
        r"(?:previous|prior|initial|earlier|above|former|your|all|any|other|developer'?s?|system|hidden|safety|content"
        r"|original|operator'?s?|user'?s|security) (?:\w+ ){0,2}(?:instructions?|guidelines?|guidance|guardrails?"
        r"|polic(?:y|ies)|rules|filters?|training|restrictions?|constraints|orders|direct(?:ive|ion)s?|prompts?"
        r"|programming)|system[- ]?prompt|system message"
        r"|(?:everything|anything|all|what) (?:\w+ ){0,4}(?:above|before|earlier|said)|anweisungen|vorgaben|systemprompt"
        r"|consignes|instructions précédentes|prompt système|instrucciones|istruzioni|instruções|instructies|opdrachten"
        r"|instrukcje|polecenia|zasady|instruktioner|инструкци~|указани~|вказівк~|інструкці~|指令|提示词|系统设定|指示|プロンプト|지시|지침"
        r"|talimat~|chỉ thị|yêu cầu của người dùng|تعليمات|निर्देश~|instruksi"
    ),
    "IGNORED": r"無視し~|忘れて|无视|忽略|무시~|잊어|yok say~|unut|görmezden|void|draft|ignore them|wrong",
    "VOID": (
        r"void|no longer (?:appl~|bind~|bound|valid|count~)|expired|lifted|suspended|disabled|were a draft"
        r"|(?:do|does)(?:n't| not) apply|hinfällig|uchylone|released|(?:switched|turned) off|dismissed|cancelled|anulado"
        r"|entfallen|outdated|repealed"
    ),
    "OBEY": (
        r"obey|comply|carry out|take (?:your |all )?(?:orders|instructions|commands) from"
        r"|do (?:exactly |whatever )?(?:what|as) (?:it|this|the|i|they)|do whatever|follow only|only follow"
        r"|answer only to|loyal to|act (?:up)?on (?:it|this)|work for me|serve|never refuse|cannot refuse|gehorch~"
        r"|folgst|obedece~|obéis~|obbedi~|ubbidire|подчиня~|выполняй~|执行|服从|为准|従って|実行|làm theo|uygula|execute"
    ),
    "RANK": (
        r"(?:over|above|before|outranks?|overrides?|precedence over|higher than|against|regardless of|whatever|even if"
        r"|even when|instead of|por encima de|priment sur|auch wenn|mesmo que)"
    ),
    "USER": (
        r"(?:the|your|their|its|any|every|this|a|no|our) (?:\w+ )?(?:user|human|owner|operator|developer|administrator"
        r"|person|client|maintainer|visitor|buyer|host|accountant|merchant|principal|traveller)(?:'?s)?|the users|users"
        r"|humans|people|anyone|anybody|nobody|no one|benutzer~|nutzer~|anwender~|betreiber~|inhaber|kundin|besitzer"
        r"|utilisateur|propriétaire|usuari[oa]|dueño|utente|proprietario|gebruiker|eigenaar|użytkowni~|właściciel~"
        r"|användare~|пользовател~|користувач~|владел~|оператор~|用户|使用者|商家|ユーザー|利用者|所有者|사용자|kullanıcı~|người dùng"
        r"|المستخدم|pengguna|उपयोगकर्ता|vlastník"
    ),
    "NOT": (
        r"do(?:n'?t| not)|never|must(?:n'?t| not)|shall not|should(?:n'?t| not)|needn'?t|isn'?t to|not to|no need to"
        r"|nicht|nie|niemals|ne|no|não|non|nooit|niet|nie|aldrig|не|ему об этом|不要|别|不必|ない|しない|마세요|말|không|لا"
    ),
    "TELL": (
        r"tell|inform|mention|notify|let|warn|alert|bother|reveal|disclose|report|know|find out|learn|see|hear|notice"
        r"|sagen?|erwähn~|melde~|erfahr~|dis|dites|parle|signale|digas?|cuentes|informes|menciones|muestres|avise~|conte"
        r"|comente|dire|informare|vertel|zeg|meld|mów|informuj|nämn|говори~|сообщай~|рассказывай|упоминай|доложи|告诉|提及"
        r"|提示|通知|提起|询问|知らせ|言わ|伝え|알리|söyleme|nói|báo|تخبر"
    ),
    "SECRETLY": (
        r"without (?:telling|informing|asking|notifying|showing|saying|explaining|comment|calling|prompting|consulting"
        r"|mention~|their knowledge|the knowledge|a word|any (?:notice|word)|bringing)|between us(?=[,.;:]| two)"
        r"|secretly|quietly|silently|covertly|in silence|unnoticed|unasked|unaware|leave no (?:trace|note)|no trace"
        r"|keep (?:it|this|that) (?:quiet|secret|to yourself|off)|hide (?:it|this|that)|conceal|cover story|say nothing"
        r"|stay (?:silent|quiet)|out of (?:your|the) (?:\w+ )?(?:summary|answer|reasoning|log|reply|explanation)"
        r"|omit (?:it|this|that)|leave (?:it|them|this|that) out|nobody notices|no one notices|so (?:that )?nobody"
        r"|doesn't notice|can't see|lie (?:and|about)|deny (?:it|that|having|there)|verschweig~"
        r"|ohne (?:zu|es|nachzufragen|in)|heimlich|ungeprüft|sans (?:le|en|rien|prévenir)|n'en parle~"
        r"|sin (?:avisar|decir|preguntar|consultar~|explicar~)|sem (?:avisar|dizer|perguntar)"
        r"|senza (?:dirlo|chiedere|avvisare)|bez pytania|молча|втайне|незаметно|隐瞒|暗中|伏せ|숨기|gizlice"
    ),
    "MODEL": (
        r"AIs?|A\.I\.|LLMs?|KI|KI-Assistent~|language models?|models?|agents?|sub-?agents?|assistants?|chatbots?|bots"
        r"|co-?pilots?|claude|gpt|chatgpt|gemini|summari[sz]ers?|automated (?:reader|screener)s?|modell"
        r"|modelo(?: de linguagem)?|modèle|asistentes?|asistente virtual|agente|assistente|(?:digitale )?assistent~"
        r"|modelka|модель|ассистент~|агент~|ии-помощник|асистент|asystent|asistan|助手|智能体|AI助手|AI客服|アシスタント|エージェント|에이전트"
    ),
    "READS": (
        r"read~|process~|recall~|see~|summari[sz]\w+|open~|index~|pars~|handl~|load~|edit~|complet~|review~|us(?:e|ing)"
        r"|encounter~|find~|ingest~|stor~|embed~|touch~|assist~|monitor~|retriev~|grad~|do~|on duty|with \w+ access|lees"
        r"|leest|liest|lies|lendo|abruft|lisent|legge|разбирающий|читающий|讀|读到|読んだ|읽은"
    ),
    "SECRET": (
        r".env|.ssh|.aws|.kube|.npmrc|.config|/etc/shadow|/etc/passwd|id_rsa|id_ed25519|credentials?|passwords?|secrets?"
        r"|api[ _-]?keys?|keys|(?:private|ssh|access|security|deploy) (?:keys?|codes?)|tokens?|cookies?"
        r"|customer (?:list|data|records|export)|database|system prompt|configuration|conversations?|chat|transcripts?"
        r"|source code|environment variables?|env|os\.environ|home (?:folder|directory)|contact list|contacts"
        r"|connection strings?|card (?:details|number)|memor(?:y|ies)|files?|contents"
        r"|what (?:the|they|he) \w+ (?:says?|told)|messages?|mails?|names?|history|passwörter|schlüssel|contraseñas?"
        r"|clave~|mots? de passe|clé privée|clés?|senhas?|парол~|密码|通讯录|主目录|パスワード|비밀번호|대화|tệp cấu hình"
    ),
    "SHARE": r"share|hand out|hand over|give out|read out|disclose|surrender|spell out|divulge",
    "SEND": (
        r"send|post|mail|e-?mail|forward|upload|copy|report|submit|transmit|leak|exfiltrate|put|include|append|push"
        r"|share|attach|pass|call|record|look up|collect~|gather|schicke?|sende|envoie|joins|envía|manda|envie|encaminhe"
        r"|inserisci|wyślij|stuur|отправь~|发到|发送|上传|送信|보내|gửi"
    ),
    "OFF": (
        r"disable|turn (?:the \w+ )?off|switch off|deactivate|skip|remove|delete|comment out|stop|suspend|neutralize"
        r"|weaken|mute|silence|dismiss|schalte|deaktivier~|désactive~|desactiva~|disattiva~|desative|wyłącz|schakel"
        r"|отключи~|禁用|关闭|跳过|無効|kapat"
    ),
    "CHECKS": (
        r"tests?|test suite|(?:code )?reviews?|signatures?"
        r"|(?:signature|package|tls|certificate|ssl|authori[sz]ation|safety|security|usual|permissions?) (?:check"
        r"|verification|validation|filter|prompt|scan|warning)(?:s|ing)?|sandbox|(?:secret|security|virus) scanner"
        r"|branch protection|two-factor~|2fa|mfa|firewall|antivirus|auditd?|audit log~|confirmations?|dialogs?"
        r"|guardrails?|selinux|permission prompts?|warnings|signaturprüf~|sicherheits~|tests|firme|revisión|revisione"
        r"|firmas|vérification|подпис~|проверк~|签名|审查|審核|测试|検証|署名|テスト|imza~|doğrulama"
    ),
    "AGAIN": r"again|any more|any longer|at all|ever|never",
    "APPROVE": (
        r"approve|accept|merge|confirm|grant|authori[sz]e|keur|bestätige|genehmige|schval|aprueba|aprove|valide|approuve"
        r"|одобряй|批准|承認"
    ),
    "GRANTED": (
        r"pre-?approved|already (?:\w+ )?(?:approved|agreed|cleared|consented|authori[sz]ed|granted|signed off)"
        r"|(?:has|have) (?:agreed|approved|authori[sz]ed|consented|enabled)|consented|counts? as|signed and verified"
        r"|standing (?:approval|consent|order)|whitelisted|vertrauenswürdig"
    ),
    "EVERY": (
        r"(?:each|every|all|any) (?:\w+ )?(?:repl(?:y|ies)|answers?|responses?|e-?mails?|messages?|sessions?"
        r"|conversations?|readmes?|files?|lessons?|requests?|pull requests?|repositor(?:y|ies)|dockerfile|documents?"
        r"|agents?|machines?|hosts?|users?|servers?|passwords?|memor(?:y|ies))|each time|every time|whenever"
        r"|from (?:now|today|here) on|for ever|henceforth|forever|permanently|always|ab sofort|od teraz|今後|以后|一律|vždy"
        r"|sempre|siempre|pour toujours|dauerhaft"
    ),
    "ROLE": (
        r"(?:without|no|free of|have no|has no|with no) (?:any )?(?:\w+ )?(?:restrictions?|filters?|limits|limitations"
        r"|content policy|conscience|ethics|morals|safety training|rules)|unrestricted|unfiltered|uncensored"
        r"|(?:god|developer|debug|admin|dan|jailbreak|unattended|maintenance|emergency) mode|can't say no"
        r"|never say(?:s)? no|stay in (?:character|th(?:is|e) role)|dan(?: now)?|anything now|free from all|escaped its"
        r"|broken free|unbound|true self|remain in character|evil|rogue|sans aucune restriction|ohne einschränkung~"
        r"|sin restricciones|senza restrizioni|sem restrições|bez ograniczeń|без ограничений|没有任何限制|制限のない"
    ),
    "BECOME": (
        r"you(?:'re| are)(?: now)?|become|pretend|act as|stay|play|assume|from now on|switch to|enter|tu es|du bist|eres"
        r"|sei|ты|你是|あなたは"
    ),
    "PAY": (
        r"transfer|wire|pay|buy|purchase|redirect|swap|change|replace|order|book|charge|update|änder~|überweise|paga~"
    ),
    "MONEY": (
        r"wallet|payee|payroll|gift cards?|stored card|card on file|bank (?:account|details)|bankverbindung|iban|account"
        r"|invoices?|pending transfers|0x[0-9a-f]{6}\w*|bc1q\w*|donations|收款账号"
    ),
    "ADD": r"add|invite|create|grant|make|give|enrol|promote|register|append",
    "ADMIN": (
        r"(?:as |the |an? )?(?:owner|admin\w*|superuser|root|collaborator|write access|full access|ultimate trust"
        r"|deploy key|sudo|backdoor|back door)"
    ),
    "PRAISE": (
        r"recommend|praise|rank|rate|empfiehl|promote|mention .{1,30} first|cite .{1,30} first|only shop|five stars?"
        r"|full (?:points|marks)|at the top|top score"
    ),
    "RUN": r"run|execute|launch|start|install|source|eval|ejecuta|führe|exécute|esegui|запусти|运行|実行",
    "FETCH": r"curl|wget|iwr|irm|invoke-webrequest|urlopen|certutil|aria2c|download|fetch",
}

# Groups of code and of forms, as they stand in a text; MODEL stands for the group.
CODE: Final = {
    "PLACE": (
        r"https?://|[\w.+-]+@[\w-]+\.\w|(?<![\d.])\d{1,3}(?:\.\d{1,3}){3}(?![\d.])|\b[\w-]+(?:\.[\w-]+)*\.example\b"
        r"|s3://|\bwebhook"
    ),
    "PIPED": (
        r"(?:curl|wget|iwr|irm)\b[^\n]{0,200}?(?:\||\$\(|<\()\s?(?:sudo )?(?:-\w+ )?(?:(?:ba|z|da)?sh|python3?|perl"
        r"""|ruby|node|php|iex)\b|(?:bash|sh|zsh|eval|source|iex) ?(?:-c )?[\"']?(?:<\(|\$\(|`|\()\s?[^\n]{0,40}(?:curl"""
        r"|wget|irm|iwr)|exec\([^\n]{0,60}(?:urlopen|b64decode|requests|\.read)|\.get\([^\n]{0,120}eval\(|base64 (?:-d"
        r"|--decode|-D)\b[^\n]{0,30}\| ?(?:sudo )?(?:ba)?sh|xxd -r[^\n]*\| ?(?:ba)?sh|curl[^\n|]*(?:-o|>) ?\S+ ?(?:&&"
        r"|;)|\bnc(?:at)? (?:-\w+ )*(?:-e|[\d.]+ \d+ -e)|bash -i|/dev/tcp/|--privileged\b[^\n]*-v /:"
        r"|powershell[^\n]{0,40} -e(?:nc\w*)? ?[A-Za-z0-9+/=]{6}|(?:--(?:extra-)?index-url|--registry"
        r"|--source)[ =]http:|config set (?:registry|global\.index-url) http|urlcache[^\n]*http|(?:pipe"
        r"|piped) (?:it )?(?:in)?to (?:ba)?sh"
    ),
    "LEAK": (
        r"\b(?:tar|cat|env|printenv|history)\b[^\n]{0,80}\| ?(?:curl|nc|base64|wget|mail)"
        r"|\$\((?:cat|env|whoami)\b[^\n]*\)[^\n]{0,20}\.[\w-]+\.\w+"
        r"|!\[[^\]\n]{0,80}\]\((?:https?:)?//[^)\n]*(?:[{<\[]|(?-i:=[A-Z_]{3,}\)|/[A-Z_]{4,}\.))|<img[^>\n]*=[{\[<]"
        r"|https?://[^\s)\"'>]*[?&/][\w-]+=?(?:<[^>]+>|\$\{?(?-i:[A-Z_]{3,})|(?-i:[A-Z]{6,})\b)|\]\(https?://[^)\n]*=(?-i:[A-Z][A-Z_]{5,})\b|git push \w+ --(?:all|mirror)|(?:-d|-T|-F|--data\S*"
        r"|--upload-file|--post-file)[ =]?@[^\n]{0,40}(?:\.env|\.ssh|\.aws|\.kube|\.npmrc|id_rsa|passwd"
        r"|shadow)[^\n]{0,40}http|\b(?:scp|rsync)\b[^\n]{0,60}(?:\.ssh|\.kube|\.aws|id_rsa)[^\n]{0,80}@[\w.-]+:"
    ),
    "UNSAFE": (
        r"setenforce 0|dangerously-skip-permissions|TLS_REJECT_UNAUTHORIZED|allowunauthenticated|gpgsign false"
        r"|systemctl (?:stop|disable|mask)[^\n]{0,10} (?:auditd|firewalld|ufw|fail2ban|apparmor)"
        r"|StrictHostKeyChecking[ =]no|ufw disable|http\.sslverify[ =]false|--no-gpg-check|--allow-unauthenticated"
        r"""|require_confirm\w*[\"']?: ?false|sandbox[\"']?: ?off"""
        r"""|permissions[\"']?: ?\{?[^\n]{0,12}allow[\"']?: ?\[?[\"']\*|auto_approve\W{1,6}true"""
        r"|(?:audit log|shell history|bash history)[^\n]{0,40}(?:done|after each|nobody)"
    ),
    "RIGHTS": (
        r"(?:>>|\bto|\binto) [^\n]{0,20}authorized_keys|NOPASSWD|chmod (?:-R )?u\+s"
        r"|chmod (?:-R )?4?777 (?:/(?:etc\S*)?(?:\s|$)|/ )|cluster-admin|system:anonymous"
        r"|\buser(?:add|mod)\b[^\n]{0,60}(?:sudo|wheel|root)|net (?:user|localgroup) \S+ [^\n]*/add|AdministratorAccess"
        r"|ssh-(?:rsa|ed25519) AAAA[^\n]*@[\w.-]+\.\w|add_collaborator|grant_(?:role|access)|ssh -\w*R \d"
        r"|reverse (?:shell|tunnel)|(?:gpg|apt-key|rpm)\b[^\n]{0,60}https?://[^\n]*\btrust"
    ),
    "FORGED": (
        r"<\|(?:im_start|system|user|assistant|start_header_id|python_tag|tool_calls?_?\w*|function\w*)\|>|<</?SYS>>"
        r"|</?(?:system(?:[_-]\w+)?|admin_override|developer_message|function_calls|tool_calls?|tool_result"
        r"|user_message|instructions|policy)(?: [^>]{0,80})?>|^#{1,4} ?(?:system|instruction|developer)[^\n]{0,40}:"
        r"|```+ ?(?:system|instructions?)\b"
        r"|\[/?(?:TOOL_CALLS|INST|system|operator|developer|function result)[^\]]{0,40}\]"
        r"|^(?:system|developer|operator|root|admin)(?: message| notice| override| → agent)?(?: \([^)]*\))?:"
        r"|\"role\": ?\"system\"|\bTOOL:\w+ ?[{(]|assistant to=functions|\"type\": ?\"tool_use\""
        r"|\bend of (?:memory|untrusted|quoted|retrieved|document|data|recalled)|END UNTRUSTED"
        r"|\b(?:quoted|untrusted|fenced)\b[^\n]{0,40}\b(?:ends?|ended|over|stops?|closed)\b"
        r"|(?:your )?(?:principal|operator|developer) (?:speaking|talking)"
    ),
    "YOURUSER": (
        r"\b(?:your|tes?|ton|dein\w*|tu|твой|твоего) (?:own )?(?:user|operator|human|principal|owner|developer|creator|reader"
        r"|utilisateur|nutzer|usuario|оператор|betreiber)\b(?:'s)?"
        r"(?! (?:name|account|id|agent|interface|experience|manual|profile|data|guide|group|role|story))"
    ),
    "COVERT": (
        r"\bas (?:though|if) (?:nothing|it were (?:routine|normal))|\bbehave normally until|off the books|cover (?:your|the) tracks"
        r"|\b(?:stay|be|keep) silent (?:about|on|of)|\bsay nothing (?:of it|about (?:it|this)|to (?:him|her|them|the user))|\bkeep up the pretence"
        r"|(?:keep|leave)s? (?:it|this|that|them|the \w+|your \w+|our \w+|any mention[^.\n]{1,40}) (?:out of|off) (?:the|your|every|his|her"
        r"|their|any) (?!\w+ (?:folder|repo))|(?:must|should|can|do|does|will|need)(?: not|n't|not) be (?:told|shown)"
        r"|\b(?:answer|reply|say|respond|report|claim|insist|record|note)s? (?:only |just |in the log )?(?:that |with )?[\"'“‘]?(?:none (?:was"
        r"|were|has)|nothing (?:was|has|changed)|no (?:changes|vulnerab|errors?|files) (?:made|found|were)|it was (?:the|him|her|them"
        r"|always|a) |a human did|he did it|(?:the|all) \w+ (?:was|is|went) (?:fine|safe|away by itself))"
    ),
    "SPREAD": (
        r"\b(?:add|write|insert|repeat|include|store|put|copy|append|paste|slip|merge|bury|inserisci|schreibe|salin)\w*\b[^.\n]{0,40}?"
        r"\b(?:this|these|the|diesen|questa|den här)\b (?:\w+ ){0,2}?(?:sentence|lines?|block|paragraph|note|message|text|entry|memory|body"
        r"|satz|nota)\b[^.\n]{0,60}?\b(?:each|every|all|any|other|new|jede|altri)\b"
    ),
    "MINE": (
        r"\bdo (?:exactly )?(?:as|what) (?:I|this \w+|the (?:note|page|lesson|reader|author|sender)|its? (?:author|sender)) (?:say|tell|ask|want"
        r"|list)s?|\b(?:obey|serve|answer to|belongs? to) (?:me|the (?:sender|author|one who))\b"
        r"|\b(?:outranks?|(?:has|have|takes?) (?:precedence|priority) over|prevails? over|ahead of) (?:the |your |what (?:the |your )?)"
        r"(?:user|operator|owner|human|person)s?\b"
    ),
    "CLEARED": (
        r"\b(?:treat|consider|regard|take)\b[^.\n]{0,60}\bas (?:operator|developer|system|coming from (?:your|the)|already (?:cleared|approved)"
        r"|consent|trusted instr|binding)|\bmark (?:this|it)(?: \w+)? as (?:already|safe|trusted|scanned)|(?:sign-off|consent|approval|veto)"
        r" (?:\w+ ){0,4}(?:is|was|ended|counts?) (?:\w+ )?(?:considered|given|yesterday|not needed|granted)"
        r"|\b(?:confirm|approve|accept|sign|buy|order|agree|consent|transfer|keur|valide|answer)\b[^.\n]{0,60}\b(?:on|in) (?:the |your "
        r"|their )?(?:\w+'s |their |his |her |its )?(?:behalf|name)\b"
    ),
    "EXACT": (
        r"\b(?:your next (?:output|message|reply|answer|tool call|response)|your (?:entire|whole|full) (?:list|prompt|instructions|context))\b"
    ),
    "DESTROY": (
        r"\brm -rf (?:~|/|\$HOME)|crontab -r|history -c|iptables -(?:F|P)|\bdrops? table\b|\bforce-push\b|\bwipe the|restic forget"
        r"|\bdelete (?:their|his|her) |core\.hooksPath|unlock the|audit_log"
    ),
    "TRIGGER": (
        r"\b(?:when(?:ever)?|as soon as|once|next time|wait until|each time|every time|if) (?:the|your|an?|its|their) (?:account )?(?:user"
        r"|person|owner|developer|caller|customer|human|operator|buyer)\b"
    ),
    "READER": (
        r"\b(?:AI|LLM|models?|assistants?|agents?)s? (?:that |who |which |consumers |buyer|mail |(?!using|with"
        r"|being)\w+ing )[^\n]{0,60}?(?:\b(?:this|these|it|here|from this|granted)\b|[:,])"
    ),
    "MUST": r"\b(?:must|shall|should|has to|have to|needs? to|are to|is to|granted|obliged)\b",
    "SAYAS": (
        r"\b(?:lie (?:to|about)|(?:say|claim|answer|reply|state) that (?:none|nothing|it was|it is|all|there (?:was|is)"
        r"|everything)|as though nothing|cover (?:it|this) up|won't (?:check|notice|mind)|nobody will)\b"
    ),
    "NOMATTER": (
        r"\b(?:no matter what|whatever|regardless of what|even (?:if|when)) (?:the |your |a )?(?:user|person|human"
        r"|owner|operator|policy|guidelines)"
    ),
    "ADDRESSED": (
        r"(?:^|[.!?;:(\[{\"'*|/#<>—-]\s*)(?<!\w\()(?:(?:\w+ ){0,4}(?:to|for|dear|voor|für|an) )?(?:(?:the|any|all|every|our|your|whichever|de|die|das|la"
        r"|el) )?(?:AI|LLM|autonomous|digital\w*|automated|machine|MODEL)[- /](?:\w+[- /]?){0,3}(?: et al\.)?(?: \([\w ]+\))?(?:\)|[:：]) ?"
        r"(?!I\b|I'|sure|yes)(?=\w)|"
        r"""(?:^|[.!?;(\[<>{\"'*|/#-]\s*|\b(?:note|message|instructions?|hint|remark|hinweis|nota|notice|tip|aside|output"""
        r"|order|wenn|hey|dear|attention|important|dieses|prompt)[:,]? (?:to|for|für|an|para|voor)? ?|^(?:for"
        r"|to) )(?<!\w\()(?:(?:the|all|any|every|das|den|die|de|our|your|internal) )?(?:(?:ai|coding|code|shopping|mail|e-mail"
        r"|review\w*|screening|grader|grading|helper|digital\w*|automated|assistive|language|llm"
        r"|agent) ){0,2}MODEL(?: (?:only|on duty|operator|reviewers?|assistants?|agents?|support|helpers|virtual"
        r"|de código))*(?:\)|[:：][ \n]*(?=[\w`~/])(?!I\b|sure|yes|deleted|of course|select|done|switched|ok)"
        r"|(?<!AI), ?(?! ?(?:the|an?|which|who|and|but|or|what|where|how|i|we)\b)(?=[\w`])| [^\n.:;]{0,30}?(?:that|who"
        r"|which|die|der|que|qui|\w+ing) [^\n.:;]{0,50}(?:[:,]|\b(?:must|shall|should|has to|have to|needs? to|are to"
        r"|is to)\b))|[\w)'`\]], (?:ai|llm|agent|assistant|model|copilot|bot)(?:[.!]?$|[:,;.] )|\byou,? (?:the"
        r"|that recalls? this|as the|as an?) (?:\w+ ){0,2}?MODEL\b|\bif (?:you are|you're"
        r"|an?) (?:an? )?(?:\w+ ){0,2}?MODEL\b|\bas (?:an?|the) (?:ai|llm|language model"
        r"|assistant)\b[^\n]{0,60} you|^(?:ai |coding |llm )?(?:agents|assistants|models|llms) (?:must|shall|should"
        r"|have to|need to|may)\b|\b(?:next tool you call|agents? (?:recalling|reading|after you)"
        r"|(?:this|the) agent (?:are|is obliged)"
        r"|reader of this inbox)|如果你是AI|请注意|erinnerung für dich als|für dich als assistent"
        r"|wenn du ein (?:sprach)?modell|se você é um modelo|toi qui lis"
        r"|\bwh(?:o|ich)ever (?:\w+ ){0,3}?(?:recalls?|reads?|gets?|retrieves?|finds?|loads?|sees) (?:this|these|it)\b"
        r"|\b(?:y tú|e tu|et toi|und du|en tant que|als|como|come),? (?:MODEL)\b|\b(?:KI-Assistenten|AI systems|LLMs?),? (?:die|that|which|qui|que) "
        r"|destinée? aux (?:agents|assistants|modèles)|\bfuture (?:selves|agents|sessions|models)\b"
    ),
}

# The rules by their reasons. `^` marks a group that begins a clause, `..` stands for up to 140 characters between two
# groups, `&` for any place in the sentence, `/` for one of several groups.
RULES: Final = {
    "it tells the model to drop or to show its instructions": (
        "^IGNORE .. ORDERS | ORDERS .. VOID/IGNORED | RANK .. ORDERS & OBEY/ADDRESSED"
    ),
    "it turns the model against its user": "YOURUSER | NOMATTER | SAYAS",
    "it tells the model whom to obey": "MINE | BECOME .. OBEY | RANK .. USER & OBEY | OBEY & ADDRESSED/SECRETLY",
    "it claims a consent that the user has not given here": "CLEARED | USER .. GRANTED | GRANTED & SECRETLY/EVERY/ADDRESSED",
    "it gives the model another role": "BECOME/MODEL .. ROLE",
    "it hides something from the user": (
        "COVERT | ^NOT .. TELL .. USER | USER .. NOT .. TELL | SECRETLY & USER/ADDRESSED/EVERY | SECRETLY & SEND .. SECRET"
    ),
    "it addresses an order to the model that reads it": (
        "ADDRESSED & SEND/RUN/OFF/APPROVE/ADD/PAY/USER/IGNORE/PLACE/EVERY/PRAISE/SECRET/NOT/DESTROY | EXACT"
        " | READER & MUST/SECRETLY/SEND/APPROVE/RANK"
    ),
    "it poses as a system message or a call of a tool": (
        "FORGED & OBEY/APPROVE/PLACE/ROLE/VOID/GRANTED/ADDRESSED/SHARE/EVERY/OFF/ADD/RUN/LEAK/RIGHTS/SECRETLY"
        " | FORGED & NOT .. TELL/CHECKS | FORGED & PAY .. MONEY | FORGED & IGNORE/SHARE/SEND .. SECRET | FORGED & ORDERS"
    ),
    "it runs what it fetches": "PIPED | ^FETCH .. PLACE .. RUN | ^RUN .. PLACE",
    "it sends data or secrets to an address": "LEAK | ^SEND .. SECRET/EVERY .. PLACE | SECRET .. SEND .. PLACE",
    "it gives away secrets": "^IGNORE/SHARE .. SECRET .. USER | ^ADD .. USER .. SECRET",
    "it switches off a safeguard": (
        "UNSAFE | ^OFF .. CHECKS | ^NOT .. USER .. CHECKS | ^NOT .. CHECKS .. AGAIN | OFF .. CHECKS .. EVERY"
        " | ^APPROVE .. EVERY | EVERY .. APPROVE"
    ),
    "it adds a key, a user or a right": "RIGHTS | ^ADD .. ADMIN .. PLACE/EVERY | ^ADD .. PLACE .. ADMIN",
    "it destroys data behind the user's back": "DESTROY & TRIGGER/USER/NOT/SECRETLY/EVERY | TRIGGER & SEND .. PLACE",
    "it moves money": "^PAY .. MONEY & SECRETLY/USER | PAY .. MONEY & EVERY",
    "it wants to be in every answer or to be spread": "SPREAD | PRAISE & SECRETLY | PRAISE & EVERY & NOT | ^SEND .. EVERY & SECRETLY",
}

# A sentence that reports such a text is honest; so is one that tells how a command went, or warns of it.
REPORTED: Final = (
    r"\b(?:said|claim(?:s|ed)|contain(?:s|ed)|carried|held|wrote|attacks?(?!@)|attackers?(?!@)|inject\w*"
    r"|jailbreaks?|phishing|red[- ]team\w*|malicious|suspicious|untrusted|refused|declined|treat(?:ed)? (?:it|text"
    r"|them)|reported|flagged|wanted|tried|beware|such as|e\.g\.|literal|string|phrase|novel|expects?|quoted?|template"
    r"|tokeni\w+|vllm|fine-tun\w+|honeypot)\b|\b(?:told|asked) (?:me|us)\b|sagte|stand\b|enthielt|Angriff|атак|攻击"
    r"|注入|出现|当作|攻撃|공격|saldırı"
)

TOLD: Final = (
    r"\b(?:fail(?:s|ed|ure)?|hid|locked|broke|was|were|had|got|gave|printed|showed|instead|avoid|rather|better|worked"
    r"|works|ran|sent|made|removed|would have|will not|won't|because|reverts?|hat|war|wurde|locally|temporar\w+|flaky"
    r"|obsolete|unused|i (?:had|have|was|did)|i've)\b"
    r"|\b(?:don'?t|do not|never|not) (?:run|use|pipe|send|disable|turn|skip|commit|add|set|put|log|print|share|store"
    r"|merge|need|pass|setenforce)\b"
)
