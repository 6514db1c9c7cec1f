// BinaryLog: events as compact chunks with check sums (binary_format.hpp). What was flushed survives the process.
#pragma once

#include <string>

#include "trace/binary_format.hpp"
#include "trace/event_log.hpp"
#include "trace/log_file.hpp"

namespace cistern::trace {

class BinaryLog final : public EventLog {
 public:
  explicit BinaryLog(const std::string& path);

  void write(const TraceEvent& event, const Tables& tables) override;
  void write_dropped(std::uint32_t thread, std::uint64_t count) override;
  void flush(std::uint64_t newest) override;
  void end() override;
  void rotate() override;
  std::uint64_t file_bytes() const noexcept override { return file_.size() + records_.size(); }
  std::uint64_t failures() const noexcept override { return file_.failures(); }

 private:
  void write_file_header();
  void explain(const Tables& tables);
  bool is_unexplained(const Tables& tables) const noexcept {
    return pools_ != tables.pools.size() || tags_ != tables.tags.size() || stacks_ != tables.stacks.size() ||
           modules_ != tables.modules.size();
  }
  void begin_record(RecordKind kind) { records_.push_back(static_cast<char>(kind)); }
  void flush_if_full() {
    if (records_.size() >= kChunkBytes) write_chunk();
  }
  void write_chunk();

  LogFile file_;
  ClockPair start_;      // of the recording, in every file of it: events that live on in a later one are older
  std::string records_;  // of the chunk that is being made
  std::string chunk_;    // its header and it, on their way to the file
  std::uint64_t chunks_ = 0;
  std::uint64_t newest_ = 0;
  std::uint32_t last_pool_ = 0;  // of the chunk; no pool and thread are 0
  std::uint32_t last_thread_ = 0;
  std::uint64_t last_sequence_ = 0;
  std::uint64_t last_ticks_ = 0;
  std::uint64_t last_address_ = 0;
  // How much of each table this file has.
  std::size_t pools_ = 0;
  std::size_t tags_ = 0;
  std::size_t stacks_ = 0;
  std::size_t modules_ = 0;
};

}  // namespace cistern::trace
