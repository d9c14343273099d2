// Sums of products over labelled axes: the operands are contracted one after the other, each label
// summed as soon as nothing later needs it.
// SPDX-License-Identifier: Apache-2.0
#include "ops/einsum_equation.h"
#include "ops/support.h"

namespace stoker {

namespace {

Result<EquationLabels> equation_labels(const Attributes& attributes,
                                       const std::vector<int>& ranks) {
  STOKER_ASSIGN(const Equation equation, parse_equation(attributes.get_string("equation")));
  return label_axes(equation, ranks);
}

// The extent of two axes of one label; one of extent 1 repeats.
Result<Dim> join(int label, const Dim& a, const Dim& b) {
  if (a == b || b == Dim(1)) return a;
  if (a == Dim(1)) return b;
  if (!a.is_const() || !b.is_const()) return a.is_const() ? a : b;
  if (label < 0)
    return invalid_model("einsum: '...' stands for extents {} and {}", a.text(), b.text());
  return invalid_model("einsum: label '{}' has extents {} and {}", static_cast<char>(label),
                       a.text(), b.text());
}

Status infer(InferContext& c) {
  std::vector<int> ranks;
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    STOKER_TRY(check_input(c, "einsum", i, "operand", kNumbers));
    STOKER_TRY(check_same_dtype(c, "einsum", 0, i));
    ranks.push_back(c.type(i).rank());
  }
  const DType dtype = c.type(0).dtype;
  if (!all_ranked(c)) return set_unranked(c, dtype);
  STOKER_ASSIGN(const EquationLabels labels, equation_labels(c.attributes, ranks));
  std::map<int, Dim> extents;
  for (size_t i = 0; i < ranks.size(); ++i) {
    for (size_t d = 0; d < labels.terms[i].size(); ++d) {
      const auto [at, first] = extents.emplace(labels.terms[i][d], c.type(i).dims[d]);
      if (!first) {
        STOKER_ASSIGN(at->second, join(at->first, at->second, c.type(i).dims[d]));
      }
    }
  }
  Dims dims;
  for (const int label : labels.output) dims.push_back(extents.at(label));
  set_output(c, 0, dtype, std::move(dims));
  return Status::ok();
}

// A dense operand whose labels are distinct.
template <class T>
struct Operand {
  Labels labels;
  Shape shape;
  std::vector<T> values;
};

bool holds(const Labels& labels, int label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

// Extent of a label in an operand; 1 where it has none.
int64_t extent_in(const Labels& labels, const Shape& shape, int label) {
  const auto at = std::find(labels.begin(), labels.end(), label);
  return at == labels.end() ? 1 : shape[static_cast<size_t>(at - labels.begin())];
}

// What one step over an axis of this label moves an operand by; a repeated label steps along the
// diagonal, extent 1 stays.
Shape steps_of(const Labels& wanted, const Labels& labels, const Shape& shape,
               const Shape& strides) {
  Shape steps(wanted.size(), 0);
  for (size_t i = 0; i < wanted.size(); ++i) {
    for (size_t d = 0; d < labels.size(); ++d) {
      if (labels[d] == wanted[i] && shape[d] != 1) steps[i] += strides[d];
    }
  }
  return steps;
}

// One operand on its own: diagonals taken, labels outside `keep` summed.
template <class T, class Load>
Result<Operand<T>> reduce_alone(const TensorView& x, const Labels& labels, const Labels& keep,
                                Load load) {
  Operand<T> result;
  Labels summed;
  Shape extents;
  for (size_t d = 0; d < labels.size(); ++d) {
    const int label = labels[d];
    int64_t extent = 1;
    for (size_t e = 0; e < labels.size(); ++e) {
      if (labels[e] == label && x.shape[e] != 1) extent = x.shape[e];
      if (labels[e] == label && x.shape[e] != 1 && x.shape[d] != 1 && x.shape[e] != x.shape[d])
        return invalid_argument("einsum: a label has extents {} and {} in one operand", x.shape[d],
                                x.shape[e]);
    }
    if (holds(result.labels, label) || holds(summed, label)) continue;
    if (holds(keep, label)) {
      result.labels.push_back(label);
      result.shape.push_back(extent);
    } else {
      summed.push_back(label);
      extents.push_back(extent);
    }
  }
  const Walk outer{result.shape, {steps_of(result.labels, labels, x.shape, x.strides)}};
  const Walk inner{extents, {steps_of(summed, labels, x.shape, x.strides)}};
  result.values.reserve(static_cast<size_t>(outer.count()));
  for_each_wanted(outer, {}, [&](const int64_t* o) {
    T sum = 0;
    for_each_wanted(inner, {}, [&](const int64_t* i) { sum += static_cast<T>(load(o[0] + i[0])); });
    result.values.push_back(sum);
  });
  return result;
}

// The product of two operands with the labels `out`; the others are summed. store(position, sum).
template <class T, class Store>
Status contract(const Operand<T>& a, const Operand<T>& b, const Labels& out, const Shape& out_shape,
                std::span<const int64_t> wanted, Store store) {
  Labels summed;
  Shape extents;
  for (const Labels* labels : {&a.labels, &b.labels}) {
    for (const int label : *labels) {
      const int64_t x = extent_in(a.labels, a.shape, label),
                    y = extent_in(b.labels, b.shape, label);
      if (x != y && x != 1 && y != 1)
        return invalid_argument("einsum: a label has extents {} and {}", x, y);
      if (holds(out, label) || holds(summed, label)) continue;
      summed.push_back(label);
      extents.push_back(x == 1 ? y : x);
    }
  }
  const Shape a_strides = dense_strides(a.shape), b_strides = dense_strides(b.shape);
  const Walk outer{out_shape,
                   {steps_of(out, a.labels, a.shape, a_strides),
                    steps_of(out, b.labels, b.shape, b_strides), dense_strides(out_shape)}};
  const Walk inner{extents,
                   {steps_of(summed, a.labels, a.shape, a_strides),
                    steps_of(summed, b.labels, b.shape, b_strides)}};
  for_each_wanted(outer, wanted, [&](const int64_t* o) {
    const T *x = a.values.data() + o[0], *y = b.values.data() + o[1];
    T sum = 0;
    for_each_wanted(inner, {}, [&](const int64_t* i) { sum += x[i[0]] * y[i[1]]; });
    store(o[2], sum);
  });
  return Status::ok();
}

// Labels that the output or an operand from `first` on has.
Labels needed_from(const EquationLabels& labels, size_t first) {
  Labels needed = labels.output;
  for (size_t i = first; i < labels.terms.size(); ++i)
    needed.insert(needed.end(), labels.terms[i].begin(), labels.terms[i].end());
  return needed;
}

template <class T, class MakeLoad, class Store>
Status run(const EvalContext& c, const EquationLabels& labels, MakeLoad make_load, Store store) {
  std::vector<Operand<T>> operands;
  const size_t n = labels.terms.size();
  for (size_t i = 0; i < n; ++i) {
    EquationLabels others = labels;
    others.terms[i].clear();
    STOKER_ASSIGN(Operand<T> operand, reduce_alone<T>(c.inputs[i], labels.terms[i],
                                                      needed_from(others, 0), make_load(i)));
    operands.push_back(std::move(operand));
  }
  Operand<T> product = std::move(operands[0]);
  for (size_t i = 1; i + 1 < n; ++i) {
    const Labels needed = needed_from(labels, i + 1);
    Operand<T> next;
    for (const Operand<T>* from : {&product, &operands[i]}) {
      for (const int label : from->labels) {
        if (!holds(needed, label) || holds(next.labels, label)) continue;
        const int64_t x = extent_in(product.labels, product.shape, label);
        next.labels.push_back(label);
        next.shape.push_back(x == 1 ? extent_in(operands[i].labels, operands[i].shape, label) : x);
      }
    }
    STOKER_ASSIGN(const int64_t count, element_count(next.shape));
    next.values.resize(static_cast<size_t>(count));
    STOKER_TRY(contract(product, operands[i], next.labels, next.shape, {},
                        [&](int64_t at, T sum) { next.values[static_cast<size_t>(at)] = sum; }));
    product = std::move(next);
  }
  const Operand<T> one{{}, {}, {T{1}}};
  const Operand<T>& last = n > 1 ? operands[n - 1] : one;
  const Shape& shape = c.outputs[0].shape;
  for (size_t d = 0; d < shape.size(); ++d) {
    for (const Operand<T>* from : {&std::as_const(product), &last}) {
      const int64_t extent = extent_in(from->labels, from->shape, labels.output[d]);
      if (extent != 1 && extent != shape[d])
        return invalid_argument("einsum: axis {} of the output has extent {}, expected {}", d,
                                shape[d], extent);
    }
  }
  return contract(product, last, labels.output, shape, c.wanted, store);
}

Status evaluate(const EvalContext& c) {
  std::vector<int> ranks;
  for (const TensorView& input : c.inputs) ranks.push_back(input.rank());
  STOKER_ASSIGN(const EquationLabels labels, equation_labels(c.attributes, ranks));
  if (static_cast<int>(labels.output.size()) != c.outputs[0].rank())
    return invalid_argument("einsum: the output has shape {}", shape_text(c.outputs[0].shape));
  const Writer write(c.outputs[0]);
  if (is_integer(c.inputs[0].dtype)) {
    return run<uint64_t>(
        c, labels,
        [&](size_t i) {
          return [load = load_int(c.inputs[i].dtype), data = c.inputs[i].data](int64_t at) {
            return load(data, at);
          };
        },
        [&](int64_t at, uint64_t sum) { write.integer(at, static_cast<int64_t>(sum)); });
  }
  return run<double>(
      c, labels,
      [&](size_t i) {
        return [load = load_double(c.inputs[i].dtype), data = c.inputs[i].data](int64_t at) {
          return load(data, at);
        };
      },
      [&](int64_t at, double sum) { write.number(at, sum); });
}

}  // namespace

extern const Op op_einsum;
const Op op_einsum = {
    .name = "einsum",
    .min_inputs = 1,
    .max_inputs = -1,
    .attributes = {{"equation", AttributeKind::kString, true}},
    .infer = infer,
    .evaluate = evaluate,
};

}  // namespace stoker
