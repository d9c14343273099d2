// Refit: other values for the model's constants in a finished engine.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/plan.h"

namespace stoker {

// The contents with the recipes of all weights that the named constants take part in run again,
// folded and packed as a build would have done. Unknown names, other dtypes or shapes, and other
// values of what was compiled in are refused, all at once. Weights that do not change share their
// memory with `contents`. `model_hash` enters the manifest; empty: made from the old one and the
// values.
Result<EngineContents> refit(const EngineContents& contents, const TensorMap& constants,
                             const std::string& model_hash = "");

// Does the engine hold this value of the constant already?
bool holds(const PlanSource& source, const Tensor& value);

}  // namespace stoker
