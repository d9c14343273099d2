// The large word-level LSTM language model: 10,000 words, two layers of 1,500 cells, 66 M weights;
// state in, state out. Weights named as in PyTorch's word_language_model example. Zaremba et al.,
// "Recurrent Neural Network Regularization", 2014.
// SPDX-License-Identifier: Apache-2.0
#include "zoo/models.h"
#include "zoo/transformer.h"

namespace stoker::zoo {

namespace {

constexpr int64_t kWords = 10000;
constexpr int64_t kCells = 1500;
constexpr int64_t kLayers = 2;

std::string state_of(ModelBuilder& model, const std::string& states, int64_t layer) {
  const auto index = [&](int64_t i) { return model.ints("at_" + std::to_string(i), {i}); };
  return model.node("Slice", {states, index(layer), index(layer + 1), index(0)});
}

}  // namespace

void build_lstm(ModelBuilder& model) {
  const std::string ids = model.input("input_ids", Elements::kI64, {"S", "N"});
  const std::string hidden = model.input("h0", Elements::kF32, {kLayers, "N", kCells});
  const std::string cells = model.input("c0", Elements::kF32, {kLayers, "N", kCells});
  const std::string table = model.normal("encoder.weight", {kWords, kCells}, 1);
  std::string x = model.node("Gather", {table, ids}, {{"axis", int64_t{0}}});
  std::vector<std::string> last_hidden, last_cells;
  for (int64_t i = 0; i < kLayers; ++i) {
    const std::string suffix = "_l" + std::to_string(i);
    // An input of deviation 1 at first, outputs of an LSTM, about 0.4, behind it.
    const std::string weight = model.normal("rnn.weight_ih" + suffix, {1, 4 * kCells, kCells},
                                            deviation_for(kCells, i == 0 ? 1.5 : 3));
    const std::string recurrent =
        model.normal("rnn.weight_hh" + suffix, {1, 4 * kCells, kCells}, deviation_for(kCells, 1.5));
    const std::string bias = model.uniform("rnn.bias" + suffix, {1, 8 * kCells}, -0.1, 0.1);
    const std::vector<std::string> outputs = {model.fresh("LSTM"), model.fresh("LSTM"),
                                              model.fresh("LSTM")};
    model.node(
        "LSTM",
        {x, weight, recurrent, bias, "", state_of(model, hidden, i), state_of(model, cells, i)},
        {{"hidden_size", kCells}}, outputs);
    x = model.node("Squeeze", {outputs[0], model.ints("axes_1", {1})});
    last_hidden.push_back(outputs[1]);
    last_cells.push_back(outputs[2]);
  }
  model.node("Concat", last_hidden, {{"axis", int64_t{0}}}, "hn");
  model.node("Concat", last_cells, {{"axis", int64_t{0}}}, "cn");
  const std::string logits = model.node(
      "MatMul", {x, model.normal("decoder.weight", {kCells, kWords}, deviation_for(kCells, 3))});
  model.node("Add", {logits, model.uniform("decoder.bias", {kWords}, -0.1, 0.1)}, {}, "logits");
  model.output("logits", Elements::kF32, {"S", "N", kWords});
  model.output("hn", Elements::kF32, {kLayers, "N", kCells});
  model.output("cn", Elements::kF32, {kLayers, "N", kCells});
}

}  // namespace stoker::zoo
