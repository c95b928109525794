// Small kernels of every sort of instruction; compiled for each arch, and counted in the compiler's own assembly.
typedef float f4 __attribute__((ext_vector_type(4)));
typedef float f8 __attribute__((ext_vector_type(8)));
typedef float f16v __attribute__((ext_vector_type(16)));
typedef int i4 __attribute__((ext_vector_type(4)));
typedef int i8v __attribute__((ext_vector_type(8)));
typedef int i16v __attribute__((ext_vector_type(16)));
typedef int i2 __attribute__((ext_vector_type(2)));
typedef short s4 __attribute__((ext_vector_type(4)));
typedef short s8v __attribute__((ext_vector_type(8)));
typedef short s16v __attribute__((ext_vector_type(16)));
typedef _Float16 h2 __attribute__((ext_vector_type(2)));
typedef _Float16 h4 __attribute__((ext_vector_type(4)));
typedef _Float16 h8 __attribute__((ext_vector_type(8)));
typedef _Float16 h16 __attribute__((ext_vector_type(16)));
#define K extern "C" __attribute__((global)) void
#define LANE __builtin_amdgcn_workitem_id_x()
static __attribute__((device, shared)) float tile[512];
K scalar_and_vector(const float* a, float* c, const double* d, double* e, long n) {
  long i = (long)__builtin_amdgcn_workgroup_id_x() * 256 + LANE;
  if (i < n) {
    float x = a[i];
    for (int k = 0; k < (int)(n & 31); ++k) x = __builtin_fmaf(x, 1.2345f, a[(i * 77 + k) % n]) / (x + 0.3f);
    c[i] = __builtin_sqrtf(x) * 3.25f + a[n - i];
    e[i] = d[i] * 3.7 + d[n - i] / d[i];
  }
}
K shared(const float* a, float* c, const short* s, signed char* b) {
  int l = LANE;
  tile[l] = a[l];
  tile[l + 256] = (float)s[l] * a[l + 1];
  __builtin_amdgcn_s_barrier();
  float x = tile[511 - l] + tile[(l * 7) & 511];
  x += __builtin_bit_cast(float, __builtin_amdgcn_update_dpp(0, __builtin_bit_cast(int, x), 0x111, 0xf, 0xf, 0));
  x += __builtin_bit_cast(float, __builtin_amdgcn_ds_bpermute(l * 4 ^ 64, __builtin_bit_cast(int, x)));
  c[l] = x;
  b[l] = (signed char)(int)x;
  __scoped_atomic_fetch_add((int*)c + 600, l, __ATOMIC_RELAXED, 1);
}
K halves(const h2* a, h2* c, const signed char* b, unsigned* u) {
  int l = LANE;
  h2 x = a[l] * a[l + 1] + a[l + 2];
  x.x += (_Float16)b[l];
  x.y *= (_Float16)u[l];
  c[l] = x;
  u[l] = (u[l + 3] >> 3) * 0x12345u + ((u[l + 9] & 0xff00) >> 8) + (unsigned)b[l + 4] * (u[l] >> 24);
}
K buffers(int* a, int n, const int* i) {
  __amdgpu_buffer_rsrc_t r = __builtin_amdgcn_make_buffer_rsrc(a, 0, n, 0x27000);
  i4 x = __builtin_amdgcn_raw_buffer_load_b128(r, LANE * 16, n, 0);
  x += __builtin_amdgcn_raw_buffer_load_b128(r, LANE * 16 + 1024, 0, 0);
  __builtin_amdgcn_raw_buffer_store_b128(x * i[3], r, LANE * 16 + 4096, 0, 0);
}
K spilling(const int* a, int* c, int n) {
  int big[96];
  for (int i = 0; i < 96; ++i) big[i] = a[i * n];
  for (int i = 0; i < n; ++i) big[a[i] % 96] += i;
  c[LANE] = big[LANE % 96];
}
#if defined(__gfx90a__)
K mfma(const h4* a, const s4* b, const int* i, f16v* c, f4* d, i16v* e, i4* f) {
  int l = LANE; f16v x = c[l]; f4 y = d[l];
  for (int k = 0; k < i[5]; ++k) { x = __builtin_amdgcn_mfma_f32_32x32x8f16(a[l + k], a[l + 64], x, 0, 0, 0);
  x = __builtin_amdgcn_mfma_f32_32x32x8bf16_1k(b[l + k], b[l + 64], x, 0, 0, 0);
  y = __builtin_amdgcn_mfma_f32_16x16x16f16(a[l + k], a[l + 64], y, 0, 0, 0);
  y = __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(b[l + k], b[l + 64], y, 0, 0, 0);}
  c[l] = x; d[l] = y;
  e[l] = __builtin_amdgcn_mfma_i32_32x32x8i8(i[l], i[l + 64], e[l], 0, 0, 0);
  f[l] = __builtin_amdgcn_mfma_i32_16x16x16i8(i[l], i[l + 64], f[l], 0, 0, 0);
}
#elif defined(__gfx942__) || defined(__gfx950__)
K mfma(const h4* a, const s4* b, const long* i, f16v* c, f4* d, i16v* e, i4* f) {
  int l = LANE; f16v x = c[l]; f4 y = d[l];
  for (int k = 0; k < i[5]; ++k) { x = __builtin_amdgcn_mfma_f32_32x32x8f16(a[l + k], a[l + 64], x, 0, 0, 0);
  x = __builtin_amdgcn_mfma_f32_32x32x8bf16_1k(b[l + k], b[l + 64], x, 0, 0, 0);
  y = __builtin_amdgcn_mfma_f32_16x16x16f16(a[l + k], a[l + 64], y, 0, 0, 0);
  y = __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(b[l + k], b[l + 64], y, 0, 0, 0);
  x = __builtin_amdgcn_mfma_f32_32x32x16_fp8_fp8(i[l], i[l+1], x, 0, 0, 0);
  y = __builtin_amdgcn_mfma_f32_16x16x32_fp8_bf8(i[l], i[l+1], y, 0, 0, 0);}
  c[l] = x; d[l] = y;
  e[l] = __builtin_amdgcn_mfma_i32_32x32x16_i8(i[l], i[l + 64], e[l], 0, 0, 0);
  f[l] = __builtin_amdgcn_mfma_i32_16x16x32_i8(i[l], i[l + 64], f[l], 0, 0, 0);
}
#endif
#if defined(__gfx950__)
K scaled(const i8v* a, const h8* h, const i4* q, const int* s, f4* c, f16v* d, i4* e) {
  int l = LANE; f4 y = c[l]; f16v x = d[l];
  y = __builtin_amdgcn_mfma_scale_f32_16x16x128_f8f6f4(a[l], a[l + 1], y, 4, 4, 0, s[l], 0, s[l + 1]);
  y = __builtin_amdgcn_mfma_scale_f32_16x16x128_f8f6f4(a[l], a[l + 1], y, 0, 0, 0, 0, 0, 0);
  x = __builtin_amdgcn_mfma_scale_f32_32x32x64_f8f6f4(a[l], a[l + 1], x, 0, 0, 0, s[l], 0, s[l + 1]);
  x = __builtin_amdgcn_mfma_scale_f32_32x32x64_f8f6f4(a[l], a[l + 1], x, 0, 0, 0, 0, 0, 0);
  y = __builtin_amdgcn_mfma_f32_16x16x32_f16(h[l], h[l + 1], y, 0, 0, 0);
  x = __builtin_amdgcn_mfma_f32_32x32x16_f16(h[l], h[l + 1], x, 0, 0, 0);
  e[l] = __builtin_amdgcn_mfma_i32_16x16x64_i8(q[l], q[l + 1], e[l], 0, 0, 0);
  c[l] = y; d[l] = x;
}
#elif defined(__gfx1100__)
K wmma(const h16* a, const s16v* b, const i4* i, f8* c, i8v* d) {
  int l = LANE; f8 x = c[l];
  for (int k = 0; k < l; ++k) { x = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(a[l + k], a[k], x);
  x = __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32(b[l], b[k], x);}
  c[l] = x;
  d[l] = __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32(1, i[l], 1, i[l + 1], d[l], 0);
}
#elif defined(__gfx1201__)
K wmma(const h8* a, const s8v* b, const i2* i, f8* c, i8v* d) {
  int l = LANE; f8 x = c[l];
  for (int k = 0; k < l; ++k) { x = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32_gfx12(a[l + k], a[k], x);
  x = __builtin_amdgcn_wmma_f32_16x16x16_fp8_fp8_w32_gfx12(i[l], i[k], x);
  x = __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32_gfx12(b[l], b[k], x);}
  c[l] = x;
  d[l] = __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32_gfx12(1, i[l], 1, i[l + 1], d[l], 0);
}
#endif
