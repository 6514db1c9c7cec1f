#include "acl/runtime/virtual_memory.hpp"

#include <utility>

namespace cistern::acl {
namespace {

// Takes the first `count` pages away again. A page that the device does not let go stays lost, which it will report.
void unmap_pages(PhysicalMemory& memory, std::uint64_t at, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    static_cast<void>(memory.npu()->device().unmap(at + i * kGranularityBytes, memory.pages()[i]).is_ok());
  }
}

class VirtualMemoryInventory final : public Inventory {
 public:
  void list(const Npu* npu, std::vector<LeftItem>* items) override {
    virtual_memory().list(npu, items);
    for (const auto& memory : physical_memory().select([&](const PhysicalMemory& each) { return is_of(each, npu); })) {
      items->push_back({"physical memory", memory->bytes(), memory->caller()});
    }
  }
  void end(const Npu* npu) override {
    virtual_memory().end(npu);
    physical_memory().withdraw_all([&](const PhysicalMemory& each) { return is_of(each, npu); });
  }

 private:
  static bool is_of(const PhysicalMemory& memory, const Npu* npu) { return memory.npu().get() == npu; }
};

}  // namespace

Outcome PhysicalMemory::create(std::shared_ptr<Npu> npu, std::uint64_t bytes, const void* caller,
                               std::shared_ptr<PhysicalMemory>* memory) {
  std::shared_ptr<PhysicalMemory> made(new PhysicalMemory(std::move(npu), caller));
  for (std::uint64_t done = 0; done < bytes; done += kGranularityBytes) {
    auto page = made->npu_->device().create_page(kGranularityBytes);
    if (!page.is_ok()) return outcome_of(page.status());
    made->pages_.push_back(page.value());
  }
  *memory = std::move(made);
  return {};
}

PhysicalMemory::~PhysicalMemory() {
  for (const device::PageHandle page : pages_) static_cast<void>(npu_->device().destroy_page(page).is_ok());
}

Outcome VirtualMemory::reserve(const std::shared_ptr<Npu>& npu, std::uint64_t bytes, const void* caller,
                               void** address) {
  auto base = npu->device().reserve(bytes, kGranularityBytes);
  if (!base.is_ok()) return outcome_of(base.status());
  const std::lock_guard lock(mutex_);
  reservations_[base.value()] = {npu, bytes, caller};
  *address = reinterpret_cast<void*>(static_cast<std::uintptr_t>(base.value()));
  return {};
}

Outcome VirtualMemory::release(const void* address) {
  const std::lock_guard lock(mutex_);
  const auto place = reservations_.find(reinterpret_cast<std::uintptr_t>(address));
  if (place == reservations_.end()) return invalid_runtime_parameter("no reservation begins at " + hex(address));
  const auto first = mappings_.lower_bound(place->first);
  if (first != mappings_.end() && first->first < place->first + place->second.bytes) {
    return invalid_runtime_parameter("memory is mapped at " + hex(first->first) + "; unmap it first");
  }
  const base::Status released = place->second.npu->device().release(place->first, place->second.bytes);
  if (released.is_ok()) reservations_.erase(place);
  return outcome_of(released);
}

Outcome VirtualMemory::find_room(std::uint64_t at, const PhysicalMemory& memory) const {
  if (at % kGranularityBytes != 0) {
    return {ACL_ERROR_RT_ADDR_UNALIGNED, hex(at) + " is no multiple of 2 MiB"};
  }
  auto place = reservations_.upper_bound(at);
  const bool has_place = place != reservations_.begin() && (--place, at - place->first < place->second.bytes) &&
                         memory.bytes() <= place->second.bytes - (at - place->first);
  if (!has_place || place->second.npu != memory.npu()) {
    return invalid_runtime_parameter(base::format_bytes(memory.bytes()) + " at " + hex(at) +
                                     " do not lie within a reservation of the memory's device");
  }
  const auto after = mappings_.lower_bound(at);
  const bool hits_next = after != mappings_.end() && after->first < at + memory.bytes();
  const bool hits_previous =
      after != mappings_.begin() && std::prev(after)->first + std::prev(after)->second->bytes() > at;
  if (!hits_next && !hits_previous) return {};
  return invalid_runtime_parameter("other memory is mapped there already, at " +
                                   hex(hits_next ? after->first : std::prev(after)->first));
}

Outcome VirtualMemory::map(const void* address, std::uint64_t bytes, const std::shared_ptr<PhysicalMemory>& memory,
                           const void* caller) {
  const auto at = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(address));
  if (bytes != memory->bytes()) {
    return invalid_runtime_parameter("a handle is mapped whole: " + std::to_string(memory->bytes()) + " bytes, not " +
                                     std::to_string(bytes));
  }
  const std::lock_guard lock(mutex_);
  for (const auto& [mapped_at, mapping] : mappings_) {
    if (mapping == memory) return invalid_runtime_parameter("the handle is mapped already, at " + hex(mapped_at));
  }
  if (Outcome wrong = find_room(at, *memory); !wrong.is_ok()) return wrong;
  device::Device& device = memory->npu()->device();
  for (std::size_t i = 0; i < memory->pages().size(); ++i) {
    const base::Status mapped = device.map(at + i * kGranularityBytes, memory->pages()[i]);
    if (mapped.is_ok()) continue;
    unmap_pages(*memory, at, i);
    return outcome_of(mapped);
  }
  const base::Status accessible = device.set_access(at, bytes, device::Access::read_write);
  if (!accessible.is_ok()) {
    unmap_pages(*memory, at, memory->pages().size());
    return outcome_of(accessible);
  }
  mappings_[at] = memory;
  runtime_.blocks.add({at, bytes, BlockKind::mapping, nullptr, memory->npu(), caller});
  return {};
}

Outcome VirtualMemory::unmap_locked(std::map<std::uint64_t, Mapping>::iterator place) {
  const auto [at, memory] = *place;
  for (std::size_t i = 0; i < memory->pages().size(); ++i) {
    const base::Status unmapped = memory->npu()->device().unmap(at + i * kGranularityBytes, memory->pages()[i]);
    if (unmapped.is_ok()) continue;
    for (std::size_t j = 0; j < i; ++j) {  // as it was
      static_cast<void>(memory->npu()->device().map(at + j * kGranularityBytes, memory->pages()[j]).is_ok());
    }
    static_cast<void>(memory->npu()->device().set_access(at, memory->bytes(), device::Access::read_write).is_ok());
    return outcome_of(unmapped);
  }
  static_cast<void>(runtime_.blocks.take(at));
  mappings_.erase(place);
  return {};
}

Outcome VirtualMemory::unmap(const void* address) {
  const std::lock_guard lock(mutex_);
  const auto place = mappings_.find(reinterpret_cast<std::uintptr_t>(address));
  if (place == mappings_.end()) return invalid_runtime_parameter("no mapping begins at " + hex(address));
  return unmap_locked(place);
}

Outcome VirtualMemory::set_access(const void* address, std::uint64_t bytes, device::Access access) {
  const auto from = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(address));
  const std::lock_guard lock(mutex_);
  const auto first = mappings_.find(from);
  auto next = first;
  std::uint64_t reached = from;
  while (next != mappings_.end() && next->first == reached && reached < from + bytes) {
    reached += next->second->bytes();
    ++next;
  }
  if (first == mappings_.end() || reached != from + bytes) {
    return invalid_runtime_parameter(std::to_string(bytes) + " bytes at " + hex(address) +
                                     " are not one or more whole mappings");
  }
  return outcome_of(first->second->npu()->device().set_access(from, bytes, access));
}

void VirtualMemory::list(const Npu* npu, std::vector<LeftItem>* items) const {
  const std::lock_guard lock(mutex_);
  for (const auto& [at, reservation] : reservations_) {
    if (reservation.npu.get() == npu) items->push_back({"reserved addresses", reservation.bytes, reservation.caller});
  }
}

void VirtualMemory::end(const Npu* npu) {
  const std::lock_guard lock(mutex_);
  for (auto place = mappings_.begin(); place != mappings_.end();) {
    const auto next = std::next(place);
    if (place->second->npu().get() == npu) static_cast<void>(unmap_locked(place));
    place = next;
  }
  std::erase_if(reservations_, [&](const auto& entry) {
    return entry.second.npu.get() == npu && entry.second.npu->device().release(entry.first, entry.second.bytes).is_ok();
  });
}

VirtualMemory& virtual_memory() {
  static auto* const memory = new VirtualMemory(Runtime::instance());
  return *memory;
}

Handles<PhysicalMemory>& physical_memory() {
  static auto* const memory = new Handles<PhysicalMemory>(HandleKind::physical_memory);
  return *memory;
}

std::unique_ptr<Inventory> virtual_memory_inventory() { return std::make_unique<VirtualMemoryInventory>(); }

}  // namespace cistern::acl
