/* The headers as C11, with every warning: layouts, values, and a call. */
#include "layouts.h"

int main(void) {
  size_t total = 0;
  if (aclrtGetMemPoolInfo(&total, NULL, NULL) != ACL_ERROR_UNINITIALIZE) return 1; /* before aclInit() */
  return count_wrong_codes();
}
