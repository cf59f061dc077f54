#ifndef CAIRN_CLI_VIEW_CLUSTER_TEXT_H_
#define CAIRN_CLI_VIEW_CLUSTER_TEXT_H_

#include <string>
#include <vector>

#include "proto/coordinator.pb.h"

namespace cairn::cli {

// "850 B", "12.3 MiB": powers of 1024.
std::string BytesText(int64_t bytes);

// The coordinator, and then every member as proto::Member has it.
std::vector<proto::Member> MembersOf(const proto::ClusterStatus& cluster);

// A headline with the coordinator's `address`, and a table of its members, the coordinator first.
// So that the table's lines fit into `width` characters whole columns are left out: HOST, PID,
// ADDRESS, JOINED, HEARD and MEMORY, in this order, until they do. 0: no limit.
std::string ClusterText(const proto::ClusterStatus& cluster, const std::string& address,
                        int width = 0);

}  // namespace cairn::cli

#endif  // CAIRN_CLI_VIEW_CLUSTER_TEXT_H_
