#include "device/page_pool.hpp"

#include <algorithm>
#include <mutex>
#include <string>
#include <unordered_map>

#include "base/log.hpp"

namespace cistern::device {

using base::Status;

struct PagePool::Impl {
  Impl(Device& of, std::uint64_t bytes) : device(of), page_bytes(bytes) {}

  std::uint64_t take_kept(AccountId account, std::uint64_t count, std::vector<PageHandle>* pages) {
    std::lock_guard lock(mutex);
    const std::uint64_t taking = std::min<std::uint64_t>(count, kept.size());
    if (taking == 0) return 0;
    const auto first = kept.end() - static_cast<std::ptrdiff_t>(taking);
    pages->insert(pages->end(), first, kept.end());
    kept.erase(first, kept.end());
    charged[account] += taking;
    taken += taking;
    return taking;
  }

  Device& device;
  const std::uint64_t page_bytes;
  mutable std::mutex mutex;
  std::vector<PageHandle> kept;  // the last one given back is the first one taken: its memory is warm
  std::unordered_map<AccountId, std::uint64_t> charged;
  std::uint64_t taken = 0;
  std::uint64_t created = 0;
  std::uint64_t destroyed = 0;
};

PagePool::PagePool(Device& device, std::uint64_t page_bytes) noexcept
    : impl_(std::make_unique<Impl>(device, page_bytes)) {}

PagePool::~PagePool() {
  const Status status = trim(0);
  const PagePoolCounts left = counts();
  if (status.is_ok() && left.taken == 0) return;
  base::log(base::LogLevel::error, "device",
            "a page pool ends with " + std::to_string(left.taken) + " pages not given back and " +
                std::to_string(left.kept) + " that could not be destroyed: " + status.to_string());
}

std::uint64_t PagePool::page_bytes() const noexcept { return impl_->page_bytes; }

Status PagePool::take(AccountId account, std::uint64_t count, std::vector<PageHandle>* pages) noexcept {
  std::uint64_t missing = count - impl_->take_kept(account, count, pages);
  for (; missing > 0; --missing) {
    auto page = impl_->device.create_page(impl_->page_bytes);
    if (!page.is_ok()) {
      // Another account may have given pages back meanwhile.
      missing -= impl_->take_kept(account, missing, pages);
      return missing == 0 ? Status() : page.take_status();
    }
    pages->push_back(page.value());
    std::lock_guard lock(impl_->mutex);
    ++impl_->created;
    ++impl_->taken;
    ++impl_->charged[account];
  }
  return {};
}

void PagePool::give(AccountId account, const std::vector<PageHandle>& pages) noexcept {
  if (pages.empty()) return;
  std::lock_guard lock(impl_->mutex);
  impl_->kept.insert(impl_->kept.end(), pages.begin(), pages.end());
  impl_->taken -= pages.size();
  auto found = impl_->charged.find(account);
  if (found == impl_->charged.end() || found->second < pages.size()) {
    base::log(base::LogLevel::error, "device",
              "account " + std::to_string(account) + " gives back " + std::to_string(pages.size()) +
                  " pages, more than it took");
    if (found != impl_->charged.end()) impl_->charged.erase(found);
    return;
  }
  found->second -= pages.size();
  if (found->second == 0) impl_->charged.erase(found);
}

Status PagePool::trim(std::uint64_t keep_pages) noexcept {
  std::vector<PageHandle> doomed;
  {
    std::lock_guard lock(impl_->mutex);
    while (impl_->kept.size() > keep_pages) {
      doomed.push_back(impl_->kept.back());
      impl_->kept.pop_back();
    }
  }
  Status first_failure;
  std::vector<PageHandle> survivors;
  for (const PageHandle page : doomed) {
    Status status = impl_->device.destroy_page(page);
    if (status.is_ok()) continue;
    survivors.push_back(page);
    if (first_failure.is_ok()) first_failure = std::move(status);
  }
  std::lock_guard lock(impl_->mutex);
  impl_->destroyed += doomed.size() - survivors.size();
  impl_->kept.insert(impl_->kept.end(), survivors.begin(), survivors.end());
  return first_failure;
}

std::uint64_t PagePool::charged_pages(AccountId account) const noexcept {
  std::lock_guard lock(impl_->mutex);
  const auto found = impl_->charged.find(account);
  return found == impl_->charged.end() ? 0 : found->second;
}

PagePoolCounts PagePool::counts() const noexcept {
  std::lock_guard lock(impl_->mutex);
  PagePoolCounts counts;
  counts.page_bytes = impl_->page_bytes;
  counts.taken = impl_->taken;
  counts.kept = impl_->kept.size();
  counts.created = impl_->created;
  counts.destroyed = impl_->destroyed;
  return counts;
}

}  // namespace cistern::device
