"""Operations that run along the tokens of a sequence and keep a state: convolutions and state spaces."""

import numpy as np

from llama.kernels.graph import Node
from llama.kernels.reference.step import Floats, Step, attribute, operation, weight


@operation
def short_conv(step: Step, node: Node) -> Floats:
    """Each column with its own kernel over the last inputs."""
    x, w = step.input(node), step.weights.floats(weight(node))
    taps = w.shape[-1]
    out = np.empty_like(x)
    for s, rows, _ in step.sequences():
        state = _state(step, node, s).reshape(taps - 1, -1)
        past = np.concatenate([state, x[rows]])
        n = rows.stop - rows.start
        out[rows] = sum(past[i : i + n] * w[:, i] for i in range(taps))
        state[...] = past[n:]
    bias = node.weights[1]
    return out if bias is None else out + step.weights.floats(bias).reshape(-1)


@operation
def delta_net(step: Step, node: Node) -> Floats:
    """Gated delta rule, token by token."""
    q, k, v, decay, beta = step.inputs(node)
    key, value = attribute(node, "key"), attribute(node, "value")
    n_head = v.shape[1] // value
    heads = np.arange(n_head) % (q.shape[1] // key)
    decay = np.exp(decay)
    out = np.empty_like(v)
    for s, rows, _ in step.sequences():
        state = _state(step, node, s).reshape(n_head, value, key)
        for t in range(rows.start, rows.stop):
            kt, qt = k[t].reshape(-1, key)[heads], q[t].reshape(-1, key)[heads]
            state *= decay[t, :, None, None]
            missing = v[t].reshape(n_head, value) - (state @ kt[:, :, None])[:, :, 0]
            state += (beta[t, :, None] * missing)[:, :, None] * kt[:, None, :]
            out[t] = (state @ qt[:, :, None]).reshape(-1)
    return out


@operation
def ssm_scan(step: Step, node: Node) -> Floats:
    """Selective state space, token by token."""
    x, dt, b, c = step.inputs(node)
    a = step.weights.floats(weight(node))
    head, n_state = attribute(node, "head"), attribute(node, "n_state")
    n_head = x.shape[1] // head
    a = a.reshape(n_head, 1, -1)  # one decay a head, or one for each of its state columns
    groups = np.arange(n_head) // (n_head // (b.shape[1] // n_state))
    out = np.empty_like(x)
    for s, rows, _ in step.sequences():
        state = _state(step, node, s).reshape(n_head, head, n_state)
        for t in range(rows.start, rows.stop):
            bt, ct = b[t].reshape(-1, n_state)[groups], c[t].reshape(-1, n_state)[groups]
            pushed = x[t].reshape(n_head, head) * dt[t, :, None]
            state *= np.exp(dt[t, :, None, None] * a)
            state += pushed[:, :, None] * bt[:, None, :]
            out[t] = (state @ ct[:, :, None]).reshape(-1)
    return out


def _state(step: Step, node: Node, sequence: int) -> Floats:
    """The sequence's state of this layer, to be changed in place."""
    states = step.memory.states[int(attribute(node, "state"))]
    return np.asarray(states[step.batch.states[sequence]])
