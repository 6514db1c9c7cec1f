// Operation: the calls of a device that can fail or cost time, as data.
//
// Fault plans, latency models and error texts all speak of "the third map" or "every malloc"; this is their one list.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace cistern::device {

enum class Operation : std::uint8_t {
  memory,
  malloc,
  free,
  reserve,
  release,
  create_page,
  destroy_page,
  map,
  unmap,
  set_access,
  move_page,
  copy,
  copy_from_host,
  copy_to_host,
  set,
  create_event,
  destroy_event,
  record_event,
  query_event,
  wait_event,
  create_stream,
  destroy_stream,
  wait_stream,
  wait_device,
  stream_wait_event,
};

inline constexpr std::size_t kOperations = 25;

constexpr std::string_view operation_name(Operation operation) noexcept {
  constexpr std::array<std::string_view, kOperations> kNames = {
      "memory",           "malloc",       "free",          "reserve",        "release",       "create_page",
      "destroy_page",     "map",          "unmap",         "set_access",     "move_page",     "copy",
      "copy_from_host",   "copy_to_host", "set",           "create_event",   "destroy_event", "record_event",
      "query_event",      "wait_event",   "create_stream", "destroy_stream", "wait_stream",   "wait_device",
      "stream_wait_event"};
  return kNames[static_cast<std::size_t>(operation)];
}

}  // namespace cistern::device
