// What LeakSanitizer is told about the real runtime: it keeps a few hundred bytes of its own at the end of a program
// (926 in version 1.30.0). Memory that it takes from a source is counted by the tests themselves.
#if defined(__SANITIZE_ADDRESS__)
extern "C" __attribute__((visibility("default"))) const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() { return "leak:libonnxruntime.so"; }
#endif
