/* One portable binary: hot functions are compiled for several processors and chosen when the program is loaded. */
#pragma once
/* Sanitizers start after the loader's choice, so they get the plain version only. */
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__)
#define ASHLAR_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define ASHLAR_CLONES
#endif
#define ASHLAR_INLINE static inline __attribute__((always_inline))
