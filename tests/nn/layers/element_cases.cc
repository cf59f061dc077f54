// Merging layers, normalization, noise, and layers with ids.

#include "tests/nn/layers/conformance_cases.h"

namespace cairn::nn::testing {
namespace {

using Case = ConformanceCase;

// Two branches with a common input, merged by `layer`.
Case Merged(const std::string& name, const std::string& class_name,
            const std::string& config = "{}", const std::string& shape = "5",
            std::vector<std::string> inputs = {"left", "right"}) {
  return {name,
          {{"input", "InputLayer", R"({"batch_shape": [null, )" + shape + "]}"},
           {"left", "Dense", R"({"units": 4, "activation": "tanh"})", {"input"}},
           {"right", "Dense", R"({"units": 4})", {"input"}},
           {"narrow", "Dense", R"({"units": 1})", {"input"}},
           {"all", "Concatenate", "{}", {"left", "right", "narrow"}},
           {"rest", "Dense", R"({"units": 3})"},
           {"layer", class_name, config, std::move(inputs)},
           {"after", "Dense", R"({"units": 3})"},
           {"flat", "Flatten", "{}", {"after"}},
           {"others", "Flatten", "{}", {"rest"}},
           {"end", "Concatenate", "{}", {"flat", "others"}}}};
}

std::vector<Case> MergeCases() {
  return {
      Merged("Add", "Add"),
      Merged("AddOfThree", "Add", "{}", "5", {"left", "right", "left"}),
      Merged("Subtract", "Subtract"),
      Merged("Multiply", "Multiply"),
      Merged("MultiplyOfThree", "Multiply", "{}", "5", {"left", "right", "left"}),
      Merged("MultiplyBroadcast", "Multiply", "{}", "2, 5", {"left", "narrow"}),
      Merged("AddBroadcast", "Add", "{}", "2, 5", {"narrow", "left", "right"}),
      Merged("Average", "Average", "{}", "5", {"left", "right", "right"}),
      Merged("Maximum", "Maximum", "{}", "7", {"left", "right", "narrow"}),
      Merged("Minimum", "Minimum"),
      Merged("Dot", "Dot", R"({"axes": 1})"),
      Merged("DotNormalized", "Dot", R"({"axes": -1, "normalize": true})"),
      Merged("DotOfMatrices", "Dot", R"({"axes": [2, 2]})", "3, 5"),
      Merged("DotAcross", "Dot", R"({"axes": 1})", "3, 5", {"left", "narrow"}),
      Merged("DotAcrossNormalized", "Dot", R"({"axes": 1, "normalize": true})", "3, 5"),
  };
}

std::vector<Case> NormalizationCases() {
  return {
      Between("LayerNormalization", "6", {"layer", "LayerNormalization"}),
      Between("LayerNormalizationOfSteps", "3, 2",
              {"layer", "LayerNormalization", R"({"axis": [2], "epsilon": 1e-5})"}),
      Between("LayerNormalizationOfTwoAxes", "3, 2",
              {"layer", "LayerNormalization", R"({"axis": [1, 2]})"}),
      Between("LayerNormalizationBare", "6",
              {"layer", "LayerNormalization", R"({"center": false, "scale": false})"}),
      Between("LayerNormalizationWithoutScale", "6",
              {"layer", "LayerNormalization", R"({"scale": false})"}),
      Between("GroupNormalization", "6", {"layer", "GroupNormalization", R"({"groups": 2})"}),
      Between("GroupNormalizationOfImages", "2, 3, 6",
              {"layer", "GroupNormalization", R"({"groups": 2, "epsilon": 0.01})"}),
      Between("GroupNormalizationByChannel", "3, 6",
              {"layer", "GroupNormalization", R"({"groups": -1, "scale": false})"}),
      Between("GroupNormalizationBare", "3, 6",
              {"layer", "GroupNormalization", R"({"groups": 1, "center": false, "scale": false})"}),
      Between("RMSNormalization", "6", {"layer", "RMSNormalization"}),
      Between("RMSNormalizationOfTwoAxes", "3, 2",
              {"layer", "RMSNormalization", R"({"axis": [1, 2], "epsilon": 0.1})"}),
      Between("UnitNormalization", "3, 6", {"layer", "UnitNormalization"}),
      Between("UnitNormalizationOfSteps", "3, 6", {"layer", "UnitNormalization", R"({"axis": 1})"}),
      Between("UnitNormalizationOfImages", "2, 3, 6",
              {"layer", "UnitNormalization", R"({"axis": [2, 1]})"}),
      Between("BatchNormalizationOfKeras2", "6",
              {"layer", "BatchNormalization", R"({"renorm": false, "renorm_momentum": 0.9,
                "renorm_clipping": {}, "virtual_batch_size": null, "fused": true})"}),
      Between("Normalization", "6", {"layer", "Normalization"}),
      Between("NormalizationWithStatistics", "3, 6",
              {"layer", "Normalization",
               R"({"mean": [[0.1, 0.2, 0.3, 0.4]], "variance": [[1, 2, 0.5, 0.25]]})"}),
      Between("NormalizationOfAll", "3, 6",
              {"layer", "Normalization", R"({"mean": 0.25, "variance": 4})"}),
      Between("Rescaling", "6", {"layer", "Rescaling", R"({"scale": 2.5, "offset": 0.5})"}),
      Between("RescalingByChannel", "2, 6",
              {"layer", "Rescaling", R"({"scale": [1, 2, 3, 4], "offset": -1})"}),
      Between("PReLU", "2, 6", {"layer", "PReLU"}),
      Between("PReLUShared", "2, 3, 6", {"layer", "PReLU", R"({"shared_axes": [1, 2]})"}),
      Between("ReLUOfKeras2", "6", {"layer", "ReLU", R"({"max_value": 0.6})"}),
  };
}

std::vector<Case> NoiseAndShapeCases() {
  return {
      Between("SpatialDropout", "3, 2, 6", {"layer", "SpatialDropout2D", R"({"rate": 0.4})"}),
      Between("SpatialDropoutOfSteps", "3, 6", {"layer", "SpatialDropout1D", R"({"rate": 0.5})"}),
      Between("SpatialDropoutOfVolumes", "2, 2, 2, 6",
              {"layer", "SpatialDropout3D", R"({"rate": 0.5})"}),
      Between("AlphaDropout", "3, 6", {"layer", "AlphaDropout", R"({"rate": 0.3})"}),
      Between("GaussianNoise", "6", {"layer", "GaussianNoise", R"({"stddev": 0.3})"}),
      Between("GaussianDropout", "6", {"layer", "GaussianDropout", R"({"rate": 0.2})"}),
      Between("ActivityRegularization", "3, 6",
              {"layer", "ActivityRegularization", R"({"l1": 0.02, "l2": 0.3})"}),
      Between("ActivityRegularizer", "6",
              {"layer", "Dense", R"({"units": 3, "activation": "tanh", "kernel_regularizer": "l2",
                "activity_regularizer": {"class_name": "L1L2", "config": {"l1": 0.1, "l2": 0.2}}})"}),
      Between(
          "ActivityRegularizerOfAFrozenLayer", "6",
          {"layer", "Dense", R"({"units": 3, "trainable": false, "activity_regularizer": "l2"})"}),
      Between("Permute", "2, 3, 6", {"layer", "Permute", R"({"dims": [2, 3, 1]})"}),
      Between("PermuteLastKept", "2, 3, 6", {"layer", "Permute", R"({"dims": [2, 1, 3]})"}),
      Between("RepeatVector", "6", {"layer", "RepeatVector", R"({"n": 3})"}),
  };
}

const TestLayer kIds = {"ids", "InputLayer", R"({"batch_shape": [null, 5], "dtype": "int32"})"};

const TestLayer kTexts = {"texts", "InputLayer",
                          R"({"batch_shape": [null, 5], "dtype": "string"})"};

std::vector<Case> IdCases() {
  const TestLayer table = {"table", "Embedding",
                           R"({"input_dim": 4, "output_dim": 3, "mask_zero": true})"};
  return {
      {"MultiHot",
       {kIds,
        {"layer", "CategoryEncoding", R"({"num_tokens": 4})"},
        {"after", "Dense", R"({"units": 2})"}}},
      {"OneHot",
       {kIds,
        {"layer", "CategoryEncoding", R"({"num_tokens": 5, "output_mode": "one_hot"})"},
        {"after", "Dense", R"({"units": 2})"}}},
      {"Counts",
       {kIds,
        {"layer", "CategoryEncoding", R"({"num_tokens": 4, "output_mode": "count"})"},
        {"after", "Dense", R"({"units": 2})"}}},
      {"Bins",
       {{"input", "InputLayer", R"({"batch_shape": [null, 5]})"},
        {"layer", "Discretization", R"({"bin_boundaries": [-0.5, 0, 0.25], "dtype": "int64"})"},
        {"table", "Embedding", R"({"input_dim": 4, "output_dim": 3})"},
        {"after", "Dense", R"({"units": 2})"}}},
      {"BinsOneHot",
       {{"input", "InputLayer", R"({"batch_shape": [null, 5]})"},
        {"layer", "Discretization",
         R"({"bin_boundaries": [-0.5, 0, 0.25], "output_mode": "one_hot"})"},
        {"after", "Dense", R"({"units": 2})"}}},
      {"BinsCounted",
       {kIds,
        {"layer", "Discretization", R"({"bin_boundaries": [1, 3], "output_mode": "count"})"},
        {"after", "Dense", R"({"units": 2})"}}},
      {"Texts",
       {kTexts,
        {"layer", "StringLookup", R"({"vocabulary": ["a", "b", "c"]})"},
        {"table", "Embedding", R"({"input_dim": 4, "output_dim": 3})"},
        {"after", "Dense", R"({"units": 2})"}}},
      {"TextsOneHot",
       {kTexts,
        {"layer", "StringLookup",
         R"({"vocabulary": ["a", "b", "c", "d"], "num_oov_indices": 0, "output_mode": "one_hot"})"},
        {"after", "Dense", R"({"units": 2})"}}},
      {"TextsCounted",
       {kTexts,
        {"layer", "StringLookup", R"({"vocabulary": ["a", "b", "c"], "output_mode": "count"})"},
        {"after", "Dense", R"({"units": 2})"}}},
      {"BinsMultiHot",
       {kIds,
        {"layer", "Discretization", R"({"bin_boundaries": [1, 3], "output_mode": "multi_hot"})"},
        {"after", "Dense", R"({"units": 2})"}}},
      {"MaskedAverage",
       {kIds, table, {"pool", "GlobalAveragePooling1D"}, {"after", "Dense", R"({"units": 2})"}},
       7},
      {"MaskThroughLayers",
       {kIds,
        table,
        {"wide", "Dense", R"({"units": 4, "activation": "relu"})"},
        {"norm", "LayerNormalization"},
        {"drop", "Dropout", R"({"rate": 0.3})"},
        {"twice", "Add", "{}", {"drop", "wide"}},
        {"pool", "GlobalAveragePooling1D"},
        {"after", "Dense", R"({"units": 2})"}},
       7},
      {"MaskDropped",
       {kIds, table, {"pool", "GlobalMaxPooling1D"}, {"after", "Dense", R"({"units": 2})"}}},
  };
}

}  // namespace

std::vector<Case> ElementCases() {
  std::vector<Case> all;
  for (const auto& cases : {MergeCases(), NormalizationCases(), NoiseAndShapeCases(), IdCases()}) {
    all.insert(all.end(), cases.begin(), cases.end());
  }
  return all;
}

}  // namespace cairn::nn::testing
