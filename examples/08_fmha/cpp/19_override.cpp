// A line of a file decides for one problem, without a rebuild.
#include <filesystem>
#include <fstream>

#include "gallery.hpp"

int main(int count, char** words) {
  const Asked asked = read(count, words);
  Gallery gallery(asked);
  const ckgen::Problem problem = Gallery::need(said(asked, DType::bf16).build());
  const ckgen::Selection usual = gallery.dispatcher.select(problem, gallery.device);
  const ckgen::Selection other = gallery.dispatcher.next(problem, gallery.device, usual);
  if (!other) return expect("a second kernel", false);
  const char* const wanted = gallery.registry.instance(other.instance).name;

  const auto file = std::filesystem::temp_directory_path() / "ckgen_gallery_override.csv";
  std::ofstream(file) << "target,signature,B,M,N,K,heads_q,heads_k,hdim_v,mask,instance,k_batch\n"
                      << gallery.device.gfx() << ':' << gallery.device.cu_num() << ",fmha_bf16," << asked.batch << ','
                      << asked.seqlen_q << ',' << asked.seqlen_k << ',' << asked.hdim_q << ',' << asked.heads_q << ','
                      << asked.heads_k << ',' << asked.hdim_v << ",none," << wanted << ",1\n";
  Gallery::need(gallery.dispatcher.load_overrides(file.c_str()));
  std::filesystem::remove(file);

  const ckgen::Selection found = gallery.dispatcher.select(problem, gallery.device);
  std::printf("%s instead of %s\n", wanted, gallery.registry.instance(usual.instance).name);
  const Operands x(problem);
  return expect("the file decides", found.tier == ckgen::Tier::override_ && found.instance == other.instance) |
         gallery.check("overridden", problem, x.args);
}
