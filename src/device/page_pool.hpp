// PagePool: the physical pages of one device and page size, shared by the pools of that device.
//
// A pool takes pages to map and gives unmapped pages back; given-back pages are kept for the next taker, because making
// one is a driver call that a steady server must never need. Every page taken is charged to an account (a pool or
// context), so that quotas and "whose memory is it" can be told exactly.
//
// Thread-safety: all calls; driver calls are made outside its lock. Cost: taking a kept page is a few ns.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "device/device.hpp"

namespace cistern::device {

struct PagePoolCounts {
  std::uint64_t page_bytes = 0;
  std::uint64_t taken = 0;      // pages out with accounts
  std::uint64_t kept = 0;       // pages here, unmapped
  std::uint64_t created = 0;    // since the start
  std::uint64_t destroyed = 0;  // since the start
};

using AccountId = std::uint32_t;

class PagePool {
 public:
  PagePool(Device& device, std::uint64_t page_bytes) noexcept;
  ~PagePool();  // destroys the kept pages; all pages must have been given back
  PagePool(const PagePool&) = delete;
  PagePool& operator=(const PagePool&) = delete;

  std::uint64_t page_bytes() const noexcept;
  // Appends up to `count` pages to `pages`: kept ones first, then new ones. Fewer than `count` only with the failure
  // that stopped it; the pages appended until then are the caller's all the same.
  base::Status take(AccountId account, std::uint64_t count, std::vector<PageHandle>* pages) noexcept;
  // Unmapped pages come back.
  void give(AccountId account, const std::vector<PageHandle>& pages) noexcept;
  // Destroys kept pages until at most `keep_pages` are left; pages whose destruction fails stay kept.
  base::Status trim(std::uint64_t keep_pages) noexcept;
  std::uint64_t charged_pages(AccountId account) const noexcept;
  PagePoolCounts counts() const noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace cistern::device
