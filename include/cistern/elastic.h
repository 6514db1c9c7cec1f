/* elastic.h: buffers that grow and shrink in place, part of cistern.h (which includes this file).
 *
 * An elastic buffer is a range of addresses, reserved once, that gets memory as far as it is needed: a KV cache that
 * grows with the context, a table that grows with its entries. Its address never changes and what is in it stays, so
 * nothing is copied and no pointer into it is ever wrong. Memory comes and goes at its end, in whole pages, and is
 * counted as allocated like that of any block. Buffers belong to their pool and are known by a handle.
 *
 * They need a device that maps pages and CISTERN_GROWTH_EXPANDABLE; elsewhere cistern_elastic_reserve() is UNSUPPORTED.
 * Calls on one buffer come one after the other: a second one meanwhile is BUSY. Rules for all functions are those of
 * cistern.h.
 */
#ifndef CISTERN_ELASTIC_H
#define CISTERN_ELASTIC_H

#include "cistern/cistern.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A handle; 0 is none. Never used again. */
typedef uint64_t cistern_elastic_t;

/* Addresses for `max_bytes`, rounded up to whole pages, and no memory yet. `tag` may be NULL. `*address` is a multiple
 * of the page size. A pool has eight times its limit in addresses, for blocks and buffers together.
 * Errors: INVALID_ARGUMENT (0 bytes), UNSUPPORTED (the pool maps no pages), OUT_OF_MEMORY (no run of addresses is long
 * enough). Cheap: no call of the driver. */
CISTERN_API cistern_status_t cistern_elastic_reserve(cistern_pool_t* pool, uint64_t max_bytes, const char* tag,
                                                     cistern_elastic_t* elastic,
                                                     cistern_address_t* address) CISTERN_NOEXCEPT;
/* The buffer has `to` bytes then; those it had keep their contents, the new ones have any. Takes the pool's wholly free
 * pages first, then new ones under the limit, then what waiting, emptying caches and other pools give. A refused call
 * changes nothing.
 * Errors: INVALID_ARGUMENT (`to` is less than it has, or more than was reserved), LIMIT_EXCEEDED, OUT_OF_MEMORY,
 * DEVICE_ERROR, BUSY, DOUBLE_FREE, NOT_FOUND. Cost: that of mapping the pages; nothing within the last page. */
CISTERN_API cistern_status_t cistern_elastic_grow(cistern_pool_t* pool, cistern_elastic_t elastic,
                                                  uint64_t to) CISTERN_NOEXCEPT;
/* The buffer has `to` bytes then, 0 being allowed. All work on what is behind must be complete. The pages behind go to
 * the device's page pool, where any pool takes them again without creating them; cistern_trim() gives them to the
 * device. Pages that the device would not take back stay under the buffer and are tried again by its next call.
 * Errors: INVALID_ARGUMENT (`to` is more than it has), BUSY (also where pages behind lie in a registered range),
 * DOUBLE_FREE, NOT_FOUND. Cost: that of unmapping the pages. */
CISTERN_API cistern_status_t cistern_elastic_shrink(cistern_pool_t* pool, cistern_elastic_t elastic,
                                                    uint64_t to) CISTERN_NOEXCEPT;
/* The end of the buffer: its memory is the pool's free memory, as after cistern_free(), its addresses are the pool's
 * again. 0 does nothing; cistern_free() refuses the addresses of elastic buffers.
 * Errors: BUSY, DOUBLE_FREE, NOT_FOUND. Cheap: no call of the driver. */
CISTERN_API cistern_status_t cistern_elastic_release(cistern_pool_t* pool, cistern_elastic_t elastic) CISTERN_NOEXCEPT;

typedef struct cistern_elastic_info {
  uint32_t struct_size;
  uint32_t reserved;
  cistern_address_t address;
  uint64_t bytes;        /* as asked for last */
  uint64_t backed_bytes; /* what has memory: whole pages */
  uint64_t max_bytes;    /* addresses */
} cistern_elastic_info_t;

/* Errors: DOUBLE_FREE, NOT_FOUND. Cheap. */
CISTERN_API cistern_status_t cistern_elastic_describe(cistern_pool_t* pool, cistern_elastic_t elastic,
                                                      cistern_elastic_info_t* info) CISTERN_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif /* CISTERN_ELASTIC_H */
