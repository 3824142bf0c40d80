#include "CReefSystem.h"
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#if __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>
#endif
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define RESULT(call)            \
  ({                            \
    long _r = (long)(call);     \
    _r < 0 ? -(long)errno : _r; \
  })

// A watcher that keeps shared pages shut opens the word's for the kernel.
static void touches(void *word, bool begins) {
  if (reef_watch && word) reef_watch->in_kernel(word, sizeof(uint32_t), begins);
}
static void sleeps(void *word, bool begins, bool timed_out) {
  if (!reef_watch) return;
  if (begins) touches(word, true);
  if (reef_watch->sleep) reef_watch->sleep(begins, timed_out);
  if (!begins) touches(word, false);
}

long reef_futex_wait(void *word, uint32_t expected, uint64_t deadline, uint32_t mask) {
  struct timespec until = {(time_t)(deadline / 1000000000), (long)(deadline % 1000000000)};
  sleeps(word, true, false);
  long result = RESULT(
      syscall(SYS_futex, word, FUTEX_WAIT_BITSET, expected, deadline == UINT64_MAX ? NULL : &until, NULL, mask));
  sleeps(word, false, result == -ETIMEDOUT);
  return result;
}
long reef_futex_wake(void *word, int count, uint32_t mask) {
  if (reef_watch && reef_watch->call) reef_watch->call();
  touches(word, true);
  long result = RESULT(syscall(SYS_futex, word, FUTEX_WAKE_BITSET, count, NULL, NULL, mask));
  touches(word, false);
  return result;
}
void reef_sleep(uint32_t microseconds) {
  sleeps(NULL, true, false);
  usleep(microseconds);
  sleeps(NULL, false, true);
}

int reef_allowed_processors(void) {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) ? 1 : CPU_COUNT(&set);
}

long reef_epoll_create(void) { return RESULT(epoll_create1(EPOLL_CLOEXEC)); }
long reef_epoll_add(int epoll, int descriptor, bool edgeTriggered) {
  struct epoll_event event = {.events = EPOLLIN | (edgeTriggered ? EPOLLET : 0), .data.fd = descriptor};
  return RESULT(epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event));
}
long reef_epoll_wait(int epoll, int milliseconds) {
  struct epoll_event events[4];
  return RESULT(epoll_wait(epoll, events, 4, milliseconds));
}
long reef_timer_create(uint64_t nanoseconds) {
  int timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
  if (timer < 0) return -(long)errno;
  struct timespec interval = {(time_t)(nanoseconds / 1000000000), (long)(nanoseconds % 1000000000)};
  struct itimerspec setting = {interval, interval};
  if (timerfd_settime(timer, 0, &setting, NULL) < 0) {
    long error = -(long)errno;
    close(timer);
    return error;
  }
  return timer;
}

static uint64_t now(clockid_t clock) {
  struct timespec time;
  clock_gettime(clock, &time);
  return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}
uint64_t reef_monotonic(void) { return now(CLOCK_MONOTONIC); }
uint64_t reef_realtime(void) { return now(CLOCK_REALTIME); }
uint64_t reef_realtime_coarse(void) { return now(CLOCK_REALTIME_COARSE); }
long reef_random(void *bytes, size_t count) { return RESULT(getrandom(bytes, count, 0)); }

long reef_current_node(void) {
  unsigned processor, node;
  return getcpu(&processor, &node) < 0 ? -(long)errno : (long)node;
}

void reef_pause(void) {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("isb");
#endif
}

long reef_thread_start(uint64_t *out, reef_thread_body body, void *context, const char *name) {
  // Signals belong to the program's own threads; but one that an instruction of this thread raises kills the process
  // where it is blocked, and whoever the program has appointed to hear of crashes never does.
  static const int own[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT, SIGSYS};
  sigset_t all, before;
  sigfillset(&all);
  for (size_t i = 0; i < sizeof own / sizeof *own; i++) sigdelset(&all, own[i]);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread;
  int error = pthread_create(&thread, NULL, (void *(*)(void *))(void (*)(void))body, context);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (error) return -(long)error;
  pthread_setname_np(thread, name);
  *out = (uint64_t)thread;
  return 0;
}
long reef_thread_join(uint64_t thread) { return -(long)pthread_join((pthread_t)thread, NULL); }
long reef_thread_detach(uint64_t thread) { return -(long)pthread_detach((pthread_t)thread); }

// fork

static pthread_mutex_t fork_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t fork_once = PTHREAD_ONCE_INIT;
static uint64_t fork_generation = 1;
static int *fork_descriptors;
static size_t fork_count, fork_capacity;

static void forget_tokens(void);
static void before_fork(void) { pthread_mutex_lock(&fork_mutex); }
static void after_fork_in_parent(void) { pthread_mutex_unlock(&fork_mutex); }
static void after_fork_in_child(void) {
  // The copies would keep this process's locks, and so a dead parent's liveness, held.
  for (size_t i = 0; i < fork_count; i++) close(fork_descriptors[i]);
  fork_count = 0;
  fork_generation += 1;
  forget_tokens();
  pthread_mutex_unlock(&fork_mutex);
}
static void register_handlers(void) {
  pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

void reef_fork_lock(void) {
  pthread_once(&fork_once, register_handlers);
  pthread_mutex_lock(&fork_mutex);
}
void reef_fork_unlock(void) { pthread_mutex_unlock(&fork_mutex); }
uint64_t reef_fork_generation(void) { return fork_generation; }

long reef_fork_close_in_child(int descriptor) {
  if (fork_count == fork_capacity) {
    size_t capacity = fork_capacity ? fork_capacity * 2 : 16;
    int *larger = realloc(fork_descriptors, capacity * sizeof(int));
    if (!larger) return -ENOMEM;
    fork_descriptors = larger;
    fork_capacity = capacity;
  }
  fork_descriptors[fork_count++] = descriptor;
  return 0;
}
void reef_fork_forget(int descriptor) {
  for (size_t i = 0; i < fork_count; i++)
    if (fork_descriptors[i] == descriptor) {
      fork_descriptors[i] = fork_descriptors[--fork_count];
      return;
    }
}

// Barriers that one side pays for

enum { BARRIER_GLOBAL_EXPEDITED = 1 << 1, REGISTER_GLOBAL_EXPEDITED = 1 << 2 };
long reef_barrier_register(void) { return RESULT(syscall(SYS_membarrier, REGISTER_GLOBAL_EXPEDITED, 0, 0)); }
bool reef_is_single_threaded(void) {
#if __has_include(<sys/single_threaded.h>)
  return __libc_single_threaded;
#else
  return false;
#endif
}
long reef_barrier_everywhere(void) { return RESULT(syscall(SYS_membarrier, BARRIER_GLOBAL_EXPEDITED, 0, 0)); }

// Faults

int32_t reef_faults_word;

__attribute__((constructor)) static void read_faults(void) {
  if (getenv("REEF_FAULT") || getenv("REEF_KILL") || getenv("REEF_STOP")) reef_faults_word = 1;
}
void reef_faults_arm(bool on) { __atomic_store_n(&reef_faults_word, on, __ATOMIC_RELAXED); }
void reef_kill_self(bool stopOnly) { kill(getpid(), stopOnly ? SIGSTOP : SIGKILL); }

// Slots that threads keep

enum { TOKENS = 256 };
_Thread_local reef_kept_slot reef_kept_slots[REEF_SLOT_WAYS];
static _Thread_local bool kept_registered;
static uint64_t live_tokens[TOKENS];
static void forget_tokens(void) { memset(live_tokens, 0, sizeof live_tokens); }
static pthread_key_t kept_key;
static pthread_once_t kept_once = PTHREAD_ONCE_INIT;

static bool is_live(uint64_t token) {
  return __atomic_load_n(&live_tokens[token % TOKENS], __ATOMIC_ACQUIRE) == token;
}

static void thread_ends(void *context) {
  reef_kept_slot *mine = context;
  reef_fork_lock();
  for (int i = 0; i < REEF_SLOT_WAYS; i++)
    if (mine[i].slot > 0 && is_live(mine[i].token)) {
      int64_t slot = mine[i].slot - 1;
      __atomic_fetch_or(&mine[i].map[slot / 64], 1ull << (slot % 64), __ATOMIC_RELEASE);
      mine[i].slot = 0;
    }
  reef_fork_unlock();
}
static void make_key(void) { pthread_key_create(&kept_key, thread_ends); }

bool reef_slot_keep_first(uint64_t token, uint64_t *map, int64_t slot) {
  reef_kept_slot *entry = &reef_kept_slots[token % REEF_SLOT_WAYS];
  if (entry->slot != 0 && (entry->token == token || is_live(entry->token))) return false;
  if (__builtin_expect(!kept_registered, 0)) {
    pthread_once(&kept_once, make_key);
    pthread_setspecific(kept_key, reef_kept_slots);
    kept_registered = true;
  }
  entry->token = token;
  entry->map = map;
  entry->slot = slot + 1;
  return true;
}

bool reef_slot_token_live(uint64_t token, bool live) {
  uint64_t *place = &live_tokens[token % TOKENS];
  if (live) {
    if (*place != 0) return false;
    __atomic_store_n(place, token, __ATOMIC_RELEASE);
  } else if (*place == token) {
    __atomic_store_n(place, 0, __ATOMIC_RELEASE);
  }
  return true;
}
