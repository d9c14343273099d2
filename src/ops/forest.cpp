// SPDX-License-Identifier: Apache-2.0
#include "ops/forest.h"

#include <map>

namespace stoker {

namespace {

bool goes_yes(const Forest& forest, const TreeNode& node, double x) {
  if (std::isnan(x) && node.missing_is_yes) return true;
  switch (node.mode) {
    case TreeMode::kLeq: return x <= node.split;
    case TreeMode::kLt: return x < node.split;
    case TreeMode::kGte: return x >= node.split;
    case TreeMode::kGt: return x > node.split;
    case TreeMode::kEq: return x == node.split;
    case TreeMode::kNeq: return x != node.split;
    case TreeMode::kMember: {
      const auto begin = forest.members.begin() + static_cast<ptrdiff_t>(node.first);
      return std::binary_search(begin, begin + static_cast<ptrdiff_t>(node.count), x);
    }
    case TreeMode::kLeaf: break;
  }
  return false;
}

std::optional<TreeMode> mode_of(const std::string& name) {
  constexpr std::pair<std::string_view, TreeMode> names[] = {
      {"BRANCH_LEQ", TreeMode::kLeq}, {"BRANCH_LT", TreeMode::kLt}, {"BRANCH_GTE", TreeMode::kGte},
      {"BRANCH_GT", TreeMode::kGt},   {"BRANCH_EQ", TreeMode::kEq}, {"BRANCH_NEQ", TreeMode::kNeq},
      {"LEAF", TreeMode::kLeaf}};
  for (const auto& [known, mode] : names) {
    if (known == name) return mode;
  }
  return std::nullopt;
}

// Node numbers by tree and node id.
class NodeIds {
 public:
  using Key = std::pair<int64_t, int64_t>;
  NodeIds(const std::vector<int64_t>& trees, const std::vector<int64_t>& nodes) {
    for (size_t i = 0; i < trees.size(); ++i) list_.push_back({{trees[i], nodes[i]}, i});
    std::sort(list_.begin(), list_.end());
  }
  std::optional<Key> twice() const {
    const auto found =
        std::adjacent_find(list_.begin(), list_.end(),
                           [](const auto& a, const auto& b) { return a.first == b.first; });
    return found == list_.end() ? std::nullopt : std::optional(found->first);
  }
  std::optional<size_t> find(const Key& key) const {
    const auto found = std::lower_bound(list_.begin(), list_.end(), std::pair(key, size_t{0}));
    if (found == list_.end() || found->first != key) return std::nullopt;
    return found->second;
  }

 private:
  std::vector<std::pair<Key, size_t>> list_;
};

// Reads one op's tuples into a forest.
class TupleReader {
 public:
  TupleReader(const Attributes& attributes, const char* op) : attributes_(attributes), op_(op) {}

  Status read_nodes() {
    trees_ = attributes_.get_ints("nodes_treeids");
    ids_ = attributes_.get_ints("nodes_nodeids");
    const size_t count = ids_.size();
    const auto modes = attribute_strings(attributes_, "nodes_modes");
    const auto features = attributes_.get_ints("nodes_featureids");
    const auto splits = attribute_numbers(attributes_, "nodes_values");
    const auto missing = attributes_.get_ints("nodes_missing_value_tracks_true");
    STOKER_TRY(check_length("nodes_treeids", trees_.size(), count));
    STOKER_TRY(check_length("nodes_modes", modes.size(), count));
    STOKER_TRY(check_length("nodes_featureids", features.size(), count));
    STOKER_TRY(check_length("nodes_values", splits.size(), count));
    if (!missing.empty())
      STOKER_TRY(check_length("nodes_missing_value_tracks_true", missing.size(), count));
    forest_.nodes.resize(count);
    for (size_t i = 0; i < count; ++i) {
      const auto mode = mode_of(modes[i]);
      if (!mode) {
        return invalid_model(
            "{}: nodes_modes holds \"{}\", expected BRANCH_LEQ, BRANCH_LT, "
            "BRANCH_GTE, BRANCH_GT, BRANCH_EQ, BRANCH_NEQ or LEAF",
            op_, modes[i]);
      }
      TreeNode& node = forest_.nodes[i];
      node.mode = *mode;
      node.split = splits[i];
      node.missing_is_yes = !missing.empty() && missing[i] != 0;
      if (*mode == TreeMode::kLeaf) continue;
      node.feature = features[i];
      if (node.feature < 0 || node.feature > (int64_t{1} << 40))
        return invalid_model("{}: nodes_featureids holds {}", op_, node.feature);
      forest_.features = std::max(forest_.features, node.feature + 1);
    }
    return Status::ok();
  }

  Status link(const NodeIds& numbers) {
    const auto yes = attributes_.get_ints("nodes_truenodeids");
    const auto no = attributes_.get_ints("nodes_falsenodeids");
    STOKER_TRY(check_length("nodes_truenodeids", yes.size(), ids_.size()));
    STOKER_TRY(check_length("nodes_falsenodeids", no.size(), ids_.size()));
    std::vector<bool> is_child(ids_.size());
    for (size_t i = 0; i < ids_.size(); ++i) {
      TreeNode& node = forest_.nodes[i];
      if (node.mode == TreeMode::kLeaf) continue;
      for (const bool branch : {true, false}) {
        const int64_t id = branch ? yes[i] : no[i];
        const auto child = numbers.find({trees_[i], id});
        if (!child) {
          return invalid_model("{}: node {} of tree {} leads to node {}, which does not exist", op_,
                               ids_[i], trees_[i], id);
        }
        (branch ? node.yes : node.no) = *child;
        is_child[*child] = true;
      }
    }
    std::map<int64_t, bool> rooted;
    for (size_t i = 0; i < ids_.size(); ++i) {
      bool& has_root = rooted[trees_[i]];
      if (is_child[i]) continue;
      if (has_root) return invalid_model("{}: tree {} has several roots", op_, trees_[i]);
      has_root = true;
      forest_.roots.push_back(i);
    }
    for (const auto& [tree, has_root] : rooted) {
      if (!has_root) return invalid_model("{}: the nodes of tree {} form a circle", op_, tree);
    }
    return Status::ok();
  }

  Status read_votes(const NodeIds& numbers, const std::string& prefix, int64_t targets) {
    const auto trees = attributes_.get_ints(prefix + "_treeids");
    const auto ids = attributes_.get_ints(prefix + "_nodeids");
    const auto of = attributes_.get_ints(prefix + "_ids");
    const auto weights = attribute_numbers(attributes_, prefix + "_weights");
    STOKER_TRY(check_length(prefix + "_treeids", trees.size(), ids.size()));
    STOKER_TRY(check_length(prefix + "_ids", of.size(), ids.size()));
    STOKER_TRY(check_length(prefix + "_weights", weights.size(), ids.size()));
    std::vector<std::pair<size_t, TreeVote>> votes;
    for (size_t i = 0; i < ids.size(); ++i) {
      const auto node = numbers.find({trees[i], ids[i]});
      if (!node) {
        return invalid_model("{}: a vote is of node {} of tree {}, which does not exist", op_,
                             ids[i], trees[i]);
      }
      if (of[i] < 0 || of[i] >= targets) {
        return invalid_model("{}: {}_ids holds {}, there are {}", op_, prefix, of[i], targets);
      }
      votes.push_back({*node, {of[i], weights[i]}});
    }
    std::stable_sort(votes.begin(), votes.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    for (const auto& [number, vote] : votes) {
      TreeNode& node = forest_.nodes[number];
      // Votes of inner nodes are never counted.
      if (node.mode != TreeMode::kLeaf) continue;
      if (node.count++ == 0) node.first = forest_.votes.size();
      forest_.votes.push_back(vote);
    }
    return Status::ok();
  }

  Result<Forest> read(const std::string& prefix, int64_t targets) {
    STOKER_TRY(read_nodes());
    const NodeIds numbers(trees_, ids_);
    if (const auto twice = numbers.twice())
      return invalid_model("{}: tree {} has node {} twice", op_, twice->first, twice->second);
    STOKER_TRY(link(numbers));
    STOKER_TRY(read_votes(numbers, prefix, targets));
    forest_.base = attribute_numbers(attributes_, "base_values");
    return std::move(forest_);
  }

 private:
  Status check_length(const std::string& name, size_t found, size_t expected) const {
    if (found == expected) return Status::ok();
    return invalid_model("{}: {} holds {} entries, expected {}", op_, name, found, expected);
  }

  const Attributes& attributes_;
  const char* op_;
  Forest forest_;
  std::vector<int64_t> trees_, ids_;
};

}  // namespace

const TreeNode* Forest::leaf_of(size_t root, const double* row) const {
  const TreeNode* node = &nodes[root];
  for (size_t steps = 0; steps <= nodes.size(); ++steps) {
    if (node->mode == TreeMode::kLeaf) return node;
    node = &nodes[goes_yes(*this, *node, row[node->feature]) ? node->yes : node->no];
  }
  return nullptr;
}

Result<Forest> forest_of_tuples(const Attributes& attributes, const char* op,
                                const std::string& prefix, int64_t targets) {
  return TupleReader(attributes, op).read(prefix, targets);
}

std::vector<AttributeDef> forest_attributes(std::initializer_list<AttributeDef> more) {
  std::vector<AttributeDef> list = {{"base_values", AttributeKind::kFloats},
                                    {"base_values_as_tensor", AttributeKind::kTensor},
                                    {"nodes_falsenodeids", AttributeKind::kInts},
                                    {"nodes_featureids", AttributeKind::kInts},
                                    {"nodes_hitrates", AttributeKind::kFloats},
                                    {"nodes_hitrates_as_tensor", AttributeKind::kTensor},
                                    {"nodes_missing_value_tracks_true", AttributeKind::kInts},
                                    {"nodes_modes", AttributeKind::kStrings},
                                    {"nodes_nodeids", AttributeKind::kInts},
                                    {"nodes_treeids", AttributeKind::kInts},
                                    {"nodes_truenodeids", AttributeKind::kInts},
                                    {"nodes_values", AttributeKind::kFloats},
                                    {"nodes_values_as_tensor", AttributeKind::kTensor},
                                    {"post_transform", AttributeKind::kString}};
  list.insert(list.end(), more);
  return list;
}

Status check_features(const Forest& forest, const char* op, const TensorView& x) {
  const Rows rows = rows_of(x);
  if (rows.features >= forest.features) return Status::ok();
  return invalid_argument("{}: the input has {} features, the trees ask for {}", op, rows.features,
                          forest.features);
}

namespace {

// The value of one target over the trees that vote for it.
struct Score {
  double value = 0;
  bool voted = false;

  void add(double weight, Aggregate aggregate) {
    if (aggregate == Aggregate::kMin) {
      value = voted ? std::min(value, weight) : weight;
    } else if (aggregate == Aggregate::kMax) {
      value = voted ? std::max(value, weight) : weight;
    } else {
      value += weight;
    }
    voted = true;
  }
};

}  // namespace

Status regress(const Forest& forest, const EvalContext& c, const char* op, Aggregate aggregate,
               PostTransform transform) {
  const TensorView &x = c.inputs[0], &y = c.outputs[0];
  STOKER_TRY(check_features(forest, op, x));
  const Rows rows = rows_of(x);
  if (y.rank() != 2 || y.shape[0] != rows.count) {
    return invalid_argument("{}: input {} and output {} do not belong together", op,
                            shape_text(x.shape), shape_text(y.shape));
  }
  const size_t targets = static_cast<size_t>(y.shape[1]);
  if (!forest.base.empty() && forest.base.size() != targets) {
    return invalid_model("{}: base_values holds {} numbers, expected {}", op, forest.base.size(),
                         targets);
  }
  const std::vector<double> values = to_doubles(x);
  const Writer write(y);
  const double trees = static_cast<double>(std::max<size_t>(forest.roots.size(), 1));
  for (int64_t n = 0; n < rows.count; ++n) {
    std::vector<Score> scores(targets);
    STOKER_TRY(for_each_leaf(forest, op, values.data() + n * rows.features, [&](const auto& leaf) {
      for (size_t i = leaf.first; i < leaf.first + leaf.count; ++i)
        scores[forest.votes[i].target].add(forest.votes[i].weight, aggregate);
    }));
    std::vector<double> row;
    for (size_t k = 0; k < targets; ++k) {
      const double value = scores[k].value / (aggregate == Aggregate::kAverage ? trees : 1);
      row.push_back(value + (forest.base.empty() ? 0 : forest.base[k]));
    }
    transform_scores(transform, row);
    for (size_t k = 0; k < targets; ++k)
      write.number(n * static_cast<int64_t>(targets) + static_cast<int64_t>(k), row[k]);
  }
  return Status::ok();
}

}  // namespace stoker
