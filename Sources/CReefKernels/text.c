#include "clones.h"
#include "reef_kernels.h"
#include <stdbool.h>

typedef uint8_t lanes_8 __attribute__((ext_vector_type(32)));
typedef bool bits_32 __attribute__((ext_vector_type(32)));

#define PACK(lanes, word)                                                                                             \
  do {                                                                                                                \
    bits_32 packed = __builtin_convertvector((lanes), bits_32);                                                       \
    memcpy(&(word), &packed, 4);                                                                                      \
  } while (0)

/// First place at or after `from` where the needle (not empty) begins, or `count`.
///
/// Looks for its first and last byte at their distance, 32 places at once, and compares only there.
REEF_INLINE uint64_t find(const uint8_t *bytes, uint64_t count, uint64_t from, const uint8_t *needle,
                          uint64_t length) {
  if (length > count) return count;
  uint64_t places = count - length + 1;
  uint64_t place = from;
  const lanes_8 first = (lanes_8)needle[0], last = (lanes_8)needle[length - 1];
  while (place < places && places - place >= 32) {
    lanes_8 a, b;
    memcpy(&a, bytes + place, 32);
    memcpy(&b, bytes + place + length - 1, 32);
    uint32_t hits;
    PACK((a == first) & (b == last), hits);
    while (hits) {
      uint64_t candidate = place + (uint64_t)__builtin_ctz(hits);
      if (memcmp(bytes + candidate, needle, length) == 0) return candidate;
      hits &= hits - 1;
    }
    place += 32;
  }
  for (; place < places; place++) {
    if (bytes[place] == needle[0] && memcmp(bytes + place, needle, length) == 0) return place;
  }
  return count;
}

REEF_INLINE uint64_t end_offset(const reef_text *text, uint32_t row) {
  if (text->width == 2) {
    uint16_t end;
    memcpy(&end, (const char *)text->values + (uint64_t)row * 2, 2);
    return end;
  }
  uint32_t end;
  memcpy(&end, (const char *)text->values + (uint64_t)row * 4, 4);
  return end;
}

REEF_INLINE int less(const void *a, uint64_t a_count, const void *b, uint64_t b_count, int or_equal) {
  int order = memcmp(a, b, a_count < b_count ? a_count : b_count);
  if (order != 0) return order < 0;
  return or_equal ? a_count <= b_count : a_count < b_count;
}

REEF_INLINE int matches(const uint8_t *bytes, uint64_t count, int mode, const uint8_t *needle, uint64_t length) {
  switch (mode) {
  case reef_text_equal: return count == length && memcmp(bytes, needle, length) == 0;
  case reef_text_prefix: return count >= length && memcmp(bytes, needle, length) == 0;
  case reef_text_suffix: return count >= length && memcmp(bytes + count - length, needle, length) == 0;
  case reef_text_contains: return length == 0 || find(bytes, count, 0, needle, length) < count;
  case reef_text_less: return less(bytes, count, needle, length, 0);
  default: return less(bytes, count, needle, length, 1);
  }
}

/// Looks for the needle in all the leaf's bytes at once, then asks in which row it lies.
REEF_INLINE void contains(const reef_text *text, const uint8_t *bytes, uint64_t total, const uint8_t *needle,
                          uint64_t length, uint64_t out[4]) {
  uint32_t row = 0;
  uint64_t from = 0;
  for (;;) {
    uint64_t place = find(bytes, total, from, needle, length);
    if (place >= total) return;
    uint64_t end;
    if (text->width == 0) {
      row = (uint32_t)(place / text->value_length);
      end = ((uint64_t)row + 1) * text->value_length;
    } else {
      while (row < text->count && end_offset(text, row) <= place) row++;
      if (row >= text->count) return;
      end = end_offset(text, row);
    }
    if (place + length <= end) {
      out[row >> 6] |= 1ull << (row & 63);
      from = end;
    } else {
      from = place + 1;
    }
  }
}

/// Whether the end offsets rise and stay within the bytes.
REEF_INLINE int sound(const reef_text *text) {
  uint64_t before = 0;
  int fine = 1;
  for (uint32_t row = 0; row < text->count; row++) {
    uint64_t end = end_offset(text, row);
    fine &= before <= end;
    before = end;
  }
  return fine && before <= text->byte_count;
}

/// Equality of 8 to 16 bytes, fixed length: two words that may overlap.
REEF_INLINE void equal_words(const char *at, uint32_t count, uint64_t length, const char *needle, uint64_t out[4]) {
  uint64_t first, last;
  memcpy(&first, needle, 8);
  memcpy(&last, needle + length - 8, 8);
  for (uint32_t base = 0; base < count; base += 64) {
    uint32_t rows = count - base < 64 ? count - base : 64;
    uint64_t word = 0;
    for (uint32_t i = 0; i < rows; i++) {
      uint64_t a, b;
      memcpy(&a, at + i * length, 8);
      memcpy(&b, at + i * length + length - 8, 8);
      word |= (uint64_t)((a == first) & (b == last)) << i;
    }
    out[base >> 6] = word;
    at += 64 * length;
  }
}

REEF_CLONES int reef_text_match(const reef_text *text, int mode, const void *needle, uint64_t length,
                                uint64_t out[4]) {
  memset(out, 0, 32);
  const uint8_t *bytes = text->values;
  uint64_t total = (uint64_t)text->count * text->value_length;
  if (text->width != 0) {
    if (!sound(text)) return -1;
    bytes += (uint64_t)text->count * text->width;
    total = text->count ? end_offset(text, text->count - 1) : 0;
  } else if (mode == reef_text_equal && length == text->value_length && length >= 8 && length <= 16) {
    equal_words(text->values, text->count, length, needle, out);
    return 0;
  } else if (mode == reef_text_equal && length != text->value_length) {
    return 0;
  }
  if (mode == reef_text_contains && length != 0) {
    contains(text, bytes, total, needle, length, out);
    return 0;
  }
  uint64_t start = 0;
  for (uint32_t row = 0; row < text->count; row++) {
    uint64_t end = text->width == 0 ? start + text->value_length : end_offset(text, row);
    uint64_t match = (uint64_t)matches(bytes + start, end - start, mode, needle, length);
    out[row >> 6] |= match << (row & 63);
    start = end;
  }
  return 0;
}

int reef_bytes_match(const void *bytes, uint64_t count, int mode, const void *needle, uint64_t length) {
  return matches(bytes, count, mode, needle, length);
}
