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
  MDB_dbi items;
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

static void *open_store(const char *path, bench_durability durability, bench_key key, int writemap, int fresh) {
  lmdb_store *store = calloc(1, sizeof *store);
  char lock[4096];
  MDB_txn *txn;
  if (fresh) {
    snprintf(lock, sizeof lock, "%s-lock", path);
    unlink(path), unlink(lock);
  }
  store->key = key;
  unsigned flags = MDB_NOSUBDIR | MDB_NOTLS | MDB_NORDAHEAD;
  if (durability != BENCH_FULL) flags |= MDB_NOSYNC;
  if (writemap) flags |= MDB_WRITEMAP;
  CHECK(mdb_env_create(&store->env));
  CHECK(mdb_env_set_mapsize(store->env, (size_t)8 << 30));
  CHECK(mdb_env_set_maxreaders(store->env, 2000));
  CHECK(mdb_env_open(store->env, path, flags, 0644));
  CHECK(mdb_txn_begin(store->env, NULL, 0, &txn));
  CHECK(mdb_dbi_open(txn, NULL, MDB_CREATE | (key == BENCH_KEY_STRING ? 0 : MDB_INTEGERKEY), &store->items));
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
  }
  CHECK(mdb_txn_commit(txn));
  return (double)(bench_now() - start);
}

static uint64_t scan(void *opaque) {
  lmdb_store *store = opaque;
  MDB_txn *txn;
  MDB_cursor *cursor;
  MDB_val key, value;
  uint64_t a = 0;
  double d = 0;
  CHECK(mdb_txn_begin(store->env, NULL, MDB_RDONLY, &txn));
  CHECK(mdb_cursor_open(txn, store->items, &cursor));
  while (!mdb_cursor_get(cursor, &key, &value, MDB_NEXT)) {
    const record *r = value.mv_data;
    a += *(const uint64_t *)key.mv_data + (uint64_t)r->qty + r->flag + (uint8_t)r->name[15];
    d += r->score;
  }
  mdb_cursor_close(cursor);
  mdb_txn_abort(txn);
  return a + (uint64_t)d;
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

static uint64_t filter(void *opaque) {
  lmdb_store *store = opaque;
  MDB_txn *txn;
  MDB_cursor *cursor;
  MDB_val key, value;
  uint64_t found = 0;
  CHECK(mdb_txn_begin(store->env, NULL, MDB_RDONLY, &txn));
  CHECK(mdb_cursor_open(txn, store->items, &cursor));
  while (!mdb_cursor_get(cursor, &key, &value, MDB_NEXT)) {
    const record *r = value.mv_data;
    found += (r->qty >= 250) & (r->qty <= 499) & (r->score > 500.0);
  }
  mdb_cursor_close(cursor);
  mdb_txn_abort(txn);
  return found;
}

static inline void commit_one(lmdb_store *store, int64_t n, uint64_t k) {
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
  lmdb_store *store = opaque;
  for (uint64_t k = from; k < from + count; k++) {
    if (!each) {
      commit_one(store, n, k);
      continue;
    }
    uint64_t t = bench_now();
    commit_one(store, n, k);
    each[k - from] = bench_now() - t;
  }
}

static double open_close(void *opaque, int64_t count) {
  lmdb_store *store = opaque;
  MDB_txn *txn;
  CHECK(mdb_txn_begin(store->env, NULL, MDB_RDONLY, &txn));
  mdb_txn_reset(txn);
  uint64_t start = bench_now();
  for (int64_t i = 0; i < count; i++) {
    mdb_txn_renew(txn);
    mdb_txn_reset(txn);
  }
  double spent = (double)(bench_now() - start);
  mdb_txn_abort(txn);
  return spent;
}

static void advance(void *opaque, int64_t n, int64_t count, uint64_t *each) {
  lmdb_store *store = opaque;
  MDB_txn *txn;
  CHECK(mdb_txn_begin(store->env, NULL, MDB_RDONLY, &txn));
  for (int64_t i = 0; i < count; i++) {
    commit_one(store, n, (uint64_t)i);
    uint64_t t = bench_now();
    mdb_txn_reset(txn);
    mdb_txn_renew(txn);
    each[i] = bench_now() - t;
  }
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
    .commits = commits,
    .background_sync = background_sync,
    .open_close = open_close,
    .advance = advance,
    .reads = reads,
    .pin = pin,
    .unpin = unpin,
    .compacted = compacted,
};
