"""Two users of one agent: what each tells is remembered, corrected, forgotten, and never told to the other."""

from tempfile import TemporaryDirectory

import dragoman

with TemporaryDirectory() as folder, dragoman.load("harbour", state=folder) as assistant:
    print("eva:", assistant.ask("I live in Lund and I am vegetarian.", user="eva").text)
    print("ivo:", assistant.ask("Where do I live?", user="ivo").text)
    print("eva:", assistant.ask("Where do I live?", user="eva").text)
    print("eva:", assistant.ask("I moved to Bergen.", user="eva").text)

    learned = assistant.remember("I have a dog called Bruno.", user="eva")
    print("remembered:", [fact.text for fact in learned.added])
    print("forgotten:", assistant.forget("dog", user="eva"))
    print("left:", [fact.text for fact in assistant.recall(user="eva")])
    print("everything of eva's:", assistant.forget(user="eva"), "rows")
