#include "coordinator/training/task_meters.h"

#include <algorithm>

namespace cairn::coordinator {

void TaskMeters::OnMessage(TaskId task, const proto::TaskMessage& message, absl::Duration now) {
  if (message.has_heartbeat()) {
    const proto::Heartbeat& heartbeat = message.heartbeat();
    Meter& meter = meters_[task];
    const int64_t requests = heartbeat.pulls() + heartbeat.pushes();
    // The first heartbeat counts requests from before the measurement. A new job may reset the
    // count.
    const int64_t more = meter.has_beaten ? std::max<int64_t>(0, requests - meter.requests) : 0;
    meter.requests_rate.Add(static_cast<double>(more), now);
    meter.requests = requests;
    meter.has_beaten = true;
    meter.memory_bytes = heartbeat.memory_bytes();
  } else if (message.has_work()) {
    double examples = 0;
    for (const auto& batch : message.work().batches()) {
      examples += static_cast<double>(batch.examples());
    }
    Meter& meter = meters_[task];
    meter.batches_rate.Add(message.work().batches_size(), now);
    meter.examples_rate.Add(examples, now);
  }
}

void TaskMeters::Fill(TaskId task, absl::Duration now, proto::Member* member) {
  const auto it = meters_.find(task);
  if (it == meters_.end()) return;
  Meter& meter = it->second;
  member->set_memory_bytes(meter.memory_bytes);
  member->set_requests_per_second(meter.requests_rate.PerSecond(now));
  member->set_batches_per_second(meter.batches_rate.PerSecond(now));
  member->set_examples_per_second(meter.examples_rate.PerSecond(now));
}

}  // namespace cairn::coordinator
