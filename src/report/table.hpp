// Table: rows and columns of text for people, aligned for a terminal or written as Markdown.
//
// Widths are counted in terminal columns, not bytes, so that names in any script line up. A cell is one line: line ends
// in it become spaces.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cistern::report {

enum class Align : std::uint8_t { left, right };

struct Column {
  std::string title;
  Align align = Align::left;  // right for numbers, so that their digits line up
};

class Table {
 public:
  explicit Table(std::vector<Column> columns);

  // One cell a column; missing cells are empty, surplus cells are a bug of the caller and asserted.
  void add_row(std::vector<std::string> cells);
  std::size_t row_count() const noexcept { return rows_.size(); }

  // Titles, a rule, rows; two spaces between columns, none at a line's end. Every line ends in '\n'.
  std::string text() const;
  // The same as a GitHub-flavoured Markdown table; '|' in cells is escaped.
  std::string markdown() const;

 private:
  std::vector<std::size_t> widths() const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace cistern::report
