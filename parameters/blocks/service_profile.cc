#include "parameters/blocks/service_profile.h"

#include <utility>

namespace cairn::parameters {
namespace {

// About 1 MiB in a message.
constexpr int kSpansMax = 65536;

}  // namespace

void ServiceProfile::Start(uint64_t profile) {
  MutexLock lock(&mutex_);
  report_.Clear();
  threads_.clear();
  report_.set_profile(profile);
  report_.set_unix_nanoseconds(SpanRecorder::UnixNanosecondsAtZero());
  for (const char* name : {"receive", "apply", "reply"}) {
    proto::ProfileName* added = report_.add_names();
    added->set_name(name);
    added->set_kind("phase");
  }
  on_.store(true, std::memory_order_relaxed);
}

proto::ProfileReport ServiceProfile::Stop(uint64_t profile) {
  MutexLock lock(&mutex_);
  proto::ProfileReport report;
  if (report_.profile() != profile) {
    report.set_profile(profile);
    return report;
  }
  on_.store(false, std::memory_order_relaxed);
  return std::exchange(report_, std::move(report));
}

void ServiceProfile::Add(Operation operation, int64_t batch, int64_t begin, int64_t end) {
  MutexLock lock(&mutex_);
  if (report_.names().empty()) return;
  if (report_.spans_size() >= kSpansMax) return report_.set_dropped(report_.dropped() + 1);
  const auto thread = threads_.emplace(std::this_thread::get_id(), threads_.size()).first;
  proto::ProfileSpan* span = report_.add_spans();
  span->set_name(operation);
  span->set_batch(batch);
  span->set_thread(thread->second);
  span->set_begin_nanoseconds(begin);
  span->set_nanoseconds(end - begin);
}

}  // namespace cairn::parameters
