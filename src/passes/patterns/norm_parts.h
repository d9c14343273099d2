// What the patterns of normalisations share: something divided by the root of a mean of squares.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "passes/match.h"
#include "passes/pass.h"

namespace stoker {

// centred / sqrt(mean(squared^2) + epsilon); casts between f32 and half floats are
// looked through.
struct RootMeanSquare {
  Value* squared = nullptr;
  int64_t axis = 0;  // the first of the trailing axes
  double epsilon = 0;
};

// The root of such an expression: sqrt, or pow with the exponent 0.5 or -0.5.
bool is_root(const Node& node);
std::optional<RootMeanSquare> match_root(const Node& root);
// The node that divides `numerator` by the root, through a reciprocal and casts too; else null.
Node* division_by_root(const Graph& graph, Node* root, const Value* numerator);

// The axis from which on all axes are reduced with their extents kept; -1 otherwise.
int64_t trailing_axis(const Node& mean);
// The value behind such casts.
Value* behind_casts(Value* value);

// The next node when it is `op` with a constant that has exactly this shape.
Node* affine(const Graph& graph, const Value* value, std::string_view op, const Dims& shape,
             Value** parameter);
// What one rewrite does with the root of such an expression.
using RootRewrite = Result<bool> (*)(Graph& graph, Node* root);
// Offers every root to the rewrite; the number of changes.
Result<int> rewrite_roots(Graph& graph, RootRewrite rewrite);
// The normalisation of inputs[0] over the axes from `axis` on takes the expression's place.
Result<bool> replace_by_norm(Graph& graph, Node* last, std::string_view op, int64_t axis,
                             double epsilon, std::vector<Value*> inputs);

// A constant of ones before a node; null when the shape is not known.
Result<Value*> ones(Graph& graph, DType dtype, const Dims& shape, Node* before);

}  // namespace stoker
