#ifndef REEF_CLONES_H
#define REEF_CLONES_H

#include <stdint.h>
#include <string.h>

// One binary, three instruction sets, picked when the program is loaded. That needs IFUNC, which musl lacks and which
// runs before ThreadSanitizer is ready.
#if defined(__x86_64__) && defined(__GLIBC__) && !defined(__SANITIZE_THREAD__)
#if defined(__has_feature)
#if !__has_feature(thread_sanitizer)
#define REEF_HAS_CLONES 1
#endif
#else
#define REEF_HAS_CLONES 1
#endif
#endif

#ifdef REEF_HAS_CLONES
#define REEF_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define REEF_CLONES
#endif

#define REEF_INLINE static inline __attribute__((always_inline))

#endif
