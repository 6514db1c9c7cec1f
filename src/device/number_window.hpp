// NumberWindow: 16 TiB of addresses that no memory can ever have, for devices that only count.
//
// They lie above the host's own address space, so following one traps, none equals a real pointer, and devices alive at
// the same time never share one. The lowest free window is taken, so that a program's addresses repeat from run to run;
// all are below 2^53, so that they pass through JSON unharmed.
//
// Thread-safety: all.
#pragma once

#include <cstdint>

#include "base/result.hpp"
#include "device/device.hpp"

namespace cistern::device {

class NumberWindow {
 public:
  static constexpr std::uint64_t kBytes = std::uint64_t{1} << 44;
  static constexpr unsigned kWindows = 192;

  static base::Result<NumberWindow> acquire() noexcept;
  NumberWindow() noexcept = default;
  NumberWindow(NumberWindow&& other) noexcept;
  NumberWindow& operator=(NumberWindow&& other) noexcept;
  ~NumberWindow();

  Address base() const noexcept { return base_; }

 private:
  Address base_ = 0;  // 0: none
};

}  // namespace cistern::device
