#include "replay/sources/pickle.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <iterator>
#include <string>
#include <utility>

#include "replay/sources/pickle_opcodes.hpp"

namespace cistern::replay {

using base::Result;
using base::Status;
using base::StatusCode;

namespace {

// In the order of Word, without `other`; sorted.
constexpr std::array<std::string_view, 19> kWords = {"action",
                                                     "active_allocated",
                                                     "active_awaiting_free",
                                                     "active_pending_free",
                                                     "addr",
                                                     "address",
                                                     "alloc",
                                                     "blocks",
                                                     "device",
                                                     "device_traces",
                                                     "free_completed",
                                                     "free_requested",
                                                     "inactive",
                                                     "requested_size",
                                                     "segments",
                                                     "size",
                                                     "state",
                                                     "stream",
                                                     "time_us"};
static_assert(kWords.size() == static_cast<std::size_t>(Word::time_us));
constexpr std::size_t kLongestWord = 20;

Word word_of(std::string_view text) noexcept {
  const auto* found = std::lower_bound(kWords.begin(), kWords.end(), text);
  if (found == kWords.end() || *found != text) return Word::other;
  return static_cast<Word>(found - kWords.begin() + 1);
}

}  // namespace

const Pickle::List* Pickle::list(const Value& value) const noexcept {
  return value.kind == Kind::list ? &lists_[value.container] : nullptr;
}

const Pickle::Value* Pickle::entry(const Value& value, Word key) const noexcept {
  if (value.kind != Kind::dictionary) return nullptr;
  for (const Entry& entry : dictionaries_[value.container]) {
    if (entry.key == key) return &entry.value;
  }
  return nullptr;
}

std::optional<std::int64_t> Pickle::integer(const Value& value, Word key) const noexcept {
  const Value* found = entry(value, key);
  if (found == nullptr || found->kind != Kind::integer) return std::nullopt;
  return found->integer;
}

// Carries out a pickle's opcodes on a stack, as the format defines them.
class PickleReader {
 public:
  explicit PickleReader(Input* input) noexcept : input_(*input) {}

  Status run();
  Pickle take() noexcept { return std::move(pickle_); }

 private:
  using Value = Pickle::Value;
  using Kind = Pickle::Kind;

  Status carry_out(Opcode code);
  Status carry_out_on_containers(Opcode code);
  Status refuse(std::uint8_t code) const;
  Status malformed(std::string_view what) const;

  Status read_number(std::size_t bytes, std::uint64_t* number);
  Status push_integer(std::size_t bytes, bool is_signed);
  Status push_long();
  Status push_text(std::size_t length_bytes);
  Status push(const Value& value);
  Status push_container(Kind kind, std::vector<Value> elements);
  Status push_tuple(std::size_t count);
  Status collect_to_mark(std::vector<Value>* elements);
  Status extend_list(const std::vector<Value>& elements);
  Status extend_dictionary(const std::vector<Value>& elements);
  Status put(std::uint64_t place);
  Status get(std::uint64_t place);
  Status keep(std::uint64_t values);
  Status pop(std::size_t count, std::vector<Value>* elements);

  Input& input_;
  Pickle pickle_;
  std::vector<Value> stack_;
  std::vector<Value> memo_;
  std::uint64_t opcode_offset_ = 0;
  std::uint64_t kept_ = 0;
  bool is_done_ = false;
};

Status PickleReader::run() {
  while (!is_done_) {
    opcode_offset_ = input_.offset();
    char byte = 0;
    if (Status failed = input_.take(&byte, 1); !failed.is_ok()) return failed;
    if (opcode_offset_ == 0 && static_cast<std::uint8_t>(byte) != static_cast<std::uint8_t>(Opcode::proto)) {
      return malformed("it does not begin as a pickle of protocol 2 or later does");
    }
    if (Status failed = carry_out(static_cast<Opcode>(byte)); !failed.is_ok()) return failed;
  }
  return {};
}

Status PickleReader::carry_out(Opcode code) {
  std::uint64_t number = 0;
  switch (code) {
    case Opcode::proto:
      if (Status failed = read_number(1, &number); !failed.is_ok()) return failed;
      return number >= 2 && number <= 5 ? Status() : malformed("its protocol is not 2 to 5; save it with protocol=4");
    case Opcode::frame:
      return input_.skip(8);
    case Opcode::none:
      return push({});
    case Opcode::new_true:
      return push({Kind::integer, Word::other, 0, 1});
    case Opcode::new_false:
      return push({Kind::integer, Word::other, 0, 0});
    case Opcode::bin_int:
      return push_integer(4, true);
    case Opcode::bin_int1:
      return push_integer(1, false);
    case Opcode::bin_int2:
      return push_integer(2, false);
    case Opcode::long1:
      return push_long();
    case Opcode::bin_float:
      if (Status failed = input_.skip(8); !failed.is_ok()) return failed;
      return push({Kind::real, Word::other, 0, 0});
    case Opcode::short_bin_unicode:
      return push_text(1);
    case Opcode::bin_unicode:
      return push_text(4);
    case Opcode::bin_unicode8:
      return push_text(8);
    case Opcode::bin_put:
    case Opcode::long_bin_put:
      if (Status failed = read_number(code == Opcode::bin_put ? 1 : 4, &number); !failed.is_ok()) return failed;
      return put(number);
    case Opcode::memoize:
      return put(memo_.size());
    case Opcode::bin_get:
    case Opcode::long_bin_get:
      if (Status failed = read_number(code == Opcode::bin_get ? 1 : 4, &number); !failed.is_ok()) return failed;
      return get(number);
    default:
      return carry_out_on_containers(code);
  }
}

Status PickleReader::carry_out_on_containers(Opcode code) {
  std::vector<Value> elements;
  Status failed;
  switch (code) {
    case Opcode::mark:
      return push({Kind::mark, Word::other, 0, 0});
    case Opcode::empty_list:
    case Opcode::empty_tuple:
      return push_container(Kind::list, {});
    case Opcode::empty_dict:
      return push_container(Kind::dictionary, {});
    case Opcode::tuple1:
    case Opcode::tuple2:
    case Opcode::tuple3:
      return push_tuple(static_cast<std::size_t>(code) - static_cast<std::size_t>(Opcode::tuple1) + 1);
    case Opcode::tuple:
    case Opcode::list:
      failed = collect_to_mark(&elements);
      return failed.is_ok() ? push_container(Kind::list, std::move(elements)) : failed;
    case Opcode::dict:
      if (failed = collect_to_mark(&elements); !failed.is_ok()) return failed;
      if (failed = push_container(Kind::dictionary, {}); !failed.is_ok()) return failed;
      return extend_dictionary(elements);
    case Opcode::append:
      failed = pop(1, &elements);
      return failed.is_ok() ? extend_list(elements) : failed;
    case Opcode::appends:
      failed = collect_to_mark(&elements);
      return failed.is_ok() ? extend_list(elements) : failed;
    case Opcode::set_item:
      failed = pop(2, &elements);
      return failed.is_ok() ? extend_dictionary(elements) : failed;
    case Opcode::set_items:
      failed = collect_to_mark(&elements);
      return failed.is_ok() ? extend_dictionary(elements) : failed;
    case Opcode::stop:
      if (failed = pop(1, &elements); !failed.is_ok()) return failed;
      pickle_.top_ = elements.front();
      is_done_ = true;
      return {};
    default:
      return refuse(static_cast<std::uint8_t>(code));
  }
}

Status PickleReader::refuse(std::uint8_t code) const {
  const std::string_view name = refused_opcode_name(code);
  if (name.empty()) {
    std::array<char, 8> hex{};
    std::snprintf(hex.data(), hex.size(), "0x%02x", static_cast<unsigned>(code));
    return malformed(std::string(hex.data()) + " is no opcode");
  }
  return {
      StatusCode::unsupported,
      "byte " + std::to_string(opcode_offset_) + ": the pickle uses " + std::string(name) +
          ", which is not carried out: snapshots are plain data, and other pickles may run code when they are read"};
}

Status PickleReader::malformed(std::string_view what) const {
  return {StatusCode::corrupted,
          "byte " + std::to_string(opcode_offset_) + ": the pickle is malformed: " + std::string(what)};
}

// Little-endian.
Status PickleReader::read_number(std::size_t bytes, std::uint64_t* number) {
  std::array<char, 8> raw{};
  if (Status failed = input_.take(raw.data(), bytes); !failed.is_ok()) return failed;
  *number = 0;
  for (std::size_t i = bytes; i-- > 0;) *number = *number << 8 | static_cast<std::uint8_t>(raw[i]);
  return {};
}

Status PickleReader::push_integer(std::size_t bytes, bool is_signed) {
  std::uint64_t number = 0;
  if (Status failed = read_number(bytes, &number); !failed.is_ok()) return failed;
  const auto value =
      is_signed ? static_cast<std::int64_t>(static_cast<std::int32_t>(number)) : static_cast<std::int64_t>(number);
  return push({Kind::integer, Word::other, 0, value});
}

// Integers beyond 64 bits are no number that a snapshot has; they become a real, which nothing takes for a size.
Status PickleReader::push_long() {
  std::uint64_t length = 0;
  if (Status failed = read_number(1, &length); !failed.is_ok()) return failed;
  if (length > 8) {
    if (Status failed = input_.skip(length); !failed.is_ok()) return failed;
    return push({Kind::real, Word::other, 0, 0});
  }
  std::uint64_t number = 0;
  if (Status failed = read_number(length, &number); !failed.is_ok()) return failed;
  const bool is_negative = length != 0 && length < 8 && (number >> (8 * length - 1)) != 0;
  if (is_negative) number |= ~std::uint64_t{0} << (8 * length);
  return push({Kind::integer, Word::other, 0, static_cast<std::int64_t>(number)});
}

Status PickleReader::push_text(std::size_t length_bytes) {
  std::uint64_t length = 0;
  if (Status failed = read_number(length_bytes, &length); !failed.is_ok()) return failed;
  if (length > kLongestWord) {
    if (Status failed = input_.skip(length); !failed.is_ok()) return failed;
    return push({Kind::word, Word::other, 0, 0});
  }
  std::array<char, kLongestWord> text{};
  if (Status failed = input_.take(text.data(), length); !failed.is_ok()) return failed;
  return push({Kind::word, word_of({text.data(), static_cast<std::size_t>(length)}), 0, 0});
}

Status PickleReader::push(const Value& value) {
  if (Status failed = keep(1); !failed.is_ok()) return failed;
  stack_.push_back(value);
  return {};
}

Status PickleReader::push_container(Kind kind, std::vector<Value> elements) {
  constexpr std::uint64_t kEmptyContainer = 2;  // in values
  if (Status failed = keep(kEmptyContainer + elements.size()); !failed.is_ok()) return failed;
  Value value{kind, Word::other, 0, 0};
  if (kind == Kind::list) {
    value.container = static_cast<std::uint32_t>(pickle_.lists_.size());
    pickle_.lists_.push_back(std::move(elements));
  } else {
    value.container = static_cast<std::uint32_t>(pickle_.dictionaries_.size());
    pickle_.dictionaries_.emplace_back();
  }
  return push(value);
}

Status PickleReader::push_tuple(std::size_t count) {
  std::vector<Value> elements;
  Status failed = pop(count, &elements);
  return failed.is_ok() ? push_container(Kind::list, std::move(elements)) : failed;
}

Status PickleReader::pop(std::size_t count, std::vector<Value>* elements) {
  if (stack_.size() < count) return malformed("it takes more values than there are");
  const auto first = stack_.end() - static_cast<std::ptrdiff_t>(count);
  if (std::any_of(first, stack_.end(), [](const Value& value) { return value.kind == Kind::mark; })) {
    return malformed("it takes a mark for a value");
  }
  elements->assign(first, stack_.end());
  stack_.erase(first, stack_.end());
  return {};
}

Status PickleReader::collect_to_mark(std::vector<Value>* elements) {
  const auto mark =
      std::find_if(stack_.rbegin(), stack_.rend(), [](const Value& value) { return value.kind == Kind::mark; });
  if (mark == stack_.rend()) return malformed("a mark is missing");
  elements->assign(mark.base(), stack_.end());
  stack_.erase(mark.base() - 1, stack_.end());
  return {};
}

Status PickleReader::extend_list(const std::vector<Value>& elements) {
  if (stack_.empty() || stack_.back().kind != Kind::list) return malformed("it appends to what is no list");
  if (Status failed = keep(elements.size()); !failed.is_ok()) return failed;
  Pickle::List& list = pickle_.lists_[stack_.back().container];
  list.insert(list.end(), elements.begin(), elements.end());
  return {};
}

Status PickleReader::extend_dictionary(const std::vector<Value>& elements) {
  if (stack_.empty() || stack_.back().kind != Kind::dictionary) return malformed("it sets an item of no dictionary");
  if (elements.size() % 2 != 0) return malformed("a key has no value");
  Pickle::Dictionary& entries = pickle_.dictionaries_[stack_.back().container];
  for (std::size_t i = 0; i < elements.size(); i += 2) {
    const Word key = elements[i].word;
    if (elements[i].kind != Kind::word || key == Word::other) continue;
    const auto old =
        std::find_if(entries.begin(), entries.end(), [key](const Pickle::Entry& entry) { return entry.key == key; });
    if (old != entries.end()) {
      old->value = elements[i + 1];
      continue;
    }
    if (Status failed = keep(2); !failed.is_ok()) return failed;
    entries.push_back({key, elements[i + 1]});
  }
  return {};
}

// Writers number their memo from 0 without gaps; a gap would be a way to claim gigabytes with five bytes.
Status PickleReader::put(std::uint64_t place) {
  if (stack_.empty() || stack_.back().kind == Kind::mark) return malformed("it remembers what is no value");
  if (place > memo_.size()) return malformed("its memo has gaps");
  if (place < memo_.size()) {
    memo_[place] = stack_.back();
    return {};
  }
  if (Status failed = keep(1); !failed.is_ok()) return failed;
  memo_.push_back(stack_.back());
  return {};
}

Status PickleReader::get(std::uint64_t place) {
  if (place >= memo_.size()) return malformed("it recalls what was never remembered");
  return push(memo_[place]);
}

Status PickleReader::keep(std::uint64_t values) {
  kept_ += values;
  if (kept_ <= input_.limits().pickle_values) return {};
  return {StatusCode::limit_exceeded,
          "byte " + std::to_string(opcode_offset_) + ": the pickle holds more than " +
              std::to_string(input_.limits().pickle_values) +
              " values, the most that is read; record with a smaller max_entries or with stacks off"};
}

Result<Pickle> Pickle::read(Input* input) noexcept {
  PickleReader reader(input);
  if (Status failed = reader.run(); !failed.is_ok()) return failed;
  return reader.take();
}

}  // namespace cistern::replay
