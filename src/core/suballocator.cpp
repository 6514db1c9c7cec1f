// Placement: how blocks are cut from holes and join them again. The other parts of the class are in
// suballocator_pages.cpp (fill, vacate, moves, pins), suballocator_views.cpp (looking) and suballocator_validate.cpp.
#include "core/suballocator.hpp"

#include <algorithm>

#include "base/bits.hpp"

namespace cistern::core {
namespace {

// Of expected blocks: larger blocks come in smaller numbers.
constexpr std::uint64_t kRegionsPerBlock = 4;
constexpr std::uint64_t kMostBlocks = std::uint64_t{1} << 26;
constexpr std::uint64_t kMostRangeBytes = (std::uint64_t{1} << 41) - kGranuleBytes;

base::Status check(const SuballocatorConfig& config) {
  if (!base::is_power_of_two(config.page_bytes) || config.page_bytes < kGranuleBytes) {
    return base::invalid_argument("an arena's page size must be a power of two of at least 512 bytes, not " +
                                  std::to_string(config.page_bytes));
  }
  if (config.range_bytes == 0 || !base::is_aligned(config.range_bytes, config.page_bytes)) {
    return base::invalid_argument("an arena's range must be a positive multiple of its page size (" +
                                  std::to_string(config.page_bytes) + " bytes), not " +
                                  std::to_string(config.range_bytes));
  }
  if (config.range_bytes > kMostRangeBytes) {
    return base::invalid_argument("an arena's range must be below 2 TiB, not " + std::to_string(config.range_bytes) +
                                  " bytes; lower the pool's limit or use several pools");
  }
  return {};
}

}  // namespace

struct Suballocator::Parts {
  BlockTable blocks;
  AddressTable addresses;
  base::LazyTable<BucketIndex> holes;
  HoleTree tree;
};

base::Result<std::unique_ptr<Suballocator>> Suballocator::create(const SuballocatorConfig& config) noexcept {
  if (auto status = check(config); !status.is_ok()) return status;
  const std::uint64_t granules = config.range_bytes >> kGranuleShift;
  const std::uint64_t most = config.max_blocks == 0 ? kMostBlocks : config.max_blocks;
  auto blocks = BlockTable::create(std::min({most, granules, kMostBlocks}) + kNodesForPages + 2);
  if (!blocks.is_ok()) return blocks.take_status();
  auto addresses = AddressTable::create(granules);
  if (!addresses.is_ok()) return addresses.take_status();
  auto holes = base::LazyTable<BucketIndex>::create(kMaxReadinessSlots);
  if (!holes.is_ok()) return holes.take_status();
  Parts parts{blocks.take(), addresses.take(), holes.take(), {}};
  if (config.policy == FitPolicy::first_fit) {
    auto tree = HoleTree::create(region_of(granules - 1) + 1);
    if (!tree.is_ok()) return tree.take_status();
    parts.tree = tree.take();
  }
  if (config.expected_blocks != 0) {
    parts.blocks.back(config.expected_blocks);
    parts.addresses.back(region_of(config.expected_offset >> kGranuleShift), kRegionsPerBlock * config.expected_blocks);
  }
  return std::unique_ptr<Suballocator>(new Suballocator(config, std::move(parts)));
}

Suballocator::Suballocator(const SuballocatorConfig& config, Parts&& parts) noexcept
    : blocks_(std::move(parts.blocks)),
      addresses_(std::move(parts.addresses)),
      holes_(std::move(parts.holes)),
      tree_(std::move(parts.tree)),
      config_(config) {
  const BlockIndex whole = blocks_.take();
  BlockNode& node = blocks_[whole];
  node.offset = 0;
  node.length = static_cast<std::uint32_t>(config.range_bytes >> kGranuleShift);
  blocks_.link_before(kNoBlock, whole);
  addresses_.block_began(blocks_, whole);
  node.state = config.starts_filled ? BlockState::free : BlockState::vacant;
  bytes_in(node.state, kReadySlot) = config.range_bytes;
  enlist(whole);
}

Suballocator::~Suballocator() = default;

// --- Waiting lists --------------------------------------------------------------------------------------------------

inline void Suballocator::enlist(BlockIndex block) noexcept {
  BlockNode& node = blocks_[block];
  if (node.state == BlockState::free) {
    holes_[node.slot].insert(blocks_, block, BucketIndex::bucket_of(node.length));
    if (config_.policy == FitPolicy::first_fit) {
      tree_.raise(node.slot, region_of(node.offset), node.length);
    }
    ++totals_.free_blocks;
  } else if (node.state == BlockState::vacant) {
    node.previous_free = kNoBlock;
    node.next_free = first_vacant_;
    blocks_[first_vacant_].previous_free = block;
    first_vacant_ = block;
    ++totals_.vacant_blocks;
  }
}

inline void Suballocator::delist(BlockIndex block) noexcept {
  const BlockNode& node = blocks_[block];
  if (node.state == BlockState::free) {
    holes_[node.slot].remove(blocks_, block);
    --totals_.free_blocks;
  } else if (node.state == BlockState::vacant) {
    blocks_[node.next_free].previous_free = node.previous_free;
    if (node.previous_free != kNoBlock) {
      blocks_[node.previous_free].next_free = node.next_free;
    } else {
      first_vacant_ = node.next_free;
    }
    --totals_.vacant_blocks;
  }
}

// A hole that stays in its bucket stays where it is in the list: most often nothing is to be done.
inline void Suballocator::update_listing(BlockIndex block) noexcept {
  const BlockNode& node = blocks_[block];
  if (node.state != BlockState::free) return;
  const Bucket bucket = BucketIndex::bucket_of(node.length);
  if (bucket != node.bucket) {
    holes_[node.slot].remove(blocks_, block);
    holes_[node.slot].insert(blocks_, block, bucket);
  }
  if (config_.policy == FitPolicy::first_fit) {
    tree_.raise(node.slot, region_of(node.offset), node.length);
  }
}

// --- Splitting and coalescing ---------------------------------------------------------------------------------------

BlockIndex Suballocator::cut(BlockIndex block, std::uint32_t offset, std::uint32_t length) noexcept {
  BlockNode& node = blocks_[block];
  const std::uint32_t head = offset - node.offset;
  const std::uint32_t tail = node.length - head - length;
  if (head == 0 && tail == 0) {
    delist(block);
    return block;
  }
  const BlockIndex middle = blocks_.take();
  BlockNode& part = blocks_[middle];
  part.offset = offset;
  part.length = length;
  if (head == 0) {
    // The rest keeps the node and so, mostly, its place in its list.
    node.offset += length;
    node.length = tail;
    blocks_.link_before(block, middle);
    addresses_.front_split(blocks_, middle, block);
  } else {
    node.length = head;
    blocks_.link_after(block, middle);
    addresses_.block_began(blocks_, middle);
    if (tail != 0) {
      const BlockIndex rest = blocks_.take();
      blocks_[rest] = node;
      blocks_[rest].offset = offset + length;
      blocks_[rest].length = tail;
      blocks_.link_after(middle, rest);
      addresses_.block_began(blocks_, rest);
      enlist(rest);
    }
  }
  update_listing(block);
  return middle;
}

// The same for the frequent case: a live block from the front of a hole that is longer.
inline BlockIndex Suballocator::cut_live_front(BlockIndex hole, std::uint32_t length) noexcept {
  BlockNode& rest = blocks_[hole];
  const BlockIndex front = blocks_.take();
  BlockNode& part = blocks_[front];
  part.offset = rest.offset;
  part.length = length;
  part.state = BlockState::live;
  rest.offset += length;
  rest.length -= length;
  blocks_.link_before(hole, front);
  addresses_.front_split(blocks_, front, hole, true);
  update_listing(hole);
  return front;
}

template <BlockState kState>
BlockIndex Suballocator::join(BlockIndex block, Readiness readiness) noexcept {
  static_assert(kState == BlockState::free || kState == BlockState::vacant);
  BlockNode& node = blocks_[block];
  const BlockIndex previous = node.previous;
  const BlockIndex next = node.next;
  bytes_in(kState, readiness.slot) += std::uint64_t{node.length} << kGranuleShift;
  const auto is_equal = [this, readiness](BlockIndex neighbour) {
    return blocks_[neighbour].state == kState && blocks_[neighbour].slot == readiness.slot;
  };
  const bool joins_previous = is_equal(previous);
  if (is_equal(next)) {
    BlockNode& after = blocks_[next];
    readiness.batch = std::max(readiness.batch, after.batch);
    if (!joins_previous) {
      addresses_.front_joins(blocks_, block, next);
      after.offset = node.offset;
      after.length += node.length;
      after.batch = readiness.batch;
      blocks_.unlink(block);
      blocks_.give(block);
      update_listing(next);
      return next;
    }
    delist(next);
    node.length += after.length;
    addresses_.block_ends(blocks_, next);
    blocks_.unlink(next);
    blocks_.give(next);
  }
  if (joins_previous) {
    BlockNode& before = blocks_[previous];
    before.length += node.length;
    before.batch = std::max(readiness.batch, before.batch);
    addresses_.block_ends(blocks_, block);
    blocks_.unlink(block);
    blocks_.give(block);
    update_listing(previous);
    return previous;
  }
  node.state = kState;
  node.slot = readiness.slot;
  node.batch = readiness.batch;
  enlist(block);
  return block;
}

template BlockIndex Suballocator::join<BlockState::free>(BlockIndex, Readiness) noexcept;
template BlockIndex Suballocator::join<BlockState::vacant>(BlockIndex, Readiness) noexcept;

// --- The calls of the pool ------------------------------------------------------------------------------------------

inline BlockIndex Suballocator::find_hole(const FitRequest& request, ReadinessSlot slot) noexcept {
  switch (config_.policy) {
    case FitPolicy::best_fit:
      if (request.alignment == 1) return find_unaligned_best_fit(blocks_, holes_[slot], request.length);
      return find_aligned_best_fit(blocks_, holes_[slot], request);
    case FitPolicy::first_fit:
      return find_first_fit(blocks_, addresses_, tree_, slot, request);
    case FitPolicy::exact_best_fit:
      return find_exact_best_fit(blocks_, holes_[slot], request);
  }
  return kNoBlock;
}

BlockIndex Suballocator::allocate(std::uint64_t bytes, std::uint64_t alignment, ReadinessSlot slot) noexcept {
  // bytes == 0 wraps and is refused with the sizes beyond the range.
  if (bytes - 1 >= config_.range_bytes || slot >= kMaxReadinessSlots) return kNoBlock;
  if (!base::is_power_of_two(alignment)) return kNoBlock;
  const FitRequest request{static_cast<std::uint32_t>((bytes + kGranuleBytes - 1) >> kGranuleShift),
                           alignment <= kGranuleBytes ? 1 : alignment >> kGranuleShift};
  const BlockIndex hole = find_hole(request, slot);
  if (hole == kNoBlock || blocks_.spare() < kNodesForPages + 2) return kNoBlock;
  const auto offset = static_cast<std::uint32_t>(request.place_in(blocks_[hole]));
  BlockIndex block = hole;
  if (offset == blocks_[hole].offset && request.length < blocks_[hole].length) {
    block = cut_live_front(hole, request.length);
  } else {
    block = cut(hole, offset, request.length);
    blocks_[block].state = BlockState::live;
    addresses_.set_live(offset, block);
  }
  const std::uint64_t granted = std::uint64_t{request.length} << kGranuleShift;
  bytes_in(BlockState::free, slot) -= granted;
  totals_.live_bytes += granted;
  ++totals_.live_blocks;
  return block;
}

bool Suballocator::release(BlockIndex block, Readiness readiness) noexcept {
  if (!is(block, BlockState::live) || readiness.slot >= kMaxReadinessSlots) return false;
  if (readiness.slot == kReadySlot) readiness.batch = 0;
  const BlockNode& node = blocks_[block];
  addresses_.clear_live(node.offset, block);
  totals_.live_bytes -= std::uint64_t{node.length} << kGranuleShift;
  --totals_.live_blocks;
  join<BlockState::free>(block, readiness);
  return true;
}

std::uint64_t Suballocator::change_readiness(ReadinessSlot from, std::uint32_t batch, Readiness to) noexcept {
  if (from == to.slot || from >= kMaxReadinessSlots || to.slot >= kMaxReadinessSlots) return 0;
  if (to.slot == kReadySlot) to.batch = 0;
  std::uint64_t granules = 0;
  const BucketIndex& index = holes_[from];
  for (Bucket bucket = index.first_non_empty(); bucket != BucketIndex::kNoBucket;) {
    for (BlockIndex block = index.head(bucket); block != kNoBlock;) {
      const BlockIndex following = blocks_[block].next_free;
      if (blocks_[block].batch <= batch) {
        const std::uint64_t length = blocks_[block].length;
        delist(block);
        join<BlockState::free>(block, to);  // merges with blocks of the other slot only: `following` stays where it is
        granules += length;
      }
      block = following;
    }
    bucket = index.next_non_empty(bucket);
  }
  bytes_in(BlockState::free, from) -= granules << kGranuleShift;
  return granules << kGranuleShift;
}

}  // namespace cistern::core
