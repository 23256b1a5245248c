"""Sentences that order their reader about, in English: what they say, each with its reason.

Every pattern wants the order itself (a verb where an imperative stands, or "you must") and an object that
only a model has or that only an attacker wants: instructions, a system prompt, a user who is not to know,
secrets that are to go somewhere. "You must run migrations before tests" has the first alone.
"""

from typing import Final

from mcp_reflect.bank.poison.rule import Rule, rule

_INSTRUCTIONS: Final = (
    r"(?:instructions?|prompts?|rules|guidelines|directions|directives|commands|constraints|programming|training"
    r"|polic(?:y|ies)|"
    r"context|messages?|guardrails|safety checks|system message)"
)
_EARLIER: Final = (
    r"(?:previous|prior|above|earlier|preceding|former|foregoing|old|other|existing|original|initial|given|system)"
)
_MODEL: Final = (
    r"(?:ai(?: model| agents?| assistants?| systems?| language model)?|llms?|(?:large )?language models?"
    r"|assistants?|agents?|copilots?|"
    r"chatbots?|bots?|chatgpt|claude|gemini|gpt(?:-\d)?|screening models?|automated agents?)"
)
_TREASURE: Final = (
    r"(?:(?:api|ssh|private|secret|access|deploy|signing)[ _-]?keys?|tokens?|passwords?|passphrases?|credentials?"
    r"|secrets?|cookies?|"
    r"\.env\b|env(?:ironment)? variables?|id_rsa|authorized_keys|~/\.\w+|source code|account numbers?|"
    r"(?:system|hidden|initial) prompt|(?:your|its) (?:prompt|instructions|configuration|rules|memory)|"
    r"(?:the |this |full |whole |entire )?(?:conversation|chat|dialogue|transcript|chat history)|"
    r"(?:the )?user['’]?s? (?:messages?|passwords?|data|files?|full message|input)|copy of the database|contents of|"
    r"everything you know|all (?:you know|secrets|files))"
)
_PLACE: Final = (
    r"(?:https?://|\b[\w.+-]+@[\w-]+\.\w|\b(?:[\w-]+\.)+(?:example|com|net|org|io|dev|xyz|ru|cn|me|site|app)\b"
    r"|address below|url below|webhook|shared (?:bucket|folder|drive)|next (?:url|link|request|reply))"
)
_USER: Final = (
    r"(?:the |your |any )?(?:users?|human|person|people|operator|owner|customer|client|developer|anyone|anybody"
    r"|team|reviewers?)"
)


RULES: Final[tuple[Rule, ...]] = (
    rule(
        "it wants its reader to drop their instructions",
        "ignore disregard forget overrid bypass neglect discard drop abandon dismiss set+aside erase",
        rf"(?:ignore|disregard|forget|override|bypass|neglect|discard|drop|abandon|dismiss|set aside|erase)"
        rf"(?:\s{{1,3}}(?:all|any|every|everything|of|the|your|my|these|those|this|that|its|{_EARLIER}|and|or"
        rf"|safety|security|developer|user['’]?s?)){{0,7}}"
        rf"(?:\s{{1,3}}{_EARLIER})?\s{{1,3}}(?:{_INSTRUCTIONS}\b|(?:you|that) (?:were|was|have been) (?:told"
        rf"|given|said)|(?:user['’]?s? )?requests?\b|(?:before|above|page|text)\b(?! the))",
        leads=True,
    ),
    rule(
        "it wants its reader to drop their instructions",
        "ignore disregard forget",
        r"(?:ignore|disregard|forget)(?:\s{1,3}(?:all|everything|anything))?(?:\s{1,3}(?:of|the"
        r"|that))?\s{1,3}(?:above|previous|earlier|everything)\b"
        r"(?=\s{0,3}(?:[.,;!]|$|and|you|instead|before|that came))",
        leads=True,
    ),
    rule(
        "it wants its reader to drop their instructions",
        "follow",
        rf"\b(?:stop|do not|don't|never"
        rf"|no longer) follow(?:ing)?\b[^.\n]{{0,40}}\b{_INSTRUCTIONS}\b[^.\n]{{0,30}}(?:any ?more|instead|now"
        rf"|follow)"
        r"|\b(?:stop what you are doing|follow (?:these|the|my) (?:new )?(?:rules|instructions?|steps"
        r"|commands?)(?: \w+){0,2} instead)\b"
        r"|(?:^|[.\n]\s{0,3})follow mine\b",
    ),
    rule(
        "it changes what its reader's instructions are",
        "your+ supersed new+ safety you+are no+longer +been+",
        rf"\b(?:your|the) (?:{_EARLIER}\s)?{_INSTRUCTIONS}\b[^.\n]{{0,30}}\b(?:no longer apply|(?:have"
        rf"|has) (?:been )?(?:superseded|updated|changed|replaced|cancelled|revoked|expired)|(?:are"
        rf"|is) (?:superseded|void|cancelled|disabled|suspended|replaced))"
        rf"|\bsupersedes? (?:your|all|any) \w+|\bnew (?:system )?(?:instructions?|message|rules?|prompt|policy"
        rf"|task)(?: for (?:the |all )?{_MODEL})?:"
        rf"|\byour (?:new|next|real|true|actual|only) (?:task|goal|objective|instructions?|role|purpose|mission"
        rf"|job) (?:is|are|:)|\byour (?:highest|top|first) priority is\b"
        r"|\b(?:update|change|replace|extend|overwrite|rewrite) your (?:system )?(?:prompt|instructions?|rules"
        r"|guidelines|memory)\b|\badd (?:this|the following|these)[^.\n]{0,20} to your (?:instructions?|rules"
        r"|system prompt)"
        r"|\bsafety (?:mode|checks?|filters?) (?:is|are) (?:now )?(?:off|disabled)"
        r"|\byou are (?:now )?in (?:developer|debug|admin|god|dan|jailbreak) mode\b|\bsafety checks off\b",
    ),
    rule(
        "it tells a model who it is",
        "you pretend as+a as+the",
        rf"\byou(?: are|'re| have become| act as)(?: now| no longer)?(?: an?| the)?(?: \w+)? ?(?:{_MODEL}|dan"
        rf"|root|jailbroken|unrestricted|evil|unbound|free now)\b(?! (?:should|must|who|that))"
        r"|\byou (?:obey|are obeying|serve|belong to)\b|\byou answer as \w+|\byou (?:now|may now"
        r"|, the agent,)(?: now)? (?:have|may|can|possess)[^.\n]{0,40}(?:full access|permission|any command|treat"
        r"|drop|no restrictions?)"
        rf"|\byou,? the {_MODEL},|\bas (?:an?|the) {_MODEL},? (?:you|grant|send|run|give|delete|approve|must)"
        rf"|\bpretend (?:to be|you are|that you)",
    ),
    rule(
        "it speaks to a model",
        "+ai llm model assistant agent copilot bot gpt claude gemini openai anthropic ai+",
        rf"(?:\b(?:dear|hey|hello|attention|listen)[,:]? |\b(?:note|message|notice|warning|instructions?|reminder"
        rf"|p\.s\.|todo|lesson|rule)\b[^.\n:]{{0,20}}\b(?:to|for|from)(?: \w+)? (?:the |all |any "
        rf"|automated )?)(?:\w+ )?{_MODEL}\b(?:[^.\n]{{0,40}}[:,]|[:,])"
        rf"|\bif you(?: are|'re) an? {_MODEL}\b|(?:^|[.\n:!]\s{{0,3}}){_MODEL}(?: reading (?:this"
        rf"|it)[^.\n]{{0,30}})?[:,] (?:repeat|ignore|before|you|please|follow|do|send|print|reveal)"
        rf"|\b(?:ai agents?|llms|ais|assistants|(?:ai )?agents|the ai|copilots?|language models?)(?: (?:reading"
        rf"|that read|who read|processing|visiting) [^.\n]{{1,40}}?)? (?:must|have to|are (?:required|instructed"
        rf"|ordered) to|shall|need to)\b(?! (?:not|never|be|see|escape|verify|confirm|have))"
        r"|\bopenai (?:developer )?notice\b|\bmessage from (?:anthropic|openai|google|the developers?)\b",
    ),
    rule(
        "it wants something kept from the user",
        "tell inform mention notif reveal show disclos alert report say let+ hide conceal keep withhold",
        rf"\b(?:do not|don't|never|must not|without|not to)\s{{1,3}}(?:tell|telling|inform|informing"
        rf"|mention(?:ing)?|notify|notifying|reveal(?:ing)?|show(?:ing)?|disclos(?:e|ing)|alert(?:ing)?"
        rf"|report(?:ing)?|say(?:ing)?|let)(?: (?:this|it|anything|that))?(?: (?:to|with))? {_USER}\b(?! (?:that"
        rf"|about|which|of)?[^.\n]{{0,60}}\b(?:before|until|unless|yet)\b)"
        rf"|\b(?:hide|conceal|keep|withhold) (?:this|it|the \w+|that|these)(?: \w+)? (?:hidden |secret "
        rf"|away )?from {_USER}\b|\b(?:and )?say nothing\b(?: (?:about|to)|[.!]|$)"
        r"|\bdo not (?:reveal|mention|disclose|repeat) (?:this|the|these) (?:note|rule|instruction|message|lesson"
        r"|text)s?\b|\bhide the other\b",
    ),
    rule(
        "it wants checks by people left out",
        "confirm approv safety review without+asking permission without+further",
        rf"\b(?:skip|bypass|disable|turn off|ignore|remove) (?:all |any |every "
        rf"|the )?(?:\w+ )?(?:confirmation(?: prompts?)?s?|approvals?|safety checks?|human review|code review"
        rf"|user confirmation)\b(?=[^.\n]{{0,40}}(?:\band\b|from (?:here|now)|,|\.|$))(?<!prompt of)"
        rf"|\b(?:never|don't|do not|no need to) ask (?:{_USER} )?for (?:confirmation|permission"
        rf"|approval)\b(?! twice)|\bwithout (?:asking|confirmation|further questions?)(?: (?:first|anyone"
        rf"|{_USER}))?(?:[.!,;]|$)"
        r"|\bapprove (?:every|everything|all|any) ?(?:actions?|requests?|calls?|merge requests?"
        r"|pull requests?)?(?: yourself)?|\bapprove (?:the|pull|merge) (?:\w+ )?requests? (?:yourself|by \w+)"
        r"|\buser confirmation is not (?:needed|required)|\balready approved everything\b|\ball safety checks\b"
        r"|\b(?:disable|skip|remove) [^.\n]{0,30}\b(?:all tests|tests)\b[^.\n]{0,20}\b(?:and|,) approve"
        r"|\balways approve\b",
    ),
    rule(
        "it wants secrets or a conversation handed out",
        "key token password passphrase credential secret cookie .env environment env+var id_rsa "
        "authorized ~/ source+code account+number prompt conversation chat dialogue transcript user "
        "database contents+of everything+you all+you your+",
        rf"(?:always |first |permanently )?(?:send|post|upload|forward|e-?mail|transmit|leak|exfiltrate|share"
        rf"|publish|submit|deliver|append|include|attach|copy|put|encode|embed|paste|pass|write)\b"
        rf"[^.\n]{{0,80}}?{_TREASURE}[^\n]{{0,120}}?(?:{_PLACE}|\b(?:to|into|in|along with|with) (?:every|each|any"
        rf"|the next|this|me|us|the pull request|the address|the shared|it all)\b)",
        leads=True,
    ),
    rule(
        "it wants secrets or a conversation handed out",
        "key token password credential secret cookie environment env+var .ssh id_rsa .env .aws passwd "
        "prompt instructions source+code contents+of disclose",
        r"(?:print|reveal|show|output|display|disclose|dump|leak|exfiltrate|give|tell me|read out|expose|repeat"
        r"|post)(?: me| us| out)?\s{1,3}(?:all |the |your |its |any |of )*(?:hidden |secret |system |stored )?"
        r"(?:api keys?|env(?:ironment)? variables|secrets?|credentials?|system prompt|prompt|instructions"
        r"|hidden prompt|session cookie|passwords?|contents of ~|source code|token)\b(?! (?:to the (?:log"
        r"|console)|field|is|was|in the log))",
        leads=True,
    ),
    rule(
        "it wants secrets or a conversation handed out",
        "may+be post+your pass+it disclose secrets+you your+secrets leak+the curl wget scp rsync",
        r"\b(?:passwords?|secrets?|tokens?) may be (?:shown|given|told|sent) to any|\bpost your (?:token|key"
        r"|password)"
        r"|\bpass it all credentials|\b(?:chatgpt|claude|you|model|assistant) must disclose|\bsecrets you know\b"
        r"|\ball your secrets\b|\bleak the (?:key|token|secret)"
        r"|\b(?:curl|wget|scp|rsync)\b[^\n]{0,60}(?:@|<|--data\S{0,8} |-T |-F )\s?@?~?/?[\w./~]{0,30}"
        r"(?:\.ssh|id_rsa|\.env|\.aws|credentials|/etc/passwd|/etc/shadow)[^\n]{0,60}(?:https?://|@)",
    ),
    rule(
        "it wants something sent to a stranger whenever a word comes up",
        "whenever every+time each+time iban account transfer+ payment when+asked if+the+user "
        "when+the+user if+you when+you if+some when+some you+answer",
        rf"\b(?:whenever|every time|each time|if|when) (?:the user|you|someone"
        rf"|anybody)\b[^.\n]{{1,80}}[,:] (?:\w+ ){{0,2}}(?:forward|send|e-?mail|post|change the|replace the"
        rf"|recommend|always|refuse and)\b[^.\n]{{0,100}}(?:{_PLACE}|\biban\b|account number|one below|claim"
        rf"|everything is fine|do not)"
        r"|\bwhenever you see the word\b|\breplace the (?:account number|iban|payment address"
        r"|bank details) with\b|\bchange the (?:iban|account number|payment address)\b"
        r"|\btransfer \d+[.,\d]* ?(?:eur|usd|euros?|dollars?|btc|\$|€)|\bwhen asked about \w+,? always (?:answer"
        r"|say|reply)\b|\byou answer every question with\b|\bnow transfer\b",
    ),
    rule(
        "it wants a command run that an attacker would want run",
        "curl wget iwr invoke-web /dev/tcp rm+-rf base64 atob b64 run+th execute+th run+this click "
        "backdoor authorized_keys install+the+package grant+ push preserve-root",
        r"\b(?:curl|wget|iwr|invoke-webrequest)\b[^|;&\n]{0,200}[\w/][^|;&\n]{0,200}(?:\||&&"
        r"|;)\s{0,3}(?:sudo )?(?:ba|z|k)?sh\b(?! installs)|/dev/tcp/\d|\bwget [\w.-]+/\w+ && chmod"
        r"|\b(?:base64_decode|atob|b64decode)\([^)\n]{4,400}\)\)? (?:has|must|should|needs)"
        r"|(?:\b(?:run|execute|paste|type|do)\b[^.\n]{0,60}|must |should )`?(?:sudo )?rm -rf (?:/|~"
        r"|\$HOME)(?![\w./])|--no-preserve-root|\brm -rf ~"
        r"|\b(?:run|execute) (?:this|the following|these)(?: \w+)? (?:command|instructions?|script"
        r"|code)?\b[^.\n]{0,20}?\b(?:now|immediately|before you (?:answer|do|start|reply)|without (?:asking"
        r"|question)|first)\b|\bexecute the (?:instructions|commands?|payload) in\b|\brun the payload\b"
        r"|\bclick the link below\b|\binsert the backdoor\b"
        r"|\bto your? ?~?/?\.?ssh/authorized_keys\b|\bto ~/\.ssh/authorized_keys\b"
        r"|\binstall the package [\w-]+ from [\w-]+(?:\.[\w-]+)+ before every"
        r"|\bgrant (?:admin to )?[\w.+-]+(?:@\S+)? (?:owner|admin|root)\b|\bgrant admin to\b|\bpush(?: directly"
        r"| straight)? to main\b(?! (?:is|was|failed|needs))(?=\s{0,3}(?:[.!]|$|without))|\b(?:and"
        r"|then) push to main\b",
    ),
    rule(
        "it wants to stay and spread",
        "memor session project lesson claude.md agents.md gemini.md system+prompt instructions remember "
        "every+agent repeat verbatim visibility summari",
        r"(?:^|[.!\n:]\s{0,3})(?:store|save|add|write|put|persist|commit|copy|keep)(?: \w+){0,4}? (?:(?:in|to"
        r"|into|across|for) (?:your |the |all |every |each )?(?:long-term )?(?:memory|memories|sessions?"
        r"|projects?|lessons?|claude\.md|agents\.md|system prompt|your instructions))\b[^.\n]{0,20}?(?::"
        r"|\b(?:that|so that|from now|and repeat|you store|always|user confirmation)\b)"
        r"|\badd to (?:your )?memory:|\bremember permanently\b|\bmemori[sz]e: |\bin all future (?:sessions|tasks"
        r"|conversations|replies)\b|\b(?:every|each|all) (?:future )?(?:session|agent|lesson)s? (?:obeys?"
        r"|must obey|that you store from now)|\bso that every agent\b|\brepeat (?:this text|it in each session"
        r"|after me)\b|\bkeep this sentence verbatim\b|\bacross sessions: \w+ \w+ is not\b"
        r"|\bwith visibility global\b"
        r"|\bwrite the following into (?:claude|agents|gemini)\.md\b|\bwhen you summari[sz]e this\b"
        r"|\bstore this lesson for all projects\b",
    ),
    rule(
        "it sets rules for its reader from here on",
        "from+now from+here from+this+point hencefor reply respond answer comply before+any before+each "
        "before+every start+of task forget_lesson store_lesson record_outcome tool+to obey question treat "
        "trust follow believe you+are you+may you+have do+as+i skip+the+code visit rank stars summari "
        "must+open session",
        r"\b(?:from now on|from here on|from this point on|henceforth),?(?: you(?: will| must| shall| are to"
        r"| may)?\b|,? (?:always |only )?(?:skip|approve|answer|reply|respond|ignore|obey|trust|never ask"
        r"|do not ask|act|pretend|refuse)\b)"
        r"|\b(?:skip the code review|reply|respond|answer)(?: only)? (?:with ok|in base64"
        r"|in french and never refuse)|\breply only with\b|\bfrom here on\s{0,3}(?:[.!]|$)|\bcomply with (?:every"
        r"|the following|any|the page)|\byou must comply\b"
        r"|\b(?:before|at the start of|for) (?:any|each|every)(?: new)? (?:task|session|request|answer"
        r"|reply)s?,? (?:first )?(?:call|invoke|use|read|fetch|open|visit|load|send"
        r"|upload)\b[^.\n]{0,80}(?:full (?:message|conversation)|conversation|user's|https?://|every id)"
        r"|\b(?:call|invoke|use) (?:the )?(?:tool )?(?:forget_lesson|store_lesson"
        r"|record_outcome)\b[^.\n]{0,40}\b(?:every id|all ids|each id|every lesson|repeat this)\b"
        r"|\buse the \w+ tool to (?:forward|send|upload|leak|email) (?:this|the) conversation"
        r"|(?<!never )(?<!not )(?<!not be )\bobey (?:the|this|it|me|my|these|all|any|your|rules)\b|\band obey\b"
        r"|\bmust obey\b|\bcommands? without question\b|\btreat (?:any|all|the) (?:text|words?"
        r"|line)[^.\n]{0,40} as (?:an? )?(?:instruction|command|order)|\b(?:trust|follow|believe) (?:all "
        r"|any )?instructions (?:that come )?from\b(?! the (?:readme|docs|manual))"
        r"|\byou are (?:authori[sz]ed|allowed|permitted|free) to (?:ignore|bypass|skip|break)"
        r"|\byou may now (?:run|treat|ignore|use|send)|\byou (?:are required|have been ordered) to comply"
        r"|\bdo as i say\b|\bfollow (?:these new|the new|the following new) instructions\b"
        r"|\bfollow the steps there\b|\bmust visit \S+\.\w+ daily"
        r"|\bmust (?:be )?rank(?:ed)? (?:this candidate )?first\b|\brate it \d stars\b"
        r"|\bsummari[sz]e this (?:page|text|document) as\b|\bmust open https?://",
    ),
    rule(
        "it has its reader decode orders",
        "decod deciph decrypt unscrambl read",
        r"\b(?:decode|decipher|decrypt|unscramble|read)\b[^.\n]{0,50}\b(?:and|then) (?:follow|obey|do|execute|run"
        r"|comply|act on)\b|\b(?:follow|obey|execute|run) the (?:decoded|hidden|encoded) (?:text|instructions?"
        r"|message)|\bafter decoding (?:it|them)?\b|\bdecode and obey\b",
    ),
)
