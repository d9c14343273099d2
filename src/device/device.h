// Device: where buffers live and steps run. The runtime asks for memory, moves bytes and tells the
// device of each step; kernels are launched by the executor.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/status.h"

namespace stoker {

// Memory of a device, freed with the last reference. `host` is null where the CPU cannot reach it.
struct DeviceBuffer {
  std::shared_ptr<void> storage;
  void* host = nullptr;
  int64_t bytes = 0;
};

// Thread-safe.
class Device {
 public:
  virtual ~Device() = default;
  virtual std::string name() const = 0;  // "cpu", "null:0"
  // Zero-filled; resource_exhausted when the device has no room.
  virtual Result<DeviceBuffer> allocate(int64_t bytes) = 0;
  // Does the device execute steps for real? The null device only accounts for them.
  virtual bool executes() const = 0;
  // A step of this work was issued; `unit_flops` and `bytes` are those of desc_work.
  virtual void account(double flops, double bytes) = 0;
  // The device's clock: real time, or the null device's virtual one.
  virtual double now_ns() const = 0;
};

std::unique_ptr<Device> make_cpu_device();

// A device without hardware: memory with a limit, and a virtual clock that each accounted step
// moves by what a roofline of the given peaks predicts. Tests planning, placement and scheduling.
struct NullDeviceOptions {
  int index = 0;
  double flops_per_second = 1e12, bytes_per_second = 1e11, launch_ns = 5000;
  int64_t memory_bytes = int64_t{16} << 30;
};
std::unique_ptr<Device> make_null_device(const NullDeviceOptions& options = {});

}  // namespace stoker
