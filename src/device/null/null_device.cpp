// The null device: see device.h.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <mutex>

#include "base/memory.h"
#include "device/device.h"

namespace stoker {
namespace {

// Bytes in use, shared with the buffers, which may outlive the device.
struct Ledger {
  std::mutex mutex;
  int64_t used = 0;
};

class NullDevice : public Device {
 public:
  explicit NullDevice(const NullDeviceOptions& options) : options_(options) {}

  std::string name() const override { return "null:" + std::to_string(options_.index); }

  Result<DeviceBuffer> allocate(int64_t bytes) override {
    std::lock_guard<std::mutex> lock(ledger_->mutex);
    if (bytes < 0 || bytes > options_.memory_bytes - ledger_->used) {
      return error(StatusCode::kResourceExhausted, "{} has {} bytes free, {} were asked for",
                   name(), options_.memory_bytes - ledger_->used, bytes);
    }
    std::shared_ptr<void> storage = allocate_aligned(bytes);
    if (!storage)
      return error(StatusCode::kResourceExhausted, "no host memory for {} bytes of {}", bytes,
                   name());
    ledger_->used += bytes;
    void* host = storage.get();
    std::shared_ptr<void> counted(host, [storage, bytes, ledger = ledger_](void*) {
      std::lock_guard<std::mutex> release(ledger->mutex);
      ledger->used -= bytes;
    });
    return DeviceBuffer{std::move(counted), host, bytes};
  }

  bool executes() const override { return false; }

  void account(double flops, double bytes) override {
    std::lock_guard<std::mutex> lock(ledger_->mutex);
    clock_ns_ += options_.launch_ns + 1e9 * std::max(flops / options_.flops_per_second,
                                                     bytes / options_.bytes_per_second);
  }

  double now_ns() const override {
    std::lock_guard<std::mutex> lock(ledger_->mutex);
    return clock_ns_;
  }

 private:
  const NullDeviceOptions options_;
  std::shared_ptr<Ledger> ledger_ = std::make_shared<Ledger>();
  double clock_ns_ = 0;
};

}  // namespace

std::unique_ptr<Device> make_null_device(const NullDeviceOptions& options) {
  return std::make_unique<NullDevice>(options);
}

}  // namespace stoker
