#include "job/ledger_state.h"

#include <string>

#include "common/check.h"

namespace cairn::job {

void SetApplied(int64_t batch, proto::LedgerState* state) {
  const int64_t bit = batch - state->low_water();
  CAIRN_CHECK(bit >= 0);
  std::string& above = *state->mutable_above();
  if (static_cast<int64_t>(above.size()) <= bit / 8) above.resize(bit / 8 + 1, '\0');
  above[bit / 8] = static_cast<char>(static_cast<uint8_t>(above[bit / 8]) | (1u << (bit % 8)));
}

void ForEachAppliedAbove(const proto::LedgerState& state,
                         absl::FunctionRef<void(int64_t batch)> visit) {
  const std::string& above = state.above();
  for (size_t byte = 0; byte < above.size(); ++byte) {
    for (int bit = 0; above[byte] != 0 && bit < 8; ++bit) {
      if ((static_cast<uint8_t>(above[byte]) >> bit & 1) == 0) continue;
      visit(state.low_water() + static_cast<int64_t>(byte) * 8 + bit);
    }
  }
}

}  // namespace cairn::job
