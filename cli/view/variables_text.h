#ifndef CAIRN_CLI_VIEW_VARIABLES_TEXT_H_
#define CAIRN_CLI_VIEW_VARIABLES_TEXT_H_

#include <string>
#include <vector>

#include "nlohmann/json.hpp"
#include "proto/job.pb.h"

namespace cairn::cli {

// Where the variables of a job are: cairn status --variables. The plan's partition must be valid
// (cluster::ValidatePartitionMap). Bytes are those of the values, without the optimizer's state.

// A headline with the partitioner, a line for each shard of each variable, and a line for each ps
// (or worker, in a cluster without ps) with what it has:
//
//   VARIABLE      SHAPE     ROWS   PS  BYTES
//   dense/kernel  784 x 10  0:392  0   15.3 KiB
std::string VariablesText(const proto::JobPlan& plan);

// An object for each variable:
// {"variable": "dense/kernel", "shape": [784, 10], "frozen": false, "bytes": 31360,
//  "partitioner": "min_slice_bytes 262144", "placement": "balanced",
//  "shards": [{"rows": [0, 392], "ps": 0, "bytes": 15680}, ...]}
std::vector<nlohmann::ordered_json> VariablesJson(const proto::JobPlan& plan);

}  // namespace cairn::cli

#endif  // CAIRN_CLI_VIEW_VARIABLES_TEXT_H_
