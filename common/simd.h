#ifndef CAIRN_COMMON_SIMD_H_
#define CAIRN_COMMON_SIMD_H_

// CAIRN_SIMD before a function's definition compiles it for several instruction sets; the loader
// picks the best that the machine has. Write plain loops inside: the compiler vectorises them.
// Sanitizers run before the loader's choice can work, so they get the portable version.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(CAIRN_THREAD_SANITIZER)
#define CAIRN_SIMD __attribute__((target_clones("avx512f", "avx2,fma", "default")))
#else
#define CAIRN_SIMD
#endif

#endif  // CAIRN_COMMON_SIMD_H_
