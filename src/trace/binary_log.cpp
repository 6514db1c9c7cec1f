#include "trace/binary_log.hpp"

#include <unistd.h>

#include "trace/crc32c.hpp"

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
  put_fixed(&header, crc32c(header), 4);
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
  explain(tables);
  begin_record(RecordKind::event);
  records_.push_back(static_cast<char>(event.op));
  put_number(&records_, event.pool);
  put_number(&records_, event.thread);
  put_difference(&records_, event.sequence, &last_sequence_);
  put_difference(&records_, event.time, &last_ticks_);
  put_difference(&records_, event.address, &last_address_);
  put_number(&records_, event.requested_bytes);
  put_number(&records_, event.granted_bytes);
  put_number(&records_, event.tag);
  put_number(&records_, event.stream);
  put_number(&records_, event.stack);
  flush_if_full();
}

void BinaryLog::write_dropped(std::uint32_t thread, std::uint64_t count) {
  begin_record(RecordKind::dropped);
  put_number(&records_, thread);
  put_number(&records_, count);
}

void BinaryLog::flush() {
  if (records_.empty()) return;
  const ClockPair now = read_clocks();
  std::string chunk(kChunkMagic);
  put_fixed(&chunk, records_.size(), 4);
  put_fixed(&chunk, chunks_++, 8);
  put_fixed(&chunk, now.ticks, 8);
  put_fixed(&chunk, now.ns, 8);
  put_fixed(&chunk, crc32c(records_), 4);
  put_fixed(&chunk, crc32c(chunk), 4);
  chunk += records_;
  file_.write(chunk);
  records_.clear();
  last_sequence_ = last_ticks_ = last_address_ = 0;
}

void BinaryLog::end() {
  begin_record(RecordKind::end);
  flush();
}

void BinaryLog::rotate() {
  end();
  file_.rotate();
  chunks_ = 0;
  pools_ = tags_ = stacks_ = modules_ = 0;
  write_file_header();
}

}  // namespace cistern::trace
