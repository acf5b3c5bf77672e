"""DeepSeek V2, V3 and R1, Kimi K2 and others: latent attention, experts in groups next to a shared one."""

import math
from functools import partial

from llama.kernels.graph import Graph, Value
from llama.models.blocks import decoder, experts, gated_ffn, routing, sequential_block, shared_expert
from llama.models.blocks.latent import latent_attention
from llama.models.hparams import HParams
from llama.models.layer import Layer
from llama.models.registry import architecture
from llama.models.rope import NEIGHBOURS, make_rope, scaling
from llama.models.weights import Weights


@architecture("deepseek2", "mistral4")
def deepseek2(g: Graph, h: HParams, w: Weights) -> None:
    """Scores are scaled by mscale^2 / sqrt(head); with a log multiplier cosine and sine keep magnitude 1."""
    head = h.keys.integer("attention.key_length_mla", 0) or h.head_k
    head_v = h.keys.integer("attention.value_length_mla", 0) or h.head_v
    log_multiplier = h.keys.number("rope.scaling.yarn_log_multiplier", 0.0) / 0.1
    plain = partial(
        make_rope, h, w, NEIGHBOURS, factors=False, log_multiplier=log_multiplier, unit=h.architecture == "deepseek2"
    )
    rope = plain(head=head, last=True)
    kind, factor = scaling(h.keys)
    stretched = math.log(factor)
    magnitude = rope.magnitude if kind == "yarn" else rope.magnitude * (1 + 0.1 * stretched)
    mscale = magnitude * (1 + 0.1 * log_multiplier * stretched)
    warm = h.keys.number("attention.temperature_scale", 0.0)
    attention = partial(
        latent_attention,
        rope=rope,
        key_rope=plain(head=h.n_rot),
        head_v=head_v,
        scale=mscale**2 / math.sqrt(head),
        warmth=(warm, h.keys.integer("attention.temperature_length", 0) or h.n_ctx_train) if warm else None,
    )
    decoder(g, h, w, sequential_block(attention, deepseek_ffn))


def deepseek_ffn(layer: Layer, x: Value) -> Value:
    """A gated network in the leading layers, then experts. GLM 4.7 Flash files omit that their gate is a sigmoid."""
    if not layer.w.has("ffn_gate_inp.weight"):
        return gated_ffn(layer, x)
    h = layer.h
    sigmoid = h.keys.integer("expert_gating_func", 0) == 0 and h.n_layer in (47, 48) and h.n_vocab == 154880
    normalise = h.keys.flag("expert_weights_norm", False)
    route = routing(layer, "sigmoid" if sigmoid else None, normalise=normalise)
    return layer.g.add(experts(layer, x, route), shared_expert(layer, x))
