#include "cluster/message_checksum.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/unknown_field_set.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "cluster/shared_memory/checksum.h"

namespace cairn::cluster {
namespace {

using google::protobuf::UnknownField;
using google::protobuf::UnknownFieldSet;

constexpr int kField = 2047;

// The order of a map's entries must not matter.
std::string DeterministicBytes(const google::protobuf::Message& message) {
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);
    message.SerializeToCodedStream(&coded);
  }
  return bytes;
}

uint64_t DigestOf(const std::string& bytes) {
  Checksum checksum;
  checksum.Add(bytes.data(), bytes.size());
  return checksum.Digest();
}

uint64_t Digest(const google::protobuf::Message& message) {
  return DigestOf(DeterministicBytes(message));
}

// Start is StartJob or Restore.
template <typename Start>
bool TakeChecksumWithPlan(Start* start, proto::Command* command) {
  if (!start->has_plan() || start->plan_fingerprint() == 0) return TakeChecksum(command);
  const std::unique_ptr<proto::JobPlan> plan(start->release_plan());
  const bool is_whole =
      TakeChecksum(command) && PlanFingerprint(PlanBytes(*plan)) == start->plan_fingerprint();
  *start->mutable_plan() = std::move(*plan);
  return is_whole;
}

UnknownFieldSet* UnknownFields(google::protobuf::Message* message) {
  return message->GetReflection()->MutableUnknownFields(message);
}

}  // namespace

void AddChecksum(google::protobuf::Message* message) {
  const uint64_t digest = Digest(*message);
  UnknownFields(message)->AddFixed64(kField, digest);
}

bool TakeChecksum(google::protobuf::Message* message) {
  UnknownFieldSet* const fields = UnknownFields(message);
  if (fields->empty()) return true;
  const UnknownField field = fields->field(0);
  const bool has_checksum = fields->field_count() == 1 && field.number() == kField &&
                            field.type() == UnknownField::TYPE_FIXED64;
  if (!has_checksum) return false;
  const uint64_t digest = field.fixed64();
  fields->Clear();
  return Digest(*message) == digest;
}

bool TakeCommandChecksum(proto::Command* command) {
  if (command->has_start_job()) {
    return TakeChecksumWithPlan(command->mutable_start_job(), command);
  }
  if (command->has_restore()) return TakeChecksumWithPlan(command->mutable_restore(), command);
  return TakeChecksum(command);
}

std::string PlanBytes(const proto::JobPlan& plan) { return DeterministicBytes(plan); }

uint64_t PlanFingerprint(const std::string& plan_bytes) {
  return std::max<uint64_t>(1, DigestOf(plan_bytes));
}

}  // namespace cairn::cluster
