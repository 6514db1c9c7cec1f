/* compaction.h: using quiet moments, and knowing when pages come and go; part of cistern.h (which includes this file).
 *
 * A pool compacts itself in a miss, and in quiet moments if it was asked to (cistern_pool_options); here the caller
 * chooses the moment. Rules for all functions are those of cistern.h.
 */
#ifndef CISTERN_COMPACTION_H
#define CISTERN_COMPACTION_H

#include "cistern/cistern.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {                               /* how a compaction ended */
       CISTERN_COMPACTED = 0,        /* there is nothing (more) to gain, or nothing that can be */
       CISTERN_COMPACTED_BUDGET = 1, /* bytes or time are used up */
       CISTERN_COMPACTED_GAVE_WAY = 2
};

typedef struct cistern_compaction {
  uint32_t struct_size;
  uint32_t end;
  uint64_t moved_bytes; /* of pages put elsewhere, not copied; no pointer changes */
  uint64_t moved_pages;
  uint64_t copied_bytes; /* of movable blocks copied elsewhere */
  uint64_t duration_us;
  uint64_t largest_free_before; /* the largest hole, in bytes */
  uint64_t largest_free_after;
  double exposure_before; /* see cistern_ledger */
  double exposure_after;
} cistern_compaction_t;

/* Uses a quiet moment of the caller: moves free pages together until the sizes that were lately asked for fit without a
 * miss, as far as free memory suffices. At most `max_bytes` are moved (0: no bound) and `max_us` microseconds spent (0:
 * no bound; the last page moved may pass it). The pool never grows by it. Other threads go on meanwhile and wait for it
 * no longer than the step budget (compact_step_us). `result` may be NULL. Errors: DEVICE_ERROR, when nothing could be
 * moved; nothing is lost then. Cost: driver calls. */
CISTERN_API cistern_status_t cistern_compact(cistern_pool_t* pool, uint64_t max_bytes, uint64_t max_us,
                                             cistern_compaction_t* result) CISTERN_NOEXCEPT;

/* A number that grows whenever a page under the range comes or goes (compaction, growth, trim), and so tells whether a
 * registration of its pages elsewhere still holds. Pages under live blocks and in registered ranges never change. The
 * range must lie within one arena. Errors: NOT_FOUND. Cheap. */
CISTERN_API cistern_status_t cistern_backing_generation(cistern_pool_t* pool, cistern_address_t address, uint64_t bytes,
                                                        uint64_t* generation) CISTERN_NOEXCEPT;

/* A range got pages (`mapped` 1) or gave them up (0). Called after the change, by the thread that made it, before its
 * call returns, or by the library's own thread; without any lock. Another thread may have got the addresses by then,
 * their generation has changed before that. Must not throw; functions of this library that return a status are
 * CISTERN_BUSY inside it. */
typedef void (*cistern_backing_callback_t)(cistern_address_t address, uint64_t bytes, uint64_t generation,
                                           int32_t mapped, void* user);
/* Who is told; NULL: nobody. After the return nobody is inside the callback that was there before. */
CISTERN_API cistern_status_t cistern_set_backing_callback(cistern_pool_t* pool, cistern_backing_callback_t callback,
                                                          void* user) CISTERN_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif /* CISTERN_COMPACTION_H */
