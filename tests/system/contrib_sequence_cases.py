# More cases of contrib_attention_test.py: operators with a state, batches without padding.
# SPDX-License-Identifier: Apache-2.0
import numpy

from contrib_cases import Random, case


def softmax(x):
    e = numpy.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def heads(x, n):
    """[batch, length, n * width] -> [batch, n, length, width]"""
    return x.reshape(*x.shape[:2], n, -1).transpose(0, 2, 1, 3)


def plain(q, k, v, n, mask=0.0):
    """What attention is, in numpy; operands in [batch, length, n * width]."""
    q, k, v = (heads(x.astype("float64"), n) for x in (q, k, v))
    y = softmax(q @ k.transpose(0, 1, 3, 2) / numpy.sqrt(q.shape[-1]) + mask) @ v
    return y.transpose(0, 2, 1, 3).reshape(y.shape[0], y.shape[2], -1).astype("float32")


def with_state():
    r = Random("with_state")
    case("linear_attention", "LinearAttention",
         {"query": r.f(2, 3, 8), "key": r.f(2, 3, 4), "value": r.f(2, 3, 6),
          "state": r.f(2, 2, 2, 3), "decay": -abs(r.f(2, 3, 2)), "beta": abs(r.f(2, 3, 2))},
         outputs=2, q_num_heads=4, kv_num_heads=2)
    case("linear_attention_plain", "LinearAttention",
         {"query": r.f(2, 3, 4), "key": r.f(2, 3, 4), "value": r.f(2, 3, 6)},
         outputs=2, q_num_heads=2, kv_num_heads=2, update_rule="linear", scale=0.3)
    conv = {"x": r.f(2, 3, 5), "w": r.f(3, 1, 4), "bias": r.f(3), "state": r.f(2, 3, 3)}
    case("causal_conv", "CausalConvWithState", conv, outputs=2, activation="silu")
    case("causal_conv_first", "CausalConvWithState", {**conv, "state": None}, outputs=2)
    turned = {key: value.transpose(0, 2, 1) if key in ("x", "state") else value
              for key, value in conv.items()}
    case("causal_conv_channels_last", "CausalConvWithState", turned, outputs=2, channels_last=1)


def unpadded():
    """No kernel on the CPU: numpy."""
    r = Random("packed")
    n, h, lengths = 2, 4, (3, 1)
    d, s, b = n * h, max(lengths), len(lengths)
    valid = [i * s + j for i, length in enumerate(lengths) for j in range(length)]
    padding = [i for i in range(b * s) if i not in valid]
    offsets = numpy.array(valid + padding, "int32").reshape(b, s)
    ends = numpy.array([0, *numpy.cumsum(lengths)], "int32")
    mask = numpy.where(numpy.arange(s) < numpy.array(lengths)[:, None], 0, -numpy.inf)
    mask = mask[:, None, None]

    def unpacked(x):
        y = numpy.zeros((b * s, x.shape[1]), x.dtype)
        y[valid] = x
        return y.reshape(b, s, -1)

    def answer(q, k, v, bias=0.0):
        y = plain(*(unpacked(x) for x in (q, k, v)), n, mask + bias)
        return [y.reshape(b * s, -1)[valid]]

    tokens, weights, bias = r.f(4, 5), r.f(5, 2 * d + 6), r.f(2 * d + 6)
    x = tokens @ weights + bias
    more = r.f(1, n, s, s)
    case("packed_attention", "PackedAttention",
         {"input": tokens, "weights": weights, "bias": bias, "offsets": offsets, "ends": ends,
          "attention_bias": more}, "weights bias", num_heads=n, qkv_hidden_sizes=[d, d, 6],
         expected=answer(x[:, :d], x[:, d:2 * d], x[:, 2 * d:], more))
    q, k, v, bias = r.f(4, d), r.f(4, d), r.f(4, d), r.f(3 * d)
    case("packed_multi_head", "PackedMultiHeadAttention",
         {"query": q, "key": k, "value": v, "bias": bias, "offsets": offsets, "ends": ends},
         num_heads=n, expected=answer(q + bias[:d], k + bias[d:2 * d], v + bias[2 * d:]))
    qkv = r.f(4, n, 3, h)
    case("packed_multi_head_packed", "PackedMultiHeadAttention",
         {"query": qkv, "key": None, "value": None, "bias": None, "offsets": offsets, "ends": ends},
         num_heads=n, expected=answer(*(qkv[:, :, i].reshape(4, d) for i in range(3))))


def add():
    with_state()
    unpadded()
