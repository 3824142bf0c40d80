/* The bare loops over flat columns that bound W4, W5 and W6. */
#include "bench.h"

#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
#define WIDE __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define WIDE
#endif

WIDE uint64_t bench_floor_filter(const bench_items *items) {
  const int64_t *q = items->qty;
  const double *s = items->score;
  uint64_t found = 0;
  for (int64_t i = 0; i < items->n; i++) found += (q[i] >= 250) & (q[i] <= 499) & (s[i] > 500.0);
  return found;
}

WIDE uint64_t bench_floor_equal(const bench_items *items, const char *name16) {
  uint64_t want[2], found = 0;
  memcpy(want, name16, 16);
  for (int64_t i = 0; i < items->n; i++) {
    uint64_t have[2];
    memcpy(have, items->name + i * 16, 16);
    found += ((have[0] ^ want[0]) | (have[1] ^ want[1])) == 0;
  }
  return found;
}

/* Every place of every name is looked at, four characters at a time. */
WIDE uint64_t bench_floor_contains(const bench_items *items, const char *part5) {
  uint32_t head;
  uint64_t found = 0;
  memcpy(&head, part5, 4);
  for (int64_t i = 0; i < items->n; i++) {
    const char *name = items->name + i * 16;
    unsigned hit = 0;
    for (int j = 0; j < 12; j++) {
      uint32_t four;
      memcpy(&four, name + j, 4);
      hit |= (unsigned)(four == head) & (unsigned)(name[j + 4] == part5[4]);
    }
    found += hit;
  }
  return found;
}

WIDE int64_t bench_floor_sum(const bench_items *items) {
  int64_t sum = 0;
  for (int64_t i = 0; i < items->n; i++) sum += items->qty[i];
  return sum;
}

/* Eight sums side by side: one alone would wait for its own last addition. */
WIDE double bench_floor_average(const bench_items *items) {
  double sums[8] = {0}, sum = 0;
  int64_t i = 0;
  for (; i + 8 <= items->n; i += 8) {
    for (int j = 0; j < 8; j++) sums[j] += items->score[i + j];
  }
  for (; i < items->n; i++) sum += items->score[i];
  for (int j = 0; j < 8; j++) sum += sums[j];
  return sum / (double)items->n;
}

/* Pairs of a bucket that is in the cache. */
static void insertion_sort(bench_pair *pairs, int64_t count) {
  for (int64_t i = 1; i < count; i++) {
    bench_pair x = pairs[i];
    int64_t j = i;
    for (; j > 0 && pairs[j - 1].key > x.key; j--) pairs[j] = pairs[j - 1];
    pairs[j] = x;
  }
}

/* Most significant bits first: one scatter over the whole into buckets that fit the cache, then each bucket by itself. The
 * textbook's eight passes over all pairs take half as long again. The result is in `to`. */
enum { radix_limit = 1 << 12 };
static void radix(bench_pair *from, bench_pair *to, int64_t count, int bits) {
  uint32_t ends[radix_limit] = {0}, start = 0;
  uint64_t least = ~0ull, most = 0;
  for (int64_t i = 0; i < count; i++) {
    uint64_t key = from[i].key;
    if (key < least) least = key;
    if (key > most) most = key;
  }
  int shift = 0;
  while ((most - least) >> shift >> bits) shift++;
  for (int64_t i = 0; i < count; i++) ends[(from[i].key - least) >> shift]++;
  for (int v = 0; v < 1 << bits; v++) {
    uint32_t size = ends[v];
    ends[v] = start, start += size;
  }
  for (int64_t i = 0; i < count; i++) to[ends[(from[i].key - least) >> shift]++] = from[i];
  if (!shift) return;
  start = 0;
  for (int v = 0; v < 1 << bits; v++) {
    int64_t size = ends[v] - start;
    if (size > 32) {
      radix(to + start, from + start, size, size > 4096 ? 10 : 8);
      memcpy(to + start, from + start, (size_t)size * sizeof *to);
    } else if (size > 1) {
      insertion_sort(to + start, size);
    }
    start = ends[v];
  }
}

void bench_radix_sort(bench_pair *pairs, bench_pair *scratch, int64_t count) {
  if (count < 2) return;
  memcpy(scratch, pairs, (size_t)count * sizeof *pairs);
  radix(scratch, pairs, count, count > 100000 ? 12 : 8);
}

static int by_key(const void *a, const void *b) {
  const bench_pair *x = a, *y = b;
  return x->key != y->key ? (x->key < y->key ? -1 : 1) : x->value < y->value ? -1 : x->value > y->value;
}

/* A heap with the greatest of the kept pairs on top. */
void bench_least_offer(bench_least *least, bench_pair pair) {
  bench_pair *heap = least->pairs;
  int64_t at;
  if (least->count < least->limit) {
    at = least->count++;
    while (at > 0 && heap[(at - 1) / 2].key < pair.key) heap[at] = heap[(at - 1) / 2], at = (at - 1) / 2;
    heap[at] = pair;
    return;
  }
  if (!least->limit || heap[0].key <= pair.key) return;
  for (at = 0;;) {
    int64_t child = 2 * at + 1;
    if (child >= least->count) break;
    if (child + 1 < least->count && heap[child + 1].key > heap[child].key) child++;
    if (heap[child].key <= pair.key) break;
    heap[at] = heap[child], at = child;
  }
  heap[at] = pair;
}

void bench_least_finish(bench_least *least) {
  qsort(least->pairs, (size_t)least->count, sizeof *least->pairs, by_key);
}

void bench_floor_sort(const bench_items *items, int64_t limit, int64_t *ids) {
  if (limit < items->n) {
    bench_least least = {malloc((size_t)(limit + 1) * sizeof(bench_pair)), 0, limit};
    for (int64_t i = 0; i < items->n; i++) {
      bench_least_offer(&least, (bench_pair){bench_order_of(items->score[i]), i});
    }
    bench_least_finish(&least);
    for (int64_t i = 0; i < least.count; i++) ids[i] = items->id[least.pairs[i].value];
    free(least.pairs);
    return;
  }
  /* Kept between calls: what fresh pages cost is no part of a sort. */
  static bench_pair *pairs;
  static int64_t room;
  if (room < items->n) {
    free(pairs);
    room = items->n, pairs = malloc((size_t)room * 2 * sizeof *pairs);
  }
  for (int64_t i = 0; i < items->n; i++) pairs[i] = (bench_pair){bench_order_of(items->score[i]), i};
  bench_radix_sort(pairs, pairs + items->n, items->n);
  for (int64_t i = 0; i < items->n; i++) ids[i] = items->id[pairs[i].value];
}
