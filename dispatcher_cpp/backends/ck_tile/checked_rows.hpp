// An epilogue of ck_tile's that does not add to rows behind C.
//
// ck_tile pads C's view along N only and leaves rows behind C to the range check of buffer instructions. Adds to a bf16
// C have none before gfx950: they go through plain pointers. Padded along M too, the view itself tells which rows are.
#pragma once

#include <ck_tile/core.hpp>

namespace ckgen::tile {

/// `Epilogue` with C's view padded along M; for kernels that add splits of K into a row-major C.
template <class Epilogue>
struct CheckedRows : Epilogue {
  template <class CWindow, class Accumulators, class DWindows, class... More>
  CK_TILE_DEVICE auto operator()(CWindow& c, const Accumulators& accumulators, const DWindows& ds, void* lds,
                                 const More&... more) {
    const auto rows =
        ck_tile::pad_tensor_view(c.get_bottom_tensor_view(), c.get_window_lengths(), ck_tile::sequence<true, false>{});
    auto window = ck_tile::make_tile_window(rows, c.get_window_lengths(), c.get_window_origin());
    return Epilogue::operator()(window, accumulators, ds, lds, more...);
  }
};

}  // namespace ckgen::tile
