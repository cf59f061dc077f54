#include "coordinator/scheduler.h"

#include <gtest/gtest.h>

#include <string>

#include "storage/job_records.h"
#include "tests/coordinator/simulated_job.h"
#include "tests/coordinator/simulation.h"

namespace cairn::coordinator {
namespace {

// Completes pending write number `round` of a ps's disk, and delivers the reply.
void Write(Simulation* simulation, uint32_t ps, int round) {
  simulation->ps(ps).set_disk_hangs(false);
  proto::Command command;
  *command.mutable_persist() = simulation->ps(ps).unwritten()[round];
  proto::TaskMessage answer;
  simulation->ps(ps).Handle(command, /*disk_fails=*/false, &answer);
  simulation->Do([&](Scheduler* scheduler, EventTime now, Outbox* outbox) {
    scheduler->OnMessage(scheduler->SessionOf(PsTask(ps)), answer, now, outbox);
  });
}

// Whether both ps have this many unfinished snapshot writes.
bool BothHang(Simulation* simulation, size_t snapshots) {
  return simulation->ps(0).unwritten().size() == snapshots &&
         simulation->ps(1).unwritten().size() == snapshots;
}

proto::Job Named(const std::string& name) {
  proto::Job job = SimulatedJob("async", 2);
  job.set_name(name);
  return job;
}

TEST(SchedulerTest, OneJobTrainsAndTheOthersWaitInTheirOrder) {
  Simulation simulation(SimulatedCluster(Named("first")));
  simulation.Submit(Named("second"));
  simulation.Submit(Named("third"));
  EXPECT_EQ(simulation.Status("third").state(), proto::QUEUED);
  EXPECT_EQ(simulation.Status("third").queue_place(), 2);
  EXPECT_EQ(simulation.Status("third").waiting_for(), "behind 2 jobs, first job 1 (first)");
  ASSERT_TRUE(simulation.RunUntil([&] {
    EXPECT_LE(simulation.Status("second").batches_done() > 0,
              simulation.Status("first").state() == proto::FINISHED);
    return simulation.Status("third").state() == proto::FINISHED;
  }));
  EXPECT_EQ(simulation.Status("second").state(), proto::FINISHED);
}

TEST(SchedulerTest, AFailedOrCancelledJobMakesRoomForTheNext) {
  Simulation simulation(SimulatedCluster(Named("bad")));
  simulation.Submit(Named("cancelled"));
  simulation.Submit(Named("good"));
  for (int i = 0; i < 3; ++i) simulation.worker(i).RefuseDataOf("bad");
  ASSERT_TRUE(
      simulation.RunUntil([&] { return simulation.Status("bad").state() == proto::FAILED; }));
  simulation.Do([&](Scheduler* scheduler, EventTime now, Outbox* outbox) {
    EXPECT_TRUE(scheduler->CancelJob("cancelled", now, outbox).ok());
  });
  EXPECT_EQ(simulation.Status("cancelled").state(), proto::CANCELLED);
  ASSERT_TRUE(
      simulation.RunUntil([&] { return simulation.Status("good").state() == proto::FINISHED; }));
}

TEST(SchedulerTest, ARefusedJobDoesNotKeepItsName) {
  Simulation simulation(SimulatedCluster(Named("job")));
  ASSERT_TRUE(simulation.Run());
  for (int i = 0; i < 3; ++i) simulation.worker(i).RefuseDataOf("job");
  simulation.Submit(Named("job"));
  ASSERT_TRUE(simulation.RunUntil([&] { return simulation.Status("2").state() == proto::FAILED; }));
  EXPECT_NE(simulation.Status("2").error(), "");
  EXPECT_EQ(simulation.Status("job").job_id(), 1u);
  simulation.Do([&](Scheduler* scheduler, EventTime now, Outbox* outbox) {
    EXPECT_EQ(scheduler->DeleteJob("job", now, outbox)->status().job_id(), 1u)
        << "only one job has the name";
    EXPECT_EQ(scheduler->GetJob("job", now)->job_id(), 2u) << "nobody else has it now";
  });
}

TEST(SchedulerTest, AJobCanBeCancelledWhileItTrains) {
  Simulation simulation(SimulatedCluster(SimulatedJob("sync", 100)));
  ASSERT_TRUE(simulation.RunUntil([&] { return simulation.Status().batches_done() > 20; }));
  simulation.Do([&](Scheduler* scheduler, EventTime now, Outbox* outbox) {
    EXPECT_EQ(scheduler->CancelJob("simulated", now, outbox)->state(), proto::CANCELLED);
  });
  EXPECT_GT(simulation.Status().batches_done(), 20) << "without any checkpoint";
  simulation.Submit(Named("next"));
  ASSERT_TRUE(
      simulation.RunUntil([&] { return simulation.Status("next").state() == proto::FINISHED; }));
}

TEST(SchedulerTest, AJobThatHasEndedCanBeDeletedWithItsSnapshots) {
  Simulation simulation(SimulatedCluster(SimulatedJob("async", 2)));
  simulation.Submit(Named("next"));
  const auto refusal = [&](const std::string& job) {
    std::string message;
    simulation.Do([&](Scheduler* scheduler, EventTime now, Outbox* outbox) {
      message = std::string(scheduler->DeleteJob(job, now, outbox).status().message());
    });
    return message;
  };
  EXPECT_NE(refusal("next").find("has not ended (queued); cancel it first: cairn cancel 2"),
            std::string::npos)
      << refusal("next");
  EXPECT_NE(refusal("simulated").find("has not ended"), std::string::npos);
  ASSERT_TRUE(simulation.RunUntil([&] { return simulation.Status().state() == proto::FINISHED; }));
  simulation.Do([&](Scheduler* scheduler, EventTime now, Outbox* outbox) {
    EXPECT_TRUE(scheduler->CancelJob("next", now, outbox).ok());
  });
  ASSERT_FALSE(simulation.ps(0).disk().empty());
  // One ps is away, and the coordinator dies before it returns.
  simulation.KillPs(1);
  simulation.KeepAway(1, absl::Seconds(30));
  proto::DeleteJobReply reply;
  simulation.Do([&](Scheduler* scheduler, EventTime now, Outbox* outbox) {
    reply = *scheduler->DeleteJob("simulated", now, outbox);
  });
  EXPECT_EQ(reply.status().job_id(), 1u);
  EXPECT_GT(reply.checkpoints(), 0);
  simulation.KillCoordinator();
  EXPECT_EQ(simulation.scheduler().FindJob("simulated").status().code(),
            absl::StatusCode::kNotFound);
  EXPECT_TRUE(simulation.RunUntil([&] {
    return simulation.ps(0).disk().empty() && simulation.ps(1).disk().empty() &&
           storage::ReadDeletedJobs(simulation.journal())->empty();
  }));
}

TEST(SchedulerTest, APsThatTheClusterHasNoMoreDeletesItsPartWhenItIsBack) {
  Simulation simulation(SimulatedCluster(SimulatedJob("async", 2)));
  ASSERT_TRUE(simulation.RunUntil([&] { return simulation.Status().state() == proto::FINISHED; }));
  ASSERT_FALSE(simulation.ps(1).disk().empty());
  simulation.Resize(1);
  simulation.Do([&](Scheduler* scheduler, EventTime now, Outbox* outbox) {
    EXPECT_TRUE(scheduler->DeleteJob("simulated", now, outbox).ok());
  });
  ASSERT_TRUE(simulation.RunUntil([&] { return simulation.ps(0).disk().empty(); }));
  EXPECT_FALSE(simulation.former_ps(1).disk().empty());
  simulation.Resize(2);
  EXPECT_TRUE(simulation.RunUntil([&] {
    return simulation.ps(1).disk().empty() &&
           storage::ReadDeletedJobs(simulation.journal())->empty();
  }));
}

TEST(SchedulerTest, ANameThatSeveralJobsHaveDoesNotSayWhichToDelete) {
  Simulation simulation(SimulatedCluster(Named("twice")));
  simulation.Submit(Named("once"));
  simulation.Submit(Named("twice"));
  const auto remove = [&](const std::string& job) {
    absl::Status status;
    simulation.Do([&](Scheduler* scheduler, EventTime now, Outbox* outbox) {
      status = scheduler->DeleteJob(job, now, outbox).status();
    });
    return status;
  };
  ASSERT_TRUE(
      simulation.RunUntil([&] { return simulation.Status("3").state() == proto::FINISHED; }));
  EXPECT_EQ(remove("twice"), absl::FailedPreconditionError(
                                 "jobs 1 and 3 have the name 'twice'; say which by its number"));
  EXPECT_TRUE(remove("once").ok());
  EXPECT_TRUE(remove("3").ok());
  EXPECT_TRUE(remove("twice").ok()) << "it has become the only one";
  EXPECT_EQ(remove("1").code(), absl::StatusCode::kNotFound);
}

// Both jobs write their first checkpoint in their first generation: the numbers are equal.
TEST(SchedulerTest, SnapshotsOfOneJobAreNoCheckpointOfTheNext) {
  proto::Job second = SimulatedJob("async", 8);
  second.set_name("second");
  Simulation simulation(SimulatedCluster(SimulatedJob("async", 8)));
  for (int ps = 0; ps < 2; ++ps) simulation.ps(ps).set_disk_hangs(true);
  ASSERT_TRUE(simulation.RunUntil([&] { return BothHang(&simulation, 1); }));
  simulation.Submit(second);
  simulation.Do([&](Scheduler* scheduler, EventTime now, Outbox* outbox) {
    EXPECT_TRUE(scheduler->CancelJob("simulated", now, outbox).ok());
  });
  ASSERT_TRUE(simulation.RunUntil([&] { return BothHang(&simulation, 2); }));
  for (int ps = 0; ps < 2; ++ps) {
    EXPECT_EQ(simulation.ps(ps).unwritten()[0].cut(), simulation.ps(ps).unwritten()[1].cut());
  }
  // The disks recover, and write one after the other.
  for (int round = 0; round < 2; ++round) {
    EXPECT_TRUE(simulation.scheduler().ListCheckpoints("second")->manifests().empty());
    for (uint32_t ps = 0; ps < 2; ++ps) Write(&simulation, ps, round);
  }
  EXPECT_EQ(simulation.scheduler().ListCheckpoints("second")->manifests().size(), 1);
}

TEST(SchedulerTest, ALateCheckpointForAStopDoesNotStopTheJob) {
  Simulation simulation(SimulatedCluster(SimulatedJob("async", 8)));
  for (int ps = 0; ps < 2; ++ps) simulation.ps(ps).set_disk_hangs(true);
  ASSERT_TRUE(simulation.RunUntil([&] { return BothHang(&simulation, 1); }));
  absl::Status stopped;
  absl::Duration asked_at, now_at;
  simulation.Do([&](Scheduler* scheduler, EventTime now, Outbox* outbox) {
    asked_at = now.monotonic;
    scheduler->PrepareStop(
        absl::Seconds(1),
        [&](absl::StatusOr<proto::PrepareStopReply> reply) { stopped = reply.status(); }, now,
        outbox);
  });
  // Runs until long after the client has given up and the rest after a stop would be over.
  ASSERT_TRUE(simulation.RunUntil([&] {
    simulation.Do([&](Scheduler*, EventTime now, Outbox*) { now_at = now.monotonic; });
    return now_at > asked_at + absl::Minutes(2);
  }));
  EXPECT_TRUE(absl::IsAborted(stopped)) << stopped;
  EXPECT_EQ(
      stopped.message(),
      "the checkpoint before the stop is not done; job 1 has no checkpoint and starts from the "
      "beginning");
  for (uint32_t ps = 0; ps < 2; ++ps) Write(&simulation, ps, 0);
  ASSERT_TRUE(simulation.Run()) << simulation.Status().DebugString();
  simulation.CheckFinished();
}

TEST(SchedulerTest, AStopWhoseCheckpointComesTooLateNamesTheOneThatIsThere) {
  Simulation simulation(SimulatedCluster(SimulatedJob("async", 8)));
  ASSERT_TRUE(simulation.RunUntil([&] { return simulation.Status().last_checkpoint() == 1; }));
  for (int ps = 0; ps < 2; ++ps) simulation.ps(ps).set_disk_hangs(true);
  absl::Status stopped;
  simulation.Do([&](Scheduler* scheduler, EventTime now, Outbox* outbox) {
    scheduler->PrepareStop(
        absl::Seconds(1),
        [&](absl::StatusOr<proto::PrepareStopReply> reply) { stopped = reply.status(); }, now,
        outbox);
  });
  ASSERT_TRUE(simulation.RunUntil([&] { return !stopped.ok(); }));
  EXPECT_EQ(stopped.message(),
            "the checkpoint before the stop is not done; job 1 goes on from checkpoint 1");
}

TEST(SchedulerTest, ATaskDoesNotKeepTheJobOfAnotherCluster) {
  Simulation simulation(SimulatedCluster(SimulatedJob("async", 8)));
  ASSERT_TRUE(simulation.RunUntil([&] { return simulation.Status().batches_done() > 3; }));
  const uint64_t cluster = simulation.scheduler().GetCluster(EventTime()).cluster_id();
  for (const uint64_t other : {0, 1}) {
    proto::TaskMessage message;
    message.mutable_join()->set_role(proto::WORKER);
    message.mutable_join()->set_index(static_cast<int64_t>(20 + other));
    message.mutable_join()->set_instance_id(1000 + other);
    message.mutable_join()->set_job_id(1);
    message.mutable_join()->set_generation(1);
    message.mutable_join()->set_cluster_id(cluster + other);
    simulation.Do([&](Scheduler* scheduler, EventTime now, Outbox* outbox) {
      scheduler->OnMessage(100000 + other, message, now, outbox);
      ASSERT_TRUE(outbox->answers.back().command.has_welcome());
      EXPECT_EQ(outbox->answers.back().command.welcome().keep_leases(), other == 0);
    });
  }
}

TEST(SchedulerTest, WhatADeadTaskMeasuredIsNotShown) {
  Simulation simulation(SimulatedCluster(SimulatedJob("async", 8)));
  ASSERT_TRUE(simulation.RunUntil([&] { return simulation.Status().batches_done() > 3; }));
  simulation.Do([&](Scheduler* scheduler, EventTime now, Outbox* outbox) {
    for (const TaskId task : {PsTask(0), WorkerTask(0)}) {
      const auto shown = [&] {
        const proto::ClusterStatus cluster = scheduler->GetCluster(now);
        for (const proto::Member& member : cluster.members()) {
          if (member.role() == task.role && member.index() == task.index) return member;
        }
        return proto::Member();
      };
      proto::TaskMessage message;
      message.mutable_heartbeat()->set_memory_bytes(1 << 20);
      scheduler->OnMessage(scheduler->SessionOf(task), message, now, outbox);
      EXPECT_EQ(shown().memory_bytes(), 1 << 20) << task.Name();
      scheduler->OnSessionEnd(scheduler->SessionOf(task), now, outbox);
      EXPECT_FALSE(shown().live()) << task.Name();
      EXPECT_EQ(shown().memory_bytes(), 0) << task.Name();
      EXPECT_EQ(shown().examples_per_second(), 0) << task.Name();
      EXPECT_EQ(shown().requests_per_second(), 0) << task.Name();
    }
  });
}

TEST(SchedulerTest, RefusedMessagesAreShown) {
  Simulation simulation(SimulatedCluster(SimulatedJob("async", 8)));
  ASSERT_TRUE(simulation.RunUntil([&] { return simulation.Status().batches_done() > 3; }));
  simulation.Do([&](Scheduler* scheduler, EventTime now, Outbox* outbox) {
    const auto refused = [&](TaskId task) {
      const proto::ClusterStatus cluster = scheduler->GetCluster(now);
      for (const proto::Member& member : cluster.members()) {
        if (member.role() == task.role && member.index() == task.index) {
          return member.messages_refused();
        }
      }
      return uint64_t{99};
    };
    EXPECT_EQ(refused(WorkerTask(0)), 0u);
    proto::TaskMessage message;
    message.mutable_work()->set_job_id(1);
    message.mutable_work()->set_generation(1);
    message.mutable_work()->add_batches()->set_batch(-1);
    message.mutable_work()->add_batches()->set_batch(-2);
    scheduler->OnMessage(scheduler->SessionOf(WorkerTask(0)), message, now, outbox);
    EXPECT_EQ(refused(WorkerTask(0)), 2u);
    EXPECT_EQ(refused(WorkerTask(1)), 0u);
    // A ps counts for itself.
    message.mutable_heartbeat()->set_messages_refused(7);
    scheduler->OnMessage(scheduler->SessionOf(PsTask(1)), message, now, outbox);
    EXPECT_EQ(refused(PsTask(1)), 7u);
  });
  simulation.BreakStream(0);
  ASSERT_TRUE(simulation.Run()) << simulation.Status().DebugString();
  simulation.CheckFinished();
}

TEST(SchedulerTest, EveryStartIsANewTermOfTheSameCluster) {
  Simulation simulation(SimulatedCluster(Named("job")));
  const proto::ClusterStatus before = simulation.scheduler().GetCluster(EventTime());
  simulation.KillEverything();
  const proto::ClusterStatus after = simulation.scheduler().GetCluster(EventTime());
  EXPECT_EQ(after.term(), before.term() + 1);
  EXPECT_EQ(after.cluster_id(), before.cluster_id());
}

// The client, or the coordinator, died while the job was submitted. The client submits it again.
TEST(SchedulerTest, AnAbandonedUploadEndsByItself) {
  Simulation simulation(SimulatedCluster(Named("first")));
  simulation.Submit(Named("uploading"), /*uploads_weights=*/true);
  simulation.Submit(Named("gone"), /*uploads_weights=*/true);
  // A client says that it lives, as cairn does while it uploads; the other one is silent. Whoever
  // looks at the jobs says nothing of them.
  simulation.KillCoordinator();
  ASSERT_TRUE(simulation.RunUntil([&] {
    simulation.scheduler().OnUploaderAlive("uploading", {simulation.now(), 0});
    simulation.Status("gone");
    return simulation.scheduler().GetState(3).value() == proto::FAILED;
  }));
  EXPECT_NE(simulation.Status("gone").error().find("its weights were not uploaded"),
            std::string::npos);
  EXPECT_EQ(simulation.Status("uploading").state(), proto::UPLOADING);
}

// It would wait for ever for values that nobody has.
TEST(SchedulerTest, AJobWithoutItsWeightsIsNotResumed) {
  Simulation simulation(SimulatedCluster(Named("first")));
  simulation.Submit(Named("uploading"), /*uploads_weights=*/true);
  const auto request = [&](auto method) {
    absl::Status status;
    simulation.Do([&](Scheduler* scheduler, EventTime now, Outbox* outbox) {
      status = (scheduler->*method)("uploading", now, outbox).status();
    });
    return status;
  };
  ASSERT_TRUE(request(&Scheduler::CancelJob).ok());
  simulation.KillCoordinator();
  const absl::Status refused = request(&Scheduler::ResumeJob);
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_EQ(refused.message(),
            "job 2 (uploading) ended before its weights were uploaded: submit it again");
  EXPECT_EQ(simulation.Status("uploading").state(), proto::CANCELLED);
}

// Of a job that ends before its weights have come.
TEST(SchedulerTest, ThePsDeleteWhatWasUploaded) {
  Simulation simulation(SimulatedCluster(Named("first")));
  simulation.Submit(Named("uploading"), /*uploads_weights=*/true);
  ASSERT_TRUE(simulation.RunUntil([&] { return simulation.ps(1).expected_upload(2) > 0; }));
  Outbox outbox;
  ASSERT_TRUE(simulation.scheduler().CancelJob("uploading", {simulation.now(), 0}, &outbox).ok());
  std::set<uint32_t> told;
  for (const auto& [task, command, plan] : outbox.commands) {
    if (!command.has_stop_job() || command.stop_job().job_id() != 2) continue;
    if (task.role == proto::PS && command.stop_job().delete_data()) told.insert(task.index);
  }
  EXPECT_EQ(told, (std::set<uint32_t>{0, 1}));
}

TEST(SchedulerTest, AJobWithWeightsAwaitsEveryPs) {
  Simulation simulation(SimulatedCluster(Named("first")));
  simulation.Submit(Named("second"), /*uploads_weights=*/true);
  simulation.KillPs(1);
  simulation.KeepAway(1, absl::Seconds(60));
  ASSERT_TRUE(simulation.RunUntil([&] {
    const proto::ClusterStatus cluster = simulation.scheduler().GetCluster({simulation.now(), 0});
    for (const proto::Member& member : cluster.members()) {
      if (member.role() == proto::PS && member.index() == 1) {
        return member.lease_age_seconds() > 15;
      }
    }
    return false;
  }));
  ValidatedJob job;
  *job.request.mutable_job() = Named("third");
  job.request.set_uploads_weights(true);
  Outbox outbox;
  const auto refused = simulation.scheduler().Submit(job, {simulation.now(), 0}, &outbox);
  EXPECT_TRUE(absl::IsAborted(refused.status())) << refused.status();
  EXPECT_NE(refused.status().message().find("ps 1 is away"), std::string::npos) << refused.status();
}

TEST(SchedulerTest, EveryPsIsToldWhichUploadsToExpect) {
  Simulation simulation(SimulatedCluster(Named("first")));
  simulation.Submit(Named("uploading"), /*uploads_weights=*/true);
  EXPECT_TRUE(simulation.RunUntil([&] { return simulation.ps(0).expected_upload(2) > 0; }));
  simulation.KillPs(1);
  ASSERT_TRUE(simulation.RunUntil([&] { return simulation.ps(1).expected_upload(2) > 0; }));
  EXPECT_EQ(simulation.ps(0).expected_upload(1), 0u);
  simulation.Do([&](Scheduler* scheduler, EventTime now, Outbox* outbox) {
    EXPECT_TRUE(scheduler->CommitWeights("uploading", now, outbox).ok());
  });
  EXPECT_TRUE(simulation.RunUntil([&] {
    return simulation.ps(0).expected_upload(2) + simulation.ps(1).expected_upload(2) == 0;
  }));
}

TEST(SchedulerTest, AJobWaitingForWeightsDoesNotBlockOthers) {
  Simulation simulation(SimulatedCluster(Named("first")));
  simulation.Submit(Named("uploading"), /*uploads_weights=*/true);
  simulation.Do([&](Scheduler* scheduler, EventTime now, Outbox* outbox) {
    EXPECT_FALSE(scheduler->CommitWeights("first", now, outbox).ok());
  });
  simulation.Submit(Named("third"));
  ASSERT_TRUE(
      simulation.RunUntil([&] { return simulation.Status("third").state() == proto::FINISHED; }));
  EXPECT_EQ(simulation.Status("uploading").state(), proto::UPLOADING);
  EXPECT_NE(simulation.Status("uploading").waiting_for().find("for its weights"),
            std::string::npos);
  simulation.Do([&](Scheduler* scheduler, EventTime now, Outbox* outbox) {
    EXPECT_TRUE(scheduler->CommitWeights("uploading", now, outbox).ok());
  });
  ASSERT_TRUE(simulation.RunUntil(
      [&] { return simulation.Status("uploading").state() == proto::FINISHED; }));
  EXPECT_TRUE(simulation.scheduler().GetPlan("uploading")->weights_uploaded());
}

TEST(SchedulerTest, AnUnknownJobIsNotFoundByAnyCall) {
  Simulation simulation(SimulatedCluster(Named("job")));
  Scheduler& scheduler = simulation.scheduler();
  Outbox outbox;
  EXPECT_EQ(scheduler.GetJob("none", EventTime()).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(scheduler.GetPlan("none").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(scheduler.ListCheckpoints("7").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(scheduler.CancelJob("7", EventTime(), &outbox).status().code(),
            absl::StatusCode::kNotFound);
  EXPECT_EQ(scheduler.GetPlan("job").status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST(SchedulerTest, AStopWithoutARunningJobIsAnsweredAtOnce) {
  Simulation simulation(SimulatedCluster(Named("job")));
  bool answered = false;
  simulation.Do([&](Scheduler* scheduler, EventTime now, Outbox* outbox) {
    scheduler->PrepareStop(
        absl::Seconds(1),
        [&](absl::StatusOr<proto::PrepareStopReply> reply) { answered = reply.ok(); }, now, outbox);
  });
  EXPECT_TRUE(answered);
}

TEST(SchedulerTest, AJobThatHasEndedUnsuccessfullyContinuesFromItsNewestCheckpoint) {
  Simulation simulation(SimulatedCluster(SimulatedJob("async", 8)));
  const auto resume = [&] {
    absl::StatusOr<proto::JobStatus> status;
    simulation.Do([&](Scheduler* scheduler, EventTime now, Outbox* outbox) {
      status = scheduler->ResumeJob("simulated", now, outbox);
    });
    return status;
  };
  ASSERT_TRUE(simulation.RunUntil([&] { return simulation.Status().last_checkpoint() >= 3; }));
  EXPECT_EQ(resume().status().message(),
            "job 1 is running: only a job that has failed or was cancelled can be resumed");
  simulation.Do([](Scheduler* scheduler, EventTime now, Outbox* outbox) {
    EXPECT_TRUE(scheduler->CancelJob("simulated", now, outbox).ok());
  });
  simulation.KillCoordinator();
  ASSERT_TRUE(resume().ok());
  EXPECT_NE(simulation.Status().state(), proto::CANCELLED);
  simulation.KillCoordinator();  // The decision is journaled.
  ASSERT_TRUE(simulation.Run()) << simulation.Status().DebugString();
  simulation.CheckFinished();
  EXPECT_EQ(simulation.Status().rollbacks(), 0);
  EXPECT_FALSE(resume().ok()) << "it is finished";
}

}  // namespace
}  // namespace cairn::coordinator
