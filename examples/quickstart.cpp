// quickstart.cpp: the same in C++17: objects own what they stand for, failures are exceptions or results, as you like.
#include <cistern/cistern.hpp>
#include <cstdio>
#include <string>

int main() {
  try {
    const cistern::Device device = cistern::Device::open();  // the host's memory
    cistern::PoolOptions options;
    options.name = "quickstart";
    options.limit_bytes = std::uint64_t{64} << 20;
    cistern::Pool pool = cistern::Pool::create(device, options);

    // A buffer goes back to its pool at the end of its scope.
    cistern::Buffer weights = pool.allocate(cistern::Allocation(1 << 20).tag("weights").name("conv1"));
    std::string text = "water";
    weights.write(text.data(), text.size());
    text.assign(text.size(), ' ');
    weights.read(text.data(), text.size());
    std::printf("read back: %s\n", text.c_str());
    std::printf("conv1: %llu bytes, tag %s\n", static_cast<unsigned long long>(weights.size()),
                pool.find("conv1").tag.c_str());

    // try_ functions return the failure instead of throwing it.
    auto giant = pool.try_allocate(std::uint64_t{1} << 30);
    if (!giant.ok()) std::printf("1 GiB: %s\n", giant.status().name());

    try {
      cistern::Buffer another = pool.allocate(cistern::Allocation(512).name("conv1"));
    } catch (const cistern::Error& error) {
      std::printf("same name: %s\n", error.status().name());
    }

    const cistern::Ledger ledger = pool.ledger();
    std::printf("live blocks: %llu, fragmentation rate: %.2f\n", static_cast<unsigned long long>(ledger.live_blocks),
                ledger.fragmentation_rate());
    return 0;
  } catch (const cistern::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
