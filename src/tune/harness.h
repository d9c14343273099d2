// Harness: one desc with sample operands, ready to be run by any of its tactics.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/worker_pool.h"
#include "lower/lower_graph.h"
#include "tune/sample_data.h"

namespace stoker {

// A tactic with one config, bound to operands. Not thread-safe.
class Contender {
 public:
  // `inputs`: as from sample_inputs for `desc`; packed here as the tactic wants.
  static Result<std::unique_ptr<Contender>> create(const Tactic& tactic, const Config& config,
                                                   const Desc& desc,
                                                   const std::vector<Tensor>& inputs, int workers);

  // One run on the pool.
  Status run(WorkerPool& pool);
  // Takes the constant operands out of the caches: at inference weights come from DRAM.
  void evict_weights() const;

  const Tactic& tactic() const { return *tactic_; }
  const Config& config() const { return config_; }
  const std::vector<Tensor>& outputs() const { return outputs_; }  // stored bytes

 private:
  Contender() = default;
  void work(int worker);

  const Tactic* tactic_ = nullptr;
  Config config_;
  Desc desc_;
  std::shared_ptr<const void> prepared_;
  std::vector<Tensor> inputs_, outputs_;
  std::vector<const void*> input_pointers_;
  std::vector<void*> output_pointers_;
  std::vector<int64_t> phase_units_;
  std::shared_ptr<void> shared_, scratch_;
  int64_t scratch_stride_ = 0;
  std::unique_ptr<GangBarrier> barrier_;
  int workers_ = 1;
  std::mutex mutex_;
  Status error_;
};

}  // namespace stoker
