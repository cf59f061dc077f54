#ifndef CAIRN_CLUSTER_MESSAGE_CHECKSUM_H_
#define CAIRN_CLUSTER_MESSAGE_CHECKSUM_H_

#include <google/protobuf/message.h>

#include <cstdint>
#include <string>

#include "proto/coordinator.pb.h"

namespace cairn::cluster {

// Checksums for the messages of the control plane, whose bits a bad network or machine may invert:
// neither gRPC nor HTTP/2 has any. The data plane has its own (see Frame).
//
//   AddChecksum(&message);               // The sender, when the message is complete.
//   if (!TakeChecksum(&message)) ...     // The receiver, before it looks at the message.

// Adds the checksum as field 2047, which no message of the control plane may declare.
void AddChecksum(google::protobuf::Message* message);

// Removes the checksum. False: the message is damaged. A message without a checksum and without
// other unknown fields is accepted, so that other programs need not know about them.
bool TakeChecksum(google::protobuf::Message* message);

// As TakeChecksum. The checksum of a command with a plan_fingerprint does not cover the plan, so
// that a plan is digested once and not for each receiver.
bool TakeCommandChecksum(proto::Command* command);

// The serialized form of a plan from which its fingerprint is computed: the same in all processes.
std::string PlanBytes(const proto::JobPlan& plan);
// Never 0.
uint64_t PlanFingerprint(const std::string& plan_bytes);

}  // namespace cairn::cluster

#endif  // CAIRN_CLUSTER_MESSAGE_CHECKSUM_H_
