// Allocations and their contents in the C interface.
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>

#include "capi/allocation_struct.hpp"
#include "capi/entry.hpp"
#include "capi/versioned_struct.hpp"
#include "cistern/cistern.h"

using namespace cistern;

namespace {

base::Status read_name(const char* given, std::string_view* name) {
  if (given == nullptr) return base::invalid_argument("the name is NULL");
  if (*given == '\0') return base::invalid_argument("the name is empty");
  return capi::read_text(given, "name", name);
}

void copy_text(const std::string& text, char (&out)[CISTERN_TEXT_BYTES]) {
  std::memcpy(out, text.data(), std::min(text.size(), sizeof out - 1));  // the rest is zero already
}

base::Status write_view(const base::Result<pool::AllocationView>& found, cistern_block_info_t* info) {
  if (!found.is_ok()) return found.status();
  const pool::AllocationView& view = found.value();
  cistern_block_info_t known{};
  known.flags = view.flags;
  known.address = view.address;
  known.requested_bytes = view.requested_bytes;
  known.granted_bytes = view.granted_bytes;
  copy_text(view.tag, known.tag);
  copy_text(view.name, known.name);
  return capi::write_struct(known, "cistern_block_info", info);
}

// [address, address + bytes) must lie within one live block.
base::Status check_range(const pool::Pool& pool, cistern_address_t address, std::uint64_t bytes) {
  auto found = pool.describe(address);
  if (!found.is_ok()) return found.take_status();
  const std::uint64_t room = found.value().granted_bytes - (address - found.value().address);
  if (bytes <= room) return {};
  char text[160];
  std::snprintf(text, sizeof text,
                "%" PRIu64 " bytes at 0x%" PRIx64 " pass the end of the block, which has %" PRIu64
                " bytes from there on",
                bytes, address, room);
  return base::invalid_argument(text);
}

base::Status copy_checked(const pool::Pool& pool, cistern_address_t address, const void* host, std::uint64_t bytes) {
  if (host == nullptr) return base::invalid_argument("the host's memory is NULL");
  return check_range(pool, address, bytes);
}

}  // namespace

cistern_status_t cistern_allocate(cistern_pool_t* pool, uint64_t bytes, cistern_address_t* address) noexcept {
  return capi::with_pool(pool, "cistern_allocate", [&](pool::Pool& inner) -> base::Status {
    if (address == nullptr) return base::invalid_argument("the place for the address is NULL");
    auto served = inner.allocate(bytes);
    if (!served.is_ok()) return served.take_status();
    *address = served.value();
    return {};
  });
}

cistern_status_t cistern_allocate_with(cistern_pool_t* pool, const cistern_allocation_t* allocation,
                                       cistern_address_t* address) noexcept {
  return capi::with_pool(pool, "cistern_allocate_with", [&](pool::Pool& inner) -> base::Status {
    if (address == nullptr) return base::invalid_argument("the place for the address is NULL");
    auto request = capi::read_allocation(inner, allocation);
    if (!request.is_ok()) return request.take_status();
    auto served = inner.allocate(request.value());
    if (!served.is_ok()) return served.take_status();
    *address = served.value();
    return {};
  });
}

cistern_status_t cistern_free(cistern_pool_t* pool, cistern_address_t address) noexcept {
  return capi::with_pool(pool, "cistern_free", [&](pool::Pool& inner) -> base::Status {
    return address == 0 ? base::Status() : inner.free(address);
  });
}

cistern_status_t cistern_free_named(cistern_pool_t* pool, const char* name) noexcept {
  return capi::with_pool(pool, "cistern_free_named", [&](pool::Pool& inner) -> base::Status {
    std::string_view text;
    if (base::Status wrong = read_name(name, &text); !wrong.is_ok()) return wrong;
    return inner.free_named(text);
  });
}

cistern_status_t cistern_find(cistern_pool_t* pool, const char* name, cistern_block_info_t* info) noexcept {
  return capi::with_pool(pool, "cistern_find", [&](pool::Pool& inner) -> base::Status {
    std::string_view text;
    if (base::Status wrong = read_name(name, &text); !wrong.is_ok()) return wrong;
    return write_view(inner.find(text), info);
  });
}

cistern_status_t cistern_describe(cistern_pool_t* pool, cistern_address_t address,
                                  cistern_block_info_t* info) noexcept {
  return capi::with_pool(pool, "cistern_describe",
                         [&](pool::Pool& inner) { return write_view(inner.describe(address), info); });
}

cistern_status_t cistern_register_range(cistern_pool_t* pool, cistern_address_t address, uint64_t bytes) noexcept {
  return capi::with_pool(pool, "cistern_register_range",
                         [&](pool::Pool& inner) { return inner.register_range(address, bytes); });
}

cistern_status_t cistern_unregister_range(cistern_pool_t* pool, cistern_address_t address, uint64_t bytes) noexcept {
  return capi::with_pool(pool, "cistern_unregister_range",
                         [&](pool::Pool& inner) { return inner.unregister_range(address, bytes); });
}

cistern_status_t cistern_host_pointer(cistern_pool_t* pool, cistern_address_t address, uint64_t bytes,
                                      void** pointer) noexcept {
  return capi::with_pool(pool, "cistern_host_pointer", [&](pool::Pool& inner) -> base::Status {
    if (pointer == nullptr) return base::invalid_argument("the place for the pointer is NULL");
    if (base::Status wrong = check_range(inner, address, bytes); !wrong.is_ok()) return wrong;
    void* alias = inner.device().host_alias(address);
    if (alias == nullptr) {
      return base::unsupported("the host cannot see the memory of device '" + inner.device().info().kind +
                               "'; use cistern_copy_from_device()");
    }
    *pointer = alias;
    return {};
  });
}

cistern_status_t cistern_copy_to_device(cistern_pool_t* pool, cistern_address_t to, const void* from,
                                        uint64_t bytes) noexcept {
  return capi::with_pool(pool, "cistern_copy_to_device", [&](pool::Pool& inner) -> base::Status {
    base::Status wrong = copy_checked(inner, to, from, bytes);
    if (!wrong.is_ok() || bytes == 0) return wrong;
    return inner.device().copy_from_host(to, from, bytes);
  });
}

cistern_status_t cistern_copy_from_device(cistern_pool_t* pool, void* to, cistern_address_t from,
                                          uint64_t bytes) noexcept {
  return capi::with_pool(pool, "cistern_copy_from_device", [&](pool::Pool& inner) -> base::Status {
    base::Status wrong = copy_checked(inner, from, to, bytes);
    if (!wrong.is_ok() || bytes == 0) return wrong;
    return inner.device().copy_to_host(to, from, bytes);
  });
}

cistern_status_t cistern_fill(cistern_pool_t* pool, cistern_address_t address, uint8_t value, uint64_t bytes) noexcept {
  return capi::with_pool(pool, "cistern_fill", [&](pool::Pool& inner) -> base::Status {
    base::Status wrong = check_range(inner, address, bytes);
    if (!wrong.is_ok() || bytes == 0) return wrong;
    return inner.device().set(address, value, bytes);
  });
}
