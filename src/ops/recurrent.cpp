// SPDX-License-Identifier: Apache-2.0
#include "ops/recurrent.h"

namespace stoker {

Status infer_recurrent(InferContext& c, const char* op, int64_t gates) {
  for (const size_t i : {0, 1, 2, 3, 5, 6, 7}) {
    if (i > 2 && !c.has(i)) continue;
    STOKER_TRY(check_input(c, op, i, "operand", kFloats));
    STOKER_TRY(check_same_dtype(c, op, 0, i));
  }
  if (c.has(4)) STOKER_TRY(check_input(c, op, 4, "sequence_lens", dtypes({DType::kI32})));
  const std::string direction = c.attributes.get_string("direction", "forward");
  if (direction != "forward" && direction != "reverse" && direction != "bidirectional") {
    return invalid_model("{}: direction is \"{}\", expected forward, reverse or bidirectional", op,
                         direction);
  }
  const int64_t directions = direction == "bidirectional" ? 2 : 1;
  STOKER_TRY(activations_of(c.attributes, op, directions, {}).status());
  const DType dtype = c.type(0).dtype;
  if (!all_ranked(c)) return set_unranked(c, dtype);
  for (size_t i = 0; i < 3; ++i) {
    if (c.type(i).rank() != 3)
      return invalid_model("{}: input {} is {}, expected rank 3", op, i, type_text(c.type(i)));
  }
  const Dims &x = c.type(0).dims, &w = c.type(1).dims, &r = c.type(2).dims;
  const Dim hidden = r[2];
  STOKER_TRY(same_dim(op, "directions", w[0], Dim(directions)).status());
  STOKER_TRY(same_dim(op, "directions", r[0], Dim(directions)).status());
  STOKER_TRY(same_dim(op, "columns of W and features of X", w[2], x[2]).status());
  STOKER_TRY(same_dim(op, "rows of W", w[1], Dim(gates) * hidden).status());
  STOKER_TRY(same_dim(op, "rows of R", r[1], Dim(gates) * hidden).status());
  if (c.attributes.has("hidden_size")) {
    STOKER_TRY(same_dim(op, "hidden_size and R", Dim(c.attributes.get_int("hidden_size")), hidden)
                   .status());
  }
  const bool batch_first = c.attributes.get_int("layout") != 0;
  const Dim steps = x[batch_first ? 1 : 0], batch = x[batch_first ? 0 : 1], d(directions);
  const auto check = [&](size_t i, const Dims& expected) -> Status {
    if (!c.has(i)) return Status::ok();
    const Dims& dims = c.type(i).dims;
    bool fits = dims.size() == expected.size();
    for (size_t k = 0; fits && k < dims.size(); ++k) {
      fits = dims[k] == expected[k] || !dims[k].is_const() || !expected[k].is_const();
    }
    if (fits) return Status::ok();
    return invalid_model("{}: input {} is {}, expected {}", op, i, type_text(c.type(i)),
                         dims_text(expected));
  };
  const Dims state = batch_first ? Dims{batch, d, hidden} : Dims{d, batch, hidden};
  STOKER_TRY(check(3, {d, Dim(2 * gates) * hidden}));
  STOKER_TRY(check(4, {batch}));
  STOKER_TRY(check(5, state));
  STOKER_TRY(check(6, state));
  STOKER_TRY(check(7, {d, Dim(3) * hidden}));
  set_output(c, 0, dtype,
             batch_first ? Dims{batch, steps, d, hidden} : Dims{steps, d, batch, hidden});
  set_output(c, 1, dtype, state);
  set_output(c, 2, dtype, state);
  return Status::ok();
}

Result<std::vector<Activation>> activations_of(const Attributes& attributes, const char* op,
                                               int64_t directions,
                                               std::vector<std::string> defaults) {
  std::vector<std::string> names;
  if (const auto it = attributes.all().find("activations"); it != attributes.all().end()) {
    if (const auto* list = std::get_if<std::vector<std::string>>(&it->second)) names = *list;
  }
  if (names.empty()) {
    for (int64_t d = 0; d < directions; ++d)
      names.insert(names.end(), defaults.begin(), defaults.end());
  } else if (!defaults.empty() &&
             names.size() < defaults.size() * static_cast<size_t>(directions)) {
    return invalid_model("{}: {} activations, expected {}", op, names.size(),
                         defaults.size() * directions);
  }
  const std::vector<double> alphas = attributes.get_floats("activation_alpha"),
                            betas = attributes.get_floats("activation_beta");
  std::vector<Activation> result;
  size_t next_alpha = 0, next_beta = 0;
  for (const std::string& name : names) {
    const int kind = find_activation(name);
    if (kind < 0) return unsupported("{}: unknown activation \"{}\"", op, name);
    const ActivationEntry& known = activation_entries()[static_cast<size_t>(kind)];
    Activation a{static_cast<ActivationKind>(kind), known.alpha, known.beta};
    if (known.uses_alpha && next_alpha < alphas.size()) a.alpha = alphas[next_alpha++];
    if (known.uses_beta && next_beta < betas.size()) a.beta = betas[next_beta++];
    result.push_back(a);
  }
  return result;
}

RecurrentShape recurrent_shape(const EvalContext& c) {
  const bool batch_first = c.attributes.get_int("layout") != 0;
  const Shape &x = c.inputs[0].shape, &r = c.inputs[2].shape;
  return {x[batch_first ? 1 : 0], x[batch_first ? 0 : 1], x[2], r[2], r[0], batch_first};
}

static WeightRows rows_of(const TensorView& weights, int64_t start, int64_t count) {
  WeightRows rows;
  if (weights.dense() && weights.dtype == DType::kF32) {
    rows.f32 = weights.as<const float>() + start;
  } else if (weights.dense() && weights.dtype == DType::kF64) {
    rows.f64 = weights.as<const double>() + start;
  } else {
    const std::vector<double> all = to_doubles(weights);
    rows.converted.assign(all.begin() + start, all.begin() + start + count);
    rows.f64 = rows.converted.data();
  }
  return rows;
}

std::vector<RecurrentWeights> recurrent_weights(const EvalContext& c, const RecurrentShape& s,
                                                int64_t gates) {
  const int64_t rows = gates * s.hidden;
  const std::vector<double> b =
      c.has(3) ? to_doubles(c.inputs[3]) : std::vector<double>(s.directions * 2 * rows, 0.0);
  const auto bias = [&](int64_t part) {
    return std::vector<double>(b.begin() + part * rows, b.begin() + (part + 1) * rows);
  };
  std::vector<RecurrentWeights> result;
  for (int64_t d = 0; d < s.directions; ++d) {
    result.push_back({rows_of(c.inputs[1], d * rows * s.input, rows * s.input),
                      rows_of(c.inputs[2], d * rows * s.hidden, rows * s.hidden), bias(2 * d),
                      bias(2 * d + 1)});
  }
  return result;
}

template <class T>
static double dot(const T* m, int64_t columns, const double* v) {
  // Several sums, so that an addition need not wait for the one before.
  constexpr int64_t kSums = 8;
  double sums[kSums] = {};
  int64_t i = 0;
  for (; i + kSums <= columns; i += kSums) {
    for (int64_t k = 0; k < kSums; ++k) sums[k] += static_cast<double>(m[i + k]) * v[i + k];
  }
  for (; i < columns; ++i) sums[0] += static_cast<double>(m[i]) * v[i];
  return ((sums[0] + sums[4]) + (sums[1] + sums[5])) + ((sums[2] + sums[6]) + (sums[3] + sums[7]));
}

double row_dot(const WeightRows& matrix, int64_t row, int64_t columns, const double* v) {
  return matrix.f32 ? dot(matrix.f32 + row * columns, columns, v)
                    : dot(matrix.f64 + row * columns, columns, v);
}

double clip_to(double x, double limit) { return limit > 0 ? std::clamp(x, -limit, limit) : x; }

Status run_recurrent(const EvalContext& c, const RecurrentShape& s, int c_index,
                     const RecurrentStep& step) {
  const std::vector<double> x = to_doubles(c.inputs[0]);
  const std::vector<int64_t> lengths =
      c.has(4) ? to_ints(c.inputs[4]) : std::vector<int64_t>(s.batch, s.steps);
  const size_t states = static_cast<size_t>(s.directions * s.batch * s.hidden);
  const std::vector<double> h0 =
      c.has(5) ? to_doubles(c.inputs[5]) : std::vector<double>(states, 0.0);
  const bool cells = c_index >= 0 && c.has(static_cast<size_t>(c_index));
  const std::vector<double> c0 =
      cells ? to_doubles(c.inputs[c_index]) : std::vector<double>(states, 0.0);
  if (h0.size() != states || c0.size() != states ||
      static_cast<int64_t>(lengths.size()) != s.batch) {
    return invalid_argument("the initial states or sequence lengths do not fit a batch of {}",
                            s.batch);
  }
  std::vector<double> y(static_cast<size_t>(s.steps) * states, 0.0), last_h(states), last_c(states);
  const bool reverse_all = c.attributes.get_string("direction", "forward") == "reverse";
  for (int64_t d = 0; d < s.directions; ++d) {
    for (int64_t b = 0; b < s.batch; ++b) {
      if (lengths[b] < 0 || lengths[b] > s.steps) {
        return invalid_argument("sequence {} has length {}, the input has {} steps", b, lengths[b],
                                s.steps);
      }
      const int64_t state = (s.batch_first ? b * s.directions + d : d * s.batch + b) * s.hidden;
      RecurrentCell cell{{h0.begin() + state, h0.begin() + state + s.hidden},
                         {c0.begin() + state, c0.begin() + state + s.hidden}};
      const bool backwards = d == 1 || reverse_all;
      for (int64_t i = 0; i < lengths[b]; ++i) {
        const int64_t t = backwards ? lengths[b] - 1 - i : i;
        step(d, x.data() + (s.batch_first ? b * s.steps + t : t * s.batch + b) * s.input, cell);
        const int64_t at = s.batch_first ? (b * s.steps + t) * s.directions + d
                                         : (t * s.directions + d) * s.batch + b;
        std::copy(cell.h.begin(), cell.h.end(), y.begin() + at * s.hidden);
      }
      std::copy(cell.h.begin(), cell.h.end(), last_h.begin() + state);
      std::copy(cell.c.begin(), cell.c.end(), last_c.begin() + state);
    }
  }
  const std::vector<double>* results[] = {&y, &last_h, &last_c};
  for (size_t i = 0; i < std::min<size_t>(c.outputs.size(), 3); ++i) {
    if (c.outputs[i].present()) from_doubles(*results[i], c.outputs[i]);
  }
  return Status::ok();
}

}  // namespace stoker
