// Which values of two engines are the same value of the network: passes keep the name of a value
// with what it holds, so two values of one name that stand for a common node of the model are.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "runtime/loaded_engine.h"

namespace stoker {

// A value that a step of an engine makes.
struct MadeValue {
  int32_t program = 0, step = 0;
  size_t output = 0;    // of the step
  int32_t tensor = -1;  // another one than that output where the value is a reshape of it
  bool written = true;  // it is that output
};

class ValueTable {
 public:
  explicit ValueTable(const LoadedEngine& engine);

  // By name; values of sub-graphs have the steps that run them in front. Layout changes and other
  // steps that stand for no node of the model are left out, reshapes without a step are in.
  const std::map<std::string, MadeValue>& values() const { return values_; }
  const PlanStep& step(const MadeValue& value) const;
  const PlanTensor& tensor(const MadeValue& value) const;

  // What a value is made of: the nearest values on the way up that `stops` takes, and the nodes
  // between.
  struct Ancestry {
    std::vector<std::string> values, nodes;
  };
  Ancestry ancestry(const MadeValue& value,
                    const std::function<bool(const std::string&)>& stops) const;

 private:
  struct Position {
    int32_t program = -1, index = -1;  // of a step or tensor; -1: none
    auto operator<=>(const Position&) const = default;
  };
  struct Source {
    int32_t step = -1;  // that writes the tensor
    size_t output = 0;
  };
  const PlanProgram& program(int32_t index) const {
    return contents_.programs[static_cast<size_t>(index)];
  }
  void enter(int32_t program, const std::string& scope);
  void add_value(int32_t program, int32_t tensor, const std::string& scope);
  std::vector<Position> parents_of(const Position& tensor) const;

  const EngineContents& contents_;
  std::map<std::string, MadeValue> values_;
  std::map<Position, std::string> names_;     // of tensors
  std::vector<std::vector<Source>> sources_;  // by program and tensor
  std::vector<Position> callers_;             // by program: the `call` step that runs it
};

}  // namespace stoker
