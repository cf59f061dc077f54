#include "coordinator/membership.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace cairn::coordinator {
namespace {

constexpr absl::Duration kStart = absl::Seconds(100);

MembershipOptions Options() {
  MembershipOptions options;
  options.version = "1.2.3";
  options.cluster_id = 3;
  options.term = 4;
  options.ps_addresses = {"a:1", "b:2"};
  options.named_workers = {0, 3};
  return options;
}

proto::Join MakeJoin(proto::Role role, int64_t index, uint64_t instance) {
  proto::Join join;
  join.set_version("1.2.3");
  join.set_role(role);
  join.set_index(index);
  join.set_instance_id(instance);
  return join;
}

class MembershipTest : public ::testing::Test {
 protected:
  Membership::Joined Join(proto::Role role, int64_t index, uint64_t instance) {
    return members_.Join(++session_, MakeJoin(role, index, instance), now_);
  }

  Membership members_{Options()};
  uint64_t session_ = 0;
  absl::Duration now_ = kStart;
};

TEST_F(MembershipTest, ATaskJoinsAndItsIncarnationsCount) {
  const auto first = Join(proto::WORKER, 3, 11);
  ASSERT_FALSE(first.refused.has_value());
  EXPECT_EQ(first.task, WorkerTask(3));
  EXPECT_EQ(first.incarnation, 1u);
  EXPECT_TRUE(first.first);
  EXPECT_EQ(members_.StreamEnded(1), WorkerTask(3));
  const auto second = Join(proto::WORKER, 3, 12);
  EXPECT_EQ(second.incarnation, 2u);
  EXPECT_FALSE(second.first);
  EXPECT_FALSE(second.continues);
}

TEST_F(MembershipTest, AWorkerThatALivePsDoesNotAnswerIsStuck) {
  Join(proto::WORKER, 0, 11);
  const auto hear = [&](absl::Duration silence, uint32_t ps) {
    members_.Heard(1, now_);
    proto::Heartbeat heartbeat;
    heartbeat.mutable_activity()->set_phase(proto::Activity::WAITING);
    heartbeat.mutable_activity()->set_batch(7);
    heartbeat.mutable_activity()->set_milliseconds_of_silence(absl::ToInt64Milliseconds(silence));
    heartbeat.mutable_activity()->set_silent_ps(ps);
    members_.OnHeartbeat(WorkerTask(0), heartbeat);
    return members_.WithoutProgress(WorkerTask(0));
  };
  EXPECT_EQ(hear(absl::Seconds(83), 1), absl::ZeroDuration()) << "the ps is absent";
  Join(proto::PS, 1, 12);
  EXPECT_EQ(hear(absl::Seconds(83), 1), absl::ZeroDuration()) << "the ps has just joined";
  now_ += absl::Seconds(70);
  EXPECT_EQ(hear(absl::Seconds(83), 1), absl::Seconds(70)) << "since the ps joined";
  EXPECT_EQ(hear(absl::Seconds(61), 1), absl::Seconds(61));
  EXPECT_EQ(members_.ActivityText(WorkerTask(0)), "stuck without an answer from ps 1, 61 s");
  // Where the steps take long.
  EXPECT_EQ(members_.ActivityText(WorkerTask(0), absl::Seconds(61)), "waiting for ps batch 7");
  const auto shown = [&](std::optional<absl::Duration> patience) {
    std::string text;
    const proto::ClusterStatus cluster = members_.Describe(now_, patience);
    for (const proto::Member& member : cluster.members()) {
      if (member.role() == proto::WORKER && member.index() == 0) text = member.activity();
    }
    return text;
  };
  EXPECT_EQ(shown(absl::Seconds(61)), "waiting for ps batch 7");
  EXPECT_EQ(shown({}), "stuck without an answer from ps 1, 61 s");
  EXPECT_EQ(hear(absl::Seconds(60), 1), absl::Seconds(60));
  EXPECT_EQ(members_.ActivityText(WorkerTask(0)), "waiting for ps batch 7");
  EXPECT_EQ(hear(absl::Seconds(61), 0), absl::ZeroDuration()) << "another ps, which is absent";
  // From the wire.
  EXPECT_EQ(hear(absl::Milliseconds(-5), 1), absl::ZeroDuration());
  EXPECT_EQ(hear(absl::Milliseconds(std::numeric_limits<int64_t>::max()), 1), absl::Seconds(70));
  EXPECT_EQ(hear(absl::Seconds(61), std::numeric_limits<uint32_t>::max()), absl::ZeroDuration());
  EXPECT_EQ(members_.StreamEnded(2), PsTask(1));
  EXPECT_EQ(hear(absl::Seconds(61), 1), absl::ZeroDuration()) << "the ps is lost";
}

TEST_F(MembershipTest, ANamedWorkerHasThePsOfItsIndex) {
  for (const bool workers_hold_parameters : {true, false}) {
    MembershipOptions options = Options();
    options.workers_hold_parameters = workers_hold_parameters;
    Membership members(options);
    // In containers on the network of their host.
    const auto join = [&](proto::Role role, int64_t index, uint64_t instance, int64_t pid) {
      proto::Join join = MakeJoin(role, index, instance);
      join.set_address("h:1");
      join.set_host("h");
      join.set_pid(pid);
      EXPECT_FALSE(members.Join(++session_, join, now_).refused.has_value());
    };
    join(proto::PS, 0, 11, 7);
    join(proto::PS, 1, 12, 8);
    join(proto::WORKER, 0, 13, 8);
    join(proto::WORKER, 5, 14, 8);
    EXPECT_EQ(members.InOneProcess(WorkerTask(0), 0), workers_hold_parameters);
    EXPECT_EQ(members.InOneProcess(WorkerTask(0), 1), !workers_hold_parameters);
    EXPECT_FALSE(members.InOneProcess(WorkerTask(5), 0));
    EXPECT_TRUE(members.InOneProcess(WorkerTask(5), 1));
  }
}

TEST_F(MembershipTest, PsThatReachTheCoordinatorAndNotEachOtherAreShown) {
  Join(proto::PS, 0, 11);
  const auto hear = [&](absl::Duration silence, uint32_t ps) {
    members_.Heard(1, now_);
    members_.Heard(2, now_);
    proto::Heartbeat heartbeat;
    heartbeat.add_silent_ps()->set_ps(ps);
    heartbeat.mutable_silent_ps(0)->set_milliseconds(absl::ToInt64Milliseconds(silence));
    members_.OnHeartbeat(PsTask(0), heartbeat);
    return members_.PsGaps();
  };
  const auto pass = [&](absl::Duration time) {
    for (const absl::Duration end = now_ + time; now_ < end; now_ += absl::Seconds(1)) {
      members_.Heard(1, now_);
      members_.Heard(2, now_);
    }
  };
  EXPECT_TRUE(hear(absl::Seconds(83), 1).empty()) << "the other ps is absent";
  Join(proto::PS, 1, 12);
  EXPECT_TRUE(hear(absl::Seconds(83), 1).empty()) << "it has just joined";
  pass(absl::Seconds(70));
  ASSERT_EQ(hear(absl::Seconds(83), 1).size(), 1u);
  EXPECT_EQ(hear(absl::Seconds(83), 1)[0].duration, absl::Seconds(70)) << "since it joined";
  EXPECT_EQ(hear(absl::Seconds(61), 1)[0].duration, absl::Seconds(61));
  const auto shown = [&] {
    const proto::ClusterStatus status = members_.Describe(now_);
    return absl::StrCat(status.members(0).activity(), "; ", status.members(1).activity());
  };
  EXPECT_EQ(shown(), "no answer from ps 1, 61 s; does not answer ps 0, 61 s");
  hear(absl::Seconds(60), 1);
  EXPECT_EQ(shown(), "; ");
  EXPECT_EQ(hear(absl::Seconds(7), 0)[0].to, 0u) << "a ps may not reach itself";
  // From the wire.
  EXPECT_TRUE(hear(absl::Milliseconds(-5), 1).empty());
  EXPECT_TRUE(hear(absl::Seconds(61), std::numeric_limits<uint32_t>::max()).empty());
  EXPECT_EQ(hear(absl::Milliseconds(std::numeric_limits<int64_t>::max()), 1)[0].duration,
            absl::Seconds(70));
  // A process that was stopped answers soon.
  now_ += absl::Seconds(6);
  EXPECT_TRUE(hear(absl::Seconds(61), 1).empty());
  pass(absl::Seconds(5));
  EXPECT_EQ(hear(absl::Seconds(61), 1)[0].duration, absl::Seconds(5));
  EXPECT_EQ(members_.StreamEnded(2), PsTask(1));
  EXPECT_TRUE(hear(absl::Seconds(61), 1).empty()) << "it is lost";
}

TEST_F(MembershipTest, TheSamePsBackWithinItsLeaseContinues) {
  Join(proto::PS, 1, 11);
  members_.StreamEnded(1);
  now_ += absl::Seconds(9);
  EXPECT_TRUE(members_.Tick(now_).empty());
  EXPECT_TRUE(Join(proto::PS, 1, 11).continues);
}

TEST_F(MembershipTest, APsIsLostWhenItsLeaseIsOverAndOnlyOnce) {
  Join(proto::PS, 1, 11);
  members_.Tick(now_);
  members_.StreamEnded(1);
  for (int second = 0; second < 10; ++second) {
    EXPECT_TRUE(members_.Tick(now_ += absl::Seconds(1)).empty());
  }
  const auto expired = members_.Tick(now_ += absl::Seconds(1));
  ASSERT_EQ(expired.size(), 1u);
  EXPECT_EQ(expired[0].task, PsTask(1));
  EXPECT_TRUE(members_.Tick(now_ += absl::Seconds(1)).empty());
  EXPECT_FALSE(Join(proto::PS, 1, 11).continues);
}

TEST_F(MembershipTest, ASlowWorkerLosesItsStreamAfterItsLease) {
  Join(proto::WORKER, 0, 11);
  members_.Tick(now_);
  for (int second = 0; second < 8; ++second) members_.Tick(now_ += absl::Seconds(1));
  EXPECT_EQ(members_.Heard(1, now_), WorkerTask(0));
  for (int second = 0; second < 10; ++second) {
    EXPECT_TRUE(members_.Tick(now_ += absl::Seconds(1)).empty());
  }
  const auto expired = members_.Tick(now_ += absl::Seconds(1));
  ASSERT_EQ(expired.size(), 1u);
  EXPECT_EQ(expired[0].session, 1u);
  EXPECT_EQ(members_.Heard(1, now_), std::nullopt);
  EXPECT_FALSE(members_.IsLive(WorkerTask(0)));
}

TEST_F(MembershipTest, LeasesAreExtendedWhenTheMachineSlept) {
  Join(proto::WORKER, 0, 11);
  members_.Tick(now_);
  EXPECT_TRUE(members_.Tick(now_ += absl::Hours(1)).empty());
}

TEST_F(MembershipTest, ASecondProcessOfATaskIsRefusedAtFirstForNowAndThenForGood) {
  Join(proto::WORKER, 0, 11);
  const auto second = Join(proto::WORKER, 0, 12);
  ASSERT_TRUE(second.refused.has_value());
  EXPECT_FALSE(second.refused->permanent());
  for (int i = 0; i < 11; ++i) {
    now_ += absl::Seconds(1);
    members_.Heard(1, now_);  // The first process is alive.
  }
  const auto again = Join(proto::WORKER, 0, 12);
  ASSERT_TRUE(again.refused.has_value());
  EXPECT_TRUE(again.refused->permanent());
  EXPECT_EQ(members_.Heard(1, now_), WorkerTask(0));
}

TEST_F(MembershipTest, ANewerStreamOfTheSameProcessReplacesTheOlder) {
  Join(proto::WORKER, 0, 11);
  const auto again = Join(proto::WORKER, 0, 11);
  EXPECT_FALSE(again.refused.has_value());
  EXPECT_EQ(again.superseded_session, 1u);
  EXPECT_EQ(members_.Heard(1, now_), std::nullopt);
  EXPECT_EQ(members_.StreamEnded(1), std::nullopt);
  EXPECT_TRUE(members_.IsLive(WorkerTask(0)));
}

TEST_F(MembershipTest, UnnamedWorkersGetIndicesAboveTheNamedOnes) {
  EXPECT_EQ(Join(proto::WORKER, -1, 21).task, WorkerTask(4));
  EXPECT_EQ(Join(proto::WORKER, -1, 22).task, WorkerTask(5));
  members_.StreamEnded(1);
  EXPECT_EQ(Join(proto::WORKER, -1, 21).task, WorkerTask(4));  // It is known again.
  members_.StreamEnded(2);
  EXPECT_EQ(Join(proto::WORKER, -1, 23).task, WorkerTask(5));  // A free one.
  EXPECT_EQ(members_.WorkerCount(), 4);
}

TEST_F(MembershipTest, AnUnnamedWorkerThatWasLostIsNotTakenForOneThatIsNew) {
  EXPECT_TRUE(Join(proto::WORKER, -1, 21).first);
  members_.Tick(now_);
  for (int i = 0; i < 11; ++i) members_.Tick(now_ += absl::Seconds(1));
  EXPECT_EQ(members_.Find(WorkerTask(4)), nullptr);
  const auto back = Join(proto::WORKER, 4, 21);
  EXPECT_EQ(back.task, WorkerTask(4));
  EXPECT_FALSE(back.first);
  EXPECT_FALSE(back.continues);
}

TEST_F(MembershipTest, AnUnnamedWorkerWithATakenIndexGetsANewOne) {
  const auto again = [&](int64_t index, uint64_t instance) {
    proto::Join join = MakeJoin(proto::WORKER, index, instance);
    join.set_any_index(true);
    return members_.Join(++session_, join, now_);
  };
  EXPECT_EQ(again(-1, 21).task, WorkerTask(4));
  EXPECT_EQ(again(4, 21).task, WorkerTask(4));  // No other process has it.
  members_.StreamEnded(session_);
  EXPECT_EQ(again(-1, 22).task, WorkerTask(4));
  const auto back = again(4, 21);
  EXPECT_FALSE(back.refused.has_value());
  EXPECT_EQ(back.task, WorkerTask(5));
  EXPECT_FALSE(back.first) << "what it had leased others have";
  EXPECT_FALSE(back.continues);
  EXPECT_TRUE(members_.IsLive(WorkerTask(4)));
  // An index that TF_CONFIG names (perhaps only since the coordinator restarted) is not available
  // to an unnamed worker.
  EXPECT_EQ(again(3, 23).task, WorkerTask(6));
}

TEST_F(MembershipTest, AnotherListOfPsIsRefusedAndBothAreShown) {
  proto::Join join = MakeJoin(proto::WORKER, 0, 1);
  join.add_ps_addresses("b:2");
  join.add_ps_addresses("a:1");
  const auto joined = members_.Join(1, join, now_);
  ASSERT_TRUE(joined.refused.has_value());
  EXPECT_TRUE(joined.refused->permanent());
  EXPECT_NE(joined.refused->reason().find("[a:1, b:2]"), std::string::npos);
  EXPECT_NE(joined.refused->reason().find("[b:2, a:1]"), std::string::npos);
}

TEST_F(MembershipTest, AnInvalidJoinIsRefusedWithTheReason) {
  proto::Join old_version = MakeJoin(proto::WORKER, 0, 1);
  old_version.set_version("0.9");
  const auto refused = members_.Join(1, old_version, now_).refused;
  ASSERT_TRUE(refused.has_value());
  EXPECT_NE(refused->reason().find("1.2.3"), std::string::npos);
  EXPECT_NE(refused->reason().find("0.9"), std::string::npos);
  EXPECT_TRUE(Join(proto::PS, 2, 1).refused->permanent());
  EXPECT_TRUE(Join(proto::PS, -1, 1).refused->permanent());
  EXPECT_TRUE(Join(proto::WORKER, 1 << 30, 1).refused->permanent());
  EXPECT_TRUE(Join(proto::WORKER, -2, 1).refused->permanent());
  EXPECT_TRUE(Join(proto::COORDINATOR, 0, 1).refused->permanent());
  EXPECT_TRUE(members_.members().empty());
}

TEST_F(MembershipTest, ATaskThatHasSeenANewerCoordinatorIsNotTakenByThisOne) {
  proto::Join join = MakeJoin(proto::WORKER, 0, 1);
  join.set_term_seen(5);
  const auto refused = members_.Join(1, join, now_).refused;
  ASSERT_TRUE(refused.has_value());
  EXPECT_FALSE(refused->permanent());
  join.set_cluster_id(8);  // The term of another cluster.
  EXPECT_FALSE(members_.Join(1, join, now_).refused.has_value());
}

TEST_F(MembershipTest, APsThatKeepsCheckpointsOfAnotherClusterIsRefused) {
  proto::Join join = MakeJoin(proto::PS, 0, 1);
  join.set_keeps_cluster_id(0xab);
  const auto refused = members_.Join(1, join, now_).refused;
  ASSERT_TRUE(refused.has_value());
  EXPECT_FALSE(refused->permanent()) << "the right coordinator may come back";
  EXPECT_NE(refused->reason().find("checkpoints of cluster ab, this coordinator's is 3"),
            std::string::npos)
      << refused->reason();
  join.set_keeps_cluster_id(3);
  EXPECT_FALSE(members_.Join(1, join, now_).refused.has_value());
}

TEST_F(MembershipTest, NamedTasksAreShownBeforeTheyJoin) {
  Join(proto::WORKER, 3, 1);
  std::vector<std::string> shown;
  const proto::ClusterStatus status = members_.Describe(now_);
  for (const proto::Member& member : status.members()) {
    shown.push_back(absl::StrCat(member.role() == proto::PS ? "ps " : "worker ", member.index(),
                                 member.live() ? " live" : "", " ", member.incarnation(), " ",
                                 member.address()));
  }
  std::sort(shown.begin(), shown.end());
  EXPECT_EQ(shown, (std::vector<std::string>{"ps 0 0 a:1", "ps 1 0 b:2", "worker 0 0 ",
                                             "worker 3 live 1 "}));
}

// A cluster without ps.
class HoldersTest : public ::testing::Test {
 protected:
  static MembershipOptions HolderOptions() {
    MembershipOptions options = Options();
    options.named_workers = {0, 1};
    options.workers_hold_parameters = true;
    return options;
  }

  proto::Join MakeHolder(int64_t index, const std::string& address) {
    proto::Join join = MakeJoin(proto::PS, index, ++instance_);
    join.set_address(address);
    return join;
  }

  proto::Join MakeWorker(int64_t index, int64_t pid, const std::vector<std::string>& devices) {
    proto::Join join = MakeJoin(proto::WORKER, index, ++instance_);
    join.set_host("h");
    join.set_pid(pid);
    for (const std::string& device : devices) join.add_devices(device);
    return join;
  }

  Membership::Joined Join(const proto::Join& join) {
    return members_.Join(++session_, join, kStart);
  }

  Membership members_{HolderOptions()};
  uint64_t session_ = 0;
  uint64_t instance_ = 0;
};

TEST_F(HoldersTest, TheAddressOfAHolderIsTheOneItJoinsWith) {
  EXPECT_EQ(members_.PsAddresses(), (std::vector<std::string>{"a:1", "b:2"}));
  ASSERT_FALSE(Join(MakeHolder(0, "a:77")).refused.has_value());
  EXPECT_EQ(members_.PsAddresses(), (std::vector<std::string>{"a:77", "b:2"}));
  EXPECT_EQ(members_.Describe(kStart).ps_addresses(0), "a:77");
  members_.StreamEnded(session_);
  ASSERT_FALSE(Join(MakeHolder(0, "a:78")).refused.has_value());
  EXPECT_EQ(members_.PsAddresses(), (std::vector<std::string>{"a:78", "b:2"}));
}

TEST_F(HoldersTest, AHolderWithoutAnAddressIsRefused) {
  for (const char* const address : {"", "a", "a:99999", "a:0"}) {
    const auto joined = Join(MakeHolder(1, address));
    ASSERT_TRUE(joined.refused.has_value()) << address;
    EXPECT_TRUE(joined.refused->permanent());
  }
  EXPECT_EQ(members_.PsAddresses(), (std::vector<std::string>{"a:1", "b:2"}));
}

TEST_F(MembershipTest, WithPsTheAddressesAreThoseOfTfConfig) {
  proto::Join join = MakeJoin(proto::PS, 0, 5);
  join.set_address("elsewhere:9");
  ASSERT_FALSE(members_.Join(1, join, now_).refused.has_value());
  EXPECT_EQ(members_.PsAddresses(), (std::vector<std::string>{"a:1", "b:2"}));
}

TEST_F(HoldersTest, TheDevicesOfAProcessCountOnceHoweverManyOfItsWorkersHaveJoined) {
  EXPECT_EQ(members_.DeviceCount(), 2) << "both are named";
  Join(MakeWorker(0, 11, {"cpu:0", "cpu:1", "cpu:2"}));
  EXPECT_EQ(members_.DeviceCount(), 6) << "the other one is as large, as far as is known";
  Join(MakeWorker(-1, 11, {"cpu:0", "cpu:1", "cpu:2"}));
  EXPECT_EQ(members_.DeviceCount(), 6);
  Join(MakeWorker(1, 12, {}));
  EXPECT_EQ(members_.DeviceCount(), 4) << "a worker that names none has one";
  Join(MakeWorker(-1, 13, {"cpu:0"}));
  EXPECT_EQ(members_.DeviceCount(), 5);
  members_.StreamEnded(session_);
  EXPECT_EQ(members_.DeviceCount(), 4) << "it is not named";
}

TEST_F(HoldersTest, ALostWorkerCountsWithItsDevices) {
  Join(MakeWorker(0, 11, {"cpu:0", "cpu:1"}));
  members_.StreamEnded(session_);
  Join(MakeWorker(1, 12, {"cpu:0"}));
  EXPECT_EQ(members_.DeviceCount(), 3);
}

TEST_F(HoldersTest, ATaskThatNeverJoinedIsAwaySinceTheFirstOneJoined) {
  EXPECT_FALSE(members_.AwaySince(PsTask(0)).has_value());
  Join(MakeHolder(1, "b:2"));
  EXPECT_EQ(members_.AwaySince(PsTask(0)), kStart);
  EXPECT_FALSE(members_.AwaySince(PsTask(1)).has_value()) << "it is live";
  members_.Heard(session_, kStart + absl::Seconds(3));
  members_.StreamEnded(session_);
  EXPECT_EQ(members_.AwaySince(PsTask(1)), kStart + absl::Seconds(3));
}

TEST_F(HoldersTest, DevicesFromTheWireAreChecked) {
  EXPECT_TRUE(Join(MakeWorker(0, 1, {"cpu:0\n"})).refused.has_value());
  EXPECT_TRUE(Join(MakeWorker(0, 1, std::vector<std::string>(65, "cpu:0"))).refused.has_value());
  EXPECT_FALSE(Join(MakeWorker(0, 1, {"cpu:0"})).refused.has_value());
}

}  // namespace
}  // namespace cairn::coordinator
