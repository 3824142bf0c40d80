#include "bench.h"

#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

void bench_hex(uint64_t value, char *out16) {
  static const char digits[] = "0123456789abcdef";
  for (int j = 0; j < 16; j++) out16[j] = digits[(value >> (60 - 4 * j)) & 15];
}

bench_items bench_make_items(int64_t n, bench_key key, int shuffled) {
  size_t count = (size_t)n;
  bench_items items = {n, malloc(count * 8), malloc(count * 16), malloc(count * 8), malloc(count * 8), malloc(count),
                       malloc(count * 8)};
  for (int64_t i = 0; i < n; i++) {
    uint64_t x = (uint64_t)i;
    items.id[i] = key == BENCH_KEY_SPARSE ? (int64_t)bench_mix(x) : i;
    bench_hex(bench_mix(x), items.name + i * 16);
    items.score[i] = (double)(bench_mix(x ^ 0x5555555555555555ull) >> 11) * 0x1p-53 * 1000;
    items.qty[i] = (int64_t)(bench_mix(x + 0x1234567) % 1000);
    items.flag[i] = bench_mix(x + 77) & 1;
    items.order[i] = i;
  }
  if (shuffled) {
    for (int64_t i = n - 1; i > 0; i--) {
      int64_t j = (int64_t)(bench_mix((uint64_t)i + 4242) % (uint64_t)(i + 1)), t = items.order[i];
      items.order[i] = items.order[j];
      items.order[j] = t;
    }
  }
  return items;
}

void bench_free_items(bench_items *items) {
  free(items->id), free(items->name), free(items->score), free(items->qty), free(items->flag), free(items->order);
  memset(items, 0, sizeof *items);
}

static int compare(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return x < y ? -1 : x > y;
}

double bench_median(uint64_t *samples, int64_t count) {
  qsort(samples, (size_t)count, sizeof *samples, compare);
  return (double)samples[count / 2];
}

double bench_clock_cost(void) {
  enum { count = 100000 };
  uint64_t *samples = malloc(count * sizeof *samples);
  for (int i = 0; i < count; i++) {
    uint64_t t = bench_now();
    samples[i] = bench_now() - t;
  }
  double cost = bench_median(samples, count);
  free(samples);
  return cost;
}

static cpu_set_t allowed;
static int allowed_known;

static void learn_allowed(void) {
  if (!allowed_known) sched_getaffinity(0, sizeof allowed, &allowed);
  allowed_known = 1;
}

int bench_cpu_count(void) {
  learn_allowed();
  return CPU_COUNT(&allowed);
}

void bench_pin(int index) {
  learn_allowed();
  if (index < 0) {
    sched_setaffinity(0, sizeof allowed, &allowed);
    return;
  }
  for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
    if (CPU_ISSET(cpu, &allowed) && index-- == 0) {
      cpu_set_t one;
      CPU_ZERO(&one);
      CPU_SET(cpu, &one);
      sched_setaffinity(0, sizeof one, &one);
      return;
    }
  }
}

int bench_is_tmpfs(const char *path) {
  struct statfs s;
  return statfs(path, &s) == 0 && s.f_type == 0x01021994;
}

uint64_t bench_disk_usage(const char *path) {
  struct stat s;
  return stat(path, &s) ? 0 : (uint64_t)s.st_blocks * 512;
}

int64_t bench_page_faults(void) {
  struct rusage usage;
  return getrusage(RUSAGE_SELF, &usage) ? -1 : usage.ru_minflt + usage.ru_majflt;
}

void bench_spin(uint64_t nanoseconds) {
  uint64_t end = bench_now() + nanoseconds;
  while (bench_now() < end) { }
}

int64_t bench_milli_sleep(int64_t milliseconds) {
  struct timespec t = {milliseconds / 1000, milliseconds % 1000 * 1000000};
  return nanosleep(&t, NULL);
}

void bench_await_descriptor(int descriptor) {
  struct epoll_event events[4];
  epoll_wait(descriptor, events, 4, 60000);
}
