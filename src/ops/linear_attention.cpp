// Linear attention: a matrix state for each key head that every token decays, corrects and reads.
// Inputs: query, key, value [B,T,heads*width], past_state [B,H,dk,dv], decay, beta.
// Outputs: output, present_state.
// SPDX-License-Identifier: Apache-2.0
#include "base/status.h"
#include "ops/support.h"

namespace stoker {

namespace {

constexpr const char* kOp = "linear_attention";
constexpr const char* kNames[] = {"query", "key", "value", "past_state", "decay", "beta"};

struct LinearDims {
  Dim batch, steps, key, value;
  int64_t q_heads = 0, kv_heads = 0;
  bool gated = false, delta = false;
};

Result<LinearDims> read_attributes(const Attributes& attributes) {
  LinearDims d;
  const std::string rule = attributes.get_string("update_rule", "gated_delta");
  if (rule != "linear" && rule != "gated" && rule != "delta" && rule != "gated_delta") {
    return invalid_model("{}: update_rule is \"{}\", expected linear, gated, delta or gated_delta",
                         kOp, rule);
  }
  d.gated = rule == "gated" || rule == "gated_delta";
  d.delta = rule == "delta" || rule == "gated_delta";
  d.q_heads = attributes.get_int("q_num_heads", 0);
  d.kv_heads = attributes.get_int("kv_num_heads", 0);
  if (d.q_heads < 1 || d.kv_heads < 1 || d.q_heads % d.kv_heads != 0) {
    return invalid_model("{}: q_num_heads {} must be a multiple of kv_num_heads {}", kOp, d.q_heads,
                         d.kv_heads);
  }
  return d;
}

// The width of a head.
Result<Dim> head_width(const Dims& dims, int64_t heads, const char* what) {
  if (dims[2].is_const() && dims[2].value() % heads != 0) {
    return invalid_model("{}: {} heads do not divide the last extent of {} {}", kOp, heads, what,
                         dims_text(dims));
  }
  return Dim::floor_div(dims[2], Dim(heads));
}

// A last extent out of two.
Status check_last(const Dims& dims, const Dim& a, const Dim& b, const char* what) {
  const Dim& last = dims[2];
  if (!last.is_const() || !a.is_const() || !b.is_const() || last == a || last == b) {
    return Status::ok();
  }
  return invalid_model("{}: {} is {}, expected a last extent of {} or {}", kOp, what,
                       dims_text(dims), a.text(), b.text());
}

using LinearShapes = std::array<const Dims*, 6>;

Result<LinearDims> linear_dims(const LinearShapes& shapes, const Attributes& attributes) {
  STOKER_ASSIGN(LinearDims d, read_attributes(attributes));
  if (d.gated != (shapes[4] != nullptr) || d.delta != (shapes[5] != nullptr)) {
    return invalid_model("{}: update_rule \"{}\" goes {} decay and {} beta", kOp,
                         attributes.get_string("update_rule", "gated_delta"),
                         d.gated ? "with" : "without", d.delta ? "with" : "without");
  }
  for (const size_t i : {0, 1, 2, 4, 5}) {
    if (!shapes[i]) continue;
    const Dims& dims = *shapes[i];
    if (dims.size() != 3) {
      return invalid_model("{}: {} is {}, expected rank 3", kOp, kNames[i], dims_text(dims));
    }
    if (i == 0) d.batch = dims[0], d.steps = dims[1];
    STOKER_ASSIGN(d.batch, same_dim(kOp, "batch sizes", d.batch, dims[0]));
    STOKER_ASSIGN(d.steps, same_dim(kOp, "lengths", d.steps, dims[1]));
  }
  STOKER_ASSIGN(d.key, head_width(*shapes[0], d.q_heads, "query"));
  STOKER_ASSIGN(const Dim key, head_width(*shapes[1], d.kv_heads, "key"));
  STOKER_ASSIGN(d.key, same_dim(kOp, "head sizes of query and key", d.key, key));
  STOKER_ASSIGN(d.value, head_width(*shapes[2], d.kv_heads, "value"));
  const Dim heads(d.kv_heads);
  if (shapes[3]) {
    const Dims &state = *shapes[3], expected = {d.batch, heads, d.key, d.value};
    bool fits = state.size() == 4;
    for (size_t k = 0; fits && k < 4; ++k) {
      fits = same_dim(kOp, "state", state[k], expected[k]).is_ok();
    }
    if (!fits) {
      return invalid_model("{}: past_state is {}, expected {}", kOp, dims_text(state),
                           dims_text(expected));
    }
  }
  if (shapes[4]) STOKER_TRY(check_last(*shapes[4], heads, heads * d.key, "decay"));
  if (shapes[5]) STOKER_TRY(check_last(*shapes[5], heads, Dim(1), "beta"));
  return d;
}

Status infer(InferContext& c) {
  for (size_t i = 0; i < 6; ++i) {
    if (i < 3 || c.has(i)) STOKER_TRY(check_input(c, kOp, i, kNames[i], kFloats));
  }
  const DType dtype = c.type(0).dtype, state = c.has(3) ? c.type(3).dtype : dtype;
  if (!all_ranked(c)) {
    c.outputs[0] = ValueType::unranked(dtype);
    if (c.outputs.size() > 1) c.outputs[1] = ValueType::unranked(state);
    return read_attributes(c.attributes).status();
  }
  LinearShapes shapes = {};
  for (size_t i = 0; i < 6; ++i) shapes[i] = c.has(i) ? &c.type(i).dims : nullptr;
  STOKER_ASSIGN(const LinearDims d, linear_dims(shapes, c.attributes));
  set_output(c, 0, dtype, {d.batch, d.steps, Dim(d.q_heads) * d.value});
  set_output(c, 1, state, {d.batch, Dim(d.kv_heads), d.key, d.value});
  return Status::ok();
}

// One key head of one sequence.
class Recurrence {
 public:
  Recurrence(const EvalContext& c, const LinearDims& d)
      : query_(c.inputs[0]), key_(c.inputs[1]), value_(c.inputs[2]), d_(d) {
    keys_ = d.key.value(), values_ = d.value.value(), steps_ = d.steps.value();
    if (d.gated) {
      decay_.emplace(c.inputs[4]);
      decay_width_ = c.inputs[4].shape[2];
    }
    if (d.delta) {
      beta_.emplace(c.inputs[5]);
      beta_width_ = c.inputs[5].shape[2];
    }
    const double scale = c.attributes.get_float("scale", 0);
    scale_ = scale != 0 ? scale : 1.0 / std::sqrt(static_cast<double>(keys_));
    state.resize(static_cast<size_t>(keys_ * values_));
    token_.resize(static_cast<size_t>(values_));
  }

  std::vector<double> state;

  void step(int64_t b, int64_t h, int64_t t, const Writer& out) {
    const int64_t row = b * steps_ + t, k_at = (row * d_.kv_heads + h) * keys_;
    if (decay_) {
      const bool shared = decay_width_ == d_.kv_heads;
      for (int64_t i = 0; i < keys_; ++i) {
        const int64_t at = row * decay_width_ + (shared ? h : h * keys_ + i);
        const double factor = std::exp(decay_->number(at));
        for (int64_t j = 0; j < values_; ++j) state[i * values_ + j] *= factor;
      }
    }
    for (int64_t j = 0; j < values_; ++j) {
      token_[j] = value_.number((row * d_.kv_heads + h) * values_ + j);
    }
    if (beta_) correct(k_at, beta_->number(row * beta_width_ + (beta_width_ == 1 ? 0 : h)));
    for (int64_t i = 0; i < keys_; ++i) {
      const double k = key_.number(k_at + i);
      for (int64_t j = 0; j < values_; ++j) state[i * values_ + j] += k * token_[j];
    }
    read(row, h, out);
  }

 private:
  // The token becomes what the state lacks of it.
  void correct(int64_t k_at, double beta) {
    for (int64_t i = 0; i < keys_; ++i) {
      const double k = key_.number(k_at + i);
      for (int64_t j = 0; j < values_; ++j) token_[j] -= k * state[i * values_ + j];
    }
    for (double& v : token_) v *= beta;
  }

  void read(int64_t row, int64_t h, const Writer& out) const {
    const int64_t group = d_.q_heads / d_.kv_heads;
    for (int64_t q = h * group; q < (h + 1) * group; ++q) {
      for (int64_t j = 0; j < values_; ++j) {
        double sum = 0;
        for (int64_t i = 0; i < keys_; ++i) {
          sum += query_.number((row * d_.q_heads + q) * keys_ + i) * state[i * values_ + j];
        }
        out.number((row * d_.q_heads + q) * values_ + j, scale_ * sum);
      }
    }
  }

  const Reader query_, key_, value_;
  std::optional<Reader> decay_, beta_;
  const LinearDims& d_;
  int64_t keys_, values_, steps_, decay_width_ = 0, beta_width_ = 0;
  double scale_;
  std::vector<double> token_;
};

Status evaluate(const EvalContext& c) {
  std::array<Dims, 6> dims;
  LinearShapes shapes = {};
  for (size_t i = 0; i < 6; ++i) {
    if (!c.has(i)) continue;
    dims[i].assign(c.inputs[i].shape.begin(), c.inputs[i].shape.end());
    shapes[i] = &dims[i];
  }
  STOKER_ASSIGN(const LinearDims d, linear_dims(shapes, c.attributes));
  const std::vector<double> past = c.has(3) ? to_doubles(c.inputs[3]) : std::vector<double>();
  const Writer out(c.outputs[0]);
  std::optional<Writer> present;
  if (c.outputs.size() > 1 && c.outputs[1].present()) present.emplace(c.outputs[1]);
  Recurrence recurrence(c, d);
  std::vector<double>& state = recurrence.state;
  const int64_t size = static_cast<int64_t>(state.size());
  for (int64_t head = 0; head < d.batch.value() * d.kv_heads; ++head) {
    if (past.empty()) {
      std::fill(state.begin(), state.end(), 0.0);
    } else {
      std::copy_n(past.begin() + head * size, size, state.begin());
    }
    for (int64_t t = 0; t < d.steps.value(); ++t) {
      recurrence.step(head / d.kv_heads, head % d.kv_heads, t, out);
    }
    for (int64_t i = 0; present && i < size; ++i) present->number(head * size + i, state[i]);
  }
  return Status::ok();
}

}  // namespace

extern const Op op_linear_attention;
const Op op_linear_attention = {
    .name = "linear_attention",
    .min_inputs = 3,
    .max_inputs = 6,
    .output_count = 2,
    .attributes = {{"chunk_size", AttributeKind::kInt},  // a hint, which changes nothing
                   {"kv_num_heads", AttributeKind::kInt},
                   {"q_num_heads", AttributeKind::kInt},
                   {"scale", AttributeKind::kFloat},
                   {"update_rule", AttributeKind::kString}},
    .infer = infer,
    .evaluate = evaluate,
    .transcendental = true,
};

}  // namespace stoker
