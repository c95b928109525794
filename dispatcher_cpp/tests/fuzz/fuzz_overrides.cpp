// Override files: whatever they hold, a dispatcher takes the rows that mean something and goes on.
#include <ckgen/ckgen.hpp>

#include "fuzz.hpp"
#include "tiny_library.hpp"

namespace fuzz::fuzz_overrides {
namespace {

void run(Bytes bytes) {
  ckgen::Dispatcher dispatcher{tiny::registry(), ckgen::DispatcherOptions{}};
  const ckgen::Device device = ckgen::Device::simulated("gfx942:304");
  const ckgen::Status status = dispatcher.load_overrides(file_of(bytes).c_str());
  expect(status.ok() || status.message[0] != '\0', "a refused file has a reason");
  const ckgen::Selection chosen = dispatcher.select(tiny::problem(64, 1024, 2048), device);
  expect(chosen.instance < dispatcher.registry().size(), "a legal problem is answered");
}

std::vector<std::string> seeds() {
  const std::string header = "target,signature,B,M,N,K,instance,k_batch";
  return {header + "\ngfx942:304,gemm_fp16_rcr,0,64,1024,2048,tiny_medium,2\n",
          "# a comment\n\n" + header +
              "\r\ngfx942 , gemm_fp16_rcr,, 64 ,1024,2048,tiny_small,1\r\ngfx950:256,a8w8:fp8,0,1,1,1,x,0",
          header +
              ",heads_q,heads_k,hdim_v,mask\n"
              "gfx942:304,fmha_bf16_masked,1,8,64,128,tiny_small,1,4,2,64,b:-1:0:3\n"};
}

}  // namespace

const Target overrides{"overrides", run, seeds};

}  // namespace fuzz::fuzz_overrides
