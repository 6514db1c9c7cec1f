// Tables: each column is as wide as its widest cell; padding is counted in terminal columns.
#include "report/table.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

#include "base/utf8.hpp"

namespace cistern::report {

namespace {

constexpr std::size_t kGap = 2;

std::string padded(const std::string& cell, std::size_t width, Align align) {
  const std::size_t used = base::display_width(cell);
  const std::string padding(width > used ? width - used : 0, ' ');
  return align == Align::right ? padding + cell : cell + padding;
}

std::string escaped_for_markdown(const std::string& cell) {
  std::string out;
  for (const char byte : cell) {
    if (byte == '|' || byte == '\\') out += '\\';
    out += byte;
  }
  return out;
}

}  // namespace

Table::Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

void Table::add_row(std::vector<std::string> cells) {
  assert(cells.size() <= columns_.size() && "a row has more cells than the table has columns");
  cells.resize(columns_.size());
  for (std::string& cell : cells) {
    std::replace(cell.begin(), cell.end(), '\n', ' ');
    std::replace(cell.begin(), cell.end(), '\r', ' ');
    std::replace(cell.begin(), cell.end(), '\t', ' ');
  }
  rows_.push_back(std::move(cells));
}

std::vector<std::size_t> Table::widths() const {
  std::vector<std::size_t> widths;
  widths.reserve(columns_.size());
  for (std::size_t column = 0; column < columns_.size(); ++column) {
    std::size_t width = base::display_width(columns_[column].title);
    for (const auto& row : rows_) width = std::max(width, base::display_width(row[column]));
    widths.push_back(width);
  }
  return widths;
}

std::string Table::text() const {
  const std::vector<std::size_t> width_of = widths();
  std::string out;
  const auto add_line = [&](const auto& cell_of) {
    std::string line;
    for (std::size_t column = 0; column < columns_.size(); ++column) {
      if (column > 0) line.append(kGap, ' ');
      line += padded(cell_of(column), width_of[column], columns_[column].align);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  };
  add_line([&](std::size_t column) { return columns_[column].title; });
  add_line([&](std::size_t column) { return std::string(width_of[column], '-'); });
  for (const auto& row : rows_) add_line([&](std::size_t column) { return row[column]; });
  return out;
}

std::string Table::markdown() const {
  std::string out = "|";
  for (const Column& column : columns_) out += " " + escaped_for_markdown(column.title) + " |";
  out += "\n|";
  for (const Column& column : columns_) out += column.align == Align::right ? " ---: |" : " --- |";
  out += "\n";
  for (const auto& row : rows_) {
    out += "|";
    for (const std::string& cell : row) out += (cell.empty() ? "" : " ") + escaped_for_markdown(cell) + " |";
    out += "\n";
  }
  return out;
}

}  // namespace cistern::report
