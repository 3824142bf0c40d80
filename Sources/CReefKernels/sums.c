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

// The largest value is found in the same pass: it goes on with the power of two that fitted last time, and is done once more
// where that was too small. NaN and infinities come out as a sum that is not a number.

/// One pass with a power of two. False: it was too small for `size`, or something was left.
REEF_INLINE int pass(const double *values, uint32_t count, int exponent, double parts[2], double *least, double *most,
                     double *size) {
  const lanes sigma = (lanes)ldexp(1, exponent + 9);
  const lanes second = (lanes)ldexp(1, exponent + 9 - 44);
  lanes sum = (lanes)0, rest_sum = (lanes)0;
  lanes low = (lanes)INFINITY, high = (lanes)-INFINITY;
  mask_lanes left = (mask_lanes){0};
  for (uint32_t i = 0; i < count; i += width) {
    lanes v;
    memcpy(&v, values + i, sizeof v);
    low = v < low ? v : low;
    high = v > high ? v : high;
    lanes part = (sigma + v) - sigma;
    lanes rest = v - part;
    lanes next = (second + rest) - second;
    sum += part;
    rest_sum += next;
    left |= (mask_lanes)rest ^ (mask_lanes)next;
  }
  double bottom = low[0], top = high[0];
  int64_t any = left[0];
  parts[0] = sum[0];
  parts[1] = rest_sum[0];
  for (int i = 1; i < width; i++) {
    bottom = low[i] < bottom ? low[i] : bottom;
    top = high[i] > top ? high[i] : top;
    any |= left[i];
    parts[0] += sum[i];
    parts[1] += rest_sum[i];
  }
  *least = bottom;
  *most = top;
  *size = fabs(bottom) > fabs(top) ? fabs(bottom) : fabs(top);
  // A rest of -0 is no rest.
  return !(any & INT64_MAX) && *size <= ldexp(1, exponent);
}

REEF_CLONES int reef_sum_parts(const double *values, uint32_t count, int *exponent, double parts[2], double *least,
                               double *most) {
  double size;
  if (pass(values, count, *exponent, parts, least, most, &size)) return parts[0] - parts[0] == 0;
  // Sums beyond the range, and parts below it, are left to the plain way. NaN compares with nothing.
  if (!(size < 0x1p+900) || size < 0x1p-700) return 0;
  int fitting;
  (void)frexp(size, &fitting);
  if (fitting == *exponent) return 0;
  *exponent = fitting;
  return pass(values, count, fitting, parts, least, most, &size) && parts[0] - parts[0] == 0;
}
