#ifndef CAIRN_TESTS_COORDINATOR_RECORDING_SINK_H_
#define CAIRN_TESTS_COORDINATOR_RECORDING_SINK_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "coordinator/inference.h"

namespace cairn::coordinator {

// A client that records what it gets.
struct RecordingSink final : InferenceSink {
  bool is_alive = true;
  bool is_ready = true;
  std::vector<proto::InferenceChunk> chunks;
  std::optional<absl::Status> end;

  bool alive() const override { return is_alive; }
  bool ready() const override { return is_alive && is_ready; }
  void Send(proto::InferenceChunk chunk) override { chunks.push_back(std::move(chunk)); }
  void End(const absl::Status& status) override { end = status; }

  std::vector<int64_t> batches() const {
    std::vector<int64_t> numbers;
    for (const auto& chunk : chunks) {
      for (const auto& batch : chunk.batches()) numbers.push_back(batch.batch());
    }
    return numbers;
  }
  std::vector<std::string> notes() const {
    std::vector<std::string> all;
    for (const auto& chunk : chunks)
      all.insert(all.end(), chunk.notes().begin(), chunk.notes().end());
    return all;
  }
};

}  // namespace cairn::coordinator

#endif  // CAIRN_TESTS_COORDINATOR_RECORDING_SINK_H_
