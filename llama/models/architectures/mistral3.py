"""Mistral 3 (Ministral): llama whose queries grow warmer with the position."""

from functools import partial

from llama.kernels.graph import Graph, Value
from llama.models.blocks import attend, decoder, dense_or_experts, qkv, sequential_block
from llama.models.blocks.attention import temperature
from llama.models.hparams import HParams
from llama.models.layer import Layer
from llama.models.registry import architecture
from llama.models.rope import NEIGHBOURS, make_rope, original_context
from llama.models.weights import Weights


@architecture("mistral3")
def mistral3(g: Graph, h: HParams, w: Weights) -> None:
    """YaRN with betas and a log multiplier from the metadata."""
    number = h.keys.number
    betas = number("rope.scaling.yarn_beta_fast", 32.0), number("rope.scaling.yarn_beta_slow", 1.0)
    multiplier = number("rope.scaling.yarn_log_multiplier", 0.0)
    rope = make_rope(h, w, NEIGHBOURS, betas=betas, log_multiplier=multiplier)
    warmth = number("attention.temperature_scale", 0.0)

    def attention(layer: Layer, x: Value) -> Value:
        q, k, v = qkv(layer, x)
        q, k = g.rope(q, rope), g.rope(k, rope)
        if warmth:
            q = temperature(layer, q, scale=warmth, length=original_context(h), offset=0.0)
        return layer.linear(attend(layer, q, k, v), "attn_output", h.n_embd)

    ffn = partial(dense_or_experts, gate="softmax", normalise=True, own_width=False)
    decoder(g, h, w, sequential_block(attention, ffn))
