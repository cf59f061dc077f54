#include "coordinator/shared_plan.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <utility>

#include "cluster/message_checksum.h"
#include "common/check.h"

namespace cairn::coordinator {
namespace {

using google::protobuf::io::CodedOutputStream;

constexpr uint32_t kLengthDelimited = 2;

constexpr uint32_t Tag(int field) { return static_cast<uint32_t>(field) << 3 | kLengthDelimited; }

size_t HeaderBytes(uint32_t tag, uint32_t length) {
  return CodedOutputStream::VarintSize32(tag) + CodedOutputStream::VarintSize32(length);
}

}  // namespace

SharedPlanPtr SharePlan(const proto::JobPlan& plan) {
  auto shared = std::make_shared<SharedPlan>();
  shared->bytes = cluster::PlanBytes(plan);
  shared->fingerprint = cluster::PlanFingerprint(shared->bytes);
  return shared;
}

std::string PlanPrefix(const proto::Command& command, const SharedPlan& plan) {
  CAIRN_CHECK(command.has_start_job() || command.has_restore());
  const bool starts = command.has_start_job();
  const uint32_t outer =
      starts ? Tag(proto::Command::kStartJobFieldNumber) : Tag(proto::Command::kRestoreFieldNumber);
  const uint32_t inner =
      starts ? Tag(proto::StartJob::kPlanFieldNumber) : Tag(proto::Restore::kPlanFieldNumber);
  const auto length = static_cast<uint32_t>(plan.bytes.size());
  std::string prefix;
  google::protobuf::io::StringOutputStream stream(&prefix);
  CodedOutputStream coded(&stream);
  coded.WriteVarint32(outer);
  coded.WriteVarint32(static_cast<uint32_t>(HeaderBytes(inner, length)) + length);
  coded.WriteVarint32(inner);
  coded.WriteVarint32(length);
  coded.Trim();
  return prefix;
}

}  // namespace cairn::coordinator
