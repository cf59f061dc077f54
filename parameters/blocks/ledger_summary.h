#ifndef CAIRN_PARAMETERS_BLOCKS_LEDGER_SUMMARY_H_
#define CAIRN_PARAMETERS_BLOCKS_LEDGER_SUMMARY_H_

#include <vector>

#include "parameters/blocks/job_layout.h"
#include "parameters/blocks/update_rule.h"
#include "proto/coordinator.pb.h"

namespace cairn::parameters {

// Summarizes the ledgers of a ps: which batches all of its pushed blocks have applied, and which at
// least one has. `states` are in the order of layout.blocks(). Without pushed blocks, `blocks` is 0
// and the ledgers are absent. Does not set the reply's `query`.
proto::LedgerReply SummarizeLedgers(const JobLayout& layout, uint64_t generation,
                                    const std::vector<BlockState>& states);

}  // namespace cairn::parameters

#endif  // CAIRN_PARAMETERS_BLOCKS_LEDGER_SUMMARY_H_
