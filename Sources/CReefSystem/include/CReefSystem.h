// System calls that Swift cannot reach: variadic, macro-only, or without a C library wrapper.
// Every function that can fail returns a value ≥ 0, or minus an errno: no caller reads `errno`.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#pragma clang assume_nonnull begin

// Futexes (never private: the words lie in files that several processes map)
/// Sleeps while `*word == expected`, until the absolute CLOCK_MONOTONIC time `deadline` (UINT64_MAX: for ever).
long reef_futex_wait(void *word, uint32_t expected, uint64_t deadline, uint32_t mask);
long reef_futex_wake(void *word, int count, uint32_t mask);
/// A sleep after which one looks again what others have done.
void reef_sleep(uint32_t microseconds);

// Files
enum { REEF_READ_ONLY = 0, REEF_READ_WRITE = 1, REEF_PATH_ONLY = 2 };
enum { REEF_CREATE = 1, REEF_EXCLUSIVE = 2, REEF_NONBLOCK = 4, REEF_DIRECTORY = 8, REEF_FOLLOW = 16 };
/// O_CLOEXEC always, O_NOFOLLOW unless told otherwise; the descriptor is never 0, 1 or 2.
long reef_open(int directory, const char *path, int access, int options, uint32_t mode);
long reef_close(int descriptor);
typedef struct {
  uint64_t device, inode, links;
  int64_t size, blocks;
  uint32_t mode, owner, group;
  bool isRegular, isFIFO, isDirectory, isLink;
} reef_status;
long reef_fstat(int descriptor, reef_status *out);
long reef_stat(int directory, const char *path, reef_status *out);
long reef_unlink(int directory, const char *path);
long reef_mkfifo(int directory, const char *path, uint32_t mode);
long reef_fchmod(int descriptor, uint32_t mode);
long reef_fchown(int descriptor, uint32_t owner, uint32_t group);
long reef_ftruncate(int descriptor, int64_t size);
long reef_fallocate(int descriptor, int64_t offset, int64_t length);
long reef_punch(int descriptor, int64_t offset, int64_t length);
long reef_fsync(int descriptor);
long reef_fdatasync(int descriptor);
long reef_read(int descriptor, void *bytes, size_t count);
long reef_write(int descriptor, const void *bytes, size_t count);
long reef_pread(int descriptor, void *bytes, size_t count, int64_t offset);
/// One write; `synchronous` makes it durable before it returns (RWF_DSYNC).
long reef_pwrite(int descriptor, const void *bytes, size_t count, int64_t offset, bool synchronous);
long reef_memfd(const char *name);
/// Name → 1 when renamed, and an error when the new name exists.
long reef_rename_new(int directory, const char *from, const char *to);
/// The canonical path, at most 4,096 bytes with its NUL.
long reef_realpath(const char *path, char *out);
long reef_statfs_magic(int descriptor);

// Open-file-description locks on one byte
enum { REEF_UNLOCK = 0, REEF_SHARED = 1, REEF_EXCLUSIVE_LOCK = 2 };
long reef_lock(int descriptor, int64_t offset, int kind);
/// 1 when another description holds a lock that an exclusive one would meet, 0 when none does.
long reef_lock_held(int descriptor, int64_t offset);

// Mappings
/// The address, or minus an errno (addresses of user space are never negative). Ranges of 2 MiB and more begin at a
/// multiple of 2 MiB, where large pages can be.
long reef_map(size_t length, bool writable, int descriptor, int64_t offset);
long reef_map_private(size_t length);
long reef_unmap(void *address, size_t length);
long reef_protect(void *address, size_t length, bool writable);
long reef_advise_wipe_on_fork(void *address, size_t length);
long reef_advise_dont_fork(void *address, size_t length);
long reef_advise_dont_dump(void *address, size_t length);
long reef_advise_populate(void *address, size_t length);
/// Gives the range, whole large pages of which a part is in memory, large pages; an error where the kernel has none.
long reef_advise_collapse(void *address, size_t length);
long reef_sync_range(void *address, size_t length);
long reef_resident(void *address, size_t length, uint8_t *out);
/// For tools that look at each store into shared memory; asked at system calls only, null where nobody looks.
typedef struct {
  /// A shared range came, with this protection from now on, or (`is_mapped` false) is about to go.
  void (*mapped)(void *address, size_t length, bool is_mapped, bool writable);
  /// The kernel is going to read or write there, or has.
  void (*in_kernel)(void *address, size_t length, bool begins);
  /// A system call begins whose effect other processes see, or which sees theirs. Null: not wanted.
  void (*_Nullable call)(void);
  /// The thread is going to sleep until others have done something, or does no longer. Null: not wanted.
  void (*_Nullable sleep)(bool begins, bool timed_out);
} reef_watcher;
extern const reef_watcher *_Nullable reef_watch;

// Events
long reef_epoll_create(void);
long reef_epoll_add(int epoll, int descriptor, bool edgeTriggered);
long reef_epoll_wait(int epoll, int milliseconds);
/// A timer that ticks every `nanoseconds`.
long reef_timer_create(uint64_t nanoseconds);

// This host and process
uint64_t reef_monotonic(void);
uint64_t reef_realtime(void);
uint64_t reef_realtime_coarse(void);
long reef_random(void *bytes, size_t count);
void reef_pause(void);
/// Processors that this thread may run on; 1 where the kernel does not say.
int reef_allowed_processors(void);
long reef_current_node(void);

// Threads
/// To be joined or detached.
typedef void (*reef_thread_body)(void *_Nullable context);
long reef_thread_start(uint64_t *out, reef_thread_body body, void *_Nullable context, const char *name);
long reef_thread_join(uint64_t thread);
long reef_thread_detach(uint64_t thread);

// fork: one process-wide mutex that is never held across a fork by another thread, and descriptors that children close
void reef_fork_lock(void);
void reef_fork_unlock(void);
/// 1 in the process that first asked; raised in every child of `fork`.
uint64_t reef_fork_generation(void);
/// Call with the fork lock held.
long reef_fork_close_in_child(int descriptor);
void reef_fork_forget(int descriptor);

/// XXH3 of a root slot's 120 bytes before its checksum.
uint64_t reef_slot_checksum(const void *slot);

// Barriers that one side pays for
/// From now on `reef_barrier_everywhere` reaches this process. Slow where it has several threads.
long reef_barrier_register(void);
/// Whether this process has never had a second thread, as far as the C library can tell.
bool reef_is_single_threaded(void);
/// Every thread of every registered process passes a full barrier before this returns.
long reef_barrier_everywhere(void);
/// Keeps the compiler from moving memory accesses across; the processor may.
static inline void reef_compiler_barrier(void) { __atomic_signal_fence(__ATOMIC_SEQ_CST); }

// Faults: one relaxed load when nobody asked for any
extern int32_t reef_faults_word;
static inline bool reef_faults_armed(void) { return __builtin_expect(__atomic_load_n(&reef_faults_word, __ATOMIC_RELAXED) != 0, 0); }
void reef_faults_arm(bool on);
void reef_kill_self(bool stopOnly);

// One reader slot a thread keeps, per store, so that opening a snapshot needs no atomic exchange
enum { REEF_SLOT_WAYS = 4 };
typedef struct {
  uint64_t token;
  uint64_t *_Nullable map;
  /// Slot + 1; 0: none.
  int64_t slot;
} reef_kept_slot;
extern _Thread_local reef_kept_slot reef_kept_slots[REEF_SLOT_WAYS];
/// A cached slot of this thread, or −1.
static inline int64_t reef_slot_take(uint64_t token) {
  reef_kept_slot *entry = &reef_kept_slots[token % REEF_SLOT_WAYS];
  if (entry->token != token) return -1;
  int64_t slot = entry->slot - 1;
  entry->slot = 0;
  return slot;
}
/// False when this thread already keeps one: the caller puts it elsewhere. `map` gets the slot's bit when the thread ends.
bool reef_slot_keep_first(uint64_t token, uint64_t *map, int64_t slot);
static inline bool reef_slot_keep(uint64_t token, uint64_t *map, int64_t slot) {
  reef_kept_slot *entry = &reef_kept_slots[token % REEF_SLOT_WAYS];
  if (__builtin_expect(entry->token != token || entry->slot != 0, 0)) return reef_slot_keep_first(token, map, slot);
  entry->slot = slot + 1;
  return true;
}
/// Call with the fork lock held: from now on (or no longer) ended threads give slots of `token` back.
bool reef_slot_token_live(uint64_t token, bool live);

#pragma clang assume_nonnull end
