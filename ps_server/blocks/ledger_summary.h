#ifndef CAIRN_PS_SERVER_BLOCKS_LEDGER_SUMMARY_H_
#define CAIRN_PS_SERVER_BLOCKS_LEDGER_SUMMARY_H_

#include <vector>

#include "proto/coordinator.pb.h"
#include "ps_server/blocks/job_layout.h"
#include "ps_server/blocks/update_rule.h"

namespace cairn::ps {

// Summarizes the ledgers of a ps: which batches all of its pushed blocks have applied, and which at
// least one has. `states` are in the order of layout.blocks(). Without pushed blocks, `blocks` is 0
// and the ledgers are absent. Does not set the reply's `query`.
proto::LedgerReply SummarizeLedgers(const JobLayout& layout, uint64_t generation,
                                    const std::vector<BlockState>& states);

}  // namespace cairn::ps

#endif  // CAIRN_PS_SERVER_BLOCKS_LEDGER_SUMMARY_H_
