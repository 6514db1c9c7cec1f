// The script of the fake runtime; the test finds it by the symbol `fake_script`.
#pragma once

#include <atomic>
#include <cstdint>

namespace cistern::engine::testing {

enum class Misbehaviour : std::int32_t {
  none,
  double_free,      // a run frees its scratch memory twice
  foreign_free,     // a run frees memory that it never got
  interior_free,    // a run frees a pointer into its scratch memory
  leak,             // a run never frees its scratch memory
  late_free,        // a run keeps its scratch memory; it is freed when the environment ends
  stray_allocation  // the environment asks for memory when it ends, outside any model
};

// A count that runs on several threads change at once, and that a script may be copied with.
class Count {
 public:
  Count() = default;
  Count(const Count& other) noexcept : value_(other.value_.load()) {}
  Count& operator=(const Count& other) noexcept {
    value_.store(other.value_.load());
    return *this;
  }
  void operator++() noexcept { value_.fetch_add(1); }
  void operator--() noexcept { value_.fetch_sub(1); }
  operator std::int32_t() const noexcept { return value_.load(); }

 private:
  std::atomic<std::int32_t> value_{0};
};

struct FakeScript {
  std::uint32_t newest_api = 30;  // GetApi offers versions up to this
  bool fail_environment = false;
  bool fail_registration = false;
  bool fail_session = false;
  bool fail_run = false;
  std::int32_t input_type = 1;  // ONNX element type of the input
  std::int32_t input_kind = 1;  // ONNX type: 1 is a tensor
  Misbehaviour misbehaviour = Misbehaviour::none;
  // What was seen.
  Count environments;  // alive
  Count sessions;
  Count values;
  Count failures;
  Count options;
  std::int32_t registered_version = 0;
  Count runs;  // begun
};

}  // namespace cistern::engine::testing
