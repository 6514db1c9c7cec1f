#include "capi/thread_record.hpp"

#include <pthread.h>

#include <ctime>
#include <new>

namespace cistern::capi {

thread_local constinit ThreadRecord* current_record = nullptr;

namespace {

std::atomic<ThreadRecord*> all_records{nullptr};

void release_record(void* thread_record) {
  auto* record = static_cast<ThreadRecord*>(thread_record);
  current_record = nullptr;
  record->error = LastError{};
  record->handle_in_use.store(kNoHandle, std::memory_order_release);
  record->is_taken.store(false, std::memory_order_release);
}

// A thread-specific key and not a thread_local object: its destructor runs again when a destructor of the program that
// ran later has called the library once more.
struct Process {
  Process() noexcept : key_exists(pthread_key_create(&key, &release_record) == 0) { base::prepare_asymmetric_fences(); }
  pthread_key_t key{};
  bool key_exists;
};

const Process& process() noexcept {
  static const Process kProcess;
  return kProcess;
}

ThreadRecord* reuse_record() noexcept {
  for (ThreadRecord* record = all_records.load(std::memory_order_acquire); record != nullptr; record = record->next) {
    bool taken = false;
    if (record->is_taken.compare_exchange_strong(taken, true, std::memory_order_acq_rel)) return record;
  }
  return nullptr;
}

ThreadRecord* make_record() noexcept {
  auto* record = new (std::nothrow) ThreadRecord;
  if (record == nullptr) return nullptr;
  record->next = all_records.load(std::memory_order_relaxed);
  while (!all_records.compare_exchange_weak(record->next, record, std::memory_order_release)) {
  }
  return record;
}

}  // namespace

ThreadRecord* take_record() noexcept {
  const Process& here = process();
  ThreadRecord* record = reuse_record();
  if (record == nullptr) record = make_record();
  if (record == nullptr) return nullptr;
  // Without a key the record stays with the thread for ever: a leak of some 200 bytes a thread, and no danger.
  if (here.key_exists) pthread_setspecific(here.key, record);
  current_record = record;
  return record;
}

NestedRecord::NestedRecord() noexcept : outer_(current_record), nested_(reuse_record()) {
  if (nested_ == nullptr) nested_ = make_record();
  if (nested_ == nullptr) return;
  nested_->outer = outer_;
  current_record = nested_;
}

NestedRecord::~NestedRecord() {
  if (nested_ == nullptr) return;
  current_record = outer_;
  nested_->outer = nullptr;
  nested_->error = LastError{};
  nested_->is_taken.store(false, std::memory_order_release);
}

bool is_in_call_on(std::uint64_t handle) noexcept {
  if (current_record == nullptr) return false;
  for (const ThreadRecord* record = current_record->outer; record != nullptr; record = record->outer) {
    if (record->handle_in_use.load(std::memory_order_relaxed) == handle) return true;
  }
  return false;
}

void wait_until_unused(std::uint64_t handle) noexcept {
  base::heavy_fence();
  for (ThreadRecord* record = all_records.load(std::memory_order_acquire); record != nullptr; record = record->next) {
    while (record->handle_in_use.load(std::memory_order_acquire) == handle) {
      const timespec pause{0, 50'000};
      nanosleep(&pause, nullptr);
    }
  }
}

}  // namespace cistern::capi
