// OmModel: a model in an .om file of Cistern's own: what `cistern atc` writes and the AscendCL library runs.
//
// Tools that know the form find sizes, inputs and outputs where they look for them. What makes it run is in the last
// partition, of a type that only Cistern writes: the outline, and the ONNX file whole. It begins with a version and a
// checksum of all the file, since a file may be damaged on its way; the weights are stored once, in the ONNX file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/result.hpp"
#include "engine/model_outline.hpp"
#include "engine/om_file.hpp"

namespace cistern::engine {

struct OmModel {
  ModelOutline outline;
  std::span<const std::byte> onnx;  // in the file
  std::uint32_t checksum = 0;       // of the file
};

// The same model gives the same bytes. limit_exceeded: a part that does not fit into the form's numbers.
base::Result<std::string> write_om_model(const ModelOutline& outline, std::span<const std::byte> onnx);

// Of a file that has a partition of Cistern's. corrupted: damaged anywhere; unsupported: of a newer Cistern.
base::Result<OmModel> read_om_model(const OmFile& file);

}  // namespace cistern::engine
