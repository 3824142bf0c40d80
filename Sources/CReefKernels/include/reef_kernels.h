#ifndef REEF_KERNELS_H
#define REEF_KERNELS_H

#include <stdint.h>

// Kernels over one leaf: at most 256 values, answers as a mask of 256 bits (four words, bit set: the row matches).
// Every mask kernel writes all four words; bits at and beyond `count` are clear. None reads beyond the last value.
// Little-endian machines only, as the format.

/// Asks for a cache line ahead of its use.
static inline void reef_prefetch(const void *at) { __builtin_prefetch(at); }

// MARK: Ranges

/// Values v with lo <= v <= hi. Signed and unsigned alike: what counts is that hi is reached from lo going up.
void reef_range_8(const void *values, uint32_t count, uint8_t lo, uint8_t hi, uint64_t out[4]);
void reef_range_16(const void *values, uint32_t count, uint16_t lo, uint16_t hi, uint64_t out[4]);
void reef_range_32(const void *values, uint32_t count, uint32_t lo, uint32_t hi, uint64_t out[4]);
void reef_range_64(const void *values, uint32_t count, uint64_t lo, uint64_t hi, uint64_t out[4]);
/// IEEE: NaN lies in no range, -0.0 equals 0.0.
void reef_range_double(const void *values, uint32_t count, double lo, double hi, uint64_t out[4]);
void reef_range_float(const void *values, uint32_t count, float lo, float hi, uint64_t out[4]);

// MARK: Differences

/// Rows whose `width` bytes (1, 2, 4, 8 or 16) differ.
void reef_differ(const void *a, const void *b, uint32_t count, uint32_t width, uint64_t out[4]);

// MARK: Text

/// Where the bytes of a leaf's strings lie: fixed length, or end offsets of 2 or 4 bytes followed by the bytes.
typedef struct {
  const void *values;
  uint32_t count;
  /// 0: fixed length; else width of an end offset.
  uint32_t width;
  uint32_t value_length;
  /// Bytes that follow the end offsets.
  uint64_t byte_count;
} reef_text;

enum {
  reef_text_equal = 0,
  reef_text_prefix = 1,
  reef_text_suffix = 2,
  reef_text_contains = 3,
  reef_text_less = 4,
  reef_text_less_or_equal = 5,
};

/// Compares every value with the needle. 0, or -1 when an end offset leads out of the node.
int reef_text_match(const reef_text *text, int mode, const void *needle, uint64_t length, uint64_t out[4]);

/// Whether one string stands in the given relation to the needle.
int reef_bytes_match(const void *bytes, uint64_t count, int mode, const void *needle, uint64_t length);

// MARK: Aggregates, over the rows in a mask

typedef struct {
  /// Sum in 128 bits.
  int64_t high;
  uint64_t low;
  int64_t least;
  int64_t most;
} reef_int_aggregate;

/// Adds to an aggregate; `width` is 1, 2, 4 or 8 bytes, two's complement (or unsigned, for 8, where asked).
/// `least` and `most` must begin as the largest and the smallest value.
void reef_aggregate_int(const void *values, uint32_t width, int is_unsigned, const uint64_t mask[4],
                        reef_int_aggregate *into);

/// An exact sum of doubles: the result is the true sum rounded once, whatever the order of the values.
///
/// 32-bit digits with room for carries, after Neal, "Fast exact summation using small and large superaccumulators".
typedef struct {
  int64_t digits[68];
  uint32_t pending;
  uint32_t has_nan, has_infinity, has_negative_infinity;
  /// NaN aside; count of numbers seen.
  uint64_t numbers;
  double least, most;
  /// What `reef_sum_parts` guesses by.
  int exponent;
} reef_double_aggregate;

void reef_aggregate_begin(reef_double_aggregate *into);
void reef_aggregate_double(const void *values, const uint64_t mask[4], reef_double_aggregate *into);
/// The same, value by value: what the tests compare with.
void reef_aggregate_double_plainly(const void *values, const uint64_t mask[4], reef_double_aggregate *into);
void reef_aggregate_float(const void *values, const uint64_t mask[4], reef_double_aggregate *into);
double reef_aggregate_sum(const reef_double_aggregate *of);

#endif
