/* SQLite at its best: prepared statements, write-ahead log, the file mapped, one connection a process. */
#include "bench.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct {
  sqlite3 *db;
  bench_key key;
  char path[4096];
  union {
    struct {
      sqlite3_stmt *insert, *scan, *find, *filter, *update, *begin, *begin_write, *commit;
      sqlite3_stmt *equal, *contains, *find_name, *sorted, *sum, *average;
    };
    sqlite3_stmt *all[14];
  };
} sqlite_store;

static void fail(sqlite_store *store, const char *what) {
  fprintf(stderr, "sqlite: %s: %s\n", what, sqlite3_errmsg(store->db));
  exit(1);
}

static void run(sqlite_store *store, const char *sql) {
  if (sqlite3_exec(store->db, sql, NULL, NULL, NULL)) fail(store, sql);
}

static sqlite3_stmt *prepare(sqlite_store *store, const char *sql) {
  sqlite3_stmt *statement;
  if (sqlite3_prepare_v3(store->db, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, NULL)) fail(store, sql);
  return statement;
}

static inline void finish(sqlite_store *store, sqlite3_stmt *statement) {
  if (sqlite3_step(statement) != SQLITE_DONE) fail(store, sqlite3_sql(statement));
  sqlite3_reset(statement);
}

static void *open_store(const bench_request *request) {
  const char *path = request->path;
  bench_durability durability = request->durability;
  bench_key key = request->key;
  int fresh = request->fresh;
  sqlite_store *store = calloc(1, sizeof *store);
  char name[4200];
  if (fresh) {
    unlink(path);
    snprintf(name, sizeof name, "%s-wal", path), unlink(name);
    snprintf(name, sizeof name, "%s-shm", path), unlink(name);
  }
  snprintf(store->path, sizeof store->path, "%s", path);
  store->key = key;
  if (sqlite3_open_v2(path, &store->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL))
    fail(store, path);
  sqlite3_busy_timeout(store->db, 60000);
  run(store, "PRAGMA journal_mode=WAL; PRAGMA mmap_size=8589934592; PRAGMA temp_store=MEMORY; PRAGMA cache_size=-65536");
  run(store, durability == BENCH_FULL      ? "PRAGMA synchronous=FULL"
             : durability == BENCH_RELAXED ? "PRAGMA synchronous=NORMAL"
                                           : "PRAGMA synchronous=OFF");
  if (fresh) {
    run(store, key == BENCH_KEY_STRING
                   ? "CREATE TABLE item(id INTEGER, name TEXT PRIMARY KEY, score REAL, qty INTEGER, flag INTEGER) WITHOUT ROWID"
                   : "CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT, score REAL, qty INTEGER, flag INTEGER)");
    if (request->indexed) run(store, "CREATE INDEX by_name ON item(name)");
  }
  store->insert = prepare(store, "INSERT INTO item(id, name, score, qty, flag) VALUES(?,?,?,?,?)");
  store->scan = prepare(store, key == BENCH_KEY_STRING ? "SELECT id, name, score, qty, flag FROM item ORDER BY name"
                                                       : "SELECT id, name, score, qty, flag FROM item ORDER BY id");
  store->find = prepare(store, key == BENCH_KEY_STRING ? "SELECT qty, score FROM item WHERE name = ?"
                                                       : "SELECT qty, score FROM item WHERE id = ?");
  store->filter = prepare(store, "SELECT count(*) FROM item WHERE qty BETWEEN 250 AND 499 AND score > 500");
  store->update = prepare(store, "UPDATE item SET qty = ? WHERE id = ?");
  store->begin = prepare(store, "BEGIN");
  store->begin_write = prepare(store, "BEGIN IMMEDIATE");
  store->commit = prepare(store, "COMMIT");
  store->equal = prepare(store, "SELECT count(*) FROM item WHERE name = ?");
  store->contains = prepare(store, "SELECT count(*) FROM item WHERE instr(name, ?) > 0");
  store->find_name = prepare(store, "SELECT qty FROM item WHERE name = ?");
  store->sorted = prepare(store, "SELECT id FROM item ORDER BY score LIMIT ?");
  store->sum = prepare(store, "SELECT sum(qty) FROM item");
  store->average = prepare(store, "SELECT avg(score) FROM item");
  return store;
}

static void close_store(void *opaque) {
  sqlite_store *store = opaque;
  for (size_t i = 0; i < sizeof store->all / sizeof *store->all; i++) sqlite3_finalize(store->all[i]);
  sqlite3_close(store->db);
  free(store);
}

static void background_sync(void *opaque) {
  (void)opaque;
}

static double insert(void *opaque, const bench_items *items, int append) {
  sqlite_store *store = opaque;
  (void)append;
  uint64_t start = bench_now();
  finish(store, store->begin_write);
  for (int64_t o = 0; o < items->n; o++) {
    int64_t i = items->order[o];
    sqlite3_bind_int64(store->insert, 1, items->id[i]);
    sqlite3_bind_text(store->insert, 2, items->name + i * 16, 16, SQLITE_STATIC);
    sqlite3_bind_double(store->insert, 3, items->score[i]);
    sqlite3_bind_int64(store->insert, 4, items->qty[i]);
    sqlite3_bind_int64(store->insert, 5, items->flag[i]);
    finish(store, store->insert);
  }
  finish(store, store->commit);
  return (double)(bench_now() - start);
}

static uint64_t scan(void *opaque) {
  sqlite_store *store = opaque;
  uint64_t a = 0;
  double d = 0;
  while (sqlite3_step(store->scan) == SQLITE_ROW) {
    const unsigned char *name = sqlite3_column_text(store->scan, 1);
    a += (uint64_t)sqlite3_column_int64(store->scan, 0) + (uint64_t)sqlite3_column_int64(store->scan, 3) +
         (uint64_t)sqlite3_column_int64(store->scan, 4) + name[15];
    d += sqlite3_column_double(store->scan, 2);
  }
  sqlite3_reset(store->scan);
  return a + (uint64_t)d;
}

static inline void find(sqlite_store *store, uint64_t i, uint64_t *a, double *d) {
  char name[16];
  if (store->key == BENCH_KEY_STRING) {
    bench_hex(bench_mix(i), name);
    sqlite3_bind_text(store->find, 1, name, 16, SQLITE_STATIC);
  } else {
    sqlite3_bind_int64(store->find, 1, (int64_t)(store->key == BENCH_KEY_SPARSE ? bench_mix(i) : i));
  }
  if (sqlite3_step(store->find) != SQLITE_ROW) fail(store, "find");
  *a += (uint64_t)sqlite3_column_int64(store->find, 0);
  *d += sqlite3_column_double(store->find, 1);
  sqlite3_reset(store->find);
}

static uint64_t lookup(void *opaque, int64_t n, int64_t count) {
  sqlite_store *store = opaque;
  uint64_t a = 0;
  double d = 0;
  finish(store, store->begin);
  for (int64_t k = 0; k < count; k++) find(store, bench_mix((uint64_t)k + 991) % (uint64_t)n, &a, &d);
  finish(store, store->commit);
  return a + (uint64_t)d;
}

/* The first column of the only row, read before the statement ends. */
static inline void first_row(sqlite_store *store, sqlite3_stmt *statement) {
  if (sqlite3_step(statement) != SQLITE_ROW) fail(store, sqlite3_sql(statement));
}
static uint64_t counted(sqlite_store *store, sqlite3_stmt *statement) {
  first_row(store, statement);
  uint64_t found = (uint64_t)sqlite3_column_int64(statement, 0);
  sqlite3_reset(statement);
  return found;
}

static uint64_t filter(void *opaque) {
  return counted(opaque, ((sqlite_store *)opaque)->filter);
}
static uint64_t equal(void *opaque, const char *name16) {
  sqlite_store *store = opaque;
  sqlite3_bind_text(store->equal, 1, name16, 16, SQLITE_STATIC);
  return counted(store, store->equal);
}
static uint64_t contains(void *opaque, const char *part5) {
  sqlite_store *store = opaque;
  sqlite3_bind_text(store->contains, 1, part5, 5, SQLITE_STATIC);
  return counted(store, store->contains);
}
static int64_t sum(void *opaque) {
  return (int64_t)counted(opaque, ((sqlite_store *)opaque)->sum);
}
static double average(void *opaque) {
  sqlite_store *store = opaque;
  first_row(store, store->average);
  double mean = sqlite3_column_double(store->average, 0);
  sqlite3_reset(store->average);
  return mean;
}

static uint64_t find_name(void *opaque, int64_t n, int64_t count) {
  sqlite_store *store = opaque;
  uint64_t a = 0;
  char name[16];
  finish(store, store->begin);
  for (int64_t k = 0; k < count; k++) {
    bench_hex(bench_mix(bench_mix((uint64_t)k + 991) % (uint64_t)n), name);
    sqlite3_bind_text(store->find_name, 1, name, 16, SQLITE_STATIC);
    a += counted(store, store->find_name);
  }
  finish(store, store->commit);
  return a;
}

static void sorted(void *opaque, int64_t limit, int64_t *ids) {
  sqlite_store *store = opaque;
  sqlite3_bind_int64(store->sorted, 1, limit);
  while (sqlite3_step(store->sorted) == SQLITE_ROW) *ids++ = sqlite3_column_int64(store->sorted, 0);
  sqlite3_reset(store->sorted);
}

static inline void commit_one(void *opaque, int64_t n, uint64_t k) {
  sqlite_store *store = opaque;
  sqlite3_bind_int64(store->update, 1, (int64_t)(k % 1000));
  sqlite3_bind_int64(store->update, 2, (int64_t)(bench_mix(k) % (uint64_t)n));
  finish(store, store->update); /* a statement by itself is a transaction, and the cheapest one */
}

static void commits(void *opaque, int64_t n, uint64_t from, uint64_t count, uint64_t *each) {
  bench_each(commit_one, opaque, n, from, count, each);
}

static inline void open_snapshot(sqlite_store *store) { /* a read transaction begins with its first read */
  uint64_t a = 0;
  double d = 0;
  finish(store, store->begin);
  find(store, 0, &a, &d);
}
static void open_and_close(void *opaque, int64_t n, uint64_t k) {
  sqlite_store *store = opaque;
  (void)n, (void)k;
  open_snapshot(store);
  finish(store, store->commit);
}
static void move(void *opaque, int64_t n, uint64_t k) {
  sqlite_store *store = opaque;
  (void)n, (void)k;
  finish(store, store->commit);
  open_snapshot(store);
}

static double open_close(void *opaque, int64_t count) {
  return bench_all(open_and_close, opaque, 0, (uint64_t)count);
}

/* One connection cannot hold a snapshot and write: readers are further connections of the same process. */
static void *pin(void *opaque) {
  sqlite_store *store = opaque;
  sqlite_store *reader = open_store(&(bench_request){.path = store->path, .key = store->key});
  open_snapshot(reader);
  return reader;
}
static void unpin(void *opaque, void *pin) {
  (void)opaque;
  finish(pin, ((sqlite_store *)pin)->commit);
  close_store(pin);
}

static void advance(void *opaque, int64_t n, int64_t count, uint64_t *each) {
  void *reader = pin(opaque);
  bench_each_after(commit_one, opaque, move, reader, n, (uint64_t)count, each);
  unpin(opaque, reader);
}

static uint64_t reads(void *opaque, int64_t n, uint64_t from, uint64_t snapshots) {
  sqlite_store *store = opaque;
  uint64_t a = 0, s = from * 100;
  double d = 0;
  for (uint64_t j = 0; j < snapshots; j++) {
    finish(store, store->begin);
    for (int i = 0; i < 100; i++) find(store, bench_mix(s++) % (uint64_t)n, &a, &d);
    finish(store, store->commit);
  }
  return a + (uint64_t)d;
}

static uint64_t compacted(void *opaque, const char *copy) {
  sqlite_store *store = opaque;
  (void)copy;
  run(store, "PRAGMA wal_checkpoint(TRUNCATE)");
  run(store, "VACUUM");
  run(store, "PRAGMA wal_checkpoint(TRUNCATE)");
  return bench_disk_usage(store->path);
}

const bench_peer bench_sqlite = {
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
