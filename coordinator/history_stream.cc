#include "coordinator/history_stream.h"

#include <utility>

#include "cluster/grpc_status.h"
#include "common/status_macros.h"
#include "storage/job_records.h"

namespace cairn::coordinator {
namespace {

constexpr int kBatchesInChunk = 4096;

}  // namespace

std::shared_ptr<HistoryStream> HistoryStream::Start(const storage::Journal* journal) {
  std::shared_ptr<HistoryStream> stream(new HistoryStream(journal));
  stream->self_ = stream;
  return stream;
}

void HistoryStream::Begin(absl::StatusOr<uint64_t> job_id) {
  MutexLock lock(&mutex_);
  if (!job_id.ok()) return FinishLocked(job_id.status());
  job_id_ = *job_id;
  if (!finished_) StartSendInitialMetadata();
}

void HistoryStream::OnSendInitialMetadataDone(bool ok) {
  MutexLock lock(&mutex_);
  if (!ok) return FinishLocked(absl::CancelledError("the client is gone"));
  const absl::Status read = ReadHeader();
  if (!read.ok()) return FinishLocked(read);
  WriteNextLocked();
}

absl::Status HistoryStream::ReadHeader() {
  CAIRN_ASSIGN_OR_RETURN(storage::JobRecords job, storage::ReadJob(*journal_, job_id_));
  if (job.plan.has_value()) header_.set_batches_per_epoch(job.plan->batches_per_epoch());
  header_.set_initial_epoch(job.record.job().initial_epoch());
  *header_.mutable_metric_names() = job.record.job().metrics();
  *header_.mutable_rates() = storage::RatesOf(job.run);
  for (const proto::EvaluationRecord& evaluation : job.evaluations) {
    *evaluations_.add_evaluations() = storage::NumberedEvaluation(evaluation, job.record.job());
  }
  return absl::OkStatus();
}

absl::Status HistoryStream::ReadChunk() {
  proto::HistoryChunk chunk = header_;
  CAIRN_RETURN_IF_ERROR(storage::ReadBatches(*journal_, job_id_, next_batch_,
                                             [&chunk](const proto::BatchRecord& record) {
                                               proto::BatchRecord& batch = *chunk.add_batches();
                                               batch = record;
                                               // Clients do not use the states, which may be large.
                                               batch.clear_metric_states();
                                               return chunk.batches_size() < kBatchesInChunk;
                                             }));
  last_ = chunk.batches_size() < kBatchesInChunk;
  if (last_) chunk.MergeFrom(evaluations_);
  if (chunk.batches_size() > 0) next_batch_ = chunk.batches().rbegin()->batch() + 1;
  chunk_ = std::move(chunk);
  return absl::OkStatus();
}

void HistoryStream::WriteNextLocked() {
  if (finished_) return;
  const absl::Status read = ReadChunk();
  if (!read.ok()) return FinishLocked(read);
  StartWrite(&chunk_);
}

void HistoryStream::FinishLocked(const absl::Status& status) {
  if (finished_) return;
  finished_ = true;
  Finish(cluster::ToGrpc(status));
}

void HistoryStream::OnWriteDone(bool ok) {
  MutexLock lock(&mutex_);
  if (!ok) return FinishLocked(absl::CancelledError("the client is gone"));
  if (last_) return FinishLocked(absl::OkStatus());
  WriteNextLocked();
}

void HistoryStream::OnCancel() {
  MutexLock lock(&mutex_);
  FinishLocked(absl::CancelledError("the call was cancelled"));
}

}  // namespace cairn::coordinator
