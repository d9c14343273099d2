// Decision trees: what the three tree ensemble ops share.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/ml.h"

namespace stoker {

// The order of the first seven is that of TreeEnsemble's integers.
enum class TreeMode : uint8_t { kLeq, kLt, kGte, kGt, kEq, kNeq, kMember, kLeaf };
enum class Aggregate { kAverage, kSum, kMin, kMax };  // in TreeEnsemble's order

struct TreeVote {
  int64_t target = 0;
  double weight = 0;
};

struct TreeNode {
  TreeMode mode = TreeMode::kLeaf;
  bool missing_is_yes = false;
  int64_t feature = 0;
  double split = 0;
  size_t yes = 0, no = 0;       // nodes
  size_t first = 0, count = 0;  // of a leaf: its votes; of a member node: its members, sorted
};

// Its nodes refer only to nodes, votes and members that exist.
struct Forest {
  std::vector<TreeNode> nodes;
  std::vector<size_t> roots;
  std::vector<TreeVote> votes;  // a leaf's stand together
  std::vector<double> members;
  int64_t features = 0;  // 1 + the largest feature of a node
  std::vector<double> base;

  // The leaf that a row ends in; null when the nodes form a circle.
  const TreeNode* leaf_of(size_t root, const double* row) const;
};

// Of TreeEnsembleClassifier and TreeEnsembleRegressor, whose votes are the attributes that start
// with `prefix` ("class", "target"); targets are below `targets`.
Result<Forest> forest_of_tuples(const Attributes& attributes, const char* op,
                                const std::string& prefix, int64_t targets);

// The attributes of those ops but for the votes and labels.
std::vector<AttributeDef> forest_attributes(std::initializer_list<AttributeDef> more);

// Runs body(leaf) for every tree on one row.
template <class Body>
Status for_each_leaf(const Forest& forest, const char* op, const double* row, Body&& body) {
  for (const size_t root : forest.roots) {
    const TreeNode* leaf = forest.leaf_of(root, row);
    if (!leaf) return invalid_model("{}: the nodes of a tree form a circle", op);
    body(*leaf);
  }
  return Status::ok();
}
Status check_features(const Forest& forest, const char* op, const TensorView& x);

// The regression: y[N,targets] of x[N,F].
Status regress(const Forest& forest, const EvalContext& c, const char* op, Aggregate aggregate,
               PostTransform transform);

}  // namespace stoker
