// Host heaps as contenders: malloc and free of the C library and of three libraries that replace it, each loaded beside
// the others into one process. They manage memory that programs touch, not a device's: a yardstick for speed only.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "bench/contenders/contender.hpp"

namespace cistern::bench {

struct HeapLibrary {
  std::string name;
  void* (*allocate)(std::size_t) = nullptr;
  void (*free)(void*) = nullptr;
  std::string missing;  // why it can't be used, then the functions are null
};

// The C library's first. Each library is loaded with its own symbols before the program's, and stays loaded.
std::vector<HeapLibrary> load_heaps();

// Some of these libraries keep their threads' data where only programs started with room for it may load them:
// restarts the program, once, with that room. Call it first in main().
void make_room_for_heaps(char** arguments);

class HostHeap {
 public:
  explicit HostHeap(const HeapLibrary& library) noexcept : allocate_(library.allocate), free_(library.free) {}
  Place allocate(std::uint64_t bytes) noexcept { return reinterpret_cast<Place>(allocate_(bytes)); }
  void free(Place place) noexcept { free_(reinterpret_cast<void*>(place)); }
  std::uint64_t end_of(Place) const noexcept { return 0; }
  std::uint64_t reserved_bytes() const noexcept { return 0; }

 private:
  void* (*allocate_)(std::size_t);
  void (*free_)(void*);
};

}  // namespace cistern::bench
