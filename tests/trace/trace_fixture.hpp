// Pools that are recorded, and files to record them in.
#pragma once

#include <unistd.h>

#include <fstream>
#include <iterator>
#include <string>

#include "pool/pool_fixture.hpp"
#include "trace/reader.hpp"
#include "trace/recorder.hpp"

namespace cistern::trace {

// A directory that goes with its files at the test's end.
class TestDirectory {
 public:
  TestDirectory() {
    std::string name = ::testing::TempDir() + "cistern_trace_XXXXXX";
    path_ = ::mkdtemp(name.data()) == nullptr ? std::string("/nowhere") : name;
  }
  TestDirectory(const TestDirectory&) = delete;
  TestDirectory& operator=(const TestDirectory&) = delete;
  ~TestDirectory() {
    for (const char* name : {"a.trace", "a.trace.1", "a.log", "a.log.1"}) ::unlink(file(name).c_str());
    ::rmdir(path_.c_str());
  }
  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

inline std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// A pool over a counting device of 1 GiB.
struct RecordedPool {
  explicit RecordedPool(const std::shared_ptr<Recorder>& recorder, const std::string& name = "test") {
    device = pool::make_device("counting", 1024 * pool::kMiB);
    pages = std::make_shared<device::PagePool>(*device, pool::kTestPage);
    pool::PoolOptions options;
    options.name = name;
    options.page_bytes = pool::kTestPage;
    pool = pool::Pool::create(device, pages, options, compact::rescue_steps(options.on_miss),
                              recorder->observe(name, "counting:0"))
               .take();
  }
  pool::Pool* operator->() const { return pool.get(); }
  std::shared_ptr<device::Device> device;
  std::shared_ptr<device::PagePool> pages;
  std::unique_ptr<pool::Pool> pool;
};

inline RecorderOptions record_to(const std::string& path, unsigned stack_depth = 8) {
  RecorderOptions options;
  options.path = path;
  options.stack_depth = stack_depth;
  return options;
}

}  // namespace cistern::trace
