#include "replay/trace_time.hpp"

namespace cistern::replay {
namespace {

// While no event comes, a pool that was looked at so often stays as it is: passes have found all they can. It keeps a
// gap of years in a trace from being looked at every interval.
constexpr int kMostTicks = 256;

}  // namespace

TraceTime::TraceTime(pool::Pool& pool) noexcept : watch_(pool, clock_), due_ns_(watch_.tick()) {}

bool TraceTime::advance_to(std::uint64_t time_ns) noexcept {
  const std::uint64_t passes = counts().passes;
  for (int ticks = 0; due_ns_ <= time_ns && ticks < kMostTicks; ++ticks) {
    clock_.advance_to(due_ns_);
    const std::uint64_t wait_ns = watch_.tick();
    due_ns_ = clock_.now_ns() + wait_ns;
  }
  clock_.advance_to(time_ns);
  return counts().passes != passes;
}

}  // namespace cistern::replay
