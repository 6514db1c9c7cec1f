// Data buffers, datasets and descriptions of tensors: small objects that a program puts together for a model.
//
// None of them owns memory of a device: destroying a dataset destroys neither its buffers nor their memory, as AscendCL
// has it. What is never destroyed is reported when everything ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "acl/acl_mdl.h"
#include "acl/runtime/runtime.hpp"

namespace cistern::acl {

struct DataBuffer {
  void* data = nullptr;
  std::size_t bytes = 0;
  const void* caller = nullptr;
};

struct Dataset {
  std::vector<aclDataBuffer*> buffers;
  const void* caller = nullptr;
  std::uint64_t batch = 0;  // of a model with dynamic batch; 0: not chosen
};

struct TensorDescription {
  aclDataType type = ACL_DT_UNDEFINED;
  aclFormat format = ACL_FORMAT_UNDEFINED;
  std::vector<std::int64_t> extents;
  const void* caller = nullptr;
};

Handles<DataBuffer>& data_buffers();
Handles<Dataset>& datasets();
Handles<TensorDescription>& tensor_descriptions();

std::unique_ptr<Inventory> dataset_inventory();

}  // namespace cistern::acl
