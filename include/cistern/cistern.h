/* cistern.h: the C interface of Cistern, a pool of device memory.
 *
 * Open a device, create a pool on it, allocate. A pool takes memory from its device in large pieces and serves
 * allocations out of them, so that the driver is not called once the program is warm. These functions are the whole
 * public surface of libcistern.so; the header compiles as C11 and as C++ and needs nothing but <stddef.h> and
 * <stdint.h>.
 *
 * Rules that hold for every function, unless its comment says otherwise:
 *   - Thread-safety: any function may be called from any thread at any time, on the same handles. The one
 *     exception: inside a log callback they are refused (CISTERN_BUSY). None may be called in a signal handler.
 *   - Errors: the result is CISTERN_OK or a code that says what kind of failure it was; cistern_get_last_error() has
 *     the text. A call that fails changes nothing, and output arguments keep their values. Every function can return
 *     CISTERN_INVALID_ARGUMENT, for a NULL where something is needed, for a handle that was destroyed or never was one,
 *     and for a struct that is not filled in properly; only further errors are listed with the functions.
 *   - Misuse (double free, foreign or interior pointers, destroyed handles) is detected and harmless.
 *   - Sizes and addresses are in bytes. Strings are UTF-8 and end with NUL; the library copies what it keeps.
 *   - Nothing here throws, and no exception leaves the library.
 *   - Entering and leaving a function costs about 5 ns; "cheap" means under 1 us in all and no call of the driver.
 *
 * Structs begin with struct_size, which the caller sets to sizeof the struct. All other fields may be zero, which is
 * the default of each. So a program built against an older header works with a newer library (fields it does not know
 * have their defaults), and the other way round as long as it leaves the newer fields zero (otherwise
 * CISTERN_UNSUPPORTED).
 */
#ifndef CISTERN_CISTERN_H
#define CISTERN_CISTERN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define CISTERN_NOEXCEPT noexcept
extern "C" {
#else
#define CISTERN_NOEXCEPT
#endif

#if defined(__GNUC__)
#define CISTERN_API __attribute__((visibility("default")))
#else
#define CISTERN_API
#endif

/* ---- Version ------------------------------------------------------------------------------------------------------
 */

#define CISTERN_VERSION_MAJOR 0
#define CISTERN_VERSION_MINOR 1
#define CISTERN_VERSION_PATCH 0
#define CISTERN_VERSION ((CISTERN_VERSION_MAJOR << 16) | (CISTERN_VERSION_MINOR << 8) | CISTERN_VERSION_PATCH)

/* The library's own CISTERN_VERSION, which may be newer than the header's. Cannot fail. */
CISTERN_API uint32_t cistern_version(void) CISTERN_NOEXCEPT;
/* "0.1.0". A constant of the library. Cannot fail. */
CISTERN_API const char* cistern_version_string(void) CISTERN_NOEXCEPT;

/* ---- Status and errors --------------------------------------------------------------------------------------------
 */

/* The numbers are frozen. Later versions may add codes at the end: treat an unknown one as a failure. */
typedef int32_t cistern_status_t;
enum {
  CISTERN_OK = 0,
  CISTERN_INVALID_ARGUMENT = 1, /* the request itself is wrong */
  CISTERN_OUT_OF_MEMORY = 2,    /* the device, or the host, has no room, whatever the limits say */
  CISTERN_LIMIT_EXCEEDED = 3,   /* a limit that somebody set stands in the way */
  CISTERN_NOT_FOUND = 4,        /* no such block, name or device */
  CISTERN_DOUBLE_FREE = 5,      /* the block was already freed */
  CISTERN_WRONG_CONTEXT = 6,    /* the block belongs to another context */
  CISTERN_BUSY = 7,             /* in use; or a call from inside a log callback */
  CISTERN_UNSUPPORTED = 8,      /* this device or this version can't do that */
  CISTERN_DEVICE_ERROR = 9,     /* the driver refused; native_code has its number */
  CISTERN_CORRUPTED = 10,       /* bookkeeping or data contradicts itself */
  CISTERN_IO_ERROR = 11,        /* a file could not be read or written */
  CISTERN_INTERNAL = 12         /* a bug in Cistern */
};

/* "ok", "invalid_argument", ...; "unknown" for other numbers. A constant of the library. Cannot fail. */
CISTERN_API const char* cistern_status_name(cistern_status_t status) CISTERN_NOEXCEPT;

typedef struct cistern_error {
  uint32_t struct_size;
  cistern_status_t status; /* CISTERN_OK: no call of this thread has failed, all other fields are empty */
  int64_t native_code;     /* the driver's own number; 0: none */
  const char* text;        /* never NULL; several lines for CISTERN_OUT_OF_MEMORY and CISTERN_LIMIT_EXCEEDED */
  const char* device_kind; /* the device concerned: "host", ...; "": none */
  uint32_t device_ordinal;
  uint32_t reserved; /* 0 */
} cistern_error_t;

/* The last failure of a function of this library in the calling thread. Successful calls leave it alone. `text` and
 * `device_kind` are valid until the thread's next failing call, cistern_clear_last_error() or end. A failure of this
 * function itself is returned but not recorded. Cheap. */
CISTERN_API cistern_status_t cistern_get_last_error(cistern_error_t* error) CISTERN_NOEXCEPT;
/* Its text alone, "" when there is none, valid as long. Cannot fail. */
CISTERN_API const char* cistern_last_error_text(void) CISTERN_NOEXCEPT;
/* Forgets it. Cannot fail. */
CISTERN_API void cistern_clear_last_error(void) CISTERN_NOEXCEPT;

/* ---- Devices ------------------------------------------------------------------------------------------------------
 */

/* An address in a device's memory. On the host device it is a pointer; elsewhere only the device may follow it. */
typedef uint64_t cistern_address_t;

/* A stream of a device: a queue of its work, done in order. Where a driver has streams of its own, its handle as a
 * number. 0 is the default stream. */
typedef uint64_t cistern_stream_t;

/* Handles are names, not memory of the library: never follow one. A handle that was closed or destroyed stays invalid
 * for the rest of the process, even when its place has been taken by a new one. */
typedef struct cistern_device cistern_device_t;
typedef struct cistern_pool cistern_pool_t;

enum {                                /* flags of cistern_device_options */
       CISTERN_DEVICE_NO_LATENCY = 1, /* simulated: calls cost no modelled time */
       CISTERN_DEVICE_WAIT_LATENCY =
           2,                    /* simulated: calls take as long as the model says, else the time is only summed up */
       CISTERN_DEVICE_STRICT = 4 /* simulated: device addresses trap on access by the host, as on a real NPU */
};

typedef struct cistern_device_options {
  uint32_t struct_size;
  uint32_t ordinal;
  const char* kind;        /* "host" (NULL is host): this machine's memory; "simulated": an NPU in software; "counting":
                              addresses without memory, for measuring bookkeeping */
  uint64_t capacity_bytes; /* 0: host: physical memory; simulated: 32 GiB; counting: no bound that matters */
  uint32_t flags;
  uint32_t reserved; /* 0 */
} cistern_device_options_t;

typedef struct cistern_memory_info {
  uint32_t struct_size;
  uint32_t reserved;
  uint64_t total_bytes;
  uint64_t free_bytes; /* whoever uses the rest */
} cistern_memory_info_t;

/* Opens a device; NULL options: host, ordinal 0. A device is identified by kind and ordinal: opening one that this
 * process holds gives a second handle of the same device, and must ask for the same options, or for none.
 * Errors: NOT_FOUND (no such kind), OUT_OF_MEMORY, DEVICE_ERROR. Cost: microseconds.
 * The first call also applies CISTERN_LOG_LEVEL of the environment, unless cistern_set_log_level() was called. */
CISTERN_API cistern_status_t cistern_device_open(const cistern_device_options_t* options,
                                                 cistern_device_t** device) CISTERN_NOEXCEPT;
/* Ends the handle; NULL does nothing. The device itself lives on until its pools are destroyed and its other handles
 * are closed. */
CISTERN_API cistern_status_t cistern_device_close(cistern_device_t* device) CISTERN_NOEXCEPT;
/* Total and free memory of the device, of which pools are only one user. Errors: DEVICE_ERROR. Cost: a driver call. */
CISTERN_API cistern_status_t cistern_device_memory(cistern_device_t* device,
                                                   cistern_memory_info_t* memory) CISTERN_NOEXCEPT;

/* Streams of devices that run in this process (host, simulated, counting); a driver's streams come from that driver. A
 * stream that is destroyed finishes what it has. Errors: NOT_FOUND (no stream of this device), INVALID_ARGUMENT (the
 * default stream cannot be destroyed). Cheap. */
CISTERN_API cistern_status_t cistern_stream_create(cistern_device_t* device, cistern_stream_t* stream) CISTERN_NOEXCEPT;
CISTERN_API cistern_status_t cistern_stream_destroy(cistern_device_t* device, cistern_stream_t stream) CISTERN_NOEXCEPT;
/* Calls function(user) when all that was submitted to the stream before is complete, on a thread of the stream's. It
 * may call this library, but must not wait for its own stream, and must not throw. Errors: NOT_FOUND, UNSUPPORTED.
 * Cheap. */
CISTERN_API cistern_status_t cistern_stream_call(cistern_device_t* device, cistern_stream_t stream,
                                                 void (*function)(void* user), void* user) CISTERN_NOEXCEPT;
/* Returns when all that was submitted to the stream before is complete. Errors: NOT_FOUND, BUSY (from inside the
 * stream's own work), DEVICE_ERROR. */
CISTERN_API cistern_status_t cistern_stream_wait(cistern_device_t* device, cistern_stream_t stream) CISTERN_NOEXCEPT;

/* ---- Pools --------------------------------------------------------------------------------------------------------
 */

enum {                             /* policy: how a hole is chosen */
       CISTERN_POLICY_DEFAULT = 0, /* best fit */
       CISTERN_POLICY_BEST_FIT = 1,
       CISTERN_POLICY_FIRST_FIT = 2,
       CISTERN_POLICY_EXACT_BEST_FIT = 3
};
enum {                                /* growth: where more memory comes from */
       CISTERN_GROWTH_DEFAULT = 0,    /* expandable; arenas on a device that maps no pages */
       CISTERN_GROWTH_EXPANDABLE = 1, /* pages mapped into one long address range; an error where the device has none */
       CISTERN_GROWTH_ARENAS = 2      /* driver allocations of growing size */
};
enum {                              /* on_miss: what comes first when no hole fits */
       CISTERN_ON_MISS_DEFAULT = 0, /* stitch first */
       CISTERN_ON_MISS_GROW_FIRST = 1,
       CISTERN_ON_MISS_STITCH_FIRST = 2
};

enum {                                 /* compaction */
       CISTERN_COMPACTION_DEFAULT = 0, /* off */
       CISTERN_COMPACTION_OFF = 1,     /* only in a miss, and by cistern_compact() */
       CISTERN_COMPACTION_ACTIVE = 2
};

typedef struct cistern_pool_options {
  uint32_t struct_size;
  uint32_t policy;
  uint32_t growth;
  uint32_t on_miss;
  const char* name;          /* in messages and snapshots; NULL: "pool" */
  uint64_t initial_bytes;    /* taken from the device at creation, rounded up to pages */
  uint64_t limit_bytes;      /* the pool never holds more; 0: the device's total */
  uint64_t page_bytes;       /* power of two; 0: chosen by the limit */
  uint64_t round_bytes;      /* requests are rounded up to a multiple; power of two; 0: 512 */
  uint64_t growth_bytes;     /* least step of growth; 0: one page, or 2 MiB of arenas */
  uint64_t max_growth_bytes; /* arenas double up to this; 0: 1 GiB */
  uint64_t direct_bytes;     /* requests from this size on get a driver allocation of their own; 0: never */
  uint64_t magazine_bytes;   /* freed blocks that each thread may keep for itself, without the lock; 0: none */
  uint32_t stream_waits;     /* 1: a stream may be made to wait, on the device, for another's work, to get its memory */
  uint32_t quarantine;       /* 1: what cistern_free() gives back is reused only behind the work of all known streams */

  uint32_t compaction;          /* does a thread of the library compact the pool in quiet moments? */
  uint32_t compact_interval_ms; /* how often it looks; 0: 5000 */
  double compact_threshold;     /* it has a reason above this fragmentation rate; 0: 0.3; 1: by exposure only */
  uint64_t compact_max_blocks;  /* or above this many blocks; 0: 10000 */
  uint64_t compact_step_us;     /* nobody waits longer for compaction that is not his own; 0: 500 */

  uint64_t minimum_bytes; /* of the device's memory, promised to this pool, see contexts.h; rounded up to pages */
  /* Bytes behind each block that nobody may write, at most 1 MiB; 0: none. Where the host can reach the memory they are
   * looked at when the block is freed; a write there is an error in the log and counts as an overrun. */
  uint64_t red_zone_bytes;
} cistern_pool_options_t;

/* Fills in the defaults as numbers, for a look or a change; struct_size must be set. A zeroed struct means the same. */
CISTERN_API cistern_status_t cistern_pool_options_init(cistern_pool_options_t* options) CISTERN_NOEXCEPT;
/* The same, then what the CISTERN_* variables of the environment set. An unknown CISTERN_* variable and a malformed
 * value are INVALID_ARGUMENT; the text names variable, value and valid range. Not to be called while another thread
 * changes the environment. Cost: microseconds. */
CISTERN_API cistern_status_t cistern_pool_options_from_environment(cistern_pool_options_t* options) CISTERN_NOEXCEPT;

/* Creates a pool; NULL options: as cistern_pool_options_from_environment() fills them, so that who runs the program
 * decides. The pool keeps its device alive. Errors: OUT_OF_MEMORY, LIMIT_EXCEEDED, UNSUPPORTED (growth), DEVICE_ERROR.
 * Cost: a few driver calls, and those that initial_bytes need. */
CISTERN_API cistern_status_t cistern_pool_create(cistern_device_t* device, const cistern_pool_options_t* options,
                                                 cistern_pool_t** pool) CISTERN_NOEXCEPT;
/* Destroys the pool and gives all its memory back, live blocks included: their addresses must not be used any more.
 * Their number goes to `live_blocks` (may be NULL), and a warning for each tag to the log; who wants to know before
 * asks cistern_pool_live_blocks(). Waits for calls of other threads that are inside the pool, and for work on memory
 * that was freed on streams. NULL does nothing. Cost: driver calls. */
CISTERN_API cistern_status_t cistern_pool_destroy(cistern_pool_t* pool, uint64_t* live_blocks) CISTERN_NOEXCEPT;
/* The number of live blocks now. Cheap. */
CISTERN_API cistern_status_t cistern_pool_live_blocks(cistern_pool_t* pool, uint64_t* live_blocks) CISTERN_NOEXCEPT;

/* ---- Allocation ---------------------------------------------------------------------------------------------------
 */

#define CISTERN_TEXT_BYTES 256 /* room for a tag or a name, its NUL included */

enum { /* lifetime: how long the block is likely to live; a hint */
       CISTERN_LIFETIME_TRANSIENT = 0,
       CISTERN_LIFETIME_PERSISTENT = 1,
       CISTERN_LIFETIME_WEIGHTS = 2
};
enum {                                 /* flags of an allocation */
       CISTERN_ALLOCATION_PINNED = 1,  /* the block's place and its pages never change while it lives */
       CISTERN_ALLOCATION_MOVABLE = 2, /* seen only: the block belongs to a handle, see movable.h */
       CISTERN_ALLOCATION_ELASTIC = 4  /* seen only: the part of an elastic buffer that has memory, see elastic.h */
};

typedef struct cistern_allocation {
  uint32_t struct_size;
  uint32_t flags;
  uint64_t bytes;     /* at least 1 */
  uint64_t alignment; /* power of two up to 1 GiB; 0: 512, or what the device asks */
  const char* tag;    /* what the memory is for, in reports: "weights". Tags are kept for ever, use few; NULL: none */
  const char* name;   /* unique among the pool's live blocks, see cistern_find(); NULL: none */
  uint32_t lifetime;
  uint32_t reserved[3]; /* 0 */
} cistern_allocation_t;

/* Allocates `bytes` (at least 1), aligned to 512 or what the device asks. The memory is not cleared.
 * Errors: OUT_OF_MEMORY (the device has no more), LIMIT_EXCEEDED (the pool's limit); the text says where the memory is
 * and what would help. Cost: cheap when a hole fits, else driver calls. */
CISTERN_API cistern_status_t cistern_allocate(cistern_pool_t* pool, uint64_t bytes,
                                              cistern_address_t* address) CISTERN_NOEXCEPT;
/* The same with attributes. A tag costs a look-up under the pool's lock. A name that is taken is INVALID_ARGUMENT. */
CISTERN_API cistern_status_t cistern_allocate_with(cistern_pool_t* pool, const cistern_allocation_t* allocation,
                                                   cistern_address_t* address) CISTERN_NOEXCEPT;
/* Frees a block by the address that cistern_allocate() gave; 0 does nothing. Work of the device on it must be complete.
 * Errors: DOUBLE_FREE (in free memory of this pool), INVALID_ARGUMENT (the inside of a live block; the text says
 * which), WRONG_CONTEXT (of another pool of this device; the text says which), NOT_FOUND (no memory of either). Cheap,
 * except for a block of its own driver allocation. */
CISTERN_API cistern_status_t cistern_free(cistern_pool_t* pool, cistern_address_t address) CISTERN_NOEXCEPT;
/* Frees a block by its name. Errors: NOT_FOUND. */
CISTERN_API cistern_status_t cistern_free_named(cistern_pool_t* pool, const char* name) CISTERN_NOEXCEPT;

typedef struct cistern_block_info {
  uint32_t struct_size;
  uint32_t flags;
  cistern_address_t address; /* where the block begins */
  uint64_t requested_bytes;
  uint64_t granted_bytes; /* rounded up */
  char tag[CISTERN_TEXT_BYTES];
  char name[CISTERN_TEXT_BYTES];
} cistern_block_info_t;

/* The live block of that name. Errors: NOT_FOUND. Cheap. */
CISTERN_API cistern_status_t cistern_find(cistern_pool_t* pool, const char* name,
                                          cistern_block_info_t* info) CISTERN_NOEXCEPT;
/* The live block that contains `address`, its beginning or not. Errors: NOT_FOUND. Cheap. */
CISTERN_API cistern_status_t cistern_describe(cistern_pool_t* pool, cistern_address_t address,
                                              cistern_block_info_t* info) CISTERN_NOEXCEPT;

/* ---- Allocation in the order of streams ----------------------------------------------------------------------------
 */

/* What a stream frees is there for its own next requests at once, for everybody else when the work that it had then is
 * complete; a slow stream holds back its own memory only. The pool needs no event while a single stream uses it, and
 * after that a few for each stream, however many blocks there are. Up to 15 streams can have memory pending at a time.
 */

/* Allocates memory for work of `stream`, which may still be busy with what it freed before. Errors and cost: as
 * cistern_allocate(); at the limit the oldest work on freed memory is waited for. */
CISTERN_API cistern_status_t cistern_allocate_async(cistern_pool_t* pool, uint64_t bytes, cistern_stream_t stream,
                                                    cistern_address_t* address) CISTERN_NOEXCEPT;
/* Frees a block in the order of `stream`: work submitted to it before may go on using the block, work submitted later
 * must not. 0 does nothing. Errors: as cistern_free(). Cheap; waits for the stream only when 15 others have memory
 * pending. */
CISTERN_API cistern_status_t cistern_free_async(cistern_pool_t* pool, cistern_address_t address,
                                                cistern_stream_t stream) CISTERN_NOEXCEPT;
/* Work of `stream`, too, uses the live block that begins at `address`: however the block is freed, what was submitted
 * to that stream until then must be complete before others get the memory. Once for a block and stream is enough.
 * Errors: NOT_FOUND; BUSY when 15 other streams have memory pending: wait for the stream before the block is freed.
 * Cheap. */
CISTERN_API cistern_status_t cistern_record_use(cistern_pool_t* pool, cistern_address_t address,
                                                cistern_stream_t stream) CISTERN_NOEXCEPT;
/* To be called, for every pool that the stream has used, before it is destroyed: a driver may give its handle to
 * another stream. What it freed becomes ready when its work is complete. Errors: DEVICE_ERROR: neither an event nor a
 * wait was possible; that memory stays pending until the whole device could be waited for. Cost: a driver call. */
CISTERN_API cistern_status_t cistern_forget_stream(cistern_pool_t* pool, cistern_stream_t stream) CISTERN_NOEXCEPT;

/* Keeps the pages of a range where they are, blocks live or not, until the same range is unregistered as many times:
 * for memory that other devices reach by its physical place (RDMA, IPC). The range must lie within one arena.
 * Errors: unregister: NOT_FOUND. Cheap. */
CISTERN_API cistern_status_t cistern_register_range(cistern_pool_t* pool, cistern_address_t address,
                                                    uint64_t bytes) CISTERN_NOEXCEPT;
CISTERN_API cistern_status_t cistern_unregister_range(cistern_pool_t* pool, cistern_address_t address,
                                                      uint64_t bytes) CISTERN_NOEXCEPT;

/* Gives free memory back to the device until at most `keep_bytes` stay reserved, or nothing more can go. The bytes
 * given back go to `returned_bytes` (may be NULL). Errors: DEVICE_ERROR, when nothing could be given back. Cost: driver
 * calls. */
CISTERN_API cistern_status_t cistern_trim(cistern_pool_t* pool, uint64_t keep_bytes,
                                          uint64_t* returned_bytes) CISTERN_NOEXCEPT;

/* ---- Contents -----------------------------------------------------------------------------------------------------
 */

/* These four take a range within one live block (else NOT_FOUND, or INVALID_ARGUMENT when it passes the block's end),
 * which must stay live until they return. 0 bytes do nothing. Copies are complete on return.
 * Errors: UNSUPPORTED (a device without contents), DEVICE_ERROR. Cost: that of the copy. */

/* A host pointer to the same memory, valid while the block lives. On a simulated device it is another address than the
 * block's. Errors: UNSUPPORTED (the host cannot see this device's memory). Cheap. */
CISTERN_API cistern_status_t cistern_host_pointer(cistern_pool_t* pool, cistern_address_t address, uint64_t bytes,
                                                  void** pointer) CISTERN_NOEXCEPT;
CISTERN_API cistern_status_t cistern_copy_to_device(cistern_pool_t* pool, cistern_address_t to, const void* from,
                                                    uint64_t bytes) CISTERN_NOEXCEPT;
CISTERN_API cistern_status_t cistern_copy_from_device(cistern_pool_t* pool, void* to, cistern_address_t from,
                                                      uint64_t bytes) CISTERN_NOEXCEPT;
CISTERN_API cistern_status_t cistern_fill(cistern_pool_t* pool, cistern_address_t address, uint8_t value,
                                          uint64_t bytes) CISTERN_NOEXCEPT;

/* ---- Looking into a pool ------------------------------------------------------------------------------------------
 */

/* reserved = allocated + cached + awaiting_free + free + moving; allocated >= requested. peak_*: highest values since
 * creation or cistern_reset_peaks(). Flat, without pointers: it may be copied and sent. */
typedef struct cistern_ledger {
  uint32_t struct_size;
  uint32_t version; /* 1 */

  uint64_t reserved_bytes;      /* memory of the device that the pool holds */
  uint64_t allocated_bytes;     /* live blocks, rounded sizes */
  uint64_t requested_bytes;     /* live blocks, as asked for */
  uint64_t cached_bytes;        /* kept for the thread that freed them */
  uint64_t awaiting_free_bytes; /* freed, but work of the device on them is not complete */
  uint64_t free_bytes;          /* holes, ready to serve */
  uint64_t moving_bytes;        /* holes whose pages are under way */

  uint64_t peak_reserved_bytes;
  uint64_t peak_allocated_bytes;
  uint64_t peak_requested_bytes;

  uint64_t limit_bytes;
  uint64_t largest_free_bytes; /* the largest hole */
  uint64_t live_blocks;
  uint64_t free_blocks;

  uint64_t allocations; /* served since creation */
  uint64_t frees;
  uint64_t failed_allocations; /* for want of memory */
  uint64_t misses;             /* allocations that no hole could hold at first */
  uint64_t growths;            /* times memory was taken from the device */
  uint64_t trims;              /* times memory was given back */
  uint64_t stitches;           /* times pages of holes were put together for a request */
  uint64_t stitched_pages;     /* pages that moved in these */

  uint64_t compactions;       /* times memory was moved with no request in need */
  uint64_t compacted_bytes;   /* remapped and copied in these */
  uint64_t longest_repair_ns; /* the longest that a request waited for its own stitch */
  uint64_t longest_hold_ns;   /* the longest that others can have waited at once for compaction */
  double exposure;         /* share of the last 256 request sizes that free memory could hold in sum, but no hole can */
  uint64_t movable_blocks; /* live blocks of movable handles */
  uint64_t movable_bytes;
  uint64_t pinned_bytes; /* of these, in pinned blocks */
  uint64_t moves;        /* times a movable block was copied elsewhere to make room */
  uint64_t moved_bytes;
  uint64_t void_moves; /* copies given up because the block was pinned or freed meanwhile */
  uint64_t overruns;   /* blocks that somebody wrote past the end of, as their red zones tell */
} cistern_ledger_t;

/* A consistent copy. Cheap. */
CISTERN_API cistern_status_t cistern_get_ledger(cistern_pool_t* pool, cistern_ledger_t* ledger) CISTERN_NOEXCEPT;
/* The peaks become the present values. Cheap. */
CISTERN_API cistern_status_t cistern_reset_peaks(cistern_pool_t* pool) CISTERN_NOEXCEPT;
/* The three numbers of a pool's status: total = reserved, used = what is not free to serve, free; used + free = total.
 * Any pointer may be NULL. Cheap. */
CISTERN_API cistern_status_t cistern_get_mem_pool_info(cistern_pool_t* pool, uint64_t* total_bytes,
                                                       uint64_t* used_bytes, uint64_t* free_bytes) CISTERN_NOEXCEPT;

/* The whole structure of the pool as JSON. `needed` receives the bytes that the text takes with its NUL. With `buffer`
 * NULL and `capacity` 0 that is all. A buffer that is too small is INVALID_ARGUMENT and gets no text ("" when it has
 * room for the NUL); `needed` is set all the same. The pool may change between two calls: ask again.
 * Cost: linear in the number of blocks; the pool's other users wait while the structure is copied, not while it is
 * written as text. */
CISTERN_API cistern_status_t cistern_snapshot_json(cistern_pool_t* pool, char* buffer, size_t capacity,
                                                   size_t* needed) CISTERN_NOEXCEPT;

/* ---- Log ----------------------------------------------------------------------------------------------------------
 */

enum { /* AscendCL's numbers */
       CISTERN_LOG_DEBUG = 0,
       CISTERN_LOG_INFO = 1,
       CISTERN_LOG_WARNING = 2, /* at start */
       CISTERN_LOG_ERROR = 3,
       CISTERN_LOG_NONE = 4
};

/* `room` is the part of the library that speaks: "pool", "device". Neither text is valid after the return. The callback
 * may run in any thread that calls the library, one at a time; it must not throw, and functions of this library that
 * return a status are CISTERN_BUSY inside it. */
typedef void (*cistern_log_callback_t)(int32_t level, const char* room, const char* text, void* user);

/* Writes `text` (at most CISTERN_TEXT_BYTES - 1 bytes) into the process's trace, between the events before and after:
 * "request 17 begins". Readers show it, and `cistern leaks --between` asks what was allocated between two of them. Does
 * nothing where nothing is recorded, or before the first pool was created. Thread-safe; takes a lock, and texts are
 * kept until the end: few different ones. Errors: INVALID_ARGUMENT (NULL, empty or too long). */
CISTERN_API cistern_status_t cistern_trace_mark(const char* text) CISTERN_NOEXCEPT;

/* What is logged, in the whole process. Cheap. */
CISTERN_API cistern_status_t cistern_set_log_level(int32_t level) CISTERN_NOEXCEPT;
/* Where log lines go, in the whole process; NULL: stderr, as at start. After the return nobody is inside the callback
 * that was there before, so that its `user` may be destroyed. */
CISTERN_API cistern_status_t cistern_set_log_callback(cistern_log_callback_t callback, void* user) CISTERN_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#include "cistern/compaction.h"
#include "cistern/contexts.h"
#include "cistern/elastic.h"
#include "cistern/movable.h"
#include "cistern/pressure.h"

#endif /* CISTERN_CISTERN_H */
