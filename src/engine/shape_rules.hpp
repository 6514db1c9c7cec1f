// Shape rules: which extents the dynamic axes of a model's inputs take, request after request.
//
// A rule binds one axis to lo, lo+step, ... up to hi; each request draws one value, by seed and request number, so that
// a run can be repeated exactly. Rules come from the user (--dim MODEL:INPUT:AXIS=LO[:HI[:STEP]]), else from defaults
// for known models, else axis 0 is taken for the batch and is 1. Any other dynamic axis is an error that names the
// --dim to give, because a guessed extent would make memory figures that mean nothing. Axes with the same symbolic name
// are one quantity to the model, so they draw the same value.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "engine/tensor.hpp"

namespace cistern::engine {

struct DimRange {
  std::int64_t lo = 1;
  std::int64_t hi = 1;    // >= lo; the last value taken is the largest lo + n*step <= hi
  std::int64_t step = 1;  // > 0
  bool operator==(const DimRange&) const = default;
};

struct Binding {
  std::string model;  // the file's name without directory and ending, or "*"
  std::string input;  // name, index in decimal, or "*"
  std::string axis;   // symbolic name, or index in decimal
  DimRange range;
};

// "MODEL:INPUT:AXIS=LO[:HI[:STEP]]". INPUT may contain colons. Errors name the part that is wrong.
base::Result<Binding> parse_binding(std::string_view text);
// The same as text; parse_binding() of it gives the same binding.
std::string format_binding(const Binding& binding);

struct AxisRule {
  DimRange range;      // lo == hi for fixed axes
  std::string symbol;  // axes of one symbol share one draw; empty: on its own
};

// What to draw for each input of one model: rules[input][axis].
struct ShapeRules {
  std::vector<std::vector<AxisRule>> rules;
};

// `model` is the file's stem. Of several bindings for one axis the last wins. A binding for this model that names no
// input, no axis, or a fixed axis with another extent is an error; bindings with model "*" or input "*" apply where
// they fit. Bindings for other models are not looked at.
base::Result<ShapeRules> resolve_shape_rules(std::string_view model, const std::vector<TensorInfo>& inputs,
                                             const std::vector<Binding>& bindings);

// The shapes of request number `request`, in the order of the inputs.
std::vector<std::vector<std::int64_t>> draw_shapes(const ShapeRules& rules, std::uint64_t seed, std::uint64_t request);

// The largest extent of every axis: what a server warms up with.
std::vector<std::vector<std::int64_t>> largest_shapes(const ShapeRules& rules);

// The built-in rules as bindings, to be shown to people; `model` is a word of the file's name, not the whole.
std::vector<Binding> default_bindings();

}  // namespace cistern::engine
