// Tables: whatever they hold, a dispatcher takes the rows that mean something and goes on.
#include <ckgen/ckgen.hpp>

#include "fuzz.hpp"
#include "tiny_library.hpp"

namespace fuzz::fuzz_tables {
namespace {

ckgen::InstanceDesc of(const char* name, std::uint64_t id, const char* signature) {
  return tiny::instance(name, id, *ckgen::parse_signature(signature), {32, 64, 32}, {0, 0, 0, 0, 0, 8, false});
}

ckgen::Registry registry() {
  ckgen::Registry all = tiny::registry();
  static_cast<void>(all.add(of("experts", 11, "moe_bf16_rcr_layer_gated_epi_silu")));
  static_cast<void>(all.add(of("groups", 12, "grouped_gemm_bf16_rcr")));
  ckgen::InstanceDesc attention = of("attention", 13, "fmha_bf16_masked");
  attention.fmha.m0 = attention.fmha.n0 = attention.fmha.k0 = attention.fmha.k1 = 32;
  attention.fmha.n1 = attention.fmha.hdim_q = attention.fmha.hdim_v = 128;
  attention.fmha.pad_q = attention.fmha.pad_k = true;
  static_cast<void>(all.add(attention));
  return all;
}

void run(Bytes bytes) {
  static const ckgen::Registry all = registry();
  ckgen::Dispatcher dispatcher{all, ckgen::DispatcherOptions{}};
  const ckgen::Device device = ckgen::Device::simulated("gfx942:304");
  const ckgen::Status status = dispatcher.load_tables(file_of(bytes).c_str());
  expect(status.ok() || status.message[0] != '\0', "a refused file has a reason");
  const ckgen::Problem problem = tiny::problem(64, 1024, 2048);
  const ckgen::Selection chosen = dispatcher.select(problem, device);
  expect(chosen.instance < dispatcher.registry().size(), "a legal problem is answered");
  expect(dispatcher.is_tuned(problem, device), "a compiled row is not lost");
  ckgen::FmhaShape shape;
  shape.seqlen_q = shape.seqlen_k = shape.hdim_q = shape.hdim_v = 64;
  static_cast<void>(dispatcher.select(ckgen::fmha("bf16_masked").fmha(shape), device));
}

std::vector<std::string> seeds() {
  const std::string header = "gfx,cu_num,signature,B,M,N,K,experts,top_k,sizes,kernelName,splitK,us,device\n";
  return {header + "gfx942,304,gemm_fp16_rcr,0,64,1024,2048,0,0,,tiny_medium,2,1.5,\"a, b\"\n",
          "# a comment\n\n" + header + "\r\ngfx942 , 304, gemm_fp16_rcr,, 64 ,1024,2048,0,0,,tiny_small,1,\r\n",
          header +
              "gfx942,304,moe_bf16_rcr_layer_gated_epi_silu,0,16,64,128,8,2,,experts,1,1\n"
              "gfx942,304,grouped_gemm_bf16_rcr,0,64,512,1024,0,0,2*64x512x1024;0x512x1024,groups,1,1\n"
              "gfx942,304,grouped_gemm_bf16_rcr,0,64,512,1024,0,0,on_device 8*64x512x1024,groups,1,1\n",
          header +
              "gfx942,304,fmha_bf16_masked,0,0,0,0,0,0,batch=2 heads_q=8 heads_k=2 seqlen_q=64 seqlen_k=512 "
              "hdim_q=128 hdim_v=128 mask=b:-1;0,attention,0,1\n"};
}

}  // namespace

const Target tables{"tables", run, seeds};

}  // namespace fuzz::fuzz_tables
