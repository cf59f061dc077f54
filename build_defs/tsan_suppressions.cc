// Linked into every binary and test; says something only under thread sanitizer. Foreign libraries
// that were not built with it, each with its reason. The data plane's hand-overs through gRPC are
// told to it (cluster/grpc_tag.h), so that both of their sides stay visible.

#if defined(CAIRN_THREAD_SANITIZER)
extern "C" const char* __tsan_default_options();
extern "C" const char* __tsan_default_suppressions();

// What such a library itself does with memory and descriptors is not looked at.
extern "C" const char* __tsan_default_options() { return "ignore_noninstrumented_modules=1"; }

extern "C" const char* __tsan_default_suppressions() {
  return
      // Their locks are Abseil's, which this package's thread sanitizer does not see, and atomics
      // compiled into them. Also whatever they call back.
      "race:libgrpc\n"
      "race:libgpr\n"
      "race:libabsl\n"
      // Its barriers are futexes of its own.
      "race:libgomp\n";
}
#endif
