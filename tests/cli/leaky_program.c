/* leaky_program REQUESTS [balanced]: uses libcistern as a server would, and unless told otherwise forgets an entry of
 * its cache with every other request. Marks its trace half way ("warm") and at the end. */
#include <cistern/cistern.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static cistern_address_t checked(cistern_status_t status, cistern_address_t address) {
  if (status != CISTERN_OK) abort();
  return address;
}

/* Named in traces: nothing of it may be inlined or be a jump instead of a call. */
__attribute__((noinline)) cistern_address_t cache_entry(cistern_pool_t* pool) {
  cistern_allocation_t wanted = {.struct_size = sizeof wanted, .bytes = 3000, .tag = "cache"};
  cistern_address_t address = 0;
  cistern_status_t status = cistern_allocate_with(pool, &wanted, &address);
  return checked(status, address);
}

__attribute__((noinline)) cistern_address_t request_buffer(cistern_pool_t* pool) {
  cistern_address_t address = 0;
  cistern_status_t status = cistern_allocate(pool, 100000, &address);
  return checked(status, address);
}

int main(int argc, char** argv) {
  const long requests = argc > 1 ? strtol(argv[1], NULL, 10) : 200;
  const int balanced = argc > 2 && strcmp(argv[2], "balanced") == 0;
  cistern_device_t* device = NULL;
  cistern_pool_t* pool = NULL;
  cistern_pool_options_t options = {.struct_size = sizeof options, .name = "server", .limit_bytes = 64 << 20};
  if (cistern_device_open(NULL, &device) != CISTERN_OK) return 2;
  if (cistern_pool_create(device, &options, &pool) != CISTERN_OK) return 2;
  for (long i = 0; i < requests; ++i) {
    if (i == requests / 2 && cistern_trace_mark("warm") != CISTERN_OK) return 2;
    cistern_address_t buffer = request_buffer(pool);
    cistern_address_t entry = i % 2 == 0 ? cache_entry(pool) : 0;
    if (balanced && cistern_free(pool, entry) != CISTERN_OK) return 2;
    if (cistern_free(pool, buffer) != CISTERN_OK) return 2;
  }
  if (cistern_trace_mark("all allocated") != CISTERN_OK) return 2;
  return 0; /* the pool is left to the end of the process */
}
