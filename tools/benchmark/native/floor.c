/* The programs that bound a workload: flat arrays, bare system calls, nothing shared but a word. */
#include "bench.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

double bench_floor_insert(const bench_items *items, const char *path) {
  size_t n = (size_t)items->n, length = n * 33;
  unlink(path);
  int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  uint64_t start = bench_now();
  if (fd < 0 || fallocate(fd, 0, 0, (off_t)length)) { perror(path), exit(1); }
  char *base = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (base == MAP_FAILED) { perror("mmap"), exit(1); }
  char *name = base;
  double *score = (double *)(base + n * 16);
  int64_t *qty = (int64_t *)(base + n * 24);
  uint8_t *flag = (uint8_t *)(base + n * 32);
  for (size_t i = 0; i < n; i++) {
    memcpy(name + i * 16, items->name + i * 16, 16);
    score[i] = items->score[i], qty[i] = items->qty[i], flag[i] = items->flag[i];
  }
  uint64_t end = bench_now();
  munmap(base, length), close(fd), unlink(path);
  return (double)(end - start);
}

uint64_t bench_floor_scan(const bench_items *items) {
  uint64_t a = 0;
  double d = 0;
  for (int64_t i = 0; i < items->n; i++) {
    a += (uint64_t)items->id[i] + (uint64_t)items->qty[i] + items->flag[i] + (uint8_t)items->name[i * 16 + 15];
    d += items->score[i];
  }
  return a + (uint64_t)d;
}

uint64_t bench_floor_lookup(const bench_items *items, int64_t count) {
  uint64_t a = 0;
  double d = 0;
  for (int64_t k = 0; k < count; k++) {
    uint64_t i = bench_mix((uint64_t)k + 991) % (uint64_t)items->n;
    a += (uint64_t)items->qty[i], d += items->score[i];
  }
  return a + (uint64_t)d;
}

/* ---- bell ---- */

enum { payload_limit = 4096 };
typedef struct {
  _Alignas(64) _Atomic uint32_t word;
  _Alignas(64) _Atomic uint64_t stamp;
  char payload[payload_limit];
} shared_bell;

struct bench_bell {
  shared_bell *shared;
  int fifo;
  char copy[payload_limit];
};

bench_bell *bench_bell_open(const char *path) {
  bench_bell *bell = calloc(1, sizeof *bell);
  char fifo[4096];
  snprintf(fifo, sizeof fifo, "%s.fifo", path);
  int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0 || ftruncate(fd, sizeof(shared_bell))) { perror(path), exit(1); }
  bell->shared = mmap(NULL, sizeof(shared_bell), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
  close(fd);
  if (mkfifo(fifo, 0600) && errno != EEXIST) { perror(fifo), exit(1); }
  bell->fifo = open(fifo, O_RDWR | O_CLOEXEC);
  if (bell->fifo < 0 || bell->shared == MAP_FAILED) { perror(fifo), exit(1); }
  return bell;
}

void bench_bell_close(bench_bell *bell) {
  munmap(bell->shared, sizeof *bell->shared);
  close(bell->fifo);
  free(bell);
}

void bench_bell_ring(bench_bell *bell, bench_way way, size_t payload) {
  if (payload) memset(bell->shared->payload, (int)(bell->shared->word & 127), payload);
  atomic_store_explicit(&bell->shared->stamp, bench_now(), memory_order_relaxed);
  atomic_fetch_add(&bell->shared->word, 1);
  if (way == BENCH_FUTEX) {
    syscall(SYS_futex, &bell->shared->word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
  } else if (way == BENCH_FIFO) {
    if (write(bell->fifo, "", 1) != 1) { perror("write"), exit(1); }
  }
}

uint64_t bench_bell_wait(bench_bell *bell, bench_way way, uint32_t *seen, size_t payload) {
  uint32_t now;
  while ((now = atomic_load_explicit(&bell->shared->word, memory_order_acquire)) == *seen) {
    if (way == BENCH_FUTEX) {
      syscall(SYS_futex, &bell->shared->word, FUTEX_WAIT, *seen, NULL, NULL, 0);
    } else if (way == BENCH_FIFO) {
      char byte;
      if (read(bell->fifo, &byte, 1) != 1 && errno != EINTR) { perror("read"), exit(1); }
    } else {
#if defined(__x86_64__)
      __builtin_ia32_pause();
#endif
    }
  }
  *seen = now;
  if (payload) memcpy(bell->copy, bell->shared->payload, payload);
  return bench_now() - atomic_load_explicit(&bell->shared->stamp, memory_order_relaxed);
}
