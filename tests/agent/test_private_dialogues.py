"""Private dialogues: held for a while, for few users, in memory alone."""

from __future__ import annotations

from dragoman.agent.private_dialogues import MOST_TURNS, PrivateDialogues
from dragoman.core.values import Scope, Turn

ANA, TOM = Scope("local", "ana"), Scope("local", "tom")


def test_turns_are_kept_apart_by_user_and_dialogue_and_dropped_by_either():
    held = PrivateDialogues()
    held.add(ANA, "a", [Turn("user", "one")])
    held.add(ANA, "b", [Turn("user", "two")])
    held.add(TOM, "a", [Turn("user", "three")])
    assert held.turns(ANA, "a") == (Turn("user", "one"),)
    assert held.drop(ANA, "a") == 1 and held.turns(ANA, "a") == ()
    assert held.drop(ANA) == 1 and len(held) == 1


def test_idle_dialogues_and_the_oldest_of_too_many_go():
    now = [0.0]
    held = PrivateDialogues(seconds=10.0, most=2, clock=lambda: now[0])
    held.add(ANA, "a", [Turn("user", "one")])
    now[0] = 5.0
    held.add(ANA, "b", [Turn("user", "two")])
    now[0] = 11.0
    assert held.turns(ANA, "a") == () and held.turns(ANA, "b")
    for name in ("c", "d"):
        held.add(ANA, name, [Turn("user", name)])
    assert len(held) == 2 and held.turns(ANA, "b") == ()


def test_of_a_long_dialogue_the_newest_turns_are_held():
    held = PrivateDialogues()
    for number in range(MOST_TURNS + 5):
        held.add(ANA, "a", [Turn("user", str(number))])
    assert [turn.text for turn in held.turns(ANA, "a")][::63] == ["5", str(MOST_TURNS + 4)]
