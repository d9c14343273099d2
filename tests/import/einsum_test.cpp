// Einsum nodes of one and two operands become ordinary ops that give what the einsum op gives.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "tests/import/onnx_builder.h"

namespace stoker::test {
namespace {

Tensor numbers(const Shape& shape, int seed) {
  int64_t count = 1;
  for (const int64_t extent : shape) count *= extent;
  std::vector<float> values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>((static_cast<int>(i) * 7 + seed * 5) % 11 - 5);
  return Tensor::from<float>(shape, values);
}

// Imports with symbolic extents where `symbols` says so; gives whether an einsum op is left.
bool check(const std::string& equation, const std::vector<Shape>& shapes, bool symbols = false) {
  SCOPED_TRACE(equation);
  ModelText model(13);
  Names names;
  TensorMap inputs;
  std::vector<Tensor> operands;
  const auto parsed = symbols ? equation : std::string();
  size_t at = 0;
  for (size_t k = 0; k < shapes.size(); ++k) {
    names.push_back(std::string(1, static_cast<char>('p' + k)));
    Names extents;
    for (const int64_t extent : shapes[k]) {
      // The label itself names the size.
      extents.push_back(symbols ? "N" + std::string(1, parsed[at++]) : std::to_string(extent));
    }
    ++at;  // the comma
    model.input(names[k], extents);
    operands.push_back(numbers(shapes[k], static_cast<int>(k)));
    inputs[names[k]] = operands.back();
  }
  model.output("y");
  model.node("Einsum", names, {"y"}).set("equation", equation);
  const auto imported = import_text(model);
  EXPECT_TRUE(imported.is_ok()) << imported.status().message();
  if (!imported.is_ok()) return false;
  const Status valid = verify(*imported->graph);
  EXPECT_TRUE(valid.is_ok()) << valid.message();
  const auto got = evaluate(*imported->graph, inputs);
  const auto want = evaluate_op(*find_op("einsum"), {{"equation", equation}}, operands, 1);
  EXPECT_TRUE(got.is_ok()) << got.status().message();
  EXPECT_TRUE(want.is_ok()) << want.status().message();
  if (!got.is_ok() || !want.is_ok()) return false;
  EXPECT_EQ((*got)[0].shape(), (*want)[0].shape());
  for (int64_t i = 0; i < (*want)[0].count(); ++i) {
    EXPECT_EQ((*got)[0].values<float>()[static_cast<size_t>(i)],
              (*want)[0].values<float>()[static_cast<size_t>(i)])
        << "element " << i;
  }
  const auto& nodes = imported->graph->nodes();
  return std::any_of(nodes.begin(), nodes.end(), [](const auto& n) { return n->is("einsum"); });
}

TEST(Einsum, BecomesOrdinaryOps) {
  const std::pair<const char*, std::vector<Shape>> cases[] = {
      {"ij->ji", {{2, 3}}},
      {"ij->ij", {{2, 3}}},
      {"ijk->ki", {{2, 3, 4}}},
      {"ij->", {{2, 3}}},
      {"ij,jk->ik", {{2, 3}, {3, 4}}},
      {"ij,kj->ki", {{2, 3}, {4, 3}}},
      {"bij,bjk->bik", {{2, 3, 4}, {2, 4, 2}}},
      {"bhid,bhjd->bhij", {{2, 2, 3, 4}, {2, 2, 5, 4}}},
      {"bhij,bhjd->bihd", {{2, 2, 3, 4}, {2, 2, 4, 5}}},
      {"bqhd,hdo->bqo", {{2, 3, 2, 4}, {2, 4, 5}}},
      {"bqhd,bkhd->bhqk", {{2, 3, 2, 4}, {2, 5, 2, 4}}},
      {"bi,oi->bo", {{2, 3}, {4, 3}}},
      {"abi,cdi->dacb", {{2, 3, 2}, {2, 3, 2}}},
      {"i,j->ij", {{3}, {2}}},
      {"i,j->ji", {{3}, {2}}},
      {"i,i->", {{3}, {3}}},
      {"i,i->i", {{3}, {3}}},
      {"ij,j->i", {{2, 3}, {3}}},
      {"j,ij->i", {{3}, {2, 3}}},
      {"bi,bi->b", {{2, 3}, {2, 3}}},
      {"ijk,k->j", {{2, 3, 4}, {4}}},
      {"ik,jl->", {{2, 3}, {3, 2}}},
      {"bij,b->ij", {{2, 3, 4}, {2}}},
  };
  for (const auto& [equation, shapes] : cases) {
    EXPECT_FALSE(check(equation, shapes)) << equation;
    EXPECT_FALSE(check(equation, shapes, true)) << equation << " with symbols";
  }
  EXPECT_FALSE(check("...ij,...jk->...ik", {{2, 3, 4}, {2, 4, 2}}));
  EXPECT_FALSE(check("...ij,...jk->...ik", {{2, 3, 4}, {4, 2}}));
  EXPECT_FALSE(check("ij,jk", {{2, 3}, {3, 4}}));
}

TEST(Einsum, StaysWhereOnlyItHasTheMeaning) {
  EXPECT_TRUE(check("ii->i", {{3, 3}}));
  EXPECT_TRUE(check("ij,jk,kl->il", {{2, 3}, {3, 2}, {2, 2}}));
  EXPECT_TRUE(check("i,i->i", {{1}, {3}}));
  EXPECT_TRUE(check("ij,jk->ik", {{2, 0}, {0, 3}}));
}

}  // namespace
}  // namespace stoker::test
