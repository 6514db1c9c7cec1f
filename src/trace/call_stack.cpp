#include "trace/call_stack.hpp"

#include <link.h>
#include <unistd.h>
#include <unwind.h>

#include <algorithm>
#include <climits>

namespace cistern::trace {
namespace {

// Frames of the pool and the recorder below the caller; more than there are.
constexpr unsigned kOwnFrames = 16;
constexpr unsigned kMostFrames = 64 + kOwnFrames;

struct Walk {
  std::uint64_t* frames;
  unsigned count;
  unsigned most;
};

_Unwind_Reason_Code note_frame(_Unwind_Context* context, void* user) {
  auto* walk = static_cast<Walk*>(user);
  const auto address = static_cast<std::uint64_t>(_Unwind_GetIP(context));
  if (address == 0 || walk->count == walk->most) return _URC_END_OF_STACK;
  walk->frames[walk->count++] = address;
  return _URC_NO_REASON;
}

std::string path_of_program() {
  char path[PATH_MAX];
  const ssize_t length = ::readlink("/proc/self/exe", path, sizeof path);
  return length > 0 ? std::string(path, static_cast<std::size_t>(length)) : std::string("program");
}

int note_module(dl_phdr_info* info, std::size_t, void* user) {
  Module module;
  module.begin = ~std::uint64_t{0};
  for (unsigned i = 0; i < info->dlpi_phnum; ++i) {
    const auto& header = info->dlpi_phdr[i];
    if (header.p_type != PT_LOAD || (header.p_flags & PF_X) == 0) continue;
    module.begin = std::min<std::uint64_t>(module.begin, info->dlpi_addr + header.p_vaddr);
    module.end = std::max<std::uint64_t>(module.end, info->dlpi_addr + header.p_vaddr + header.p_memsz);
  }
  if (module.end == 0) return 0;
  module.bias = info->dlpi_addr;
  module.path = info->dlpi_name == nullptr || *info->dlpi_name == '\0' ? path_of_program() : info->dlpi_name;
  static_cast<std::vector<Module>*>(user)->push_back(std::move(module));
  return 0;
}

}  // namespace

unsigned capture_stack(const void* caller, std::uint64_t* out, unsigned most) noexcept {
  std::uint64_t frames[kMostFrames];
  Walk walk{frames, 0, std::min(most + kOwnFrames, kMostFrames)};
  _Unwind_Backtrace(&note_frame, &walk);
  unsigned first = 1;  // frame 0 is this function
  for (unsigned i = 0; i < walk.count; ++i) {
    if (frames[i] == reinterpret_cast<std::uint64_t>(caller)) {
      first = i;
      break;
    }
  }
  if (first >= walk.count) return 0;
  const unsigned count = std::min(most, walk.count - first);
  std::copy_n(frames + first, count, out);
  return count;
}

std::vector<Module> loaded_modules() {
  std::vector<Module> modules;
  dl_iterate_phdr(&note_module, &modules);
  std::sort(modules.begin(), modules.end(),
            [](const Module& left, const Module& right) { return left.begin < right.begin; });
  return modules;
}

}  // namespace cistern::trace
