#ifndef CAIRN_CLI_VIEW_CLUSTER_TEXT_H_
#define CAIRN_CLI_VIEW_CLUSTER_TEXT_H_

#include <string>
#include <vector>

#include "proto/coordinator.pb.h"

namespace cairn::cli {

// "850 B", "12.3 MiB": powers of 1024.
std::string BytesText(int64_t bytes);

// All members of a cluster, the coordinator first.
std::vector<proto::Member> MembersOf(const proto::ClusterStatus& cluster);

// A headline with the coordinator's `address`, and a table of the members, the coordinator first.
// If its lines are longer than `width` characters, whole columns are omitted until they fit, in
// this order: HOST, PID, ADDRESS, JOINED, HEARD, MEMORY. 0: no limit.
std::string ClusterText(const proto::ClusterStatus& cluster, const std::string& address,
                        int width = 0);

}  // namespace cairn::cli

#endif  // CAIRN_CLI_VIEW_CLUSTER_TEXT_H_
