"""Slots: the places where choices are worked on, and what each last held."""

from dataclasses import dataclass

from llama.engine.cache import ROOT, Lora, root, shared_length
from llama.engine.request import Request
from llama.engine.sequence import Sequence

SIMILAR = 0.1  # llama-server's --slot-prompt-similarity: below this share of the prompt the oldest slot is taken


@dataclass(frozen=True, slots=True)
class SlotInfo:
    """A slot as /slots shows it. `request` is the last one served, None before the first."""

    id: int
    n_ctx: int
    is_processing: bool
    id_task: int
    request: Request | None
    n_prompt_tokens: int
    n_prompt_tokens_processed: int
    n_prompt_tokens_cache: int
    has_new_line: bool
    n_remain: int  # -1: no limit, or idle
    n_decoded: int
    prompt: tuple[int, ...]
    generated: tuple[int, ...]


class Slot:
    """One place. `tokens` is what the cache held for it when its last choice ended, read with the adapters `lora`."""

    __slots__ = ("id", "last_used", "lora", "sequence", "served", "task", "tokens")

    def __init__(self, id: int) -> None:
        self.id = id
        self.tokens: list[int] = []
        self.lora: Lora = ROOT
        self.sequence: Sequence | None = None
        self.served: Sequence | None = None
        self.task = -1
        self.last_used = 0.0

    def take(self, sequence: Sequence, task: int, now: float) -> None:
        """Let `sequence` work here."""
        self.sequence = self.served = sequence
        self.task, self.last_used = task, now

    def leave(self, tokens: list[int], lora: Lora, now: float) -> None:
        """The sequence is done, and the cache holds `tokens` of it, read with these adapters."""
        self.sequence, self.tokens, self.lora, self.last_used = None, tokens, lora, now

    def shares(self, sequence: Sequence) -> int:
        """How many first tokens of `sequence` this slot held, read with the same adapters."""
        return shared_length(self.tokens, sequence.tokens) if self.lora == root(sequence.request.lora) else 0

    def info(self, n_ctx: int) -> SlotInfo:
        """A picture of this moment; safe to take from another thread."""
        sequence, served = self.sequence, self.served
        writer = served.writer if served else None
        decoded = writer.n_tokens if writer and sequence else 0
        limit = served.request.n_predict if served and sequence else -1
        chain = served.chain if served else None
        read = min(chain.length, served.n_prompt) if chain and served else served.n_prompt if served else 0
        return SlotInfo(
            id=self.id,
            n_ctx=n_ctx,
            is_processing=sequence is not None,
            id_task=self.task,
            request=served.request if served else None,
            n_prompt_tokens=served.n_prompt if served else 0,
            n_prompt_tokens_processed=max(0, read - served.cache_n) if served else 0,
            n_prompt_tokens_cache=served.cache_n if served else 0,
            has_new_line=bool(writer and writer.has_new_line),
            n_remain=limit - decoded if limit >= 0 else -1,
            n_decoded=decoded,
            prompt=served.request.prompt if served else (),
            generated=tuple(served.tokens[served.n_prompt :]) if served else (),
        )


def choose(slots: list[Slot], sequence: Sequence) -> Slot | None:
    """The free slot for `sequence`: the one it names, the one that shares most with its prompt, the oldest."""
    if sequence.pinned:
        named = slots[sequence.request.id_slot % len(slots)]
        return named if named.sequence is None else None
    free = [slot for slot in slots if slot.sequence is None]
    if not free:
        return None
    best = max(free, key=lambda slot: slot.shares(sequence))
    if best.shares(sequence) > SIMILAR * len(sequence.tokens):
        return best
    return min(free, key=lambda slot: slot.last_used)
