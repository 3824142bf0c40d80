#ifndef REEF_KEYS_H
#define REEF_KEYS_H

#include <stddef.h>
#include <stdint.h>

// Searching the keys of inner nodes and leaves. In C because the outcome of a comparison has to be declared
// unpredictable: a guessed branch is wrong every second time, and with it goes every fetch that was begun for the next
// lookup. Inlined into Swift; nothing here is called.

/// How many of `count` ascending bounds are not above `key`.
static inline __attribute__((always_inline)) size_t
reef_keys_upper(const int64_t *_Nonnull bounds, size_t count, int64_t key) {
  // Six halvings for 33 … 64 bounds, as most nodes have; the lines they may lie in are fetched first, all at once.
  const int64_t *at = bounds;
  if (count == 0) return 0;
  for (size_t line = 0; line < 64; line += 8) __builtin_prefetch(bounds + line);
  while (count > 1) {
    size_t half = count >> 1;
    at = __builtin_unpredictable(at[half - 1] <= key) ? at + half : at;
    count -= half;
  }
  return (size_t)(at - bounds) + (*at <= key ? 1 : 0);
}

/// How many of `count` ascending values are below `wanted`, for each width.
#define REEF_KEYS_LOWER(width)                                                                                         \
  static inline __attribute__((always_inline)) size_t                                                                  \
  reef_keys_lower##width(const void *_Nonnull values, size_t count, uint##width##_t wanted) {                          \
    const uint##width##_t *at = (const uint##width##_t *)values;                                                       \
    if (count == 0) return 0;                                                                                          \
    while (count > 1) {                                                                                                \
      size_t half = count >> 1;                                                                                        \
      at = __builtin_unpredictable(at[half - 1] < wanted) ? at + half : at;                                            \
      count -= half;                                                                                                   \
    }                                                                                                                  \
    return (size_t)(at - (const uint##width##_t *)values) + (*at < wanted ? 1 : 0);                                    \
  }
REEF_KEYS_LOWER(8)
REEF_KEYS_LOWER(16)
REEF_KEYS_LOWER(32)
REEF_KEYS_LOWER(64)
#undef REEF_KEYS_LOWER

#endif
