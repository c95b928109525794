#include "decode.hpp"

#include <algorithm>
#include <cstring>
#include <string_view>

namespace ckgen::emu {
namespace {

constexpr std::uint32_t kSdwaCode = 249;
constexpr std::uint32_t kDppCode = 250;
constexpr std::uint32_t kScaledMfma = 0xd3ac;  // the first half's upper 16 bits; its other opcodes do not exist
constexpr std::uint16_t kNoScalar = 0x7f;      // saddr "off"

struct Words {
  std::array<std::uint32_t, 5> word{};
  std::size_t count = 0;

  /// Bits high…low of the instruction, counted from its first dword; at most 32 of them.
  std::uint32_t bits(unsigned high, unsigned low) const noexcept {
    const std::uint64_t pair = word[low / 32] | static_cast<std::uint64_t>(word[low / 32 + 1]) << 32;
    return static_cast<std::uint32_t>(pair >> (low % 32) & ((std::uint64_t{1} << (high - low + 1)) - 1));
  }
  bool bit(unsigned at) const noexcept { return bits(at, at) != 0; }
};

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

std::uint8_t dwords(const OperandShape& shape) {
  return static_cast<std::uint8_t>((shape.bits + 31) / 32);
}

class Decoder {
 public:
  Decoder(const Words& words, const OpTable& table, Inst& inst) : words_(words), table_(table), inst_(inst) {}

  bool run() {
    const std::uint32_t first = words_.word[0];
    if (first >> 31 == 0) {
      if (first >> 25 == 0x3f) return vop1();
      if (first >> 25 == 0x3e) return vopc();
      return vop2();
    }
    if (first >> 30 == 0b10) return scalar(first);
    switch (first >> 26) {
      case 0b110000: return smem();
      case 0b110100: return vop3();
      case 0b110110: return ds();
      case 0b110111: return flat();
      case 0b111000: return mubuf();
      case 0b111010: return mtbuf();
      default: return false;
    }
  }

 private:
  bool find(Format format, std::uint32_t number, unsigned bytes) {
    inst_.op = table_.find(format, static_cast<std::uint16_t>(number));
    inst_.bytes = static_cast<std::uint8_t>(bytes);
    return inst_.op != nullptr && words_.count * 4 >= bytes;
  }

  const OperandShape& shape(Field field) const { return (*inst_.op)[field]; }
  std::string_view name() const { return inst_.op->name; }

  Operand operand(Field field, std::uint32_t code) const {
    return {static_cast<std::uint16_t>(code), dwords(shape(field)), shape(field).number};
  }
  Operand vector(Field field, std::uint32_t index, bool acc = false) const {
    return operand(field, index + (acc ? kAgpr : kVgpr));
  }
  static Operand vcc() { return {kVccLo, 2, Number::bits}; }

  /// A literal of the instruction; false if it is cut short.
  bool literal() {
    const unsigned at = inst_.bytes / 4u;
    if (at >= words_.count) return false;
    inst_.literal = words_.word[at];
    inst_.bytes = static_cast<std::uint8_t>(inst_.bytes + 4);
    return true;
  }
  bool literal_of_sources() {
    const bool wanted = std::any_of(inst_.src.begin(), inst_.src.end(),
                                    [](const Operand& one) { return one.present() && one.code == kLiteral; });
    return !wanted || literal();
  }

  bool scalar(std::uint32_t first) {
    if (first >> 23 == 0x17f) {
      if (!find(Format::sopp, words_.bits(22, 16), 4)) return false;
      inst_.offset = static_cast<std::int16_t>(words_.bits(15, 0));
      return true;
    }
    if (first >> 23 == 0x17e) {
      if (!find(Format::sopc, words_.bits(22, 16), 4)) return false;
      inst_.src[0] = operand(Field::src0, words_.bits(7, 0));
      if (name() == "s_set_gpr_idx_on") {
        inst_.offset = static_cast<std::int32_t>(words_.bits(11, 8));
      } else {
        inst_.src[1] = operand(Field::src1, words_.bits(15, 8));
      }
      return literal_of_sources();
    }
    if (first >> 23 == 0x17d) {
      if (!find(Format::sop1, words_.bits(15, 8), 4)) return false;
      inst_.dst = operand(Field::sdst, words_.bits(22, 16));
      inst_.src[0] = operand(Field::src0, words_.bits(7, 0));
      return literal_of_sources();
    }
    if (first >> 28 == 0b1011) return sopk();
    if (!find(Format::sop2, words_.bits(29, 23), 4)) return false;
    inst_.dst = operand(Field::sdst, words_.bits(22, 16));
    inst_.src[0] = operand(Field::src0, words_.bits(7, 0));
    inst_.src[1] = operand(Field::src1, words_.bits(15, 8));
    return literal_of_sources();
  }

  bool sopk() {
    if (!find(Format::sopk, words_.bits(27, 23), 4)) return false;
    inst_.offset = static_cast<std::int16_t>(words_.bits(15, 0));
    const Operand named = operand(Field::sdst, words_.bits(22, 16));
    const bool reads = contains(name(), "cmpk") || contains(name(), "addk") || contains(name(), "mulk") ||
                       contains(name(), "cmovk") || name() == "s_setreg_b32";
    const bool writes = !contains(name(), "cmpk") && !contains(name(), "setreg");
    if (reads) inst_.src[0] = named;
    if (writes) inst_.dst = named;
    return name() != "s_setreg_imm32_b32" || literal();
  }

  bool smem() {
    if (!find(Format::smem, words_.bits(25, 18), 8)) return false;
    inst_.base = operand(Field::sbase, words_.bits(5, 0) << 1);
    const Operand data = operand(Field::sdata, words_.bits(12, 6));
    const bool store = contains(name(), "store") || contains(name(), "atomic");
    inst_.sc0 = words_.bit(16);
    if (store) inst_.src[1] = data;
    if (!store || (contains(name(), "atomic") && inst_.sc0)) inst_.dst = data;
    const bool immediate = words_.bit(17);
    if (immediate) inst_.offset = static_cast<std::int32_t>(words_.bits(52, 32) << 11) >> 11;
    if (words_.bit(14)) inst_.soffset = {static_cast<std::uint16_t>(words_.bits(63, 57)), 1, Number::bits};
    if (!immediate && !words_.bit(14) && inst_.base.present())
      inst_.soffset = {static_cast<std::uint16_t>(words_.bits(38, 32)), 1, Number::bits};
    return true;
  }

  /// A first source of nine bits, which may name DPP, SDWA or a literal.
  bool first_source(Field second) {
    const std::uint32_t code = words_.bits(8, 0);
    if (code == kDppCode) return dpp();
    if (code == kSdwaCode) return sdwa(second);
    inst_.src[0] = operand(Field::src0, code);
    return code != kLiteral || literal();
  }

  bool dpp() {
    if (words_.count < 2) return false;
    inst_.bytes = 8;
    inst_.special = Special::dpp;
    inst_.src[0] = vector(Field::src0, words_.bits(39, 32));
    inst_.dpp.control = static_cast<std::uint16_t>(words_.bits(48, 40));
    inst_.dpp.bound_control = words_.bit(51);
    inst_.neg = static_cast<std::uint8_t>(words_.bit(52) | words_.bit(54) << 1);
    inst_.abs = static_cast<std::uint8_t>(words_.bit(53) | words_.bit(55) << 1);
    inst_.dpp.bank_mask = static_cast<std::uint8_t>(words_.bits(59, 56));
    inst_.dpp.row_mask = static_cast<std::uint8_t>(words_.bits(63, 60));
    return true;
  }

  bool sdwa(Field second) {
    if (words_.count < 2) return false;
    inst_.bytes = 8;
    inst_.special = Special::sdwa;
    inst_.src[0] = operand(Field::src0, words_.bits(39, 32) + (words_.bit(55) ? 0 : kVgpr));
    if (inst_.src[1].present() && words_.bit(63))
      inst_.src[1] = operand(second, inst_.src[1].code - kVgpr);  // a scalar register
    inst_.sdwa.src0 = static_cast<std::uint8_t>(words_.bits(50, 48));
    inst_.sdwa.src0_sext = words_.bit(51);
    inst_.sdwa.src1 = static_cast<std::uint8_t>(words_.bits(58, 56));
    inst_.sdwa.src1_sext = words_.bit(59);
    inst_.neg = static_cast<std::uint8_t>(words_.bit(52) | words_.bit(60) << 1);
    inst_.abs = static_cast<std::uint8_t>(words_.bit(53) | words_.bit(61) << 1);
    if (inst_.op->format == Format::vopc) {
      if (words_.bit(47)) inst_.sdst.code = static_cast<std::uint16_t>(words_.bits(46, 40));
      return true;
    }
    inst_.sdwa.dst = static_cast<std::uint8_t>(words_.bits(42, 40));
    inst_.sdwa.dst_unused = static_cast<std::uint8_t>(words_.bits(44, 43));
    inst_.clamp = words_.bit(45);
    inst_.omod = static_cast<std::uint8_t>(words_.bits(47, 46));
    return true;
  }

  bool vop1() {
    if (!find(Format::vop1, words_.bits(16, 9), 4)) return false;
    inst_.dst = vector(Field::vdst, words_.bits(24, 17));
    if (name() == "v_readfirstlane_b32") inst_.dst.code = static_cast<std::uint16_t>(words_.bits(24, 17));
    if (!first_source(Field::src1)) return false;
    if (name() == "v_accvgpr_mov_b32") accumulators(true, true);
    return true;
  }

  bool vop2() {
    if (!find(Format::vop2, words_.bits(30, 25), 4)) return false;
    inst_.dst = vector(Field::vdst, words_.bits(24, 17));
    inst_.src[1] = vector(Field::src1, words_.bits(16, 9));
    if (!first_source(Field::src1)) return false;
    const std::string_view op = name();
    const bool mk = op.ends_with("mk_f32") || op.ends_with("mk_f16");
    const bool ak = op.ends_with("ak_f32") || op.ends_with("ak_f16");
    if (mk || ak) {
      const Operand constant{kLiteral, 1, inst_.src[1].number};
      inst_.src[2] = mk ? inst_.src[1] : constant;
      if (mk) inst_.src[1] = constant;
      if (inst_.src[0].code != kLiteral && !literal()) return false;
    }
    if (contains(op, "_co_u32")) inst_.sdst = vcc();
    if (op == "v_cndmask_b32" || contains(op, "addc_co") || contains(op, "subb")) inst_.src[2] = vcc();
    return true;
  }

  bool vopc() {
    if (!find(Format::vopc, words_.bits(24, 17), 4)) return false;
    inst_.sdst = vcc();
    inst_.src[1] = vector(Field::src1, words_.bits(16, 9));
    return first_source(Field::src1);
  }

  bool vop3() {
    if (words_.count < 2) return false;
    if (words_.bits(31, 23) == 0b110100111) return vop3p();
    const std::uint32_t number = words_.bits(25, 16);
    const bool has_sdst = table_.find(Format::vop3sd, static_cast<std::uint16_t>(number)) != nullptr;
    if (!find(has_sdst ? Format::vop3sd : Format::vop3, number, 8)) return false;
    sources(0);
    inst_.omod = static_cast<std::uint8_t>(words_.bits(60, 59));
    inst_.neg = static_cast<std::uint8_t>(words_.bits(63, 61));
    inst_.clamp = words_.bit(15);
    const std::uint32_t target = words_.bits(7, 0);
    if (has_sdst) {
      inst_.sdst = operand(Field::sdst, words_.bits(14, 8));
      inst_.dst = vector(Field::vdst, target);
      return true;
    }
    inst_.abs = static_cast<std::uint8_t>(words_.bits(10, 8));
    inst_.op_sel = static_cast<std::uint8_t>(words_.bits(14, 11));
    if (number < 256) {  // VOPC's opcodes
      inst_.sdst = {static_cast<std::uint16_t>(target), 2, Number::bits};
    } else if (name() == "v_readlane_b32" || name() == "v_readfirstlane_b32") {
      inst_.dst = operand(Field::vdst, target);
    } else {
      inst_.dst = vector(Field::vdst, target);
    }
    if (name() == "v_accvgpr_mov_b32") accumulators(true, true);
    return true;
  }

  bool vop3p() {
    const std::uint32_t number = words_.bits(22, 16);
    if (words_.bits(31, 16) == kScaledMfma) return scaled_mfma();
    if (table_.find(Format::mfma, static_cast<std::uint16_t>(number)) != nullptr) return mfma(number);
    if (!find(Format::vop3p, number, 8)) return false;
    sources(0);
    inst_.dst = vector(Field::vdst, words_.bits(7, 0));
    inst_.neg_hi = static_cast<std::uint8_t>(words_.bits(10, 8));
    inst_.op_sel = static_cast<std::uint8_t>(words_.bits(13, 11));
    inst_.op_sel_hi = static_cast<std::uint8_t>(words_.bits(60, 59) | words_.bits(14, 14) << 2);
    inst_.neg = static_cast<std::uint8_t>(words_.bits(63, 61));
    inst_.clamp = words_.bit(15);
    if (name() == "v_accvgpr_read_b32") accumulators(false, true);
    if (name() == "v_accvgpr_write_b32") accumulators(true, false);
    return true;
  }

  /// The three sources of an eight-byte vector format that starts at bit `from`.
  void sources(unsigned from) {
    constexpr Field kField[] = {Field::src0, Field::src1, Field::src2};
    for (unsigned i = 0; i < 3; ++i) {
      const unsigned low = from + 32 + 9 * i;
      if (shape(kField[i]).bits != 0) inst_.src[i] = operand(kField[i], words_.bits(low + 8, low));
    }
  }

  static void to_accumulator(Operand& one) {
    if (one.code >= kVgpr && one.code < kAgpr) one.code = static_cast<std::uint16_t>(one.code + (kAgpr - kVgpr));
  }
  void accumulators(bool destination, bool source) {
    if (destination) to_accumulator(inst_.dst);
    if (source) to_accumulator(inst_.src[0]);
  }

  bool mfma(std::uint32_t number) {
    if (!find(Format::mfma, number, 8)) return false;
    matrix(0);
    if (contains(name(), "smfmac")) {  // D += sparse A * B; src2 holds the indices, one register
      inst_.src[2] = {static_cast<std::uint16_t>(words_.bits(58, 50)), 1, Number::bits};
    }
    return true;
  }

  bool scaled_mfma() {
    if (words_.count < 4 || words_.bits(95, 87) != 0b110100111) return false;
    if (!find(Format::mfma_scale, words_.bits(86, 80), 16)) return false;
    matrix(64);
    inst_.scale[0] = operand(Field::scale_src0, words_.bits(40, 32));
    inst_.scale[1] = operand(Field::scale_src1, words_.bits(49, 41));
    inst_.op_sel = static_cast<std::uint8_t>(words_.bits(12, 11));  // a third one means nothing
    inst_.op_sel_hi = static_cast<std::uint8_t>(words_.bits(60, 59));
    return true;
  }

  void matrix(unsigned from) {
    sources(from);
    inst_.dst = vector(Field::vdst, words_.bits(from + 7, from), words_.bit(from + 15));
    if (words_.bit(from + 15)) to_accumulator(inst_.src[2]);
    if (words_.bit(from + 59)) to_accumulator(inst_.src[0]);
    if (words_.bit(from + 60)) to_accumulator(inst_.src[1]);
    inst_.cbsz = static_cast<std::uint8_t>(words_.bits(from + 10, from + 8));
    inst_.abid = static_cast<std::uint8_t>(words_.bits(from + 14, from + 11));
    inst_.blgp = static_cast<std::uint8_t>(words_.bits(from + 63, from + 61));
    if (contains(name(), "f8f6f4")) {
      inst_.src[0].dwords = f8f6f4_dwords(inst_.cbsz);
      inst_.src[1].dwords = f8f6f4_dwords(inst_.blgp);
    }
  }

  /// Registers of 32 elements: 0 fp8, 1 bf8, 2 fp6, 3 bf6, 4 fp4.
  static std::uint8_t f8f6f4_dwords(unsigned format) { return format < 2 ? 8 : format < 4 ? 6 : 4; }

  bool ds() {
    if (!find(Format::ds, words_.bits(24, 17), 8)) return false;
    const bool acc = words_.bit(25);
    if (shape(Field::addr).bits != 0) inst_.src[0] = vector(Field::addr, words_.bits(39, 32));
    if (shape(Field::data0).bits != 0) inst_.src[1] = vector(Field::data0, words_.bits(47, 40), acc);
    if (shape(Field::data1).bits != 0) inst_.src[2] = vector(Field::data1, words_.bits(55, 48), acc);
    if (shape(Field::vdst).bits != 0) inst_.dst = vector(Field::vdst, words_.bits(63, 56), acc);
    const bool two = has_two_offsets(*inst_.op);
    inst_.offset = static_cast<std::int32_t>(two ? words_.bits(7, 0) : words_.bits(15, 0));
    inst_.offset1 = static_cast<std::uint16_t>(two ? words_.bits(15, 8) : 0);
    return !words_.bit(16);  // global data share: none on these chips
  }

  /// What vdata or vdst and data mean, by the opcode's kind.
  void memory_data(const Operand& target, const Operand& data) {
    const bool store = contains(name(), "_store");
    const bool atomic = contains(name(), "_atomic");
    if (store || atomic) inst_.src[1] = data;
    if (!store && (!atomic || inst_.sc0) && !inst_.lds) inst_.dst = target;
    if (inst_.dst.present() && contains(name(), "cmpswap"))
      inst_.dst.dwords = static_cast<std::uint8_t>(data.dwords / 2);
  }

  void cache_bits(unsigned sc0, unsigned sc1, unsigned nt) {
    inst_.sc0 = words_.bit(sc0);
    inst_.sc1 = words_.bit(sc1);
    inst_.nt = words_.bit(nt);
  }

  bool flat() {
    if (words_.count < 2) return false;
    constexpr Format kSegment[] = {Format::flat, Format::scratch, Format::global, Format::flat};
    const std::uint32_t segment = words_.bits(15, 14);
    if (segment == 3 || !find(kSegment[segment], words_.bits(24, 18), 8)) return false;
    cache_bits(16, 25, 17);
    inst_.lds = contains(name(), "_lds_");
    inst_.offset = segment == 0 ? static_cast<std::int32_t>(words_.bits(11, 0))
                                : static_cast<std::int32_t>(words_.bits(12, 0) << 19) >> 19;
    const std::uint16_t scalar = static_cast<std::uint16_t>(words_.bits(54, 48));
    const bool has_scalar = segment != 0 && scalar != kNoScalar;
    if (has_scalar) inst_.base = {scalar, static_cast<std::uint8_t>(segment == 1 ? 1 : 2), Number::bits};
    Operand address = vector(Field::addr, words_.bits(39, 32));
    const bool indexed = inst_.op->older_cache_bits ? !has_scalar : words_.bit(13);  // of scratch: by a VGPR
    address.dwords = segment == 1 ? (indexed ? 1 : 0) : has_scalar ? 1 : 2;
    if (shape(Field::addr).bits != 0) inst_.src[0] = address;
    const bool acc = words_.bit(55);
    const bool atomic = contains(name(), "_atomic");
    const Operand data = vector(Field::data0, words_.bits(47, 40), acc);
    Operand target = vector(Field::vdst, words_.bits(63, 56), acc);
    if (atomic) target.dwords = data.dwords;
    memory_data(target, data);
    return true;
  }

  bool mubuf() {
    if (!find(Format::mubuf, words_.bits(24, 18), 8)) return false;
    cache_bits(14, 15, 17);
    inst_.lds = words_.bit(16);
    buffer();
    return true;
  }

  bool mtbuf() {
    if (!find(Format::mtbuf, words_.bits(18, 15), 8)) return false;
    cache_bits(14, 53, 54);
    buffer();
    inst_.offset1 = static_cast<std::uint16_t>(words_.bits(25, 19));
    return true;
  }

  void buffer() {
    inst_.offset = static_cast<std::int32_t>(words_.bits(11, 0));
    inst_.offen = words_.bit(12);
    inst_.idxen = words_.bit(13);
    if (shape(Field::srsrc).bits == 0) return;  // cache control
    inst_.base = operand(Field::srsrc, words_.bits(52, 48) << 2);
    inst_.soffset = operand(Field::soffset, words_.bits(63, 56));
    inst_.src[0] = vector(Field::addr, words_.bits(39, 32));
    inst_.src[0].dwords = static_cast<std::uint8_t>(inst_.offen + inst_.idxen);
    const Operand data = vector(Field::vdst, words_.bits(47, 40), words_.bit(55));
    memory_data(data, data);
  }

  const Words& words_;
  const OpTable& table_;
  Inst& inst_;
};

}  // namespace

bool decode(std::span<const std::uint8_t> text, std::size_t at, std::uint32_t address, const OpTable& table,
            Inst& out) {
  if (at > text.size() || text.size() - at < 4) return false;
  Words words;
  words.count = std::min<std::size_t>((text.size() - at) / 4, 4);
  std::memcpy(words.word.data(), text.data() + at, words.count * 4);
  out = Inst{};
  out.address = address;
  return Decoder(words, table, out).run();
}

}  // namespace ckgen::emu
