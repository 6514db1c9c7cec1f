/* contexts.h: pools that share a device, part of cistern.h (which includes this file).
 *
 * Every pool is a context of its device: it has a minimum (cistern_pool_options.minimum_bytes), which is promised to
 * it, and a maximum, its limit_bytes. What it holds up to its minimum is its own; what it holds above that is borrowed
 * from the rest of the device and, where it is free, goes to whoever needs it. What is promised is never lent, so a
 * request within the minimum is served whatever other pools of this process do; and a pool that leaks or grows reaches
 * its own limit, or the end of what can be lent, and takes nothing that was promised to others. A pool without a
 * minimum lives on borrowed memory alone. Rules for all functions are those of cistern.h.
 *
 * cistern_pool_create() fails with LIMIT_EXCEEDED where all minima together exceed the device, and with OUT_OF_MEMORY
 * where other pools have borrowed so much, and use it, that the promise can't be given now. The promise is of pages:
 * minima are rounded up to them, and memory lost to the pool's own fragmentation counts.
 *
 * A process that was forked from one that uses Cistern has no use of its parent's devices and pools: functions that
 * take such a handle, and cistern_device_open(), are CISTERN_UNSUPPORTED there until it has called exec().
 */
#ifndef CISTERN_CONTEXTS_H
#define CISTERN_CONTEXTS_H

#include "cistern/cistern.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cistern_context_info {
  uint32_t struct_size;
  uint32_t reserved;
  uint64_t allocated_bytes; /* live blocks, rounded sizes */
  uint64_t reserved_bytes;  /* memory of the device that the pool holds, growth under way included */
  uint64_t minimum_bytes;   /* promised */
  uint64_t maximum_bytes;   /* the pool's limit */
  uint64_t borrowed_bytes;  /* reserved above the minimum */
  char name[CISTERN_TEXT_BYTES];
} cistern_context_info_t;

/* Where the pool stands among those of its device. Cheap. */
CISTERN_API cistern_status_t cistern_get_context(cistern_pool_t* pool, cistern_context_info_t* info) CISTERN_NOEXCEPT;

/* Sums over all pools of a device in this process, of one moment. */
typedef struct cistern_device_share {
  uint32_t struct_size;
  uint32_t contexts;       /* their number */
  uint64_t capacity_bytes; /* of the device */
  uint64_t promised_bytes; /* the minima */
  uint64_t reserved_bytes; /* the sum of theirs */
  uint64_t borrowed_bytes;
  uint64_t lendable_bytes; /* neither held nor promised */
} cistern_device_share_t;

CISTERN_API cistern_status_t cistern_get_device_share(cistern_device_t* device,
                                                      cistern_device_share_t* share) CISTERN_NOEXCEPT;

/* For doors that free by pointer alone: the pool in whose memory `address` lies, whatever the device. Errors:
 * NOT_FOUND; BUSY where it lies in memory of several devices, whose addresses overlap. Cost: each pool's lock in turn.
 */
CISTERN_API cistern_status_t cistern_find_owner(cistern_address_t address, cistern_pool_t** pool) CISTERN_NOEXCEPT;
/* cistern_free() in the pool that cistern_find_owner() finds; 0 does nothing. Errors: of both. */
CISTERN_API cistern_status_t cistern_free_anywhere(cistern_address_t address) CISTERN_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif /* CISTERN_CONTEXTS_H */
