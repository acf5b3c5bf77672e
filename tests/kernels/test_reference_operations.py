"""What the operations mean, by arrays small enough to work out by hand."""

import numpy as np
import pytest
from gguf import GGMLQuantizationType
from gguf.quants import quantize
from numpy.typing import NDArray

from llama.errors import SettingsError
from llama.kernels.batch import Batch
from llama.kernels.graph import Attention, Graph, Rope, Routing, ShapeError, Value
from llama.kernels.reference import ReferenceExecutor
from llama.kernels.reference.weights import WeightStore
from llama.kernels.tensor import Q2_0, Tensor, dequantize

Floats = NDArray[np.float32]


def tensor(*values: float, shape: tuple[int, ...] | None = None) -> Tensor:
    return Tensor.of("w", np.array(values, np.float32).reshape(shape or (len(values),)))


def evaluate(build: object, rows: list[list[float]], *, first: int = 0, type_k: str = "f32") -> Floats:
    """The result of `build(graph, x)` where x has these rows, one a token of a single sequence."""
    g = Graph()
    x = g.embed(Tensor.of("rows", np.array(rows, np.float32)))
    result: Value = build(g, x)  # type: ignore[operator]
    g.finish(result, None)
    executor = ReferenceExecutor(g, block_size=4, type_k=type_k, type_v=type_k)
    executor.allocate(4, 1)
    n = len(rows)
    batch = Batch(
        tokens=np.arange(n, dtype=np.int32),
        starts=np.array([0, n], np.int32),
        positions=np.array([first], np.int32),
        blocks=np.array([[2, 0, 1, 3]], np.int32),
        states=np.zeros(1, np.int32),
        outputs=np.arange(n, dtype=np.int32),
    )
    return executor.run(batch, hidden=True)


def test_linear_multiplies_by_the_transposed_matrix_and_adds_the_bias() -> None:
    w, bias = tensor(1, 2, 3, 4, 5, 6, shape=(3, 2)), tensor(10, 20, 30)
    assert evaluate(lambda g, x: g.linear(x, w, bias), [[1, 1], [2, 0]]).tolist() == [[13, 27, 41], [12, 26, 40]]


def test_each_head_has_a_matrix_of_its_own() -> None:
    w = tensor(1, 2, 3, 4, shape=(2, 1, 2))
    assert evaluate(lambda g, x: g.head_linear(x, w), [[1, 1, 1, 2]]).tolist() == [[3, 11]]


def test_a_matrix_of_the_wrong_width_is_refused_by_name() -> None:
    with pytest.raises(ShapeError, match="w: expected 2 columns, got 3"):
        evaluate(lambda g, x: g.linear(x, tensor(1, 2, 3, shape=(1, 3))), [[1, 1]])


@pytest.mark.parametrize(
    ("routing", "chosen", "weights"),
    [
        (Routing(4, 2, "softmax"), [1, 3], [0.6439, 0.2369]),
        (Routing(4, 2, "softmax", normalise=True), [1, 3], [0.7311, 0.2689]),
        (Routing(4, 2, "none", softmax_chosen=True), [1, 3], [0.7311, 0.2689]),
        (Routing(4, 2, "none", sigmoid_chosen=True), [1, 3], [0.9526, 0.8808]),
        (Routing(4, 2, "sigmoid", scale=2.0), [1, 3], [1.9051, 1.7616]),
        (Routing(4, 2, "sigmoid", bias=tensor(5, 0, 0, 0)), [0, 1], [0.5, 0.9526]),
        (Routing(4, 2, "sigmoid", groups=2, groups_used=1), [3, 2], [0.8808, 0.7311]),
    ],
    ids=["softmax", "renormalised", "softmax of the chosen", "sigmoid of the chosen", "scaled", "bias", "groups"],
)
def test_routing(routing: Routing, chosen: list[int], weights: list[float]) -> None:
    logits = [[0.0, 3.0, 1.0, 2.0]] if routing.groups == 1 else [[-9.0, 3.0, 1.0, 2.0]]
    result = evaluate(lambda g, x: g.route(x, routing), logits)[0]
    assert result[:2].tolist() == chosen
    assert result[2:] == pytest.approx(weights, abs=1e-4)


def test_experts_take_one_input_or_one_for_each_slot() -> None:
    experts = tensor(1, 10, 100, shape=(3, 1, 1))
    first = Routing(3, 2, "none")

    def build(g: Graph, x: Value) -> Value:
        chosen = g.route(x, first)
        once = g.expert_linear(g.columns(x, 0, 1), experts, chosen)
        twice = g.expert_linear(once, experts, chosen, tensor(0.5, 0.25, 0.125, shape=(3, 1)))
        return g.concat(once, twice, g.expert_sum(once, chosen))

    assert evaluate(build, [[2, 9, 5]]).tolist() == [[20, 200, 200.25, 20000.125, 20 * 9 + 200 * 5]]


@pytest.mark.parametrize(
    ("kind", "wanted"),
    [("rms", [0.8485, 1.1314]), ("layer", [-1, 1]), ("l2", [0.6, 0.8])],
)
def test_norms(kind: str, wanted: list[float]) -> None:
    got = evaluate(lambda g, x: g.norm(x, None, 1e-9, kind=kind), [[3, 4]])[0]
    assert got == pytest.approx(wanted, abs=1e-4)


def test_segments_are_normed_alone_with_shared_or_own_weights() -> None:
    shared = evaluate(lambda g, x: g.norm(x, tensor(1, 2), 0.0, kind="l2", size=2), [[3, 4, 0, 2]])[0]
    own = evaluate(lambda g, x: g.norm(x, tensor(1, 2, 3, 4), 0.0, kind="l2", size=2), [[3, 4, 0, 2]])[0]
    assert shared == pytest.approx([0.6, 1.6, 0, 2])
    assert own == pytest.approx([0.6, 1.6, 0, 4])


@pytest.mark.parametrize(("neighbours", "wanted"), [(True, [0, 1, 0, 1]), (False, [-1, 0, 0, 1])])
def test_rotation_by_a_quarter_turn(neighbours: bool, wanted: list[float]) -> None:
    rope = Rope(4, np.array([np.pi / 2, 0.0]), neighbours)
    rows = [[1, 0, 0, 1]] if neighbours else [[0, 0, 1, 1]]
    assert evaluate(lambda g, x: g.rope(x, rope), rows, first=1)[0] == pytest.approx(wanted, abs=1e-6)


def test_rotation_of_the_last_columns_with_a_magnitude() -> None:
    rope = Rope(4, np.array([np.pi]), True, magnitude=3.0, first=2)
    got = evaluate(lambda g, x: g.rope(x, rope), [[1, 2, 3, 4]], first=1)[0]
    assert got == pytest.approx([1, 2, -9, -12], abs=1e-5)


def looking(**options: object) -> Floats:
    """What each of four tokens sees when all scores are equal and token i has value i."""
    attention = {"cache": 0, "n_head": 1, "n_head_kv": 1, "head_k": 1, "head_v": 1, "scale": 1.0, **options}

    def build(g: Graph, x: Value) -> Value:
        g.cache(1, 1, 1)
        zero = g.scale(x, 0.0)
        return g.attention(zero, zero, x, Attention(**attention))  # type: ignore[arg-type]

    return evaluate(build, [[0], [1], [2], [3], [4], [5]])[:, 0]


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        ({}, [0, 0.5, 1, 1.5, 2, 2.5]),
        ({"window": 2}, [0, 0.5, 1.5, 2.5, 3.5, 4.5]),
        ({"chunk": 4}, [0, 0.5, 1, 1.5, 4, 4.5]),
        ({"causal": False}, [2.5] * 6),
        ({"causal": False, "window": 3, "symmetric": True}, [0.5, 1, 2, 3, 4, 4.5]),
        ({"sinks": tensor(0.0)}, [0, 1 / 3, 3 / 4, 6 / 5, 10 / 6, 15 / 7]),
    ],
    ids=["causal", "window", "chunk", "no mask", "symmetric window", "sinks"],
)
def test_what_attention_sees(options: dict[str, object], wanted: list[float]) -> None:
    assert looking(**options) == pytest.approx(wanted, abs=1e-6)


def test_slopes_favour_near_tokens_and_caps_bound_scores() -> None:
    assert looking(slopes=(100.0,)) == pytest.approx([0, 1, 2, 3, 4, 5], abs=1e-6)
    assert looking(softcap=1.0) == pytest.approx([0, 0.5, 1, 1.5, 2, 2.5], abs=1e-6)


@pytest.mark.parametrize("kind", ["f16", "bf16", "q8_0", "q4_0", "q4_1", "q5_0", "q5_1"])
def test_cache_types_round(kind: str) -> None:
    rows = np.linspace(-1, 1, 4 * 32, dtype=np.float32).reshape(4, 32).tolist()

    def build(g: Graph, x: Value) -> Value:
        cache = g.cache(1, 32, 32)
        return g.attention(x, x, x, Attention(cache, 1, 1, 32, 32, 0.0))

    exact, rounded = evaluate(build, rows), evaluate(build, rows, type_k=kind)
    assert 0 < np.abs(exact - rounded).max() < 0.1


def test_an_unknown_cache_type_is_refused() -> None:
    g = Graph()
    g.cache(1, 32, 32)
    with pytest.raises(SettingsError, match="f32, f16"):
        ReferenceExecutor(g, type_k="int3")


def test_convolution_meets_the_past_and_remembers_it() -> None:
    def build(g: Graph, x: Value) -> Value:
        return g.short_conv(x, tensor(1, 10, 100, shape=(1, 3)), tensor(0.5), g.state(2))

    assert evaluate(build, [[1], [2], [3]])[:, 0].tolist() == [100.5, 210.5, 321.5]


def test_state_space_and_delta_rule_step_by_step() -> None:
    def scan(g: Graph, x: Value) -> Value:
        one = g.scale(x, 0.0, 1.0)
        return g.ssm_scan(x, one, one, one, tensor(float(np.log(0.5))), g.state(1), head=1, n_state=1)

    def delta(g: Graph, x: Value) -> Value:
        one, zero = g.scale(x, 0.0, 1.0), g.scale(x, 0.0)
        return g.delta_net(one, one, x, zero, g.scale(one, 0.5), g.state(1), key=1, value=1)

    assert evaluate(scan, [[1], [1], [1]])[:, 0] == pytest.approx([1, 1.5, 1.75])
    assert evaluate(delta, [[1], [1], [1]])[:, 0] == pytest.approx([0.5, 0.75, 0.875])


def test_elements() -> None:
    got = evaluate(lambda g, x: g.concat(g.clamp(x, -1, 1), g.scale(x, 2, 1), g.vector(x, tensor(5), "mul")), [[-3, 2]])
    assert got.tolist() == [[-1, 1, -5, 5, -15, 10]]
    assert evaluate(lambda g, x: g.binary(x, g.columns(x, 0, 1), "sub"), [[1, 2]]).tolist() == [[0, 1]]
    assert evaluate(lambda g, x: g.unary(x, "softplus"), [[30, 0]])[0] == pytest.approx([30, np.log(2)])
    assert evaluate(lambda g, x: g.reduce(x, "std"), [[1, 3]])[0] == pytest.approx([2**0.5])
    assert evaluate(lambda g, x: g.softmax(x, 2), [[0, 0, 5, 5]])[0] == pytest.approx([0.5] * 4)


@pytest.mark.parametrize(
    "f", ["gelu", "gelu_erf", "gelu_quick", "silu", "sigmoid", "tanh", "relu2", "exp", "abs", "neg"]
)
def test_functions_are_defined_everywhere(f: str) -> None:
    got = evaluate(lambda g, x: g.unary(x, f), [[-80, -1, 0, 1, 80]])
    assert np.isfinite(got).all()


def test_one_and_two_bit_blocks_unpack() -> None:
    d = np.array([0.5], np.float16).view(np.uint8)
    one = np.concatenate([d, np.array([0b00000101], np.uint8), np.zeros(15, np.uint8)])
    two = np.concatenate([d, np.array([0b11100100], np.uint8), np.full(15, 0b01010101, np.uint8)])
    assert dequantize(one[None], 41)[0, :4].tolist() == [0.5, -0.5, 0.5, -0.5]
    assert dequantize(two[None], Q2_0)[0, :5].tolist() == [-0.5, 0, 0.5, 1, 0]


def test_weights_that_do_not_fit_are_unpacked_in_pieces() -> None:
    values = np.random.default_rng(0).standard_normal((40, 64)).astype(np.float32)
    packed = Tensor("w", GGMLQuantizationType.Q8_0, (40, 64), quantize(values, GGMLQuantizationType.Q8_0))
    small = WeightStore(keep=0)
    pieces = np.concatenate([piece for _, piece in small.chunks(packed)])
    assert np.array_equal(pieces, packed.floats())
    assert np.array_equal(small.rows(packed, np.array([3, 1])), packed.floats()[[3, 1]])
