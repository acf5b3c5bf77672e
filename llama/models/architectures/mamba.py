"""Mamba 1 and 2, Falcon Mamba: nothing but recurrent layers."""

from llama.kernels.graph import Graph, Value
from llama.models.blocks import Mixer, decoder
from llama.models.blocks.mamba import mamba as mamba_mixer
from llama.models.blocks.mamba import mamba2 as mamba2_mixer
from llama.models.hparams import HParams
from llama.models.layer import Layer
from llama.models.registry import architecture
from llama.models.weights import Weights


@architecture("mamba")
def mamba(g: Graph, h: HParams, w: Weights) -> None:
    """One decay for each column and state."""
    mixers_only(g, h, w, mamba_mixer)


@architecture("mamba2")
def mamba2(g: Graph, h: HParams, w: Weights) -> None:
    """One decay for each head."""
    mixers_only(g, h, w, mamba2_mixer)


def mixers_only(g: Graph, h: HParams, w: Weights, mixer: Mixer) -> None:
    """x += mixer(norm(x)) and nothing else."""

    def block(layer: Layer, x: Value) -> Value:
        out, x = layer.wanted(mixer(layer, layer.norm(x, "attn_norm")), x)
        return layer.g.add(out, x)

    decoder(g, h, w, block)
