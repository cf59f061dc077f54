#include "cli/model/cluster_inference.h"

#include <grpcpp/grpcpp.h>

#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "job/job_objective.h"
#include "proto/coordinator.grpc.pb.h"
#include "tests/cli/example_job.h"

namespace cairn::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Rows [first, first + examples) with one output of the row's number in each of `width` columns.
proto::InferredBatch Batch(int64_t batch, int64_t first, int64_t examples, int64_t width) {
  proto::InferredBatch result;
  result.set_batch(batch);
  result.set_examples(examples);
  std::string* bytes = result.add_outputs();
  for (int64_t i = 0; i < examples * width; ++i) {
    const auto value = static_cast<float>(first + i / width);
    bytes->append(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  return result;
}

class InferenceResultsTest : public ::testing::Test {
 protected:
  InferenceResultsTest() : outputs_(model_->outputs().size()) {}

  static proto::InferenceChunk Chunk(const proto::InferredBatch& batch, int64_t examples = 5) {
    proto::InferenceChunk chunk;
    chunk.set_examples(examples);
    *chunk.add_batches() = batch;
    return chunk;
  }
  int64_t width() const {
    int64_t width = 1;
    for (const int64_t dimension : model_->outputs()[0].shape) width *= dimension;
    return width;
  }

  std::unique_ptr<nn::Model> model_ = *nn::Model::Create(ExamplePlan().model());
  std::vector<std::vector<float>> outputs_;
  InferenceResults results_{model_.get(), nullptr, &outputs_};
};

TEST_F(InferenceResultsTest, BatchesAreAppended) {
  ASSERT_TRUE(results_.Add(Chunk(Batch(0, 0, 3, width()))).ok());
  EXPECT_FALSE(results_.complete());
  ASSERT_TRUE(results_.Add(proto::InferenceChunk()).ok()) << "it only says what it waits for";
  ASSERT_TRUE(results_.Add(Chunk(Batch(1, 3, 2, width()))).ok());
  EXPECT_TRUE(results_.complete());
  ASSERT_EQ(outputs_[0].size(), static_cast<size_t>(5 * width()));
  for (size_t i = 0; i < outputs_[0].size(); ++i) {
    EXPECT_EQ(outputs_[0][i], static_cast<float>(i / static_cast<size_t>(width())));
  }
}

TEST_F(InferenceResultsTest, WhatDoesNotFitIsRefused) {
  ASSERT_TRUE(results_.Add(Chunk(Batch(0, 0, 3, width()))).ok());
  proto::InferredBatch two_outputs = Batch(1, 3, 2, width());
  two_outputs.add_outputs("");
  for (const proto::InferenceChunk& chunk :
       {Chunk(Batch(0, 0, 3, width())), Chunk(Batch(2, 3, 2, width())),
        Chunk(Batch(1, 3, 3, width())), Chunk(Batch(1, 3, 0, width())),
        Chunk(Batch(1, 3, 2, width() + 1)), Chunk(two_outputs),
        Chunk(Batch(1, 3, 2, width()), /*examples=*/6)}) {
    EXPECT_TRUE(absl::IsDataLoss(results_.Add(chunk))) << chunk.ShortDebugString();
  }
  EXPECT_EQ(results_.next_batch(), 1);
}

constexpr uint64_t kFingerprint = 77;

// A coordinator whose calls break after each chunk.
class BreakingCoordinator final : public proto::Coordinator::Service {
 public:
  BreakingCoordinator() {
    int port = 0;
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
    address_ = "127.0.0.1:" + std::to_string(port);
  }
  ~BreakingCoordinator() override { server_->Shutdown(); }

  grpc::Status Infer(grpc::ServerContext*, const proto::InferenceRequest* request,
                     grpc::ServerWriter<proto::InferenceChunk>* writer) override {
    request_ = *request;
    first_batches_.push_back(request->first_batch());
    if (!error_.empty()) return {grpc::StatusCode::INVALID_ARGUMENT, error_};
    if (std::exchange(is_full_, false)) return {grpc::StatusCode::RESOURCE_EXHAUSTED, "full"};
    proto::InferenceChunk chunk;
    chunk.set_examples(3);
    chunk.set_waiting_for(request->first_batch() == 1 ? "" : "for workers");
    chunk.add_notes(absl::StrCat("note ", request->first_batch()));
    chunk.set_data_fingerprint(kFingerprint);
    fingerprints_.push_back(request->data_fingerprint());
    if (request->first_batch() < 3) {
      *chunk.add_batches() = Batch(request->first_batch(), request->first_batch(), 1, width_);
    }
    writer->Write(chunk);
    clock_.Advance(before_break_);
    is_full_ = full_after_break_;
    if (request->first_batch() == 2) return grpc::Status::OK;
    return {grpc::StatusCode::UNAVAILABLE, "it is restarted"};
  }

  std::string address_;
  std::string error_;
  int64_t width_ = 1;
  SimulatedClock clock_;
  absl::Duration before_break_;  // How long each call lasts.
  bool full_after_break_ = false;
  bool is_full_ = false;  // The next call is refused.
  proto::InferenceRequest request_;
  std::vector<int64_t> first_batches_;
  std::vector<uint64_t> fingerprints_;

 private:
  std::unique_ptr<grpc::Server> server_;
};

class RunOnClusterTest : public ::testing::Test {
 protected:
  RunOnClusterTest() {
    trained_.plan = ExamplePlan();
    trained_.plan.mutable_job()->mutable_loss()->set_name("mse");
    trained_.checkpoint = ExampleManifest();
    const auto model = *nn::Model::Create(trained_.plan.model());
    for (const int64_t dimension : model->outputs()[0].shape) coordinator_.width_ *= dimension;
  }

  BreakingCoordinator coordinator_;
  CoordinatorApi api_{coordinator_.address_, absl::Seconds(5)};
  std::ostringstream err_;
  ClusterInferenceOptions options_{&api_, "--data", &err_};
  TrainedModel trained_;
};

TEST_F(RunOnClusterTest, ACallThatBreaksIsRepeatedForTheMissingBatches) {
  std::vector<std::vector<float>> outputs;
  const auto result = RunOnCluster(trained_, options_, &outputs);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_THAT(coordinator_.first_batches_, ElementsAre(0, 1, 2));
  ASSERT_EQ(result->outputs_size(), 1);
  EXPECT_EQ(result->outputs(0).shape(0), 3);
  ASSERT_EQ(outputs[0].size(), static_cast<size_t>(3 * coordinator_.width_));
  EXPECT_EQ(outputs[0].back(), 2);
  EXPECT_EQ(err_.str(), "note 0\nwaiting for workers\nnote 1\nnote 2\n");
  EXPECT_THAT(coordinator_.fingerprints_, ElementsAre(0, kFingerprint, kFingerprint));
  EXPECT_TRUE(coordinator_.request_.checkpoint().has_partition());
  EXPECT_TRUE(coordinator_.request_.outputs());
  EXPECT_EQ(coordinator_.request_.data_name(), "--data");
}

TEST_F(RunOnClusterTest, TheTimeBeforeACallBreaksDoesNotCount) {
  options_.clock = &coordinator_.clock_;
  coordinator_.before_break_ = absl::Minutes(10);
  std::vector<std::vector<float>> outputs;
  const auto result = RunOnCluster(trained_, options_, &outputs);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_THAT(coordinator_.first_batches_, ElementsAre(0, 1, 2));
}

TEST_F(RunOnClusterTest, ResultsAreNotLostIfTheQueueIsFullLater) {
  coordinator_.full_after_break_ = true;
  std::vector<std::vector<float>> outputs;
  const auto result = RunOnCluster(trained_, options_, &outputs);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_THAT(coordinator_.first_batches_, ElementsAre(0, 1, 1, 2, 2));
  // A first call that is refused is the user's to repeat.
  coordinator_.is_full_ = true;
  EXPECT_TRUE(absl::IsResourceExhausted(RunOnCluster(trained_, options_, &outputs).status()));
}

TEST_F(RunOnClusterTest, AnErrorOfTheWorkersIsTheResult) {
  coordinator_.error_ = "--input: no file x.npy";
  std::vector<std::vector<float>> outputs;
  EXPECT_EQ(RunOnCluster(trained_, options_, &outputs).status(),
            absl::InvalidArgumentError("--input: no file x.npy"));
}

TEST_F(RunOnClusterTest, OutputsInPlaceOfMetricsAreRefused) {
  EXPECT_THAT(std::string(RunOnCluster(trained_, options_, nullptr).status().message()),
              HasSubstr("does not have the job's metrics"));
}

}  // namespace
}  // namespace cairn::cli
