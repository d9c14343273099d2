// The CPU as a device: host memory on huge pages, real time.
// SPDX-License-Identifier: Apache-2.0

#include "base/clock.h"
#include "base/memory.h"
#include "device/device.h"

namespace stoker {
namespace {

class CpuDevice : public Device {
 public:
  std::string name() const override { return "cpu"; }
  Result<DeviceBuffer> allocate(int64_t bytes) override {
    std::shared_ptr<void> storage = allocate_aligned(bytes);
    if (!storage)
      return error(StatusCode::kResourceExhausted, "no memory for a buffer of {} bytes", bytes);
    void* host = storage.get();
    return DeviceBuffer{std::move(storage), host, bytes};
  }
  bool executes() const override { return true; }
  void account(double, double) override {}
  double now_ns() const override { return stoker::now_ns(); }
};

}  // namespace

std::unique_ptr<Device> make_cpu_device() { return std::make_unique<CpuDevice>(); }

}  // namespace stoker
