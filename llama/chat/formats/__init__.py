"""This package turns a template's text into the format its model writes: one row a family, most special first."""

from llama.chat.format import THINK, ChatFormat, Thought
from llama.chat.formats import (
    apertus,
    apriel,
    command_r,
    deepseek,
    firefunction,
    functionary,
    gemma,
    generic,
    gigachat,
    glm,
    granite,
    harmony,
    hermes,
    hunyuan,
    kimi,
    lfm,
    llama3,
    minicpm,
    minimax,
    mistral,
    muse,
    nemotron,
    qwen_coder,
    seed,
    solar,
)

FORMATS: tuple[ChatFormat, ...] = (
    harmony.FORMAT,
    muse.FORMAT,
    minimax.M3,
    solar.FORMAT,
    minicpm.FORMAT,
    hunyuan.FORMAT,
    functionary.V3_2,
    firefunction.FORMAT,
    kimi.K2,
    kimi.K3,
    deepseek.V3_2,
    deepseek.V4,
    deepseek.R1,
    deepseek.V3_1,
    command_r.R7B,
    command_r.R_PLUS,
    mistral.SMALL,
    mistral.DEVSTRAL,
    mistral.NEMO,
    gemma.FORMAT,
    granite.V4_1,
    granite.V3,
    nemotron.FORMAT,
    apertus.FORMAT,
    apriel.V1_6,
    apriel.V1_5,
    gigachat.V3_1,
    gigachat.V3,
    lfm.FORMAT,
    minimax.M2,
    seed.FORMAT,
    glm.FORMAT,
    qwen_coder.FORMAT,
    hermes.FORMAT,
    functionary.V3_1,
    minimax.M1,
    llama3.FORMAT,
)
THOUGHTS: tuple[Thought, ...] = (
    Thought("<|START_THINKING|>", "<|END_THINKING|>"),
    Thought("<seed:think>", "</seed:think>"),
    Thought("<mm:think>", "</mm:think>"),
    Thought("[THINK]", "[/THINK]"),
    Thought("<|inner_prefix|>", "<|inner_suffix|>"),
    Thought("<|channel>thought", "<channel|>"),
    Thought("<thinking>", "</thinking>"),
    Thought("<reasoning>", "</reasoning>"),
    THINK,
)


def format_of(template: str) -> ChatFormat:
    """The format that the model behind this template writes; the generic one if the template knows no tools."""
    return next((format for format in FORMATS if format.recognise(template)), generic.FORMAT)


def thought_of(template: str, format: ChatFormat) -> Thought:
    """The markers of a thought: the family's, or those in the template, or else <think>."""
    known = (thought for thought in THOUGHTS if thought.end in template and thought.start in template)
    return format.thought or next(known, THINK)


def may_think(template: str, format: ChatFormat) -> bool:
    """True if the template shows that its model writes thoughts."""
    return thought_of(template, format).end in template or format.thought is not None
