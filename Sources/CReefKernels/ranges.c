#include "clones.h"
#include "reef_kernels.h"
#include <stdbool.h>

// Each kernel takes 64 bytes at a time. Comparing two vectors gives lanes of all ones or zeros; converting those to
// a vector of bool packs them to one bit a lane, which becomes a move-mask or a mask register.

typedef uint8_t lanes_8 __attribute__((ext_vector_type(64)));
typedef uint16_t lanes_16 __attribute__((ext_vector_type(32)));
typedef uint32_t lanes_32 __attribute__((ext_vector_type(16)));
typedef uint64_t lanes_64 __attribute__((ext_vector_type(8)));
typedef double lanes_double __attribute__((ext_vector_type(8)));
typedef float lanes_float __attribute__((ext_vector_type(16)));
typedef bool bits_64 __attribute__((ext_vector_type(64)));
typedef bool bits_32 __attribute__((ext_vector_type(32)));
typedef bool bits_16 __attribute__((ext_vector_type(16)));
typedef bool bits_8 __attribute__((ext_vector_type(8)));

#define PACK(lanes, bits_type, word, into)                                                                            \
  do {                                                                                                                \
    bits_type packed = __builtin_convertvector((lanes), bits_type);                                                   \
    memcpy(&(into), &packed, sizeof(word));                                                                           \
  } while (0)

#define SCAN(vector, element, bits_type, word, condition)                                                             \
  const char *at = values;                                                                                            \
  const uint32_t lanes = sizeof(vector) / sizeof(element);                                                            \
  memset(out, 0, 32);                                                                                                 \
  char *words = (char *)out;                                                                                          \
  uint32_t whole = count / lanes;                                                                                     \
  for (uint32_t i = 0; i < whole; i++) {                                                                              \
    vector v;                                                                                                         \
    memcpy(&v, at + i * 64, 64);                                                                                      \
    word packed_word;                                                                                                 \
    PACK(condition, bits_type, word, packed_word);                                                                    \
    memcpy(words + i * sizeof(word), &packed_word, sizeof(word));                                                     \
  }                                                                                                                   \
  uint32_t rest = count % lanes;                                                                                      \
  if (rest) {                                                                                                         \
    vector v = (vector)(element)0;                                                                                    \
    memcpy(&v, at + whole * 64, rest * sizeof(element));                                                              \
    word packed_word;                                                                                                 \
    PACK(condition, bits_type, word, packed_word);                                                                    \
    packed_word &= (word)(((word)1 << rest) - 1);                                                                     \
    memcpy(words + whole * sizeof(word), &packed_word, sizeof(word));                                                 \
  }

#define INTEGER_RANGE(name, element, vector, bits_type, word)                                                         \
  REEF_CLONES void name(const void *values, uint32_t count, element lo, element hi, uint64_t out[4]) {                \
    const vector base = (vector)lo;                                                                                   \
    const vector span = (vector)(element)(hi - lo);                                                                   \
    SCAN(vector, element, bits_type, word, (v - base) <= span)                                                        \
  }

INTEGER_RANGE(reef_range_8, uint8_t, lanes_8, bits_64, uint64_t)
INTEGER_RANGE(reef_range_16, uint16_t, lanes_16, bits_32, uint32_t)
INTEGER_RANGE(reef_range_32, uint32_t, lanes_32, bits_16, uint16_t)
INTEGER_RANGE(reef_range_64, uint64_t, lanes_64, bits_8, uint8_t)

#define REAL_RANGE(name, element, vector, bits_type, word)                                                            \
  REEF_CLONES void name(const void *values, uint32_t count, element lo, element hi, uint64_t out[4]) {                \
    const vector low = (vector)lo;                                                                                    \
    const vector high = (vector)hi;                                                                                   \
    SCAN(vector, element, bits_type, word, (v >= low) & (v <= high))                                                  \
  }

REAL_RANGE(reef_range_double, double, lanes_double, bits_8, uint8_t)
REAL_RANGE(reef_range_float, float, lanes_float, bits_16, uint16_t)

// The second operand lies in another node: same shape, other bytes.
#define DIFFER(name, element, vector, bits_type, word)                                                                \
  REEF_INLINE void name(const void *values, const void *other, uint32_t count, uint64_t out[4]) {                     \
    const char *at = values, *with = other;                                                                           \
    const uint32_t lanes = sizeof(vector) / sizeof(element);                                                          \
    memset(out, 0, 32);                                                                                               \
    char *words = (char *)out;                                                                                        \
    for (uint32_t i = 0; i * lanes < count; i++) {                                                                    \
      uint32_t left = count - i * lanes;                                                                              \
      vector v = (vector)(element)0, w = (vector)(element)0;                                                          \
      if (left >= lanes) {                                                                                            \
        memcpy(&v, at + i * 64, 64);                                                                                  \
        memcpy(&w, with + i * 64, 64);                                                                                \
      } else {                                                                                                        \
        memcpy(&v, at + i * 64, left * sizeof(element));                                                              \
        memcpy(&w, with + i * 64, left * sizeof(element));                                                            \
      }                                                                                                               \
      word packed_word;                                                                                               \
      PACK(v != w, bits_type, word, packed_word);                                                                     \
      memcpy(words + i * sizeof(word), &packed_word, sizeof(word));                                                   \
    }                                                                                                                 \
  }

DIFFER(differ_8, uint8_t, lanes_8, bits_64, uint64_t)
DIFFER(differ_16, uint16_t, lanes_16, bits_32, uint32_t)
DIFFER(differ_32, uint32_t, lanes_32, bits_16, uint16_t)
DIFFER(differ_64, uint64_t, lanes_64, bits_8, uint8_t)

REEF_CLONES void reef_differ(const void *a, const void *b, uint32_t count, uint32_t width, uint64_t out[4]) {
  switch (width) {
  case 1: differ_8(a, b, count, out); return;
  case 2: differ_16(a, b, count, out); return;
  case 4: differ_32(a, b, count, out); return;
  case 8: differ_64(a, b, count, out); return;
  default: break;
  }
  memset(out, 0, 32);
  const char *x = a, *y = b;
  for (uint32_t i = 0; i < count; i++) {
    uint64_t differs = memcmp(x + (uint64_t)i * width, y + (uint64_t)i * width, width) != 0;
    out[i >> 6] |= differs << (i & 63);
  }
}
