// The coordinator's journal, as the coordinator and `cairn` read it. The input's lines are the
// values of job 1's records, in the order of kRecords: in protobuf's text form, or after a '=' as
// bytes.

#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/text_format.h>
#include <rocksdb/env.h>

#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_split.h"
#include "common/check.h"
#include "coordinator/scheduler.h"
#include "storage/job_records.h"
#include "tests/fuzz/fuzz_target.h"

namespace cairn::fuzz {
namespace {

using google::protobuf::Message;

struct Record {
  std::string key;
  std::unique_ptr<Message> message;
};

std::vector<Record> MakeRecords() {
  std::vector<Record> records;
  records.push_back({storage::JobKey(1), std::make_unique<proto::JobRecord>()});
  records.push_back({storage::RunKey(1), std::make_unique<proto::RunRecord>()});
  records.push_back({storage::PlanKey(1), std::make_unique<proto::JobPlan>()});
  records.push_back({storage::ManifestKey(1, 3), std::make_unique<proto::Manifest>()});
  records.push_back({storage::EvaluationKey(1, 0), std::make_unique<proto::EvaluationRecord>()});
  records.push_back({storage::BatchKey(1, 0), std::make_unique<proto::BatchRecord>()});
  return records;
}

// The only journal in this process. Every run overwrites all of its records.
storage::Journal* TheJournal() {
  static storage::Journal* const journal = [] {
    const char* folder = std::getenv("TEST_TMPDIR");
    rocksdb::Env* const memory = rocksdb::NewMemEnv(rocksdb::Env::Default());
    auto opened =
        storage::Journal::Open(std::string(folder ? folder : "/tmp") + "/journal", memory);
    CAIRN_CHECK(opened.ok());
    return opened->release();
  }();
  return journal;
}

// Returns nullopt for a line in neither form.
std::optional<std::string> ValueOf(absl::string_view line, Message* message) {
  if (line.empty()) return std::nullopt;
  if (line[0] == '=') return std::string(line.substr(1));
  class Silence : public google::protobuf::io::ErrorCollector {
    void AddError(int, int, const std::string&) override {}
  } silence;
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&silence);
  message->Clear();
  if (!parser.ParseFromString(std::string(line), message)) return std::nullopt;
  return message->SerializeAsString();
}

// Starts a coordinator on the journal and queries it.
bool StartCoordinator(const storage::Journal& journal) {
  coordinator::Scheduler::Options options;
  options.membership.ps_addresses = {"127.0.0.1:7000"};
  options.membership.named_workers = {0};
  options.journal = &journal;
  coordinator::Outbox outbox;
  coordinator::EventTime now;
  auto scheduler = coordinator::Scheduler::Create(std::move(options), now, &outbox);
  if (!scheduler.ok()) return false;
  now.monotonic = absl::Seconds(30);
  (*scheduler)->OnTick(now, &outbox);
  (*scheduler)->ListJobs(now);
  static_cast<void>((*scheduler)->GetPlan("1"));
  static_cast<void>((*scheduler)->ListCheckpoints("1"));
  return true;
}

}  // namespace

bool RunInput(std::string_view input) {
  const std::vector<absl::string_view> lines =
      absl::StrSplit(absl::string_view(input.data(), input.size()), '\n');
  storage::Journal* const journal = TheJournal();
  std::vector<storage::Journal::Change> changes;
  size_t line = 0;
  for (const Record& record : MakeRecords()) {
    changes.push_back({record.key, line < lines.size() ? ValueOf(lines[line], record.message.get())
                                                       : std::nullopt});
    ++line;
  }
  CAIRN_CHECK(journal->Write(changes, /*sync=*/false).ok());

  const auto job = storage::ReadJob(*journal, 1);
  if (job.ok()) storage::StatusFromRecords(*job);
  const bool batches_are_good =
      storage::ReadBatches(*journal, 1, 0, [](const proto::BatchRecord&) { return true; }).ok();
  return StartCoordinator(*journal) && job.ok() && batches_are_good;
}

}  // namespace cairn::fuzz
