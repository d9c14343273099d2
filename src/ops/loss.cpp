// SPDX-License-Identifier: Apache-2.0
#include "ops/loss.h"

namespace stoker {

namespace {

Status check_reduction(const Attributes& attributes, const char* op) {
  const std::string reduction = attributes.get_string("reduction", "mean");
  if (reduction == "none" || reduction == "sum" || reduction == "mean") return Status::ok();
  return invalid_model("{}: reduction is '{}', expected none, sum or mean", op, reduction);
}

}  // namespace

Status infer_loss(InferContext& c, const char* op) {
  STOKER_TRY(check_input(c, op, 0, "input", kFloats));
  STOKER_TRY(check_input(c, op, 1, "target", kIndices));
  STOKER_TRY(check_reduction(c.attributes, op));
  const bool reduced = c.attributes.get_string("reduction", "mean") != "none";
  const ValueType &x = c.type(0), &target = c.type(1);
  c.outputs[0] = reduced ? ValueType::tensor(x.dtype, {})
                         : ValueType{x.kind, x.dtype, target.ranked, target.dims};
  if (c.has(2)) {
    STOKER_TRY(check_input(c, op, 2, "weight", kFloats));
    STOKER_TRY(check_same_dtype(c, op, 0, 2));
    const ValueType& weight = c.type(2);
    if (weight.ranked && weight.rank() != 1)
      return invalid_model("{}: weight is {}, expected rank 1", op, type_text(weight));
    if (weight.ranked && x.ranked && x.rank() > 1)
      STOKER_TRY(same_dim(op, "weights and classes", weight.dims[0], x.dims[1]).status());
  }
  if (!x.ranked) return Status::ok();
  if (x.rank() < 2)
    return invalid_model("{}: input is {}, expected rank 2 or more (batch, classes, ...)", op,
                         type_text(x));
  Dims samples = x.dims;
  samples.erase(samples.begin() + 1);
  if (target.ranked) {
    if (target.rank() != x.rank() - 1) {
      return invalid_model("{}: target is {}, expected rank {} for an input of rank {}", op,
                           type_text(target), x.rank() - 1, x.rank());
    }
    for (size_t d = 0; d < samples.size(); ++d) {
      STOKER_ASSIGN(samples[d],
                    same_dim(op, "samples of input and target", samples[d], target.dims[d]));
    }
  }
  if (!reduced) set_output(c, 0, x.dtype, std::move(samples));
  return Status::ok();
}

Result<LossShape> loss_shape(const EvalContext& c, const char* op) {
  const TensorView &x = c.inputs[0], &target = c.inputs[1];
  if (x.rank() < 2 || target.rank() != x.rank() - 1) {
    return invalid_argument("{}: input has shape {}, target {}", op, shape_text(x.shape),
                            shape_text(target.shape));
  }
  LossShape shape{x.shape[0], x.shape[1], 1};
  for (size_t d = 2; d < x.shape.size(); ++d) shape.inner *= x.shape[d];
  STOKER_TRY(check_count(target, shape.samples(), op, "the target"));
  if (c.has(2)) STOKER_TRY(check_count(c.inputs[2], shape.classes, op, "the weight"));
  if (c.outputs[0].rank() > 0)
    STOKER_TRY(check_count(c.outputs[0], shape.samples(), op, "the loss"));
  return shape;
}

Status write_loss(const EvalContext& c, const char* op, const LossShape& shape,
                  LogProbability log_probability, const void* context) {
  const Reader labels(c.inputs[1]);
  const std::vector<double> weights =
      c.has(2) ? to_doubles(c.inputs[2]) : std::vector<double>(shape.classes, 1.0);
  const bool ignores = c.attributes.has("ignore_index");
  const int64_t ignored = c.attributes.get_int("ignore_index");
  const std::string reduction = c.attributes.get_string("reduction", "mean");
  const bool none = reduction == "none";
  const Writer write(c.outputs[0]);
  double total = 0, weight_total = 0;
  Status status;
  for_each_position(
      shape.samples(), none ? c.wanted : std::span<const int64_t>(), [&](int64_t sample) {
        const int64_t label = labels.integer(sample);
        double loss = 0, weight = 0;
        if (!ignores || label != ignored) {
          if (label < 0 || label >= shape.classes) {
            if (status.is_ok())
              status = invalid_argument("{}: the label of sample {} is {}, expected 0 to {}", op,
                                        sample, label, shape.classes - 1);
            return;
          }
          weight = weights[static_cast<size_t>(label)];
          loss = -log_probability(context, shape.position(sample, label)) * weight;
        }
        if (none) write.number(sample, loss);
        total += loss;
        weight_total += weight;
      });
  STOKER_TRY(status);
  if (!none) write.number(0, reduction == "sum" ? total : total / weight_total);
  return Status::ok();
}

}  // namespace stoker
