"""Roles of people and animals: which words name the same one, and which pronoun can mean it."""

from __future__ import annotations

_SAME = {
    "boy": "son",
    "lad": "son",
    "girl": "daughter",
    "lass": "daughter",
    "kid": "child",
    "toddler": "child",
    "mum": "mother",
    "mom": "mother",
    "mam": "mother",
    "mama": "mother",
    "dad": "father",
    "papa": "father",
    "grandma": "grandmother",
    "granny": "grandmother",
    "nan": "grandmother",
    "grandpa": "grandfather",
    "hubby": "husband",
    "missus": "wife",
    "puppy": "dog",
    "pup": "dog",
    "kitten": "cat",
    "kids": "children",
    "boys": "sons",
    "girls": "daughters",
    "neighbor": "neighbour",
}
_ONE = {
    "kids": "child",
    "children": "child",
    "boys": "son",
    "girls": "daughter",
    "grandchildren": "grandchild",
    "grandkids": "grandchild",
    "babies": "baby",
    "puppies": "puppy",
    "ponies": "pony",
}
_MALE = frozenset(
    "son brother husband father grandfather grandson nephew uncle boyfriend stepson stepfather godson "
    "father-in-law brother-in-law landlord".split()
)
_FEMALE = frozenset(
    "daughter sister wife mother grandmother granddaughter niece aunt girlfriend stepdaughter stepmother goddaughter "
    "mother-in-law sister-in-law landlady".split()
)

_OCCUPATIONS = frozenset(
    "nurse doctor teacher student baker farmer driver engineer lawyer carpenter plumber painter waiter "
    "waitress cook chef butcher gardener hairdresser secretary accountant architect dentist electrician "
    "journalist photographer musician singer writer actor actress soldier pilot fisherman fireman "
    "policeman firefighter receptionist programmer scientist translator librarian mechanic builder tailor "
    "cleaner cashier manager designer researcher pharmacist midwife vet psychologist physiotherapist "
    "social-worker pensioner housewife au-pair".split()
)


def canonical(role: str) -> str:
    """One word for all that name a role: "mum" and "mother" are the same person."""
    return _SAME.get(role, role)


def singular(role: str) -> str:
    """The role of one of several: "kids" are each a child."""
    return _ONE.get(role, role.removesuffix("s"))


def fits(role: str, pronoun: str) -> bool:
    """Whether "he" or "she" can mean somebody of a role; a friend or a dog can be either."""
    base = canonical(role)
    return base not in (_FEMALE if pronoun == "he" else _MALE)


def is_occupation(word: str) -> bool:
    """Whether a word without a capital names what somebody does, and not who they are: "I am baker"."""
    return word in _OCCUPATIONS
