// TacticOracle: how a pass asks about kernels without knowing any. Injected by the caller.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ir/graph.h"

namespace stoker {

class TacticOracle {
 public:
  virtual ~TacticOracle() = default;
  // Would some tactic other than the reference run this node (often a candidate `fused` node)?
  // The reason of a refusal is kept for `stoker explain`.
  virtual Status has_tactic(const Node& node) const = 0;
};

}  // namespace stoker
