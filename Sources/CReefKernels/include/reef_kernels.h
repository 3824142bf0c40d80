#ifndef REEF_KERNELS_H
#define REEF_KERNELS_H

#include <stdint.h>

/// Kernels over one leaf: at most 256 values, answers as a mask of 256 bits (four words, bit set: the row matches).
/// Every function writes all four words; bits at and beyond `count` are clear.

#endif
