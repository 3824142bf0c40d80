#ifndef REEF_INDEX_H
#define REEF_INDEX_H

#include <stddef.h>
#include <stdint.h>

// Searching the sorted heads of an index node. In C for two builtins that Swift lacks: the outcome of a comparison is
// declared unpredictable, so that it becomes a conditional move, and a node can be fetched as a whole, so that its
// cache misses overlap. Inlined into Swift; nothing here is called.

// A node has 40 to 127 keys. How many halvings that takes would be guessed wrong every other time, so that up to 128 it is
// always seven: those too many halve one to nothing and move nowhere (the word they look at is part of the node).

/// Position of the first of `count` heads that is not below `head`.
static inline __attribute__((always_inline)) size_t
reef_index_lower(const uint64_t *_Nonnull heads, size_t count, uint64_t head) {
  const uint64_t *at = heads;
  if (count == 0) return 0;
  for (; count > 128; count -= count >> 1) at = at[(count >> 1) - 1] < head ? at + (count >> 1) : at;
#pragma clang loop unroll(full)
  for (int step = 0; step < 7; step++) {
    size_t half = count >> 1;
    at = __builtin_unpredictable(at[(ptrdiff_t)half - 1] < head) ? at + half : at;
    count -= half;
  }
  return (size_t)(at - heads) + (*at < head ? 1 : 0);
}

/// Position of the first of `count` heads that is above `head`.
static inline __attribute__((always_inline)) size_t
reef_index_upper(const uint64_t *_Nonnull heads, size_t count, uint64_t head) {
  const uint64_t *at = heads;
  if (count == 0) return 0;
  for (; count > 128; count -= count >> 1) at = at[(count >> 1) - 1] <= head ? at + (count >> 1) : at;
#pragma clang loop unroll(full)
  for (int step = 0; step < 7; step++) {
    size_t half = count >> 1;
    at = __builtin_unpredictable(at[(ptrdiff_t)half - 1] <= head) ? at + half : at;
    count -= half;
  }
  return (size_t)(at - heads) + (*at <= head ? 1 : 0);
}

/// Asks for the cache lines of `length` bytes. Any address will do: a prefetch cannot fault.
static inline __attribute__((always_inline)) void
reef_index_prefetch(const void *_Nonnull address, size_t length) {
  for (size_t at = 0; at < length; at += 64) __builtin_prefetch((const char *)address + at);
}

#endif
