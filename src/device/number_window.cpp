#include "device/number_window.hpp"

#include <bitset>
#include <mutex>
#include <string>
#include <utility>

namespace cistern::device {

namespace {

constexpr Address kFirstBase = std::uint64_t{1} << 50;

struct Windows {
  std::mutex mutex;
  std::bitset<NumberWindow::kWindows> taken;
};

Windows& windows() {
  static Windows* const instance = new Windows;  // outlives every device, static ones included
  return *instance;
}

}  // namespace

base::Result<NumberWindow> NumberWindow::acquire() noexcept {
  Windows& all = windows();
  std::lock_guard lock(all.mutex);
  for (unsigned i = 0; i < kWindows; ++i) {
    if (all.taken[i]) continue;
    all.taken[i] = true;
    NumberWindow window;
    window.base_ = kFirstBase + i * kBytes;
    return window;
  }
  return base::Status(base::StatusCode::out_of_memory,
                      "all " + std::to_string(kWindows) +
                          " address windows for devices without memory are in use; close some of these devices");
}

NumberWindow::NumberWindow(NumberWindow&& other) noexcept : base_(std::exchange(other.base_, 0)) {}

NumberWindow& NumberWindow::operator=(NumberWindow&& other) noexcept {
  std::swap(base_, other.base_);
  return *this;
}

NumberWindow::~NumberWindow() {
  if (base_ == 0) return;
  Windows& all = windows();
  std::lock_guard lock(all.mutex);
  all.taken[(base_ - kFirstBase) / kBytes] = false;
}

}  // namespace cistern::device
