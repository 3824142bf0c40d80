#include "CReefSystem.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/falloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>

#define RESULT(call)            \
  ({                            \
    long _r = (long)(call);     \
    _r < 0 ? -(long)errno : _r; \
  })

// For what other processes see, or what sees what they do.
const reef_watcher *reef_watch;
#define SEEN(effect)                                        \
  ({                                                        \
    if (reef_watch && reef_watch->call) reef_watch->call(); \
    RESULT(effect);                                         \
  })

#ifndef RWF_DSYNC
#define RWF_DSYNC 2
#endif
#ifndef RENAME_NOREPLACE
#define RENAME_NOREPLACE 1
#endif

long reef_open(int directory, const char *path, int access, int options, uint32_t mode) {
  int flags = O_CLOEXEC | O_NOCTTY;
  flags |= access == REEF_READ_WRITE ? O_RDWR : access == REEF_PATH_ONLY ? O_PATH : O_RDONLY;
  if (options & REEF_CREATE) flags |= O_CREAT;
  if (options & REEF_EXCLUSIVE) flags |= O_EXCL;
  if (options & REEF_NONBLOCK) flags |= O_NONBLOCK;
  if (options & REEF_DIRECTORY) flags |= O_DIRECTORY;
  if (!(options & REEF_FOLLOW)) flags |= O_NOFOLLOW;
  if (reef_watch && reef_watch->call) reef_watch->call();
  int descriptor = openat(directory < 0 ? AT_FDCWD : directory, path, flags, (mode_t)mode);
  if (descriptor < 0) return -(long)errno;
  if (descriptor < 3) {
    // A program that prints to a closed stderr must not write into a store.
    int higher = fcntl(descriptor, F_DUPFD_CLOEXEC, 3);
    long error = higher < 0 ? -(long)errno : 0;
    close(descriptor);
    if (higher < 0) return error;
    descriptor = higher;
  }
  return descriptor;
}

long reef_close(int descriptor) { return RESULT(close(descriptor)); }

static long status(long result, const struct stat *from, reef_status *out) {
  if (result < 0) return -(long)errno;
  *out = (reef_status){
      .device = from->st_dev,
      .inode = from->st_ino,
      .links = from->st_nlink,
      .size = from->st_size,
      .blocks = from->st_blocks,
      .mode = from->st_mode & 07777,
      .owner = from->st_uid,
      .group = from->st_gid,
      .isRegular = S_ISREG(from->st_mode),
      .isFIFO = S_ISFIFO(from->st_mode),
      .isDirectory = S_ISDIR(from->st_mode),
      .isLink = S_ISLNK(from->st_mode),
  };
  return 0;
}

long reef_fstat(int descriptor, reef_status *out) {
  struct stat from;
  return status(fstat(descriptor, &from), &from, out);
}

long reef_stat(int directory, const char *path, reef_status *out) {
  struct stat from;
  if (reef_watch && reef_watch->call) reef_watch->call();
  return status(fstatat(directory < 0 ? AT_FDCWD : directory, path, &from, AT_SYMLINK_NOFOLLOW), &from, out);
}

long reef_unlink(int directory, const char *path) {
  return SEEN(unlinkat(directory < 0 ? AT_FDCWD : directory, path, 0));
}
long reef_mkfifo(int directory, const char *path, uint32_t mode) {
  return SEEN(mkfifoat(directory < 0 ? AT_FDCWD : directory, path, (mode_t)mode));
}
long reef_fchmod(int descriptor, uint32_t mode) { return RESULT(fchmod(descriptor, (mode_t)mode)); }
long reef_fchown(int descriptor, uint32_t owner, uint32_t group) { return RESULT(fchown(descriptor, owner, group)); }
long reef_ftruncate(int descriptor, int64_t size) { return SEEN(ftruncate(descriptor, size)); }
long reef_fallocate(int descriptor, int64_t offset, int64_t length) {
  return SEEN(fallocate(descriptor, 0, offset, length));
}
long reef_punch(int descriptor, int64_t offset, int64_t length) {
  return SEEN(fallocate(descriptor, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset, length));
}
long reef_fsync(int descriptor) { return SEEN(fsync(descriptor)); }
long reef_fdatasync(int descriptor) { return SEEN(fdatasync(descriptor)); }
long reef_read(int descriptor, void *bytes, size_t count) { return RESULT(read(descriptor, bytes, count)); }
long reef_write(int descriptor, const void *bytes, size_t count) { return SEEN(write(descriptor, bytes, count)); }

long reef_pread(int descriptor, void *bytes, size_t count, int64_t offset) {
  if (reef_watch) reef_watch->in_kernel(bytes, count, true);
  long result = RESULT(pread(descriptor, bytes, count, offset));
  if (reef_watch) reef_watch->in_kernel(bytes, count, false);
  return result;
}
long reef_pwrite(int descriptor, const void *bytes, size_t count, int64_t offset, bool synchronous) {
  struct iovec vector = {(void *)bytes, count};
  return SEEN(pwritev2(descriptor, &vector, 1, offset, synchronous ? RWF_DSYNC : 0));
}
long reef_memfd(const char *name) { return RESULT(memfd_create(name, MFD_CLOEXEC)); }
long reef_rename_new(int directory, const char *from, const char *to) {
  int at = directory < 0 ? AT_FDCWD : directory;
  return SEEN(syscall(SYS_renameat2, at, from, at, to, RENAME_NOREPLACE));
}
long reef_realpath(const char *path, char *out) { return realpath(path, out) ? 0 : -(long)errno; }
long reef_statfs_magic(int descriptor) {
  struct statfs from;
  if (fstatfs(descriptor, &from) < 0) return -(long)errno;
  return (long)(uint32_t)from.f_type;
}

long reef_lock(int descriptor, int64_t offset, int kind) {
  struct flock lock = {
      .l_type = kind == REEF_UNLOCK ? F_UNLCK : kind == REEF_SHARED ? F_RDLCK : F_WRLCK,
      .l_whence = SEEK_SET,
      .l_start = offset,
      .l_len = 1,
  };
  return SEEN(fcntl(descriptor, F_OFD_SETLK, &lock));
}

long reef_lock_held(int descriptor, int64_t offset) {
  struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = offset, .l_len = 1};
  long result = SEEN(fcntl(descriptor, F_OFD_GETLK, &lock));
  if (result < 0) return result;
  return lock.l_type != F_UNLCK;
}

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#endif

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif
enum { LARGE_PAGE = 2 << 20 };

static long map_shared(size_t length, bool writable, int descriptor, int64_t offset) {
  int protection = PROT_READ | (writable ? PROT_WRITE : 0), flags = MAP_SHARED | MAP_NORESERVE;
  char *address = mmap(NULL, length, protection, flags, descriptor, offset);
  if (address == MAP_FAILED) return -(long)errno;
  if (length < LARGE_PAGE || (uintptr_t)address % LARGE_PAGE == 0) return (long)address;
  // Once more, in the middle of a range that surely holds an aligned one; where that is refused, as it is.
  char *range = mmap(NULL, length + LARGE_PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (range == MAP_FAILED) return (long)address;
  size_t before = (LARGE_PAGE - (uintptr_t)range % LARGE_PAGE) % LARGE_PAGE;
  char *aligned = mmap(range + before, length, protection, flags | MAP_FIXED, descriptor, offset);
  if (aligned == MAP_FAILED) {
    munmap(range, length + LARGE_PAGE);
    return (long)address;
  }
  if (before > 0) munmap(range, before);
  size_t end = before + (length + 4095) / 4096 * 4096;
  if (end < length + LARGE_PAGE) munmap(range + end, length + LARGE_PAGE - end);
  munmap(address, length);
  return (long)aligned;
}
long reef_map(size_t length, bool writable, int descriptor, int64_t offset) {
  long address = map_shared(length, writable, descriptor, offset);
  if (reef_watch && address > 0) reef_watch->mapped((void *)address, length, true, writable);
  return address;
}
long reef_map_private(size_t length) {
  void *address = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return address == MAP_FAILED ? -(long)errno : (long)address;
}
long reef_unmap(void *address, size_t length) {
  if (reef_watch) reef_watch->mapped(address, length, false, false);
  return RESULT(munmap(address, length));
}
long reef_protect(void *address, size_t length, bool writable) {
  long result = RESULT(mprotect(address, length, PROT_READ | (writable ? PROT_WRITE : 0)));
  if (reef_watch && result == 0) reef_watch->mapped(address, length, true, writable);
  return result;
}
long reef_advise_wipe_on_fork(void *address, size_t length) { return RESULT(madvise(address, length, MADV_WIPEONFORK)); }
long reef_advise_dont_fork(void *address, size_t length) { return RESULT(madvise(address, length, MADV_DONTFORK)); }
long reef_advise_dont_dump(void *address, size_t length) { return RESULT(madvise(address, length, MADV_DONTDUMP)); }
long reef_advise_populate(void *address, size_t length) {
  return RESULT(madvise(address, length, MADV_POPULATE_READ));
}
long reef_advise_collapse(void *address, size_t length) { return RESULT(madvise(address, length, MADV_COLLAPSE)); }
long reef_sync_range(void *address, size_t length) { return RESULT(msync(address, length, MS_SYNC)); }
long reef_resident(void *address, size_t length, uint8_t *out) { return RESULT(mincore(address, length, out)); }
