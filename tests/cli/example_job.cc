#include "tests/cli/example_job.h"

#include "absl/strings/str_cat.h"
#include "cluster/partition_map.h"
#include "common/check.h"
#include "nn/formats/keras_json.h"
#include "storage/job_records.h"
#include "storage/journal.h"
#include "storage/snapshot_store.h"

namespace cairn::cli {
namespace {

constexpr uint64_t kJob = 1;
constexpr uint64_t kCheckpoint = 2;
constexpr int64_t kNoted = 1700000000;

template <typename T>
T Must(absl::StatusOr<T> value) {
  CAIRN_CHECK(value.ok());
  return *std::move(value);
}

template <typename Message>
storage::Journal::Change Record(const std::string& key, const Message& message) {
  return {key, message.SerializeAsString()};
}

proto::BlockHeader HeaderOf(const proto::PartitionMap& map, uint32_t block) {
  const auto& variable = map.variables(map.blocks(block).variable());
  proto::BlockHeader header;
  header.set_variable(variable.name());
  *header.mutable_variable_shape() = variable.shape();
  header.set_row_begin(map.blocks(block).row_begin());
  header.set_row_end(map.blocks(block).row_end());
  header.set_version(6);
  header.add_slots("momentum");
  return header;
}

void WriteSnapshot(const std::string& directory, const proto::PartitionMap& map, uint32_t ps) {
  const auto store = Must(storage::SnapshotStore::Open(directory));
  const auto writer = Must(store->BeginSnapshot(kJob, kCheckpoint));
  for (const uint32_t block : cluster::BlocksOfPs(map, ps)) {
    const auto values = ExampleValues()[map.blocks(block).variable()];
    const std::string_view bytes(
        reinterpret_cast<const char*>(values.data() + cluster::BlockOffset(map, block)),
        cluster::BlockBytes(map, block));
    // The slot of the optimizer follows the values. Readers of values must skip it.
    const std::string slot(bytes.size(), '\x7f');
    const std::string_view pieces[] = {bytes, slot};
    const std::string header = HeaderOf(map, block).SerializeAsString();
    CAIRN_CHECK(writer->Add(block, header, pieces).ok());
  }
  CAIRN_CHECK(writer->Finish().ok());
}

}  // namespace

std::string ExampleModelJson() {
  return R"({"class_name": "Sequential", "config": {"name": "example", "layers": [
      {"class_name": "Dense", "config": {"name": "dense", "units": 3, "activation": "linear",
       "batch_input_shape": [null, 4]}}]}})";
}

std::vector<std::vector<float>> ExampleValues() {
  return {{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, {100, 200, 300}};
}

proto::JobPlan ExamplePlan() {
  proto::JobPlan plan;
  plan.set_job_id(kJob);
  plan.mutable_job()->set_name("example");
  plan.mutable_job()->add_metrics("mae");
  plan.mutable_job()->mutable_validation()->set_scale(2);
  *plan.mutable_model() = Must(nn::ReadKerasJson(ExampleModelJson()));
  const std::vector<cluster::VariableExtent> variables = {{"dense/kernel", {4, 3}, true, 2},
                                                          {"dense/bias", {3}}};
  *plan.mutable_partition() =
      Must(cluster::PlaceVariables(variables, /*ps_count=*/2, cluster::Placement::kBalanced));
  plan.set_batches_per_epoch(3);
  plan.set_total_batches(6);
  plan.set_batch_size(16);
  plan.set_synchronous(true);
  plan.set_batches_per_update(3);
  return plan;
}

proto::Manifest ExampleManifest() {
  proto::Manifest manifest;
  manifest.set_job_id(kJob);
  manifest.set_checkpoint(kCheckpoint);
  manifest.set_applied_batches(6);
  manifest.set_reason("epoch");
  for (uint32_t ps = 0; ps < ExamplePlan().partition().ps_count(); ++ps) {
    manifest.add_parts()->set_ps(ps);
  }
  return manifest;
}

std::vector<proto::BatchRecord> ExampleBatches() {
  std::vector<proto::BatchRecord> batches;
  for (int64_t i : {0, 1, 2, 3, 5}) {
    proto::BatchRecord batch;
    batch.set_batch(i);
    batch.set_loss(1.0 / 3 + static_cast<double>(i));
    batch.add_metrics(0.5);
    batches.push_back(batch);
  }
  return batches;
}

proto::EvaluationRecord ExampleEvaluation() {
  proto::EvaluationRecord evaluation;
  evaluation.set_epoch(1);
  evaluation.set_examples(70);
  evaluation.set_loss(0.25);
  evaluation.add_metrics(0.125);
  return evaluation;
}

proto::JobStatus ExampleStatus() {
  proto::JobStatus status;
  status.set_job_id(kJob);
  status.set_name("example");
  status.set_state(proto::FINISHED);
  status.set_total_batches(6);
  status.set_batches_done(6);
  status.set_epochs(2);
  status.add_metric_names("mae");
  *status.add_evaluations() = ExampleEvaluation();
  status.set_last_checkpoint(kCheckpoint);
  return status;
}

void WriteExampleState(const std::string& state, proto::JobState job_state) {
  const proto::JobPlan plan = ExamplePlan();
  proto::JobRecord record;
  record.set_job_id(kJob);
  *record.mutable_job() = plan.job();
  record.set_state(job_state);
  proto::RunRecord run;
  run.set_batches_done(6);
  run.set_generation(1);
  for (int i = 1; i <= 7; ++i) {
    proto::Note* note = run.add_notes();
    note->set_unix_seconds(kNoted + i);
    note->set_text(absl::StrCat("note number ", i));
  }
  std::vector<storage::Journal::Change> changes = {
      Record(storage::JobKey(kJob), record), Record(storage::RunKey(kJob), run),
      Record(storage::PlanKey(kJob), plan),
      Record(storage::ManifestKey(kJob, kCheckpoint), ExampleManifest()),
      Record(storage::EvaluationKey(kJob, 1), ExampleEvaluation())};
  for (const auto& batch : ExampleBatches()) {
    changes.push_back(Record(storage::BatchKey(kJob, batch.batch()), batch));
  }
  const auto journal = Must(storage::Journal::Open(state + "/coordinator"));
  CAIRN_CHECK(journal->Write(changes, /*sync=*/true).ok());
  for (uint32_t ps = 0; ps < 2; ++ps) {
    WriteSnapshot(absl::StrCat(state, "/ps-", ps), plan.partition(), ps);
  }
}

}  // namespace cairn::cli
