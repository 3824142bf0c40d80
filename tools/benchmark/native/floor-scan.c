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

/* One pass counts all eight bytes, then one pass moves pairs for each byte that differs among the keys. */
void bench_radix_sort(bench_pair *pairs, bench_pair *scratch, int64_t count) {
  static uint32_t counts[8][256];
  bench_pair *from = pairs, *to = scratch;
  memset(counts, 0, sizeof counts);
  for (int64_t i = 0; i < count; i++) {
    for (int b = 0; b < 8; b++) counts[b][pairs[i].key >> (8 * b) & 255]++;
  }
  for (int b = 0; b < 8; b++) {
    uint32_t start = 0, *places = counts[b];
    if (count && places[pairs[0].key >> (8 * b) & 255] == count) continue;
    for (int v = 0; v < 256; v++) {
      uint32_t size = places[v];
      places[v] = start, start += size;
    }
    for (int64_t i = 0; i < count; i++) to[places[from[i].key >> (8 * b) & 255]++] = from[i];
    bench_pair *other = from;
    from = to, to = other;
  }
  if (from != pairs) memcpy(pairs, from, (size_t)count * sizeof *pairs);
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
