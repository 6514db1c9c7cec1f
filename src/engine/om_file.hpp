// OmFile: what an .om file, a model compiled for an NPU, says about itself: sizes, inputs, outputs. Its kernels are for
// that NPU and cannot run here; but such a file may have been written by Cistern (om_model.hpp), and holds the model.
//
// The file is a header of 256 bytes, a table of partitions and the partitions back to back, all little endian. Weights
// are the partitions of type 1; the work memory is field 11 of the protobuf in the partition of tasks, whose field 14
// repeats the size of the weights (files of Cistern's have no partition of type 1, so there it counts); inputs and
// outputs are in a partition of their own, which older files lack.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace cistern::engine {

struct OmTensor {
  std::string name;
  std::uint64_t bytes = 0;
  std::int32_t type = 0;  // aclDataType's numbers
  std::vector<std::int64_t> extents;
};

struct OmFile {
  std::uint64_t weight_bytes = 0;
  std::uint64_t work_bytes = 0;  // 0: known only when the model runs
  bool is_dynamic = false;
  std::vector<OmTensor> inputs;  // empty: the file has no list of them
  std::vector<OmTensor> outputs;
  std::span<const std::byte> whole;  // what was read
  std::span<const std::byte> own;    // in it the partition that only Cistern writes; empty: made for an NPU

  static bool is_om(std::span<const std::byte> file) noexcept;
  // corrupted where the file contradicts itself; unsupported where it is encrypted or holds several models.
  static base::Result<OmFile> read(std::span<const std::byte> bytes);
  // "input data[1,3,224,224] 602112 bytes; output ...; work 1.2 MiB, weights 98 MiB", for people.
  std::string describe() const;
};

// The numbers of the form, for whoever reads or writes it.
namespace om {
inline constexpr std::uint32_t kMagic = 0x444F4D49;
inline constexpr std::size_t kHeaderBytes = 256;
inline constexpr std::size_t kEncryptedAt = 80;
inline constexpr std::size_t kModelsAt = 156;
inline constexpr std::size_t kLengthAt = 184;
inline constexpr std::size_t kDynamicAt = 193;
inline constexpr std::uint32_t kWeights = 1;
inline constexpr std::uint32_t kTasks = 2;
inline constexpr std::uint32_t kTensors = 8;
inline constexpr std::uint32_t kOwn = 0x54534943;  // "CIST"
inline constexpr std::uint64_t kWorkField = 11;
inline constexpr std::uint64_t kWeightField = 14;
inline constexpr std::size_t kTensorHeadBytes = 32;
}  // namespace om

}  // namespace cistern::engine
