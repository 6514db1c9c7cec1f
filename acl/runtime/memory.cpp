#include "acl/runtime/memory.hpp"

#include <utility>

#include "base/units.hpp"

namespace cistern::acl {
namespace {

std::string_view freeing_function(BlockKind kind) noexcept {
  switch (kind) {
    case BlockKind::device:
      return "aclrtFree()";
    case BlockKind::host:
      return "aclrtFreeHost()";
    default:
      return "aclrtUnmapMem()";
  }
}

Outcome no_block_at(Runtime& runtime, std::uint64_t address) {
  if (const auto around = runtime.blocks.find(address)) {
    return invalid_runtime_parameter(hex(address) + " lies " + std::to_string(address - around->address) +
                                     " bytes inside the block at " + hex(around->address) + " (" +
                                     base::format_bytes(around->bytes) + "); free by the block's beginning");
  }
  return invalid_runtime_parameter("no live block begins at " + hex(address) +
                                   ": it was freed before, ended with its device, or never came from this library");
}

// The pool's advice is in Cistern's own words; programs for Ascend know the option by another.
Outcome refusal(cistern_status_t status) {
  std::string text = cistern_last_error_text();
  if (text.find("CISTERN_LIMIT_BYTES") != std::string::npos) {
    text += "\n  (CISTERN_LIMIT_BYTES and ASCEND_MEMORY_POOL_MAX_SIZE are two names of one option)";
  }
  return {code_of(status), std::move(text)};
}

cistern_status_t take_from_pool(const DevicePool& pool, const Wish& wish, cistern_address_t* address) {
  if (wish.stream) return cistern_allocate_async(pool.handle(), wish.bytes, *wish.stream, address);
  if (wish.tag.empty()) return cistern_allocate(pool.handle(), wish.bytes, address);
  cistern_allocation_t allocation{};
  allocation.struct_size = sizeof allocation;
  allocation.bytes = wish.bytes;
  allocation.tag = wish.tag.c_str();
  return cistern_allocate_with(pool.handle(), &allocation, address);
}

}  // namespace

Outcome allocate(Runtime& runtime, const std::shared_ptr<DevicePool>& pool, const Wish& wish, void** place) {
  if (place == nullptr) return invalid_parameter("the place for the address is NULL");
  if (wish.bytes == 0) return invalid_parameter("a size of 0 bytes");
  cistern_address_t address = 0;
  const cistern_status_t status = take_from_pool(*pool, wish, &address);
  if (status != CISTERN_OK) return refusal(status);
  Block block;
  block.address = address;
  block.bytes = wish.bytes;
  block.kind = pool->npu() == nullptr ? BlockKind::host : BlockKind::device;
  block.pool = pool;
  block.npu = pool->npu();
  block.caller = wish.caller;
  try {
    runtime.blocks.add(std::move(block));
  } catch (...) {
    static_cast<void>(cistern_free(pool->handle(), address));
    throw;
  }
  *place = reinterpret_cast<void*>(static_cast<std::uintptr_t>(address));
  return {};
}

Outcome release(Runtime& runtime, const void* address, BlockKind kind, std::optional<cistern_stream_t> stream) {
  if (address == nullptr) return invalid_parameter("the address is NULL");
  auto block = runtime.blocks.take(reinterpret_cast<std::uintptr_t>(address));
  if (!block) return no_block_at(runtime, reinterpret_cast<std::uintptr_t>(address));
  if (block->kind != kind) {
    Outcome wrong = invalid_runtime_parameter(hex(address) + " is to be given back by " +
                                              std::string(freeing_function(block->kind)) + ", not by " +
                                              std::string(freeing_function(kind)));
    runtime.blocks.add(std::move(*block));
    return wrong;
  }
  cistern_pool_t* const pool = block->pool->handle();
  const cistern_status_t status =
      stream ? cistern_free_async(pool, block->address, *stream) : cistern_free(pool, block->address);
  if (status == CISTERN_OK) return {};
  Outcome refused{ACL_ERROR_RT_MEMORY_FREE, cistern_last_error_text()};
  runtime.blocks.add(std::move(*block));
  return refused;
}

}  // namespace cistern::acl
