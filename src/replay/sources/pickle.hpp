// Pickle: Python's pickle as plain data, for the parts of memory snapshots that traces are made of.
//
// A pickle is a program; run by Python's own reader, it can run anything. This reader knows the opcodes that build
// numbers, strings, lists, tuples and dictionaries (protocols 2 to 5) and refuses every other one by its name, so a
// file can do nothing but describe data.
//
// Snapshots are large, because they repeat call stacks; nearly all of it is of no use here. So strings are compared
// with the words that matter (Word) and forgotten, and a dictionary keeps only entries whose key is such a word. The
// values that are kept are counted against a limit. Containers can contain themselves; whoever walks them goes to a
// fixed depth.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "replay/sources/input.hpp"

namespace cistern::replay {

// Keys and values of a snapshot that matter. `other` is any other string.
enum class Word : std::uint8_t {
  other,
  action,
  active_allocated,
  active_awaiting_free,
  active_pending_free,
  addr,
  address,
  alloc,
  blocks,
  device,
  device_traces,
  free_completed,
  free_requested,
  inactive,
  requested_size,
  segments,
  size,
  state,
  stream,
  time_us,
};

class Pickle {
 public:
  enum class Kind : std::uint8_t { nothing, mark, integer, real, word, list, dictionary };

  struct Value {
    Kind kind = Kind::nothing;
    Word word = Word::other;
    std::uint32_t container = 0;  // of a list (tuples are lists, too) or dictionary
    std::int64_t integer = 0;     // booleans are integers
  };
  struct Entry {
    Word key = Word::other;
    Value value;
  };
  using List = std::vector<Value>;
  using Dictionary = std::vector<Entry>;  // each key once: never more than there are words

  // Reads the whole pickle, from its first byte to STOP.
  static base::Result<Pickle> read(Input* input) noexcept;

  const Value& top() const noexcept { return top_; }
  // The elements of a list or tuple; null if the value is none.
  const List* list(const Value& value) const noexcept;
  // The entry of a dictionary; null if the value is none or has no such key.
  const Value* entry(const Value& value, Word key) const noexcept;
  // An entry that is an integer.
  std::optional<std::int64_t> integer(const Value& value, Word key) const noexcept;

 private:
  friend class PickleReader;

  Value top_;
  std::deque<List> lists_;
  std::deque<Dictionary> dictionaries_;
};

}  // namespace cistern::replay
