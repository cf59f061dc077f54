#include "ps_server/blocks/ledger_summary.h"

namespace cairn::ps {

proto::LedgerReply SummarizeLedgers(const JobLayout& layout, uint64_t generation,
                                    const std::vector<BlockState>& states) {
  proto::LedgerReply reply;
  reply.set_job_id(layout.job_id());
  reply.set_generation(generation);
  PushLedger everywhere;
  PushLedger somewhere;
  uint32_t blocks = 0;
  for (size_t position = 0; position < states.size(); ++position) {
    if (!layout.blocks()[position].pushed()) continue;
    const PushLedger& ledger = states[position].ledger;
    if (blocks++ == 0) {
      everywhere = somewhere = ledger;
    } else if (!(ledger == everywhere && ledger == somewhere)) {
      everywhere = PushLedger::Intersection(everywhere, ledger);
      somewhere = PushLedger::Union(somewhere, ledger);
    }
  }
  reply.set_blocks(blocks);
  if (blocks == 0) return reply;
  *reply.mutable_everywhere() = everywhere.ToProto();
  *reply.mutable_somewhere() = somewhere.ToProto();
  return reply;
}

}  // namespace cairn::ps
