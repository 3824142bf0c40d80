/* What one durable block costs: the bound of W7 `full`. */
#include "bench.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

int bench_floor_durable(const char *path, int dsync, int64_t count, uint64_t *each) {
  int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600), code = 0;
  if (fd < 0) return -errno;
  enum { blocks = 256 };
  static _Alignas(4096) char block[4096];
  /* Written and synced before: no block is allocated, no size changed, under the clock. */
  for (int i = 0; i < blocks && !code; i++) {
    if (pwrite(fd, block, sizeof block, (off_t)i * 4096) != sizeof block) code = -errno;
  }
  if (!code && fsync(fd)) code = -errno;
  for (int64_t k = 0; k < count && !code; k++) {
    uint64_t t = bench_now();
    off_t place = (off_t)(k % blocks) * 4096;
    memcpy(block, &k, sizeof k);
    if (dsync) {
      struct iovec part = {block, sizeof block};
      if (pwritev2(fd, &part, 1, place, RWF_DSYNC) != sizeof block) code = -errno;
    } else {
      if (pwrite(fd, block, sizeof block, place) != sizeof block || fdatasync(fd)) code = -errno;
    }
    each[k] = bench_now() - t;
  }
  close(fd), unlink(path);
  return code;
}
