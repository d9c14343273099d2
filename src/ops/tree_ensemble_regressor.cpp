// Sum, average, minimum or maximum of the votes of decision trees, per target.
// SPDX-License-Identifier: Apache-2.0
#include "ops/forest.h"

namespace stoker {

namespace {

constexpr const char* kName = "tree_ensemble_regressor";

Result<Aggregate> aggregate_of(const Attributes& attributes) {
  const std::string name = attributes.get_string("aggregate_function", "SUM");
  if (name == "SUM") return Aggregate::kSum;
  if (name == "AVERAGE") return Aggregate::kAverage;
  if (name == "MIN") return Aggregate::kMin;
  if (name == "MAX") return Aggregate::kMax;
  return invalid_model("{}: aggregate_function is \"{}\", expected SUM, AVERAGE, MIN or MAX", kName,
                       name);
}

Status infer(InferContext& c) {
  STOKER_ASSIGN(const Dim rows, infer_rows(c, kName));
  STOKER_TRY(aggregate_of(c.attributes).status());
  STOKER_TRY(post_transform_of(c.attributes, kName).status());
  const int64_t targets = c.attributes.get_int("n_targets", 1);
  if (targets < 1) return invalid_model("{}: n_targets is {}", kName, targets);
  set_output(c, 0, DType::kF32, {rows, Dim(targets)});
  return Status::ok();
}

Status evaluate(const EvalContext& c) {
  STOKER_ASSIGN(const Aggregate aggregate, aggregate_of(c.attributes));
  STOKER_ASSIGN(const PostTransform transform, post_transform_of(c.attributes, kName));
  STOKER_ASSIGN(const Forest forest,
                forest_of_tuples(c.attributes, kName, "target", c.outputs[0].shape.back()));
  return regress(forest, c, kName, aggregate, transform);
}

}  // namespace

extern const Op op_tree_ensemble_regressor;
const Op op_tree_ensemble_regressor = {
    .name = kName,
    .attributes = forest_attributes({{"aggregate_function", AttributeKind::kString},
                                     {"n_targets", AttributeKind::kInt},
                                     {"target_ids", AttributeKind::kInts},
                                     {"target_nodeids", AttributeKind::kInts},
                                     {"target_treeids", AttributeKind::kInts},
                                     {"target_weights", AttributeKind::kFloats},
                                     {"target_weights_as_tensor", AttributeKind::kTensor}}),
    .infer = infer,
    .evaluate = evaluate,
    .transcendental = true,
};

}  // namespace stoker
