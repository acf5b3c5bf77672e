"""Qwen 3.5 and Qwen 3 Next, dense and with experts: three delta-net layers, then gated attention."""

from llama.kernels.graph import Graph, Value
from llama.models.blocks import decoder, experts, gated_ffn, routing, sequential_block, shared_expert
from llama.models.blocks.delta import delta_net, gated_attention, recurrent_layers
from llama.models.hparams import HParams
from llama.models.layer import Layer
from llama.models.registry import architecture
from llama.models.rope import HALVES, make_rope
from llama.models.weights import Weights


@architecture("qwen35", "qwen35moe", "qwen3next")
def qwen35(g: Graph, h: HParams, w: Weights) -> None:
    """post_attention_norm is the norm before the network. On text the three rotation sections are one."""
    rope, recurrent = (
        make_rope(h, w, HALVES, factors=False, sections="interleaved" if h.architecture != "qwen3next" else ""),
        recurrent_layers(h),
    )

    def mixer(layer: Layer, x: Value) -> Value:
        return delta_net(layer, x) if recurrent[layer.il] else gated_attention(layer, x, rope=rope)

    decoder(g, h, w, sequential_block(mixer, qwen35_ffn, ffn_norm="post_attention_norm"))


def qwen35_ffn(layer: Layer, x: Value) -> Value:
    """A gated network, or renormalised experts with a shared one behind a sigmoid."""
    if not layer.w.has("ffn_gate_inp.weight"):
        return gated_ffn(layer, x)
    out = experts(layer, x, routing(layer, "softmax", normalise=True))
    if layer.w.has("ffn_up_shexp.weight"):
        out = layer.g.add(out, shared_expert(layer, x))
    return out
