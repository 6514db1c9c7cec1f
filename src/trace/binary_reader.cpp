// Reads binary traces (binary_format.hpp). The bytes may be anything: every field is checked before it is used, and a
// chunk is taken whole or not at all.
#include <algorithm>

#include "base/crc32c.hpp"
#include "trace/binary_format.hpp"
#include "trace/event_log.hpp"
#include "trace/reader.hpp"
#include "trace/ring.hpp"

namespace cistern::trace {
namespace {

// Reads fields from front to back. After the first that is not there, everything is 0 and is_ok() false.
class Cursor {
 public:
  explicit Cursor(std::string_view bytes) noexcept : rest_(bytes) {}
  bool is_ok() const noexcept { return ok_; }
  bool at_end() const noexcept { return rest_.empty(); }
  void fail() noexcept {
    ok_ = false;
    rest_ = {};
  }

  std::uint64_t number() noexcept {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(rest_.front());
      rest_.remove_prefix(1);
      if (shift == 63 && byte > 1) break;
      value |= std::uint64_t{byte & 0x7FU} << shift;
      if ((byte & 0x80) == 0) return value;
    }
    fail();
    return 0;
  }
  std::uint32_t small_number() noexcept {
    const std::uint64_t value = number();
    if (value > ~std::uint32_t{0}) fail();
    return ok_ ? static_cast<std::uint32_t>(value) : 0;
  }
  std::uint64_t difference(std::uint64_t* last) noexcept {
    *last += unzigzag(number());
    return *last;
  }
  std::string_view text() noexcept {
    const std::uint64_t bytes = number();
    if (bytes > rest_.size()) fail();
    if (!ok_) return {};
    const std::string_view taken = rest_.substr(0, bytes);
    rest_.remove_prefix(bytes);
    return taken;
  }
  std::uint8_t byte() noexcept {
    if (rest_.empty()) fail();
    if (!ok_) return 0;
    const auto value = static_cast<std::uint8_t>(rest_.front());
    rest_.remove_prefix(1);
    return value;
  }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

class ChunkReader {
 public:
  ChunkReader(std::string_view records, Trace* trace) noexcept : cursor_(records), trace_(trace) {}

  // False: the records contradict the format. What came before stays in the trace.
  bool read(const ClockPair& first, const ClockPair& second) {
    while (!cursor_.at_end()) {
      if (!read_record() || !cursor_.is_ok()) return false;
    }
    for (TraceEvent& event : events_) event.time = ticks_to_ns(event.time, first, second);
    trace_->events.insert(trace_->events.end(), events_.begin(), events_.end());
    return cursor_.is_ok();
  }

 private:
  bool read_record() {
    if (trace_->ended) return false;  // nothing comes after the end
    const std::uint8_t kind = cursor_.byte();
    if ((kind & static_cast<std::uint8_t>(RecordKind::event)) != 0) return read_event(kind);
    switch (static_cast<RecordKind>(kind)) {
      case RecordKind::pool: {
        const std::uint32_t pool = cursor_.small_number();
        const std::string_view name = cursor_.text();
        trace_->tables.pools.push_back({pool, std::string(name), std::string(cursor_.text())});
        return true;
      }
      case RecordKind::tag: {
        const std::uint32_t pool = cursor_.small_number();
        const std::uint32_t tag = cursor_.small_number();
        trace_->tables.tags.push_back({pool, tag, std::string(cursor_.text())});
        return true;
      }
      case RecordKind::stack:
        return read_stack();
      case RecordKind::module:
        return read_module();
      case RecordKind::dropped:
        static_cast<void>(cursor_.small_number());
        trace_->dropped += cursor_.number();
        return true;
      case RecordKind::end:
        trace_->ended = true;
        return true;
      case RecordKind::event:
        break;
    }
    return false;
  }

  bool read_event(std::uint8_t kind) {
    TraceEvent event;
    const std::uint8_t op = kind & kEventOpBits;
    if (op == 0 || op > static_cast<std::uint8_t>(pool::kLastEventOp) || kind >= 2 * kNoNamesBit) return false;
    event.op = static_cast<EventOp>(op);
    if ((kind & kSamePlaceBit) == 0) {
      pool_ = cursor_.small_number();
      thread_ = cursor_.small_number();
    }
    event.pool = pool_;
    event.thread = thread_;
    event.sequence = cursor_.difference(&sequence_);
    event.time = cursor_.difference(&ticks_);
    event.address = cursor_.difference(&address_);
    event.requested_bytes = cursor_.number();
    event.granted_bytes = event.requested_bytes + unzigzag(cursor_.number());
    if ((kind & kNoNamesBit) == 0) {
      event.tag = cursor_.small_number();
      event.stream = cursor_.small_number();
      event.stack = cursor_.small_number();
    }
    if (event.stack > trace_->tables.stacks.size()) return false;
    events_.push_back(event);
    return true;
  }

  bool read_stack() {
    const std::uint64_t count = cursor_.number();
    if (count > kMaxStackDepth) return false;
    std::vector<std::uint64_t> addresses(count);
    std::uint64_t last = 0;
    for (std::uint64_t& address : addresses) address = cursor_.difference(&last);
    trace_->tables.stacks.push_back(std::move(addresses));
    return true;
  }

  bool read_module() {
    Module module;
    module.begin = cursor_.number();
    module.end = module.begin + cursor_.number();
    module.bias = cursor_.number();
    module.path = cursor_.text();
    if (!cursor_.is_ok() || module.end <= module.begin) return false;
    auto& modules = trace_->tables.modules;
    const auto place = std::lower_bound(modules.begin(), modules.end(), module.begin,
                                        [](const Module& each, std::uint64_t begin) { return each.begin < begin; });
    if (place == modules.end() || place->begin != module.begin) modules.insert(place, std::move(module));
    return true;
  }

  Cursor cursor_;
  Trace* trace_;
  std::vector<TraceEvent> events_;
  std::uint32_t pool_ = 0;
  std::uint32_t thread_ = 0;
  std::uint64_t sequence_ = 0;
  std::uint64_t ticks_ = 0;
  std::uint64_t address_ = 0;
};

base::Status not_readable(std::string text) { return base::Status(base::StatusCode::corrupted, std::move(text)); }

}  // namespace

base::Result<Trace> parse_binary_trace(std::string_view bytes) {
  if (bytes.size() < kFileHeaderBytes) return not_readable("the trace ends inside its header");
  const std::string_view header = bytes.substr(0, kFileHeaderBytes);
  if (get_fixed(header.substr(52, 4)) != base::crc32c(header.substr(0, 52))) {
    return not_readable("the header of the trace is damaged: its check sum does not match");
  }
  if (get_fixed(header.substr(8, 4)) != kFormatVersion || get_fixed(header.substr(12, 4)) != kFileHeaderBytes) {
    return base::unsupported("the trace has version " + std::to_string(get_fixed(header.substr(8, 4))) +
                             "; this tool reads version " + std::to_string(kFormatVersion));
  }
  Trace trace;
  trace.process = get_fixed(header.substr(32, 8));
  const ClockPair first{get_fixed(header.substr(16, 8)), get_fixed(header.substr(24, 8))};
  std::size_t at = kFileHeaderBytes;
  for (std::uint64_t number = 0; at < bytes.size(); ++number) {
    const auto damaged = [&](const std::string& what) {
      trace.damage = "chunk " + std::to_string(number) + " at byte " + std::to_string(at) + " " + what;
      trace.unread_bytes = bytes.size() - at;
    };
    const std::string_view chunk = bytes.substr(at, kChunkHeaderBytes);
    if (chunk.size() < kChunkHeaderBytes) {
      damaged("ends inside its header");
      break;
    }
    const std::uint64_t length = get_fixed(chunk.substr(4, 4));
    if (chunk.substr(0, 4) != kChunkMagic || get_fixed(chunk.substr(44, 4)) != base::crc32c(chunk.substr(0, 44)) ||
        get_fixed(chunk.substr(8, 8)) != number || length > kMaxChunkBytes) {
      damaged("has a damaged header, or chunks before it are missing");
      break;
    }
    trace.newest = get_fixed(chunk.substr(32, 8));
    const std::string_view records = bytes.substr(at + kChunkHeaderBytes, length);
    if (records.size() < length) {
      damaged("is cut off: " + std::to_string(records.size()) + " of its " + std::to_string(length) +
              " bytes of records are there");
      break;
    }
    if (get_fixed(chunk.substr(40, 4)) != base::crc32c(records)) {
      damaged("is damaged: its check sum does not match");
      break;
    }
    const ClockPair second{get_fixed(chunk.substr(16, 8)), get_fixed(chunk.substr(24, 8))};
    if (!ChunkReader(records, &trace).read(first, second)) {
      damaged("has records that are none");
      break;
    }
    at += kChunkHeaderBytes + length;
  }
  return trace;
}

}  // namespace cistern::trace
