#include "acl/runtime/left_behind.hpp"

#include <algorithm>
#include <mutex>

#include "base/units.hpp"
#include "trace/call_site.hpp"
#include "trace/call_stack.hpp"

namespace cistern::acl {
namespace {

struct Line {
  const LeftItem* first;
  std::uint64_t count;
  std::uint64_t bytes;
};

std::vector<Line> grouped(const std::vector<LeftItem>& items) {
  std::vector<Line> lines;
  for (const LeftItem& item : items) {
    const auto same = std::find_if(lines.begin(), lines.end(), [&](const Line& line) {
      return line.first->what == item.what && line.first->caller == item.caller;
    });
    if (same == lines.end()) {
      lines.push_back({&item, 1, item.bytes});
    } else {
      ++same->count;
      same->bytes += item.bytes;
    }
  }
  return lines;
}

}  // namespace

std::string call_site(const void* caller) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  trace::Tables tables;
  tables.modules = trace::loaded_modules();
  trace::CallSites sites;
  return trace::readable_site(sites.name(reinterpret_cast<std::uintptr_t>(caller), tables));
}

std::string describe_left_behind(std::string_view function, const std::vector<LeftItem>& items) {
  if (items.empty()) return {};
  std::string text(function);
  text += ": the program had not given back";
  for (const Line& line : grouped(items)) {
    text += "\n  ";
    if (line.count > 1) text += std::to_string(line.count) + " times: ";
    text += line.first->what;
    if (line.bytes != 0) text += ", " + base::format_bytes(line.bytes);
    if (line.first->caller != nullptr) text += ", from " + call_site(line.first->caller);
  }
  return text;
}

}  // namespace cistern::acl
