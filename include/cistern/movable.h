/* movable.h: blocks that the pool may move, part of cistern.h (which includes this file).
 *
 * An ordinary block stays where it is for as long as it lives, so free memory around such blocks may lie in pieces that
 * no request fits. A movable block is known by a handle. Its address is the caller's only from cistern_movable_pin() to
 * cistern_movable_unpin(); in between two pins the pool may copy it elsewhere, which it does when a request would fail
 * otherwise (and, on a device that maps pages, only when moving free pages does not help either), so that
 * memory that suffices in sum suffices. Handles belong to their pool and are never used again.
 *
 * Work of the device on the block must be complete when the last pin ends, or be enqueued in the device's default
 * stream: the pool waits for that before it copies. Rules for all functions are those of cistern.h.
 */
#ifndef CISTERN_MOVABLE_H
#define CISTERN_MOVABLE_H

#include "cistern/cistern.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A handle; 0 is none. */
typedef uint64_t cistern_movable_t;

/* Allocates a movable block. Attributes are those of cistern_allocate_with(); CISTERN_ALLOCATION_PINNED is refused.
 * A named block is found by cistern_find(), whose address holds only while the block is pinned.
 * Errors and cost: those of cistern_allocate_with(). */
CISTERN_API cistern_status_t cistern_movable_allocate(cistern_pool_t* pool, const cistern_allocation_t* allocation,
                                                      cistern_movable_t* movable) CISTERN_NOEXCEPT;
/* Frees it; 0 does nothing. cistern_free() refuses the addresses of movable blocks.
 * Errors: BUSY (it is pinned), DOUBLE_FREE, NOT_FOUND (no handle of this pool). Cheap. */
CISTERN_API cistern_status_t cistern_movable_free(cistern_pool_t* pool, cistern_movable_t movable) CISTERN_NOEXCEPT;
/* The block stays at `*address` until as many unpins. While a thread pins it, others may, too.
 * Errors: DOUBLE_FREE, NOT_FOUND. Cheap, except when the block is being copied just now: the move is given up, and the
 * call waits for the piece under way (2 MiB at most). */
CISTERN_API cistern_status_t cistern_movable_pin(cistern_pool_t* pool, cistern_movable_t movable,
                                                 cistern_address_t* address) CISTERN_NOEXCEPT;
/* Ends one pin. Errors: INVALID_ARGUMENT (it is not pinned), DOUBLE_FREE, NOT_FOUND. Cheap. */
CISTERN_API cistern_status_t cistern_movable_unpin(cistern_pool_t* pool, cistern_movable_t movable) CISTERN_NOEXCEPT;

typedef struct cistern_movable_info {
  uint32_t struct_size;
  uint32_t pins;
  cistern_address_t address; /* where it is now; stays so only while it is pinned */
  uint64_t requested_bytes;
  uint64_t granted_bytes; /* rounded up */
  uint64_t moves;         /* times it was moved */
} cistern_movable_info_t;

/* Errors: DOUBLE_FREE, NOT_FOUND. Cheap. */
CISTERN_API cistern_status_t cistern_movable_describe(cistern_pool_t* pool, cistern_movable_t movable,
                                                      cistern_movable_info_t* info) CISTERN_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif /* CISTERN_MOVABLE_H */
