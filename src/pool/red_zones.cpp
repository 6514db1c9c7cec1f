#include "pool/red_zones.hpp"

#include <dlfcn.h>

#include <cstdio>
#include <cstring>
#include <string>

#include "base/bits.hpp"
#include "base/log.hpp"
#include "pool/observed.hpp"
#include "pool/pool_core.hpp"
#include "pool/serve.hpp"

namespace cistern::pool {
namespace {

constexpr unsigned char kPattern = 0xD5;

std::string hexadecimal(std::uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

// "name+0x12" or "libfoo.so+0x3456": where a return address lies.
std::string place_of(const void* caller) {
  const auto address = reinterpret_cast<std::uint64_t>(caller);
  Dl_info info{};
  if (caller == nullptr || ::dladdr(caller, &info) == 0) return hexadecimal(address);
  if (info.dli_sname != nullptr) {
    return info.dli_sname + ("+" + hexadecimal(address - reinterpret_cast<std::uint64_t>(info.dli_saddr)));
  }
  const std::string file = info.dli_fname == nullptr ? "" : info.dli_fname;
  return file.substr(file.find_last_of('/') + 1) + "+" +
         hexadecimal(address - reinterpret_cast<std::uint64_t>(info.dli_fbase));
}

void report(PoolCore& pool, const ZonedBlock& block, std::uint64_t overrun, const void* freed_by) {
  std::string tag;
  {
    PoolGuard lock(pool.mutex);
    ++pool.counts.overruns;
    tag = pool.tags.text(block.tag);
  }
  base::log(base::LogLevel::error, "pool",
            "pool '" + pool.options.name + "': somebody wrote " + std::to_string(overrun) +
                " bytes past the end of the block at " + hexadecimal(block.address) + " of " +
                std::to_string(block.requested_bytes) + " bytes" + (tag.empty() ? "" : ", tag " + tag) +
                ", allocated at " + place_of(block.caller) + ", freed at " + place_of(freed_by));
}

}  // namespace

void RedZones::paint(const ZonedBlock& block) {
  auto* memory = static_cast<unsigned char*>(device_.host_alias(block.address));
  if (memory == nullptr) return;
  std::memset(memory + block.requested_bytes, kPattern, block.granted_bytes - block.requested_bytes);
  put_back(block);
}

std::optional<ZonedBlock> RedZones::take(device::Address address) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = blocks_.find(address);
  if (found == blocks_.end()) return std::nullopt;
  const ZonedBlock block = found->second;
  blocks_.erase(found);
  return block;
}

void RedZones::put_back(const ZonedBlock& block) {
  const std::lock_guard<std::mutex> lock(mutex_);
  blocks_[block.address] = block;
}

std::uint64_t RedZones::overrun(const ZonedBlock& block) const noexcept {
  const auto* memory = static_cast<const unsigned char*>(device_.host_alias(block.address));
  std::uint64_t end = block.granted_bytes;
  while (end > block.requested_bytes && memory[end - 1] == kPattern) --end;
  return end - block.requested_bytes;
}

base::Result<device::Address> allocate_watched(PoolCore& pool, const AllocationRequest& request, const void* caller) {
  auto served = pool.observer ? allocate_observed(pool, request, caller) : serve(pool, request);
  if (!pool.red_zones || !served.is_ok()) return served;
  const std::uint64_t granted = base::round_up(request.bytes + pool.rules.red_zone_bytes, pool.rules.round_bytes);
  pool.red_zones->paint({served.value(), request.bytes, granted, request.tag, caller});
  return served;
}

base::Status free_watched(PoolCore& pool, device::Address address, std::optional<device::StreamHandle> stream,
                          const void* caller) {
  // Looked at before the free: after it the block may be another's.
  const std::optional<ZonedBlock> zoned = pool.red_zones ? pool.red_zones->take(address) : std::nullopt;
  const std::uint64_t overrun = zoned ? pool.red_zones->overrun(*zoned) : 0;
  base::Status freed = pool.observer ? free_observed(pool, address, stream, caller)
                       : stream      ? give_up_on(pool, address, *stream)
                                     : give_up(pool, address);
  if (zoned && !freed.is_ok()) pool.red_zones->put_back(*zoned);
  if (freed.is_ok() && overrun != 0) report(pool, *zoned, overrun, caller);
  return freed;
}

}  // namespace cistern::pool
