"""Five stub steps as a LlamaIndex workflow; its types are read when the class is made, so this is a module."""

from llama_index.core.workflow import Event, StartEvent, StopEvent, Workflow, step


class Two(Event):
    turn: str


class Three(Event):
    turn: str


class Four(Event):
    turn: str


class Five(Event):
    turn: str


class FiveSteps(Workflow):
    """Passes a turn through five steps."""

    @step
    async def one(self, ev: StartEvent) -> Two:
        return Two(turn=ev.turn)

    @step
    async def two(self, ev: Two) -> Three:
        return Three(turn=ev.turn)

    @step
    async def three(self, ev: Three) -> Four:
        return Four(turn=ev.turn)

    @step
    async def four(self, ev: Four) -> Five:
        return Five(turn=ev.turn)

    @step
    async def five(self, ev: Five) -> StopEvent:
        return StopEvent(result=ev.turn)
