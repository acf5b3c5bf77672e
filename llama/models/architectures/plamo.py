"""PLaMo 1 to 3: attention and network side by side (1), Mamba layers (2), windows (3)."""

from functools import partial

from llama.kernels.graph import Graph, Value
from llama.models.blocks import decoder, gated_ffn, grouped_attention, parallel_block, sequential_block
from llama.models.blocks.latent import part_of_heads
from llama.models.blocks.mamba import convolved, head_vector
from llama.models.hparams import HParams
from llama.models.layer import Layer
from llama.models.registry import architecture
from llama.models.rope import HALVES, make_rope
from llama.models.weights import Weights
from llama.models.windows import windows


@architecture("plamo")
def plamo(g: Graph, h: HParams, w: Weights) -> None:
    """Both parts read one norm; the whole head rotates."""
    attention = partial(grouped_attention, rope=make_rope(h, w, HALVES, n_rot=h.head_k, factors=False))
    decoder(g, h, w, parallel_block(attention, gated_ffn))


@architecture("plamo3")
def plamo3(g: Graph, h: HParams, w: Weights) -> None:
    """Seven windowed layers, then a full one. The norms after each part have no ".weight" in their names."""
    full = make_rope(h, w, HALVES, factors=False)
    base = h.keys.number("rope.freq_base_swa", 10000.0)
    near = make_rope(h, w, HALVES, base=base, scaled=False, factors=False)
    sizes = windows(h, 8)

    def attention(layer: Layer, x: Value) -> Value:
        window = sizes[layer.il]
        return grouped_attention(layer, x, rope=near if window else full, window=window)

    decoder(g, h, w, sequential_block(attention, gated_ffn))


@architecture("plamo2")
def plamo2(g: Graph, h: HParams, w: Weights) -> None:
    """A layer without key heads is a state space. Several norms have no ".weight" in their names."""
    rope = make_rope(h, w, HALVES, factors=False)

    def mixer(layer: Layer, x: Value) -> Value:
        if layer.n_head_kv:
            return grouped_attention(layer, x, rope=rope, scale=h.head_v**-0.5)
        return plamo2_mamba(layer, x)

    decoder(g, h, w, sequential_block(mixer, gated_ffn))


def plamo2_mamba(layer: Layer, x: Value) -> Value:
    """One decay a head as in Mamba 2, but B, C and the step come from the convolved input as in Mamba 1."""
    g, keys, w = layer.g, layer.h.keys, layer.w
    inner, n_state = keys.integer("ssm.inner_size"), keys.integer("ssm.state_size")
    n_head = keys.integer("ssm.time_step_rank")
    head = inner // n_head
    both = layer.linear(x, "ssm_in", 2 * inner)
    z = g.gather(both, part_of_heads(n_head, 2 * head, 0, head))
    u = convolved(layer, g.gather(both, part_of_heads(n_head, 2 * head, head, head)), keys.integer("ssm.conv_kernel"))
    b, c, dt = layer.split_linear(u, "ssm_x", n_state, n_state, max(64, layer.h.n_embd // 16))
    b, c, dt = layer.norm(b, "ssm_b_norm"), layer.norm(c, "ssm_c_norm"), layer.norm(dt, "ssm_dt_norm")
    dt = g.unary(layer.linear(dt, "ssm_dt", n_head), "softplus")
    y = g.ssm_scan(u, dt, b, c, w.need("ssm_a", n_head), g.state(inner * n_state), head=head, n_state=n_state)
    y = g.add(y, g.mul(u, head_vector(layer, u, "ssm_d", n_head)))
    return layer.linear(g.gate(z, y, "silu"), "ssm_out", layer.h.n_embd)
