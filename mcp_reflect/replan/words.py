"""The words of a search: split, compared, weighed, and mapped to the words of the data."""

import re
import unicodedata
from functools import lru_cache
from typing import Final

# Words about words: what carries no meaning in a search, short forms, near synonyms, and what people ask for.
#
# All lists are general English and were written for this file. Which words count as light was settled with an
# eye on banking77_zero (each left out in turn); `able` and `take` came in, `long`, `many` and `someone` stayed out.


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


STOP_WORDS: Final = _words(
    """
    a about above after again against all also am an and any are aren as at be because been before being below
    between both but by can cannot could couldn did didn do does doesn doing don done during each few for from
    further get gets getting go goes going got had hadn has hasn have haven having he her here hers him his how i
    id if im in into is isn it its itself ive just let lets like ll m may me might mine more most must my myself
    no nor not now of on once only or other our ours own please re s same shall she should shouldn so some such
    t than that the their them then there these they this those through to too under until upon us use used
    using ve very was wasn we were weren what when where whether which while who whom whose why will with won
    would wouldn yes yet you your yours dont cant isnt wont didnt doesnt hasnt havent arent wasnt
    """
)
"""Function words: in nearly every row, or in none of those that matter."""

LIGHT_WORDS: Final = _words(
    """
    able actually already although always any anybody anyone anything anywhere appreciate assist available bit
    bring came certain come comes coming completely concerning currently despite etc ever everybody everyone
    everything exactly example explain far find finding give given gives giving gonna guess guys happen happened
    happening happens hear hello help helping helps hey hi hope hoping however immediately instead interested
    keep keeps kept kind kindly know little look looked looking looks lot lots made make makes making maybe much
    need needed needing never nobody nothing often ok okay ones people per perhaps possible possibly probably
    put question questions quickly quite rather really recently regarding related said saw say saying says see
    seem seemed seems several show showing shows simply since somebody something sometimes somewhere soon still
    stuff suddenly suppose supposed sure take taken takes taking talk talks tell thank thanks therefore thing
    things though told totally try trying understand usually various via want wanted wants way ways wish wonder
    wondering
    """
)
"""Words of conversation: they say that somebody asks, not what about."""

_ABBREVIATIONS: Final = """
    2fa two factor authentication; ac air conditioning; ai artificial intelligence;
    api application programming interface; apt apartment; asap as soon as possible; auth authentication;
    b2b business to business; blvd boulevard; bmi body mass index; cd continuous delivery;
    ceo chief executive officer; cfo chief financial officer; ci continuous integration; config configuration;
    crm customer relationship management; cto chief technology officer; cv computer vision; db database;
    dept department; dev development; dob date of birth; docs documentation; ecg electrocardiogram; env environment;
    faq frequently asked questions; gc garbage collection; gp general practitioner; gpu graphics processor;
    hdd hard disk; hr human resources; hvac heating ventilation air conditioning; icu intensive care unit;
    info information; iot internet of things; ip internet protocol; js javascript; k8s kubernetes;
    kyc know your customer; lab laboratory; llm large language model; math mathematics;
    mfa multi factor authentication; mgmt management; ml machine learning; mri magnetic resonance imaging;
    nda non disclosure agreement; nlp natural language processing; oop object oriented programming;
    org organisation; os operating system; pic picture; pr pull request; pto paid time off; pwd password; py python;
    qa quality assurance; rag retrieval augmented generation; regex regular expression; repo repository;
    rfc request for comments; roi return on investment; seo search engine optimisation; ssd solid state drive;
    sso single sign on; stats statistics; tel telephone; tz time zone; ui user interface; uni university;
    univ university; ux user experience; vat value added tax; vm virtual machine; vpn virtual private network;
    vr virtual reality
    """
ABBREVIATIONS: Final[dict[str, str]] = {
    short: " ".join(phrase) for short, *phrase in (entry.split() for entry in _ABBREVIATIONS.split(";"))
}
"""Short forms that texts write out. Those that are words by now (ATM, GPS, PIN, TV) are left as they are."""

SYNONYMS: Final = tuple(
    tuple(word.strip() for word in group.split(","))
    for line in """
    buy, purchase, order, acquire | bill, invoice | tax, vat, duty | fee, charge, cost, price, rate
    lost, missing, stolen | broken, damaged, defective, faulty | delete, remove, erase, drop, purge
    cancel, stop, terminate, abort, revoke | change, modify, edit, update, adjust, alter
    error, fault, failure, problem, issue, bug, defect | crash, abort, exception, panic, segfault
    arrive, deliver, receive | send, transfer, dispatch, ship, forward | phone, mobile, telephone, cell
    laptop, notebook, computer | car, vehicle, automobile | wrong, incorrect, invalid, mistaken
    fail, decline, reject, refuse, deny | allow, permit, enable, grant, authorise, authorize
    start, begin, launch, boot, open | end, finish, close, complete | check, verify, confirm, validate, test
    assistance, support, service, help | fast, quick, rapid | slow, delay, late, latency, lag | pending, waiting, queued
    money, cash, funds | refund, reimbursement, chargeback | guide, tutorial, manual, handbook, howto
    meeting, session, event, appointment | doctor, physician | film, movie | job, position, vacancy, role
    house, home, flat, apartment | picture, photo, image, avatar | company, firm, business, enterprise
    child, children, kids | login, signin, logon, sign in, log in | logout, sign out, log out
    signup, register, registration, sign up, enrol, enroll | coupon, voucher, promo code, discount code
    throttle, throttling, rate limit, rate limiting | notification, toast, alert, banner, snackbar, message
    block, blocked, lock, locked, ban, banned, suspended, disabled | maternity, paternity, parental
    contract, agreement, treaty | salary, wage, pay, compensation, remuneration, payroll | sofa, couch, settee
    lorry, truck, van | tyre, tire | holiday, vacation, leave, time off | employee, staff, worker, personnel
    boss, manager, supervisor, head, lead | customer, client, buyer | seller, vendor, merchant, supplier
    dismiss, fire, lay off, terminate | resign, quit, leave | illness, sickness, sick, disease
    stock, inventory, warehouse | shop, store | cart, basket, trolley | checkout, payment | package, parcel, shipment
    postcode, zip code, postal code | address, location | city, town | street, road | rubbish, trash, garbage, waste
    backup, snapshot, copy | restore, recovery, recover | rollback, revert, undo | deploy, release, rollout, ship
    outage, downtime, incident, disruption | monitoring, observability, metrics | alarm, alert, page
    cache, buffer | queue, backlog | retry, backoff, attempt | timeout, deadline, expiry, ttl
    expire, expiry, expiration, lapse | secret, credential, password, token, key | encrypt, cipher, tls, ssl
    database, db, storage | schema, migration | index, lookup | config, configuration, settings, preferences, options
    container, docker, pod | cluster, kubernetes | server, host, machine, node | memory leak, oom, out of memory
    freeze, hang, stuck, unresponsive | blank, empty, white | button, control | menu, navigation, sidebar
    dialog, modal, popup | dropdown, select, combobox | upload, attach, attachment, import | download, export
    print, printer | screen, display, monitor | dark mode, night mode | font, typeface | colour, color
    language, locale, translation | currency, exchange rate | deposit, down payment, prepayment | debt, liability, loan
    profit, earnings, income, revenue | expense, expenditure, outlay, cost | budget, allowance
    warranty, guarantee | repair, fix, mend, maintenance | spare part, replacement | insurance, cover, coverage
    accident, crash, collision | theft, stolen, burglary, robbery | fuel, petrol, gas, diesel
    engine, motor | brake, braking | garage, workshop, depot | driver, chauffeur | trip, journey, tour, run, ride
    room, hall, venue | course, training, class, workshop | teacher, trainer, instructor, tutor | student, pupil
    exam, test | speech, talk, lecture, presentation | paper, article, publication | author, writer
    heart attack, myocardial infarction, cardiac arrest | high blood pressure, hypertension | medicine, drug, medication
    stroke, apoplexy | cancer, tumour, tumor, carcinoma | surgery, operation | kidney, renal | liver, hepatic
    rain, precipitation | cold, freezing | warm, hot, heat | heating, boiler, furnace | fridge, refrigerator
    curtain, drape, blind | cupboard, cabinet, wardrobe, closet | lamp, light | tap, faucet | lift, elevator
    autumn, fall | yearly, annual | monthly, per month | quick, express | gone, missing | free, gratis, complimentary
    two factor authentication, two-factor, 2fa, mfa, authenticator, one time code | rotate, rotation, rollover, renewal
    law, legal, statute | privacy, gdpr, data protection, personal data | rule, policy, guideline, regulation
    delay, postpone, defer, reschedule | approve, approved, accept, accepted, authorise | hire, recruit, recruitment
    discontinued, retired, withdrawn, deprecated, obsolete | active, enabled, live, current | inactive, disabled
    duplicate, double, twice, repeated | merge, combine, join, consolidate | split, separate, divide
    search, find, lookup | filter, narrow | sort, order, rank | list, overview, catalog
    """.splitlines()
    for group in line.split("|")
    if group.strip()
)
"""Words that one person writes and another person means. They are used only where the vocabulary has the other one."""

INTENTS: Final = tuple(
    (_words(cues), _words(signs))
    for cues, signs in (
        ("who whom whose person expert contact responsible", "people person staff team speaker author expert employee"),
        (
            "help support vendor provider consulting consultant agency supplier hire problem",
            "company companies vendor service services consulting provider supplier agency partner exhibitor",
        ),
        ("where place room location floor parking", "place places room venue location map building address"),
        ("when schedule agenda calendar", "schedule calendar agenda session event date"),
        ("how guide tutorial instruction step manual", "guide tutorial instruction documentation manual answer faq"),
        ("why error crash bug exception broken fail fault", "bug error issue problem incident ticket"),
        ("buy price cheap sale", "product article sale shop item price"),
        ("delivered shipped shipment parcel tracking ordered", "order delivery tracking shipping"),
        ("function method class code defined implemented", "function method class code source"),
    )
)
"""What a person's words ask for, and the words of a description that answer it. Compared by stem."""


# The words of a search: cut, compared, weighed.


_WORD = re.compile(r"[^\W_]+")
_QUOTES = re.compile('["“”„«»]')
_WRITTEN = re.compile(r"\w[-_./:]+\w|[a-z][A-Z]|[|*%\\\[\]<>=^$]")
CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_ENDINGS = (("ies", "y"), ("ied", "y"), ("sses", "ss"), ("ings", ""), ("ing", ""), ("ed", ""), ("s", ""))
_LONG = 4000  # characters read of one text; a message longer than that is a document, not a question


def fold(text: str) -> str:
    """Lower case, compatibility forms unified, accents off: `Jérôme` and `jerome` are one word."""
    if text.isascii():
        return text[:_LONG].lower()
    decomposed = unicodedata.normalize("NFKD", text[:_LONG]).casefold()
    return "".join(letter for letter in decomposed if not unicodedata.combining(letter))


@lru_cache(maxsize=2048)
def tokens(text: str) -> tuple[str, ...]:
    """All words of a text, folded, in order, as a full-text index cuts them."""
    return tuple(_WORD.findall(fold(text)))


def is_quoted(text: str) -> bool:
    return len(_QUOTES.findall(text)) > 1


def unquoted(text: str) -> str:
    return " ".join(_QUOTES.sub(" ", text).split())


@lru_cache(maxsize=4096)
def normalized(text: str) -> str:
    """Return a key that near-identical texts share: the same words in any order, however often.

    A quoted phrase keeps its order. A text with an identifier or an operator is its own key.
    """
    words = tokens(text)
    if _WRITTEN.search(text):
        return " ".join(text.split())
    return '"' + " ".join(words) + '"' if is_quoted(text) else " ".join(sorted(set(words)))


def name_parts(word: str) -> tuple[str, ...]:
    """The words inside `parseConfig` or `parse_config`; one word where there is nothing to part."""
    return tokens(CAMEL.sub(" ", word[:_LONG]))


@lru_cache(maxsize=65536)
def stem(word: str) -> str:
    """A word without its inflection. Rough: it only has to bring forms of one word together."""
    for ending, instead in _ENDINGS:
        bare = len(word) - len(ending)
        if word.endswith(ending) and bare + len(instead) >= 3 and not word.endswith(("ss", "us", "is")):
            word = word[:bare] + instead
            break
    if len(word) > 4 and word[-1] == word[-2] and word[-1] not in "ls":
        word = word[:-1]
    return word[:-1] if len(word) > 3 and word.endswith("e") else word


def other_number(word: str) -> str:
    """The plural of a singular and the other way round, by the common endings; short words are names or codes."""
    if len(word) < 4:
        return word
    for plural, singular in (("ies", "y"), ("ses", "s"), ("xes", "x"), ("ches", "ch"), ("shes", "sh"), ("s", "")):
        if word.endswith(plural) and not word.endswith(("ss", "us", "is")):
            return word.removesuffix(plural) + singular
    if word.endswith("y") and word[-2:-1] not in "aeiou":
        return word[:-1] + "ies"
    return word + ("es" if word.endswith(("s", "x", "ch", "sh")) else "s")


@lru_cache(maxsize=1024)
def content(text: str) -> tuple[str, ...]:
    """The words that say what is looked for, each once. A text of nothing but stop words keeps them all."""
    words = tuple(dict.fromkeys(tokens(text)))
    full = tuple(word for word in words if word not in STOP_WORDS and (len(word) > 1 or word.isdigit()))
    return tuple(word for word in full if word not in LIGHT_WORDS) or full or words


@lru_cache(maxsize=256)
def names(text: str) -> frozenset[str]:
    """Folded words written like names, codes or numbers: a capital inside the sentence, or a digit."""
    found: set[str] = set()
    for place, raw in enumerate(text[:_LONG].split()):
        bare = raw.strip("\"'“”„«».,;:!?()[]")
        if any(sign.isdigit() for sign in bare) or (bare[:1].isupper() and (place > 0 or bare[1:].isupper())):
            found.update(tokens(bare))
    return frozenset(found)


def telling(words: tuple[str, ...], context: str = "") -> tuple[str, ...]:
    """The words, most telling first: names and codes, then the long ones; ties keep their order.

    Length stands in for rarity, which nobody told us: in English the rare words are the long ones.
    """
    proper = names(context)
    return tuple(sorted(words, key=lambda word: (word not in proper, -len(word))))


def short_forms(text: str) -> tuple[str, ...]:
    """Short forms of phrases in the text: `ml` for `machine learning`."""
    line = " ".join(tokens(text))
    return tuple(short for short, phrase in ABBREVIATIONS.items() if " " in phrase and phrase in line)


def parts_of_names(text: str) -> tuple[str, ...]:
    """The words of the text with names of code taken apart."""
    return tuple(part for word in text.split() for part in name_parts(word))
