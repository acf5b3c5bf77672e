"""Low-rank adapters: what they add to a product, each row with the scales of its sequence."""

import numpy as np

from llama.kernels.graph import Node
from llama.kernels.reference.step import Floats, Step, attribute, operation, product, weight


@operation
def adapter_scales(step: Step, node: Node) -> Floats:
    """The scales of each row's sequence, times their factors."""
    scales = step.batch.scales
    if scales is None:
        return np.zeros((len(step.batch.tokens), node.width), np.float32)
    rows = np.repeat(scales[:, attribute(node, "adapters")], np.diff(step.batch.starts), axis=0)
    return np.asarray(rows * attribute(node, "factors"), np.float32)


@operation
def adapted(step: Step, node: Node) -> Floats:
    """y + ((x @ a.T) * scales) @ b.T."""
    y, x, scales = step.inputs(node)
    narrow = product(x, step.weights.floats(weight(node)))
    narrow = narrow * np.repeat(scales, narrow.shape[1] // scales.shape[1], axis=1)
    return y + product(narrow, step.weights.floats(weight(node, 1)))
