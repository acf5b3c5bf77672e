"""GLM 4: half of each head rotates; norms after attention and network too; gate and up fused."""

from functools import partial

from llama.kernels.graph import Graph
from llama.models.blocks import decoder, gated_ffn, grouped_attention, sequential_block
from llama.models.hparams import HParams
from llama.models.registry import architecture
from llama.models.rope import HALVES, NEIGHBOURS, make_rope
from llama.models.weights import Weights


@architecture("glm4")
def glm4(g: Graph, h: HParams, w: Weights) -> None:
    """Neighbours rotate, halves in vision models, which carry rotation sections."""
    pairing = HALVES if any(h.keys.array("rope.dimension_sections") or ()) else NEIGHBOURS
    attention = partial(grouped_attention, rope=make_rope(h, w, pairing, sections="blocks"))
    decoder(g, h, w, sequential_block(attention, gated_ffn))
