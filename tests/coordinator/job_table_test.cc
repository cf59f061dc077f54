#include "coordinator/job_table.h"

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace cairn::coordinator {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class JobTableTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string directory = ::testing::TempDir() + "/job_table";
    std::filesystem::remove_all(directory);
    journal_ = *storage::Journal::Open(directory);
  }

  // The generation of a job that was refused is 0.
  Job* Add(uint64_t id, const std::string& name, proto::JobState state, uint64_t generation = 1) {
    storage::JobRecords records;
    records.record.set_job_id(id);
    records.record.mutable_job()->set_name(name);
    records.record.set_state(state);
    records.run.set_generation(generation);
    return jobs_.Add(
        std::make_unique<Job>(Job::Context{&members_, journal_.get()}, std::move(records)));
  }

  std::vector<uint64_t> Open() {
    std::vector<uint64_t> ids;
    for (const auto& [id, job] : jobs_.open()) {
      EXPECT_EQ(job, jobs_.Find(id));
      ids.push_back(id);
    }
    return ids;
  }

  uint64_t Find(const std::string& reference) {
    const absl::StatusOr<Job*> job = jobs_.Lookup(reference);
    return job.ok() ? (*job)->id() : 0;
  }

  Membership members_{MembershipOptions()};
  std::unique_ptr<storage::Journal> journal_;
  JobTable jobs_;
};

TEST_F(JobTableTest, OpenJobsAreThoseThatAreNotOver) {
  Add(1, "a", proto::FINISHED);
  Job* const running = Add(2, "b", proto::RUNNING);
  Add(4, "d", proto::UPLOADING);
  Add(3, "c", proto::QUEUED);
  Add(5, "e", proto::CANCELLED);
  EXPECT_THAT(Open(), ElementsAre(2, 3, 4));

  Outbox outbox;
  running->Cancel({}, &outbox);
  EXPECT_THAT(Open(), ElementsAre(3, 4));
  ASSERT_TRUE(running->Reopen({}, &outbox).ok());
  jobs_.Reopened(running);
  EXPECT_THAT(Open(), ElementsAre(2, 3, 4));

  jobs_.Delete(3);
  EXPECT_THAT(Open(), ElementsAre(2, 4));
  EXPECT_EQ(jobs_.Find(3), nullptr);
  EXPECT_EQ(jobs_.all().size(), 4);
}

TEST_F(JobTableTest, OfSeveralJobsOfANameTheNewestThatWasNotRefusedIsMeant) {
  Add(1, "mnist", proto::FINISHED);
  Add(2, "mnist", proto::QUEUED);
  Add(3, "mnist", proto::FAILED, /*generation=*/0);
  Add(4, "other", proto::FAILED, /*generation=*/0);
  EXPECT_EQ(Find("mnist"), 2);
  EXPECT_EQ(jobs_.NewestOfName("mnist")->id(), 2);
  EXPECT_EQ(Find("other"), 4);
  EXPECT_EQ(jobs_.NewestOfName("other"), nullptr) << "a new job may have its name";
  EXPECT_EQ(jobs_.NewestOfName("none"), nullptr);
  jobs_.Delete(2);
  EXPECT_EQ(Find("mnist"), 1);
  jobs_.Delete(1);
  EXPECT_EQ(Find("mnist"), 3);
  jobs_.Delete(3);
  EXPECT_EQ(Find("mnist"), 0);
}

TEST_F(JobTableTest, ANumberIsMeantBeforeAName) {
  Add(1, "2", proto::FINISHED);
  Add(2, "a", proto::FINISHED);
  Add(3, "7", proto::FINISHED);
  EXPECT_EQ(Find("2"), 2);
  EXPECT_EQ(Find("7"), 3) << "there is no job 7";
  EXPECT_EQ(Find(""), 0);
  EXPECT_THAT(std::string(jobs_.Lookup("b").status().message()),
              AllOf(HasSubstr("there is no job 'b'"), HasSubstr("3 (7)")));
}

TEST_F(JobTableTest, ANameOfSeveralJobsIsAmbiguous) {
  Job* const first = Add(1, "a", proto::FINISHED);
  EXPECT_TRUE(jobs_.CheckUnambiguous(*first, "a").ok());
  Job* const refused = Add(2, "a", proto::FAILED, /*generation=*/0);
  EXPECT_TRUE(jobs_.CheckUnambiguous(*first, "a").ok()) << "the other one was refused";
  EXPECT_FALSE(jobs_.CheckUnambiguous(*refused, "a").ok());
  Job* const third = Add(3, "a", proto::FINISHED);
  EXPECT_TRUE(jobs_.CheckUnambiguous(*third, "3").ok());
  const absl::Status status = jobs_.CheckUnambiguous(*third, "a");
  EXPECT_TRUE(absl::IsFailedPrecondition(status));
  EXPECT_EQ(status.message(), "jobs 1 and 3 have the name 'a'; say which by its number");
  // Another way to write a number.
  Add(4, "03", proto::FAILED, /*generation=*/0);
  Add(5, "03", proto::FAILED, /*generation=*/0);
  EXPECT_EQ(Find("03"), 3);
  EXPECT_TRUE(jobs_.CheckUnambiguous(*third, "03").ok());
}

}  // namespace
}  // namespace cairn::coordinator
