#include "cli/drill/drill.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "cli/drill/drill_plan.h"
#include "cli/drill/drill_report.h"
#include "cli/drill/drill_training.h"
#include "cli/drill/fault_injector.h"
#include "cli/drill/verdict.h"
#include "cli/files.h"
#include "cli/interrupts.h"
#include "cli/local/local_cluster.h"
#include "cli/progress_text.h"
#include "cli/status_json.h"
#include "cli/submission.h"
#include "common/plural.h"
#include "common/status_macros.h"
#include "job/job_plan.h"
#include "job/strategy.h"

namespace cairn::cli {
namespace {

constexpr double kFullSpeed = 0.8;
// The rate is measured over at least this time and this number of batches.
constexpr double kRateSeconds = 1;
constexpr double kRateBatches = 8;
// A fault that is not noticed within this time has had no effect. Leases last 10 s.
constexpr double kNoticeTimeout = 60;
// The duration of a plan that goes on until the job's end.
constexpr double kSoakSeconds = 600;
// A job that ends before the planned faults is trained again, with so many times as many epochs.
constexpr int kMoreEpochs = 4;
constexpr int kAttempts = 5;
// People see a line at least this often.
constexpr double kProgressSeconds = 10;
// The drill goes on with the next fault after this time at a lower rate, which is no error: the
// machine may have become slower.
constexpr double kFullSpeedTimeout = 60;
constexpr int kCurvePoints = 400;

void Lengthen(proto::Job* job) {
  if (job->has_steps()) return job->set_steps(job->steps() * kMoreEpochs);
  job->set_epochs(job->epochs() * kMoreEpochs);
}

std::string LengthText(const proto::Job& job) {
  return job.has_steps() ? Plural(job.steps(), "step") : Plural(job.epochs(), "epoch");
}

class Drill {
 public:
  // `options` has the numbers of tasks. `device`: the workers' --device, or empty.
  Drill(const DrillOptions& options, std::string device, const DrillPlan& plan,
        const CommandContext& context)
      : options_(options),
        device_(std::move(device)),
        plan_(plan),
        planned_(options.faults > 0 ? options.faults : plan.faults),
        duration_(options.duration > 0 ? options.duration
                  : plan.is_soak       ? kSoakSeconds
                                       : 0),
        context_(context),
        interrupts_([] {}, "cairn: the drill was stopped\n") {}

  absl::StatusOr<int> Run(const Submission& submission);

 private:
  // One attempt, with the job's epochs.
  absl::Status Train(const Submission& submission);
  // Whether the job has ended in order, but before a planned fault or while it lasted.
  bool WasTooShort() const;
  // `injector` may be null.
  LocalClusterOptions ClusterOptions(const std::string& state, FaultInjector* injector) const;
  absl::Status CheckFolder() const;
  absl::Status TrainTwin(const Submission& submission);
  absl::Status TrainUnderFaults(const Submission& submission);
  // Injects one fault after the other. Returns when the job has ended.
  absl::Status InjectFaults(DrillTraining* training, FaultInjector* injector);
  // As DrillTraining::Look. Shows the progress from time to time.
  absl::Status Look(DrillTraining* training);
  bool IsMoreWanted(const DrillTraining& training) const;
  // Waits until the job has made progress for as long as the fault wants, and sets `rate_before`.
  absl::Status WaitForProgress(DrillTraining* training, FaultRecord* record);
  // `before`: just before the fault.
  absl::Status WatchFault(DrillTraining* training, FaultInjector* injector,
                          const DrillState& before, FaultRecord* record);
  // Waits until the fault is noticed and has lasted long enough, and ends it.
  absl::Status WaitUntilNoticed(DrillTraining* training, FaultInjector* injector,
                                const DrillState& before, FaultRecord* record);
  absl::Status WaitForFullSpeed(DrillTraining* training, double since, FaultRecord* record);
  void RemoveStates() const;  // Unless they are to be kept.
  absl::StatusOr<int> Report();

  // A line for people; nothing with --json.
  void Say(const std::string& line) const {
    if (!options_.json) *context_.out << line << std::endl;
  }
  void SayAt(double seconds, const std::string& line) {
    said_at_ = seconds;
    Say(absl::StrFormat("%6s  %s", DurationText(seconds), line));
  }

  const DrillOptions options_;
  const std::string device_;
  const DrillPlan& plan_;
  const int planned_;
  const double duration_;
  const CommandContext& context_;
  const Interrupts interrupts_;
  DrillReport report_;
  TrainedValues expected_;       // By the run without faults.
  int64_t batches_reached_ = 0;  // The most batches done before the last fault.
  double said_at_ = 0;           // The time of the last line.
};

absl::StatusOr<int> Drill::Run(const Submission& submission) {
  CAIRN_RETURN_IF_ERROR(CheckFolder());
  report_.job = submission.job.name();
  report_.plan = plan_.name;
  report_.seed = options_.seed;
  report_.ps = options_.ps;
  report_.workers = options_.workers;
  Submission attempt = submission;
  if (options_.epochs > 0) {
    attempt.job.clear_steps();
    attempt.job.set_epochs(options_.epochs);
  }
  absl::Status status;
  for (int i = 1; i <= kAttempts; ++i) {
    status = Train(attempt);
    if (!status.ok() || options_.epochs > 0 || i == kAttempts || !WasTooShort()) break;
    Lengthen(&attempt.job);
    Say(absl::StrCat("the job ended before the planned faults; again, with ",
                     LengthText(attempt.job)));
    RemoveStates();
  }
  if (interrupts_.exit_code() != 0 || absl::IsInvalidArgument(status)) RemoveStates();
  if (interrupts_.exit_code() != 0) {
    Say("stopped; there is no report");
    return interrupts_.exit_code();
  }
  CAIRN_RETURN_IF_ERROR(status);
  return Report();
}

absl::Status Drill::Train(const Submission& submission) {
  report_.length = LengthText(submission.job);
  report_.faults.clear();
  report_.comparison.reset();
  report_.throughput.reset();
  expected_ = TrainedValues();
  batches_reached_ = 0;
  if (job::ResolveNumbers(submission.job).updates.synchronous)
    CAIRN_RETURN_IF_ERROR(TrainTwin(submission));
  return TrainUnderFaults(submission);
}

bool Drill::WasTooShort() const {
  return report_.result.finished &&
         std::any_of(report_.faults.begin(), report_.faults.end(),
                     [](const FaultRecord& record) { return !record.at || record.cut_short; });
}

// What is left of an earlier drill is not overwritten: it may be the evidence of an error.
absl::Status Drill::CheckFolder() const {
  for (const char* name : {"/state", "/twin"}) {
    const std::string state = options_.output + name;
    std::error_code error;
    if (!std::filesystem::exists(state, error)) continue;
    return absl::FailedPreconditionError(
        absl::StrCat("--output: ", state,
                     " is the state directory of an earlier drill; remove it, or choose another "
                     "folder"));
  }
  const absl::Status status = CheckMayWriteIn(options_.output);
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrCat("--output: ", status.message()));
}

LocalClusterOptions Drill::ClusterOptions(const std::string& state, FaultInjector* injector) const {
  LocalClusterOptions options;
  options.state = state;
  options.programs_folder = context_.programs_folder;
  options.ps = options_.ps;
  options.workers = options_.workers;
  options.device = device_;
  options.environment = context_.environment;
  options.more_flags = [this, injector](
                           const std::string& task,
                           const ClusterFile& cluster) -> absl::StatusOr<std::vector<std::string>> {
    std::vector<std::string> flags;
    if (injector != nullptr) {
      CAIRN_ASSIGN_OR_RETURN(flags, injector->FlagsOf(task, cluster));
    }
    if (!absl::StartsWith(task, "worker-")) return flags;
    if (options_.threads > 0) {
      flags.insert(flags.end(), {"--threads", absl::StrCat(options_.threads)});
    }
    if (options_.step_delay > 0) {
      if (!absl::c_linear_search(flags, "--unsafe_testing")) flags.push_back("--unsafe_testing");
      flags.insert(flags.end(),
                   {"--failpoint", absl::StrCat("worker.forward=sleep:", options_.step_delay,
                                                "@1-1000000000000")});
    }
    return flags;
  };
  return options;
}

absl::Status Drill::TrainTwin(const Submission& submission) {
  Say("training without faults first: the final values of a synchronous job must have the same "
      "bits");
  DrillTraining training(ClusterOptions(options_.output + "/twin", nullptr), &interrupts_);
  CAIRN_RETURN_IF_ERROR(training.Start(submission));
  while (!training.has_ended()) CAIRN_RETURN_IF_ERROR(Look(&training));
  report_.twin = training.Finish(&expected_);
  if (!report_.twin->finished) {
    return absl::FailedPreconditionError(
        absl::StrCat("the job fails without faults, too: ", report_.twin->error));
  }
  SayAt(report_.twin->seconds, absl::StrCat(report_.twin->batches_done, " batches done"));
  return absl::OkStatus();
}

absl::Status Drill::TrainUnderFaults(const Submission& submission) {
  const std::string state = options_.output + "/state";
  FaultInjector injector(plan_, state);
  DrillTraining training(ClusterOptions(state, &injector), &interrupts_);
  CAIRN_RETURN_IF_ERROR(training.Start(submission));
  Say(absl::StrCat(
      "drill ", plan_.name, ", seed ", options_.seed, ": ",
      duration_ > 0 ? absl::StrCat("faults for ", DurationText(duration_), ", at least ") : "",
      Plural(planned_, "fault"), " on ", TasksText(options_.ps, options_.workers)));
  const absl::Status injected = InjectFaults(&training, &injector);
  if (absl::IsCancelled(injected) || absl::IsInvalidArgument(injected)) return injected;
  TrainedValues values;
  report_.result = training.Finish(&values);
  report_.progress = training.progress();
  // A daemon that cannot run any more, or a job that is stuck, is a finding of the drill.
  if (!injected.ok()) report_.result.error = std::string(injected.message());
  if (!report_.result.finished) return absl::OkStatus();
  report_.loss = LossOverTime(report_.progress, values.first_batch, values.losses, kCurvePoints);
  if (report_.twin) {
    if (values.names != expected_.names) {
      return absl::InternalError("the variables differ from those of the run without faults");
    }
    report_.comparison = CompareBits(values.names, values.values, expected_.values);
  }
  return absl::OkStatus();
}

bool Drill::IsMoreWanted(const DrillTraining& training) const {
  return static_cast<int>(report_.faults.size()) < planned_ || training.seconds() < duration_;
}

absl::Status Drill::InjectFaults(DrillTraining* training, FaultInjector* injector) {
  const auto next = [this] {
    FaultRecord record;
    record.fault = PlannedFault(plan_, options_.seed, static_cast<int>(report_.faults.size()),
                                options_.ps, options_.workers);
    return record;
  };
  while (IsMoreWanted(*training)) {
    FaultRecord record = next();
    CAIRN_RETURN_IF_ERROR(WaitForProgress(training, &record));
    if (training->has_ended()) break;
    const DrillState before = training->state();
    // False: a task has died by itself since the last look. All must live for a fault.
    if (!injector->Begin(record.fault, TasksOf(record.fault, options_.ps, options_.workers),
                         training->local_cluster())) {
      continue;
    }
    record.at = training->seconds();
    record.goal = RecoveryGoal(record.fault,
                               static_cast<double>(before.job.parameters()) * sizeof(float) / 1e9);
    batches_reached_ = record.batch;
    report_.faults.push_back(record);  // Reported also if an error ends the drill.
    CAIRN_RETURN_IF_ERROR(WatchFault(training, injector, before, &report_.faults.back()));
  }
  while (static_cast<int>(report_.faults.size()) < planned_) report_.faults.push_back(next());
  if (!training->has_ended()) {
    // The last fault counts for as long as the others.
    while (options_.every > 0 && !training->has_ended() &&
           training->seconds() < *report_.faults.back().at + options_.every) {
      CAIRN_RETURN_IF_ERROR(Look(training));
    }
    SayAt(training->seconds(), "no more faults; the job goes on to its end");
  }
  if (report_.faults.front().at) {
    report_.throughput = MeasureThroughput(training->progress(), *report_.faults.front().at);
  }
  while (!training->has_ended()) CAIRN_RETURN_IF_ERROR(Look(training));
  SayAt(training->seconds(),
        absl::StrFormat("job %s: %d of %d batches, %d duplicates refused, %s",
                        StateText(training->job()), training->job().batches_done(),
                        training->job().total_batches(), training->job().duplicates_refused(),
                        Plural(training->job().rollbacks(), "rollback")));
  return absl::OkStatus();
}

absl::Status Drill::Look(DrillTraining* training) {
  CAIRN_RETURN_IF_ERROR(training->Look());
  if (training->seconds() < said_at_) said_at_ = 0;  // Another training.
  if (training->seconds() - said_at_ < kProgressSeconds) return absl::OkStatus();
  SayAt(training->seconds(), absl::StrCat("batch ", training->job().batches_done(), " of ",
                                          training->job().total_batches()));
  return absl::OkStatus();
}

// Progress begins beyond all batches that were done before the last fault. So a job without
// checkpoints, which starts again at batch 0, comes to its end under any number of faults.
absl::Status Drill::WaitForProgress(DrillTraining* training, FaultRecord* record) {
  ProgressPoint begin;
  bool has_begun = false;
  const double due = options_.every > 0 && !report_.faults.empty()
                         ? *report_.faults.back().at + options_.every
                         : options_.every;
  while (true) {
    CAIRN_RETURN_IF_ERROR(Look(training));
    if (training->has_ended()) return absl::OkStatus();
    const int64_t batches = training->job().batches_done();
    if (!training->is_whole() || batches <= batches_reached_) {
      has_begun = false;
      continue;
    }
    const ProgressPoint now = training->progress().back();
    if (!std::exchange(has_begun, true)) begin = now;
    if (training->seconds() < due) continue;
    const double waited = now.seconds - begin.seconds;
    const auto done = static_cast<double>(batches - begin.batches);
    const double delay = options_.every > 0 ? 0 : record->fault.delay_seconds;
    if (waited < std::max(kRateSeconds, delay) || done < kRateBatches) continue;
    record->rate_before = done / waited;
    record->batch = batches;
    return absl::OkStatus();
  }
}

absl::Status Drill::WatchFault(DrillTraining* training, FaultInjector* injector,
                               const DrillState& before, FaultRecord* record) {
  const std::string name =
      absl::StrCat("fault ", report_.faults.size(), " (", FaultText(record->fault), ")");
  SayAt(training->seconds(), absl::StrFormat("%s at batch %d, %.4g batches/s", name, record->batch,
                                             record->rate_before));
  CAIRN_RETURN_IF_ERROR(WaitUntilNoticed(training, injector, before, record));
  const double over = *record->at + record->lasted.value_or(0);
  CAIRN_RETURN_IF_ERROR(WaitForFullSpeed(training, over, record));
  SayAt(training->seconds(),
        record->to_full_speed
            ? absl::StrFormat("%s: full speed %.1f s after %s", name, *record->to_full_speed,
                              record->lasted ? "its end" : "the fault")
        : training->has_ended() ? absl::StrCat(name, ": the job ended before it was at full speed")
                                : absl::StrCat(name, ": not yet at full speed"));
  if (options_.json) *context_.out << FaultJson(*record).dump() << std::endl;
  return absl::OkStatus();
}

absl::Status Drill::WaitUntilNoticed(DrillTraining* training, FaultInjector* injector,
                                     const DrillState& before, FaultRecord* record) {
  const FaultTraits& traits = TraitsOf(record->fault.kind);
  const std::vector<std::string> tasks = TasksOf(record->fault, options_.ps, options_.workers);
  const bool is_of_disk =
      traits.means == FaultMeans::kFileLimit || traits.means == FaultMeans::kFailpoint;
  const auto passed = [&] { return training->seconds() - *record->at; };
  const auto has_done_all = [&] {
    const bool is_seen = record->to_notice || traits.sign == FaultSign::kNone;
    return passed() > kNoticeTimeout || (is_seen && passed() >= traits.seconds);
  };
  absl::Status status;
  while (status.ok() && !training->has_ended() && !has_done_all()) {
    // Otherwise the disks may have nothing to do.
    if (is_of_disk) training->RequestCheckpoint();
    status = Look(training);
    if (record->to_notice || !IsNoticed(record->fault, before, training->state())) continue;
    record->to_notice = passed();
    SayAt(training->seconds(), absl::StrFormat("fault %d noticed after %.1f s",
                                               report_.faults.size(), *record->to_notice));
  }
  record->cut_short = training->has_ended() && !has_done_all();
  if (IsLasting(record->fault.kind)) {
    record->effects = injector->CountEffects(record->fault, tasks);
    injector->End(record->fault, tasks, training->local_cluster());
    record->lasted = passed();
  }
  return status;
}

absl::Status Drill::WaitForFullSpeed(DrillTraining* training, double over, FaultRecord* record) {
  const double window = std::max(kRateSeconds, kRateBatches / record->rate_before);
  // Before the fault is noticed the job may go on for a moment as if there were none.
  const double since = std::max(over, *record->at + record->to_notice.value_or(0));
  const double end =
      options_.every > 0 ? *record->at + options_.every : over + kFullSpeedTimeout + window;
  double whole_since = over;
  while (!training->has_ended() && training->seconds() < end) {
    CAIRN_RETURN_IF_ERROR(Look(training));
    if (!training->is_whole()) whole_since = training->seconds();
    const auto rate = BatchRate(training->progress(), since, window);
    if (!rate || *rate < kFullSpeed * record->rate_before || !training->is_whole()) continue;
    record->to_full_speed = std::max(whole_since, training->seconds() - window) - over;
    return absl::OkStatus();
  }
  return absl::OkStatus();
}

void Drill::RemoveStates() const {
  if (options_.keep) return;
  std::error_code error;
  std::filesystem::remove_all(options_.output + "/state", error);
  std::filesystem::remove_all(options_.output + "/twin", error);
}

absl::StatusOr<int> Drill::Report() {
  report_.judgement = Judge(report_.faults, report_.result, report_.comparison);
  const std::string json_file = options_.output + "/drill.json";
  const std::string html_file = options_.output + "/drill.html";
  CAIRN_RETURN_IF_ERROR(WriteFile(json_file, ReportJson(report_).dump(2) + "\n"));
  CAIRN_RETURN_IF_ERROR(WriteFile(html_file, ReportHtml(report_)));
  if (options_.json) *context_.out << ReportJson(report_).dump() << std::endl;
  const Verdict verdict = report_.judgement.verdict;
  Say(absl::StrCat("verdict: ", VerdictName(verdict)));
  for (const std::string& finding : report_.judgement.findings) Say("  " + finding);
  Say(absl::StrCat("report: ", json_file, ", ", html_file));
  // The state directories of a wrong result are its evidence.
  if (options_.keep || verdict == Verdict::kWrong) {
    Say(absl::StrCat("state and logs: ", options_.output, "/state"));
  } else {
    RemoveStates();
  }
  return verdict == Verdict::kPassed  ? kExitDone
         : verdict == Verdict::kWrong ? kExitJobFailed
                                      : kExitBadInput;
}

}  // namespace

absl::StatusOr<int> RunDrill(const DrillOptions& options, const CommandContext& context) {
  CAIRN_ASSIGN_OR_RETURN(const DrillPlan* const plan, FindDrillPlan(options.plan));
  CAIRN_ASSIGN_OR_RETURN(const Submission submission, ReadSubmission(options.job_file));
  const proto::Strategy& strategy = submission.job.strategy();
  DrillOptions chosen = options;
  if (chosen.ps < 0) chosen.ps = job::NeedsClusterWithoutPs(strategy) ? 0 : 2;
  if (chosen.workers == 0) chosen.workers = job::IsOfOneWorker(strategy) ? 1 : 3;
  CAIRN_RETURN_IF_ERROR(CheckPlanFits(*plan, chosen.ps, chosen.workers));
  return Drill(chosen, absl::StrJoin(job::NamedDevices(strategy), ","), *plan, context)
      .Run(submission);
}

}  // namespace cairn::cli
