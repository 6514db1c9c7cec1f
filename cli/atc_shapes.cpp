#include "cli/atc_shapes.hpp"

#include <algorithm>
#include <charconv>

#include "base/text.hpp"
#include "engine/model_outline.hpp"

namespace cistern::cli {
namespace {

using base::Result;

constexpr std::int64_t kOpen = -1;  // of axis 0, with --dynamic-batch-size

std::vector<std::string> parts_of(const std::string& text, char separator) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(separator, at), text.size());
    parts.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

// Whole numbers between commas.
Result<std::vector<std::int64_t>> numbers_of(const std::string& text) {
  std::vector<std::int64_t> numbers;
  for (const std::string& part : parts_of(text, ',')) {
    std::int64_t number = 0;
    const char* const end = part.data() + part.size();
    const auto [stop, wrong] = std::from_chars(part.data(), end, number);
    if (wrong != std::errc() || stop != end) {
      return base::invalid_argument(base::in_quotes(part) + " is no whole number of 64 bits");
    }
    numbers.push_back(number);
  }
  return numbers;
}

const InputShape* find_shape(const std::vector<InputShape>& shapes, const std::string& name) {
  const auto found =
      std::find_if(shapes.begin(), shapes.end(), [&](const InputShape& one) { return one.name == name; });
  return found == shapes.end() ? nullptr : &*found;
}

base::Status check_names(const std::vector<engine::TensorInfo>& inputs, const std::vector<InputShape>& shapes) {
  for (const InputShape& shape : shapes) {
    const auto is_named = [&shape](const engine::TensorInfo& input) { return input.name == shape.name; };
    if (std::any_of(inputs.begin(), inputs.end(), is_named)) continue;
    std::string list;
    for (const engine::TensorInfo& input : inputs) list += (list.empty() ? "" : ", ") + engine::describe(input);
    return base::invalid_argument("--input-shape: there is no input " + base::in_quotes(shape.name) +
                                  "; there are: " + list);
  }
  return {};
}

Result<engine::AxisRule> rule_for(const engine::TensorInfo& input, std::size_t index, const InputShape* shape,
                                  const std::vector<std::uint64_t>& batches) {
  const engine::Axis& axis = input.axes[index];
  const auto wrong = [&](const std::string& what) {
    return base::invalid_argument("--input-shape: axis " + std::to_string(index) + " of " +
                                  base::in_quotes(input.name) + " " + what + "; the model has " +
                                  engine::describe(input));
  };
  if (shape == nullptr && axis.is_dynamic()) return wrong("has no extent");
  const std::int64_t extent = shape == nullptr ? axis.extent : shape->extents[index];
  if (!axis.is_dynamic() && extent != axis.extent) return wrong("cannot be " + std::to_string(extent));
  if (extent == kOpen && index == 0 && !batches.empty()) {
    const auto least = static_cast<std::int64_t>(batches.front());
    const auto most = static_cast<std::int64_t>(batches.back());
    return engine::AxisRule{{least, most, most - least}, {}};
  }
  if (extent == kOpen && index == 0) return wrong("is -1, but there is no --dynamic-batch-size");
  if (extent < 1) return wrong("cannot be " + std::to_string(extent));
  return engine::AxisRule{{extent, extent, 1}, {}};
}

}  // namespace

Result<std::vector<InputShape>> parse_input_shapes(const std::string& text) {
  std::vector<InputShape> shapes;
  if (text.empty()) return shapes;
  for (const std::string& part : parts_of(text, ';')) {
    const std::size_t colon = part.rfind(':');
    if (colon == std::string::npos || colon == 0) {
      return base::invalid_argument("--input-shape: " + base::in_quotes(part) +
                                    " is not NAME:EXTENT,EXTENT,..., such as x:1,3,224,224");
    }
    auto extents = numbers_of(part.substr(colon + 1));
    if (!extents.is_ok()) return extents.status().with_context("--input-shape: " + base::in_quotes(part));
    InputShape shape{part.substr(0, colon), extents.take()};
    if (find_shape(shapes, shape.name) != nullptr) {
      return base::invalid_argument("--input-shape: " + base::in_quotes(shape.name) + " is there twice");
    }
    shapes.push_back(std::move(shape));
  }
  return shapes;
}

Result<std::vector<std::uint64_t>> parse_batches(const std::string& text) {
  std::vector<std::uint64_t> batches;
  if (text.empty()) return batches;
  auto numbers = numbers_of(text);
  if (!numbers.is_ok()) return numbers.status().with_context("--dynamic-batch-size");
  for (const std::int64_t batch : numbers.value()) {
    if (batch < 1) return base::invalid_argument("--dynamic-batch-size: no batch is " + std::to_string(batch));
    batches.push_back(static_cast<std::uint64_t>(batch));
  }
  std::sort(batches.begin(), batches.end());
  batches.erase(std::unique(batches.begin(), batches.end()), batches.end());
  if (batches.size() < 2 || batches.size() > engine::kMostBatches) {
    return base::invalid_argument("--dynamic-batch-size: a choice is of 2 to " + std::to_string(engine::kMostBatches) +
                                  " batches, not of " + std::to_string(batches.size()));
  }
  return batches;
}

Result<engine::ShapeRules> rules_for(const std::vector<engine::TensorInfo>& inputs,
                                     const std::vector<InputShape>& shapes, const std::vector<std::uint64_t>& batches) {
  if (base::Status unknown = check_names(inputs, shapes); !unknown.is_ok()) return unknown;
  engine::ShapeRules rules;
  bool has_batch = false;
  for (const engine::TensorInfo& input : inputs) {
    const InputShape* const shape = find_shape(shapes, input.name);
    if (shape != nullptr && shape->extents.size() != input.axes.size()) {
      return base::invalid_argument(
          "--input-shape: " + base::in_quotes(input.name) + " has " + std::to_string(input.axes.size()) +
          " axes, not " + std::to_string(shape->extents.size()) + "; the model has " + engine::describe(input));
    }
    auto& axes = rules.rules.emplace_back();
    for (std::size_t index = 0; index < input.axes.size(); ++index) {
      auto rule = rule_for(input, index, shape, batches);
      if (!rule.is_ok()) return rule.take_status();
      axes.push_back(rule.take());
      has_batch = has_batch || axes.back().range.lo != axes.back().range.hi;
    }
  }
  if (!batches.empty() && !has_batch) {
    return base::invalid_argument("--dynamic-batch-size: no input has -1 as axis 0 in --input-shape");
  }
  return rules;
}

}  // namespace cistern::cli
