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
void bench_spin(uint64_t nanoseconds);
/* Blocks until the descriptor, an epoll, has something to tell, and takes it. */
void bench_await_descriptor(int descriptor);
int64_t bench_milli_sleep(int64_t milliseconds);

/* ---- floors (floor.c) ---- */

double bench_floor_insert(const bench_items *items, const char *path); /* columns copied into a fresh tmpfs file, ns */
uint64_t bench_floor_scan(const bench_items *items);
uint64_t bench_floor_lookup(const bench_items *items, int64_t count);
uint64_t bench_floor_filter(const bench_items *items);
/* One overwritten block and its synchronous write, `count` times; ns of each into `each`. 0 or -errno. */
int bench_floor_durable(const char *path, int64_t count, uint64_t *each);

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
  void *(*open)(const char *path, bench_durability durability, bench_key key, int option, int fresh);
  void (*close)(void *store);
  double (*insert)(void *store, const bench_items *items, int append); /* ns in all */
  uint64_t (*scan)(void *store);
  uint64_t (*lookup)(void *store, int64_t n, int64_t count);
  uint64_t (*filter)(void *store);
  void (*commits)(void *store, int64_t n, uint64_t from, uint64_t count, uint64_t *each); /* each: ns, may be NULL */
  void (*background_sync)(void *store);
  double (*open_close)(void *store, int64_t count);                               /* ns in all */
  /* ns of each into `each`, the clock's cost included */
  void (*advance)(void *store, int64_t n, int64_t count, uint64_t *each);
  uint64_t (*reads)(void *store, int64_t n, uint64_t from, uint64_t snapshots);   /* 100 reads in each snapshot */
  void *(*pin)(void *store);
  void (*unpin)(void *store, void *pin);
  uint64_t (*compacted)(void *store, const char *copy); /* bytes on disk once compacted */
} bench_peer;

extern const bench_peer bench_lmdb; /* option 1: MDB_WRITEMAP */
extern const bench_peer bench_sqlite;
#endif
