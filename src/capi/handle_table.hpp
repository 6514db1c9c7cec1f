// HandleTable: the handles of the C interface, which tell a valid object from a destroyed one and from nonsense.
//
// A handle is a number in the shape of a pointer: a mark for its kind in the top byte, where no pointer of a program
// has one, then the generation and the index of a slot. Slots are never freed and count their uses, so a stale handle
// is recognised for ever, also when its slot serves a new object, and a wild pointer is never followed.
//
// Thread-safety: all. Cost: enter and leave take no lock and write only to the calling thread's record.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <string_view>

#include "base/result.hpp"
#include "capi/thread_record.hpp"

namespace cistern::capi {

enum class HandleKind : std::uint8_t { device = 0xC1, pool = 0xC2 };

class HandleTable {
 public:
  constexpr explicit HandleTable(HandleKind kind) noexcept : kind_(kind) {}
  HandleTable(const HandleTable&) = delete;
  HandleTable& operator=(const HandleTable&) = delete;

  // A handle for `object`, which is the table's until withdraw(). Limit: 65,536 at a time.
  base::Result<std::uint64_t> issue(void* object);

  // The object, which stays valid until leave(record); null: explain() says what is wrong with the handle. The record
  // must not be in a call already.
  void* enter(std::uint64_t handle, ThreadRecord* record) noexcept {
    announce(record, handle);
    const Slot* slot = slot_of(handle);
    if (slot != nullptr && slot->word.load(std::memory_order_acquire) == live_word(handle)) return slot->object;
    leave(record);
    return nullptr;
  }
  static void leave(ThreadRecord* record) noexcept {
    record->handle_in_use.store(kNoHandle, std::memory_order_release);
  }

  // Ends the handle, waits until no call is inside, and returns the object; null as for enter().
  void* withdraw(std::uint64_t handle) noexcept;

  base::Status explain(std::uint64_t handle) const;

  // For visits of all: places that handles have or had, from 0 on; and the handle there, 0: none now.
  std::uint64_t places();
  std::uint64_t handle_at(std::uint64_t place) const noexcept;
  // In a forked process: every handle ends, the objects stay where they are. No other thread exists.
  void abandon() noexcept;

 private:
  struct Slot {
    // Generation of the present or last use, times two, plus one while the handle is valid. Generations begin at 1.
    std::atomic<std::uint64_t> word{0};
    void* object = nullptr;        // written before the word says valid, and after the last call has left
    std::uint64_t next_spare = 0;  // of a slot without an object: index of the next such slot, plus one
  };
  static constexpr unsigned kIndexBits = 16;
  static constexpr unsigned kKindShift = 56;
  static constexpr unsigned kChunkBits = 8;
  static constexpr std::uint64_t kGenerationMask = (std::uint64_t{1} << (kKindShift - kIndexBits)) - 1;
  using Chunk = std::array<Slot, std::size_t{1} << kChunkBits>;

  static std::uint64_t index_of(std::uint64_t handle) noexcept {
    return handle & ((std::uint64_t{1} << kIndexBits) - 1);
  }
  static std::uint64_t generation_of(std::uint64_t handle) noexcept { return (handle >> kIndexBits) & kGenerationMask; }
  static std::uint64_t live_word(std::uint64_t handle) noexcept { return generation_of(handle) * 2 + 1; }

  // A handle of that slot, less its generation.
  std::uint64_t place_of(std::uint64_t index) const noexcept {
    return (static_cast<std::uint64_t>(kind_) << kKindShift) | index;
  }
  // Null: no handle of this kind, or of a slot that was never used.
  Slot* slot_of(std::uint64_t handle) const noexcept {
    if (handle >> kKindShift != static_cast<std::uint64_t>(kind_)) return nullptr;
    const std::uint64_t index = index_of(handle);
    Chunk* chunk = chunks_[index >> kChunkBits].load(std::memory_order_acquire);
    return chunk == nullptr ? nullptr : &(*chunk)[index & ((std::uint64_t{1} << kChunkBits) - 1)];
  }

  const HandleKind kind_;
  std::array<std::atomic<Chunk*>, std::size_t{1} << (kIndexBits - kChunkBits)> chunks_{};
  std::mutex mutex_;               // guards the two below, and next_spare of all slots
  std::uint64_t first_spare_ = 0;  // index of a slot without an object, plus one; 0: none
  std::uint64_t used_ = 0;         // slots that ever had an object
};

}  // namespace cistern::capi
