"""MiniCPM 3: latent attention with keys for each head, scales fixed in llama.cpp as here."""

from functools import partial

from llama.kernels.graph import Graph
from llama.models.blocks import decoder, gated_ffn, sequential_block
from llama.models.blocks.latent import latent_attention
from llama.models.hparams import HParams
from llama.models.registry import architecture
from llama.models.rope import HALVES, make_rope
from llama.models.weights import Weights


@architecture("minicpm3")
def minicpm3(g: Graph, h: HParams, w: Weights) -> None:
    """The last columns of a head rotate, by halves."""
    attention = partial(
        latent_attention,
        rope=make_rope(h, w, HALVES, last=True),
        key_rope=make_rope(h, w, HALVES, head=h.n_rot),
        head_v=h.head_v,
        scale=h.head_k**-0.5,
    )
    block = sequential_block(attention, gated_ffn, residual_scale=1.4 / h.n_layer**0.5)
    decoder(g, h, w, block, embedding_scale=12.0, logit_scale=256 / h.n_embd)
