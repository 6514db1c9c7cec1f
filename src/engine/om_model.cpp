#include "engine/om_model.hpp"

#include <array>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include "base/crc32c.hpp"

namespace cistern::engine {
namespace {

using Bytes = std::span<const std::byte>;

constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kSummedFrom = 8;  // of the partition; behind version and checksum
constexpr std::uint64_t kMostParts = 1 << 16;
constexpr std::size_t kNameAt = 84;
constexpr std::size_t kNameBytes = 31;  // and a zero

class Writer {
 public:
  template <typename T>
  void put(T value) {
    put_bytes(std::as_bytes(std::span(&value, 1)));
  }
  void put_bytes(Bytes bytes) { data_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size()); }
  void put_text(std::string_view text) {
    put(static_cast<std::uint32_t>(text.size()));
    put_bytes(std::as_bytes(std::span(text)));
  }
  void put_varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7U) put(static_cast<std::uint8_t>(value | 0x80U));
    put(static_cast<std::uint8_t>(value));
  }
  template <typename T>
  void put_at(std::size_t offset, T value) {
    std::memcpy(&data_[offset], &value, sizeof value);
  }
  std::size_t size() const noexcept { return data_.size(); }
  Bytes bytes() const noexcept { return std::as_bytes(std::span(data_)); }
  std::string take() noexcept { return std::move(data_); }

 private:
  std::string data_;
};

// Of a file whose last partition is Cistern's, all but that partition's version and the checksum itself.
std::uint32_t checksum(Bytes before, Bytes own) noexcept {
  const auto text = [](Bytes bytes) {
    return std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  };
  return base::crc32c(text(own.subspan(kSummedFrom)), base::crc32c(text(before)));
}

// The interface's numbers of element types, which are not ONNX's.
std::int32_t om_type(ElementType type) noexcept {
  switch (type) {
    case ElementType::float32:
      return 0;
    case ElementType::float16:
      return 1;
    case ElementType::int8:
      return 2;
    case ElementType::int32:
      return 3;
    case ElementType::uint8:
      return 4;
    case ElementType::int64:
      return 9;
    case ElementType::float64:
      return 11;
    case ElementType::boolean:
      return 12;
  }
  return -1;
}

// --- What every tool knows -----------------------------------------------------------------------

void put_tasks(const ModelOutline& outline, Writer* writer) {
  writer->put_varint(om::kWorkField << 3U);
  writer->put_varint(outline.work_bytes);
  writer->put_varint(om::kWeightField << 3U);
  writer->put_varint(outline.weight_bytes);
}

void put_tensors(std::uint32_t kind, const std::vector<TensorOutline>& tensors, bool has_batches, Writer* writer) {
  Writer list;
  list.put(static_cast<std::uint32_t>(tensors.size()));
  for (const TensorOutline& tensor : tensors) {
    list.put(tensor.bytes);
    list.put(std::int32_t{2});  // the format of tensors of any number of axes
    list.put(om_type(tensor.type));
    list.put(static_cast<std::uint32_t>(tensor.name.size()));
    list.put(static_cast<std::uint32_t>(tensor.extents.size() * sizeof(std::int64_t)));
    list.put(std::uint64_t{0});  // neither a second list of extents nor ranges
    list.put_bytes(std::as_bytes(std::span(tensor.name)));
    for (std::size_t axis = 0; axis < tensor.extents.size(); ++axis) {
      const bool is_open = has_batches && tensor.has_batch && axis == 0;
      list.put(is_open ? std::int64_t{-1} : tensor.extents[axis]);
    }
  }
  writer->put(kind);
  writer->put(static_cast<std::uint32_t>(list.size()));
  writer->put_bytes(list.bytes());
}

// --- What only Cistern knows ---------------------------------------------------------------------

void put_outlines(const std::vector<TensorOutline>& tensors, Writer* writer) {
  writer->put(static_cast<std::uint32_t>(tensors.size()));
  for (const TensorOutline& tensor : tensors) {
    writer->put_text(tensor.name);
    writer->put(static_cast<std::int32_t>(tensor.type));
    writer->put(static_cast<std::uint32_t>(tensor.has_batch ? 1 : 0));
    writer->put(tensor.bytes);
    writer->put(static_cast<std::uint32_t>(tensor.extents.size()));
    for (const std::int64_t extent : tensor.extents) writer->put(extent);
  }
}

void put_own(const ModelOutline& outline, Bytes onnx, Writer* writer) {
  writer->put(kVersion);
  writer->put(std::uint32_t{0});
  writer->put(outline.work_bytes);
  writer->put(outline.weight_bytes);
  writer->put_text(outline.name);
  writer->put_text(outline.measured_by);
  writer->put(static_cast<std::uint32_t>(outline.batches.size()));
  for (const std::uint64_t batch : outline.batches) writer->put(batch);
  put_outlines(outline.inputs, writer);
  put_outlines(outline.outputs, writer);
  writer->put(static_cast<std::uint64_t>(onnx.size()));
  writer->put_bytes(onnx);
}

// Reads from the front; once something was missing, everything after it is zero and is_whole() false.
class Reader {
 public:
  explicit Reader(Bytes bytes) noexcept : left_(bytes) {}
  template <typename T>
  T take() noexcept {
    T value{};
    const Bytes bytes = take_bytes(sizeof value);
    if (!bytes.empty()) std::memcpy(&value, bytes.data(), sizeof value);
    return value;
  }
  Bytes take_bytes(std::uint64_t count) noexcept {
    if (count > left_.size()) {
      is_whole_ = false;
      left_ = {};
      return {};
    }
    const Bytes taken = left_.first(static_cast<std::size_t>(count));
    left_ = left_.subspan(static_cast<std::size_t>(count));
    return taken;
  }
  std::string take_text() {
    const Bytes bytes = take_bytes(take<std::uint32_t>());
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  // Of a list whose entries have at least `entry_bytes`.
  std::uint32_t take_count(std::size_t entry_bytes) noexcept {
    const auto count = take<std::uint32_t>();
    if (count <= kMostParts && count <= left_.size() / entry_bytes) return count;
    is_whole_ = is_whole_ && count == 0;
    return 0;
  }
  bool is_whole() const noexcept { return is_whole_; }
  bool is_at_end() const noexcept { return is_whole_ && left_.empty(); }

 private:
  Bytes left_;
  bool is_whole_ = true;
};

bool take_outlines(Reader& reader, std::vector<TensorOutline>* tensors) {
  const std::uint32_t count = reader.take_count(24);
  for (std::uint32_t i = 0; i < count && reader.is_whole(); ++i) {
    TensorOutline tensor;
    tensor.name = reader.take_text();
    auto type = element_type_from_onnx(reader.take<std::int32_t>(), tensor.name);
    if (!type.is_ok()) return false;
    tensor.type = type.value();
    tensor.has_batch = reader.take<std::uint32_t>() != 0;
    tensor.bytes = reader.take<std::uint64_t>();
    tensor.extents.resize(reader.take_count(sizeof(std::int64_t)));
    for (std::int64_t& extent : tensor.extents) extent = reader.take<std::int64_t>();
    auto bytes = tensor_bytes(tensor.type, tensor.extents);
    if (!bytes.is_ok() || bytes.value() != tensor.bytes || (tensor.has_batch && tensor.extents.empty())) return false;
    tensors->push_back(std::move(tensor));
  }
  return reader.is_whole();
}

bool take_batches(Reader& reader, std::vector<std::uint64_t>* batches) {
  batches->resize(reader.take_count(sizeof(std::uint64_t)));
  std::uint64_t last = 0;
  for (std::uint64_t& batch : *batches) {
    batch = reader.take<std::uint64_t>();
    if (batch <= last) return false;
    last = batch;
  }
  return !batches->empty() && batches->size() <= kMostBatches;
}

}  // namespace

base::Result<std::string> write_om_model(const ModelOutline& outline, Bytes onnx) {
  Writer tasks;
  put_tasks(outline, &tasks);
  Writer tensors;
  put_tensors(0, outline.inputs, outline.has_dynamic_batch(), &tensors);
  put_tensors(1, outline.outputs, outline.has_dynamic_batch(), &tensors);
  Writer own;
  put_own(outline, onnx, &own);
  const std::pair<std::uint32_t, const Writer*> partitions[] = {
      {om::kTasks, &tasks}, {om::kTensors, &tensors}, {om::kOwn, &own}};
  if (tensors.size() > std::numeric_limits<std::uint32_t>::max() || outline.inputs.size() > kMostParts ||
      outline.outputs.size() > kMostParts) {
    return base::Status(base::StatusCode::limit_exceeded, "an .om file has no room for that many inputs and outputs");
  }
  Writer model;  // table and partitions
  model.put(static_cast<std::uint64_t>(std::size(partitions)));
  std::uint64_t offset = 0;
  for (const auto& [type, content] : partitions) {
    model.put(static_cast<std::uint64_t>(type));
    model.put(offset);
    model.put(static_cast<std::uint64_t>(content->size()));
    offset += content->size();
  }
  for (const auto& [type, content] : partitions) model.put_bytes(content->bytes());
  Writer file;
  file.put_bytes(std::array<std::byte, om::kHeaderBytes>{});
  file.put_at(0, om::kMagic);
  file.put_at(4, static_cast<std::uint32_t>(om::kHeaderBytes));
  file.put_at(8, std::uint32_t{0x10000000});  // the form's version
  const std::string name = outline.name.substr(0, kNameBytes);
  for (std::size_t i = 0; i < name.size(); ++i) file.put_at(kNameAt + i, name[i]);
  file.put_at(om::kModelsAt, std::uint32_t{1});
  file.put_at(om::kLengthAt, static_cast<std::uint64_t>(model.size()));
  file.put_bytes(model.bytes());
  const std::size_t own_at = file.size() - own.size();
  const std::uint32_t sum = checksum(file.bytes().first(own_at), file.bytes().subspan(own_at));
  file.put_at(own_at + sizeof kVersion, sum);
  return file.take();
}

base::Result<OmModel> read_om_model(const OmFile& file) {
  const auto damaged = [](const char* what) {
    return base::Status(base::StatusCode::corrupted, std::string("the .om file is damaged: ") + what);
  };
  const Bytes own = file.own;
  Reader reader(own);
  const auto version = reader.take<std::uint32_t>();
  const auto sum = reader.take<std::uint32_t>();
  const auto own_at = static_cast<std::size_t>(own.data() - file.whole.data());
  if (!reader.is_whole() || own_at + own.size() != file.whole.size()) return damaged("its model is not at its end");
  if (version != kVersion) {
    return base::unsupported("the .om file has version " + std::to_string(version) + ", this Cistern reads " +
                             std::to_string(kVersion) + ": write it again with `cistern atc`");
  }
  if (sum != checksum(file.whole.first(own_at), own)) return damaged("its checksum is wrong");
  OmModel model;
  model.checksum = sum;
  model.outline.work_bytes = reader.take<std::uint64_t>();
  model.outline.weight_bytes = reader.take<std::uint64_t>();
  model.outline.name = reader.take_text();
  model.outline.measured_by = reader.take_text();
  if (!take_batches(reader, &model.outline.batches)) return damaged("its batches make no sense");
  if (!take_outlines(reader, &model.outline.inputs) || !take_outlines(reader, &model.outline.outputs)) {
    return damaged("its inputs and outputs make no sense");
  }
  model.onnx = reader.take_bytes(reader.take<std::uint64_t>());
  if (!reader.is_at_end()) return damaged("its model is not where it should be");
  return model;
}

}  // namespace cistern::engine
