// Dense layers, activations, normalization, and connections of layers.

#include "tests/nn/layers/conformance_cases.h"

namespace cairn::nn::testing {
namespace {

using Case = ConformanceCase;

std::vector<Case> EinsumCases() {
  return {
      Between("EinsumDense", "5",
              {"layer", "EinsumDense",
               R"({"equation": "ab,bc->ac", "output_shape": 3, "bias_axes": "c",
                   "activation": "relu"})"}),
      Between("EinsumDenseOfSteps", "3, 5",
              {"layer", "EinsumDense",
               R"({"equation": "abc,cde->abed", "output_shape": [null, 2, 5], "bias_axes": "e",
                   "activation": "gelu"})"}),
      Between("EinsumDenseAcrossSteps", "3, 5",
              {"layer", "EinsumDense",
               R"({"equation": "abc,bcd->ad", "output_shape": [6], "activation": "softmax"})"}),
      Between("EinsumDenseSharedAxis", "3, 5",
              {"layer", "EinsumDense",
               R"({"equation": "abc,bcd->adb", "output_shape": [2, 3], "bias_axes": "db"})"}),
      Between("EinsumDenseOfEachStep", "3, 5",
              {"layer", "EinsumDense",
               R"({"equation": "abc,bcd->abd", "output_shape": [3, 2], "bias_axes": "bd",
                   "activation": "softmax"})"}),
      Between("EinsumDenseLeftEllipsis", "2, 3, 5",
              {"layer", "EinsumDense",
               R"({"equation": "...c,cd->...d", "output_shape": [6], "bias_axes": "d"})"}),
      Between("EinsumDenseRightEllipsis", "2, 3, 5",
              {"layer", "EinsumDense",
               R"({"equation": "ab...,bc->ac...", "output_shape": 4, "bias_axes": "c",
                   "activation": "tanh", "kernel_regularizer": "l2"})"}),
  };
}

std::vector<Case> DenseCases() {
  std::vector<Case> cases = {
      Between("DenseOfOneUnit", "5", {"layer", "Dense", R"({"units": 1})"}),
      Between("DenseWithoutBias", "5", {"layer", "Dense", R"({"units": 7, "use_bias": false})"}),
      Between("DenseOverAxes", "2, 3, 5", {"layer", "Dense", R"({"units": 6})"}),
      Between("DenseRegularized", "5",
              {"layer", "Dense",
               R"({"units": 6, "kernel_regularizer": {"class_name": "L1L2", "config":
                   {"l1": 0.02, "l2": 0.03}}, "bias_regularizer": "l2"})"}),
      Between("DenseLarge", "40", {"layer", "Dense", R"({"units": 90, "activation": "relu"})"}),
      Between("Frozen", "5", {"layer", "Dense", R"({"units": 6, "trainable": false})"}),
  };
  cases.back().layers[1].config = R"({"units": 4, "trainable": false})";
  for (const char* activation : {"linear",
                                 "relu",
                                 "relu6",
                                 "leaky_relu",
                                 "sigmoid",
                                 "hard_sigmoid",
                                 "hard_sigmoid_keras2",
                                 "tanh",
                                 "softmax",
                                 "softplus",
                                 "softsign",
                                 "elu",
                                 "selu",
                                 "gelu",
                                 "swish",
                                 "silu",
                                 "exponential",
                                 "celu",
                                 "hard_silu",
                                 "hard_tanh",
                                 "hard_shrink",
                                 "soft_shrink",
                                 "log_sigmoid",
                                 "log_softmax",
                                 "mish",
                                 "sparse_plus",
                                 "sparse_sigmoid",
                                 "squareplus",
                                 "tanh_shrink",
                                 "erf",
                                 "floor"}) {
    cases.push_back(Between(
        std::string("DenseActivation_") + activation, "5",
        {"layer", "Dense", R"({"units": 6, "activation": ")" + std::string(activation) + R"("})"}));
    cases.push_back(Between(
        std::string("Activation_") + activation, "2, 5",
        {"layer", "Activation", R"({"activation": ")" + std::string(activation) + R"("})"}));
  }
  return cases;
}

// Keras's operations, of positive numbers.
std::vector<Case> OperationCases() {
  std::vector<Case> cases;
  for (const char* operation :
       {"Cos", "Erf", "Floor", "Log", "Reciprocal", "Sign", "Sin", "Sqrt"}) {
    cases.push_back({std::string("Operation") + operation,
                     {{"input", "InputLayer", R"({"batch_shape": [null, 2, 5]})"},
                      {"before", "Dense", R"({"units": 4, "activation": "softplus"})"},
                      {"layer", operation},
                      {"after", "Dense", R"({"units": 3})"}}});
  }
  return cases;
}

std::vector<Case> ShapeCases() {
  return {
      Between("Flatten", "2, 3, 2", {"layer", "Flatten"}),
      Between("Reshape", "2, 3", {"layer", "Reshape", R"({"target_shape": [2, -1]})"}),
      Between("Dropout", "6", {"layer", "Dropout", R"({"rate": 0.4})"}),
      Between("DropoutOfNothing", "6", {"layer", "Dropout", R"({"rate": 0})"}),
      Between("ReLU", "6",
              {"layer", "ReLU", R"({"max_value": 0.5, "negative_slope": 0.1, "threshold": 0.2})"}),
      Between("LeakyReLU", "6", {"layer", "LeakyReLU"}),
      Between("LeakyReLUOfKeras2", "6", {"layer", "LeakyReLU", R"({"alpha": 0.1})"}),
      Between("ELU", "6", {"layer", "ELU", R"({"alpha": 0.7})"}),
      Between("Softmax", "2, 3", {"layer", "Softmax"}),
      Between("BatchNormalization", "6", {"layer", "BatchNormalization"}),
      Between("BatchNormalizationOfImages", "3, 4, 2",
              {"layer", "BatchNormalization", R"({"epsilon": 0.01, "momentum": 0.9})"}),
      Between("BatchNormalizationBare", "6",
              {"layer", "BatchNormalization", R"({"center": false, "scale": false})"}),
      Between("BatchNormalizationWithoutScale", "6",
              {"layer", "BatchNormalization", R"({"scale": false, "axis": [1]})"}),
      Between("BatchNormalizationFrozen", "6",
              {"layer", "BatchNormalization", R"({"trainable": false})"}),
  };
}

const TestLayer kVectorInput = {"input", "InputLayer", R"({"batch_shape": [null, 5]})"};
const TestLayer kIdInput = {"ids", "InputLayer", R"({"batch_shape": [null, 3], "dtype": "int32"})"};

std::vector<Case> GraphCases() {
  return {
      {"Embedding",
       {kIdInput,
        {"table", "Embedding", R"({"input_dim": 4, "output_dim": 5})"},
        {"after", "Dense", R"({"units": 2})"}}},
      {"EmbeddingOfFlattenedIds",
       {{"ids", "InputLayer", R"({"batch_shape": [null, 2, 2], "dtype": "int32"})"},
        {"flat", "Flatten"},
        {"table", "Embedding", R"({"input_dim": 4, "output_dim": 1})"}}},
      {"TwoInputs",
       {kIdInput,
        {"table", "Embedding", R"({"input_dim": 4, "output_dim": 5})"},
        {"flat", "Flatten"},
        kVectorInput,
        {"wide", "Dense", R"({"units": 3})"},
        {"join", "Concatenate", "{}", {"flat", "wide"}},
        {"after", "Dense", R"({"units": 2})"}}},
      {"ConcatenateAlongRows",
       {{"input", "InputLayer", R"({"batch_shape": [null, 2, 5]})"},
        {"left", "Dense", R"({"units": 3})", {"input"}},
        {"right", "Dense", R"({"units": 3})", {"input"}},
        {"join", "Concatenate", R"({"axis": 1})", {"left", "right"}},
        {"after", "Dense", R"({"units": 2})"}}},
      {"Residual",
       {kVectorInput,
        {"stem", "Dense", R"({"units": 4})"},
        {"branch", "Dense", R"({"units": 4, "activation": "tanh"})", {"stem"}},
        {"sum", "Add", "{}", {"stem", "branch"}},
        {"after", "Dense", R"({"units": 2})"}}},
      {"SumOfOneThreeTimes",
       {kVectorInput,
        {"stem", "Dense", R"({"units": 4})"},
        {"sum", "Add", "{}", {"stem", "stem", "stem"}},
        {"after", "Dense", R"({"units": 2})"}}},
      {"ViewWithTwoTakers",
       {{"input", "InputLayer", R"({"batch_shape": [null, 2, 3]})"},
        {"stem", "Dense", R"({"units": 4})"},
        {"flat", "Flatten", "{}", {"stem"}},
        {"shape", "Reshape", R"({"target_shape": [8]})", {"stem"}},
        {"left", "Activation", R"({"activation": "sigmoid"})", {"flat"}},
        {"right", "Activation", R"({"activation": "tanh"})", {"shape"}},
        {"sum", "Add", "{}", {"left", "right"}},
        {"after", "Dense", R"({"units": 2})"}}},
      {"EndsInAView",
       {kVectorInput,
        {"stem", "Dense", R"({"units": 4})"},
        {"shape", "Reshape", R"({"target_shape": [2, 2]})"}}},
      {"FrozenBelowTrained",
       {kVectorInput,
        {"base", "Dense", R"({"units": 4, "trainable": false, "kernel_regularizer": "l2"})"},
        {"head", "Dense", R"({"units": 2})"}}},
  };
}

}  // namespace

Case Between(const std::string& name, const std::string& shape, const TestLayer& layer) {
  return {name,
          {{"input", "InputLayer", R"({"batch_shape": [null, )" + shape + "]}"},
           {"before", "Dense", R"({"units": 4, "activation": "tanh"})"},
           layer,
           {"after", "Dense", R"({"units": 3})"}}};
}

std::vector<Case> BasicCases() {
  std::vector<Case> all;
  for (const auto& cases :
       {DenseCases(), EinsumCases(), OperationCases(), ShapeCases(), GraphCases()}) {
    all.insert(all.end(), cases.begin(), cases.end());
  }
  return all;
}

std::vector<Case> AllConformanceCases() {
  std::vector<Case> all;
  for (const auto& cases :
       {BasicCases(), WindowCases(), ElementCases(), FusedCases(), SequenceCases()}) {
    all.insert(all.end(), cases.begin(), cases.end());
  }
  return all;
}

}  // namespace cairn::nn::testing
