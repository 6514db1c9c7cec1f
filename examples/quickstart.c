/* quickstart.c: a pool on the host's memory: allocate, use, look, give back. C11. */
#include <cistern/cistern.h>
#include <stdio.h>
#include <string.h>

static int fail(const char* what) {
  fprintf(stderr, "%s failed: %s\n", what, cistern_last_error_text());
  return 1;
}

static int use(cistern_pool_t* pool) {
  /* Anonymous memory, and a block with a tag and a name. */
  cistern_address_t scratch = 0;
  if (cistern_allocate(pool, 1000, &scratch) != CISTERN_OK) return fail("allocate");

  cistern_allocation_t wanted = {.struct_size = sizeof wanted, .bytes = 1 << 20, .tag = "weights", .name = "conv1"};
  cistern_address_t weights = 0;
  if (cistern_allocate_with(pool, &wanted, &weights) != CISTERN_OK) return fail("allocate_with");

  /* Addresses are the device's; data goes in and out by copies, whatever the device. */
  char text[] = "water";
  if (cistern_copy_to_device(pool, weights, text, sizeof text) != CISTERN_OK) return fail("copy_to_device");
  memset(text, 0, sizeof text);
  if (cistern_copy_from_device(pool, text, weights, sizeof text) != CISTERN_OK) return fail("copy_from_device");
  printf("read back: %s\n", text);

  cistern_block_info_t info = {.struct_size = sizeof info};
  if (cistern_find(pool, "conv1", &info) != CISTERN_OK) return fail("find");
  printf("conv1: %llu bytes, tag %s\n", (unsigned long long)info.requested_bytes, info.tag);

  /* Mistakes are told, not punished. */
  if (cistern_free(pool, scratch) != CISTERN_OK) return fail("free");
  cistern_status_t again = cistern_free(pool, scratch);
  printf("freed twice: %s\n", cistern_status_name(again));

  cistern_ledger_t ledger = {.struct_size = sizeof ledger};
  if (cistern_get_ledger(pool, &ledger) != CISTERN_OK) return fail("get_ledger");
  printf("live blocks: %llu, served so far: %llu\n", (unsigned long long)ledger.live_blocks,
         (unsigned long long)ledger.allocations);

  if (cistern_free_named(pool, "conv1") != CISTERN_OK) return fail("free_named");
  return 0;
}

int main(void) {
  cistern_device_t* device = NULL;
  if (cistern_device_open(NULL, &device) != CISTERN_OK) return fail("device_open");

  cistern_pool_options_t options = {.struct_size = sizeof options, .name = "quickstart", .limit_bytes = 64 << 20};
  cistern_pool_t* pool = NULL;
  if (cistern_pool_create(device, &options, &pool) != CISTERN_OK) return fail("pool_create");

  int result = use(pool);

  uint64_t forgotten = 0;
  cistern_pool_destroy(pool, &forgotten);
  cistern_device_close(device);
  printf("forgotten blocks: %llu\n", (unsigned long long)forgotten);
  return result;
}
