// SPDX-License-Identifier: Apache-2.0
#include "zoo/transformer.h"

#include <cmath>

namespace stoker::zoo {

double deviation_for(int64_t in, double gain) { return gain / std::sqrt(static_cast<double>(in)); }

std::string project(ModelBuilder& model, const std::string& x, int64_t in, int64_t out,
                    const std::string& name, double deviation) {
  return model.node("MatMul", {x, model.normal(name + ".weight", {in, out}, deviation)});
}

std::string dense(ModelBuilder& model, const std::string& x, int64_t in, int64_t out,
                  const std::string& name, double deviation) {
  const std::string product = project(model, x, in, out, name, deviation);
  return model.node("Add", {model.uniform(name + ".bias", {out}, -0.02, 0.02), product});
}

namespace {

std::string scale_of(ModelBuilder& model, int64_t width, const std::string& name) {
  return model.uniform(name + ".weight", {width}, 0.9, 1.1);
}

std::string shift_of(ModelBuilder& model, int64_t width, const std::string& name) {
  return model.uniform(name + ".bias", {width}, -0.05, 0.05);
}

}  // namespace

std::string layer_norm_nodes(ModelBuilder& model, const std::string& x, int64_t width,
                             float epsilon, const std::string& name, const std::string& output) {
  const AttributeList last = {{"axes", Ints{-1}}, {"keepdims", int64_t{1}}};
  const std::string mean = model.node("ReduceMean", {x}, last);
  const std::string centered = model.node("Sub", {x, mean});
  const std::string squared = model.node("Pow", {centered, model.scalar("two", 2.0f)});
  const std::string variance = model.node("ReduceMean", {squared}, last);
  const std::string deviation =
      model.node("Sqrt", {model.node("Add", {variance, model.scalar("epsilon", epsilon)})});
  const std::string normal = model.node("Div", {centered, deviation});
  const std::string scaled = model.node("Mul", {normal, scale_of(model, width, name)});
  return model.node("Add", {scaled, shift_of(model, width, name)}, {}, output);
}

std::string layer_norm(ModelBuilder& model, const std::string& x, int64_t width, float epsilon,
                       const std::string& name, const std::string& output) {
  const std::string scale = scale_of(model, width, name);
  return model.node("LayerNormalization", {x, scale, shift_of(model, width, name)},
                    {{"axis", int64_t{-1}}, {"epsilon", epsilon}}, output);
}

std::string gelu(ModelBuilder& model, const std::string& x) {
  const std::string erf =
      model.node("Erf", {model.node("Div", {x, model.scalar("sqrt_two", 1.41421356f)})});
  const std::string shifted = model.node("Add", {erf, model.scalar("one", 1.0f)});
  const std::string doubled = model.node("Mul", {x, shifted});
  return model.node("Mul", {doubled, model.scalar("half", 0.5f)});
}

std::string split_heads(ModelBuilder& model, const std::string& x, int64_t heads, int64_t size,
                        const Ints& permutation) {
  const std::string shape = heads < 0 ? "split_heads" : "split_" + std::to_string(heads) + "_heads";
  const std::string split = model.node("Reshape", {x, model.ints(shape, {0, 0, heads, size})});
  return model.node("Transpose", {split}, {{"perm", permutation}});
}

std::string join_heads(ModelBuilder& model, const std::string& x, int64_t hidden) {
  const std::string rows = model.node("Transpose", {x}, {{"perm", Ints{0, 2, 1, 3}}});
  return model.node("Reshape", {rows, model.ints("join_heads", {0, 0, hidden})});
}

std::string softmax(ModelBuilder& model, const std::string& x) {
  return model.node("Softmax", {x}, {{"axis", int64_t{-1}}});
}

std::string extent_of(ModelBuilder& model, const std::string& x, int64_t axis) {
  const std::string index = model.scalar("index_" + std::to_string(axis), axis);
  const std::string extent =
      model.node("Gather", {model.node("Shape", {x}), index}, {{"axis", int64_t{0}}});
  return model.node("Unsqueeze", {extent, model.ints("axes_0", {0})});
}

}  // namespace stoker::zoo
