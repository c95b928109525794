// Reads `count` times 16 bytes.
extern "C" __global__ void sweep(const uint4* from, unsigned long long count, unsigned* sum) {
  unsigned mixed = 0;
  const unsigned long long step = static_cast<unsigned long long>(gridDim.x) * blockDim.x;
  for (unsigned long long i = blockIdx.x * static_cast<unsigned long long>(blockDim.x) + threadIdx.x; i < count;
       i += step) {
    const uint4 four = from[i];
    mixed += four.x + four.y + four.z + four.w;
  }
  if (mixed == 0x9e3779b9U) *sum = mixed;  // keeps the loads
}

// How many of `count` times 16 bytes differ, is added to found[0]; found[1] is the least place of one.
extern "C" __global__ void differ(const uint4* a, const uint4* b, unsigned long long count, unsigned long long* found) {
  const unsigned long long step = static_cast<unsigned long long>(gridDim.x) * blockDim.x;
  for (unsigned long long i = blockIdx.x * static_cast<unsigned long long>(blockDim.x) + threadIdx.x; i < count;
       i += step) {
    const uint4 one = a[i], other = b[i];
    if (one.x == other.x && one.y == other.y && one.z == other.z && one.w == other.w) continue;
    atomicAdd(&found[0], 1ULL);
    atomicMin(&found[1], i);
  }
}
