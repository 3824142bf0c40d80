#include "clones.h"
#include "reef_sums.h"
#include <math.h>

// Exact sums of one leaf in vector code, after Rump, Ogita and Oishi, "Accurate floating-point summation" (ExtractVector).
//
// Adding a power of two, sigma, to a value and taking it away again leaves the value's high part: a multiple of
// sigma * 2^-53. Where sigma is 2^9 times the largest value, 256 such parts add up without rounding. What is left of the
// values is below sigma * 2^-53; a second sigma takes the next 44 bits. Then, for all but wild mixtures of magnitudes,
// nothing is left, and the leaf's sum is exactly the two parts: two additions to the superaccumulator instead of 256.

typedef double lanes __attribute__((ext_vector_type(8)));
typedef int64_t mask_lanes __attribute__((ext_vector_type(8)));

enum { width = 8 };

REEF_CLONES int reef_sum_parts(const double *values, uint32_t count, double parts[2], double *least, double *most) {
  const lanes absent = (lanes)0;
  lanes low = (lanes)INFINITY, high = (lanes)-INFINITY;
  mask_lanes ordered = ~(mask_lanes){0};
  for (uint32_t i = 0; i < count; i += width) {
    lanes v;
    memcpy(&v, values + i, sizeof v);
    ordered &= v == v;
    low = v < low ? v : low;
    high = v > high ? v : high;
  }
  int64_t all = ordered[0] & ordered[1] & ordered[2] & ordered[3] & ordered[4] & ordered[5] & ordered[6] & ordered[7];
  double bottom = low[0], top = high[0];
  for (int i = 1; i < width; i++) {
    bottom = low[i] < bottom ? low[i] : bottom;
    top = high[i] > top ? high[i] : top;
  }
  double size = fabs(bottom) > fabs(top) ? fabs(bottom) : fabs(top);
  // Sums beyond the range, and parts below it, are left to the plain way.
  if (!all || !(size < 0x1p+900) || (size < 0x1p-700 && size != 0)) return 0;
  *least = bottom;
  *most = top;
  parts[0] = parts[1] = 0;
  if (size == 0) return 1;
  int exponent;
  (void)frexp(size, &exponent);
  const lanes sigma = (lanes)ldexp(1, exponent + 9);
  const lanes second = (lanes)ldexp(1, exponent + 9 - 44);
  lanes sum = absent, rest_sum = absent;
  mask_lanes left = (mask_lanes){0};
  for (uint32_t i = 0; i < count; i += width) {
    lanes v;
    memcpy(&v, values + i, sizeof v);
    lanes part = (sigma + v) - sigma;
    lanes rest = v - part;
    lanes next = (second + rest) - second;
    sum += part;
    rest_sum += next;
    left |= rest != next;
  }
  for (int i = 0; i < width; i++) {
    if (left[i]) return 0;
  }
  for (int i = 0; i < width; i++) {
    parts[0] += sum[i];
    parts[1] += rest_sum[i];
  }
  return 1;
}
