// A reader of length-delimited fields, and the four message types of ONNX that lead to a weight's bytes:
// Model(7: graph) > Graph(1: node, 5: initializer) > Tensor, and Node(5: attribute) > Attribute(5: tensor).
#include "engine/onnx_weights.hpp"

#include <cstring>
#include <limits>
#include <optional>

namespace cistern::engine {
namespace {

using Bytes = std::span<const std::byte>;

enum WireType : std::uint32_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

struct Field {
  std::uint32_t number = 0;
  WireType wire = kVarint;
  std::uint64_t value = 0;  // varint and fixed
  Bytes bytes;              // kBytes
};

// Walks the fields of one message; stops at its end or at the first thing that is none.
class FieldReader {
 public:
  explicit FieldReader(Bytes message) noexcept : rest_(message) {}

  std::optional<Field> next() noexcept {
    const auto key = varint();
    if (!key) return std::nullopt;
    Field field;
    field.number = static_cast<std::uint32_t>(*key >> 3);
    field.wire = static_cast<WireType>(*key & 7);
    switch (field.wire) {
      case kVarint:
        return with_value(field, varint());
      case kFixed64:
        return with_value(field, fixed(8));
      case kFixed32:
        return with_value(field, fixed(4));
      case kBytes:
        break;
      default:
        return std::nullopt;
    }
    const auto length = varint();
    if (!length || *length > rest_.size()) return std::nullopt;
    field.bytes = rest_.first(*length);
    rest_ = rest_.subspan(*length);
    return field;
  }

  std::optional<std::uint64_t> varint() noexcept {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
      const auto byte = static_cast<std::uint8_t>(rest_.front());
      rest_ = rest_.subspan(1);
      value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if ((byte & 0x80) == 0) return value;
    }
    return std::nullopt;
  }

 private:
  static std::optional<Field> with_value(Field field, std::optional<std::uint64_t> value) noexcept {
    if (!value) return std::nullopt;
    field.value = *value;
    return field;
  }

  std::optional<std::uint64_t> fixed(std::size_t size) noexcept {
    if (rest_.size() < size) return std::nullopt;
    std::uint64_t value = 0;
    std::memcpy(&value, rest_.data(), size);
    rest_ = rest_.subspan(size);
    return value;
  }

  Bytes rest_;
};

std::string_view as_text(Bytes bytes) noexcept { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

template <typename Value>
void append(std::vector<std::byte>& values, Value value) {
  const auto* bytes = reinterpret_cast<const std::byte*>(&value);
  values.insert(values.end(), bytes, bytes + sizeof(Value));
}

// int32_data holds every type of up to 32 bits, one value an element.
void append_integer(std::vector<std::byte>& values, std::size_t width, std::uint64_t value) {
  switch (width) {
    case 1:
      return append(values, static_cast<std::uint8_t>(value));
    case 2:
      return append(values, static_cast<std::uint16_t>(value));
    case 4:
      return append(values, static_cast<std::uint32_t>(value));
    default:
      return append(values, value);
  }
}

// Typed values come packed (one length-delimited field) or one by one.
void append_integers(std::vector<std::byte>& values, std::size_t width, const Field& field) {
  if (field.wire == kVarint) return append_integer(values, width, field.value);
  FieldReader packed(field.bytes);
  while (const auto value = packed.varint()) append_integer(values, width, *value);
}

void append_fixed(std::vector<std::byte>& values, const Field& field) {
  if (field.wire == kFixed32) return append(values, static_cast<std::uint32_t>(field.value));
  if (field.wire == kFixed64) return append(values, field.value);
  values.insert(values.end(), field.bytes.begin(), field.bytes.end());
}

void append_shape(std::vector<std::int64_t>& shape, const Field& field) {
  if (field.wire == kVarint) return shape.push_back(static_cast<std::int64_t>(field.value));
  FieldReader packed(field.bytes);
  while (const auto extent = packed.varint()) shape.push_back(static_cast<std::int64_t>(*extent));
}

std::size_t width_of(std::int32_t number) {
  const auto type = element_type_from_onnx(number, "weight");
  return type.is_ok() ? element_bytes(type.value()) : 0;
}

// Nothing for a tensor that the engine leaves to the runtime.
std::optional<OnnxWeight> read_tensor(Bytes message) {
  OnnxWeight weight;
  // The element type decides how typed values are read and may come after them, so it is looked for first.
  for (FieldReader fields(message); const auto field = fields.next();) {
    if (field->number == 2) weight.element_type = static_cast<std::int32_t>(field->value);
  }
  const std::size_t width = width_of(weight.element_type);
  if (width == 0) return std::nullopt;
  for (FieldReader fields(message); const auto field = fields.next();) {
    switch (field->number) {
      case 1:
        append_shape(weight.shape, *field);
        break;
      case 4:
        append_fixed(weight.values, *field);
        break;  // float_data
      case 5:   // int32_data
      case 7:   // int64_data
        append_integers(weight.values, width, *field);
        break;
      case 8:
        weight.name = as_text(field->bytes);
        break;
      case 9:
        weight.raw = field->bytes;
        break;
      case 10:
        append_fixed(weight.values, *field);
        break;  // double_data
      case 14:
        if (field->value != 0) return std::nullopt;  // the data is in another file
        break;
      default:
        break;
    }
  }
  const auto type = element_type_from_onnx(weight.element_type, "weight");
  const auto bytes = tensor_bytes(type.value(), weight.shape);
  if (!bytes.is_ok() || bytes.value() == 0 || bytes.value() != weight.bytes().size()) return std::nullopt;
  return weight;
}

// The one output of a Constant node is an initializer to the runtime.
std::optional<OnnxWeight> read_constant(Bytes node) {
  std::string_view operation;
  std::string_view output;
  Bytes tensor;
  for (FieldReader fields(node); const auto field = fields.next();) {
    if (field->number == 2) output = as_text(field->bytes);
    if (field->number == 4) operation = as_text(field->bytes);
    if (field->number != 5) continue;
    for (FieldReader attribute(field->bytes); const auto part = attribute.next();) {
      if (part->number == 5 && part->wire == kBytes) tensor = part->bytes;
    }
  }
  if (operation != "Constant" || tensor.empty()) return std::nullopt;
  auto weight = read_tensor(tensor);
  if (weight) weight->name = output;
  return weight;
}

void read_graph(Bytes graph, std::vector<OnnxWeight>& weights) {
  for (FieldReader fields(graph); const auto field = fields.next();) {
    if (field->wire != kBytes || (field->number != 1 && field->number != 5)) continue;
    auto weight = field->number == 5 ? read_tensor(field->bytes) : read_constant(field->bytes);
    if (weight && !weight->name.empty()) weights.push_back(std::move(*weight));
  }
}

// Where tensors are in a model: which fields of a message lead to which message.
enum class Message : std::uint8_t { model, graph, function, node, attribute, sparse_tensor, tensor };

struct Path {
  Message from;
  std::uint32_t number;
  Message to;
};
constexpr Path kPathsToTensors[] = {
    {Message::model, 7, Message::graph},
    {Message::model, 25, Message::function},
    {Message::graph, 1, Message::node},
    {Message::graph, 5, Message::tensor},
    {Message::graph, 15, Message::sparse_tensor},
    {Message::function, 7, Message::node},
    {Message::function, 11, Message::attribute},
    {Message::node, 5, Message::attribute},
    {Message::attribute, 5, Message::tensor},
    {Message::attribute, 6, Message::graph},
    {Message::attribute, 10, Message::tensor},
    {Message::attribute, 11, Message::graph},
    {Message::attribute, 22, Message::sparse_tensor},
    {Message::attribute, 23, Message::sparse_tensor},
    {Message::sparse_tensor, 1, Message::tensor},
    {Message::sparse_tensor, 2, Message::tensor},
};
constexpr unsigned kDeepest = 100;  // the runtime's own reader gives up there, too

bool needs_other_files(Bytes bytes, Message message, unsigned depth) noexcept {
  for (FieldReader fields(bytes); const auto field = fields.next();) {
    if (message == Message::tensor && field->number == 14 && field->wire == kVarint && field->value == 1) return true;
    if (field->wire != kBytes || depth == kDeepest) continue;
    for (const Path& path : kPathsToTensors) {
      if (path.from != message || path.number != field->number) continue;
      if (needs_other_files(field->bytes, path.to, depth + 1)) return true;
    }
  }
  return false;
}

}  // namespace

bool needs_other_files(Bytes file) noexcept { return needs_other_files(file, Message::model, 0); }

std::vector<OnnxWeight> find_onnx_weights(std::span<const std::byte> file) {
  std::vector<OnnxWeight> weights;
  for (FieldReader fields(file); const auto field = fields.next();) {
    if (field->number == 7 && field->wire == kBytes) read_graph(field->bytes, weights);
  }
  return weights;
}

}  // namespace cistern::engine
