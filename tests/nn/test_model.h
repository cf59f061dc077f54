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
  // The names of the inputs. Empty: the layer before it (none for an InputLayer).
  std::vector<std::string> inputs = {};
  // As in proto::LayerSpec.
  std::string shares = "";
  bool inference_only = false;
};

// Builds a ModelSpec from layers. Its inputs are the InputLayers in order; its output is the last
// layer unless `outputs` names others. Checks the JSON only; Model::Create checks the model.
proto::ModelSpec SpecOf(const std::vector<TestLayer>& layers,
                        const std::vector<std::string>& outputs = {});

// Creates the model. Aborts the test program if the model is invalid.
std::unique_ptr<Model> ModelOf(const std::vector<TestLayer>& layers,
                               const std::vector<std::string>& outputs = {});

}  // namespace cairn::nn::testing

#endif  // CAIRN_TESTS_NN_TEST_MODEL_H_
