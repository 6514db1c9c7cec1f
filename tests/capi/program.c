/* The C interface as a C11 program sees it: every function of cistern.h is called through the shared library. */
#include <cistern/cistern.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures = 0;

static void check(int holds, const char* what, int line) {
  if (holds) return;
  ++failures;
  fprintf(stderr, "program.c:%d: %s; last error: %s\n", line, what, cistern_last_error_text());
}
#define CHECK(condition) check((condition) != 0, #condition, __LINE__)
#define CHECK_OK(call) check((call) == CISTERN_OK, #call, __LINE__)

static int lines_heard = 0;
static void hear(int32_t level, const char* room, const char* text, void* user) {
  if (level == CISTERN_LOG_WARNING && strcmp(room, "pool") == 0 && strlen(text) > 0) ++*(int*)user;
}

static void check_blocks(cistern_pool_t* pool) {
  cistern_allocation_t wanted = {.struct_size = sizeof wanted,
                                 .bytes = 3000,
                                 .alignment = 4096,
                                 .tag = "weights",
                                 .name = "conv1",
                                 .lifetime = CISTERN_LIFETIME_WEIGHTS,
                                 .flags = CISTERN_ALLOCATION_PINNED};
  cistern_address_t block = 0;
  CHECK_OK(cistern_allocate_with(pool, &wanted, &block));
  CHECK(block != 0 && block % 4096 == 0);

  cistern_block_info_t info = {.struct_size = sizeof info};
  CHECK_OK(cistern_find(pool, "conv1", &info));
  CHECK(info.address == block && info.requested_bytes == 3000 && info.granted_bytes == 3072);
  CHECK(info.flags == CISTERN_ALLOCATION_PINNED);
  CHECK(strcmp(info.tag, "weights") == 0 && strcmp(info.name, "conv1") == 0);
  memset(&info, 0, sizeof info);
  info.struct_size = sizeof info;
  CHECK_OK(cistern_describe(pool, block + 100, &info));
  CHECK(info.address == block);

  char bytes[3000];
  memset(bytes, 7, sizeof bytes);
  CHECK_OK(cistern_fill(pool, block, 1, 3000));
  CHECK_OK(cistern_copy_to_device(pool, block + 1, bytes, 2));
  memset(bytes, 0, sizeof bytes);
  CHECK_OK(cistern_copy_from_device(pool, bytes, block, 3000));
  CHECK(bytes[0] == 1 && bytes[1] == 7 && bytes[2] == 7 && bytes[3] == 1 && bytes[2999] == 1);
  void* pointer = NULL;
  CHECK_OK(cistern_host_pointer(pool, block, 3000, &pointer));
  CHECK(pointer != NULL && memcmp(pointer, bytes, 3000) == 0);

  CHECK_OK(cistern_register_range(pool, block, 3000));
  CHECK_OK(cistern_unregister_range(pool, block, 3000));
  CHECK_OK(cistern_free_named(pool, "conv1"));
  CHECK(cistern_find(pool, "conv1", &info) == CISTERN_NOT_FOUND);
}

static void check_looks(cistern_pool_t* pool) {
  cistern_address_t block = 0;
  CHECK_OK(cistern_allocate(pool, 1000, &block));
  cistern_ledger_t ledger = {.struct_size = sizeof ledger};
  CHECK_OK(cistern_get_ledger(pool, &ledger));
  CHECK(ledger.version == 1 && ledger.live_blocks == 1 && ledger.requested_bytes == 1000);
  CHECK(ledger.allocated_bytes == 1024 && ledger.allocations == 2 && ledger.frees == 1);
  CHECK(ledger.peak_requested_bytes == 3000);
  CHECK_OK(cistern_reset_peaks(pool));
  CHECK_OK(cistern_get_ledger(pool, &ledger));
  CHECK(ledger.peak_requested_bytes == 1000);

  uint64_t total = 0, used = 0, unused = 0;
  CHECK_OK(cistern_get_mem_pool_info(pool, &total, &used, &unused));
  CHECK(total == ledger.reserved_bytes && used == 1024 && used + unused == total);

  size_t needed = 0;
  CHECK_OK(cistern_snapshot_json(pool, NULL, 0, &needed));
  char* text = malloc(needed);
  CHECK(text != NULL && needed > 2);
  CHECK_OK(cistern_snapshot_json(pool, text, needed, &needed));
  CHECK(text != NULL && strlen(text) + 1 == needed && text[0] == '{' && text[needed - 2] == '}');
  free(text);

  CHECK_OK(cistern_free(pool, block));
  CHECK(cistern_free(pool, block) == CISTERN_DOUBLE_FREE);
  uint64_t returned = 0;
  CHECK_OK(cistern_trim(pool, 0, &returned));
  CHECK(returned == total);
  CHECK_OK(cistern_get_mem_pool_info(pool, &total, NULL, NULL));
  CHECK(total == 0);
}

static void check_errors(cistern_pool_t* pool) {
  cistern_address_t block = 77;
  cistern_clear_last_error();
  CHECK(strcmp(cistern_last_error_text(), "") == 0);
  CHECK(cistern_allocate(pool, 0, &block) == CISTERN_INVALID_ARGUMENT);
  CHECK(block == 77);
  cistern_error_t error = {.struct_size = sizeof error};
  CHECK_OK(cistern_get_last_error(&error));
  CHECK(error.status == CISTERN_INVALID_ARGUMENT && error.native_code == 0);
  CHECK(strstr(error.text, "cistern_allocate") != NULL && strcmp(error.text, cistern_last_error_text()) == 0);
  CHECK(strcmp(error.device_kind, "host") == 0 && error.device_ordinal == 0);
  CHECK(cistern_allocate(pool, (uint64_t)1 << 30, &block) == CISTERN_LIMIT_EXCEEDED);
  CHECK(strcmp(cistern_status_name(CISTERN_LIMIT_EXCEEDED), "limit_exceeded") == 0);
  CHECK(strcmp(cistern_status_name(12345), "unknown") == 0);
}

int main(void) {
  CHECK(cistern_version() == CISTERN_VERSION);
  CHECK(strcmp(cistern_version_string(), "0.1.0") == 0);
  CHECK_OK(cistern_set_log_level(CISTERN_LOG_WARNING));
  CHECK_OK(cistern_set_log_callback(&hear, &lines_heard));
  CHECK_OK(cistern_trace_mark("nothing is recorded"));
  CHECK(cistern_trace_mark(NULL) == CISTERN_INVALID_ARGUMENT);
  CHECK(cistern_trace_mark("") == CISTERN_INVALID_ARGUMENT);

  cistern_device_options_t device_options = {.struct_size = sizeof device_options, .kind = "host"};
  cistern_device_t* device = NULL;
  CHECK_OK(cistern_device_open(&device_options, &device));
  cistern_memory_info_t memory = {.struct_size = sizeof memory};
  CHECK_OK(cistern_device_memory(device, &memory));
  CHECK(memory.total_bytes > 0 && memory.free_bytes <= memory.total_bytes);

  cistern_pool_options_t options = {.struct_size = sizeof options};
  CHECK_OK(cistern_pool_options_init(&options));
  CHECK(options.round_bytes == 512 && options.policy == CISTERN_POLICY_BEST_FIT);
  CHECK_OK(cistern_pool_options_from_environment(&options));
  options.limit_bytes = 64 << 20;
  cistern_pool_t* pool = NULL;
  CHECK_OK(cistern_pool_create(device, &options, &pool));
  CHECK_OK(cistern_device_close(device)); /* the pool keeps the device */

  check_blocks(pool);
  check_looks(pool);
  check_errors(pool);

  cistern_address_t forgotten = 0;
  CHECK_OK(cistern_allocate(pool, 10, &forgotten));
  uint64_t live = 0;
  CHECK_OK(cistern_pool_live_blocks(pool, &live));
  CHECK(live == 1);
  live = 0;
  CHECK_OK(cistern_pool_destroy(pool, &live));
  CHECK(live == 1 && lines_heard == 1);
  CHECK_OK(cistern_set_log_callback(NULL, NULL));
  return failures == 0 ? 0 : 1;
}
