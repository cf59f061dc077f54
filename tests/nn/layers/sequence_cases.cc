// Recurrent layers, attention, and layers that are called several times.

#include "absl/strings/str_cat.h"
#include "tests/nn/layers/conformance_cases.h"

namespace cairn::nn::testing {
namespace {

using Case = ConformanceCase;

Case Recurrent(const std::string& name, const std::string& class_name, const std::string& config) {
  return Between(name, "5, 2", {"layer", class_name, "{" + config + "}"});
}

Case Bidirectional(const std::string& name, const std::string& class_name,
                   const std::string& config, const std::string& merge) {
  return Between(name, "4, 2",
                 {"layer", "Bidirectional",
                  R"({"layer": {"class_name": ")" + class_name +
                      R"(", "config": {"name": "inner", "dtype": "float32", )" + config +
                      R"(}}, "merge_mode": ")" + merge + R"("})"});
}

std::vector<Case> RecurrentCases() {
  return {
      Recurrent("SimpleRNN", "SimpleRNN", R"("units": 3)"),
      Recurrent("SimpleRNNRelu", "SimpleRNN",
                R"("units": 5, "activation": "relu", "return_sequences": true)"),
      Recurrent("LSTM", "LSTM", R"("units": 3)"),
      Recurrent("LSTMSequences", "LSTM", R"("units": 5, "return_sequences": true)"),
      Recurrent("LSTMBackwards", "LSTM",
                R"("units": 2, "go_backwards": true, "return_sequences": true)"),
      Recurrent("LSTMWithoutBias", "LSTM", R"("units": 1, "use_bias": false)"),
      Recurrent("LSTMHardSigmoid", "LSTM",
                R"("units": 3, "recurrent_activation": "hard_sigmoid", "activation": "softsign")"),
      Recurrent("SimpleRNNDropout", "SimpleRNN", R"("units": 3, "dropout": 0.3)"),
      Recurrent("LSTMDropout", "LSTM",
                R"("units": 3, "dropout": 0.5, "return_sequences": true, "go_backwards": true)"),
      Recurrent("GRUDropout", "GRU", R"("units": 3, "dropout": 0.4)"),
      Recurrent("SimpleRNNRecurrentDropout", "SimpleRNN",
                R"("units": 3, "recurrent_dropout": 0.4, "return_sequences": true)"),
      Recurrent("LSTMRecurrentDropout", "LSTM",
                R"("units": 3, "recurrent_dropout": 0.5, "dropout": 0.2, "go_backwards": true)"),
      Recurrent("GRURecurrentDropout", "GRU", R"("units": 3, "recurrent_dropout": 0.4)"),
      Recurrent("GRURecurrentDropoutResetBefore", "GRU",
                R"("units": 3, "recurrent_dropout": 0.4, "reset_after": false)"),
      Recurrent("GRU", "GRU", R"("units": 3)"),
      Recurrent("GRUSequences", "GRU", R"("units": 4, "return_sequences": true)"),
      Recurrent("GRUResetBefore", "GRU",
                R"("units": 3, "reset_after": false, "return_sequences": true)"),
      Recurrent("GRUWithoutBias", "GRU", R"("units": 2, "use_bias": false)"),
      Recurrent("GRUResetBeforeWithoutBias", "GRU",
                R"("units": 2, "reset_after": false, "use_bias": false)"),
      Between("ConvLSTM", "3, 4, 3, 2",
              {"layer", "ConvLSTM2D", R"({"filters": 2, "kernel_size": [2, 3]})"}),
      Between("ConvLSTMSequences", "3, 4, 3, 2",
              {"layer", "ConvLSTM2D", R"({"filters": 3, "kernel_size": 3, "strides": [2, 1],
                "padding": "same", "return_sequences": true, "go_backwards": true})"}),
      Between("ConvLSTMDilated", "2, 5, 4, 2",
              {"layer", "ConvLSTM2D", R"({"filters": 1, "kernel_size": 2, "dilation_rate": 2,
                "use_bias": false, "recurrent_activation": "hard_sigmoid"})"}),
      Between("ConvLSTMOfRows", "3, 5, 2",
              {"layer", "ConvLSTM1D", R"({"filters": 2, "kernel_size": 3, "padding": "same",
                "activation": "softsign"})"}),
      {"ConvLSTMOfTheInput",
       {{"input", "InputLayer", R"({"batch_shape": [null, 2, 4, 3, 1]})"},
        {"layer", "ConvLSTM2D", R"({"filters": 2, "kernel_size": 2, "return_sequences": true})"},
        {"after", "Dense", R"({"units": 2})"}}},
      Recurrent("RNNOfOneCell", "RNN",
                R"("return_sequences": true, "go_backwards": true,
                   "cell": {"class_name": "LSTMCell", "config": {"units": 3, "name": "one"}})"),
      Bidirectional("BidirectionalLSTM", "LSTM", R"("units": 3)", "concat"),
      Bidirectional("BidirectionalSequences", "LSTM", R"("units": 2, "return_sequences": true)",
                    "concat"),
      Bidirectional("BidirectionalDropout", "LSTM", R"("units": 3, "dropout": 0.4)", "concat"),
      Bidirectional("BidirectionalRecurrentDropout", "GRU",
                    R"("units": 3, "recurrent_dropout": 0.4, "dropout": 0.3)", "concat"),
      Bidirectional("BidirectionalSum", "GRU", R"("units": 3, "return_sequences": true)", "sum"),
      Bidirectional("BidirectionalProduct", "SimpleRNN", R"("units": 3)", "mul"),
      Bidirectional("BidirectionalAverage", "LSTM", R"("units": 3)", "ave"),
  };
}

// Functions, because the cases are made before main().
TestLayer Target() { return {"target", "InputLayer", R"({"batch_shape": [null, 3, 2]})"}; }
TestLayer Floats() { return {"floats", "InputLayer", R"({"batch_shape": [null, 4, 2]})"}; }
TestLayer Ids() { return {"ids", "InputLayer", R"({"batch_shape": [null, 4], "dtype": "int32"})"}; }
TestLayer Table() {
  return {"table", "Embedding", R"({"input_dim": 4, "output_dim": 2, "mask_zero": true})"};
}

TestLayer OutputOf(const std::string& layer, int output) {
  return {layer + "." + std::to_string(output),
          "LayerOutput",
          R"({"output": )" + std::to_string(output) + "}",
          {layer}};
}

// An encoder whose states are the initial ones of a decoder of the same class.
Case Coders(const std::string& name, const std::vector<TestLayer>& inputs,
            const std::string& class_name, const std::string& encoder, const std::string& decoder,
            int states) {
  Case c = {name, inputs, 7};
  c.layers.push_back({"encoder", class_name, "{" + encoder + R"(, "return_state": true})"});
  TestLayer last = {"decoder", class_name, "{" + decoder + "}", {"target"}};
  for (int i = 1; i <= states; ++i) {
    c.layers.push_back(OutputOf("encoder", i));
    last.inputs.push_back(c.layers.back().name);
  }
  c.layers.push_back(Target());
  c.layers.push_back(last);
  c.layers.push_back({"after", "Dense", R"({"units": 2})"});
  return c;
}

// The states and the sequence of the encoder are all used, those of the decoder are dropped.
Case BidirectionalCoders(const std::string& merge) {
  const std::string config = R"({"layer": {"class_name": "LSTM",
      "config": {"units": 2, "return_state": true}}, "merge_mode": ")" +
                             merge + R"("})";
  std::vector<TestLayer> layers = {Floats(), {"encoder", "Bidirectional", config}};
  TestLayer decoder = {"decoder", "Bidirectional", config, {"target"}};
  for (int i = 0; i <= 4; ++i) layers.push_back(OutputOf("encoder", i));
  for (int i = 1; i <= 4; ++i) decoder.inputs.push_back("encoder." + std::to_string(i));
  layers.insert(layers.end(), {Target(),
                               decoder,
                               OutputOf("decoder", 0),
                               {"all", "Concatenate", "{}", {"encoder.0", "decoder.0"}},
                               {"after", "Dense", R"({"units": 2})"}});
  return {"StatesOfBidirectional_" + merge, layers};
}

std::vector<Case> StateCases() {
  return {
      Coders("StatesOfSimpleRNN", {Floats()}, "SimpleRNN", R"("units": 3)",
             R"("units": 3, "return_sequences": true)", 1),
      Coders("StatesOfLSTM", {Floats()}, "LSTM", R"("units": 3)",
             R"("units": 3, "return_sequences": true)", 2),
      Coders("StatesOfLSTMBackwards", {Floats()}, "LSTM",
             R"("units": 2, "go_backwards": true, "return_sequences": true, "dropout": 0.4)",
             R"("units": 2, "go_backwards": true, "recurrent_dropout": 0.3)", 2),
      Coders("StatesOfGRU", {Floats()}, "GRU", R"("units": 3)", R"("units": 3)", 1),
      Coders("StatesOfGRUResetBefore", {Floats()}, "GRU", R"("units": 2, "reset_after": false)",
             R"("units": 2, "reset_after": false, "recurrent_dropout": 0.4)", 1),
      Coders("StatesOfMaskedLSTM", {Ids(), Table()}, "LSTM", R"("units": 3)", R"("units": 3)", 2),
      Coders("StatesOfRNN", {Floats()}, "RNN",
             R"("cell": {"class_name": "LSTMCell", "config": {"units": 3}})",
             R"("cell": {"class_name": "LSTMCell", "config": {"units": 3}})", 2),
      BidirectionalCoders("concat"),
      BidirectionalCoders("sum"),
      // The mask goes with the sequence only; a layer whose call ignores it passes it on.
      {"StatesAndMask",
       {Ids(),
        Table(),
        {"encoder", "GRU", R"({"units": 2, "return_sequences": true, "return_state": true})"},
        OutputOf("encoder", 0),
        OutputOf("encoder", 1),
        {"decoder",
         "GRU",
         R"({"units": 2, "return_sequences": true, "ignores_mask": true})",
         {"encoder.0", "encoder.1"}},
        {"pool", "GlobalAveragePooling1D"},
        {"all", "Concatenate", "{}", {"pool", "encoder.1"}},
        {"after", "Dense", R"({"units": 2})"}},
       7},
  };
}

// What comes before and after a layer whose input has a mask.
struct MaskedParts {
  TestLayer ids = {"ids", "InputLayer", R"({"batch_shape": [null, 5], "dtype": "int32"})"};
  TestLayer table = {"table", "Embedding",
                     R"({"input_dim": 4, "output_dim": 3, "mask_zero": true})"};
  TestLayer after = {"after", "Dense", R"({"units": 2})"};
};

std::vector<Case> MaskedCases() {
  const auto [ids, table, after] = MaskedParts();
  const auto masked = [](const std::string& name, const TestLayer& layer) {
    const MaskedParts parts;
    return Case{name, {parts.ids, parts.table, layer, parts.after}, 7};
  };
  const TestLayer pool = {"pool", "GlobalAveragePooling1D"};
  return {
      masked("MaskedLSTM", {"layer", "LSTM", R"({"units": 3})"}),
      masked("MaskedGRU", {"layer", "GRU", R"({"units": 3})"}),
      masked("MaskedGRUBackwards", {"layer", "GRU", R"({"units": 3, "go_backwards": true})"}),
      {"MaskThroughLSTM",
       {ids, table, {"layer", "LSTM", R"({"units": 3, "return_sequences": true})"}, pool, after},
       7},
      {"MaskedLSTMZeroes",
       {ids,
        table,
        {"layer", "LSTM",
         R"({"units": 3, "return_sequences": true, "zero_output_for_mask": true})"},
        {"last", "LSTM", R"({"units": 2})"},
        after},
       7},
      {"MaskedStackBackwards",
       {ids,
        table,
        {"first", "GRU", R"({"units": 2, "go_backwards": true, "return_sequences": true})"},
        {"second", "LSTM", R"({"units": 3, "reverses_mask": true, "return_sequences": true,
          "zero_output_for_mask": true})"},
        pool,
        after},
       7},
      masked("MaskedBidirectional", {"layer", "Bidirectional",
                                     R"({"layer": {"class_name": "LSTM",
                                         "config": {"units": 3}}})"}),
  };
}

std::vector<Case> MaskedAttentionCases() {
  const auto [ids, table, after] = MaskedParts();
  const TestLayer pool = {"pool", "GlobalAveragePooling1D"};
  return {
      {"MaskedDotAttention",
       {ids, table, {"layer", "Attention", "{}", {"table", "table"}}, pool, after},
       7},
      {"MaskedAdditiveAttention",
       {ids,
        table,
        {"layer", "AdditiveAttention", R"({"use_causal_mask": true})", {"table", "table"}},
        {"flat", "Flatten"},
        after},
       7},
      {"MaskedAttention",
       {ids,
        table,
        {"layer", "MultiHeadAttention", R"({"num_heads": 2, "key_dim": 3})", {"table", "table"}},
        pool,
        after},
       7},
      // All steps count, also those whose attention is masked from all positions.
      {"MaskedQueries",
       {ids,
        table,
        {"layer", "MultiHeadAttention", R"({"num_heads": 2, "key_dim": 3})", {"table", "table"}},
        {"flat", "Flatten"},
        after},
       7},
      {"MaskedQueriesDropout",
       {ids,
        table,
        {"layer",
         "MultiHeadAttention",
         R"({"num_heads": 2, "key_dim": 3, "dropout": 0.3})",
         {"table", "table"}},
        {"flat", "Flatten"},
        after},
       7},
      {"MaskedQueriesShown",
       {ids,
        table,
        {"layer",
         "MultiHeadAttention",
         R"({"num_heads": 2, "key_dim": 3, "return_attention_scores": true})",
         {"table", "table"}},
        {"flat", "Flatten"},
        after},
       7},
      {"MaskedKeys",
       {ids,
        table,
        {"floats", "InputLayer", R"({"batch_shape": [null, 5, 3]})"},
        {"layer",
         "MultiHeadAttention",
         R"({"num_heads": 2, "key_dim": 2, "dropout": 0.3})",
         {"floats", "floats", "table"}},
        {"flat", "Flatten"},
        after},
       7},
  };
}

// Attention masks of numbers of which some are zero.
std::vector<Case> AttentionMaskCases() {
  // The mask of `shape` has 0 for id 2.
  const auto masked = [](const std::string& name, const std::string& shape, int64_t count,
                         const std::string& config, std::vector<TestLayer> before,
                         std::vector<std::string> inputs) {
    std::vector<TestLayer> layers = {
        {"ids", "InputLayer",
         absl::StrCat(R"({"batch_shape": [null, )", count, R"(], "dtype": "int32"})")},
        {"numbers", "Rescaling", R"({"scale": 0.5, "offset": -1.0})"},
        {"scores", "Reshape", absl::StrCat(R"({"target_shape": [)", shape, "]}")}};
    layers.insert(layers.end(), before.begin(), before.end());
    inputs.push_back("scores");
    layers.push_back({"layer", "MultiHeadAttention",
                      absl::StrCat(R"({"attention_mask": true, )", config, "}"), inputs});
    layers.push_back({"flat", "Flatten"});
    layers.push_back({"after", "Dense", R"({"units": 2})"});
    return Case{name, layers, 7};
  };
  const std::vector<TestLayer> floats = {
      {"floats", "InputLayer", R"({"batch_shape": [null, 3, 2]})"},
      {"query", "Dense", R"({"units": 3})"}};
  std::vector<TestLayer> across = floats;
  across.push_back({"others", "InputLayer", R"({"batch_shape": [null, 5, 3]})"});
  across.push_back({"value", "Dense", R"({"units": 3})"});
  across.push_back({"key", "Dense", R"({"units": 2})", {"others"}});
  const std::vector<TestLayer> tables = {
      {"steps", "InputLayer", R"({"batch_shape": [null, 4], "dtype": "int32"})"},
      {"table", "Embedding", R"({"input_dim": 7, "output_dim": 3, "mask_zero": true})"}};
  return {
      masked("AttentionMask", "3, 3", 9, R"("num_heads": 2, "key_dim": 3)", floats,
             {"query", "query"}),
      masked("AttentionMaskOfPositions", "1, 5", 5,
             R"("num_heads": 2, "key_dim": 2, "dropout": 0.3)", across, {"query", "value", "key"}),
      masked("AttentionMaskOfSteps", "3, 1", 3, R"("num_heads": 3, "key_dim": 2)", floats,
             {"query", "query"}),
      masked("AttentionMaskOfHeads", "2, 4, 4", 32,
             R"("num_heads": 2, "key_dim": 3, "use_causal_mask": true)", tables,
             {"table", "table"}),
      masked("AttentionMaskOfHeadsAlone", "2, 1, 4", 8, R"("num_heads": 2, "key_dim": 3)", tables,
             {"table", "table"}),
      // The mask, none of whose numbers is zero, passes a gradient of zero.
      {"AttentionMaskWithoutGradient",
       {{"input", "InputLayer", R"({"batch_shape": [null, 3, 2]})"},
        {"before", "Dense", R"({"units": 4})"},
        {"mask", "Dense", R"({"units": 3, "activation": "sigmoid"})"},
        {"layer",
         "MultiHeadAttention",
         R"({"num_heads": 2, "key_dim": 2, "attention_mask": true})",
         {"before", "before", "mask"}},
        {"after", "Dense", R"({"units": 2})"}}},
  };
}

// Two sequences that meet: the one of `layer` has the mask of the other one, too, unless that one
// has none.
std::vector<Case> MergedMaskCases() {
  const auto meeting = [](const std::string& name, const std::string& mask, const TestLayer& layer,
                          const TestLayer& user) {
    return Case{
        name,
        {{"ids", "InputLayer", R"({"batch_shape": [null, 4], "dtype": "int32"})"},
         {"others", "InputLayer", R"({"batch_shape": [null, 4], "dtype": "int32"})"},
         {"s", "Embedding", R"({"input_dim": 4, "output_dim": 3, "mask_zero": true})", {"ids"}},
         {"t",
          "Embedding",
          R"({"input_dim": 4, "output_dim": 3, "mask_zero": )" + mask + "}",
          {"others"}},
         layer,
         user,
         {"after", "Dense", R"({"units": 2})"}},
        7};
  };
  const TestLayer sum = {"sum", "Add", "{}", {"s", "t"}};
  const TestLayer joined = {"all", "Concatenate", R"({"axis": 1})", {"s", "t"}};
  const TestLayer lstm = {"lstm", "LSTM", R"({"units": 3})"};
  const TestLayer pool = {"pool", "GlobalAveragePooling1D"};
  return {
      meeting("MaskedSum", "true", sum, lstm),
      meeting("MaskedSumWithoutOne", "false", sum, pool),
      {"MaskedProductWithItself",
       {Ids(),
        Table(),
        {"product", "Multiply", "{}", {"table", "table"}},
        pool,
        {"after", "Dense", R"({"units": 2})"}},
       7},
      meeting("MaskedAverages", "true", {"mean", "Average", "{}", {"t", "s", "t"}}, pool),
      meeting("MaskedFeatures", "true", {"all", "Concatenate", "{}", {"s", "t"}}, lstm),
      meeting("MaskedFeaturesWithoutOne", "false", {"all", "Concatenate", "{}", {"s", "t"}}, pool),
      meeting("MaskedSteps", "true", joined, lstm),
      meeting("MaskedStepsWithoutOne", "false", joined, lstm),
  };
}

// Ids are 0 to 3, so features of two ids are (1, 1) in some steps: what is masked.
std::vector<Case> MaskingCases() {
  const TestLayer ids = {"ids", "InputLayer", R"({"batch_shape": [null, 10], "dtype": "int32"})"};
  const TestLayer floats = {"floats", "Rescaling", R"({"scale": 0.5})"};
  const TestLayer few = {"few", "ReLU", R"({"max_value": 0.5})"};
  const TestLayer steps = {"steps", "Reshape", R"({"target_shape": [5, 2]})"};
  const TestLayer mask = {"mask", "Masking", R"({"mask_value": 0.5})"};
  const TestLayer after = {"after", "Dense", R"({"units": 2})"};
  const auto masked = [&](const std::string& name, std::vector<TestLayer> layers) {
    std::vector<TestLayer> all = {ids, floats, few, steps, mask};
    all.insert(all.end(), layers.begin(), layers.end());
    all.push_back(after);
    return Case{name, all, 7};
  };
  return {
      masked("MaskingOfLSTM", {{"layer", "LSTM", R"({"units": 3})"}}),
      masked("MaskingThroughLayers", {{"wide", "Dense", R"({"units": 3, "activation": "tanh"})"},
                                      {"same", "Identity"},
                                      {"view", "ActivityRegularization", R"({"l2": 0.1})"},
                                      {"layer", "GRU", R"({"units": 3, "return_sequences": true})"},
                                      {"pool", "GlobalAveragePooling1D"}}),
      masked("MaskingTwice", {{"layer", "SimpleRNN", R"({"units": 2, "return_sequences": true,
                                         "zero_output_for_mask": true})"},
                              {"again", "Masking"},
                              {"last", "Bidirectional",
                               R"({"layer": {"class_name": "LSTM", "config": {"units": 2}}})"}}),
      masked("MaskingIsDropped", {{"flat", "Flatten"}}),
      // The output of relu, and so its gradient, is zero in many places.
      {"MaskingWithGradient",
       {{"input", "InputLayer", R"({"batch_shape": [null, 5, 2]})"},
        {"before", "Dense", R"({"units": 2, "activation": "relu"})"},
        mask,
        {"layer", "GRU", R"({"units": 3})"},
        after}},
      {"MaskingOfZeros",
       {{"input", "InputLayer", R"({"batch_shape": [null, 5, 2]})"},
        {"before", "Dense", R"({"units": 2, "activation": "relu"})"},
        {"mask", "Masking"},
        {"layer", "LSTM", R"({"units": 3})"},
        after}},
  };
}

std::vector<Case> AttentionCases() {
  const auto attention = [](const std::string& name, const std::string& config,
                            std::vector<std::string> inputs = {"before", "before"}) {
    Case c = Between(name, "3, 2", {"layer", "MultiHeadAttention", "{" + config + "}", inputs});
    return c;
  };
  return {
      attention("Attention", R"("num_heads": 2, "key_dim": 3)"),
      attention("AttentionOfOneHead", R"("num_heads": 1, "key_dim": 5, "value_dim": 2)"),
      attention("AttentionCausal", R"("num_heads": 2, "key_dim": 2, "use_causal_mask": true)"),
      attention("AttentionWithoutBias",
                R"("num_heads": 3, "key_dim": 1, "use_bias": false, "output_shape": 7)"),
      attention("AttentionDropout", R"("num_heads": 2, "key_dim": 2, "dropout": 0.4)"),
      {"AttentionAcross",
       {{"left", "InputLayer", R"({"batch_shape": [null, 3, 2]})"},
        {"right", "InputLayer", R"({"batch_shape": [null, 5, 3]})"},
        {"query", "Dense", R"({"units": 4})", {"left"}},
        {"value", "Dense", R"({"units": 3})", {"right"}},
        {"key", "Dense", R"({"units": 2})", {"right"}},
        {"layer",
         "MultiHeadAttention",
         R"({"num_heads": 2, "key_dim": 3})",
         {"query", "value", "key"}},
        {"after", "Dense", R"({"units": 2})"}}},
  };
}

std::vector<Case> ScoreAttentionCases() {
  const auto within = [](const std::string& name, const std::string& class_name,
                         const std::string& config) {
    return Between(name, "3, 2", {"layer", class_name, "{" + config + "}", {"before", "before"}});
  };
  const auto across = [](const std::string& name, const std::string& class_name,
                         const std::string& config) {
    return Case{name,
                {{"left", "InputLayer", R"({"batch_shape": [null, 3, 2]})"},
                 {"right", "InputLayer", R"({"batch_shape": [null, 5, 3]})"},
                 {"query", "Dense", R"({"units": 4})", {"left"}},
                 {"value", "Dense", R"({"units": 3})", {"right"}},
                 {"key", "Dense", R"({"units": 4})", {"right"}},
                 {"layer", class_name, "{" + config + "}", {"query", "value", "key"}},
                 {"after", "Dense", R"({"units": 2})"}}};
  };
  return {
      within("DotAttention", "Attention", ""),
      within("DotAttentionScaled", "Attention", R"("use_scale": true, "use_causal_mask": true)"),
      within("DotAttentionDropout", "Attention", R"("dropout": 0.4)"),
      within("ConcatAttention", "Attention", R"("score_mode": "concat")"),
      within("ConcatAttentionScaled", "Attention", R"("score_mode": "concat", "use_scale": true)"),
      within("AdditiveAttention", "AdditiveAttention", R"("dropout": 0.3)"),
      within("AdditiveAttentionUnscaled", "AdditiveAttention",
             R"("use_scale": false, "use_causal_mask": true)"),
      across("DotAttentionAcross", "Attention", R"("use_scale": true)"),
      across("ConcatAttentionAcross", "Attention", R"("score_mode": "concat")"),
      across("AdditiveAttentionAcross", "AdditiveAttention", ""),
  };
}

std::vector<Case> CallCases() {
  const TestLayer input = {"input", "InputLayer", R"({"batch_shape": [null, 5]})"};
  const auto again = [](TestLayer layer, const std::string& name, const std::string& from) {
    layer.shares = layer.name;
    layer.name = name;
    layer.inputs = {from};
    return layer;
  };
  const auto inferring = [](TestLayer layer) {
    layer.inference_only = true;
    return layer;
  };
  const TestLayer shared = {"shared", "Dense",
                            R"({"units": 5, "activation": "tanh", "kernel_regularizer": "l2"})"};
  return {
      {"SharedDense",
       {input,
        shared,
        again(shared, "twice", "shared"),
        again(shared, "thrice", "twice"),
        {"after", "Dense", R"({"units": 2})"}}},
      {"SharedTowers",
       {input,
        {"other", "InputLayer", R"({"batch_shape": [null, 5]})"},
        {"shared", "Dense", shared.config, {"input"}},
        again(shared, "tower", "other"),
        {"join", "Concatenate", "{}", {"shared", "tower"}},
        {"after", "Dense", R"({"units": 2})"}}},
      {"SharedAndRegularized",
       {input,
        {"shared", "Dense", R"({"units": 5, "activity_regularizer": "l1_l2"})"},
        again({"shared", "Dense", R"({"units": 5, "activity_regularizer": "l1_l2"})"}, "twice",
              "shared"),
        {"both", "Add", "{}", {"shared", "twice"}},
        {"view", "ActivityRegularization", R"({"l2": 0.1})", {"twice"}},
        {"all", "Concatenate", "{}", {"both", "view", "shared"}},
        {"after", "Dense", R"({"units": 2, "activity_regularizer": "l2"})"}}},
      {"SharedAndFrozen",
       {input,
        {"shared", "Dense", R"({"units": 5, "trainable": false})"},
        again({"shared", "Dense", R"({"units": 5, "trainable": false})"}, "twice", "shared"),
        {"after", "Dense", R"({"units": 2})"}}},
      {"InferringNormalization",
       {input,
        {"before", "Dense", R"({"units": 4})"},
        inferring({"norm", "BatchNormalization"}),
        inferring({"drop", "Dropout", R"({"rate": 0.5})"}),
        {"after", "Dense", R"({"units": 2})"}}},
  };
}

std::vector<Case> StepCases() {
  const auto steps = [](const std::string& name, const std::string& shape,
                        const std::string& inner) {
    return Between(name, shape, {"layer", "TimeDistributed", R"({"layer": )" + inner + "}"});
  };
  return {
      steps("StepsOfDense", "3, 5",
            R"({"class_name": "Dense", "config": {"units": 2, "activation": "softmax"}})"),
      steps("StepsOfImages", "2, 4, 4, 2",
            R"({"class_name": "Conv2D", "config": {"name": "conv", "filters": 2, "kernel_size": 3,
                "kernel_regularizer": "l2", "activation": "gelu", "bias_constraint": null}})"),
      steps("StepsFlattened", "2, 3, 2", R"({"class_name": "Flatten", "config": {}})"),
      steps("StepsOfSequences", "2, 3, 2", R"({"class_name": "LSTM", "config": {"units": 2}})"),
      steps("StepsOfSteps", "2, 3, 2",
            R"({"class_name": "TimeDistributed", "config": {"layer":
                {"class_name": "Dense", "config": {"units": 3}}}})"),
  };
}

}  // namespace

std::vector<Case> SequenceCases() {
  std::vector<Case> all;
  for (const auto& cases : {RecurrentCases(), StateCases(), MaskedCases(), MaskedAttentionCases(),
                            AttentionMaskCases(), MergedMaskCases(), MaskingCases(),
                            AttentionCases(), ScoreAttentionCases(), CallCases(), StepCases()}) {
    all.insert(all.end(), cases.begin(), cases.end());
  }
  return all;
}

}  // namespace cairn::nn::testing
