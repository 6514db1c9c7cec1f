// Player: plays a workload against a contender, from wherever it stopped, and frees what is live in the end.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <span>
#include <vector>

#include "bench/contenders/contender.hpp"
#include "bench/crew.hpp"
#include "bench/workloads/workload.hpp"

namespace cistern::bench {

// The measured loop. places: by slot.
template <typename Contender>
void play(Contender& contender, std::span<const Operation> operations, Place* places) {
  for (const Operation& operation : operations) {
    if (operation.bytes != 0) {
      places[operation.slot] = contender.allocate(operation.bytes);
    } else {
      contender.free(places[operation.slot]);
    }
  }
}

template <typename Contender>
class Player {
 public:
  Player(Contender& contender, const Workload& workload)
      : contender_(contender), workload_(workload), places_(workload.slots), live_(workload.slots) {}
  ~Player() {
    const std::span<const Operation> cycle(workload_.cycle);
    mark(workload_.opening.size() == opened_ ? cycle.first(next_) : cycle.first(0));
    for (std::size_t slot = 0; slot < places_.size(); ++slot) {
      if (live_[slot]) contender_.free(places_[slot]);
    }
  }
  Player(const Player&) = delete;
  Player& operator=(const Player&) = delete;

  // The opening and one cycle, to come to the steady state; the cycle only until `most` CPU time has passed. False: the
  // opening took longer than `most_opening`, or a request was refused.
  bool warm_up(std::chrono::nanoseconds most, std::chrono::nanoseconds most_opening) {
    constexpr std::size_t kAtOnce = 64;
    const auto start = cpu_time();
    const std::span<const Operation> opening(workload_.opening);
    while (opened_ < opening.size()) {
      const auto part = opening.subspan(opened_, std::min(kAtOnce, opening.size() - opened_));
      play(contender_, part, places_.data());
      mark(part);
      opened_ += part.size();
      for (const Operation& operation : part) {
        if (operation.bytes != 0 && places_[operation.slot] == 0) return false;
      }
      if (cpu_time() - start > most_opening) return false;
    }
    for (std::size_t played = 0; played < workload_.cycle.size(); played += kAtOnce) {
      advance(std::min(kAtOnce, workload_.cycle.size() - played));
      if (cpu_time() - start > most) break;
    }
    return true;
  }

  // The next operations of the cycle, round and round.
  void advance(std::size_t operations) {
    const std::span<const Operation> cycle(workload_.cycle);
    while (operations > 0) {
      const std::size_t count = std::min(operations, cycle.size() - next_);
      play(contender_, cycle.subspan(next_, count), places_.data());
      operations -= count;
      next_ = next_ + count == cycle.size() ? 0 : next_ + count;
    }
  }

 private:
  void mark(std::span<const Operation> operations) {
    for (const Operation& operation : operations) live_[operation.slot] = operation.bytes != 0;
  }

  Contender& contender_;
  const Workload& workload_;
  std::vector<Place> places_;  // by slot
  std::vector<bool> live_;     // by slot, after the opening; within the cycle: as of its beginning
  std::size_t opened_ = 0;     // operations of the opening
  std::size_t next_ = 0;       // operation of the cycle
};

// Memory needed over the most that was live: in the opening and two cycles, by the contender's offsets or by what it
// held. 0 where the contender knows neither.
template <typename Contender>
double footprint_of(Contender& contender, const Workload& workload, const WorkloadFacts& facts) {
  std::vector<Place> places(workload.slots);
  std::uint64_t most = 0;
  for (const auto* part : {&workload.opening, &workload.cycle, &workload.cycle}) {
    for (const Operation& operation : *part) {
      Place& place = places[operation.slot];
      if (operation.bytes == 0) {
        contender.free(place);
        place = 0;
      } else {
        place = contender.allocate(operation.bytes);
        most = std::max(most, contender.end_of(place));
      }
    }
  }
  most = std::max(most, contender.reserved_bytes());
  for (const Place place : places) {
    if (place != 0) contender.free(place);
  }
  return static_cast<double>(most) / static_cast<double>(facts.peak_live_bytes);
}

}  // namespace cistern::bench
