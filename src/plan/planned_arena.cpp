#include "plan/planned_arena.hpp"

#include <bit>
#include <iterator>
#include <string>
#include <utility>

#include "base/units.hpp"

namespace cistern::plan {

using base::Result;
using base::Status;
using base::StatusCode;

namespace {

std::string tensor_text(std::uint64_t tensor, std::uint64_t bytes) {
  return "tensor " + std::to_string(tensor) + " of " + std::to_string(bytes) + " bytes";
}

}  // namespace

Result<std::unique_ptr<PlannedArena>> PlannedArena::create(pool::Pool* pool, const std::vector<Lifetime>& lifetimes,
                                                           const OffsetPlan& plan, Unplanned unplanned) noexcept {
  if (Status wrong = check_plan(lifetimes, plan); !wrong.is_ok()) return wrong;
  if (plan.bytes == 0) return base::invalid_argument("a plan without tensors needs no arena");
  if (!std::has_single_bit(plan.alignment) || plan.alignment > base::kGiB) {
    return base::unsupported("the plan's offsets are multiples of " + std::to_string(plan.alignment) +
                             "; a pool aligns to powers of two up to 1 GiB");
  }
  std::vector<Place> places(lifetimes.size());
  for (std::size_t i = 0; i < places.size(); ++i) places[i] = {plan.offsets[i], lifetimes[i].bytes};
  pool::AllocationRequest request;
  request.bytes = plan.bytes;
  request.alignment = plan.alignment;
  request.lifetime = pool::Lifetime::persistent;
  request.flags = pool::kFlagPinned;
  auto base = pool->allocate(request);
  if (!base.is_ok()) return base.status().with_context("the planned arena");
  return std::unique_ptr<PlannedArena>(new PlannedArena(pool, base.value(), plan.bytes, std::move(places), unplanned));
}

PlannedArena::~PlannedArena() {
  // The arena took it and gave it to nobody: it can't fail, but for a pool that is broken already.
  static_cast<void>(pool_->free(base_));
}

PlannedArena::LiveTensors::const_iterator PlannedArena::in_the_way(std::uint64_t offset,
                                                                   std::uint64_t end) const noexcept {
  const auto next = live_.lower_bound(offset);
  if (next != live_.end() && next->first < end) return next;
  if (next != live_.begin() && std::prev(next)->second.end > offset) return std::prev(next);
  return live_.end();
}

Result<device::Address> PlannedArena::allocate(std::uint64_t tensor, std::uint64_t bytes) noexcept {
  if (bytes == 0) return base::invalid_argument("tensor " + std::to_string(tensor) + ": size 0");
  if (tensor >= places_.size()) {
    ++counts_.unknown;
    return unplanned(bytes, {StatusCode::not_found, tensor_text(tensor, bytes) + " is not in the plan, which has " +
                                                        std::to_string(places_.size()) + " tensors"});
  }
  const Place& place = places_[tensor];
  if (bytes > place.bytes) {
    ++counts_.too_large;
    return unplanned(bytes, {StatusCode::limit_exceeded, tensor_text(tensor, bytes) + " is larger than planned (" +
                                                             std::to_string(place.bytes) +
                                                             " bytes); plan from a run with the largest shapes"});
  }
  const auto other = in_the_way(place.offset, place.offset + bytes);
  if (other != live_.end()) {
    ++counts_.place_taken;
    return unplanned(
        bytes, {StatusCode::busy, tensor_text(tensor, bytes) + ": tensor " + std::to_string(other->second.tensor) +
                                      " is on its place; by the plan they never live together"});
  }
  live_.emplace(place.offset, Live{place.offset + bytes, tensor});
  ++counts_.planned;
  return base_ + place.offset;
}

Result<device::Address> PlannedArena::unplanned(std::uint64_t bytes, Status why) noexcept {
  if (unplanned_ == Unplanned::refuse) return why;
  return pool_->allocate(bytes);
}

Status PlannedArena::free(device::Address address) noexcept {
  if (address < base_ || address - base_ >= bytes_) return pool_->free(address);
  const std::uint64_t offset = address - base_;
  if (const auto found = live_.find(offset); found != live_.end()) {
    live_.erase(found);
    return {};
  }
  if (const auto around = in_the_way(offset, offset + 1); around != live_.end()) {
    return base::invalid_argument("the address is " + std::to_string(offset - around->first) + " bytes within tensor " +
                                  std::to_string(around->second.tensor) + "; free takes what allocate returned");
  }
  return {StatusCode::double_free, "no tensor is live at offset " + std::to_string(offset) + " of the planned arena"};
}

}  // namespace cistern::plan
