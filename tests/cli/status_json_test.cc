#include "cli/status_json.h"

#include <limits>

#include "gtest/gtest.h"
#include "job/report_keys.h"

namespace cairn::cli {
namespace {

TEST(StatusJsonTest, NumbersReadBackToTheSameBits) {
  for (double value :
       {1.0 / 3, 0.1 + 0.2, 1e-310, 123456789.123456789, static_cast<double>(0.1f)}) {
    EXPECT_EQ(nlohmann::json::parse(NumberJson(value).dump()).get<double>(), value);
  }
  EXPECT_EQ(NumberJson(std::numeric_limits<double>::quiet_NaN()).dump(), "null");
  EXPECT_EQ(NumberJson(std::numeric_limits<double>::infinity()).dump(), "null");
}

TEST(StatusJsonTest, StatesAreInWords) {
  EXPECT_EQ(StateName(proto::FINISHED), "finished");
  EXPECT_EQ(StateName(proto::RESTORING), "restoring");
  EXPECT_TRUE(HasEnded(proto::CANCELLED));
  EXPECT_FALSE(HasEnded(proto::RUNNING));
}

TEST(StatusJsonTest, StatusHasProgressFaultsAndMetricsByName) {
  proto::JobStatus status;
  status.set_job_id(3);
  status.set_name("mnist");
  status.set_state(proto::RUNNING);
  status.set_loss(0.5);
  auto* metric = status.add_metrics();
  metric->set_name("accuracy");
  metric->set_value(0.75);
  status.set_rollbacks(2);
  status.set_duplicates_refused(7);
  status.set_workers_lost(4);
  status.set_workers_joined(6);
  status.add_notes()->set_unix_seconds(1785208329);
  status.mutable_notes(0)->set_text("worker 0 is gone");
  const auto json = StatusJson(status);
  EXPECT_EQ(json["job"], 3);
  EXPECT_EQ(json["state"], "running");
  EXPECT_EQ(json["loss"], 0.5);
  EXPECT_EQ(json["accuracy"], 0.75);
  EXPECT_EQ(json["rollbacks"], 2);
  EXPECT_EQ(json["duplicates_refused"], 7);
  EXPECT_EQ(json["workers_lost"], 4);
  EXPECT_EQ(json["workers_joined"], 6);
  EXPECT_EQ(json["notes"].dump(), R"([{"unix_seconds":1785208329,"note":"worker 0 is gone"}])");
  EXPECT_FALSE(json.contains("error"));
}

TEST(StatusJsonTest, ALossThatWasNotFiniteHasItsBatchCountedFromZero) {
  proto::JobStatus status;
  EXPECT_FALSE(StatusJson(status).contains("nonfinite_loss"));
  EXPECT_FALSE(StatusJson(status).contains("nonfinite_validation"));
  status.mutable_nonfinite_loss()->set_epoch(2);
  status.mutable_nonfinite_loss()->set_batch(4);
  status.mutable_nonfinite_loss()->set_loss(-std::numeric_limits<double>::quiet_NaN());
  status.mutable_nonfinite_validation()->set_epoch(3);
  status.mutable_nonfinite_validation()->set_loss(std::numeric_limits<double>::infinity());
  status.mutable_nonfinite_validation()->set_data_not_finite(true);
  const auto json = StatusJson(status);
  EXPECT_EQ(json["nonfinite_loss"].dump(), R"({"epoch":2,"batch":4,"loss":"nan"})");
  EXPECT_EQ(json["nonfinite_validation"].dump(),
            R"({"epoch":3,"loss":"inf","data_not_finite":true})");
}

TEST(StatusJsonTest, NoMetricMayHaveTheNameOfAnotherKey) {
  proto::JobStatus status;
  status.set_state(proto::QUEUED);
  for (const auto& set :
       {&proto::JobStatus::set_error<const char*>, &proto::JobStatus::set_waiting_for<const char*>,
        &proto::JobStatus::set_checkpoint_error<const char*>,
        &proto::JobStatus::set_copy_error<const char*>,
        &proto::JobStatus::set_warning<const char*>}) {
    (status.*set)("something");
  }
  status.set_learning_rate(0.1);
  status.mutable_nonfinite_loss();
  status.mutable_nonfinite_validation();
  for (const auto& json : {StatusJson(status), EvaluationJson({}, {})}) {
    for (const auto& [key, value] : json.items()) EXPECT_TRUE(job::IsReportKey(key)) << key;
  }
}

TEST(StatusJsonTest, WhatIsNotKnownOfATaskThatIsAwayIsNull) {
  proto::Member member;
  member.set_role(proto::WORKER);
  member.set_live(true);
  member.set_incarnation(1);
  member.set_lease_age_seconds(2.5);
  member.set_memory_bytes(7);
  member.set_examples_per_second(9);
  member.set_messages_refused(4);
  const auto live = MemberJson(member, /*term=*/1);
  EXPECT_EQ(live["state"], "live");
  EXPECT_EQ(live["lease_age_seconds"], 2.5);
  EXPECT_EQ(live["memory_bytes"], 7);
  EXPECT_EQ(live["examples_per_second"], 9);
  EXPECT_EQ(live["messages_refused"], 4);
  member.set_live(false);
  const auto away = MemberJson(member, /*term=*/1);
  EXPECT_EQ(away["state"], "away");
  EXPECT_EQ(away["lease_age_seconds"], 2.5);
  for (const char* key :
       {"memory_bytes", "requests_per_second", "batches_per_second", "examples_per_second"}) {
    EXPECT_TRUE(away[key].is_null()) << key;
  }
  member.set_incarnation(0);
  EXPECT_EQ(MemberJson(member, /*term=*/1)["state"], "not yet");
  EXPECT_EQ(MemberJson(member, /*term=*/2)["state"], "away") << "an earlier start may know it";
  EXPECT_TRUE(MemberJson(member, /*term=*/2)["lease_age_seconds"].is_null());
}

TEST(StatusJsonTest, EvaluationIsMarkedAsOne) {
  proto::EvaluationRecord evaluation;
  evaluation.set_epoch(1);
  evaluation.set_examples(10000);
  evaluation.set_loss(0.25);
  evaluation.add_metrics(0.875);
  google::protobuf::RepeatedPtrField<std::string> names;
  *names.Add() = "accuracy";
  EXPECT_EQ(EvaluationJson(evaluation, names).dump(),
            R"({"epoch":1,"evaluation":true,"loss":0.25,"accuracy":0.875,"examples":10000})");
}

TEST(StatusJsonTest, CheckpointSumsItsParts) {
  proto::Manifest manifest;
  manifest.set_checkpoint(5);
  manifest.set_reason("epoch");
  manifest.add_parts()->set_bytes(10);
  manifest.add_parts()->set_bytes(32);
  const auto json = CheckpointJson(manifest);
  EXPECT_EQ(json["checkpoint"], 5);
  EXPECT_EQ(json["bytes"], 42);
}

}  // namespace
}  // namespace cairn::cli
