#ifndef CAIRN_PS_SERVER_BLOCKS_LEDGER_SUMMARY_H_
#define CAIRN_PS_SERVER_BLOCKS_LEDGER_SUMMARY_H_

#include <vector>

#include "proto/coordinator.pb.h"
#include "ps_server/blocks/job_layout.h"
#include "ps_server/blocks/update_rule.h"

namespace cairn::ps {

// What this ps says about its ledgers: the batches that all of its pushed blocks have settled, and
// those that at least one has. `states` are in the order of layout.blocks(). Without pushed blocks:
// blocks = 0 and no ledgers. The reply's query is left 0.
proto::LedgerReply SummarizeLedgers(const JobLayout& layout, uint64_t generation,
                                    const std::vector<BlockState>& states);

}  // namespace cairn::ps

#endif  // CAIRN_PS_SERVER_BLOCKS_LEDGER_SUMMARY_H_
