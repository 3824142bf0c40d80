/* What the benchmark driver needs in C: the data of docs/measuring.md, the clock, the floor programs, and the peers, each
 * used as its own documentation says it is fastest. Peers are written in C so that no Swift cost is charged to them. */
#ifndef REEF_BENCH_H
#define REEF_BENCH_H

#include <stddef.h>
#include <stdint.h>
#include <time.h>

/* ---- data and clock (common.c) ---- */

static inline uint64_t bench_mix(uint64_t x) { /* splitmix64 */
  x += 0x9E3779B97F4A7C15ull;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
  return x ^ (x >> 31);
}

static inline uint64_t bench_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

/* n objects of class Item, by column; `order` is the order of insertion. */
typedef struct {
  int64_t n;
  int64_t *id;
  char *name; /* 16 bytes each */
  double *score;
  int64_t *qty;
  uint8_t *flag;
  int64_t *order;
} bench_items;

typedef enum { BENCH_KEY_DENSE = 0, BENCH_KEY_SPARSE = 1, BENCH_KEY_STRING = 2 } bench_key;

bench_items bench_make_items(int64_t n, bench_key key, int shuffled);
void bench_free_items(bench_items *items);
void bench_hex(uint64_t value, char *out16);
/* Sorts the samples. */
double bench_median(uint64_t *samples, int64_t count);
/* The cost in ns of reading the clock twice, to be taken off where single short calls are timed. */
double bench_clock_cost(void);
/* Pins the calling process to the index-th CPU it may use; a negative index allows all again. */
void bench_pin(int index);
int bench_cpu_count(void);
int bench_is_tmpfs(const char *path);
uint64_t bench_disk_usage(const char *path);
int64_t bench_page_faults(void); /* of this process, so far */
void bench_spin(uint64_t nanoseconds);
/* Blocks until the descriptor, an epoll, has something to tell, and takes it. */
void bench_await_descriptor(int descriptor);
int64_t bench_milli_sleep(int64_t milliseconds);

/* ---- floors (floor.c) ---- */

double bench_floor_insert(const bench_items *items, const char *path); /* columns copied into a fresh tmpfs file, ns */
uint64_t bench_floor_scan(const bench_items *items);
uint64_t bench_floor_lookup(const bench_items *items, int64_t count);
uint64_t bench_floor_filter(const bench_items *items); /* two unpacked columns, branch-free: vectorised */
uint64_t bench_floor_equal(const bench_items *items, const char *name16);
uint64_t bench_floor_contains(const bench_items *items, const char *part5);
int64_t bench_floor_sum(const bench_items *items);
double bench_floor_average(const bench_items *items);
/* 10⁶ pairs of (score, index) made and put in order by radix; ids of the first `limit` into `ids` (room for n). */
void bench_floor_sort(const bench_items *items, int64_t limit, int64_t *ids);
/* Sorts pairs by key, least significant byte first, skipping bytes that all keys share. `scratch` has room for as many. */
typedef struct {
  uint64_t key;
  int64_t value;
} bench_pair;
void bench_radix_sort(bench_pair *pairs, bench_pair *scratch, int64_t count);
/* Keeps the `limit` least pairs of those offered; in order after bench_least_finish. */
typedef struct {
  bench_pair *pairs;
  int64_t count, limit;
} bench_least;
void bench_least_offer(bench_least *least, bench_pair pair);
void bench_least_finish(bench_least *least);
/* An unsigned number in the order of the double. */
static inline uint64_t bench_order_of(double value) {
  int64_t bits;
  __builtin_memcpy(&bits, &value, sizeof bits);
  return (uint64_t)bits ^ (bits < 0 ? ~0ull : 1ull << 63);
}
/* One 4 KiB block of a pre-written file overwritten and made durable, `count` times: pwrite and fdatasync, or (dsync) one
 * pwritev2 with RWF_DSYNC. ns of each into `each`. 0 or -errno. */
int bench_floor_durable(const char *path, int dsync, int64_t count, uint64_t *each);

/* A word and a stamp in a shared file, with a FIFO beside it. */
typedef struct bench_bell bench_bell;
typedef enum { BENCH_FUTEX = 0, BENCH_FIFO = 1, BENCH_SPIN = 2 } bench_way;
bench_bell *bench_bell_open(const char *path);
void bench_bell_close(bench_bell *bell);
void bench_bell_ring(bench_bell *bell, bench_way way, size_t payload); /* stores the clock, wakes */
/* Blocks until the word differs from *seen; returns the ns since the stamp was stored. */
uint64_t bench_bell_wait(bench_bell *bell, bench_way way, uint32_t *seen, size_t payload);

/* ---- LMDB (lmdb.c) and SQLite (sqlite.c): the same calls; they end the process with a message on any error ---- */

typedef enum {
  BENCH_MEMORY = 0,  /* no sync at all */
  BENCH_RELAXED = 1, /* synced in the background */
  BENCH_FULL = 2     /* each commit synced */
} bench_durability;

typedef struct {
  const char *path;
  bench_durability durability;
  bench_key key;
  int writemap; /* LMDB only: MDB_WRITEMAP */
  int indexed;  /* with a secondary index on `name` */
  int fresh;
} bench_request;

typedef struct {
  void *(*open)(const bench_request *request);
  void (*close)(void *store);
  double (*insert)(void *store, const bench_items *items, int append); /* ns in all */
  uint64_t (*scan)(void *store);
  uint64_t (*lookup)(void *store, int64_t n, int64_t count);
  uint64_t (*filter)(void *store);
  uint64_t (*equal)(void *store, const char *name16);             /* count(name == …), no index */
  uint64_t (*contains)(void *store, const char *part5);           /* count(name contains …) */
  uint64_t (*find_name)(void *store, int64_t n, int64_t count);   /* by index: sum of qty of `count` random names */
  void (*sorted)(void *store, int64_t limit, int64_t *ids);       /* ids of the first `limit` by score */
  int64_t (*sum)(void *store);                                    /* of qty */
  double (*average)(void *store);                                 /* of score */
  void (*commits)(void *store, int64_t n, uint64_t from, uint64_t count, uint64_t *each); /* each: ns, may be NULL */
  void (*background_sync)(void *store);
  double (*open_close)(void *store, int64_t count); /* ns in all */
  /* ns of each into `each`, the clock's cost included */
  void (*advance)(void *store, int64_t n, int64_t count, uint64_t *each);
  uint64_t (*reads)(void *store, int64_t n, uint64_t from, uint64_t snapshots); /* 100 reads in each snapshot */
  void *(*pin)(void *store);
  void (*unpin)(void *store, void *pin);
  uint64_t (*compacted)(void *store, const char *copy); /* bytes on disk once compacted */
} bench_peer;

extern const bench_peer bench_lmdb;
extern const bench_peer bench_sqlite;

/* ---- the loops that both peers share: inlined, so that no call through a pointer is on the clock ---- */

typedef void (*bench_step)(void *store, int64_t n, uint64_t k);

/* Steps k = from ..< from + count; ns of each into `each`, where that is given. */
static inline __attribute__((always_inline)) void bench_each(bench_step step, void *store, int64_t n, uint64_t from,
                                                             uint64_t count, uint64_t *each) {
  if (!each) {
    for (uint64_t k = from; k < from + count; k++) step(store, n, k);
    return;
  }
  for (uint64_t k = from; k < from + count; k++) {
    uint64_t t = bench_now();
    step(store, n, k);
    each[k - from] = bench_now() - t;
  }
}

/* Steps with something done before each, off the clock. */
static inline __attribute__((always_inline)) void bench_each_after(bench_step before, void *writer, bench_step step,
                                                                   void *store, int64_t n, uint64_t count,
                                                                   uint64_t *each) {
  for (uint64_t k = 0; k < count; k++) {
    before(writer, n, k);
    uint64_t t = bench_now();
    step(store, n, k);
    each[k] = bench_now() - t;
  }
}

/* ns of `count` steps together. */
static inline __attribute__((always_inline)) double bench_all(bench_step step, void *store, int64_t n, uint64_t count) {
  uint64_t start = bench_now();
  bench_each(step, store, n, 0, count, NULL);
  return (double)(bench_now() - start);
}
#endif
