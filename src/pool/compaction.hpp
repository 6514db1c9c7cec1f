// Compaction on demand: a quiet moment used to make the hole that recent requests will ask for.
//
// Nobody is in need, so the first question is what to make. A hole for the largest of the recent request sizes that
// free memory could hold but no hole can: once it exists, all smaller ones fit too and exposure is 0. Where that can't
// be had (too few whole pages are free), the next smaller size that can. The other goal is the articles': fewer than a
// given share of the free bytes outside the largest hole.
//
// The work is that of the rescue list's steps, asked through RescueStep::compact: each does one batch towards the hole,
// small enough for the step budget, and between batches the lock is free and the turn goes to whoever waits. Compaction
// never takes memory from the device.
#pragma once

#include <cstdint>

#include "base/result.hpp"
#include "pool/rescue.hpp"

namespace cistern::pool {

struct CompactionRequest {
  static constexpr std::uint64_t kUnlimited = ~std::uint64_t{0};

  std::uint64_t max_bytes = kUnlimited;  // remapped and copied, together
  std::uint64_t max_us = kUnlimited;     // the last batch, of one page at least, may pass it
  // What is wanted when no recent size is exposed: a fragmentation rate of at most this; 1: nothing.
  double rate_goal = 1.0;
  bool yields_to_misses = false;  // ends when somebody waits for the turn, instead of letting him go first
};

enum class CompactionEnd : std::uint8_t {
  done,      // there is nothing to gain, or nothing that can be
  budget,    // bytes or time are used up
  gave_way,  // somebody waited
};

struct CompactionReport {
  CompactionEnd end = CompactionEnd::done;
  std::uint64_t moved_pages = 0;
  std::uint64_t moved_bytes = 0;   // of pages put elsewhere, not copied
  std::uint64_t copied_bytes = 0;  // of blocks copied elsewhere
  std::uint64_t batches = 0;
  std::uint64_t duration_ns = 0;
  std::uint64_t largest_free_before = 0;
  std::uint64_t largest_free_after = 0;
  double exposure_before = 0;
  double exposure_after = 0;
  double rate_before = 0;
  double rate_after = 0;
};

// No lock held. Fails only when a step failed before anything was done.
base::Result<CompactionReport> compact(PoolCore& pool, const CompactionRequest& request);

}  // namespace cistern::pool
