#include "CStepper.h"
#include "CReefSystem.h"
#include "points.h"
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

// Shared mappings are kept read-only. A store into one faults: the handler counts it, makes the page writable and lets the
// processor trap after that one instruction, when the page becomes read-only again. What the handlers call is a bare system
// call; what they touch was there before.

int stepper_child(void (*body)(void *), void *context) {
  int process = fork();
  if (process != 0) return process;
  // Nothing waits for ever.
  alarm(30);
  pthread_t thread;
  if (pthread_create(&thread, NULL, (void *(*)(void *))(void (*)(void))body, context)) stepper_exit(3);
  for (;;) pause();
}
void stepper_exit(int status) { _exit(status); }
void stepper_die(void) {
  kill(getpid(), SIGKILL);
  for (;;) pause();
}

#if defined(__x86_64__) && defined(__linux__)

enum { RANGES = 64, OPEN = 8, PAGE = 4096, TRAP_FLAG = 0x100 };

typedef struct {
  uintptr_t start, end;
  bool writable;
} range;

static range ranges[RANGES];
static int armed;
static points_rules rules;
static uint64_t stores, last_store;
static _Thread_local bool is_acting;
// Of the instruction under way: the pages that it was given.
static _Thread_local uintptr_t open_pages[OPEN];
static _Thread_local int open_count;
static struct sigaction before_fault, before_trap;

bool stepper_supported(void) { return sysconf(_SC_PAGESIZE) == PAGE; }

static range *find(uintptr_t address) {
  for (int i = 0; i < RANGES; i++)
    if (ranges[i].writable && address >= ranges[i].start && address < ranges[i].end) return &ranges[i];
  return NULL;
}

static void protect(uintptr_t start, uintptr_t length, int protection) {
  syscall(SYS_mprotect, start, length, protection);
}

static bool is_data(const range *in) { return in->end - in->start == rules.data_length; }

// So that the next access, or store, faults.
static void shut(const range *in, uintptr_t start, uintptr_t end) {
  uintptr_t last = is_data(in) ? in->start + PAGE : rules.lock_length ? in->start + rules.lock_length : in->end;
  if (last > in->end) last = in->end;
  if (end > last) end = last;
  if (start < end) protect(start, end - start, rules.loads && !is_data(in) ? PROT_NONE : PROT_READ);
}

static bool is_quiet(const range *in, uintptr_t address) {
  uintptr_t offset = address - in->start;
  return !is_data(in) && offset >= rules.quiet && offset < rules.quiet_end;
}

static void on_fault(int signal, siginfo_t *info, void *raw) {
  ucontext_t *context = raw;
  uintptr_t address = (uintptr_t)info->si_addr;
  range *found = find(address);
  if (signal != SIGSEGV || info->si_code != SEGV_ACCERR || !found || open_count == OPEN) {
    // Nothing of ours: it happens again, and takes its course.
    sigaction(SIGSEGV, &before_fault, NULL);
    return;
  }
  // An instruction that reaches into a second page faults once more: it is the same store.
  if (open_count == 0 && is_acting && __atomic_load_n(&armed, __ATOMIC_RELAXED) && !is_quiet(found, address))
    rules.point();
  uintptr_t page = address & ~(uintptr_t)(PAGE - 1);
  open_pages[open_count++] = page;
  protect(page, PAGE, PROT_READ | PROT_WRITE);
  context->uc_mcontext.gregs[REG_EFL] |= TRAP_FLAG;
}

static void on_trap(int signal, siginfo_t *info, void *raw) {
  (void)signal;
  (void)info;
  ucontext_t *context = raw;
  if (__atomic_load_n(&armed, __ATOMIC_RELAXED))
    for (int i = 0; i < open_count; i++) {
      range *found = find(open_pages[i]);
      if (found) shut(found, open_pages[i], open_pages[i] + PAGE);
    }
  open_count = 0;
  context->uc_mcontext.gregs[REG_EFL] &= ~(greg_t)TRAP_FLAG;
}

static void all(bool closed) {
  for (int i = 0; i < RANGES; i++) {
    if (!ranges[i].writable) continue;
    if (closed) {
      shut(&ranges[i], ranges[i].start, ranges[i].end);
    } else {
      protect(ranges[i].start, ranges[i].end - ranges[i].start, PROT_READ | PROT_WRITE);
    }
  }
}

static void mapped(void *address, size_t length, bool is_mapped, bool writable) {
  uintptr_t start = (uintptr_t)address, end = (start + length + PAGE - 1) & ~(uintptr_t)(PAGE - 1);
  for (int i = 0; i < RANGES; i++)
    if (ranges[i].start == start) ranges[i] = (range){0};
  if (!is_mapped) return;
  for (int i = 0; i < RANGES; i++)
    if (ranges[i].start == 0) {
      ranges[i] = (range){start, end, writable};
      if (writable && armed) shut(&ranges[i], start, end);
      return;
    }
  abort();
}

static void in_kernel(void *address, size_t length, bool begins) {
  range *found = find((uintptr_t)address);
  if (!found || !armed) return;
  uintptr_t start = (uintptr_t)address & ~(uintptr_t)(PAGE - 1);
  uintptr_t end = ((uintptr_t)address + length + PAGE - 1) & ~(uintptr_t)(PAGE - 1);
  if (begins) {
    protect(start, end - start, PROT_READ | PROT_WRITE);
  } else {
    shut(found, start, end);
  }
}

static reef_watcher watcher = {mapped, in_kernel, NULL, NULL};

void points_watch(void (*call)(void), void (*sleep)(bool begins, bool timed_out)) {
  watcher.call = call;
  watcher.sleep = sleep;
  reef_watch = &watcher;
  // What follows is touched once here: a first touch in a handler might need the dynamic linker.
  is_acting = false;
  open_count = 0;
}

bool points_acting(void) { return is_acting && __atomic_load_n(&armed, __ATOMIC_RELAXED); }

void points_arm(const points_rules *wanted) {
  static char stack[65536] __attribute__((aligned(16)));
  rules = *wanted;
  sigaltstack(&(stack_t){.ss_sp = stack, .ss_size = sizeof stack}, NULL);
  struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};
  sigfillset(&action.sa_mask);
  static bool is_installed;
  if (!is_installed) {
    is_installed = true;
    sigaction(SIGSEGV, &action, &before_fault);
    action.sa_sigaction = on_trap;
    sigaction(SIGTRAP, &action, &before_trap);
  }
  is_acting = true;
  __atomic_store_n(&armed, 1, __ATOMIC_RELEASE);
  all(true);
}

void points_disarm(void) {
  // The handlers stay: another thread may be on its way into one.
  __atomic_store_n(&armed, 0, __ATOMIC_RELEASE);
  is_acting = false;
  all(false);
}

static void count(void) {
  stores += 1;
  if (stores == last_store) stepper_die();
}

void stepper_watch(void) { points_watch(NULL, NULL); }

void stepper_arm(uint64_t last) {
  stores = 0;
  last_store = last;
  points_arm(&(points_rules){.point = count});
}

uint64_t stepper_disarm(void) {
  points_disarm();
  return stores;
}

#else

bool stepper_supported(void) { return false; }
void stepper_watch(void) {}
void stepper_arm(uint64_t last) { (void)last; }
uint64_t stepper_disarm(void) { return 0; }
void points_watch(void (*call)(void), void (*sleep)(bool begins, bool timed_out)) {
  (void)call;
  (void)sleep;
}
void points_arm(const points_rules *wanted) { (void)wanted; }
void points_disarm(void) {}
bool points_acting(void) { return false; }

#endif
