#include "trace/binary_log.hpp"

#include <unistd.h>

#include <algorithm>

#include "base/crc32c.hpp"

namespace cistern::trace {

BinaryLog::BinaryLog(const std::string& path) : file_(path), start_(read_clocks()) { write_file_header(); }

void BinaryLog::write_file_header() {
  std::string header(kFileMagic);
  put_fixed(&header, kFormatVersion, 4);
  put_fixed(&header, kFileHeaderBytes, 4);
  put_fixed(&header, start_.ticks, 8);
  put_fixed(&header, start_.ns, 8);
  put_fixed(&header, static_cast<std::uint64_t>(::getpid()), 8);
  put_fixed(&header, 0, 8);
  put_fixed(&header, 0, 4);
  put_fixed(&header, base::crc32c(header), 4);
  file_.write(header);
}

// Appends what `tables` has got since the last event.
void BinaryLog::explain(const Tables& tables) {
  for (; pools_ < tables.pools.size(); ++pools_) {
    begin_record(RecordKind::pool);
    put_number(&records_, tables.pools[pools_].pool);
    put_text(&records_, tables.pools[pools_].name);
    put_text(&records_, tables.pools[pools_].device);
  }
  for (; tags_ < tables.tags.size(); ++tags_) {
    begin_record(RecordKind::tag);
    put_number(&records_, tables.tags[tags_].pool);
    put_number(&records_, tables.tags[tags_].tag);
    put_text(&records_, tables.tags[tags_].text);
  }
  if (modules_ < tables.modules.size()) {  // new ones may be anywhere: all again, they are few
    modules_ = tables.modules.size();
    for (const Module& module : tables.modules) {
      begin_record(RecordKind::module);
      put_number(&records_, module.begin);
      put_number(&records_, module.end - module.begin);
      put_number(&records_, module.bias);
      put_text(&records_, module.path);
    }
  }
  for (; stacks_ < tables.stacks.size(); ++stacks_) {
    flush_if_full();
    begin_record(RecordKind::stack);
    put_number(&records_, tables.stacks[stacks_].size());
    std::uint64_t last = 0;
    for (const std::uint64_t address : tables.stacks[stacks_]) put_difference(&records_, address, &last);
  }
}

void BinaryLog::write(const TraceEvent& event, const Tables& tables) {
  if (is_unexplained(tables)) [[unlikely]]
    explain(tables);
  char bytes[kMostEventBytes];
  const bool same_place = event.pool == last_pool_ && event.thread == last_thread_;
  const bool no_names = (event.tag | event.stream | event.stack) == 0;
  char* at = bytes;
  *at++ = static_cast<char>(static_cast<unsigned>(RecordKind::event) | static_cast<unsigned>(event.op) |
                            (same_place ? kSamePlaceBit : 0U) | (no_names ? kNoNamesBit : 0U));
  if (!same_place) {
    at = put_number(put_number(at, event.pool), event.thread);
    last_pool_ = event.pool;
    last_thread_ = event.thread;
  }
  at = put_difference(at, event.sequence, &last_sequence_);
  at = put_difference(at, event.time, &last_ticks_);
  at = put_difference(at, event.address, &last_address_);
  at = put_number(at, event.requested_bytes);
  at = put_number(at, zigzag(event.granted_bytes - event.requested_bytes));
  if (!no_names) at = put_number(put_number(put_number(at, event.tag), event.stream), event.stack);
  records_.append(bytes, static_cast<std::size_t>(at - bytes));
  newest_ = std::max(newest_, event.sequence);
  flush_if_full();
}

void BinaryLog::write_dropped(std::uint32_t thread, std::uint64_t count) {
  begin_record(RecordKind::dropped);
  put_number(&records_, thread);
  put_number(&records_, count);
}

void BinaryLog::flush(std::uint64_t newest) {
  newest_ = std::max(newest_, newest);
  if (!records_.empty()) write_chunk();
}

void BinaryLog::write_chunk() {
  const ClockPair now = read_clocks();
  chunk_.assign(kChunkMagic);
  put_fixed(&chunk_, records_.size(), 4);
  put_fixed(&chunk_, chunks_++, 8);
  put_fixed(&chunk_, now.ticks, 8);
  put_fixed(&chunk_, now.ns, 8);
  put_fixed(&chunk_, newest_, 8);
  put_fixed(&chunk_, base::crc32c(records_), 4);
  put_fixed(&chunk_, base::crc32c(chunk_), 4);
  chunk_ += records_;
  file_.write(chunk_);
  records_.clear();
  last_sequence_ = last_ticks_ = last_address_ = 0;
  last_pool_ = last_thread_ = 0;
}

void BinaryLog::end() {
  begin_record(RecordKind::end);
  write_chunk();
}

void BinaryLog::rotate() {
  end();
  file_.rotate();
  chunks_ = 0;
  pools_ = tags_ = stacks_ = modules_ = 0;
  write_file_header();
}

}  // namespace cistern::trace
