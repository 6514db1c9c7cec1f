// The script of the fake runtime; the test finds it by the symbol `fake_script`.
#pragma once

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
  std::int32_t environments = 0;  // alive
  std::int32_t sessions = 0;
  std::int32_t values = 0;
  std::int32_t failures = 0;
  std::int32_t options = 0;
  std::int32_t registered_version = 0;
  std::int32_t runs = 0;  // begun
};

}  // namespace cistern::engine::testing
