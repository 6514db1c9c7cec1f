// The headers as C++11, with every warning and with the library's older ABI of strings: layouts, values, and a call.
#include "layouts.h"

#include <string>

int main() {
  if (aclrtFree(nullptr) != ACL_ERROR_UNINITIALIZE) return 1;  // before aclInit()
  if (std::string(aclGetRecentErrMsg()).find("aclInit() was not called") == std::string::npos) return 2;
  return count_wrong_codes();
}
