#ifndef CAIRN_TESTS_NN_LAYERS_TEST_BATCH_H_
#define CAIRN_TESTS_NN_LAYERS_TEST_BATCH_H_

#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

#include "common/random.h"
#include "nn/executor.h"

namespace cairn::nn::testing {

// A batch of random numbers, with one weight for each example. Ids and class labels are 0 to 2.
struct TestBatch {
  TestBatch(const Model& model, const Objective& objective, int64_t size) {
    for (const Model::Input& input : model.inputs()) {
      Append(size * ElementCount(input.spec.shape), input.spec.type == proto::INT32);
      batch.inputs.push_back(arrays.back().data());
    }
    for (size_t i = 0; i < objective.losses().size(); ++i) {
      const Loss& loss = *objective.losses()[i].loss;
      Append(size * loss.LabelCount(model.outputs()[i].shape), loss.label_type() == proto::INT32);
      batch.labels.push_back(arrays.back().data());
    }
    Append(size, /*whole=*/false);
    batch.weights = arrays.back().data();
    batch.size = size;
  }

  void Append(int64_t count, bool whole) {
    std::vector<float> values;
    for (int64_t i = 0; i < count; ++i) {
      const float value = RandomUniform(arrays.size(), i);
      values.push_back(whole ? std::bit_cast<float>(static_cast<int32_t>(3 * value)) : value);
    }
    arrays.push_back(std::move(values));
  }

  std::vector<std::vector<float>> arrays;
  Executor::Batch batch;
};

}  // namespace cairn::nn::testing

#endif  // CAIRN_TESTS_NN_LAYERS_TEST_BATCH_H_
