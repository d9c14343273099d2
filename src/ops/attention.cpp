// Scaled dot product attention with shared key heads, masks and a key/value cache.
// Inputs: Q, K, V, attn_mask, past_key, past_value, nonpad_kv_seqlen, and sinks: a logit of each
// query head that joins the softmax without a value of its own. Outputs, as many as are asked for:
// Y, present_key, present_value, qk_matmul_output.
// A position that a mask rules out (-inf) has no part in the result, whatever it holds; a row
// without any position is zero, or NaN, as a softmax alone has it, with `nan_rows`.
// SPDX-License-Identifier: Apache-2.0
#include "ops/attention.h"

#include <limits>

#include "base/status.h"

namespace stoker {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Status check_attention_types(const InferContext& c) {
  const char* op = "attention";
  STOKER_TRY(check_input(c, op, kQuery, "query", kFloats));
  STOKER_TRY(check_same_dtype(c, op, kQuery, kKey));
  STOKER_TRY(check_input(c, op, kValue, "value", kFloats));
  if (c.has(kMask)) STOKER_TRY(check_input(c, op, kMask, "mask", kNumbers | kBools));
  if (c.has(kPastKey) != c.has(kPastValue)) {
    return invalid_model("attention: past_key and past_value must be given together");
  }
  if (c.has(kPastKey)) {
    STOKER_TRY(check_same_dtype(c, op, kKey, kPastKey));
    STOKER_TRY(check_same_dtype(c, op, kValue, kPastValue));
    if (c.has(kKvLengths)) {
      return invalid_model("attention: nonpad_kv_seqlen does not go with past_key");
    }
  }
  if (c.has(kKvLengths)) STOKER_TRY(check_input(c, op, kKvLengths, "nonpad_kv_seqlen", kIndices));
  if (c.has(kSinks)) STOKER_TRY(check_input(c, op, kSinks, "sinks", kFloats));
  const int64_t mode = c.attributes.get_int("qk_matmul_output_mode", 0);
  if (mode < 0 || mode > 3) {
    return invalid_model("attention: qk_matmul_output_mode is {}, expected 0 to 3", mode);
  }
  if (!(c.attributes.get_float("softcap", 0) >= 0)) {
    return invalid_model("attention: softcap is {}, expected at least 0",
                         c.attributes.get_float("softcap", 0));
  }
  if (c.outputs.size() > 4) {
    return invalid_model("attention: {} outputs, expected at most 4", c.outputs.size());
  }
  if (std::isnan(c.attributes.get_float("masked_score", 0)))
    return invalid_model("attention: masked_score is NaN");
  return Status::ok();
}

Status infer(InferContext& c) {
  STOKER_TRY(check_attention_types(c));
  const DType dtypes[4] = {c.type(kQuery).dtype, c.type(kKey).dtype, c.type(kValue).dtype,
                           c.type(kQuery).dtype};
  if (!all_ranked(c)) {
    for (size_t i = 0; i < c.outputs.size(); ++i) c.outputs[i] = ValueType::unranked(dtypes[i]);
    return Status::ok();
  }
  AttentionShapes shapes = {};
  for (size_t i = 0; i < shapes.size(); ++i) shapes[i] = c.has(i) ? &c.type(i).dims : nullptr;
  STOKER_ASSIGN(const AttentionDims d, attention_dims(shapes, c.attributes));
  set_output(c, 0, dtypes[0],
             d.packed ? Dims{d.batch, d.q_length, d.q_heads * d.v_head}
                      : Dims{d.batch, d.q_heads, d.q_length, d.v_head});
  set_output(c, 1, dtypes[1], {d.batch, d.kv_heads, d.total, d.head});
  set_output(c, 2, dtypes[2], {d.batch, d.kv_heads, d.total, d.v_head});
  set_output(c, 3, dtypes[3], {d.batch, d.q_heads, d.q_length, d.total});
  return Status::ok();
}

// The numbers of one evaluation.
struct Sizes {
  int64_t batch, q_heads, kv_heads, q_length, kv_length, past, total, head, v_head;
  bool packed;
};

Result<Sizes> sizes_of(const EvalContext& c) {
  std::array<Dims, kAttentionInputs> dims;
  AttentionShapes shapes = {};
  for (size_t i = 0; i < shapes.size(); ++i) {
    if (!c.has(i)) continue;
    dims[i].assign(c.inputs[i].shape.begin(), c.inputs[i].shape.end());
    shapes[i] = &dims[i];
  }
  if (c.has(kPastKey) != c.has(kPastValue)) {
    return invalid_argument("attention: past_key and past_value must be given together");
  }
  STOKER_ASSIGN(const AttentionDims d, attention_dims(shapes, c.attributes));
  return Sizes{d.batch.value(),     d.q_heads.value(), d.kv_heads.value(), d.q_length.value(),
               d.kv_length.value(), d.past.value(),    d.total.value(),    d.head.value(),
               d.v_head.value(),    d.packed};
}

// A view as [batch, heads, length, width], whichever way it is laid out.
Shape head_strides(const TensorView& x, bool packed, int64_t width) {
  if (!packed) return x.strides;
  return {x.strides[0], x.strides[2] * width, x.strides[1], x.strides[2]};
}

Status write_present(const Sizes& s, const TensorView& to, const TensorView& fresh,
                     const TensorView* past, int64_t width) {
  if (past) {
    STOKER_TRY(copy_block({s.batch, s.kv_heads, s.past, width}, to, {0, to.strides}, *past,
                          {0, past->strides}));
  }
  return copy_block({s.batch, s.kv_heads, s.kv_length, width}, to,
                    {s.past * to.strides[2], to.strides}, fresh,
                    {0, head_strides(fresh, s.packed, width)});
}

// What is added to the scores of one row; -inf rules a position out.
class Bias {
 public:
  Bias(const EvalContext& c, const Sizes& s) : c_(c), s_(s) {
    causal_ = c.attributes.get_int("is_causal", 0) != 0;
    window_ = c.attributes.get_int("window", 0);
    repeats_ = c.attributes.get_int("mask_repeats", 0) != 0;
    masked_score_ = c.attributes.get_float("masked_score", -kInfinity);
    if (c.has(kKvLengths)) lengths_ = to_ints(c.inputs[kKvLengths]);
    if (!c.has(kMask)) return;
    const TensorView& mask = c.inputs[kMask];
    const int64_t rank = mask.rank();
    for (int64_t k = 0; k < rank; ++k) {
      if (mask.shape[rank - 1 - k] != 1) strides_[3 - k] = mask.strides[rank - 1 - k];
    }
    width_ = repeats_ && mask.shape.back() == 1 ? s.total : mask.shape.back();
    load_ = load_double(mask.dtype);
  }

  // Also sets the scores that a mask replaces to 0, so that the bias alone is left of them.
  void row(int64_t b, int64_t h, int64_t l, std::vector<double>& bias,
           std::vector<double>& scores) const {
    const int64_t length = lengths_.empty() ? s_.total : lengths_[b];
    const int64_t offset = lengths_.empty() ? s_.past : length - s_.q_length;
    int64_t first = 0, last = std::min(s_.total, length);
    if (causal_) last = std::min(last, l + offset + 1);
    if (causal_ && window_ > 0) first = std::max<int64_t>(0, l + offset + 1 - window_);
    if (load_) last = std::min(last, width_);
    std::fill(bias.begin(), bias.end(), -kInfinity);
    if (!load_) {
      if (first < last) std::fill(bias.begin() + first, bias.begin() + last, 0.0);
      return;
    }
    const TensorView& mask = c_.inputs[kMask];
    const bool is_bool = mask.dtype == DType::kBool;
    const int64_t row = b * strides_[0] + h * strides_[1] + l * strides_[2];
    for (int64_t j = first; j < last; ++j) {
      const double v = load_(mask.data, row + j * strides_[3]);
      bias[j] = is_bool ? (v != 0 ? 0.0 : masked_score_) : v;
      if (is_bool && v == 0) scores[j] = 0;
    }
  }

 private:
  const EvalContext& c_;
  const Sizes& s_;
  bool causal_ = false, repeats_ = false;
  double masked_score_ = 0;
  int64_t window_ = 0, width_ = 0;
  int64_t strides_[4] = {};
  LoadDouble load_ = nullptr;
  std::vector<int64_t> lengths_;
};

// Keys (with the head's width as rows, so that scores of neighbours are computed side by side) and
// values of one head.
struct Cache {
  std::vector<double> keys, values;
};

void load_rows(const TensorView& x, const Shape& strides, int64_t b, int64_t h, int64_t rows,
               int64_t columns, double* to, int64_t row_step, int64_t column_step) {
  const LoadDouble load = load_double(x.dtype);
  const int64_t base = b * strides[0] + h * strides[1];
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t k = 0; k < columns; ++k) {
      to[i * row_step + k * column_step] = load(x.data, base + i * strides[2] + k * strides[3]);
    }
  }
}

void load_cache(const EvalContext& c, const Sizes& s, int64_t b, int64_t h, Cache& cache) {
  cache.keys.resize(static_cast<size_t>(s.total * s.head));
  cache.values.resize(static_cast<size_t>(s.total * s.v_head));
  if (c.has(kPastKey)) {
    const TensorView &key = c.inputs[kPastKey], &value = c.inputs[kPastValue];
    load_rows(key, key.strides, b, h, s.past, s.head, cache.keys.data(), 1, s.total);
    load_rows(value, value.strides, b, h, s.past, s.v_head, cache.values.data(), s.v_head, 1);
  }
  const TensorView &key = c.inputs[kKey], &value = c.inputs[kValue];
  load_rows(key, head_strides(key, s.packed, s.head), b, h, s.kv_length, s.head,
            cache.keys.data() + s.past, 1, s.total);
  load_rows(value, head_strides(value, s.packed, s.v_head), b, h, s.kv_length, s.v_head,
            cache.values.data() + s.past * s.v_head, s.v_head, 1);
}

// Scores to probabilities; positions with a bias of -inf get 0.
void softmax_row(std::vector<double>& scores, const std::vector<double>& bias, const double* sink,
                 bool nan_rows) {
  double most = sink ? *sink : -kInfinity, sum = 0;
  bool any = false;
  for (size_t j = 0; j < scores.size(); ++j) {
    if (bias[j] == -kInfinity) continue;
    any = true;
    most = std::max(most, scores[j]);
  }
  if (!any && nan_rows) {
    std::fill(scores.begin(), scores.end(), std::numeric_limits<double>::quiet_NaN());
    return;
  }
  for (size_t j = 0; j < scores.size(); ++j) {
    scores[j] = !any || bias[j] == -kInfinity ? 0.0 : std::exp(scores[j] - most);
    sum += scores[j];
  }
  if (sink) sum += std::exp(*sink - most);
  if (any) {
    for (double& p : scores) p /= sum;
  }
}

class Attention {
 public:
  Attention(const EvalContext& c, const Sizes& s) : c_(c), s_(s), bias_of_(c, s) {
    scale_ = c.attributes.get_float("scale", 1.0 / std::sqrt(static_cast<double>(s.head)));
    softcap_ = c.attributes.get_float("softcap", 0);
    nan_rows_ = c.attributes.get_int("nan_rows", 0) != 0;
    mode_ = c.attributes.get_int("qk_matmul_output_mode", 0);
    if (c.has(kSinks)) sinks_ = to_doubles(c.inputs[kSinks]);
    q_strides_ = head_strides(c.inputs[kQuery], s.packed, s.head);
    y_strides_ = head_strides(c.outputs[0], s.packed, s.v_head);
    bias_.resize(static_cast<size_t>(s.total));
    scores_.resize(bias_.size());
    sum_.resize(static_cast<size_t>(s.v_head));
  }

  void row(int64_t b, int64_t h, int64_t l, const Cache& cache) {
    const TensorView &q = c_.inputs[kQuery], &y = c_.outputs[0];
    const LoadDouble load = load_double(q.dtype);
    const int64_t at = b * q_strides_[0] + h * q_strides_[1] + l * q_strides_[2];
    std::fill(scores_.begin(), scores_.end(), 0.0);
    for (int64_t d = 0; d < s_.head; ++d) {
      const double v = load(q.data, at + d * q_strides_[3]);
      const double* keys = cache.keys.data() + d * s_.total;
      for (int64_t j = 0; j < s_.total; ++j) scores_[j] += v * keys[j];
    }
    for (double& score : scores_) score *= scale_;
    if (mode_ == 0) write_scores(b, h, l);
    if (softcap_ > 0) {
      for (double& score : scores_) score = softcap_ * std::tanh(score / softcap_);
    }
    if (mode_ == 1) write_scores(b, h, l);
    bias_of_.row(b, h, l, bias_, scores_);
    for (int64_t j = 0; j < s_.total; ++j) scores_[j] += bias_[j];
    if (mode_ == 2) write_scores(b, h, l);
    softmax_row(scores_, bias_, sinks_.empty() ? nullptr : &sinks_[h], nan_rows_);
    if (mode_ == 3) write_scores(b, h, l);
    std::fill(sum_.begin(), sum_.end(), 0.0);
    for (int64_t j = 0; j < s_.total; ++j) {
      if (bias_[j] == -kInfinity && scores_[j] == 0) continue;
      const double* values = cache.values.data() + j * s_.v_head;
      for (int64_t d = 0; d < s_.v_head; ++d) sum_[d] += scores_[j] * values[d];
    }
    const StoreDouble store = store_double(y.dtype);
    const int64_t to = b * y_strides_[0] + h * y_strides_[1] + l * y_strides_[2];
    for (int64_t d = 0; d < s_.v_head; ++d) store(y.data, to + d * y_strides_[3], sum_[d]);
  }

 private:
  void write_scores(int64_t b, int64_t h, int64_t l) const {
    if (c_.outputs.size() < 4 || !c_.outputs[3].present()) return;
    const TensorView& out = c_.outputs[3];
    const StoreDouble store = store_double(out.dtype);
    const int64_t at = b * out.strides[0] + h * out.strides[1] + l * out.strides[2];
    for (int64_t j = 0; j < s_.total; ++j) store(out.data, at + j * out.strides[3], scores_[j]);
  }

  const EvalContext& c_;
  const Sizes& s_;
  Bias bias_of_;
  double scale_ = 1, softcap_ = 0;
  int64_t mode_ = 0;
  bool nan_rows_ = false;
  Shape q_strides_, y_strides_;
  std::vector<double> sinks_, bias_, scores_, sum_;
};

// Rows (batch, head, query) of output 0 that are wanted, in order; empty: all.
std::vector<int64_t> wanted_rows(const EvalContext& c, const Sizes& s) {
  std::vector<int64_t> rows;
  for (const int64_t position : c.wanted) {
    int64_t row = position / s.v_head;
    if (s.packed) {
      const int64_t h = row % s.q_heads, l = row / s.q_heads % s.q_length;
      row = (row / s.q_heads / s.q_length * s.q_heads + h) * s.q_length + l;
    }
    rows.push_back(row);
  }
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  return rows;
}

Status evaluate(const EvalContext& c) {
  STOKER_ASSIGN(const Sizes s, sizes_of(c));
  if (c.has(kKvLengths)) {
    for (const int64_t length : to_ints(c.inputs[kKvLengths])) {
      if (length >= 0 && length <= s.total) continue;
      return invalid_argument("attention: nonpad_kv_seqlen {} is outside [0, {}]", length, s.total);
    }
  }
  const auto present = [&](size_t i) { return i < c.outputs.size() && c.outputs[i].present(); };
  if (present(1)) {
    STOKER_TRY(write_present(s, c.outputs[1], c.inputs[kKey],
                             c.has(kPastKey) ? &c.inputs[kPastKey] : nullptr, s.head));
  }
  if (present(2)) {
    STOKER_TRY(write_present(s, c.outputs[2], c.inputs[kValue],
                             c.has(kPastValue) ? &c.inputs[kPastValue] : nullptr, s.v_head));
  }
  const std::vector<int64_t> rows = s.v_head ? wanted_rows(c, s) : std::vector<int64_t>();
  Attention attention(c, s);
  Cache cache;
  int64_t loaded = -1;
  for_each_position(s.batch * s.q_heads * s.q_length, rows, [&](int64_t row) {
    const int64_t l = row % s.q_length, head = row / s.q_length;
    const int64_t b = head / s.q_heads, h = head % s.q_heads;
    const int64_t shared = h / (s.q_heads / s.kv_heads);
    if (loaded != b * s.kv_heads + shared) load_cache(c, s, b, shared, cache);
    loaded = b * s.kv_heads + shared;
    attention.row(b, h, l, cache);
  });
  return Status::ok();
}

}  // namespace

extern const Op op_attention;
const Op op_attention = {
    .name = "attention",
    .min_inputs = 3,
    .max_inputs = kAttentionInputs,
    .output_count = -1,
    .attributes = {{"is_causal", AttributeKind::kInt},
                   {"kv_num_heads", AttributeKind::kInt},
                   // Opset 23: a last extent of 1 of the mask repeats, others do not fall short.
                   {"mask_repeats", AttributeKind::kInt},
                   // Scores where a bool mask is false, as `where` puts them; -inf rules out.
                   {"masked_score", AttributeKind::kFloat},
                   {"nan_rows", AttributeKind::kInt},
                   {"q_num_heads", AttributeKind::kInt},
                   {"qk_matmul_output_mode", AttributeKind::kInt},
                   {"scale", AttributeKind::kFloat},
                   {"softcap", AttributeKind::kFloat},
                   {"softmax_precision", AttributeKind::kInt},  // always double here
                   // Causal attention to this many positions at most; 0: to all.
                   {"window", AttributeKind::kInt}},
    .infer = infer,
    .evaluate = evaluate,
    .transcendental = true,
};

}  // namespace stoker
