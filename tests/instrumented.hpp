// Whether a test runs under a sanitizer, where each step of a random history costs some ten times as much: there
// histories may be shorter. The tests of the release build run them whole.
#pragma once

namespace cistern {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kIsInstrumented = true;
#else
inline constexpr bool kIsInstrumented = false;
#endif

// `whole` steps, or a quarter of them.
constexpr int history_steps(int whole) { return kIsInstrumented ? whole / 4 : whole; }

}  // namespace cistern
