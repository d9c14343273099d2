// Looking at values while an engine runs.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "stoker/value.h"

namespace stoker {

class Executor;

// Called after each step. An executor or interpreter with an observer runs on the caller's thread
// alone, in the same order and memory as always: units compute the same bits whoever runs them.
class RunObserver {
 public:
  virtual ~RunObserver() = default;
  // A step of a static program: Executor::output says where its results lie, and later steps take
  // that memory again. `program`, `step`: positions in the engine.
  virtual void after_step(int32_t program, const Executor& executor, int32_t step) = 0;
  // Output `output` of a step of a dynamic program.
  virtual void after_value(int32_t program, int32_t step, size_t output, const AnyValue& value) = 0;
};

}  // namespace stoker
