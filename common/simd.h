#ifndef CAIRN_COMMON_SIMD_H_
#define CAIRN_COMMON_SIMD_H_

// CAIRN_SIMD before a function definition compiles the function for several instruction sets; the
// dynamic loader selects the best one that the CPU supports. Write plain loops that the compiler
// can vectorize. Sanitizers do not support this selection (it runs before they are initialized), so
// sanitizer builds contain only the portable version.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(CAIRN_THREAD_SANITIZER)
#define CAIRN_SIMD __attribute__((target_clones("avx512f", "avx2,fma", "default")))
#else
#define CAIRN_SIMD
#endif

#endif  // CAIRN_COMMON_SIMD_H_
