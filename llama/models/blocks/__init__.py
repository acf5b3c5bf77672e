"""Parts that architectures are built of: attention, feed-forward networks, experts, whole decoders."""

from llama.models.blocks.attention import attend, attend_kv, grouped_attention, qkv
from llama.models.blocks.decoder import Block, Mixer, decoder, embed, logits, parallel_block, sequential_block
from llama.models.blocks.experts import dense_or_experts, experts, routing, shared_expert
from llama.models.blocks.ffn import feed_forward, gated_ffn, plain_ffn

__all__ = [
    "Block",
    "Mixer",
    "attend",
    "attend_kv",
    "decoder",
    "dense_or_experts",
    "embed",
    "experts",
    "feed_forward",
    "gated_ffn",
    "grouped_attention",
    "logits",
    "parallel_block",
    "plain_ffn",
    "qkv",
    "routing",
    "sequential_block",
    "shared_expert",
]
