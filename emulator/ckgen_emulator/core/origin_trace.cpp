#include "origin_trace.hpp"

#include <algorithm>
#include <bit>

#include "text_parts.hpp"

namespace ckgen::emu {
namespace {

constexpr const char *kLaunch = "launch", *kNobody = "host", *kMore = "more";

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

/// Whether it moves something between registers and memory or LDS.
bool is_memory(const Inst& inst) {
  switch (inst.op->format) {
    case Format::ds:
      return inst.op->name.find("permute") == std::string::npos && inst.op->name.find("swizzle") == std::string::npos;
    case Format::mubuf:
    case Format::global:
    case Format::flat:
    case Format::scratch:
    case Format::smem: return true;
    default: return false;
  }
}

}  // namespace

std::string OriginTrace::of_store(const WaveHistory& history, unsigned lane, unsigned half, unsigned halves) {
  step({&history, history.events.size() - 1, static_cast<int>(lane), static_cast<int>(half), static_cast<int>(halves)},
       nullptr, true);
  while (!waiting_.empty()) {
    const std::size_t next = waiting_.front();
    waiting_.pop_front();
    follow(next);
  }
  return text();
}

const Inst& OriginTrace::inst_of(const Asked& one) const {
  return from_.launch_->program.insts[one.history->events[one.event].inst];
}

std::uint16_t OriginTrace::traits_of(const Asked& one) const {
  return from_.launch_->program.traits[one.history->events[one.event].inst];
}

/// The number of the step for an event's lane, whatever part of it is asked; -1 where there are enough.
int OriginTrace::step(const Asked& asked, const StoreRecord* over, bool followed) {
  const auto same = [&](const Step& one) {
    return one.asked.history == asked.history && one.asked.event == asked.event && one.asked.lane == asked.lane;
  };
  auto known = std::find_if(steps_.begin(), steps_.end(), same);
  if (known == steps_.end()) {
    if (steps_.size() == kMost) return -1;
    Step made;
    made.asked = asked;
    made.label = over != nullptr ? over->label : from_.label_of(asked.history->events[asked.event].inst);
    made.group = over != nullptr ? over->group : asked.history->group;
    made.wave = over != nullptr ? over->wave : asked.history->wave;
    steps_.push_back(std::move(made));
    known = steps_.end() - 1;
  } else if (known->asked.half != asked.half || known->asked.halves != asked.halves) {
    known->asked.half = -1;
  }
  const auto number = static_cast<std::size_t>(known - steps_.begin());
  if (followed && asked.history != nullptr && !known->followed && followed_ < kMostFollowed) {
    known->followed = true;
    ++followed_;
    waiting_.push_back(number);
  }
  return static_cast<int>(number);
}

void OriginTrace::follow(std::size_t index) {
  steps_[index].done = true;
  const Asked asked = steps_[index].asked;
  if (asked.history->events[asked.event].loaded != 0) memory(index);
  registers(index);
}

/// Which stores the bytes are of that it loaded.
void OriginTrace::memory(std::size_t index) {
  const Asked asked = steps_[index].asked;
  const WaveHistory& history = *asked.history;
  const WaveHistory::Event& event = history.events[asked.event];
  if (event.exec == 0 && asked.lane < 0) return;
  const auto lane = static_cast<unsigned>(asked.lane >= 0 ? asked.lane : std::countr_zero(event.exec));
  const std::size_t first = event.loaded - 1;
  const std::size_t next = asked.event + 1;
  std::size_t end = history.loaded.size();
  for (std::size_t i = next; i < history.events.size(); ++i) {
    if (history.events[i].loaded == 0) continue;
    end = history.events[i].loaded - 1;
    break;
  }
  const std::size_t halves = (end - first) / kLanes;
  const std::size_t begin = asked.half < 0 ? 0 : static_cast<std::size_t>(asked.half);
  const std::size_t stop = asked.half < 0 ? halves : std::min(halves, begin + static_cast<std::size_t>(asked.halves));
  StoreId before = kNotLoaded;
  for (std::size_t half = begin; half < stop; ++half) {
    const StoreId id = history.loaded[first + half * kLanes + lane];
    if (id == kNotLoaded || (before != kNotLoaded &&
                             (id == kHost ? before == kHost : (id - 1) / kMostHalves == (before - 1) / kMostHalves)))
      continue;
    before = id;
    Named found{inst_of(asked).op->format == Format::ds ? "LDS" : "memory", static_cast<int>(lane), -1, kNobody};
    if (id != kHost) {
      const std::uint64_t number = id - 1;
      const StoreRecord& record = from_.stores_[number / kMostHalves / kLanes];
      const bool alive = record.history != nullptr && record.history->life == record.life;
      const Asked store{alive ? record.history : nullptr, alive ? record.event : number / kMostHalves / kLanes,
                        static_cast<int>(number / kMostHalves % kLanes), static_cast<int>(number % kMostHalves), 1};
      found.by = step(store, alive ? nullptr : &record, true);
      found.why = found.by < 0 ? kMore : nullptr;
    }
    steps_[index].operands.push_back(std::move(found));
  }
}

void OriginTrace::registers(std::size_t index) {
  const Asked asked = steps_[index].asked;
  const Inst& inst = inst_of(asked);
  const std::uint16_t traits = traits_of(asked);
  const Footprint& footprint = from_.launch_->program.footprints[asked.history->events[asked.event].inst];
  const bool memory = is_memory(inst), data = memory && inst.src[1].present();
  if (data) stored(index, inst.src[1]);
  if (data && inst.src[2].present()) stored(index, inst.src[2]);
  const bool lanes_differ = (traits & (kOtherLanes | kMatrix)) != 0 || inst.special == Special::dpp;
  for (unsigned i = 0; i < footprint.read_count; ++i) {
    const Operand& one = footprint.reads[i];
    if (data && (one.code == inst.src[1].code || (inst.src[2].present() && one.code == inst.src[2].code))) continue;
    const bool sums = (traits & kMatrix) != 0 && one.code == inst.src[2].code && one.dwords == inst.dst.dwords;
    for (unsigned part = 0; part < one.dwords; ++part) {
      if (sums && asked.half >= 0 && static_cast<unsigned>(asked.half) / 2 != part) continue;
      named(index, one, part, lanes_differ && !sums ? -1 : asked.lane, -1, !memory);
    }
  }
}

/// The registers of a store's data that were asked for.
void OriginTrace::stored(std::size_t index, const Operand& data) {
  const Asked asked = steps_[index].asked;
  for (unsigned part = 0; part < data.dwords; ++part) {
    const bool all = asked.half < 0 || inst_of(asked).dst.present();  // of what an atomic returns: all
    const unsigned first = static_cast<unsigned>(asked.half) / 2;
    const unsigned last = static_cast<unsigned>(asked.half + asked.halves - 1) / 2;
    if (!all && (part < first || part > last)) continue;
    const bool whole = all || asked.halves != 1;
    named(index, data, part, asked.lane, whole ? -1 : asked.half % 2, true);
  }
}

/// Who wrote a dword of an operand before the step's event; `half`: which of the dword, -1: both.
void OriginTrace::named(std::size_t index, const Operand& operand, unsigned part, int lane, int half, bool followed) {
  const Asked asked = steps_[index].asked;
  const unsigned code = operand.code + part;
  Operand dword = operand;
  dword.code = static_cast<std::uint16_t>(code);
  dword.dwords = 1;
  const int of_lane = operand.vector() ? lane : -1;
  Named found{operand_text(dword, 0), of_lane, -1, kLaunch};
  Asked before{asked.history, asked.event, of_lane, -1, 2}, writer;
  while (before.event-- != 0) {
    if (!wrote(before, code, of_lane, half, writer)) continue;
    found.by = step(writer, nullptr, followed && operand.vector());
    found.why = found.by < 0 ? kMore : nullptr;
    break;
  }
  auto& operands = steps_[index].operands;
  const bool again = found.by >= 0 && std::any_of(operands.begin(), operands.end(), [&](const Named& one) {
                       return one.by == found.by && one.lane == found.lane;
                     });
  if (!again) operands.push_back(std::move(found));
}

/// Whether that event wrote the register in that lane (-1: in any), and then which part of its result it is.
bool OriginTrace::wrote(const Asked& one, unsigned code, int lane, int half, Asked& found) const {
  const WaveHistory::Event& event = one.history->events[one.event];
  const Footprint& footprint = from_.launch_->program.footprints[event.inst];
  const LaneMask lanes = (traits_of(one) & kIgnoresExec) != 0 ? ~LaneMask{0} : event.exec;
  for (unsigned i = 0; i < footprint.write_count; ++i) {
    const Operand& written = footprint.writes[i];
    if (code < written.code || code >= unsigned{written.code} + written.dwords) continue;
    if (written.vector() && (lane < 0 ? lanes == 0 : (lanes >> lane & 1) == 0)) continue;
    const int dword = static_cast<int>(code - written.code);
    found = one;
    found.half = half < 0 ? 2 * dword : 2 * dword + half;
    found.halves = half < 0 ? 2 : 1;
    const std::string& name = inst_of(one).op->name;
    if (half < 0 || name.find("_d16") == std::string::npos) return true;
    return name.ends_with("_hi") == (half == 1);
  }
  return false;
}

std::string OriginTrace::text() const {
  std::string all;
  for (const Step& one : steps_) {
    const InstLabel& label = from_.labels_[one.label];
    all += (all.empty() ? "{" : ", {") + std::string("\"kernel\": ") + quoted(label.kernel) +
           ", \"address\": " + std::to_string(label.address) + ", \"instruction\": " + quoted(label.text) +
           ", \"group\": [" + std::to_string(one.group[0]) + ", " + std::to_string(one.group[1]) + ", " +
           std::to_string(one.group[2]) + "], \"wave\": " + std::to_string(one.wave) +
           ", \"lane\": " + std::to_string(one.asked.lane) + ", \"operands\": ";
    if (!one.done) {
      all += "null}";
      continue;
    }
    all += "[";
    for (std::size_t i = 0; i < one.operands.size(); ++i) {
      const Named& operand = one.operands[i];
      all += std::string(i == 0 ? "" : ", ") + "{\"name\": " + quoted(operand.name) +
             ", \"lane\": " + std::to_string(operand.lane) +
             ", \"by\": " + (operand.by < 0 ? "null" : std::to_string(operand.by)) +
             ", \"why\": " + (operand.why == nullptr ? "null" : quoted(operand.why)) + "}";
    }
    all += "]}";
  }
  return all;
}

}  // namespace ckgen::emu
