"""Short words for the engine's tests: run requests in a loop without a thread, or in an engine with one."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from llama.engine import Engine, Handle
from llama.engine.loop import Limits, Loop
from llama.engine.metrics import Metrics
from llama.engine.request import Event, Failed, Finished, PromptScored, Request, Token
from llama.engine.sequence import Sequence as Choice
from llama.sampling import SamplingParams
from tests.fakes import ByteVocab, HistoryModel, loaded, lora_seed, noise

GREEDY = SamplingParams(temperature=0)
END_IDS = ByteVocab().eog


@dataclass
class Answer:
    """The fold of one choice's events."""

    text: str = ""
    ids: list[int] = field(default_factory=list)
    tokens: list[Token] = field(default_factory=list)
    finished: Finished | None = None
    scored: PromptScored | None = None

    @property
    def end(self) -> Finished:
        assert self.finished is not None
        return self.finished


def fold(events: Sequence[Event]) -> list[Answer]:
    """The answers, one a choice. Raises the error of a failed request."""
    answers: dict[int, Answer] = {}
    for event in events:
        if isinstance(event, Failed):
            raise event.error
        answer = answers.setdefault(event.index, Answer())
        assert answer.finished is None, "an event after Finished"
        if isinstance(event, Token):
            answer.tokens.append(event)
            answer.ids.append(event.id)
            answer.text += event.text
        elif isinstance(event, Finished):
            answer.finished = event
            answer.text += event.text
            answer.ids += [event.stop_token] if event.stop_token is not None else []
        elif isinstance(event, PromptScored):
            answer.scored = event
    return [answers[index] for index in sorted(answers)]


class Driver:
    """A loop that is stepped by hand."""

    def __init__(self, model: HistoryModel, **limits: int | bool) -> None:
        sizes = {"n_slots": 3, "n_ctx": 64, "n_cells": 64, "n_batch": 16} | limits
        self.metrics = Metrics()
        self.loop = Loop(loaded(model), Limits(**sizes), self.metrics)  # type: ignore[arg-type]
        self.handles: list[Handle] = []

    def submit(self, request: Request) -> Handle:
        handle = Handle(request, lambda: None)
        choices = [Choice(request, index, handle, self.loop.loaded) for index in range(request.n)]
        for choice in choices[1:]:
            choice.leader = choices[0]
        self.loop.add(choices)
        self.handles.append(handle)
        return handle

    def run(self, most: int = 5000) -> None:
        """Step until nothing is left to do."""
        for _ in range(most):
            self.loop.step()
            if not self.loop.busy:
                return
        raise AssertionError("the loop does not come to an end")

    def answer(self, request: Request) -> Answer:
        """Run one request of one choice to its end."""
        handle = self.submit(request)
        self.run()
        return fold(events_of(handle))[0]


def events_of(handle: Handle) -> list[Event]:
    """All events that are there."""
    events = []
    while (event := handle.events(timeout=0)) is not None:
        events.append(event)
    return events


def lone(prompt: Sequence[int], n: int, n_vocab: int = ByteVocab().n_vocab, lora: Sequence[float] = ()) -> list[int]:
    """What HashModel says greedily to `prompt`, by definition: no cache, no batch."""
    seed = [lora_seed(lora)] if any(lora) else []
    history = [*seed, *prompt]
    for _ in range(n):
        history.append(int(noise(history, n_vocab).argmax()))
        if history[-1] in END_IDS:
            break
    return history[len(seed) + len(prompt) :]


@contextmanager
def running(model: HistoryModel, **options: object) -> Iterator[Engine]:
    """An engine that is ready, stopped at the end."""
    engine = Engine(lambda: loaded(model), **options)  # type: ignore[arg-type]
    try:
        assert engine.wait_until_ready(10)
        yield engine
    finally:
        engine.stop()


def ask(engine: Engine, request: Request) -> Answer:
    """Run one request of one choice in an engine."""
    return fold(list(engine.submit(request)))[0]
