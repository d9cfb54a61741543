/* Draws views of a cube map: colour (bilinear) and distance (nearest) in one pass.

   The same as OpenCV's perspective warp, but along the intervals that show the face, so nothing is drawn twice and
   nothing needs a mask. Texels lie scattered over a megabyte, so most of the time would go into waiting for memory:
   each stretch of pixels is asked for while the one before it is drawn. `native.py` loads this by ctypes. */

#include <math.h>
#include <stdint.h>
#include <string.h>

int ghosts_native_version(void) { return 3; }

enum { STRETCH = 64, ROWS_AHEAD = 2 };

typedef struct {
    const uint8_t *colour;    /* RGB texels with 8 more bytes behind the last, or NULL */
    const uint16_t *distance; /* texels, or NULL */
    int side;                 /* of the face, with its border */
} Face;

typedef struct { float u[STRETCH], v[STRETCH]; } Texels;

#if defined(__x86_64__) && defined(__GNUC__) && !defined(GHOSTS_PORTABLE)
#include <immintrin.h>

#define KERNEL __attribute__((target("avx2,fma")))

int ghosts_native_supported(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

/* Where `count` pixels of a row look, the first at `column`; their memory is asked for. */
KERNEL static void locate(Face face, const double *h, int row, int column, int count, Texels *texels)
{
    const __m256 lane = _mm256_setr_ps(0, 1, 2, 3, 4, 5, 6, 7);
    /* Clamped short of the last texel: whatever the numbers are, every read stays within the face. */
    const __m256 low = _mm256_setzero_ps(), high = _mm256_set1_ps((float)face.side - 1.51f);
    const __m256 du = _mm256_set1_ps((float)h[0]), dv = _mm256_set1_ps((float)h[3]), dw = _mm256_set1_ps((float)h[6]);
    const double u0 = h[0] * column + h[1] * row + h[2], v0 = h[3] * column + h[4] * row + h[5];
    const double w0 = h[6] * column + h[7] * row + h[8];
    for (int i = 0; i < count; i += 8) {
        __m256 w = _mm256_fmadd_ps(lane, dw, _mm256_set1_ps((float)(w0 + i * h[6])));
        __m256 u = _mm256_div_ps(_mm256_fmadd_ps(lane, du, _mm256_set1_ps((float)(u0 + i * h[0]))), w);
        __m256 v = _mm256_div_ps(_mm256_fmadd_ps(lane, dv, _mm256_set1_ps((float)(v0 + i * h[3]))), w);
        _mm256_storeu_ps(texels->u + i, _mm256_min_ps(_mm256_max_ps(u, low), high));
        _mm256_storeu_ps(texels->v + i, _mm256_min_ps(_mm256_max_ps(v, low), high));
        for (int j = i; j < i + 8; j += 4) {
            int at = ((int)texels->v[j] + ROWS_AHEAD) * face.side + (int)texels->u[j];
            if (face.colour) _mm_prefetch((const char *)(face.colour + 3 * at), _MM_HINT_T0);
            if (face.distance) _mm_prefetch((const char *)(face.distance + at), _MM_HINT_T0);
        }
    }
}

/* Two pixels' left and right texels as 16-bit numbers with 6 fractional bits: [left0 right0 | left1 right1]. */
KERNEL static inline __m256i pair(const uint8_t *first, const uint8_t *second)
{
    const __m128i apart = _mm_setr_epi8(0, 1, 2, -1, 3, 4, 5, -1, 8, 9, 10, -1, 11, 12, 13, -1);
    __m128i both = _mm_unpacklo_epi64(_mm_loadl_epi64((const __m128i *)first), _mm_loadl_epi64((const __m128i *)second));
    both = _mm_shuffle_epi8(both, apart);
    return _mm256_slli_epi16(_mm256_cvtepu8_epi16(both), 6);
}

KERNEL static inline __m256i mix(__m256i from, __m256i to, __m256i share)
{
    return _mm256_add_epi16(from, _mm256_mulhrs_epi16(_mm256_sub_epi16(to, from), share));
}

/* Fractions of 1/32768 (the most is 32767) in the low half of each 32-bit entry. */
KERNEL static inline __m256i fraction(__m256 value, __m256i whole)
{
    __m256 part = _mm256_mul_ps(_mm256_sub_ps(value, _mm256_cvtepi32_ps(whole)), _mm256_set1_ps(32768.0f));
    return _mm256_cvttps_epi32(_mm256_min_ps(part, _mm256_set1_ps(32767.0f)));
}

/* Four pixels: vertically, then horizontally; 16-bit numbers [0 2 | 1 3]. */
KERNEL static inline __m256i four(const uint8_t *face, int side, const int *at, __m128i right, __m128i down)
{
#define TWICE(n) n, n + 1, n, n + 1, n, n + 1, n, n + 1
    const __m256i for01 = _mm256_setr_epi8(TWICE(0), TWICE(0), TWICE(4), TWICE(4));
    const __m256i for23 = _mm256_setr_epi8(TWICE(8), TWICE(8), TWICE(12), TWICE(12));
    const __m256i across = _mm256_setr_epi8(TWICE(0), TWICE(8), TWICE(4), TWICE(12));
    __m256i downs = _mm256_broadcastsi128_si256(down), rights = _mm256_broadcastsi128_si256(right);
    const uint8_t *a = face + 3 * at[0], *b = face + 3 * at[1], *c = face + 3 * at[2], *d = face + 3 * at[3];
    int below = 3 * side;
    __m256i m01 = mix(pair(a, b), pair(a + below, b + below), _mm256_shuffle_epi8(downs, for01));
    __m256i m23 = mix(pair(c, d), pair(c + below, d + below), _mm256_shuffle_epi8(downs, for23));
    __m256i left = _mm256_unpacklo_epi64(m01, m23), other = _mm256_unpackhi_epi64(m01, m23);
    __m256i mixed = mix(left, other, _mm256_shuffle_epi8(rights, across));
    return _mm256_srai_epi16(_mm256_add_epi16(mixed, _mm256_set1_epi16(32)), 6);
}

KERNEL static inline void colours(Face face, __m256 u, __m256 v, int bgr, uint8_t *out)
{
    __m256i column = _mm256_cvttps_epi32(u), row = _mm256_cvttps_epi32(v);
    __m256i right = fraction(u, column), down = fraction(v, row);
    int at[8];
    __m256i place = _mm256_add_epi32(_mm256_mullo_epi32(row, _mm256_set1_epi32(face.side)), column);
    _mm256_storeu_si256((__m256i *)at, place);
    __m256i low = four(face.colour, face.side, at, _mm256_castsi256_si128(right), _mm256_castsi256_si128(down));
    __m256i high = four(face.colour, face.side, at + 4, _mm256_extracti128_si256(right, 1),
                        _mm256_extracti128_si256(down, 1));
    __m256i bytes = _mm256_packus_epi16(low, high); /* [0 2 4 6 | 1 3 5 7] */
    __m128i even = _mm256_castsi256_si128(bytes), odd = _mm256_extracti128_si256(bytes, 1);
    const __m128i order = bgr ? _mm_setr_epi8(2, 1, 0, 6, 5, 4, 10, 9, 8, 14, 13, 12, -1, -1, -1, -1)
                              : _mm_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1);
    __m128i first = _mm_shuffle_epi8(_mm_unpacklo_epi32(even, odd), order);
    __m128i second = _mm_shuffle_epi8(_mm_unpackhi_epi32(even, odd), order);
    _mm_storeu_si128((__m128i *)out, _mm_or_si128(first, _mm_slli_si128(second, 12)));
    _mm_storel_epi64((__m128i *)(out + 16), _mm_srli_si128(second, 4));
}

KERNEL static inline void distances(Face face, __m256 u, __m256 v, const float *factor, uint16_t *out)
{
    const __m256 half = _mm256_set1_ps(0.5f);
    __m256i column = _mm256_cvttps_epi32(_mm256_add_ps(u, half)), row = _mm256_cvttps_epi32(_mm256_add_ps(v, half));
    __m256i place = _mm256_add_epi32(_mm256_mullo_epi32(row, _mm256_set1_epi32(face.side)), column);
    __m256i found = _mm256_i32gather_epi32((const int *)(const void *)face.distance, place, 2);
    found = _mm256_and_si256(found, _mm256_set1_epi32(0xFFFF));
    if (factor) found = _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_cvtepi32_ps(found), _mm256_loadu_ps(factor)));
    __m128i low = _mm256_castsi256_si128(found), high = _mm256_extracti128_si256(found, 1);
    _mm_storeu_si128((__m128i *)out, _mm_packus_epi32(low, high));
}

/* Draw `count` pixels whose texels are known; the last few by way of a copy, so that nothing beyond them is touched. */
KERNEL static void draw_stretch(Face face, const Texels *texels, int count, int bgr, uint8_t *rgb, uint16_t *depth,
                                const float *factor)
{
    for (int i = 0; i < count; i += 8) {
        __m256 u = _mm256_loadu_ps(texels->u + i), v = _mm256_loadu_ps(texels->v + i);
        int left = count - i;
        uint8_t some_rgb[24];
        uint16_t some_depth[8];
        float some_factor[8] = {0};
        if (left < 8 && factor) memcpy(some_factor, factor + i, sizeof(float) * left);
        if (rgb) colours(face, u, v, bgr, left < 8 ? some_rgb : rgb + 3 * i);
        if (depth) distances(face, u, v, !factor ? 0 : left < 8 ? some_factor : factor + i, left < 8 ? some_depth : depth + i);
        if (left < 8 && rgb) memcpy(rgb + 3 * i, some_rgb, 3 * left);
        if (left < 8 && depth) memcpy(depth + i, some_depth, sizeof(uint16_t) * left);
    }
}

#else /* The same, pixel by pixel: on 64-bit ARM, whose processors multiply and add at once, as AVX2's do. */

#define KERNEL

int ghosts_native_supported(void)
{
#if defined(__aarch64__) || defined(GHOSTS_PORTABLE)
    return 1;
#else
    return 0;
#endif
}

static inline float clamped(float value, float high)
{
    value = value > 0.0f ? value : 0.0f; /* also what is not a number */
    return value < high ? value : high;
}

static void locate(Face face, const double *h, int row, int column, int count, Texels *texels)
{
    const float high = (float)face.side - 1.51f, du = (float)h[0], dv = (float)h[3], dw = (float)h[6];
    const double u0 = h[0] * column + h[1] * row + h[2], v0 = h[3] * column + h[4] * row + h[5];
    const double w0 = h[6] * column + h[7] * row + h[8];
    for (int i = 0; i < count; i += 8) {
        const float u = (float)(u0 + i * h[0]), v = (float)(v0 + i * h[3]), w = (float)(w0 + i * h[6]);
        for (int lane = 0; lane < 8; lane++) {
            const float part = fmaf((float)lane, dw, w);
            texels->u[i + lane] = clamped(fmaf((float)lane, du, u) / part, high);
            texels->v[i + lane] = clamped(fmaf((float)lane, dv, v) / part, high);
        }
    }
}

static inline int mix(int from, int to, int share) { return from + (((to - from) * share + 0x4000) >> 15); }

static inline int fraction(float value, int whole)
{
    const float part = (value - (float)whole) * 32768.0f;
    return (int)(part < 32767.0f ? part : 32767.0f);
}

static void draw_stretch(Face face, const Texels *texels, int count, int bgr, uint8_t *rgb, uint16_t *depth,
                         const float *factor)
{
    for (int i = 0; rgb && i < count; i++) {
        const int column = (int)texels->u[i], row = (int)texels->v[i];
        const int right = fraction(texels->u[i], column), down = fraction(texels->v[i], row);
        const uint8_t *a = face.colour + 3 * (row * face.side + column), *b = a + 3 * face.side;
        for (int c = 0; c < 3; c++) {
            const int left = mix(a[c] << 6, b[c] << 6, down), other = mix(a[c + 3] << 6, b[c + 3] << 6, down);
            rgb[3 * i + (bgr ? 2 - c : c)] = (uint8_t)((mix(left, other, right) + 32) >> 6);
        }
    }
    for (int i = 0; depth && i < count; i++) {
        const int column = (int)(texels->u[i] + 0.5f), row = (int)(texels->v[i] + 0.5f);
        long found = face.distance[row * face.side + column];
        if (factor) found = lrintf((float)found * factor[i]);
        depth[i] = (uint16_t)(found < 65535 ? found : 65535);
    }
}

#endif

/* The part of a view that shows one face: rows `top` to `stop`, in row r from column first[r - top] to last[r - top],
   both counted from `left`. `h` is the homography from there to texels. `native.py` packs it. */
typedef struct {
    double h[9];
    const int64_t *first, *last;
    int64_t face, top, stop, left;
} Part;

/* Draw rows `top` to `stop` of a view. `colour` and `distance` are the six faces, `side` texels wide; `rgb`, `depth` and
   `factor` (each may be NULL) point at the first of these rows, `width` columns wide. Distances are multiplied by
   `factor`. */
KERNEL void ghosts_draw(const uint8_t *colour, const uint16_t *distance, int side, const Part *parts, int count, int top,
                        int stop, int width, uint8_t *rgb, int bgr, uint16_t *depth, const float *factor)
{
    Texels texels[2];
    for (const Part *part = parts; part < parts + count; part++) {
        int64_t before = part->face * side * side;
        Face face = {rgb ? colour + 3 * before : 0, depth ? distance + before : 0, side};
        int from = part->top > top ? (int)part->top : top, to = part->stop < stop ? (int)part->stop : stop;
        for (int at_row = from; at_row < to; at_row++) {
            int row = at_row - (int)part->top, column = (int)part->first[row], end = (int)part->last[row] + 1, turn = 0;
            int64_t at = (int64_t)(at_row - top) * width + part->left;
            int size = end - column < STRETCH ? end - column : STRETCH;
            if (size > 0) locate(face, part->h, row, column, size, &texels[0]);
            while (size > 0) {
                int next = column + size, more = end - next < STRETCH ? end - next : STRETCH;
                if (more > 0) locate(face, part->h, row, next, more, &texels[!turn]);
                draw_stretch(face, &texels[turn], size, bgr, rgb ? rgb + 3 * (at + column) : 0,
                             depth ? depth + at + column : 0, factor ? factor + at + column : 0);
                column = next, size = more, turn = !turn;
            }
        }
    }
}
