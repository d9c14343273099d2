// The parts of a diff that take more than a look: weights and steps.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "api/diff.h"
#include "engine/plan.h"

namespace stoker {

// Constants of the model and packed weights, by name; contents are compared as the model has them,
// whatever the packing.
Status diff_weights(const EngineContents& a, const EngineContents& b,
                    std::vector<Difference>& differences);

// Steps of both that stand for the same nodes of the model.
void diff_steps(const EngineContents& a, const EngineContents& b,
                std::vector<Difference>& differences);

// The part of all nodes of the model that the steps of both engines stand for; 1 when neither has
// any.
double common_nodes(const EngineContents& a, const EngineContents& b);

}  // namespace stoker
