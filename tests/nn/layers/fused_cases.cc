// Layers that a device may fuse, and the same layers where it must not.

#include "tests/nn/layers/conformance_cases.h"

namespace cairn::nn::testing {
namespace {

using Case = ConformanceCase;

// `layers` between two Dense layers; like Between, for several layers.
Case Chain(const std::string& name, const std::string& shape,
           const std::vector<TestLayer>& layers) {
  Case result = Between(name, shape, layers[0]);
  result.layers.insert(result.layers.begin() + 3, layers.begin() + 1, layers.end());
  return result;
}

const TestLayer kNormalization = {"norm", "BatchNormalization"};
const TestLayer kRelu = {"relu", "Activation", R"({"activation": "relu"})"};

std::vector<Case> NormalizedCases() {
  return {
      Chain("NormalizationAndRelu", "5, 3, 2", {kNormalization, kRelu}),
      Chain("NormalizationAndRelu6", "5, 3, 2",
            {kNormalization, {"relu", "ReLU", R"({"max_value": 0.7})"}}),
      Chain("NormalizationAndLeakyRelu", "5, 3, 2",
            {kNormalization, {"relu", "ReLU", R"({"negative_slope": 0.1})"}}),
      Chain("FrozenNormalizationAndRelu", "5, 3, 2",
            {{"norm", "BatchNormalization", R"({"trainable": false})"}, kRelu}),
      Chain("NormalizationWithoutScaleAndRelu", "5, 3, 2",
            {{"norm", "BatchNormalization", R"({"scale": false, "center": false})"}, kRelu}),
      {"NormalizationThatAnotherLayerSees",
       {{"input", "InputLayer", R"({"batch_shape": [null, 6]})"},
        {"before", "Dense", R"({"units": 4})"},
        kNormalization,
        kRelu,
        {"sum", "Add", "{}", {"norm", "relu"}},
        {"after", "Dense", R"({"units": 3})"}}},
  };
}

std::vector<Case> PaddedCases() {
  const auto padded = [](const std::string& name, const std::string& padding,
                         const std::string& class_name, const std::string& config) {
    return Chain(name, "6, 5, 2",
                 {{"pad", "ZeroPadding2D", R"({"padding": )" + padding + "}"},
                  {"conv", class_name, "{" + config + "}"}});
  };
  return {
      padded("PaddingAndConvolution", "[[0, 1], [2, 1]]", "Conv2D",
             R"("filters": 5, "kernel_size": 3, "strides": 2, "activation": "relu")"),
      padded("PaddingAndSameConvolution", "1", "Conv2D",
             R"("filters": 5, "kernel_size": 3, "padding": "same")"),
      padded("PaddingAndDepthwise", "[[0, 1], [0, 1]]", "DepthwiseConv2D",
             R"("kernel_size": 3, "strides": 2, "use_bias": false)"),
      {"PaddingOfTheInput",
       {{"input", "InputLayer", R"({"batch_shape": [null, 6, 5, 3]})"},
        {"pad", "ZeroPadding2D", R"({"padding": 2})"},
        {"conv", "Conv2D", R"({"filters": 16, "kernel_size": 5, "strides": 2})"},
        {"after", "Dense", R"({"units": 3})"}}},
  };
}

std::vector<Case> ResidualCases() {
  const auto residual = [](const std::string& name, const TestLayer& relu) {
    return Case{name,
                {{"input", "InputLayer", R"({"batch_shape": [null, 6]})"},
                 {"stem", "Dense", R"({"units": 4})"},
                 {"left", "Dense", R"({"units": 4})"},
                 {"sum", "Add", "{}", {"stem", "left"}},
                 relu,
                 {"after", "Dense", R"({"units": 3})"}}};
  };
  return {
      residual("AddAndRelu", kRelu),
      residual("AddAndReluLayer", {"relu", "ReLU"}),
      residual("AddAndRelu6", {"relu", "Activation", R"({"activation": "relu6"})"}),
      residual("AddAndTanh", {"relu", "Activation", R"({"activation": "tanh"})"}),
  };
}

}  // namespace

std::vector<Case> FusedCases() {
  std::vector<Case> all;
  for (const auto& cases : {NormalizedCases(), PaddedCases(), ResidualCases()}) {
    all.insert(all.end(), cases.begin(), cases.end());
  }
  return all;
}

}  // namespace cairn::nn::testing
