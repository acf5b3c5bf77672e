"""Turns requests into streams of token events: slots, cache blocks, batches, one thread.

Knows time and token ids; knows nothing of JSON, chat messages or HTTP.
"""
