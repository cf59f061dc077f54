#include "coordinator/job.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <limits>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "coordinator/crashing_work.h"
#include "storage/job_records.h"
#include "tests/coordinator/simulated_job.h"
#include "tests/coordinator/simulation.h"

namespace cairn::coordinator {
namespace {

bool Contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::string Notes(const proto::JobStatus& status) {
  std::string all;
  for (const proto::Note& note : status.notes()) all += note.text() + "\n";
  return all;
}

TEST(JobTest, DataThatAreBadFailTheJobWithTheReason) {
  Simulation simulation(SimulatedCluster(SimulatedJob("async", 2)));
  for (int i = 0; i < 3; ++i) simulation.worker(i).RefuseDataOf("simulated");
  ASSERT_TRUE(simulation.Run());
  EXPECT_EQ(simulation.Status().state(), proto::FAILED);
  EXPECT_EQ(simulation.Status().error(), "train.idx.features[0]: no such file");
}

// A worker that was cut off, or whose coordinator was restarted, may still read data for an earlier
// inspection.
TEST(JobTest, AReplyToAnotherInspectionIsIgnored) {
  Simulation simulation(SimulatedCluster(SimulatedJob("async", 2)));
  simulation.worker(0).set_hangs(true);
  ASSERT_TRUE(simulation.RunUntil(
      [&] { return Contains(simulation.Status().waiting_for(), "to read the data"); }));
  for (const bool is_error : {false, true}) {
    for (const bool has_part : {false, true}) {
      proto::TaskMessage message;
      proto::InspectReply& reply = *message.mutable_inspected();
      reply.set_job_id(1);
      reply.set_inspection(17);
      reply.set_examples(1000);
      if (is_error) reply.set_error("there was no such file");
      if (has_part) reply.mutable_measurement()->set_part(5);
      simulation.Do([&](Scheduler* scheduler, EventTime now, Outbox* outbox) {
        scheduler->OnMessage(scheduler->SessionOf(WorkerTask(0)), message, now, outbox);
      });
      EXPECT_TRUE(Contains(simulation.Status().waiting_for(), "to read the data"))
          << simulation.Status().DebugString();
    }
  }
  simulation.worker(0).set_hangs(false);
  ASSERT_TRUE(simulation.Run()) << simulation.Status().DebugString();
  simulation.CheckFinished();
}

TEST(JobTest, ALostPsTakesTheJobBackToTheNewestCheckpoint) {
  Simulation simulation(SimulatedCluster(SimulatedJob("async", 8)));
  ASSERT_TRUE(simulation.RunUntil([&] { return simulation.Status().last_checkpoint() >= 3; }));
  simulation.KillPs(1);
  ASSERT_TRUE(simulation.Run());
  simulation.CheckFinished();
  EXPECT_EQ(simulation.Status().rollbacks(), 1);
  EXPECT_EQ(simulation.Status().generation(), 2u);
  EXPECT_TRUE(Contains(Notes(simulation.Status()), "ps 1 was lost: back to checkpoint"));
}

// A job whose only worker hangs, or whose ps hangs in a write, says what it waits for, once, and
// when it goes on.
TEST(JobTest, AJobThatStandsStillSaysWhatItWaitsFor) {
  Simulation::Options options = SimulatedCluster(SimulatedJob("sync", 4));
  options.workers = 1;
  Simulation simulation(options);
  ASSERT_TRUE(simulation.RunUntil([&] { return simulation.Status().batches_done() == 13; }));
  simulation.worker(0).set_hangs(true);
  const auto stalls = [&](const std::string& reason) {
    return simulation.RunUntil([&] { return Contains(simulation.Status().waiting_for(), reason); });
  };
  const auto goes_on = [&] {
    return simulation.RunUntil([&] {
      const proto::JobStatus status = simulation.Status();
      const std::string last = status.notes_size() > 0 ? status.notes().rbegin()->text() : "";
      return Contains(last, "goes on after ") && status.waiting_for().empty();
    });
  };
  ASSERT_TRUE(stalls("for batch 4 of epoch 2, which worker 0 has (no progress for 3"))
      << simulation.Status().DebugString();
  EXPECT_TRUE(Contains(Notes(simulation.Status()),
                       "no progress for 30 s: waiting for batch 4 of epoch 2, which worker 0 has"));
  simulation.worker(0).set_hangs(false);
  ASSERT_TRUE(goes_on()) << simulation.Status().DebugString();

  simulation.ps(0).set_disk_hangs(true);
  ASSERT_TRUE(stalls("for the checkpoint to be written (no progress for "))
      << simulation.Status().DebugString();
  simulation.ps(0).set_disk_hangs(false);
  simulation.BreakStream(0);
  ASSERT_TRUE(simulation.Run()) << simulation.Status().DebugString();
  simulation.CheckFinished();
}

// Whichever worker gets it, and however many there are.
TEST(JobTest, WorkThatEndsEachWorkersProcessFailsTheJob) {
  using Work = SimulatedWorker::Work;
  struct Case {
    Work work;
    int64_t batch;
    std::string text;
  };
  const Case cases[] = {
      {Work::kInspection, 0, "the data to inspect, which nobody has done"},
      {Work::kStart, 0, "the start of worker "},
      {Work::kTraining, 13, " of epoch 2 and later ones, which nobody has done"},
      {Work::kEvaluation, 2, " and later ones of the evaluation of epoch 1, which nobody has done"},
  };
  for (const std::string mode : {"async", "sync", "stale", "mirrored"}) {
    for (const int workers : {1, 2, 7}) {
      for (const Case& each : cases) {
        SCOPED_TRACE(absl::StrCat(mode, " ", workers, " ", each.text));
        Simulation::Options options = SimulatedCluster(SimulatedJob(mode, 4));
        options.workers = mode == "mirrored" ? 2 : workers;
        Simulation simulation(options);
        for (int i = 0; i < options.workers; ++i) {
          simulation.worker(i).set_ends_at(
              [&](Work work, int64_t batch) { return work == each.work && batch == each.batch; });
        }
        ASSERT_TRUE(simulation.Run()) << simulation.Status().DebugString();
        EXPECT_EQ(simulation.Status().state(), proto::FAILED);
        EXPECT_TRUE(Contains(simulation.Status().error(), each.text))
            << simulation.Status().error();
      }
    }
  }
}

// One worker alone that ends again and again has the fault, not its work.
TEST(JobTest, AWorkerWhoseProcessEndsAgainAndAgainFailsNoJob) {
  for (const std::string mode : {"async", "sync", "stale"}) {
    Simulation simulation(SimulatedCluster(SimulatedJob(mode, 30)));
    simulation.worker(1).set_ends_at([](auto, int64_t) { return true; });
    ASSERT_TRUE(simulation.Run()) << simulation.Status().DebugString();
    simulation.CheckFinished();
    EXPECT_GT(simulation.Status().workers_lost(), CrashingWork::kEndsMax);
  }
}

// Also when it begins the generation again, because a ps refused its work.
TEST(JobTest, AStuckWorkerGetsNoWork) {
  Simulation::Options options = SimulatedCluster(SimulatedJob("async", 200));
  options.progress_timeout = absl::Seconds(5);
  Simulation simulation(options);
  ASSERT_TRUE(simulation.RunUntil([&] { return simulation.Status().batches_done() > 10; }));
  simulation.worker(0).set_hangs(true);
  ASSERT_TRUE(simulation.RunUntil([&] {
    return Contains(Notes(simulation.Status()), "others get its work");
  })) << simulation.Status().DebugString();
  for (const bool generation_over : {false, true, false}) {
    proto::TaskMessage message;
    message.mutable_work()->set_job_id(1);
    message.mutable_work()->set_generation(1);
    message.mutable_work()->set_wanted(5);
    message.mutable_work()->set_generation_over(generation_over);
    simulation.Do([&](Scheduler* scheduler, EventTime now, Outbox* outbox) {
      scheduler->OnMessage(scheduler->SessionOf(WorkerTask(0)), message, now, outbox);
      for (const Outbox::Sending& sending : outbox->commands) {
        EXPECT_FALSE(sending.task == WorkerTask(0) && sending.command.has_grant());
      }
    });
  }
  // An epoch with a batch that it has would not end.
  const int64_t end = simulation.Status().batches_done() + 30;
  ASSERT_TRUE(simulation.RunUntil([&] { return simulation.Status().batches_done() >= end; }))
      << simulation.Status().DebugString();
  EXPECT_EQ(simulation.Status().state(), proto::RUNNING);
  simulation.worker(0).set_hangs(false);
  ASSERT_TRUE(simulation.Run()) << simulation.Status().DebugString();
  simulation.CheckFinished();
}

TEST(JobTest, ANoteTellsWhenItArose) {
  Simulation simulation(SimulatedCluster(SimulatedJob("async", 8)));
  ASSERT_TRUE(simulation.RunUntil([&] { return simulation.Status().last_checkpoint() >= 3; }));
  const auto now = [&] {
    int64_t at = 0;
    simulation.Do([&](Scheduler*, EventTime moment, Outbox*) { at = moment.unix_seconds; });
    return at;
  };
  const int64_t before = now();
  simulation.KillPs(1);
  ASSERT_TRUE(simulation.RunUntil([&] { return simulation.Status().notes_size() > 0; }));
  const int64_t noted = simulation.Status().notes(0).unix_seconds();
  EXPECT_GT(noted, 0);
  EXPECT_GE(noted, before);
  EXPECT_LE(noted, now());
  // The next process of the coordinator knows it from the journal.
  simulation.KillCoordinator();
  EXPECT_EQ(simulation.Status().notes(0).unix_seconds(), noted);
}

TEST(JobTest, ASnapshotThatIsGoneMeansTheCheckpointBefore) {
  proto::Job job = SimulatedJob("sync", 8);
  Simulation simulation(SimulatedCluster(job));
  ASSERT_TRUE(simulation.RunUntil([&] { return simulation.Status().last_checkpoint() >= 3; }));
  const uint64_t newest = simulation.Status().last_checkpoint();
  for (int ps = 0; ps < 2; ++ps) simulation.ps(ps).disk().erase({newest, 0});
  simulation.KillPs(0);
  ASSERT_TRUE(simulation.Run());
  simulation.CheckFinished();
  EXPECT_TRUE(
      Contains(Notes(simulation.Status()),
               absl::StrCat("checkpoint ", newest, " is not complete: back to checkpoint ")))
      << Notes(simulation.Status());
}

TEST(JobTest, WithoutAnyCheckpointItBeginsAgain) {
  Simulation simulation(SimulatedCluster(SimulatedJob("async", 8)));
  ASSERT_TRUE(simulation.RunUntil([&] { return simulation.Status().last_checkpoint() >= 3; }));
  for (int ps = 0; ps < 2; ++ps) simulation.ps(ps).disk().clear();
  simulation.KillPs(0);
  ASSERT_TRUE(simulation.Run());
  simulation.CheckFinished();
  EXPECT_TRUE(Contains(Notes(simulation.Status()), "is not complete: back to the initial values"));
}

TEST(JobTest, WithoutAnyCheckpointItFailsIfTheJobSaysSo) {
  proto::Job job = SimulatedJob("async", 8);
  job.set_on_lost_checkpoint("fail");
  Simulation simulation(SimulatedCluster(job));
  ASSERT_TRUE(simulation.RunUntil([&] { return simulation.Status().last_checkpoint() >= 3; }));
  for (int ps = 0; ps < 2; ++ps) simulation.ps(ps).disk().clear();
  simulation.KillPs(0);
  ASSERT_TRUE(simulation.Run());
  EXPECT_EQ(simulation.Status().state(), proto::FAILED);
  EXPECT_EQ(simulation.Status().error(), "no complete checkpoint is left");
}

TEST(JobTest, EverythingMayBeKilledAtOnceAndTheJobGoesOnByItself) {
  Simulation simulation(SimulatedCluster(SimulatedJob("async", 8)));
  ASSERT_TRUE(simulation.RunUntil([&] { return simulation.Status().last_checkpoint() >= 3; }));
  simulation.KillEverything();
  ASSERT_TRUE(simulation.Run());
  simulation.CheckFinished();
  EXPECT_EQ(simulation.Status().rollbacks(), 1);
}

// Trains, stops cleanly and returns the number of batches that are applied then.
int64_t StopCleanly(Simulation* simulation) {
  EXPECT_TRUE(simulation->RunUntil([&] { return simulation->Status().batches_done() > 33; }));
  absl::StatusOr<proto::PrepareStopReply> stopped = absl::UnknownError("not yet");
  simulation->Do([&](Scheduler* scheduler, EventTime now, Outbox* outbox) {
    scheduler->PrepareStop(
        absl::Minutes(1), [&](absl::StatusOr<proto::PrepareStopReply> reply) { stopped = reply; },
        now, outbox);
  });
  EXPECT_TRUE(simulation->RunUntil([&] { return stopped.ok(); }));
  EXPECT_EQ(stopped->manifest().reason(), "stop");
  const int64_t applied = stopped->manifest().applied_batches();
  EXPECT_GE(applied, 33);
  EXPECT_EQ(simulation->Status().batches_done(), applied);
  return applied;
}

TEST(JobTest, ACleanStopLosesNothingAndIsNoRollback) {
  Simulation simulation(SimulatedCluster(SimulatedJob("async", 8)));
  const int64_t applied = StopCleanly(&simulation);
  simulation.KillEverything();
  ASSERT_TRUE(simulation.RunUntil([&] { return simulation.Status().workers_live() == 3; }));
  ASSERT_TRUE(simulation.RunUntil([&] { return simulation.Status().generation() == 2; }));
  ASSERT_TRUE(simulation.RunUntil([&] { return simulation.Status().batches_done() > applied; }));
  ASSERT_TRUE(simulation.Run());
  simulation.CheckFinished();
  EXPECT_EQ(simulation.Status().rollbacks(), 0);
}

// A stop of a job that does not train yet. It is answered at once.
void StopWhileLoading(Simulation* simulation) {
  bool answered = false;
  simulation->Do([&](Scheduler* scheduler, EventTime now, Outbox* outbox) {
    scheduler->PrepareStop(
        absl::Minutes(1),
        [&](const absl::StatusOr<proto::PrepareStopReply>& reply) {
          answered = reply.ok() && reply->manifest().checkpoint() == 0;
        },
        now, outbox);
  });
  EXPECT_TRUE(answered);
}

bool Waits(Simulation* simulation, const std::string& for_what) {
  return simulation->RunUntil([&] { return simulation->Status().waiting_for() == for_what; });
}

TEST(JobTest, AStopWhileTheJobIsLoadedLosesNothingEither) {
  Simulation simulation(SimulatedCluster(SimulatedJob("async", 8)));
  const int64_t applied = StopCleanly(&simulation);
  for (int start = 0; start < 3; ++start) {
    simulation.KillEverything();
    simulation.KeepAway(1, absl::Seconds(5));
    ASSERT_TRUE(Waits(&simulation, "for ps 1"));
    StopWhileLoading(&simulation);
    // The daemons end after everything is loaded.
    ASSERT_TRUE(Waits(&simulation, "for the cluster to stop"));
    EXPECT_EQ(simulation.Status().batches_done(), applied);
  }
  simulation.KillEverything();
  ASSERT_TRUE(simulation.RunUntil([&] { return simulation.Status().batches_done() > applied; }));
  EXPECT_EQ(simulation.Status().rollbacks(), 0);
  // What is trained after the start is lost.
  simulation.KillEverything();
  ASSERT_TRUE(simulation.Run());
  simulation.CheckFinished();
  EXPECT_EQ(simulation.Status().rollbacks(), 1);
}

// `cairn run` of a job that is refused stops the cluster as soon as the coordinator answers.
TEST(JobTest, AStopBeforeAnyTaskIsThereLosesNothing) {
  Simulation simulation(SimulatedCluster(SimulatedJob("async", 8)));
  const int64_t applied = StopCleanly(&simulation);
  simulation.KillEverything();
  StopWhileLoading(&simulation);
  ASSERT_TRUE(Waits(&simulation, "for the cluster to stop"));
  EXPECT_EQ(simulation.Status().batches_done(), applied);
  simulation.KillEverything();
  ASSERT_TRUE(simulation.Run());
  simulation.CheckFinished();
  EXPECT_EQ(simulation.Status().rollbacks(), 0);
}

TEST(JobTest, AJobThatDiesBeforeAWorkerHasJoinedLosesNothing) {
  Simulation simulation(SimulatedCluster(SimulatedJob("async", 8)));
  StopCleanly(&simulation);
  simulation.KillEverything();
  for (int worker = 0; worker < 3; ++worker) simulation.KillWorkerForGood(worker);
  ASSERT_TRUE(simulation.RunUntil([&] {
    const proto::JobStatus status = simulation.Status();
    return status.generation() == 2 && status.state() == proto::RUNNING;
  }));
  simulation.KillEverything();
  ASSERT_TRUE(simulation.RunUntil([&] { return simulation.Status().generation() == 3; }));
  EXPECT_EQ(simulation.Status().rollbacks(), 0);
}

TEST(JobTest, AStopJustAfterARestartOfTheCoordinatorSavesWhatWasTrained) {
  Simulation simulation(SimulatedCluster(SimulatedJob("async", 8)));
  ASSERT_TRUE(simulation.RunUntil([&] { return simulation.Status().batches_done() > 33; }));
  simulation.KillCoordinator();
  std::optional<absl::StatusOr<proto::PrepareStopReply>> stopped;
  simulation.Do([&](Scheduler* scheduler, EventTime now, Outbox* outbox) {
    scheduler->PrepareStop(
        absl::Minutes(1), [&](absl::StatusOr<proto::PrepareStopReply> reply) { stopped = reply; },
        now, outbox);
  });
  ASSERT_TRUE(simulation.RunUntil([&] { return stopped.has_value(); }));
  ASSERT_TRUE(stopped->ok()) << stopped->status();
  EXPECT_EQ((*stopped)->manifest().reason(), "stop");
  EXPECT_GE((*stopped)->manifest().applied_batches(), 33);
  simulation.KillEverything();
  ASSERT_TRUE(simulation.Run());
  simulation.CheckFinished();
  EXPECT_EQ(simulation.Status().rollbacks(), 0);
}

TEST(JobTest, AStoppedJobMayGetOtherPsWhileItIsLoaded) {
  Simulation simulation(SimulatedCluster(SimulatedJob("async", 8)));
  StopCleanly(&simulation);
  simulation.KillEverything();
  simulation.KeepAway(1, absl::Minutes(1));
  ASSERT_TRUE(Waits(&simulation, "for ps 1"));
  simulation.Resize(3);
  ASSERT_TRUE(simulation.Run());
  simulation.CheckFinished();
  EXPECT_EQ(simulation.Status().rollbacks(), 0);
}

TEST(JobTest, AJobWhoseDaemonsDoNotEndAfterTheStopGoesOn) {
  Simulation simulation(SimulatedCluster(SimulatedJob("async", 8)));
  StopWhileLoading(&simulation);
  ASSERT_TRUE(Waits(&simulation, "for the cluster to stop"));
  EXPECT_EQ(simulation.Status().batches_done(), 0);
  ASSERT_TRUE(simulation.Run());
  simulation.CheckFinished();
}

TEST(JobTest, TheRestAfterAStopLastsUntilTheLastStopIsOver) {
  Simulation simulation(SimulatedCluster(SimulatedJob("async", 8)));
  StopWhileLoading(&simulation);
  ASSERT_TRUE(Waits(&simulation, "for the cluster to stop"));
  const auto after = [&](absl::Duration time) {
    absl::Duration begun = absl::InfiniteDuration(), now_at;
    EXPECT_TRUE(simulation.RunUntil([&] {
      simulation.Do([&](Scheduler*, EventTime now, Outbox*) { now_at = now.monotonic; });
      begun = std::min(begun, now_at);
      return now_at >= begun + time;
    }));
  };
  after(absl::Seconds(50));
  StopWhileLoading(&simulation);
  after(absl::Seconds(50));
  EXPECT_EQ(simulation.Status().batches_done(), 0);
  after(absl::Seconds(20));
  EXPECT_GT(simulation.Status().batches_done(), 0);
}

TEST(JobTest, ACheckpointThatIsAskedForIsAnsweredWithItsManifest) {
  Simulation simulation(SimulatedCluster(SimulatedJob("sync", 8)));
  ASSERT_TRUE(simulation.RunUntil([&] { return simulation.Status().batches_done() > 13; }));
  absl::StatusOr<proto::Manifest> manifest = absl::UnknownError("not yet");
  simulation.Do([&](Scheduler* scheduler, EventTime now, Outbox* outbox) {
    scheduler->TakeCheckpoint(
        "1", [&](absl::StatusOr<proto::Manifest> reply) { manifest = reply; }, now, outbox);
  });
  ASSERT_TRUE(simulation.RunUntil([&] { return manifest.ok(); }));
  EXPECT_EQ(manifest->reason(), "asked");
  EXPECT_GE(manifest->applied_batches(), 13);
  ASSERT_TRUE(simulation.Run());
  simulation.CheckFinished();
}

// The number of examples in each batch's record; 0: no record.
int64_t RecordedExamples(Simulation* simulation, int64_t batch) {
  int64_t examples = 0;
  EXPECT_TRUE(
      storage::ReadBatches(simulation->journal(), 1, 0, [&](const proto::BatchRecord& record) {
        if (record.batch() == batch) examples = record.examples();
        return true;
      }).ok());
  return examples;
}

// Of 7 examples: no batch of the simulated job has as many.
void AddRecord(int64_t batch, proto::WorkReport* report) {
  proto::BatchRecord* const record = report->add_batches();
  record->set_batch(batch);
  record->set_examples(7);
  record->add_metrics(1);
  proto::MetricState* const state = record->add_metric_states();
  state->add_values(7);
  state->add_values(7);
}

TEST(JobTest, ReportsBeforeAllPsAreBackAreInTheHistory) {
  Simulation simulation(SimulatedCluster(SimulatedJob("async", 8)));
  ASSERT_TRUE(simulation.RunUntil([&] { return simulation.Status().batches_done() > 3; }));
  simulation.KillCoordinator();
  simulation.KeepAway(1, absl::Seconds(5));
  ASSERT_TRUE(simulation.RunUntil([&] {
    return simulation.Status().workers_live() == 3 && simulation.Status().ps_live() == 1;
  }));
  // A batch that no other report has. It is open again, as the ledgers lack it, and is trained; the
  // first report counts.
  proto::TaskMessage message;
  message.mutable_work()->set_job_id(1);
  message.mutable_work()->set_generation(1);
  AddRecord(79, message.mutable_work());
  simulation.Do([&](Scheduler* scheduler, EventTime now, Outbox* outbox) {
    scheduler->OnMessage(scheduler->SessionOf(WorkerTask(0)), message, now, outbox);
  });
  EXPECT_EQ(RecordedExamples(&simulation, 79), 0);
  ASSERT_TRUE(simulation.RunUntil([&] { return simulation.Status().ps_live() == 2; }));
  ASSERT_TRUE(simulation.Run());
  EXPECT_EQ(simulation.Status().rollbacks(), 0);
  EXPECT_EQ(RecordedExamples(&simulation, 79), 7);
}

// Its batches are applied on values that the rollback has taken back.
TEST(JobTest, AReportOfAnOlderGenerationIsIgnored) {
  Simulation simulation(SimulatedCluster(SimulatedJob("async", 8)));
  ASSERT_TRUE(simulation.RunUntil([&] { return simulation.Status().last_checkpoint() >= 3; }));
  simulation.KillPs(1);
  ASSERT_TRUE(simulation.RunUntil([&] {
    return simulation.Status().generation() == 2 && simulation.Status().state() == proto::RUNNING &&
           simulation.Status().batches_done() > 60;
  }));
  // All batches that any worker may have a lease of.
  for (int worker = 0; worker < 3; ++worker) {
    proto::TaskMessage message;
    message.mutable_work()->set_job_id(1);
    message.mutable_work()->set_generation(1);
    for (int64_t batch = 0; batch < 80; ++batch) AddRecord(batch, message.mutable_work());
    simulation.Do([&](Scheduler* scheduler, EventTime now, Outbox* outbox) {
      scheduler->OnMessage(scheduler->SessionOf(WorkerTask(worker)), message, now, outbox);
    });
  }
  ASSERT_TRUE(simulation.Run());
  simulation.CheckFinished();
  for (int64_t batch = 0; batch < 80; ++batch) {
    EXPECT_NE(RecordedExamples(&simulation, batch), 7) << batch;
  }
}

TEST(JobTest, DuplicatesAreCountedOverThePsAndTheirLives) {
  Simulation::Options options = SimulatedCluster(SimulatedJob("async", 2));
  Simulation simulation(options);
  ASSERT_TRUE(simulation.RunUntil([&] { return simulation.Status().batches_done() > 2; }));
  auto say = [&](uint32_t ps, uint64_t duplicates) {
    proto::TaskMessage message;
    message.mutable_heartbeat()->set_duplicates_refused(duplicates);
    simulation.Do([&](Scheduler* scheduler, EventTime now, Outbox* outbox) {
      scheduler->OnMessage(scheduler->SessionOf(PsTask(ps)), message, now, outbox);
    });
  };
  const uint64_t before = simulation.Status().duplicates_refused();
  say(0, 5);
  say(0, 7);
  say(1, 2);
  say(1, 1);  // It counts from 0 again.
  EXPECT_EQ(simulation.Status().duplicates_refused(), before + 10);
}

int CountOf(const std::string& part, const proto::JobStatus& status) {
  return static_cast<int>(
      std::count_if(status.notes().begin(), status.notes().end(),
                    [&](const proto::Note& note) { return Contains(note.text(), part); }));
}

void SetLosses(Simulation* simulation, const std::function<double(int64_t)>& loss) {
  for (int i = 0; i < 3; ++i) simulation->worker(i).set_loss(loss);
}

constexpr int64_t kPerEpoch = 10;
constexpr int64_t kBadFrom = 23;

double NanFromBatch(int64_t batch) { return batch < kBadFrom ? 1.0 : std::nan(""); }

TEST(JobTest, ALossThatIsNotFiniteIsNotedOnceAndTheJobGoesOn) {
  Simulation simulation(SimulatedCluster(SimulatedJob("async", 6)));
  SetLosses(&simulation, &NanFromBatch);
  ASSERT_TRUE(simulation.Run());
  const proto::JobStatus status = simulation.Status();
  EXPECT_EQ(status.state(), proto::FINISHED);
  EXPECT_TRUE(std::isnan(status.loss()));
  ASSERT_TRUE(status.has_nonfinite_loss());
  EXPECT_EQ(status.nonfinite_loss().epoch(), kBadFrom / kPerEpoch);
  EXPECT_GE(status.nonfinite_loss().batch(), kBadFrom % kPerEpoch);
  EXPECT_EQ(CountOf("the loss became", status), 1) << Notes(status);
  EXPECT_TRUE(
      Contains(Notes(status), absl::StrCat("the loss became nan at batch ",
                                           status.nonfinite_loss().batch() + 1, " (epoch 3)\n")))
      << Notes(status);
}

TEST(JobTest, ALossThatRecoversLeavesItsNote) {
  Simulation simulation(SimulatedCluster(SimulatedJob("async", 6)));
  SetLosses(&simulation, [](int64_t batch) {
    return batch == kBadFrom ? std::numeric_limits<double>::infinity() : 1.0;
  });
  ASSERT_TRUE(simulation.Run());
  const proto::JobStatus status = simulation.Status();
  EXPECT_EQ(status.loss(), 1);
  EXPECT_EQ(status.nonfinite_loss().batch(), kBadFrom % kPerEpoch);
  EXPECT_TRUE(Contains(Notes(status), "the loss became inf at batch 4 (epoch 3)\n"));
}

TEST(JobTest, TheNoteOfALossOutlivesARollbackThatTheLossDoesNot) {
  Simulation simulation(SimulatedCluster(SimulatedJob("async", 8)));
  SetLosses(&simulation, &NanFromBatch);
  ASSERT_TRUE(simulation.RunUntil([&] { return simulation.Status().has_nonfinite_loss(); }));
  const proto::NonFiniteLoss first = simulation.Status().nonfinite_loss();
  SetLosses(&simulation, [](int64_t) { return 1.0; });
  simulation.KillPs(0);
  ASSERT_TRUE(simulation.Run());
  const proto::JobStatus status = simulation.Status();
  EXPECT_EQ(status.rollbacks(), 1);
  EXPECT_EQ(status.loss(), 1);
  EXPECT_EQ(status.nonfinite_loss().batch(), first.batch());
  EXPECT_EQ(CountOf("the loss became", status), 1) << Notes(status);
}

TEST(JobTest, ALossIsNotedOnceWhateverDies) {
  for (const char* mode : {"async", "sync"}) {
    for (uint64_t seed = 1; seed <= 15; ++seed) {
      SCOPED_TRACE(absl::StrCat(mode, ", seed ", seed));
      proto::Job job = SimulatedJob(mode, 20);
      job.mutable_checkpoint()->set_every_steps(7);
      Simulation::Options options = SimulatedCluster(job, seed);
      options.journal_directory += mode;
      std::filesystem::remove_all(options.journal_directory);
      options.worker_kills = 6;
      options.broken_streams = 10;
      options.ps_kills = 6;
      options.coordinator_kills = 20;
      Simulation simulation(options);
      SetLosses(&simulation, &NanFromBatch);
      ASSERT_TRUE(simulation.Run()) << simulation.Status().DebugString();
      const proto::JobStatus status = simulation.Status();
      ASSERT_EQ(status.state(), proto::FINISHED);
      EXPECT_TRUE(std::isnan(status.loss()));
      EXPECT_EQ(CountOf("the loss became nan", status), 1) << Notes(status);
      EXPECT_GE(status.nonfinite_loss().epoch() * kPerEpoch + status.nonfinite_loss().batch(),
                kBadFrom);
    }
  }
}

}  // namespace
}  // namespace cairn::coordinator
