// Linked into every binary and test; says something only under thread sanitizer. Foreign libraries
// that were not built with it, each with its reason.

#if defined(CAIRN_THREAD_SANITIZER)
extern "C" const char* __tsan_default_suppressions();

extern "C" const char* __tsan_default_suppressions() {
  return
      // Their locks are Abseil's, which this package's thread sanitizer does not see.
      "race:libgrpc\n"
      "race:libgpr\n"
      "race:libabsl\n"
      // Its barriers are futexes of its own.
      "race:libgomp\n";
}
#endif
