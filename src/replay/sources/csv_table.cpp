#include "replay/sources/csv_table.hpp"

#include <algorithm>
#include <utility>

#include "base/text.hpp"
#include "replay/sources/numbers.hpp"

namespace cistern::replay {

using base::Result;
using base::Status;
using base::StatusCode;

namespace {

bool is_inside_quotes(std::string_view text) noexcept { return std::count(text.begin(), text.end(), '"') % 2 != 0; }

std::string_view unquoted(std::string_view field) noexcept {
  field = base::trim(field);
  if (field.size() >= 2 && field.front() == '"' && field.back() == '"') field = field.substr(1, field.size() - 2);
  return field;
}

}  // namespace

void split_csv(std::string_view line, std::vector<std::string_view>& fields) {
  fields.clear();
  bool quoted = false;
  std::size_t start = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '"') quoted = !quoted;
    if (line[i] != ',' || quoted) continue;
    fields.push_back(unquoted(line.substr(start, i - start)));
    start = i + 1;
  }
  fields.push_back(unquoted(line.substr(start)));
}

CsvTable::CsvTable(Input* input, std::vector<std::string_view> columns)
    : input_(input), columns_(std::move(columns)), values_(columns_.size()) {}

Result<CsvTable> CsvTable::open(Input* input, std::vector<std::string_view> columns) noexcept {
  CsvTable table(input, std::move(columns));
  do {  // comments may stand before the header
    auto has_header = table.next_record();
    if (!has_header.is_ok()) return has_header.take_status();
    if (!has_header.value()) return Status(StatusCode::corrupted, "the file has no header line");
  } while (table.record_.starts_with('#'));
  const std::string_view header = table.record_;
  split_csv(header, table.fields_);
  for (const std::string_view column : table.columns_) {
    const auto place = std::find(table.fields_.begin(), table.fields_.end(), column);
    if (place == table.fields_.end()) {
      return input->bad_line("the header has no column " + base::in_quotes(column) + "; it is " +
                             base::in_quotes(header));
    }
    table.places_.push_back(static_cast<std::size_t>(place - table.fields_.begin()));
  }
  table.fields_.clear();
  return table;
}

// One record, joined from as many lines as its quoted fields span.
Result<bool> CsvTable::next_record() noexcept {
  std::string_view line;
  do {
    auto more = input_->next_line(line);
    if (!more.is_ok() || !more.value()) return more;
  } while (base::trim(line).empty());
  record_ = line;
  bool open = is_inside_quotes(line);
  while (open) {
    auto more = input_->next_line(line);
    if (!more.is_ok()) return more;
    if (!more.value()) return input_->bad_line("a quoted field has no end");
    if (record_.size() + line.size() > input_->limits().line_bytes) {
      return input_->bad_line("a quoted field that began earlier is longer than " +
                              std::to_string(input_->limits().line_bytes) + " bytes; a quote is missing");
    }
    record_ += '\n';
    record_ += line;
    open ^= is_inside_quotes(line);
  }
  return true;
}

Result<bool> CsvTable::next() noexcept {
  auto more = next_record();
  if (!more.is_ok() || !more.value()) return more;
  split_csv(record_, fields_);
  for (std::size_t column = 0; column < places_.size(); ++column) {
    if (places_[column] >= fields_.size()) {
      return bad_row("has " + std::to_string(fields_.size()) + " fields, but column " +
                     base::in_quotes(columns_[column]) + " is field " + std::to_string(places_[column] + 1));
    }
    values_[column] = fields_[places_[column]];
  }
  return true;
}

Status CsvTable::bad_field(std::size_t column, std::string_view expected) const {
  return bad_row(std::string(columns_[column]) + ": " + base::in_quotes(values_[column]) + " " + std::string(expected));
}

Result<std::uint64_t> CsvTable::decimal(std::size_t column) const noexcept {
  if (const auto value = parse_decimal(values_[column])) return *value;
  return bad_field(column, "is no whole number below 2^64");
}

Result<std::uint64_t> CsvTable::pointer(std::size_t column) const noexcept {
  if (const auto value = parse_pointer(values_[column])) return *value;
  return bad_field(column, "is no address (hexadecimal, like 0x7f00)");
}

Result<std::uint64_t> CsvTable::scaled(std::size_t column, std::uint64_t scale) const noexcept {
  if (const auto value = parse_scaled(values_[column], scale)) return *value;
  return bad_field(column, "is no number in range");
}

}  // namespace cistern::replay
