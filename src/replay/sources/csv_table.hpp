// CsvTable: a CSV file as rows of named columns.
//
// Columns are found by the names in the header, so files whose writer added or moved columns still read. Fields may be
// quoted and then hold commas, line ends and doubled quotes (which stay doubled; no column that is used has any).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "replay/sources/input.hpp"

namespace cistern::replay {

class CsvTable {
 public:
  // Reads the header. `columns` are those that the reader needs, in the order of its own numbering; one that is
  // missing is an error that lists what there is.
  static base::Result<CsvTable> open(Input* input, std::vector<std::string_view> columns) noexcept;

  // The next row that is not empty; false at the end. A row with fewer fields than a needed column's is an error.
  base::Result<bool> next() noexcept;
  // Field of the needed column `column`, without spaces around it; good until next().
  std::string_view operator[](std::size_t column) const noexcept { return values_[column]; }
  // "line 7: size: 'abc' is no whole number" for expected = "is no whole number".
  base::Status bad_field(std::size_t column, std::string_view expected) const;
  base::Status bad_row(const std::string& what) const { return input_->bad_line(what); }
  base::Status at_row(const base::Status& outcome) const { return input_->at_line(outcome); }

  base::Result<std::uint64_t> decimal(std::size_t column) const noexcept;
  base::Result<std::uint64_t> pointer(std::size_t column) const noexcept;
  base::Result<std::uint64_t> scaled(std::size_t column, std::uint64_t scale) const noexcept;

 private:
  CsvTable(Input* input, std::vector<std::string_view> columns);
  base::Result<bool> next_record() noexcept;
  void split();

  Input* input_;
  std::vector<std::string_view> columns_;
  std::vector<std::size_t> places_;  // of the needed columns in a row
  std::string record_;
  std::vector<std::string_view> fields_;
  std::vector<std::string_view> values_;
};

// The fields of one line, unquoted and trimmed.
void split_csv(std::string_view line, std::vector<std::string_view>& fields);

}  // namespace cistern::replay
