#ifndef REEF_SUMS_H
#define REEF_SUMS_H

#include <stdint.h>

/// Two doubles whose sum, unrounded, is that of `count` doubles (a multiple of 8, at most 256), with their least and
/// greatest. 0 where the values do not lend themselves to it: NaN, infinities, the ends of the range, and magnitudes more
/// than about 2^35 apart. Then they are to be added one by one.
///
/// `exponent`: a guess at the power of two that no value exceeds, 0 at first; corrected for the next call.
int reef_sum_parts(const double *values, uint32_t count, int *exponent, double parts[2], double *least, double *most);

#endif
