#include "acl/runtime/trap.hpp"

#include <unistd.h>

#include <csignal>
#include <mutex>
#include <string>

#include "acl/runtime/runtime.hpp"
#include "base/units.hpp"
#include "trace/call_stack.hpp"

namespace cistern::acl {
namespace {

constexpr unsigned kMostFrames = 32;
constexpr unsigned kSecondsToReport = 10;

struct sigaction previous_action;  // written once, before the handler can run

void write_all(std::string_view text) noexcept {
  while (!text.empty()) {
    const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
    if (written <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

std::string describe_address(std::uint64_t address, const Block& block) {
  std::string text = "cistern: the host touched device memory at " + hex(address) + ": ";
  const std::uint64_t offset = address - block.address;
  if (offset < block.bytes) {
    text += std::to_string(offset) + " bytes inside";
  } else {
    text += std::to_string(offset - block.bytes) + " bytes behind the end of";
  }
  text += " the block at " + hex(block.address) + " (" + base::format_bytes(block.bytes);
  if (block.pool != nullptr) text += ", of " + block.pool->name();
  if (block.caller != nullptr) text += ", from " + call_site(block.caller);
  return text + ").\n  A real NPU has no such access: copy with aclrtMemcpy(), or turn CISTERN_ACL_STRICT off.\n";
}

// The frames are: this handler's own; the kernel's way into it; the one that faulted, by the instruction itself; its
// callers, by their return addresses.
void write_stack() {
  std::uint64_t frames[kMostFrames];
  const unsigned count = trace::capture_stack(nullptr, frames, kMostFrames);
  write_all("  The program was at:\n");
  unsigned foreign = 0;
  for (unsigned i = 0; i < count; ++i) {
    const std::uint64_t return_address = frames[i] + (foreign == 1 ? 1 : 0);
    const std::string site = call_site(reinterpret_cast<const void*>(static_cast<std::uintptr_t>(return_address)));
    if (foreign == 0 && site.find("cistern::") != std::string::npos) continue;
    if (foreign++ > 0) write_all("    " + site + "\n");
  }
}

// Not all of this is allowed in a signal handler. But the process ends here in any case, the fault is the program's
// own and not inside malloc as a rule, and an alarm ends what would hang.
void report(std::uint64_t address) {
  const auto block = Runtime::instance().blocks.try_find_at_or_before(address);
  if (!block || block->kind == BlockKind::host) return;
  if (block->npu->device().host_alias(address) == nullptr) return;
  if (address - block->address >= block->bytes && Runtime::instance().pool_around(address) == nullptr) return;
  write_all(describe_address(address, *block));
  write_stack();
}

void on_fault(int number, siginfo_t* info, void* context) {
  ::alarm(kSecondsToReport);
  report(reinterpret_cast<std::uintptr_t>(info->si_addr));
  ::alarm(0);
  if ((previous_action.sa_flags & SA_SIGINFO) != 0 && previous_action.sa_sigaction != nullptr) {
    previous_action.sa_sigaction(number, info, context);
    return;
  }
  // The instruction is tried again, and the signal takes its course.
  ::sigaction(number, &previous_action, nullptr);
}

}  // namespace

void install_trap() {
  static std::once_flag once;
  std::call_once(once, [] {
    struct sigaction action {};
    action.sa_sigaction = &on_fault;
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    ::sigemptyset(&action.sa_mask);
    ::sigaction(SIGSEGV, nullptr, &previous_action);
    ::sigaction(SIGSEGV, &action, nullptr);
  });
}

}  // namespace cistern::acl
