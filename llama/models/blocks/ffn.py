"""Feed-forward networks."""

from llama.kernels.graph import Unary, Value
from llama.models.layer import Layer


def gated_ffn(layer: Layer, x: Value, act: Unary = "silu", n_ff: int | None = None, suffix: str = "") -> Value:
    """down(act(gate(x)) * up(x)). Where the gate's matrix is missing, ffn_up holds the gate's rows, then up's."""
    n_ff = n_ff or layer.n_ff
    if layer.w.has(f"ffn_gate{suffix}.weight"):
        gate = layer.linear(x, f"ffn_gate{suffix}", n_ff)
        up = layer.linear(x, f"ffn_up{suffix}", n_ff)
    else:
        gate, up = layer.split_linear(x, f"ffn_up{suffix}", n_ff, n_ff)
    return layer.linear(layer.g.gate(gate, up, act), f"ffn_down{suffix}", layer.h.n_embd)


def plain_ffn(layer: Layer, x: Value, act: Unary = "gelu", n_ff: int | None = None, suffix: str = "") -> Value:
    """down(act(up(x)))."""
    up = layer.linear(x, f"ffn_up{suffix}", n_ff or layer.n_ff)
    return layer.linear(layer.g.unary(up, act), f"ffn_down{suffix}", layer.h.n_embd)


def feed_forward(layer: Layer, x: Value, act: Unary = "silu") -> Value:
    """Gated if the file has a gate, else plain."""
    return gated_ffn(layer, x, act) if layer.w.has("ffn_gate.weight") else plain_ffn(layer, x, act)
