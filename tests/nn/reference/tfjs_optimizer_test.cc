#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "google/protobuf/text_format.h"
#include "nn/optimizer.h"
#include "proto/job.pb.h"

namespace cairn::nn {
namespace {

// As in optimizers.mjs, which wrote the reference.
constexpr int64_t kElements = 12;
float Start(int64_t i) { return static_cast<float>(i - 5) / 4; }
float Gradient(int64_t t, int64_t i) { return static_cast<float>((t * 7 + i * 13) % 29 - 14) / 8; }

// One optimizer applied to the reference's variable.
class OneVariable {
 public:
  explicit OneVariable(const std::string& config_text) {
    proto::Optimizer config;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(config_text, &config));
    optimizer_ = CreateOptimizer(config).value();
    for (int64_t i = 0; i < kElements; ++i) values_.push_back(Start(i));
    for (int slot = 0; slot < optimizer_->slot_count(); ++slot) {
      slots_.emplace_back(kElements, optimizer_->initial_slot_value(slot));
    }
  }

  const std::vector<float>& TrainTo(int64_t updates) {
    for (; updates_ < updates; ++updates_) Update();
    return values_;
  }

 private:
  void Update() {
    std::vector<float> gradient;
    for (int64_t i = 0; i < kElements; ++i) gradient.push_back(Gradient(updates_, i));
    OptimizerRule::Chunk chunk = {.count = kElements,
                                  .gradient = gradient.data(),
                                  .values_in = values_.data(),
                                  .values_out = values_.data()};
    for (size_t slot = 0; slot < slots_.size(); ++slot) {
      chunk.slots_in[slot] = chunk.slots_out[slot] = slots_[slot].data();
    }
    optimizer_->Apply(chunk, updates_, optimizer_->learning_rate(updates_));
  }

  std::unique_ptr<Optimizer> optimizer_;
  std::vector<float> values_;
  std::vector<std::vector<float>> slots_;
  int64_t updates_ = 0;
};

TEST(TfjsOptimizerTest, HundredsOfUpdatesAreThoseOfTensorFlowJs) {
  std::ifstream file("tests/nn/reference/optimizers.txt");
  ASSERT_TRUE(file.is_open());
  std::unique_ptr<OneVariable> run;
  std::string line, config;
  int compared = 0;
  while (std::getline(file, line)) {
    std::istringstream words(line);
    if (line.starts_with("optimizer ")) {
      config = line.substr(10);
      run = std::make_unique<OneVariable>(config);
      continue;
    }
    int64_t updates = 0;
    words >> updates;
    const std::vector<float>& values = run->TrainTo(updates);
    for (int64_t i = 0; i < kElements; ++i) {
      double expected = std::nan("");
      words >> expected;
      EXPECT_NEAR(values[i], expected, 1e-5 + 1e-5 * std::fabs(expected))
          << config << " after " << updates << " updates, element " << i;
      ++compared;
    }
  }
  EXPECT_GE(compared, 11 * 5 * kElements);
}

}  // namespace
}  // namespace cairn::nn
