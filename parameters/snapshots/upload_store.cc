#include "parameters/snapshots/upload_store.h"

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/failpoint.h"
#include "common/logging.h"
#include "common/status_macros.h"
#include "nn/optimizers/rule.h"

namespace cairn::parameters {

namespace {

// A request whose reply was lost comes again, and is stored again.
constexpr uint64_t kRepetitions = 3;
constexpr uint64_t kRepeatedBytes = uint64_t{64} << 20;

proto::BlockHeader HeaderOf(const proto::UploadedBlock& block) {
  proto::BlockHeader header;
  header.set_variable(block.variable());
  *header.mutable_variable_shape() = block.variable_shape();
  header.set_row_begin(block.row_begin());
  header.set_row_end(block.row_end());
  header.set_version(block.version());
  *header.mutable_slots() = block.slots();
  return header;
}

}  // namespace

absl::StatusOr<int64_t> UploadStore::CountValues(const proto::UploadedBlock& block) {
  if (block.version() < 0 || block.slots_size() > nn::OptimizerRule::kSlotsMax) {
    return absl::InvalidArgumentError(absl::StrCat("uploaded block ", block.block(),
                                                   " has version ", block.version(), " and ",
                                                   block.slots_size(), " slots"));
  }
  const absl::StatusOr<int64_t> count = CountElements(HeaderOf(block));
  if (count.ok()) return *count * (1 + block.slots_size());
  return absl::InvalidArgumentError(
      absl::StrCat("uploaded block ", block.block(), ": ", std::string(count.status().message())));
}

void UploadStore::Expect(uint64_t job_id, uint64_t bytes) {
  MutexLock lock(&expected_mutex_);
  if (bytes == 0) {
    expected_.erase(job_id);
  } else {
    expected_[job_id].bytes = bytes;
  }
}

absl::Status UploadStore::Admit(uint64_t job_id, uint64_t bytes) {
  absl::Status refusal;
  {
    MutexLock lock(&expected_mutex_);
    const auto expected = expected_.find(job_id);
    if (expected == expected_.end()) {
      refusal = absl::UnavailableError(
          absl::StrCat("initial values of job ", job_id, " are not expected (yet)"));
    } else if (expected->second.admitted + bytes >
               kRepetitions * expected->second.bytes + kRepeatedBytes) {
      refusal = absl::FailedPreconditionError(absl::StrCat(
          "initial values of job ", job_id, ": ", expected->second.admitted + bytes,
          " bytes were uploaded to this ps, ", expected->second.bytes, " are expected"));
    } else {
      expected->second.admitted += bytes;
      return absl::OkStatus();
    }
  }
  const uint64_t count = ++refused_;
  // Not a line for each of a flood of them.
  if ((count & (count - 1)) == 0) {
    CAIRN_LOG_WARNING("refused an upload", "job", job_id, "refused", count, "why", refusal);
  }
  return refusal;
}

absl::Status UploadStore::Store(uint64_t job_id, std::vector<Upload> uploads) {
  CAIRN_RETURN_IF_ERROR(CAIRN_FAILPOINT("upload.store"));
  const auto id_of = [](const Upload& upload) { return upload.block.block(); };
  std::sort(uploads.begin(), uploads.end(),
            [&](const Upload& a, const Upload& b) { return id_of(a) < id_of(b); });
  for (size_t i = 1; i < uploads.size(); ++i) {
    if (id_of(uploads[i]) == id_of(uploads[i - 1])) {
      return absl::InvalidArgumentError(
          absl::StrCat("block ", id_of(uploads[i]), " occurs twice in one upload"));
    }
  }
  uint64_t snapshot = 0;
  {
    MutexLock lock(&mutex_);
    CAIRN_ASSIGN_OR_RETURN(Job * job, FindJob(job_id));
    snapshot = job->next_snapshot++;
  }
  // Write the snapshot before the index refers to it: Read must not find a block that is not on the
  // disk. The snapshot is durable when Write returns, so the caller may acknowledge the upload.
  CAIRN_RETURN_IF_ERROR(Write(job_id, snapshot, uploads));
  CAIRN_RETURN_IF_ERROR(CAIRN_FAILPOINT("upload.stored"));
  MutexLock lock(&mutex_);
  CAIRN_ASSIGN_OR_RETURN(Job * job, FindJob(job_id));
  // Of two concurrent uploads of a block, the one with the higher number wins, as it does after a
  // restart.
  for (const Upload& upload : uploads) {
    uint64_t& newest = job->snapshot_of_block[id_of(upload)];
    newest = std::max(newest, snapshot);
  }
  return absl::OkStatus();
}

absl::Status UploadStore::Write(uint64_t job_id, uint64_t snapshot,
                                absl::Span<const Upload> uploads) {
  CAIRN_ASSIGN_OR_RETURN(const std::unique_ptr<storage::SnapshotWriter> writer,
                         store_.BeginSnapshot(job_id, snapshot));
  for (const Upload& upload : uploads) {
    const std::string_view bytes(reinterpret_cast<const char*>(upload.values.data()),
                                 static_cast<size_t>(upload.values.count()) * sizeof(float));
    CAIRN_RETURN_IF_ERROR(
        writer->Add(upload.block.block(), HeaderOf(upload.block).SerializeAsString(), {bytes}));
  }
  return writer->Finish().status();
}

absl::StatusOr<StoredBlock> UploadStore::Read(uint64_t job_id, uint32_t block_id) {
  CAIRN_ASSIGN_OR_RETURN(storage::BlockRecord record, ReadRecord(job_id, block_id));
  return StoredBlock::Parse(block_id, std::move(record));
}

absl::StatusOr<storage::BlockRecord> UploadStore::ReadRecord(uint64_t job_id, uint32_t block_id) {
  CAIRN_RETURN_IF_ERROR(CAIRN_FAILPOINT("upload.read"));
  uint64_t snapshot = 0;
  {
    MutexLock lock(&mutex_);
    CAIRN_ASSIGN_OR_RETURN(const Job* job, FindJob(job_id));
    const auto found = job->snapshot_of_block.find(block_id);
    if (found == job->snapshot_of_block.end()) {
      return absl::NotFoundError(absl::StrCat("the initial values of block ", block_id, " of job ",
                                              job_id, " were not uploaded"));
    }
    snapshot = found->second;
  }
  return store_.ReadBlock(job_id, snapshot, block_id);
}

void UploadStore::Forget(uint64_t job_id) {
  MutexLock lock(&mutex_);
  jobs_.erase(job_id);
}

absl::StatusOr<UploadStore::Job*> UploadStore::FindJob(uint64_t job_id) {
  const auto found = jobs_.find(job_id);
  if (found != jobs_.end()) return &found->second;
  Job job;
  job.next_snapshot = kFirstSnapshot;
  CAIRN_ASSIGN_OR_RETURN(const std::vector<uint64_t> snapshots, store_.ListSnapshots(job_id));
  for (const uint64_t snapshot : snapshots) {
    if (snapshot < kFirstSnapshot) continue;
    CAIRN_ASSIGN_OR_RETURN(const std::vector<uint32_t> blocks, store_.ListBlocks(job_id, snapshot));
    for (const uint32_t block : blocks) job.snapshot_of_block[block] = snapshot;
    job.next_snapshot = snapshot + 1;
  }
  return &(jobs_[job_id] = std::move(job));
}

}  // namespace cairn::parameters
