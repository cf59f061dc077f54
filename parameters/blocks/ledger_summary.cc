#include "parameters/blocks/ledger_summary.h"

namespace cairn::parameters {

proto::LedgerReply SummarizeLedgers(const JobLayout& layout, uint64_t generation,
                                    const std::vector<BlockState>& states) {
  proto::LedgerReply reply;
  reply.set_job_id(layout.job_id());
  reply.set_generation(generation);
  PushLedger applied_on_all;
  PushLedger applied_on_any;
  uint32_t blocks = 0;
  for (size_t position = 0; position < states.size(); ++position) {
    if (!layout.blocks()[position].pushed()) continue;
    const PushLedger& ledger = states[position].ledger;
    if (blocks++ == 0) {
      applied_on_all = applied_on_any = ledger;
    } else if (!(ledger == applied_on_all && ledger == applied_on_any)) {
      applied_on_all = PushLedger::Intersection(applied_on_all, ledger);
      applied_on_any = PushLedger::Union(applied_on_any, ledger);
    }
  }
  reply.set_blocks(blocks);
  if (blocks == 0) return reply;
  *reply.mutable_applied_on_all() = applied_on_all.ToProto();
  *reply.mutable_applied_on_any() = applied_on_any.ToProto();
  return reply;
}

}  // namespace cairn::parameters
