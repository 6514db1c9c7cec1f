#include "engine/om_file.hpp"

#include <cstring>
#include <optional>

#include "base/units.hpp"

namespace cistern::engine {
namespace {

using Bytes = std::span<const std::byte>;

using namespace om;

constexpr std::uint32_t kMostPartitions = 256;

base::Status damaged(const std::string& what) {
  return base::Status(base::StatusCode::corrupted, "the .om file is damaged: " + what);
}

// Reads from the front; nothing is left behind a value that is not there.
class Reader {
 public:
  explicit Reader(Bytes bytes) noexcept : left_(bytes) {}
  template <typename T>
  std::optional<T> take() noexcept {
    T value{};
    if (left_.size() < sizeof value) return std::nullopt;
    std::memcpy(&value, left_.data(), sizeof value);
    left_ = left_.subspan(sizeof value);
    return value;
  }
  std::optional<Bytes> take_bytes(std::uint64_t count) noexcept {
    if (left_.size() < count) return std::nullopt;
    const Bytes taken = left_.first(static_cast<std::size_t>(count));
    left_ = left_.subspan(static_cast<std::size_t>(count));
    return taken;
  }
  std::optional<std::uint64_t> take_varint() noexcept {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const auto byte = take<std::uint8_t>();
      if (!byte) return std::nullopt;
      value |= static_cast<std::uint64_t>(*byte & 0x7FU) << shift;
      if ((*byte & 0x80U) == 0) return value;
    }
    return std::nullopt;
  }
  bool is_empty() const noexcept { return left_.empty(); }
  Bytes left() const noexcept { return left_; }

 private:
  Bytes left_;
};

template <typename T>
T at(Bytes file, std::size_t offset) noexcept {
  return *Reader(file.subspan(offset)).take<T>();
}

struct Partition {
  std::uint32_t type;
  Bytes bytes;
};

// The table has two forms; files of 4 GiB and more need the wide one.
std::optional<std::vector<std::pair<std::uint32_t, std::uint64_t>>> read_table(Reader& reader, bool is_wide) {
  const auto count = reader.take<std::uint32_t>();
  if (!count || *count > kMostPartitions || (is_wide && !reader.take<std::uint32_t>())) return std::nullopt;
  std::vector<std::pair<std::uint32_t, std::uint64_t>> entries;
  for (std::uint32_t i = 0; i < *count; ++i) {
    const auto entry = reader.take_bytes(is_wide ? 24 : 12);
    if (!entry) return std::nullopt;
    const std::uint64_t bytes = is_wide ? at<std::uint64_t>(*entry, 16) : at<std::uint32_t>(*entry, 8);
    entries.emplace_back(at<std::uint32_t>(*entry, 0), bytes);
  }
  return entries;
}

// The varint field `wanted` at the top level of a protobuf; 0 where it is absent.
std::optional<std::uint64_t> find_varint(Bytes message, std::uint64_t wanted) {
  Reader reader(message);
  std::uint64_t found = 0;
  while (!reader.is_empty()) {
    const auto key = reader.take_varint();
    if (!key) return std::nullopt;
    std::optional<std::uint64_t> length = 0;
    switch (*key & 7U) {
      case 0: {
        const auto value = reader.take_varint();
        if (!value) return std::nullopt;
        if (*key >> 3U == wanted) found = *value;
        break;
      }
      case 1:
        length = 8;
        break;
      case 2:
        length = reader.take_varint();
        break;
      case 5:
        length = 4;
        break;
      default:
        return std::nullopt;
    }
    if (!length || !reader.take_bytes(*length)) return std::nullopt;
  }
  return found;
}

std::optional<OmTensor> read_tensor(Reader& reader) {
  const auto head = reader.take_bytes(kTensorHeadBytes);
  if (!head) return std::nullopt;
  OmTensor tensor;
  tensor.bytes = at<std::uint64_t>(*head, 0);
  tensor.type = at<std::int32_t>(*head, 12);
  const auto name = reader.take_bytes(at<std::uint32_t>(*head, 16));
  const auto extents = reader.take_bytes(at<std::uint32_t>(*head, 20));
  const auto second_extents = reader.take_bytes(at<std::uint32_t>(*head, 24));
  const auto ranges = reader.take_bytes(at<std::uint32_t>(*head, 28));
  if (!name || !extents || !second_extents || !ranges || extents->size() % sizeof(std::int64_t) != 0) {
    return std::nullopt;
  }
  tensor.name.assign(reinterpret_cast<const char*>(name->data()), name->size());
  tensor.extents.resize(extents->size() / sizeof(std::int64_t));
  if (!extents->empty()) std::memcpy(tensor.extents.data(), extents->data(), extents->size());
  return tensor;
}

bool read_tensors(Bytes partition, OmFile* file) {
  Reader reader(partition);
  while (!reader.is_empty()) {
    const auto type = reader.take<std::uint32_t>();
    const auto length = reader.take<std::uint32_t>();
    const auto value = type && length ? reader.take_bytes(*length) : std::nullopt;
    if (!value) return false;
    if (*type > 1) continue;
    Reader list(*value);
    const auto count = list.take<std::uint32_t>();
    if (!count) return false;
    for (std::uint32_t i = 0; i < *count; ++i) {
      auto tensor = read_tensor(list);
      if (!tensor) return false;
      (*type == 0 ? file->inputs : file->outputs).push_back(std::move(*tensor));
    }
  }
  return true;
}

base::Status read_partition(const Partition& partition, OmFile* file, std::uint64_t* weights_by_tasks) {
  if (partition.type == kWeights) file->weight_bytes += partition.bytes.size();
  if (partition.type == kTasks) {
    const auto work = find_varint(partition.bytes, kWorkField);
    const auto weights = find_varint(partition.bytes, kWeightField);
    if (!work || !weights) return damaged("its list of tasks cannot be read");
    if (!file->is_dynamic) file->work_bytes = *work;
    *weights_by_tasks = *weights;
  }
  if (partition.type == kTensors && !read_tensors(partition.bytes, file)) {
    return damaged("its list of inputs and outputs cannot be read");
  }
  if (partition.type == kOwn) file->own = partition.bytes;
  return {};
}

void describe_tensors(const char* what, const std::vector<OmTensor>& tensors, std::string* text) {
  for (const OmTensor& tensor : tensors) {
    std::string extents;
    for (const std::int64_t extent : tensor.extents) extents += (extents.empty() ? "" : ",") + std::to_string(extent);
    *text += std::string(what) + " " + tensor.name + "[" + extents + "] " + std::to_string(tensor.bytes) + " bytes; ";
  }
}

}  // namespace

bool OmFile::is_om(Bytes file) noexcept {
  const auto magic = Reader(file).take<std::uint32_t>();
  return magic && *magic == kMagic;
}

base::Result<OmFile> OmFile::read(Bytes bytes) {
  if (!is_om(bytes) || bytes.size() < kHeaderBytes) return damaged("its header is not whole");
  if (at<std::uint8_t>(bytes, kEncryptedAt) != 0) return base::unsupported("the .om file is encrypted");
  if (at<std::uint32_t>(bytes, kModelsAt) > 1) return base::unsupported("the .om file holds several models");
  OmFile file;
  file.whole = bytes;
  file.is_dynamic = at<std::uint8_t>(bytes, kDynamicAt) != 0;
  std::uint64_t weights_by_tasks = 0;
  Reader reader(bytes.subspan(kHeaderBytes));
  const auto table = read_table(reader, at<std::uint64_t>(bytes, kLengthAt) != 0);
  if (!table) return damaged("its table of partitions is not whole");
  for (const auto& [type, size] : *table) {
    const auto partition = reader.take_bytes(size);
    if (!partition) return damaged("partition " + std::to_string(type) + " passes the file's end");
    base::Status wrong = read_partition({type, *partition}, &file, &weights_by_tasks);
    if (!wrong.is_ok()) return wrong;
  }
  if (!file.own.empty()) file.weight_bytes = weights_by_tasks;
  return file;
}

std::string OmFile::describe() const {
  std::string text;
  describe_tensors("input", inputs, &text);
  describe_tensors("output", outputs, &text);
  return text + "work " + (is_dynamic ? "unknown (dynamic)" : base::format_bytes(work_bytes)) + ", weights " +
         base::format_bytes(weight_bytes);
}

}  // namespace cistern::engine
