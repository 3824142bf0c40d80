#include "clones.h"
#include "reef_kernels.h"
#include "reef_sums.h"
#include <math.h>

#define EACH_ROW(mask, body)                                                                                          \
  for (uint32_t word = 0; word < 4; word++) {                                                                         \
    for (uint64_t left = (mask)[word]; left; left &= left - 1) {                                                      \
      uint32_t row = word * 64 + (uint32_t)__builtin_ctzll(left);                                                     \
      body                                                                                                            \
    }                                                                                                                 \
  }

// Whole words of rows take a loop that the compiler can vectorise.
#define NARROW(type)                                                                                                  \
  do {                                                                                                                \
    const char *at = values;                                                                                          \
    int64_t sum = 0, least = into->least, most = into->most;                                                          \
    for (uint32_t word = 0; word < 4; word++) {                                                                       \
      uint64_t left = mask[word];                                                                                     \
      const char *base = at + (uint64_t)word * 64 * sizeof(type);                                                     \
      if (left == ~0ull) {                                                                                            \
        type low, high;                                                                                               \
        memcpy(&low, base, sizeof(type));                                                                             \
        high = low;                                                                                                   \
        int64_t part = 0;                                                                                             \
        for (uint32_t i = 0; i < 64; i++) {                                                                           \
          type v;                                                                                                     \
          memcpy(&v, base + i * sizeof(type), sizeof(type));                                                          \
          part += v;                                                                                                  \
          low = v < low ? v : low;                                                                                    \
          high = v > high ? v : high;                                                                                 \
        }                                                                                                             \
        sum += part;                                                                                                  \
        least = low < least ? low : least;                                                                            \
        most = high > most ? high : most;                                                                             \
        continue;                                                                                                     \
      }                                                                                                               \
      for (; left; left &= left - 1) {                                                                                \
        type v;                                                                                                       \
        memcpy(&v, base + (uint32_t)__builtin_ctzll(left) * sizeof(type), sizeof(type));                              \
        sum += v;                                                                                                     \
        least = v < least ? v : least;                                                                                \
        most = v > most ? v : most;                                                                                   \
      }                                                                                                               \
    }                                                                                                                 \
    add_wide(into, sum);                                                                                              \
    into->least = least;                                                                                              \
    into->most = most;                                                                                                \
  } while (0)

REEF_INLINE void add_wide(reef_int_aggregate *into, __int128 value) {
  unsigned __int128 total = ((unsigned __int128)(uint64_t)into->high << 64) | into->low;
  total += (unsigned __int128)value;
  into->high = (int64_t)(uint64_t)(total >> 64);
  into->low = (uint64_t)total;
}

REEF_CLONES void reef_aggregate_int(const void *values, uint32_t width, int is_unsigned, const uint64_t mask[4],
                                    reef_int_aggregate *into) {
  switch (width) {
  case 1: NARROW(int8_t); return;
  case 2: NARROW(int16_t); return;
  case 4: NARROW(int32_t); return;
  default: break;
  }
  const char *at = values;
  __int128 sum = 0;
  if (is_unsigned) {
    uint64_t least = (uint64_t)into->least, most = (uint64_t)into->most;
    EACH_ROW(mask, {
      uint64_t v;
      memcpy(&v, at + row * 8, 8);
      sum += v;
      least = v < least ? v : least;
      most = v > most ? v : most;
    })
    into->least = (int64_t)least;
    into->most = (int64_t)most;
  } else {
    int64_t least = into->least, most = into->most;
    EACH_ROW(mask, {
      int64_t v;
      memcpy(&v, at + row * 8, 8);
      sum += v;
      least = v < least ? v : least;
      most = v > most ? v : most;
    })
    into->least = least;
    into->most = most;
  }
  add_wide(into, sum);
}

// MARK: Exact sums

enum { digit_count = sizeof(((reef_double_aggregate *)0)->digits) / sizeof(int64_t) };

void reef_aggregate_begin(reef_double_aggregate *into) {
  memset(into, 0, sizeof *into);
  into->least = INFINITY;
  into->most = -INFINITY;
}

/// Leaves every digit but the last between 0 and 2^32 - 1.
static void carry(int64_t digits[digit_count]) {
  for (int i = 0; i < digit_count - 1; i++) {
    digits[i + 1] += digits[i] >> 32;
    digits[i] &= 0xffffffff;
  }
}

REEF_INLINE void add(reef_double_aggregate *into, double value) {
  uint64_t bits;
  memcpy(&bits, &value, 8);
  uint32_t exponent = (uint32_t)(bits >> 52) & 0x7ff;
  int64_t mantissa = (int64_t)(bits & 0xfffffffffffffull);
  if (__builtin_expect(exponent == 0x7ff, 0)) {
    if (mantissa) {
      into->has_nan = 1;
      return;
    }
    if (bits >> 63) into->has_negative_infinity = 1;
    else into->has_infinity = 1;
  } else {
    // The lowest bit of the mantissa weighs 2^(place - 1074).
    uint32_t place = exponent ? exponent - 1 : 0;
    if (exponent) mantissa |= 1ll << 52;
    uint32_t shift = place & 31;
    int64_t low = (int64_t)(((uint64_t)mantissa << shift) & 0xffffffff);
    int64_t high = mantissa >> (32 - shift);
    int64_t sign = -(int64_t)(bits >> 63);
    int64_t *digit = into->digits + (place >> 5);
    digit[0] += (low ^ sign) - sign;
    digit[1] += (high ^ sign) - sign;
  }
  into->least = value < into->least ? value : into->least;
  into->most = value > into->most ? value : into->most;
  into->numbers++;
}

/// Up to 256 values: as two parts where that is exact, else one by one.
REEF_INLINE void add_all(reef_double_aggregate *into, const double *values, uint32_t count) {
  uint32_t whole = count & ~7u;
  double parts[2], least, most;
  if (whole && reef_sum_parts(values, whole, &into->exponent, parts, &least, &most)) {
    reef_double_aggregate before = {.numbers = into->numbers, .least = into->least, .most = into->most};
    add(into, parts[0]);
    add(into, parts[1]);
    into->numbers = before.numbers + whole;
    into->least = least < before.least ? least : before.least;
    into->most = most > before.most ? most : before.most;
  } else {
    whole = 0;
  }
  for (uint32_t i = whole; i < count; i++) add(into, values[i]);
}

/// The number of rows where the mask holds the first rows of the leaf and no others; else 0.
REEF_INLINE uint32_t leading_rows(const uint64_t mask[4]) {
  uint32_t rows = 0;
  int word = 0;
  while (word < 4 && mask[word] == ~0ull) word++, rows += 64;
  if (word < 4) {
    if (mask[word] & (mask[word] + 1)) return 0;
    rows += (uint32_t)__builtin_popcountll(mask[word]);
    while (++word < 4) {
      if (mask[word]) return 0;
    }
  }
  return rows;
}

/// A digit holds 2^63, an addition puts in less than 2^53: carry at the latest every 1,023 additions.
REEF_INLINE void room(reef_double_aggregate *into) {
  into->pending += 256;
  if (into->pending >= 768) {
    carry(into->digits);
    into->pending = 256;
  }
}

void reef_aggregate_double(const void *values, const uint64_t mask[4], reef_double_aggregate *into) {
  const char *at = values;
  room(into);
  uint32_t rows = leading_rows(mask);
  if (rows) {
    add_all(into, values, rows);
    return;
  }
  double chosen[256];
  EACH_ROW(mask, { memcpy(chosen + rows++, at + row * 8, 8); })
  add_all(into, chosen, rows);
}

void reef_aggregate_double_plainly(const void *values, const uint64_t mask[4], reef_double_aggregate *into) {
  const char *at = values;
  room(into);
  EACH_ROW(mask, {
    double v;
    memcpy(&v, at + row * 8, 8);
    add(into, v);
  })
}

void reef_aggregate_float(const void *values, const uint64_t mask[4], reef_double_aggregate *into) {
  const char *at = values;
  room(into);
  double chosen[256];
  uint32_t rows = 0;
  EACH_ROW(mask, {
    float v;
    memcpy(&v, at + row * 4, 4);
    chosen[rows++] = v;
  })
  add_all(into, chosen, rows);
}

double reef_aggregate_sum(const reef_double_aggregate *of) {
  if (of->has_nan || (of->has_infinity && of->has_negative_infinity)) return NAN;
  if (of->has_infinity) return INFINITY;
  if (of->has_negative_infinity) return -INFINITY;
  int64_t digits[digit_count];
  memcpy(digits, of->digits, sizeof digits);
  carry(digits);
  int negative = digits[digit_count - 1] < 0;
  if (negative) {
    for (int i = 0; i < digit_count; i++) digits[i] = -digits[i];
    carry(digits);
  }
  int top = digit_count - 1;
  while (top >= 0 && digits[top] == 0) top--;
  if (top < 0) return 0;
  // The three highest digits hold at least 65 bits; what lies below only breaks ties.
  unsigned __int128 value = 0;
  for (int i = top; i > top - 3; i--) value = value << 32 | (uint64_t)(i >= 0 ? digits[i] : 0);
  int sticky = 0;
  for (int i = top - 3; i >= 0; i--) sticky |= digits[i] != 0;
  int length = 64 + (32 - __builtin_clz((uint32_t)digits[top]));
  int weight = 32 * (top - 2);
  int drop = length - 53;
  if (weight + drop < 0) drop = -weight;
  uint64_t kept = (uint64_t)(value >> drop);
  unsigned __int128 rest = value & (((unsigned __int128)1 << drop) - 1);
  unsigned __int128 half = (unsigned __int128)1 << (drop - 1);
  if (rest > half || (rest == half && (sticky || (kept & 1)))) kept++;
  double sum = ldexp((double)kept, weight + drop - 1074);
  return negative ? -sum : sum;
}
