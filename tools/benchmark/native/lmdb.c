/* LMDB at its best: integer keys, MDB_APPEND for ordered inserts, renewed read transactions, no thread-bound readers. */
#include "bench.h"

#include <lmdb.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct {
  char name[16];
  double score;
  int64_t qty;
  uint8_t flag;
} __attribute__((packed)) record;

typedef struct {
  MDB_env *env;
  MDB_dbi items, names;
  int indexed;
  bench_key key;
  MDB_txn *reader;
  pthread_t syncer;
  _Atomic int syncing;
} lmdb_store;

#define CHECK(call)                                                                                                    \
  do {                                                                                                                 \
    int code_ = (call);                                                                                                \
    if (code_) fprintf(stderr, "lmdb: %s: %s\n", #call, mdb_strerror(code_)), exit(1);                                 \
  } while (0)

static void *open_store(const bench_request *request) {
  lmdb_store *store = calloc(1, sizeof *store);
  char lock[4096];
  MDB_txn *txn;
  if (request->fresh) {
    snprintf(lock, sizeof lock, "%s-lock", request->path);
    unlink(request->path), unlink(lock);
  }
  store->key = request->key, store->indexed = request->indexed;
  unsigned flags = MDB_NOSUBDIR | MDB_NOTLS | MDB_NORDAHEAD;
  if (request->durability != BENCH_FULL) flags |= MDB_NOSYNC;
  if (request->writemap) flags |= MDB_WRITEMAP;
  CHECK(mdb_env_create(&store->env));
  CHECK(mdb_env_set_mapsize(store->env, (size_t)8 << 30));
  CHECK(mdb_env_set_maxreaders(store->env, 2000));
  CHECK(mdb_env_set_maxdbs(store->env, 2));
  CHECK(mdb_env_open(store->env, request->path, flags, 0644));
  /* An environment that is there is opened without the writer's lock. */
  CHECK(mdb_txn_begin(store->env, NULL, request->fresh ? 0 : MDB_RDONLY, &txn));
  unsigned create = request->fresh ? MDB_CREATE : 0;
  const char *main_name = request->indexed ? "items" : NULL; /* the unnamed one costs a step less where it is alone */
  CHECK(mdb_dbi_open(txn, main_name, create | (request->key == BENCH_KEY_STRING ? 0 : MDB_INTEGERKEY), &store->items));
  if (store->indexed) CHECK(mdb_dbi_open(txn, "names", create, &store->names));
  CHECK(mdb_txn_commit(txn));
  return store;
}

static void close_store(void *opaque) {
  lmdb_store *store = opaque;
  if (atomic_exchange(&store->syncing, 0)) pthread_join(store->syncer, NULL);
  if (store->reader) mdb_txn_abort(store->reader);
  mdb_env_close(store->env);
  free(store);
}

static void *sync_now_and_then(void *argument) {
  lmdb_store *store = argument;
  while (atomic_load(&store->syncing)) {
    CHECK(mdb_env_sync(store->env, 1));
    usleep(100000);
  }
  return NULL;
}

/* What a user of MDB_NOSYNC does to bound the loss. */
static void background_sync(void *opaque) {
  lmdb_store *store = opaque;
  atomic_store(&store->syncing, 1);
  CHECK(pthread_create(&store->syncer, NULL, sync_now_and_then, store));
}

static double insert(void *opaque, const bench_items *items, int append) {
  lmdb_store *store = opaque;
  MDB_txn *txn;
  record r;
  uint64_t start = bench_now();
  CHECK(mdb_txn_begin(store->env, NULL, 0, &txn));
  for (int64_t o = 0; o < items->n; o++) {
    int64_t i = items->order[o];
    memcpy(r.name, items->name + i * 16, 16);
    r.score = items->score[i], r.qty = items->qty[i], r.flag = items->flag[i];
    MDB_val key = {8, &items->id[i]}, value = {sizeof r, &r};
    if (store->key == BENCH_KEY_STRING) key = (MDB_val){16, items->name + i * 16};
    CHECK(mdb_put(txn, store->items, &key, &value, append ? MDB_APPEND : 0));
    if (store->indexed) {
      MDB_val name = {16, items->name + i * 16}, id = {8, &items->id[i]};
      CHECK(mdb_put(txn, store->names, &name, &id, 0));
    }
  }
  CHECK(mdb_txn_commit(txn));
  return (double)(bench_now() - start);
}

/* Calls `visit` with every record in key order; inlined, so that each workload has a loop of its own. */
typedef void (*visitor)(void *state, uint64_t id, const record *r);
static inline __attribute__((always_inline)) void walk(lmdb_store *store, visitor visit, void *state) {
  MDB_txn *txn;
  MDB_cursor *cursor;
  MDB_val key, value;
  CHECK(mdb_txn_begin(store->env, NULL, MDB_RDONLY, &txn));
  CHECK(mdb_cursor_open(txn, store->items, &cursor));
  while (!mdb_cursor_get(cursor, &key, &value, MDB_NEXT)) visit(state, *(const uint64_t *)key.mv_data, value.mv_data);
  mdb_cursor_close(cursor);
  mdb_txn_abort(txn);
}

typedef struct {
  uint64_t a;
  double d;
  const char *text;
} totals;

static inline void add_all(void *state, uint64_t id, const record *r) {
  totals *t = state;
  t->a += id + (uint64_t)r->qty + r->flag + (uint8_t)r->name[15];
  t->d += r->score;
}
static inline void count_matching(void *state, uint64_t id, const record *r) {
  (void)id;
  ((totals *)state)->a += (r->qty >= 250) & (r->qty <= 499) & (r->score > 500.0);
}
static inline void count_equal(void *state, uint64_t id, const record *r) {
  (void)id;
  ((totals *)state)->a += !memcmp(r->name, ((totals *)state)->text, 16);
}
static inline void count_containing(void *state, uint64_t id, const record *r) {
  (void)id;
  ((totals *)state)->a += memmem(r->name, 16, ((totals *)state)->text, 5) != NULL;
}
static inline void add_qty(void *state, uint64_t id, const record *r) {
  (void)id;
  ((totals *)state)->a += (uint64_t)r->qty;
}
static inline void add_score(void *state, uint64_t id, const record *r) {
  (void)id;
  ((totals *)state)->a++, ((totals *)state)->d += r->score;
}

static uint64_t scan(void *opaque) {
  totals t = {0};
  walk(opaque, add_all, &t);
  return t.a + (uint64_t)t.d;
}
static uint64_t filter(void *opaque) {
  totals t = {0};
  walk(opaque, count_matching, &t);
  return t.a;
}
static uint64_t equal(void *opaque, const char *name16) {
  totals t = {.text = name16};
  walk(opaque, count_equal, &t);
  return t.a;
}
static uint64_t contains(void *opaque, const char *part5) {
  totals t = {.text = part5};
  walk(opaque, count_containing, &t);
  return t.a;
}
static int64_t sum(void *opaque) {
  totals t = {0};
  walk(opaque, add_qty, &t);
  return (int64_t)t.a;
}
static double average(void *opaque) {
  totals t = {0};
  walk(opaque, add_score, &t);
  return t.d / (double)t.a;
}

static inline void gather(void *state, uint64_t id, const record *r) {
  bench_least *all = state;
  all->pairs[all->count++] = (bench_pair){bench_order_of(r->score), (int64_t)id};
}
static inline void offer(void *state, uint64_t id, const record *r) {
  bench_least_offer(state, (bench_pair){bench_order_of(r->score), (int64_t)id});
}

/* LMDB has no order but that of the key: a cursor scan, then the same sort as the floor's. */
static void sorted(void *opaque, int64_t limit, int64_t *ids) {
  lmdb_store *store = opaque;
  static bench_pair *pairs; /* kept between calls, as the floor's */
  static size_t room;
  MDB_txn *txn;
  MDB_stat stat;
  CHECK(mdb_txn_begin(store->env, NULL, MDB_RDONLY, &txn));
  CHECK(mdb_stat(txn, store->items, &stat));
  mdb_txn_abort(txn);
  if (room < stat.ms_entries) {
    free(pairs);
    room = stat.ms_entries, pairs = malloc(room * 2 * sizeof *pairs);
  }
  bench_least kept = {pairs, 0, limit};
  if (limit < (int64_t)stat.ms_entries) {
    walk(store, offer, &kept);
    bench_least_finish(&kept);
  } else {
    walk(store, gather, &kept);
    bench_radix_sort(pairs, pairs + kept.count, kept.count);
  }
  for (int64_t i = 0; i < kept.count; i++) ids[i] = pairs[i].value;
}

static inline const record *find(lmdb_store *store, MDB_txn *txn, uint64_t i) {
  MDB_val value;
  uint64_t number = i;
  char name[16];
  MDB_val key = {8, &number};
  if (store->key == BENCH_KEY_SPARSE) number = bench_mix(i);
  if (store->key == BENCH_KEY_STRING) {
    bench_hex(bench_mix(i), name);
    key = (MDB_val){16, name};
  }
  CHECK(mdb_get(txn, store->items, &key, &value));
  return value.mv_data;
}

static uint64_t lookup(void *opaque, int64_t n, int64_t count) {
  lmdb_store *store = opaque;
  MDB_txn *txn;
  uint64_t a = 0;
  double d = 0;
  CHECK(mdb_txn_begin(store->env, NULL, MDB_RDONLY, &txn));
  for (int64_t k = 0; k < count; k++) {
    const record *r = find(store, txn, bench_mix((uint64_t)k + 991) % (uint64_t)n);
    a += (uint64_t)r->qty, d += r->score;
  }
  mdb_txn_abort(txn);
  return a + (uint64_t)d;
}

/* By the second database to the id, by the id to the record. */
static uint64_t find_name(void *opaque, int64_t n, int64_t count) {
  lmdb_store *store = opaque;
  MDB_txn *txn;
  uint64_t a = 0;
  char name[16];
  CHECK(mdb_txn_begin(store->env, NULL, MDB_RDONLY, &txn));
  for (int64_t k = 0; k < count; k++) {
    MDB_val key = {16, name}, value;
    bench_hex(bench_mix(bench_mix((uint64_t)k + 991) % (uint64_t)n), name);
    CHECK(mdb_get(txn, store->names, &key, &value));
    a += (uint64_t)find(store, txn, *(const uint64_t *)value.mv_data)->qty;
  }
  mdb_txn_abort(txn);
  return a;
}

static inline void commit_one(void *opaque, int64_t n, uint64_t k) {
  lmdb_store *store = opaque;
  MDB_txn *txn;
  record r;
  uint64_t id = bench_mix(k) % (uint64_t)n;
  CHECK(mdb_txn_begin(store->env, NULL, 0, &txn));
  r = *find(store, txn, id);
  r.qty = (int64_t)(k % 1000);
  MDB_val key = {8, &id}, value = {sizeof r, &r};
  CHECK(mdb_put(txn, store->items, &key, &value, 0));
  CHECK(mdb_txn_commit(txn));
}

static void commits(void *opaque, int64_t n, uint64_t from, uint64_t count, uint64_t *each) {
  bench_each(commit_one, opaque, n, from, count, each);
}

static void renew_reset(void *txn, int64_t n, uint64_t k) {
  (void)n, (void)k;
  mdb_txn_renew(txn);
  mdb_txn_reset(txn);
}
static void reset_renew(void *txn, int64_t n, uint64_t k) {
  (void)n, (void)k;
  mdb_txn_reset(txn);
  mdb_txn_renew(txn);
}

static double open_close(void *opaque, int64_t count) {
  lmdb_store *store = opaque;
  MDB_txn *txn;
  CHECK(mdb_txn_begin(store->env, NULL, MDB_RDONLY, &txn));
  mdb_txn_reset(txn);
  double spent = bench_all(renew_reset, txn, 0, (uint64_t)count);
  mdb_txn_abort(txn);
  return spent;
}

static void advance(void *opaque, int64_t n, int64_t count, uint64_t *each) {
  lmdb_store *store = opaque;
  MDB_txn *txn;
  CHECK(mdb_txn_begin(store->env, NULL, MDB_RDONLY, &txn));
  bench_each_after(commit_one, store, reset_renew, txn, n, (uint64_t)count, each);
  mdb_txn_abort(txn);
}

static uint64_t reads(void *opaque, int64_t n, uint64_t from, uint64_t snapshots) {
  lmdb_store *store = opaque;
  uint64_t a = 0, s = from * 100;
  if (!store->reader) {
    CHECK(mdb_txn_begin(store->env, NULL, MDB_RDONLY, &store->reader));
    mdb_txn_reset(store->reader);
  }
  MDB_txn *txn = store->reader;
  for (uint64_t j = 0; j < snapshots; j++) {
    CHECK(mdb_txn_renew(txn));
    for (int i = 0; i < 100; i++) {
      const record *r = find(store, txn, bench_mix(s++) % (uint64_t)n);
      a += (uint64_t)r->qty + (uint64_t)r->score;
    }
    mdb_txn_reset(txn);
  }
  return a;
}

static void *pin(void *opaque) {
  lmdb_store *store = opaque;
  MDB_txn *txn;
  CHECK(mdb_txn_begin(store->env, NULL, MDB_RDONLY, &txn));
  return txn;
}

static void unpin(void *opaque, void *pin) {
  (void)opaque;
  mdb_txn_abort(pin);
}

static uint64_t compacted(void *opaque, const char *copy) {
  lmdb_store *store = opaque;
  unlink(copy);
  CHECK(mdb_env_copy2(store->env, copy, MDB_CP_COMPACT));
  uint64_t size = bench_disk_usage(copy);
  unlink(copy);
  return size;
}

const bench_peer bench_lmdb = {
    .open = open_store,
    .close = close_store,
    .insert = insert,
    .scan = scan,
    .lookup = lookup,
    .filter = filter,
    .equal = equal,
    .contains = contains,
    .find_name = find_name,
    .sorted = sorted,
    .sum = sum,
    .average = average,
    .commits = commits,
    .background_sync = background_sync,
    .open_close = open_close,
    .advance = advance,
    .reads = reads,
    .pin = pin,
    .unpin = unpin,
    .compacted = compacted,
};
