// Helpers that passes match and rewrite with.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "ir/constants.h"

namespace stoker {

// The producer when it is that op and does not itself belong to a weight recipe.
Node* producer_of(const Value* value, std::string_view op);
// Is the constant scalar equal to `expected` within what its dtype can hold?
bool is_scalar(const Value* value, double expected);
// One use, and not an output of the graph.
bool single_use(const Graph& graph, const Value* value);
// Axes of a reduction or softmax-like node, normalised; nullopt when they are not constant.
std::optional<std::vector<int64_t>> reduce_axes(const Node& node);

// Where each axis of a transpose's output comes from; the input is ranked.
std::vector<int64_t> permutation_of(const Node& transpose);

// The other operand of a binary node when one operand is `value`; null otherwise.
Value* other_operand(const Node& node, const Value* value);

// All uses of `from` become uses of `to`. When `from` is an output of the graph its name goes
// along, since callers know outputs by name. False (and nothing done) when that is impossible: `to`
// is an input, an output already, or a source weight.
bool replace_value(Graph& graph, Value* from, Value* to);

// A node whose first output replaces `old` and takes its name; types are inferred. Inserted before
// old's producer; `old` stays behind unused. Origins of `replaced` go along.
Result<Node*> replace_with_node(Graph& graph, Value* old, const Op& op, std::vector<Value*> inputs,
                                Attributes attributes, const std::vector<const Node*>& replaced);

// The same where `last` is the end of an expression that the new node says as a whole: the origins
// of all nodes that nothing else uses then go along. False, and nothing is changed, when a node
// inside rounds to a float narrower than f32: the one op would round once, and numbers would move.
Result<bool> replace_expression(Graph& graph, Node* last, std::string_view op,
                                std::vector<Value*> inputs, Attributes attributes = {});

// The same for a caller who knows that nothing inside rounds: always done, and the node comes back.
Result<Node*> absorb_expression(Graph& graph, Node* last, std::string_view op,
                                std::vector<Value*> inputs, Attributes attributes);

// A new node before `before`, inferred.
Result<Node*> insert_node(Graph& graph, Node* before, std::string_view op,
                          std::vector<Value*> inputs, Attributes attributes = {},
                          const std::string& name = "");

void append_origins(Node* node, const Node& from);
std::string origins_text(const Node& node);

// The node list as it stands, safe against changes while walking.
std::vector<Node*> node_snapshot(const Graph& graph);

}  // namespace stoker
