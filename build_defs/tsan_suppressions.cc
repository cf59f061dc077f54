// Suppressions for the thread sanitizer, linked into every binary and test. Each is for a library
// that was not built with it, and has its reason. Synchronization of the data plane through gRPC is
// annotated instead (cluster/grpc_tag.h), so that races on both sides are still found.

#if defined(CAIRN_THREAD_SANITIZER)
extern "C" const char* __tsan_default_options();
extern "C" const char* __tsan_default_suppressions();

// Ignores accesses to memory and descriptors within such a library.
extern "C" const char* __tsan_default_options() { return "ignore_noninstrumented_modules=1"; }

extern "C" const char* __tsan_default_suppressions() {
  return
      // They use Abseil's locks and inlined atomics, which the sanitizer does not see in these
      // packages. This covers their callbacks too.
      "race:libgrpc\n"
      "race:libgpr\n"
      "race:libabsl\n"
      // Its barriers use futexes directly.
      "race:libgomp\n";
}
#endif
