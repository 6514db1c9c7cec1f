/* pressure.h: giving up caches before a request fails, part of cistern.h (which includes this file).
 *
 * A request that nothing else has helped (growth, compaction, what other pools have borrowed) calls the callbacks that
 * programs have registered, the lowest priority number first, one at a time; after each that has given something the
 * pool tries everything again, so no more is dropped than it takes. Each callback is called once a request. A request
 * that meets its own pool's limit asks that pool's callbacks only; one that meets the end of the device asks also those
 * of other pools of the device that hold more than their minimum.
 *
 * A callback runs in the thread whose request is in need, without any lock. It may call any function of this library,
 * on any pool: allocate, free, trim, register and remove callbacks; a request inside it that finds no memory fails
 * without calling callbacks. It can't destroy a pool that the call around it is using (CISTERN_BUSY). What a C++
 * callback throws ends in the log and counts as nothing given.
 */
#ifndef CISTERN_PRESSURE_H
#define CISTERN_PRESSURE_H

#include "cistern/cistern.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cistern_pressure {
  uint32_t struct_size;
  uint32_t by_own_limit;   /* 1: the pool's limit is in the way; 0: the device has no more */
  const char* pool;        /* the name of the pool in need, valid during the call */
  const char* device_kind; /* valid during the call */
  uint32_t device_ordinal;
  uint32_t reserved;
  uint64_t requested_bytes;
  uint64_t missing_bytes; /* what growth for the request lacks, as things are now */
} cistern_pressure_t;

/* Returns 1 if it has given something up that may help, 0 if not. */
typedef int32_t (*cistern_pressure_callback_t)(const cistern_pressure_t* pressure, void* user);

/* Registers a callback with a pool; its number, which is unique in the process, goes to `id`. It ends with the pool.
 * Cheap. */
CISTERN_API cistern_status_t cistern_add_pressure_callback(cistern_pool_t* pool, int32_t priority,
                                                           cistern_pressure_callback_t callback, void* user,
                                                           uint64_t* id) CISTERN_NOEXCEPT;
/* After the return no other thread is inside the callback; a callback may remove itself. Errors: NOT_FOUND. */
CISTERN_API cistern_status_t cistern_remove_pressure_callback(cistern_pool_t* pool, uint64_t id) CISTERN_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif /* CISTERN_PRESSURE_H */
