#include <ckgen/codecs.hpp>

static_assert(ckgen::decode(ckgen::DType::bf16, ckgen::encode(ckgen::DType::bf16, 1.5f)) == 1.5f);

int main() {}
