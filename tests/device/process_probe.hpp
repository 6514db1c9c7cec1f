// What tests ask the kernel about this process: is an address readable, is a range mapped, how much memory is in use.
#pragma once

#include <cstdint>
#include <string>

#include "device/device.hpp"
#include "device/host_system.hpp"

namespace cistern::device::testing {

// Whether a load of this byte would work, found out without trying it.
bool readable(Address at);
// Whether any mapping of this process overlaps the range, of whatever protection.
bool mapped(Address base, std::uint64_t bytes);
// Mappings and open files whose name contains `text`.
std::uint64_t mappings_named(const std::string& text);
std::uint64_t open_files_named(const std::string& text);
// A field of /proc/self/status in bytes: "RssAnon", "RssShmem".
std::uint64_t status_bytes(const std::string& field);

// The real kernel, but one call (counted from 1, over all kinds) is refused.
class RefusingSystem final : public HostSystem {
 public:
  explicit RefusingSystem(std::uint64_t refuse_call = 0) : refuse_call_(refuse_call) {}
  std::uint64_t calls() const { return calls_; }

  int map(std::uint64_t* address, std::uint64_t bytes, int protection, int flags, int file,
          std::uint64_t offset) noexcept override;
  int unmap(std::uint64_t address, std::uint64_t bytes) noexcept override;
  int protect(std::uint64_t address, std::uint64_t bytes, int protection) noexcept override;
  int advise(std::uint64_t address, std::uint64_t bytes, int advice) noexcept override;
  int move(std::uint64_t from, std::uint64_t to, std::uint64_t bytes) noexcept override;
  int punch(int file, std::uint64_t offset, std::uint64_t bytes) noexcept override;

 private:
  bool refused() { return ++calls_ == refuse_call_; }
  std::uint64_t refuse_call_;
  std::uint64_t calls_ = 0;
};

}  // namespace cistern::device::testing
