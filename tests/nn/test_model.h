#ifndef CAIRN_TESTS_NN_TEST_MODEL_H_
#define CAIRN_TESTS_NN_TEST_MODEL_H_

#include <memory>
#include <string>
#include <vector>

#include "nn/model.h"
#include "proto/model.pb.h"

namespace cairn::nn::testing {

// A layer as a test writes it: `config` is the JSON of Keras's arguments.
struct TestLayer {
  std::string name;
  std::string class_name;
  std::string config = "{}";
  // Empty: the layer before it (none for an InputLayer).
  std::vector<std::string> inputs = {};
  // As LayerSpec's.
  std::string shares = "";
  bool infers = false;
};

// The model of these layers; its inputs are its InputLayers in order, its output is the last layer
// unless `outputs` names others. Checks that the JSON is good; whether the model is, is for
// Model::Create.
proto::ModelSpec SpecOf(const std::vector<TestLayer>& layers,
                        const std::vector<std::string>& outputs = {});

// The same, created. Aborts the test program if it is refused.
std::unique_ptr<Model> ModelOf(const std::vector<TestLayer>& layers,
                               const std::vector<std::string>& outputs = {});

}  // namespace cairn::nn::testing

#endif  // CAIRN_TESTS_NN_TEST_MODEL_H_
