// Log level and log callback of the C interface.
#include <unistd.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>

#include "base/log.hpp"
#include "base/options.hpp"
#include "capi/entry.hpp"
#include "capi/log_settings.hpp"
#include "cistern/cistern.h"

namespace cistern::capi {
namespace {

struct Callback {
  cistern_log_callback_t function;
  void* user;
};

std::atomic<bool> level_was_set{false};
std::mutex callback_mutex;
// The one in force. Plain storage: the sink may be called until the process ends.
Callback* callback_in_force = nullptr;

void call_back(base::LogLevel level, std::string_view room, std::string_view text, void* user) {
  const auto* callback = static_cast<const Callback*>(user);
  // C wants NUL behind the texts. Lines are rare; those that find no memory are the price.
  static_cast<void>(without_exceptions([&]() -> base::Status {
    const std::string room_text(room);
    const std::string line(text);
    callback->function(static_cast<std::int32_t>(level), room_text.c_str(), line.c_str(), callback->user);
    return {};
  }));
}

}  // namespace

void apply_log_level_of_environment() {
  static std::once_flag once;
  std::call_once(once, [] {
    auto options = base::OptionSet::from_environment(environ);
    if (!options.is_ok()) {
      base::log(base::LogLevel::warning, "capi", options.status().text());
    } else if (options.value().is_set("CISTERN_LOG_LEVEL") && !level_was_set.load()) {
      base::set_log_level(static_cast<base::LogLevel>(options.value().integer("CISTERN_LOG_LEVEL")));
    }
  });
}

}  // namespace cistern::capi

using namespace cistern;

cistern_status_t cistern_set_log_level(int32_t level) noexcept {
  return capi::run("cistern_set_log_level", [&]() -> base::Status {
    if (level < CISTERN_LOG_DEBUG || level > CISTERN_LOG_NONE) {
      return base::invalid_argument("level " + std::to_string(level) + " is not one of 0 (debug) to 4 (none)");
    }
    capi::level_was_set.store(true);
    base::set_log_level(static_cast<base::LogLevel>(level));
    return {};
  });
}

cistern_status_t cistern_set_log_callback(cistern_log_callback_t callback, void* user) noexcept {
  return capi::run("cistern_set_log_callback", [&]() -> base::Status {
    auto next = callback == nullptr ? nullptr : std::make_unique<capi::Callback>(capi::Callback{callback, user});
    const std::lock_guard guard(capi::callback_mutex);
    base::set_log_sink(next ? &capi::call_back : nullptr, next.get());
    // Nobody is inside the former one now.
    delete capi::callback_in_force;
    capi::callback_in_force = next.release();
    return {};
  });
}
