"""Words under which a fact is searched besides its own: "what do I do for a living?" must find "I work as a nurse"."""

from __future__ import annotations

from collections.abc import Mapping

_HINTS: Mapping[str, tuple[str, str]] = {
    "name": ("my name, who I am, what I am called", "我的名字，我叫什么，我是谁"),
    "home": ("where I live, my home, town, city", "我住在哪里，我的家，住址，城市"),
    "origin": ("where I come from, where I was born", "我来自哪里，老家，我是哪里人"),
    "job": ("my work, job, profession, what I do for a living", "我的工作，职业，我做什么"),
    "age": ("how old I am, my age", "我几岁，我多大，年龄"),
    "birthday": ("when my birthday is, when I was born", "我的生日，什么时候出生"),
    "diet": ("what I eat, my diet, food", "我吃什么，饮食"),
    "avoids": ("what I do not eat or drink, my diet, food", "我不吃什么，忌口，饮食"),
    "allergy": ("what I am allergic to, what I cannot eat, allergies, food", "我对什么过敏，我不能吃什么，忌口"),
    "likes": ("what I like, love, enjoy", "我喜欢什么，爱好"),
    "dislikes": ("what I dislike, hate, do not like", "我不喜欢什么，讨厌什么"),
    "favourite": ("my favourite, what I like best", "我最喜欢什么"),
    "pet": ("my pet, animal", "我的宠物，养了什么动物"),
    "family": ("my family, children, siblings", "我的家人，孩子，兄弟姐妹"),
    "language": ("languages I speak", "我会说什么语言"),
    "hobby": ("my hobby, what I do in my free time", "我的爱好，平时做什么"),
    "marital status": ("am I married, my partner", "我结婚了吗"),
}
_PETS = frozenset("dog cat parrot horse rabbit terrier puppy kitten pony hamster 狗 猫".split())
_FAMILY = frozenset("sister brother wife husband mother father daughter son partner 妹妹 姐姐 哥哥 弟弟 女儿 儿子".split())


def hints(slot: str, *, chinese: bool) -> str:
    """The words a question about a slot would use; none where the slot is already named by the fact itself."""
    base = slot.rstrip("!")
    if base not in _HINTS:
        words = base.replace("'s", "").split()
        if _PETS.intersection(words):
            base = "pet"
        elif _FAMILY.intersection(words):
            base = "family"
        elif words[:1] == ["favourite"]:
            base = "favourite"
    english, zh = _HINTS.get(base, ("", ""))
    return zh if chinese else english
