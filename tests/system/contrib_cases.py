# The cases of contrib_test.py: models of one node each, with seeded tensors.
# SPDX-License-Identifier: Apache-2.0
import math
import zlib

import numpy
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

CASES = []


class Case:
    def __init__(self, name, kind, nodes, tensors, outputs, constants, **more):
        self.name, self.kind, self.nodes = name, kind, nodes
        self.tensors, self.outputs, self.constants = tensors, outputs, constants
        self.types = more.get("types", {})    # element types that numpy has none for
        self.dims = more.get("dims", {})      # symbolic shapes of graph inputs
        self.opset = more.get("opset", 17)
        self.expected = more.get("expected")  # outputs; None: ask ONNX Runtime


def case(name, op, inputs, constants="", outputs=1, kind="float", domain="com.microsoft",
         expected=None, types=None, dims=None, opset=17, opset_=None, **attributes):
    """`inputs`: name -> array in the node's order, None where one is left out; `constants`: the
    names, separated by spaces, that are initializers, or "*" for all but the first."""
    if opset_ is not None:
        attributes["opset"] = opset_  # of the node, not of the model
    names = list(inputs)
    given = [key if inputs[key] is not None else "" for key in names]
    while given and not given[-1]:
        given.pop()
    made = outputs if isinstance(outputs, list) else [f"out{i}" for i in range(outputs)]
    node = helper.make_node(op, given, made, domain=domain, **attributes)
    tensors = {key: value for key, value in inputs.items() if value is not None}
    held = names[1:] if constants == "*" else constants.split()
    CASES.append(Case(name, kind, [node], tensors, [o for o in made if o],
                      set(held) & set(tensors), expected=expected, types=types or {},
                      dims=dims or {}, opset=opset))


class Random:
    """A stream of its own for every case, so that adding one changes no other."""

    def __init__(self, name):
        self.source = numpy.random.default_rng(zlib.crc32(name.encode()))

    def f(self, *shape, scale=1.0, dtype="float32"):
        return (scale * self.source.standard_normal(shape)).astype(dtype)

    def positive(self, *shape, low=0.5, high=1.5):
        return self.source.uniform(low, high, shape).astype("float32")

    def i(self, low, high, *shape, dtype="int32"):
        return self.source.integers(low, high, shape).astype(dtype)

    def q(self, dtype, *shape):
        limits = numpy.iinfo(dtype)
        return self.source.integers(limits.min, limits.max, shape, dtype, endpoint=True)


def scalar(value, dtype="float32"):
    return numpy.array(value, dtype)


def sigmoid(x):
    return 1 / (1 + numpy.exp(-x))


# ---- Products.

def products():
    for name, a, b, attributes in [
            ("plain", (3, 4), (4, 5), {}),
            ("alpha", (3, 4), (4, 5), {"alpha": 0.125}),
            ("trans_a", (4, 3), (4, 5), {"transA": 1}),
            ("trans_b", (3, 4), (5, 4), {"transB": 1, "alpha": 2.0}),
            ("both", (4, 3), (5, 4), {"transA": 1, "transB": 1}),
            ("batched", (2, 3, 4, 6), (2, 3, 5, 6), {"transB": 1, "alpha": 0.5}),
            ("broadcast", (2, 3, 4, 6), (6, 4), {"alpha": 0.5}),
            ("batch_a", (4, 2, 6), (2, 6, 5), {"transBatchA": 1}),
            ("batch_a_trans", (4, 2, 3, 6), (2, 3, 4, 5), {"transBatchA": 1, "transA": 1}),
            ("batch_b", (2, 4, 6), (6, 2, 5), {"transBatchB": 1}),
            ("batch_b_trans", (2, 4, 6), (5, 2, 6), {"transBatchB": 1, "transB": 1}),
            ("batch_both", (4, 2, 6), (6, 2, 5), {"transBatchA": 1, "transBatchB": 1}),
            ("vector", (4,), (4, 5), {"transA": 1}),
            ("vectors", (4,), (4,), {"alpha": 3.0})]:
        r = Random("fused_matmul_" + name)
        case("fused_matmul_" + name, "FusedMatMul", {"a": r.f(*a), "b": r.f(*b)}, **attributes)
    r = Random("fused_matmul_f64")
    case("fused_matmul_f64", "FusedMatMul", {"a": r.f(3, 4, dtype="float64"),
                                             "b": r.f(5, 4, dtype="float64")}, transB=1)
    case("transpose_matmul", "TransposeMatMul", {"a": r.f(2, 4, 3), "b": r.f(2, 4, 5)},
         transA=1, alpha=0.3)
    for activation, more in [("Relu", {}), ("LeakyRelu", {"activation_alpha": 0.2}), ("Tanh", {}),
                             ("Sigmoid", {}),
                             ("HardSigmoid", {"activation_alpha": 0.3, "activation_beta": 0.4}),
                             ("Elu", {"activation_alpha": 0.7}),
                             ("Selu", {"activation_alpha": 1.6, "activation_gamma": 1.05}),
                             ("Softplus", {}), ("Softsign", {}),
                             ("ThresholdedRelu", {"activation_alpha": 0.5})]:
        r = Random("fused_gemm_" + activation)
        case("fused_gemm_" + activation.lower(), "FusedGemm",
             {"a": r.f(3, 4), "b": r.f(5, 4), "c": r.f(5)}, "b c", transB=1, alpha=0.7, beta=1.5,
             activation=activation, **more)
    case("fused_gemm_no_c", "FusedGemm", {"a": r.f(4, 3), "b": r.f(4, 5)}, transA=1,
         activation="Relu")


def convolutions():
    for name, activation, params in [
            ("none", None, None), ("relu", "Relu", None), ("tanh", "Tanh", None),
            ("sigmoid", "Sigmoid", None), ("leaky", "LeakyRelu", [0.1]),
            ("clip", "Clip", [-0.4, 0.9]), ("hard_sigmoid", "HardSigmoid", [0.3, 0.4])]:
        r = Random("fused_conv_" + name)
        more = {"activation": activation, "activation_params": params}
        more = {key: value for key, value in more.items() if value}
        x, w, b = r.f(2, 4, 7, 6), r.f(6, 2, 2, 3), r.f(6)
        case("fused_conv_" + name, "FusedConv", {"x": x, "w": w, "b": b}, "*", group=2,
             strides=[2, 1], pads=[1, 0, 1, 1], **more)
    r = Random("fused_conv_z")
    case("fused_conv_z", "FusedConv", {"x": r.f(1, 3, 5, 5), "w": r.f(4, 3, 3, 3), "b": r.f(4),
                                       "z": r.f(1, 4, 5, 5)}, "w b", pads=[1, 1, 1, 1],
         activation="Relu")
    case("fused_conv_z_no_bias", "FusedConv",
         {"x": r.f(1, 3, 5), "w": r.f(4, 3, 3), "b": None, "z": r.f(1, 4, 5)}, "w",
         auto_pad="SAME_UPPER", activation="Relu")
    x, w, b = r.f(1, 6, 5, 4), r.f(8, 4, 3, 3, scale=0.3), r.f(8)
    conv = ReferenceEvaluator(helper.make_model(helper.make_graph(
        [helper.make_node("Conv", ["x", "w", "b"], ["y"], pads=[1, 1, 1, 1])], "conv",
        [helper.make_tensor_value_info(n, 1, None) for n in "xwb"],
        [helper.make_tensor_value_info("y", 1, None)])))
    y = conv.run(None, {"x": x.transpose(0, 3, 1, 2), "w": w, "b": b})[0].transpose(0, 2, 3, 1)
    case("nhwc_conv", "NhwcConv", {"x": x, "w": w.transpose(0, 2, 3, 1), "b": b}, "*",
         pads=[1, 1, 1, 1], expected=[y])
    z = r.f(1, 6, 5, 8)
    case("nhwc_fused_conv", "NhwcFusedConv", {"x": x, "w": w, "b": b, "z": z}, "w b",
         pads=[1, 1, 1, 1], activation="Relu", expected=[numpy.maximum(y + z, 0)])
    r = Random("conv_transpose_pads")
    case("conv_transpose_pads", "ConvTransposeWithDynamicPads",
         {"x": r.f(1, 3, 4, 5), "w": r.f(3, 2, 3, 3), "pads": numpy.array([1, 0, 1, 2]),
          "b": r.f(2)}, "w pads b", strides=[2, 2], output_padding=[1, 1])
    case("conv_transpose_pads_computed", "ConvTransposeWithDynamicPads",
         {"x": r.f(1, 3, 4, 5), "w": r.f(3, 2, 3, 3), "pads": numpy.array([1, 0, 1, 2])}, "w",
         strides=[2, 2], output_padding=[1, 1])
    case("conv_transpose_pads_1d", "ConvTransposeWithDynamicPads",
         {"x": r.f(1, 4, 3), "w": r.f(4, 2, 2), "pads": numpy.array([0, 1])}, "w pads",
         strides=[2], group=2)


# ---- Activations.

def activations():
    r = Random("activations")
    x, bias = r.f(2, 5, 8, scale=3), r.f(8)
    case("gelu", "Gelu", {"x": x})
    case("bias_gelu", "BiasGelu", {"x": x, "bias": bias}, "bias")
    case("fast_gelu", "FastGelu", {"x": x})
    case("fast_gelu_bias", "FastGelu", {"x": x, "bias": bias}, "bias")
    case("quick_gelu", "QuickGelu", {"x": x})
    case("quick_gelu_alpha", "QuickGelu", {"x": x}, alpha=-0.7)
    case("quick_gelu_silu", "QuickGelu", {"x": x}, alpha=1.0)
    w = r.f(8, 6)
    y = x @ w + 0.5
    tanh = 0.5 * y * (1 + numpy.tanh(numpy.sqrt(2 / numpy.pi) * (y + 0.044715 * y ** 3)))
    case("gemm_fast_gelu", "GemmFastGelu", {"x": x, "w": w, "bias": numpy.full(6, 0.5, "float32")},
         "w bias", expected=[tanh.astype("float32")])
    case("bias_add", "BiasAdd", {"x": x, "bias": bias, "skip": x[::-1].copy()}, "bias",
         expected=[x + bias + x[::-1]])
    left, right = numpy.split((x + bias).astype("float64"), 2, axis=-1)
    erf = numpy.vectorize(math.erf)
    case("bias_split_gelu", "BiasSplitGelu", {"x": x, "bias": bias}, "bias",
         expected=[(left * 0.5 * right * (1 + erf(right / numpy.sqrt(2)))).astype("float32")])
    z = numpy.exp(x + bias)
    case("bias_softmax", "BiasSoftmax", {"x": x, "bias": numpy.tile(bias, (2, 5, 1))}, axis=2,
         is_inner_broadcast=0, expected=[z / z.sum(-1, keepdims=True)])
    case("swiglu", "SwiGLU", {"x": x, "up": x[::-1].copy()}, activation_alpha=1.2,
         activation_beta=1.0, limit=2.0, opset=21,
         expected=[numpy.minimum(x, 2) * sigmoid(1.2 * numpy.minimum(x, 2))
                   * (numpy.clip(x[::-1], -2, 2) + 1)])
    case("scaled_silu", "ScaledSiLU", {"x": x}, alpha=0.5)


# ---- Normalizations.

def norms():
    for dtype, kind in [("float32", "float"), ("float16", "half")]:
        r = Random("skip_" + dtype)
        x, skip = r.f(2, 3, 16, dtype=dtype), r.f(2, 3, 16, dtype=dtype)
        gamma, beta, bias = r.f(16, dtype=dtype), r.f(16, dtype=dtype), r.f(16, dtype=dtype)
        tail = "_" + dtype
        case("skip_norm" + tail, "SkipLayerNormalization",
             {"x": x, "skip": skip, "gamma": gamma, "beta": beta, "bias": bias}, "gamma beta bias",
             outputs=["y", "", "", "sum"], kind=kind, epsilon=1e-3)
        case("skip_norm_plain" + tail, "SkipLayerNormalization",
             {"x": x, "skip": skip, "gamma": gamma}, "gamma", kind=kind)
        case("skip_norm_broadcast" + tail, "SkipLayerNormalization",
             {"x": x, "skip": skip[0], "gamma": gamma, "beta": None, "bias": bias}, "gamma bias",
             outputs=["y", "", "", "sum"], kind=kind)
        case("skip_norm_broadcast1" + tail, "SkipLayerNormalization",
             {"x": x, "skip": skip[:1], "gamma": gamma, "beta": beta}, "gamma beta", kind=kind)
        case("skip_norm_2d" + tail, "SkipLayerNormalization",
             {"x": x[0], "skip": skip[0], "gamma": gamma, "beta": beta}, "gamma beta", kind=kind)
        case("skip_rms" + tail, "SkipSimplifiedLayerNormalization",
             {"x": x, "skip": skip, "gamma": gamma, "bias": bias}, "gamma bias",
             outputs=["y", "", "", "sum"], kind=kind, epsilon=1e-6)
        case("skip_rms_plain" + tail, "SkipSimplifiedLayerNormalization",
             {"x": x, "skip": skip[0], "gamma": gamma}, "gamma", kind=kind)
        case("rms" + tail, "SimplifiedLayerNormalization", {"x": x, "scale": gamma}, "scale",
             domain="", kind=kind, epsilon=1e-6, axis=-1, stash_type=1)
        case("rms_axis" + tail, "SimplifiedLayerNormalization",
             {"x": x, "scale": r.f(3, 16, dtype=dtype)}, "scale", domain="", kind=kind, axis=1)
    r = Random("rms_more")
    x, scale = r.f(2, 3, 8), r.f(8)
    case("rms_inverse", "SimplifiedLayerNormalization", {"x": x, "scale": scale}, "scale",
         outputs=["y", "inverse"], domain="", epsilon=1e-2)
    norm = x / numpy.sqrt((x * x).mean(-1, keepdims=True) + 1e-5)
    case("rms_of_ms_domain", "SimplifiedLayerNormalization", {"x": x, "scale": scale}, "scale",
         expected=[norm * scale])
    deviation = numpy.sqrt((2 * x).var(-1, keepdims=True) + 1e-12)
    case("skip_norm_statistics", "SkipLayerNormalization",
         {"x": x, "skip": x.copy(), "gamma": scale}, "gamma", outputs=["y", "mean", "inverse"],
         expected=[(2 * x - 2 * x.mean(-1, keepdims=True)) / deviation * scale,
                   2 * x.mean(-1, keepdims=True), 1 / deviation])
    group_norms()


def group_norms():
    r = Random("group_norm")
    x, gamma, beta = r.f(2, 3, 4, 8), r.f(8), r.f(8)

    def normalized(value, silu):
        groups = value.reshape(2, 12, 4, 2).astype("float64")
        mean = groups.mean((1, 3), keepdims=True)
        variance = groups.var((1, 3), keepdims=True)
        y = ((groups - mean) / numpy.sqrt(variance + 1e-5)).reshape(value.shape) * gamma + beta
        return (y * sigmoid(y) if silu else y).astype("float32")

    case("group_norm", "GroupNorm", {"x": x, "gamma": gamma, "beta": beta}, "*", groups=4,
         activation=0, epsilon=1e-5, expected=[normalized(x, False)])
    case("group_norm_silu_nchw", "GroupNorm",
         {"x": x.transpose(0, 3, 1, 2).copy(), "gamma": gamma, "beta": beta}, "*", groups=4,
         activation=1, channels_last=0, epsilon=1e-5,
         expected=[normalized(x, True).transpose(0, 3, 1, 2)])
    skip, bias = r.f(2, 8), r.f(8)
    total = x + skip[:, None, None] + bias
    case("skip_group_norm", "SkipGroupNorm",
         {"x": x, "gamma": gamma, "beta": beta, "skip": skip, "bias": bias}, "gamma beta bias",
         outputs=2, groups=4, activation=1, epsilon=1e-5,
         expected=[normalized(total, True), total])


def embeddings():
    r = Random("embed")
    ids, segments = r.i(0, 20, 2, 5), r.i(0, 2, 2, 5)
    words, places, kinds = r.f(20, 8), r.f(10, 8), r.f(2, 8)
    gamma, beta = r.f(8), r.f(8)
    mask = numpy.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], "int32")
    base = {"ids": ids, "segments": segments, "words": words, "places": places, "kinds": kinds,
            "gamma": gamma, "beta": beta}
    held = "words places kinds gamma beta"
    case("embed", "EmbedLayerNormalization", {**base, "mask": mask}, held, outputs=3)
    case("embed_no_mask", "EmbedLayerNormalization", base, held, outputs=2, epsilon=1e-3)
    case("embed_type_0", "EmbedLayerNormalization", base, held, outputs=2, mask_index_type=0)
    case("embed_no_segments", "EmbedLayerNormalization",
         {**base, "segments": None, "kinds": None}, held, outputs=2)
    case("embed_positions", "EmbedLayerNormalization",
         {**base, "mask": None, "positions": r.i(0, 10, 2, 5)}, held, outputs=2)
    case("embed_positions_1", "EmbedLayerNormalization",
         {**base, "mask": mask, "positions": r.i(0, 10, 1, 5)}, held, outputs=2)
    case("embed_symbolic", "EmbedLayerNormalization", {**base, "mask": mask}, held, outputs=3,
         dims={"ids": ["B", "S"], "segments": ["B", "S"], "mask": ["B", "S"]})
    for dtype in ("uint8", "int8"):
        one = lambda v: scalar(v, dtype)
        case("quantized_embed_" + dtype, "QEmbedLayerNormalization",
             {"ids": ids, "segments": segments, "words": r.q(dtype, 20, 8),
              "places": r.q(dtype, 10, 8), "kinds": r.q(dtype, 2, 8), "gamma": r.q(dtype, 8),
              "beta": r.q(dtype, 8), "mask": mask, "ws": scalar(0.02), "ps": scalar(0.03),
              "ks": scalar(0.01), "gs": scalar(0.02), "bs": scalar(0.015), "wz": one(7),
              "pz": one(3), "kz": one(0), "gz": one(1), "bz": one(12)},
             "words places kinds gamma beta ws ps ks gs bs wz pz kz gz bz", outputs=2)


# ---- Moving and making.

def movement():
    r = Random("movement")
    x = r.f(2, 3, 4)
    case("trilu", "Trilu", {"x": r.f(2, 4, 5)}, kind="exact", upper=0)
    case("trilu_k", "Trilu", {"x": r.f(4, 5), "k": numpy.array(-1)}, "k", kind="exact")
    for axis in (0, 2, -1, 3):
        case(f"expand_dims_{axis}", "ExpandDims", {"x": x, "axis": scalar(axis, "int32")}, "axis",
             kind="exact")
    case("gather_nd", "GatherND", {"x": x, "i": r.i(0, 2, 5, 2, dtype="int64")}, kind="exact")
    case("pad", "Pad", {"x": x, "pads": numpy.array([0, 1, 0, 1, 0, 2]), "value": scalar(7)},
         "pads value", kind="exact")
    case("pad_2d", "Pad", {"x": x, "pads": numpy.array([[0, 1, 0, 1, 0, 2]])}, "pads",
         kind="exact", mode="reflect")
    case("range", "Range", {"start": scalar(2), "limit": scalar(9), "delta": scalar(1.5)},
         "start limit delta", kind="exact")
    case("range_int", "Range", {"start": scalar(2, "int32"), "limit": scalar(9, "int32")},
         "start limit", kind="exact")
    for mode, padding, corners in [("bilinear", "zeros", 0), ("nearest", "border", 0),
                                   ("bicubic", "reflection", 1)]:
        case("grid_sample_" + mode, "GridSample",
             {"x": r.f(1, 2, 5, 6), "grid": r.source.uniform(-1.2, 1.2, (1, 3, 4, 2))
              .astype("float32")}, mode=mode, padding_mode=padding, align_corners=corners)
    case("unfold", "UnfoldTensor", {"x": r.f(2, 9)}, kind="exact", size=3, step=2)
    case("unfold_dim", "UnfoldTensor", {"x": r.f(5, 2, 3)}, kind="exact", size=2, dim=0)
    case("inverse", "Inverse", {"x": r.f(2, 3, 4, 4) + 3 * numpy.eye(4, dtype="float32")})
    case("inverse_f64", "Inverse", {"x": r.f(5, 5, dtype="float64")})
    case("cdist", "CDist", {"a": r.f(4, 6), "b": r.f(5, 6)}, metric="euclidean")
    case("cdist_squares", "CDist", {"a": r.f(4, 6), "b": r.f(5, 6)}, metric="sqeuclidean")
    case("nhwc_max_pool", "NhwcMaxPool", {"x": r.q("uint8", 1, 6, 5, 3)}, kind="exact",
         kernel_shape=[3, 2], strides=[2, 1], pads=[1, 0, 1, 1])
    for dtype in ("int32", "uint32", "int64", "uint64", "float32", "float64"):
        values = r.f(7, scale=1000).astype(dtype) if dtype[0] == "f" else r.q(dtype, 7)
        case("murmur_" + dtype, "MurmurHash3", {"x": values}, kind="exact", seed=42)
    case("murmur_signed", "MurmurHash3", {"x": r.q("int32", 2, 3)}, kind="exact", positive=0)
    texts = numpy.array(["", "a", "ab", "abc", "abcd", "hello world", "größer"], object)
    case("murmur_strings", "MurmurHash3", {"x": texts}, "x", kind="exact",
         types={"x": TensorProto.STRING})
    signal = r.f(3, 8)
    spectrum = numpy.fft.rfft(signal.astype("float64"))
    pairs = numpy.stack([spectrum.real, spectrum.imag], -1).astype("float32")
    case("rfft", "Rfft", {"x": signal}, signal_ndim=1, onesided=1, normalized=0, expected=[pairs])
    # Not divided by n: what follows in the model does that.
    case("irfft", "Irfft", {"x": pairs}, signal_ndim=1, onesided=1, normalized=0,
         expected=[signal * 8])
    a, b = r.f(3, 2), r.f(3, 2)
    c = (a[:, 0] + 1j * a[:, 1]) * (b[:, 0] + 1j * b[:, 1])
    case("complex_mul", "ComplexMul", {"a": a, "b": b},
         expected=[numpy.stack([c.real, c.imag], -1).astype("float32")])
    case("is_all_finite", "IsAllFinite", {"a": a, "b": numpy.array([1, numpy.inf], "float32")},
         kind="exact", expected=[numpy.array(False)])


def retired():
    r = Random("retired")
    x = r.f(2, 3, 6, 5)
    for op, more in [("Affine", {"alpha": 0.7, "beta": -0.2}), ("Scale", {"scale": 1.7}),
                     ("ImageScaler", {"scale": 0.5, "bias": [0.1, -0.2, 0.3]}),
                     ("ParametricSoftplus", {"alpha": 0.7, "beta": 1.3}),
                     ("ScaledTanh", {"alpha": 0.7, "beta": 1.3}),
                     ("Crop", {"border": [1, 0, 1, 2]}),
                     ("Crop", {"border": [1, 2, 0, 0], "scale": [3, 2]})]:
        case(f"{op}_{len(more)}".lower(), op, {"x": x}, domain="", opset=8, **more)
    case("dynamic_slice", "DynamicSlice",
         {"x": x, "start": numpy.array([1, -4]), "end": numpy.array([3, 4]),
          "axes": numpy.array([1, 3])}, "start end axes", domain="", opset=8)


def cases():
    if not CASES:
        import contrib_quant_cases
        for group in (products, convolutions, activations, norms, embeddings, movement, retired):
            group()
        contrib_quant_cases.add()
    return CASES
