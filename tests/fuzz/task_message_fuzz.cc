// Messages of tasks to the coordinator, in a cluster of 2 ps and 3 workers with one job. The lines
// of the input are "tick MILLISECONDS" or "SESSION MESSAGE" with the message in protobuf's text
// format; other lines are skipped.

#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/text_format.h>
#include <rocksdb/env.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/check.h"
#include "common/logging.h"
#include "coordinator/scheduler.h"
#include "storage/journal.h"
#include "tests/fuzz/fuzz_target.h"

namespace cairn::fuzz {
namespace {

constexpr int kPs = 2;
constexpr int kWorkers = 3;

std::optional<proto::TaskMessage> ParseMessage(absl::string_view text) {
  class Silence : public google::protobuf::io::ErrorCollector {
    void AddError(int, int, const std::string&) override {}
  } silence;
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&silence);
  proto::TaskMessage message;
  if (!parser.ParseFromString(std::string(text), &message)) return std::nullopt;
  return message;
}

// The only journal in this process. It is in memory and emptied before each run.
storage::Journal* EmptyJournal() {
  static storage::Journal* const journal = [] {
    const char* folder = std::getenv("TEST_TMPDIR");
    rocksdb::Env* const memory = rocksdb::NewMemEnv(rocksdb::Env::Default());
    auto opened =
        storage::Journal::Open(std::string(folder ? folder : "/tmp") + "/journal", memory);
    CAIRN_CHECK(opened.ok());
    return opened->release();
  }();
  std::vector<storage::Journal::Change> deletions;
  const absl::Status read = journal->ReadPrefix("", [&](std::string_view key, std::string_view) {
    deletions.push_back({std::string(key), std::nullopt});
    return true;
  });
  CAIRN_CHECK(read.ok() && journal->Write(deletions, /*sync=*/false).ok());
  return journal;
}

proto::Job MakeJob() {
  proto::Job job;
  job.set_name("job");
  job.set_batch_size(10);
  job.set_epochs(2);
  job.add_metrics("accuracy");
  job.mutable_validation();
  job.mutable_checkpoint()->set_every_steps(4);
  return job;
}

class Cluster {
 public:
  Cluster() {
    coordinator::Scheduler::Options options;
    for (int i = 0; i < kPs; ++i) {
      options.membership.ps_addresses.push_back(absl::StrCat("127.0.0.1:", 7000 + i));
    }
    for (int i = 0; i < kWorkers; ++i) options.membership.named_workers.insert(i);
    options.new_cluster_id = 1;
    options.journal = journal_;
    auto scheduler = coordinator::Scheduler::Create(std::move(options), now_, &outbox_);
    CAIRN_CHECK(scheduler.ok());
    scheduler_ = *std::move(scheduler);
    coordinator::ValidatedJob job;
    *job.request.mutable_job() = MakeJob();
    job.partition.set_ps_count(kPs);
    CAIRN_CHECK(scheduler_->Submit(job, now_, &outbox_).ok());
    CarryOut();
  }

  void Tick(int milliseconds) {
    now_.monotonic += absl::Milliseconds(std::clamp(milliseconds, 0, 100000));
    scheduler_->OnTick(now_, &outbox_);
    scheduler_->ListJobs(now_);
    CarryOut();
  }

  void Say(uint64_t session, const proto::TaskMessage& message) {
    scheduler_->OnMessage(session, message, now_, &outbox_);
    CarryOut();
  }

  bool has_trained() { return scheduler_->GetJob("1", now_)->batches_done() > 0; }

 private:
  void CarryOut() {
    CAIRN_CHECK(journal_->Write(outbox_.changes, /*sync=*/false).ok());
    coordinator::Outbox outbox = std::move(outbox_);
    outbox_ = coordinator::Outbox();
    for (const auto& sending : outbox.commands) {
      if (sending.command.has_grant()) CheckGrant(sending.command.grant());
    }
    for (auto& reply : outbox.replies) reply();
  }

  void CheckGrant(const proto::Grant& grant) {
    const auto plan = scheduler_->GetPlan("1");
    CAIRN_CHECK(plan.ok());
    for (const proto::Split& split : grant.train()) {
      CAIRN_CHECK(split.first() >= 0 && split.count() > 0 && split.stride() > 0);
      CAIRN_CHECK(split.first() + (split.count() - 1) * split.stride() < plan->total_batches());
    }
  }

  storage::Journal* const journal_ = EmptyJournal();
  coordinator::EventTime now_ = {absl::Seconds(100), 0};
  coordinator::Outbox outbox_;
  std::unique_ptr<coordinator::Scheduler> scheduler_;
};

void Quieten() {
  static const bool quiet = [] {
    LogOptions options;
    options.level = "error";
    return InitLogging(options).ok();
  }();
  CAIRN_CHECK(quiet);
}

}  // namespace

bool RunInput(std::string_view input) {
  Quieten();
  Cluster cluster;
  for (const absl::string_view line :
       absl::StrSplit(absl::string_view(input.data(), input.size()), '\n')) {
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(line, absl::MaxSplits(' ', 1));
    int milliseconds;
    uint64_t session;
    if (parts.first == "tick") {
      if (absl::SimpleAtoi(parts.second, &milliseconds)) cluster.Tick(milliseconds);
    } else if (absl::SimpleAtoi(parts.first, &session)) {
      if (const auto message = ParseMessage(parts.second)) cluster.Say(session, *message);
    }
  }
  return cluster.has_trained();
}

}  // namespace cairn::fuzz
