#include "cli/view/cluster_text.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace cairn::cli {
namespace {

using ::testing::HasSubstr;

TEST(ClusterTextTest, BytesAreCountedInPowersOf1024) {
  EXPECT_EQ(BytesText(0), "0 B");
  EXPECT_EQ(BytesText(1023), "1023 B");
  EXPECT_EQ(BytesText(1024), "1.0 KiB");
  EXPECT_EQ(BytesText(int64_t{5} * 1024 * 1024 * 1024 / 2), "2.5 GiB");
  EXPECT_EQ(BytesText(int64_t{5} << 50), "5120.0 TiB");
}

proto::ClusterStatus ACluster() {
  proto::ClusterStatus cluster;
  cluster.set_version("7.1");
  cluster.set_term(4);
  cluster.mutable_coordinator()->set_role(proto::COORDINATOR);
  cluster.mutable_coordinator()->set_live(true);
  cluster.mutable_coordinator()->set_host("a-host");
  proto::Member* ps = cluster.add_members();
  ps->set_role(proto::PS);
  ps->set_live(true);
  ps->set_address("10.0.0.1:5");
  ps->set_pid(77);
  ps->set_incarnation(3);
  ps->set_lease_age_seconds(0.25);
  ps->set_memory_bytes(1 << 20);
  ps->set_requests_per_second(1234);
  proto::Member* worker = cluster.add_members();
  worker->set_role(proto::WORKER);
  worker->set_index(2);
  worker->set_live(true);
  worker->set_incarnation(1);
  worker->set_examples_per_second(9.6);
  worker->set_device("cpu");
  return cluster;
}

TEST(ClusterTextTest, EveryTaskHasALineWithWhatItDoes) {
  EXPECT_EQ(
      ClusterText(ACluster(), "10.0.0.9:1"),
      "cluster of the coordinator at 10.0.0.9:1, Cairn 7.1, start 4\n"
      "  TASK         STATE  ADDRESS     HOST    PID  JOINED  HEARD  MEMORY   RATE"
      "              DEVICE\n"
      "  coordinator  live   -           a-host  0    0       -      -        -"
      "                 -\n"
      "  ps-0         live   10.0.0.1:5  -       77   3       0.2 s  1.0 MiB  1.23k requests/s"
      "  -\n"
      "  worker-2     live   -           -       0    1       0.0 s  -        10 examples/s"
      "     cpu\n");
}

TEST(ClusterTextTest, LimitsOfMemoryAndFreeDisksAreShownIfTheyAreKnown) {
  proto::ClusterStatus cluster = ACluster();
  cluster.mutable_members(0)->set_memory_limit_bytes(int64_t{16} << 30);
  cluster.mutable_members(0)->set_disk_free_bytes(int64_t{5} << 40);
  EXPECT_EQ(
      ClusterText(cluster, "10.0.0.9:1", 90),
      "cluster of the coordinator at 10.0.0.9:1, Cairn 7.1, start 4\n"
      "  TASK         STATE  HEARD  MEMORY               DISK FREE  RATE              DEVICE\n"
      "  coordinator  live   -      -                    -          -                 -\n"
      "  ps-0         live   0.2 s  1.0 MiB of 16.0 GiB  5.0 TiB    1.23k requests/s  -\n"
      "  worker-2     live   0.0 s  -                    -          10 examples/s     cpu\n");
}

TEST(ClusterTextTest, AWorkerThatIsMuchSlowerThanTheMedianIsNamed) {
  const auto text_of = [](const std::vector<double>& rates) {
    proto::ClusterStatus cluster = ACluster();
    cluster.mutable_members()->RemoveLast();
    for (const double rate : rates) {
      proto::Member* worker = cluster.add_members();
      worker->set_role(proto::WORKER);
      worker->set_index(static_cast<uint32_t>(cluster.members_size()));
      worker->set_live(true);
      worker->set_examples_per_second(rate);
    }
    return ClusterText(cluster, "10.0.0.9:1");
  };
  EXPECT_THAT(text_of({100, 7.7, 90, 110}), HasSubstr("live, slow: 1/13 of the median rate "));
  EXPECT_THAT(text_of({10, 100}), HasSubstr("live, slow: 1/10 of the median rate "));
  for (const std::vector<double>& rates : std::vector<std::vector<double>>{
           {}, {5}, {100, 25, 90}, {0, 100, 100}, {0, 0}, {7, 8, 9, 10}}) {
    EXPECT_THAT(text_of(rates), ::testing::Not(HasSubstr("slow"))) << rates.size();
  }
}

TEST(ClusterTextTest, RefusedMessagesAreShown) {
  proto::ClusterStatus cluster = ACluster();
  EXPECT_THAT(ClusterText(cluster, "10.0.0.9:1"), ::testing::Not(HasSubstr("refused")));
  cluster.mutable_members(0)->set_messages_refused(3);
  cluster.mutable_members(1)->set_messages_refused(1);
  EXPECT_THAT(ClusterText(cluster, "10.0.0.9:1"),
              ::testing::AllOf(HasSubstr("  live, 3 messages refused  "),
                               HasSubstr("  live, 1 message refused  ")));
}

TEST(ClusterTextTest, ATaskThatIsAwayTellsForHowLongAndHasNeitherMemoryNorRate) {
  proto::ClusterStatus cluster = ACluster();
  for (proto::Member& member : *cluster.mutable_members()) {
    member.set_live(false);
    member.set_lease_age_seconds(125.5);
    member.set_memory_bytes(1 << 20);
  }
  EXPECT_EQ(ClusterText(cluster, "10.0.0.9:1"),
            "cluster of the coordinator at 10.0.0.9:1, Cairn 7.1, start 4\n"
            "  TASK         STATE      ADDRESS     HOST    PID  JOINED  HEARD    MEMORY  RATE  "
            "DEVICE\n"
            "  coordinator  live       -           a-host  0    0       -        -       -     "
            "-\n"
            "  ps-0         away 2:06  10.0.0.1:5  -       77   3       125.5 s  -       -     "
            "-\n"
            "  worker-2     away 2:06  -           -       0    1       125.5 s  -       -     "
            "cpu\n");
}

TEST(ClusterTextTest, OnlyTheFirstStartOfACoordinatorKnowsWhoHasNeverJoined) {
  proto::ClusterStatus cluster;
  cluster.set_version("7.1");
  cluster.set_term(1);
  cluster.add_members()->set_role(proto::EVALUATOR);
  EXPECT_EQ(ClusterText(cluster, "10.0.0.9:1"),
            "cluster of the coordinator at 10.0.0.9:1, Cairn 7.1, start 1\n"
            "  TASK         STATE    ADDRESS  HOST  PID  JOINED  HEARD  MEMORY  RATE  DEVICE\n"
            "  evaluator-0  not yet  -        -     -    0       -      -       -     -\n");
  cluster.set_term(2);
  EXPECT_EQ(ClusterText(cluster, "10.0.0.9:1"),
            "cluster of the coordinator at 10.0.0.9:1, Cairn 7.1, start 2\n"
            "  TASK         STATE  ADDRESS  HOST  PID  JOINED  HEARD            MEMORY  RATE  "
            "DEVICE\n"
            "  evaluator-0  away   -        -     -    0       not since start  -       -     -\n");
}

TEST(ClusterTextTest, ANarrowTableOmitsWholeColumns) {
  EXPECT_EQ(ClusterText(ACluster(), "10.0.0.9:1", 95), ClusterText(ACluster(), "10.0.0.9:1"));
  EXPECT_EQ(ClusterText(ACluster(), "10.0.0.9:1", 82),
            "cluster of the coordinator at 10.0.0.9:1, Cairn 7.1, start 4\n"
            "  TASK         STATE  ADDRESS     JOINED  HEARD  MEMORY   RATE              DEVICE\n"
            "  coordinator  live   -           0       -      -        -                 -\n"
            "  ps-0         live   10.0.0.1:5  3       0.2 s  1.0 MiB  1.23k requests/s  -\n"
            "  worker-2     live   -           1       0.0 s  -        10 examples/s     cpu\n");
  EXPECT_EQ(ClusterText(ACluster(), "10.0.0.9:1", 1),
            "cluster of the coordinator at 10.0.0.9:1, Cairn 7.1, start 4\n"
            "  TASK         STATE  RATE              DEVICE\n"
            "  coordinator  live   -                 -\n"
            "  ps-0         live   1.23k requests/s  -\n"
            "  worker-2     live   10 examples/s     cpu\n");
}

}  // namespace
}  // namespace cairn::cli
