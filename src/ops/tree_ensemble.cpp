// Decision trees with inner nodes and leaves in lists of their own, and nodes that ask whether a
// feature is a member of a set.
// SPDX-License-Identifier: Apache-2.0
#include "ops/forest.h"

namespace stoker {

namespace {

constexpr const char* kName = "tree_ensemble";

Status infer(InferContext& c) {
  STOKER_TRY(check_input(c, kName, 0, "input", kFloats));
  STOKER_ASSIGN(const Dim rows, infer_rows(c, kName));
  const int64_t targets = c.attributes.get_int("n_targets", 1);
  if (targets < 1) return invalid_model("{}: n_targets is {}", kName, targets);
  const int64_t aggregate = c.attributes.get_int("aggregate_function", 1);
  if (aggregate < 0 || aggregate > 3)
    return invalid_model("{}: aggregate_function is {}, expected 0 to 3", kName, aggregate);
  // The numbers are the standard's; ONNX Runtime 1.32 takes 1 for LOGISTIC and 2 for SOFTMAX.
  const int64_t transform = c.attributes.get_int("post_transform");
  if (transform < 0 || transform > 4)
    return invalid_model("{}: post_transform is {}, expected 0 to 4", kName, transform);
  set_output(c, 0, c.type(0).dtype, {rows, Dim(targets)});
  return Status::ok();
}

class ListReader {
 public:
  ListReader(const Attributes& attributes, int64_t targets)
      : attributes_(attributes), targets_(targets) {}

  Result<Forest> read() {
    STOKER_TRY(read_nodes());
    STOKER_TRY(read_members());
    STOKER_TRY(link());
    STOKER_TRY(read_leaves());
    for (const int64_t root : attributes_.get_ints("tree_roots")) {
      if (root < 0 || static_cast<size_t>(root) >= inner_)
        return invalid_model("{}: tree_roots holds {}, there are {} nodes", kName, root, inner_);
      forest_.roots.push_back(static_cast<size_t>(root));
    }
    return std::move(forest_);
  }

 private:
  Result<std::vector<int64_t>> ints(const char* name, size_t expected) const {
    std::vector<int64_t> list = attributes_.get_ints(name);
    if (list.size() == expected) return list;
    return invalid_model("{}: {} holds {} entries, expected {}", kName, name, list.size(),
                         expected);
  }
  std::vector<double> numbers(const char* name) const {
    const Tensor* tensor = attributes_.get_tensor(name);
    return tensor ? tensor_numbers(*tensor) : std::vector<double>();
  }

  Status read_nodes() {
    const std::vector<double> modes = numbers("nodes_modes"), splits = numbers("nodes_splits");
    inner_ = modes.size();
    leaves_ = attributes_.get_ints("leaf_targetids").size();
    STOKER_ASSIGN(const auto features, ints("nodes_featureids", inner_));
    if (splits.size() != inner_) {
      return invalid_model("{}: nodes_splits holds {} entries, expected {}", kName, splits.size(),
                           inner_);
    }
    std::vector<int64_t> missing(inner_, 0);
    if (attributes_.has("nodes_missing_value_tracks_true")) {
      STOKER_ASSIGN(missing, ints("nodes_missing_value_tracks_true", inner_));
    }
    forest_.nodes.resize(inner_ + leaves_);
    for (size_t i = 0; i < inner_; ++i) {
      if (!(modes[i] >= 0 && modes[i] <= 6))
        return invalid_model("{}: nodes_modes holds {}, expected 0 to 6", kName, modes[i]);
      if (features[i] < 0 || features[i] > (int64_t{1} << 40))
        return invalid_model("{}: nodes_featureids holds {}", kName, features[i]);
      TreeNode& node = forest_.nodes[i];
      node.mode = static_cast<TreeMode>(modes[i]);
      node.missing_is_yes = missing[i] != 0;
      node.feature = features[i];
      node.split = splits[i];
      forest_.features = std::max(forest_.features, node.feature + 1);
    }
    return Status::ok();
  }

  // The sets of the member nodes in the order of the nodes, each ended by a NaN.
  Status read_members() {
    const std::vector<double> values = numbers("membership_values");
    size_t at = 0;
    for (size_t i = 0; i < inner_; ++i) {
      TreeNode& node = forest_.nodes[i];
      if (node.mode != TreeMode::kMember) continue;
      if (at >= values.size()) {
        return invalid_model("{}: membership_values ends before the set of node {}", kName, i);
      }
      node.first = forest_.members.size();
      for (; at < values.size() && !std::isnan(values[at]); ++at)
        forest_.members.push_back(values[at]);
      ++at;
      node.count = forest_.members.size() - node.first;
      std::sort(forest_.members.begin() + static_cast<ptrdiff_t>(node.first),
                forest_.members.end());
    }
    return Status::ok();
  }

  Status link() {
    for (const bool branch : {true, false}) {
      STOKER_ASSIGN(const auto ids,
                    ints(branch ? "nodes_truenodeids" : "nodes_falsenodeids", inner_));
      STOKER_ASSIGN(const auto leafs,
                    ints(branch ? "nodes_trueleafs" : "nodes_falseleafs", inner_));
      for (size_t i = 0; i < inner_; ++i) {
        const size_t count = leafs[i] != 0 ? leaves_ : inner_;
        if (ids[i] < 0 || static_cast<size_t>(ids[i]) >= count) {
          return invalid_model("{}: node {} leads to {} {}, there are {}", kName, i,
                               leafs[i] != 0 ? "leaf" : "node", ids[i], count);
        }
        TreeNode& node = forest_.nodes[i];
        (branch ? node.yes : node.no) = static_cast<size_t>(ids[i]) + (leafs[i] != 0 ? inner_ : 0);
      }
    }
    return Status::ok();
  }

  Status read_leaves() {
    const auto targets = attributes_.get_ints("leaf_targetids");
    const std::vector<double> weights = numbers("leaf_weights");
    if (weights.size() != leaves_) {
      return invalid_model("{}: leaf_weights holds {} entries, expected {}", kName, weights.size(),
                           leaves_);
    }
    for (size_t i = 0; i < leaves_; ++i) {
      if (targets[i] < 0 || targets[i] >= targets_) {
        return invalid_model("{}: leaf_targetids holds {}, there are {} targets", kName, targets[i],
                             targets_);
      }
      TreeNode& leaf = forest_.nodes[inner_ + i];
      leaf.first = i;
      leaf.count = 1;
      forest_.votes.push_back({targets[i], weights[i]});
    }
    return Status::ok();
  }

  const Attributes& attributes_;
  int64_t targets_;
  size_t inner_ = 0, leaves_ = 0;
  Forest forest_;
};

Status evaluate(const EvalContext& c) {
  STOKER_ASSIGN(const Forest forest, ListReader(c.attributes, c.outputs[0].shape.back()).read());
  return regress(forest, c, kName,
                 static_cast<Aggregate>(c.attributes.get_int("aggregate_function", 1)),
                 static_cast<PostTransform>(c.attributes.get_int("post_transform")));
}

}  // namespace

extern const Op op_tree_ensemble;
const Op op_tree_ensemble = {
    .name = kName,
    .attributes = {{"aggregate_function", AttributeKind::kInt},
                   {"leaf_targetids", AttributeKind::kInts, true},
                   {"leaf_weights", AttributeKind::kTensor, true},
                   {"membership_values", AttributeKind::kTensor},
                   {"n_targets", AttributeKind::kInt},
                   {"nodes_falseleafs", AttributeKind::kInts, true},
                   {"nodes_falsenodeids", AttributeKind::kInts, true},
                   {"nodes_featureids", AttributeKind::kInts, true},
                   {"nodes_hitrates", AttributeKind::kTensor},
                   {"nodes_missing_value_tracks_true", AttributeKind::kInts},
                   {"nodes_modes", AttributeKind::kTensor, true},
                   {"nodes_splits", AttributeKind::kTensor, true},
                   {"nodes_trueleafs", AttributeKind::kInts, true},
                   {"nodes_truenodeids", AttributeKind::kInts, true},
                   {"post_transform", AttributeKind::kInt},
                   {"tree_roots", AttributeKind::kInts, true}},
    .infer = infer,
    .evaluate = evaluate,
    .transcendental = true,
};

}  // namespace stoker
