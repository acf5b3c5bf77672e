"""The pre-tokenizers that a GGUF can name in `tokenizer.ggml.pre`, with what each says of its vocabulary besides."""

from dataclasses import dataclass

from llama.errors import ModelFileError
from llama.tokenizer import patterns
from llama.tokenizer.pretokenizer import Stage, digit_threes, over_han, over_plain, over_shadow, thousands


@dataclass(frozen=True, kw_only=True)
class PreTokenizer:
    """How byte-pair vocabularies of one family treat text; `bytewise` ones spell each byte as a printable character."""

    stages: tuple[Stage, ...]
    bytewise: bool = True
    ignore_merges: bool = False  # a word that is a token is that token
    whole_newlines: bool = False  # a run of newlines that is a token is that token
    escape_blanks: bool = False
    clean_spaces: bool = False
    add_bos: bool = False
    always_bos: bool = False
    add_sep: bool = False
    no_bos: bool = False


_GPT2 = over_shadow(patterns.GPT2)
_LLAMA3 = over_shadow(patterns.LLAMA3)
_QWEN2 = over_shadow(patterns.QWEN2)
_NUMBER = over_shadow(f"[{patterns.N}]")
_NUMBERS = over_shadow(f"[{patterns.N}]+")
_UP_TO_THREE = over_shadow(f"[{patterns.N}]{{1,3}}")
_NEWLINES = over_plain(r"[^\n]+|[\n]+")
_HAN_KANA = over_plain(patterns.HAN_KANA)

_gpt2 = PreTokenizer(stages=(_GPT2,), clean_spaces=True)
_gpt2_exact = PreTokenizer(stages=(_GPT2,))
_gpt2_sep = PreTokenizer(stages=(_GPT2,), clean_spaces=True, add_sep=True)
_starcoder = PreTokenizer(stages=(_NUMBER, _GPT2), clean_spaces=True)
_starcoder_exact = PreTokenizer(stages=(_NUMBER, _GPT2))
_llama3 = PreTokenizer(stages=(_LLAMA3,), clean_spaces=True, ignore_merges=True, add_bos=True)
_dbrx = PreTokenizer(stages=(_LLAMA3,), clean_spaces=True)
_qwen2 = PreTokenizer(stages=(_QWEN2,))
_deepseek3 = PreTokenizer(stages=(_UP_TO_THREE, _HAN_KANA, over_shadow(patterns.DEEPSEEK3)))
_bloom = PreTokenizer(stages=(over_plain(patterns.BLOOM),), clean_spaces=True)
_gpt4o = PreTokenizer(stages=(over_shadow(patterns.GPT4O),))
_tiny_aya = PreTokenizer(stages=(thousands, over_shadow(patterns.TINY_AYA)))
_bailingmoe = PreTokenizer(stages=(over_shadow(patterns.BAILINGMOE),))
_gemma4 = PreTokenizer(
    stages=(_NEWLINES,),
    bytewise=False,
    whole_newlines=True,
    escape_blanks=True,
    clean_spaces=True,
    always_bos=True,
)
_default = PreTokenizer(
    stages=(over_shadow(patterns.DEFAULT_SIGNS), _GPT2, _NUMBERS, over_plain("[0-9][0-9][0-9]")), clean_spaces=True
)

PRE_TOKENIZERS: dict[str, PreTokenizer] = {
    "": _default,
    "default": _default,
    "minicpm5": PreTokenizer(
        stages=(_UP_TO_THREE, over_shadow(patterns.MINICPM5)), clean_spaces=True, ignore_merges=True
    ),
    **dict.fromkeys(
        ("llama3", "llama-v3", "llama-bpe", "falcon3", "falcon-h1", "pixtral", "midm-2.0", "lfm2", "jina-v5-nano"),
        _llama3,
    ),
    "deepseek-llm": PreTokenizer(
        stages=(
            over_plain(r"[\r\n]"),
            over_plain(patterns.DEEPSEEK_LETTERS),
            over_plain(patterns.DEEPSEEK_SIGNS),
            over_plain(r"\s+\Z"),
            over_plain(patterns.EAST_ASIAN),
            _NUMBERS,
        )
    ),
    "deepseek-coder": PreTokenizer(
        stages=(
            over_plain(r"[\r\n]"),
            over_shadow(rf"\s?[{patterns.L}]+"),
            over_shadow(rf"\s?[{patterns.P}]+"),
            over_plain(patterns.EAST_ASIAN),
            _NUMBER,
        )
    ),
    **dict.fromkeys(("deepseek-v3", "hunyuan-dense", "hy_v4", "joyai-llm"), _deepseek3),
    "spark2_5": PreTokenizer(stages=(_UP_TO_THREE, _HAN_KANA, over_shadow(patterns.SPARK), _NUMBER)),
    "youtu": PreTokenizer(stages=(over_plain(patterns.YOUTU_SCRIPTS), over_shadow(patterns.YOUTU)), ignore_merges=True),
    "falcon": PreTokenizer(
        stages=(over_shadow(patterns.FALCON_SIGNS), _GPT2, over_plain("[0-9][0-9][0-9]")), clean_spaces=True
    ),
    **dict.fromkeys(
        (
            *("mpt", "olmo", "jais", "gpt-2", "phi-2", "jina-es", "jina-de", "gigachat", "jina-v2-es", "jina-v2-de"),
            *("a.x-4.0", "mellum", "modern-bert", "exaone4"),
        ),
        _gpt2,
    ),
    **dict.fromkeys(("trillion", "granite-docling"), _gpt2_exact),
    **dict.fromkeys(("jina-v1-en", "jina-v2-code", "roberta-bpe"), _gpt2_sep),
    **dict.fromkeys(("starcoder", "refact", "codeshell", "exaone", "minerva-7b", "mellum2"), _starcoder),
    **dict.fromkeys(("command-r", "smollm"), _starcoder_exact),
    "jais-2": PreTokenizer(stages=(over_shadow(patterns.JAIS2),), clean_spaces=True),
    **dict.fromkeys(("gemma4", "granite-embed-multi-311m"), _gemma4),
    "sarvam-moe": PreTokenizer(stages=(_NEWLINES,), bytewise=False, escape_blanks=True),
    "whitespace": PreTokenizer(stages=(over_plain(r"\S+"),), bytewise=False, clean_spaces=True),
    **dict.fromkeys(("qwen2", "deepseek-r1-qwen", "kormo", "f2llmv2", "hunyuan", "grok-2", "solar-open"), _qwen2),
    **dict.fromkeys(("stablelm2", "megrez"), PreTokenizer(stages=(_QWEN2,), clean_spaces=True)),
    "qwen35": PreTokenizer(stages=(over_shadow(patterns.QWEN35),)),
    **dict.fromkeys(("dbrx", "smaug-bpe"), _dbrx),
    "chatglm-bpe": PreTokenizer(stages=(_LLAMA3,), clean_spaces=True, no_bos=True),
    **dict.fromkeys(
        ("glm4", "glm5"), PreTokenizer(stages=(_LLAMA3,), clean_spaces=True, no_bos=True, ignore_merges=True)
    ),
    **dict.fromkeys(("bloom", "gpt3-finnish"), _bloom),
    "poro-chat": PreTokenizer(stages=(over_plain(patterns.BLOOM),)),
    "viking": PreTokenizer(stages=(over_plain(patterns.BLOOM), _NUMBER)),
    "tekken": PreTokenizer(stages=(over_shadow(patterns.TEKKEN),), ignore_merges=True, add_bos=True),
    "chameleon": PreTokenizer(
        stages=(
            over_plain("<sentinel:[0-9]+>"),
            over_plain("IMGIMG[A-I]{1,4}Z"),
            over_plain(r"[\t\n]|    |  "),
            _NUMBER,
            over_shadow(patterns.CHAMELEON_SIGN),
            _GPT2,
        ),
        add_bos=True,
    ),
    **dict.fromkeys(("gpt-4o", "llama4", "kanana2", "talkie", "minimax-m2"), _gpt4o),
    "granite-embed-multi-97m": PreTokenizer(stages=(over_shadow(patterns.GRANITE_EMBED),), ignore_merges=True),
    **dict.fromkeys(("tiny_aya", "cohere2moe"), _tiny_aya),
    "superbpe": PreTokenizer(stages=(_NUMBERS, digit_threes)),
    **dict.fromkeys(("bailingmoe", "bailingmoe2", "llada-moe"), _bailingmoe),
    "seed-coder": PreTokenizer(stages=(over_shadow(patterns.SEED_CODER),)),
    "kimi-k2": PreTokenizer(stages=(over_han(patterns.KIMI),)),
    "ufakzeka": PreTokenizer(stages=(over_shadow(patterns.UFAKZEKA),)),
    "afmoe": PreTokenizer(stages=(thousands, over_plain(patterns.AFMOE_SCRIPTS), over_shadow(patterns.DEEPSEEK3))),
    "laguna": PreTokenizer(stages=(_NEWLINES, _QWEN2)),
    "exaone-moe": PreTokenizer(stages=(over_shadow(patterns.EXAONE_MOE),), clean_spaces=True),
}


def pre_tokenizer(name: str) -> PreTokenizer:
    """The pre-tokenizer called `name`; an unknown name is refused: a guess would give wrong ids in silence."""
    if name not in PRE_TOKENIZERS:
        known = ", ".join(sorted(filter(None, PRE_TOKENIZERS)))
        raise ModelFileError(
            f'unknown pre-tokenizer: "tokenizer.ggml.pre" is {name!r}; known are {known}. '
            f'Convert the model anew with one of these, or with "default"'
        )
    return PRE_TOKENIZERS[name]
