"""Ask the sample agent, see where the answer comes from, and watch it decide."""

from tempfile import TemporaryDirectory

import dragoman

# `state` keeps this example's memory and dialogues out of your own; leave it out to keep them.
with TemporaryDirectory() as folder, dragoman.load("harbour", state=folder) as assistant:
    reply = assistant.ask("How long is the Cliff Path?")
    print(reply.text)
    for evidence in reply.evidence:
        print(f"  {evidence.relevance:.2f} {evidence.source}: {evidence.text[:60]}")

    # Piece by piece: notes as they are decided, the text as it is written, the reply last.
    print("\nIs it suitable for prams?")
    for piece in assistant.stream("Is it suitable for prams?"):
        if isinstance(piece, str):
            print(piece, end="", flush=True)
        elif isinstance(piece, dragoman.Reply):
            print(f"\n  {' > '.join(note.component for note in piece.trace)}, {piece.trace.seconds:.2f} s")
