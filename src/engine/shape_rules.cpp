// Parsing, resolving and drawing. Resolving looks at three sources in order: the user's bindings, the defaults of known
// models, and the batch axis.
#include "engine/shape_rules.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

#include "engine/tensor_source.hpp"

namespace cistern::engine {
namespace {

using base::invalid_argument;
using base::Result;
using base::Status;

constexpr std::int64_t kMostExtent = std::int64_t{1} << 31;
constexpr std::string_view kForm = "MODEL:INPUT:AXIS=LO[:HI[:STEP]], e.g. det:x:2=320:960:32";

// Text recognition pipelines: detection of lines, recognition of a line, classification of its direction. `words` are
// those of a file's name that tell the model ("ch_PP-OCRv4_det_infer" has the word "det"), separated by spaces. Image
// inputs only: rank 4, three channels.
struct KnownModel {
  std::string_view words;
  std::size_t axis;
  DimRange range;
};
constexpr KnownModel kKnownModels[] = {
    {"det detection", 2, {320, 960, 32}},   {"det detection", 3, {320, 960, 32}},
    {"rec recognition", 2, {48, 48, 1}},    {"rec recognition", 3, {48, 640, 1}},
    {"cls classification", 2, {48, 48, 1}}, {"cls classification", 3, {192, 192, 1}},
};

std::optional<std::int64_t> to_number(std::string_view text) noexcept {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<std::size_t> to_index(std::string_view text) noexcept {
  const auto number = to_number(text);
  if (!number || *number < 0) return std::nullopt;
  return static_cast<std::size_t>(*number);
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (std::size_t at = text.find(separator); at != std::string_view::npos; at = text.find(separator)) {
    parts.push_back(text.substr(0, at));
    text.remove_prefix(at + 1);
  }
  parts.push_back(text);
  return parts;
}

Status wrong(std::string_view whole, std::string_view part, const std::string& reason) {
  return invalid_argument("--dim '" + std::string(whole) + "': " + std::string(part) + " " + reason);
}

Result<DimRange> parse_range(std::string_view whole, std::string_view text) {
  const auto parts = split(text, ':');
  if (parts.size() > 3) {
    return wrong(whole, "the range", "'" + std::string(text) + "' has more parts than LO:HI:STEP");
  }
  constexpr std::string_view kNames[] = {"LO", "HI", "STEP"};
  std::int64_t values[3] = {0, 0, 1};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto number = to_number(parts[i]);
    if (!number || *number < 1 || *number > kMostExtent) {
      return wrong(
          whole, kNames[i],
          "is '" + std::string(parts[i]) + "', but must be a whole number from 1 to " + std::to_string(kMostExtent));
    }
    values[i] = *number;
  }
  if (parts.size() == 1) values[1] = values[0];
  if (values[1] < values[0]) {
    return wrong(whole, "HI", "(" + std::to_string(values[1]) + ") is below LO (" + std::to_string(values[0]) + ")");
  }
  return DimRange{values[0], values[1], values[2]};
}

// Exporters write these for "no name", so equal ones do not mean equal extents.
bool is_anonymous(std::string_view symbol) noexcept {
  return symbol.empty() || symbol == "?" || symbol == "-1" || symbol == "None";
}

std::vector<std::string> words_of(std::string_view stem) {
  std::vector<std::string> words(1);
  for (const char c : stem) {
    const bool separates = c == '_' || c == '-' || c == '.' || c == ' ';
    if (separates) {
      words.emplace_back();
    } else {
      words.back() += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    }
  }
  return words;
}

std::optional<DimRange> known_range(std::string_view model, const TensorInfo& input, std::size_t axis) {
  if (input.axes.size() != 4 || input.axes[1].extent != 3) return std::nullopt;
  for (const std::string& word : words_of(model)) {
    for (const KnownModel& known : kKnownModels) {
      const auto words = split(known.words, ' ');
      const bool is_named = std::find(words.begin(), words.end(), word) != words.end();
      if (known.axis == axis && is_named) return known.range;
    }
  }
  return std::nullopt;
}

bool names_input(const Binding& binding, const TensorInfo& input, std::size_t index) {
  return binding.input == "*" || binding.input == input.name || to_index(binding.input) == index;
}

bool names_axis(const Binding& binding, const Axis& axis, std::size_t index) {
  return to_index(binding.axis) == index || (!axis.symbol.empty() && binding.axis == axis.symbol);
}

std::string list_inputs(const std::vector<TensorInfo>& inputs) {
  std::string list;
  for (const TensorInfo& input : inputs) list += (list.empty() ? "" : "; ") + describe(input);
  return list.empty() ? "none" : list;
}

// Says why a binding that names this model can't apply; success for one that can, or that is general and need not.
Status check_binding(const Binding& binding, const std::vector<TensorInfo>& inputs) {
  if (binding.model == "*") return {};
  const std::string text = format_binding(binding);
  bool input_found = false;
  bool axis_found = false;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!names_input(binding, inputs[i], i)) continue;
    input_found = true;
    for (std::size_t a = 0; a < inputs[i].axes.size(); ++a) {
      const Axis& axis = inputs[i].axes[a];
      if (!names_axis(binding, axis, a)) continue;
      axis_found = true;
      const bool contradicts =
          !axis.is_dynamic() && binding.range != DimRange{axis.extent, axis.extent, binding.range.step};
      if (contradicts && binding.input != "*") {
        return wrong(text, "axis " + binding.axis,
                     "of input '" + inputs[i].name + "' is fixed at " + std::to_string(axis.extent));
      }
    }
  }
  if (!input_found) {
    return wrong(text, "INPUT", "'" + binding.input + "' is no input of this model; it has: " + list_inputs(inputs));
  }
  if (!axis_found) {
    return wrong(text, "AXIS",
                 "'" + binding.axis + "' is no axis of that input; the model has: " + list_inputs(inputs));
  }
  return {};
}

std::optional<DimRange> bound_range(std::string_view model, const TensorInfo& input, std::size_t index,
                                    std::size_t axis, const std::vector<Binding>& bindings) {
  for (auto binding = bindings.rbegin(); binding != bindings.rend(); ++binding) {
    const bool names_model = binding->model == "*" || binding->model == model;
    if (names_model && names_input(*binding, input, index) && names_axis(*binding, input.axes[axis], axis)) {
      return binding->range;
    }
  }
  return std::nullopt;
}

Result<AxisRule> resolve_axis(std::string_view model, const TensorInfo& input, std::size_t index, std::size_t axis,
                              const std::vector<Binding>& bindings) {
  const Axis& asked = input.axes[axis];
  if (!asked.is_dynamic()) return AxisRule{{asked.extent, asked.extent, 1}, {}};
  AxisRule rule;
  if (!is_anonymous(asked.symbol)) rule.symbol = asked.symbol;
  auto range = bound_range(model, input, index, axis, bindings);
  if (!range) range = known_range(model, input, axis);
  if (!range && axis == 0) range = DimRange{};
  if (!range) {
    const std::string name = rule.symbol.empty() ? std::to_string(axis) : rule.symbol;
    return invalid_argument("axis " + std::to_string(axis) + " of input " + describe(input) + " of model " +
                            std::string(model) + " is dynamic and has no default; give its extent with --dim " +
                            std::string(model) + ":" + input.name + ":" + name + "=LO[:HI[:STEP]]");
  }
  rule.range = *range;
  return rule;
}

// Axes of one symbol must agree. A rule given for one of them is meant for all, so it wins over a default.
Status agree_on_symbols(std::string_view model, const std::vector<TensorInfo>& inputs,
                        const std::vector<std::vector<AxisRule>>& rules) {
  for (std::size_t i = 0; i < rules.size(); ++i) {
    for (const AxisRule& rule : rules[i]) {
      if (rule.symbol.empty()) continue;
      for (std::size_t j = 0; j < i; ++j) {
        for (const AxisRule& other : rules[j]) {
          if (other.symbol != rule.symbol || other.range == rule.range) continue;
          return invalid_argument("inputs '" + inputs[j].name + "' and '" + inputs[i].name + "' of model " +
                                  std::string(model) + " share the axis '" + rule.symbol +
                                  "' but have different ranges for it; give one with --dim " + std::string(model) +
                                  ":*:" + rule.symbol + "=LO[:HI[:STEP]]");
        }
      }
    }
  }
  return {};
}

std::uint64_t hash_text(std::string_view text) noexcept {
  std::uint64_t hash = 0;
  for (const char c : text) hash = mix(hash, static_cast<unsigned char>(c));
  return hash;
}

}  // namespace

Result<Binding> parse_binding(std::string_view text) {
  const std::size_t equals = text.rfind('=');
  if (equals == std::string_view::npos) return wrong(text, "there", "is no '='; write " + std::string(kForm));
  const std::string_view target = text.substr(0, equals);
  const std::size_t first = target.find(':');
  const std::size_t last = target.rfind(':');
  if (first == std::string_view::npos || first == last) {
    return wrong(text, "the part before '='", "must be MODEL:INPUT:AXIS; write " + std::string(kForm));
  }
  Binding binding;
  binding.model = target.substr(0, first);
  binding.input = target.substr(first + 1, last - first - 1);
  binding.axis = target.substr(last + 1);
  if (binding.model.empty()) return wrong(text, "MODEL", "is empty; give the model's file name without .onnx, or *");
  if (binding.input.empty()) return wrong(text, "INPUT", "is empty; give the input's name or index, or *");
  if (binding.axis.empty()) return wrong(text, "AXIS", "is empty; give the axis' index or symbolic name");
  auto range = parse_range(text, text.substr(equals + 1));
  if (!range.is_ok()) return range.take_status();
  binding.range = range.value();
  return binding;
}

std::string format_binding(const Binding& binding) {
  return binding.model + ":" + binding.input + ":" + binding.axis + "=" + std::to_string(binding.range.lo) + ":" +
         std::to_string(binding.range.hi) + ":" + std::to_string(binding.range.step);
}

Result<ShapeRules> resolve_shape_rules(std::string_view model, const std::vector<TensorInfo>& inputs,
                                       const std::vector<Binding>& bindings) {
  for (const Binding& binding : bindings) {
    if (binding.model != model) continue;
    if (Status checked = check_binding(binding, inputs); !checked.is_ok()) return checked;
  }
  ShapeRules resolved;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    auto& rules = resolved.rules.emplace_back();
    for (std::size_t axis = 0; axis < inputs[i].axes.size(); ++axis) {
      auto rule = resolve_axis(model, inputs[i], i, axis, bindings);
      if (!rule.is_ok()) return rule.take_status();
      rules.push_back(rule.take());
    }
  }
  if (Status agreed = agree_on_symbols(model, inputs, resolved.rules); !agreed.is_ok()) return agreed;
  return resolved;
}

std::vector<std::vector<std::int64_t>> largest_shapes(const ShapeRules& rules) {
  std::vector<std::vector<std::int64_t>> shapes;
  for (const auto& axes : rules.rules) {
    auto& shape = shapes.emplace_back();
    for (const AxisRule& rule : axes) {
      shape.push_back(rule.range.lo + (rule.range.hi - rule.range.lo) / rule.range.step * rule.range.step);
    }
  }
  return shapes;
}

std::vector<std::vector<std::int64_t>> draw_shapes(const ShapeRules& rules, std::uint64_t seed, std::uint64_t request) {
  const std::uint64_t request_seed = mix(seed, request);
  std::vector<std::vector<std::int64_t>> shapes;
  for (std::size_t i = 0; i < rules.rules.size(); ++i) {
    auto& shape = shapes.emplace_back();
    for (std::size_t axis = 0; axis < rules.rules[i].size(); ++axis) {
      const AxisRule& rule = rules.rules[i][axis];
      const std::uint64_t quantity = rule.symbol.empty() ? mix(i, axis) : hash_text(rule.symbol);
      const auto values = static_cast<std::uint64_t>((rule.range.hi - rule.range.lo) / rule.range.step) + 1;
      const std::uint64_t drawn = mix(request_seed, quantity) % values;
      shape.push_back(rule.range.lo + static_cast<std::int64_t>(drawn) * rule.range.step);
    }
  }
  return shapes;
}

std::vector<Binding> default_bindings() {
  std::vector<Binding> bindings;
  for (const KnownModel& known : kKnownModels) {
    for (const std::string_view word : split(known.words, ' ')) {
      bindings.push_back({std::string(word), "*", std::to_string(known.axis), known.range});
    }
  }
  return bindings;
}

}  // namespace cistern::engine
