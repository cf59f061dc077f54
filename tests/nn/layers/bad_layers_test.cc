// Invalid layers: each error names the layer and the reason, before anything is allocated.

#include <ostream>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "nn/model.h"
#include "tests/nn/test_model.h"

namespace cairn::nn::testing {
namespace {

struct BadLayer {
  std::string name;
  std::string class_name;
  std::string config;
  // Strings that the error must contain, besides the layer's name and class.
  std::vector<std::string> says;
  // The input's shape; layers of several get as many such inputs.
  std::string shape = "8, 8, 3";
  int inputs = 1;
};

void PrintTo(const BadLayer& layer, std::ostream* out) { *out << layer.name; }

class BadLayerTest : public ::testing::TestWithParam<BadLayer> {};

TEST_P(BadLayerTest, IsRefusedByNameAndReason) {
  const BadLayer& bad = GetParam();
  const std::string input = R"({"batch_shape": [null, )" + bad.shape + "]}";
  std::vector<TestLayer> layers = {
      {"a", "InputLayer", input}, {"b", "InputLayer", input}, {"c", "InputLayer", input}};
  layers.resize(bad.inputs);
  std::vector<std::string> names = {"a", "b", "c"};
  names.resize(bad.inputs);
  layers.push_back({"bad", bad.class_name, "{" + bad.config + "}", names});
  const absl::Status status = Model::Create(SpecOf(layers)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  std::vector<std::string> says = bad.says;
  says.push_back("layer 'bad' (" + bad.class_name + ")");
  for (const std::string& words : says) {
    EXPECT_NE(std::string(status.message()).find(words), std::string::npos)
        << "'" << words << "' is not in: " << status.message();
  }
}

std::vector<BadLayer> Convolutions() {
  return {
      {"NoFilters", "Conv2D", R"("kernel_size": 3)", {"'filters' is missing"}},
      {"NoKernel", "Conv2D", R"("filters": 3)", {"'kernel_size' is missing"}},
      {"ZeroFilters", "Conv2D", R"("filters": 0, "kernel_size": 3)", {"'filters'", "1 to"}},
      {"ZeroStride", "Conv2D", R"("filters": 1, "kernel_size": 3, "strides": 0)", {"'strides'"}},
      {"GroupsOfVolumes",
       "Conv3D",
       R"("filters": 2, "kernel_size": 1, "groups": 2)",
       {"'groups'", "not supported"},
       "2, 3, 4, 2"},
      {"TransposedVolumePadding",
       "Conv3DTranspose",
       R"("filters": 2, "kernel_size": 2, "output_padding": [1, 1])",
       {"'output_padding'", "one number or three"},
       "2, 3, 4, 2"},
      {"TransposedVolumePaddingTooLarge",
       "Conv3DTranspose",
       R"("filters": 2, "kernel_size": 2, "strides": 2, "output_padding": 2)",
       {"'output_padding'", "smaller than the strides, is 2"},
       "2, 3, 4, 2"},
      {"TransposedVolumeGroups",
       "Conv3DTranspose",
       R"("filters": 2, "kernel_size": 2, "groups": 2)",
       {"'groups'", "must be 1"},
       "2, 3, 4, 2"},
      {"VolumeOfImages", "Conv3D", R"("filters": 2, "kernel_size": 1)", {"4 dimension(s)"}},
      {"VolumeKernelOfTwo",
       "Conv3D",
       R"("filters": 2, "kernel_size": [1, 2])",
       {"'kernel_size'", "one or three numbers, has 2"},
       "2, 3, 4, 2"},
      {"VolumePoolBeyondTheVolume",
       "MaxPooling3D",
       R"("pool_size": [3, 1, 1])",
       {"a window of 3 does not fit into 2 planes"},
       "2, 3, 4, 2"},
      {"VolumeUpSamplingMissesAnAxis",
       "UpSampling3D",
       R"("size": [3, 1])",
       {"'size'", "one or three numbers"},
       "2, 3, 4, 2"},
      {"DilationZero",
       "Conv2D",
       R"("filters": 1, "kernel_size": 3, "dilation_rate": [1, 0])",
       {"'dilation_rate'"}},
      {"DilatedBeyondTheImage",
       "Conv2D",
       R"("filters": 1, "kernel_size": 3, "dilation_rate": 4)",
       {"9", "8 rows"}},
      {"AbsurdKernel", "Conv2D", R"("filters": 1099511627776, "kernel_size": 8)", {"elements"}},
      {"AbsurdDilation",
       "Conv2D",
       R"("filters": 1, "kernel_size": 3, "dilation_rate": 4000000000)",
       {"longer than"}},
      {"GroupsOfFilters",
       "Conv2D",
       R"("filters": 4, "kernel_size": 1, "groups": 3)",
       {"'groups'", "4 filters"}},
      {"KernelAsText", "Conv2D", R"("filters": 1, "kernel_size": "3")", {"'kernel_size'"}},
      {"HalfPrecision",
       "Conv2D",
       R"("filters": 1, "kernel_size": 3, "dtype": "mixed_float16")",
       {"'dtype'", "mixed_float16", "float32"}},
  };
}

std::vector<BadLayer> OtherConvolutions() {
  return {
      {"StepsOfImages", "Conv1D", R"("filters": 1, "kernel_size": 3)", {"2 dimension(s)"}},
      {"TwoSidesOfSteps",
       "Conv1D",
       R"("filters": 1, "kernel_size": [3, 3])",
       {"'kernel_size'", "one number"},
       "8, 3"},
      {"StepsTooFew", "Conv1D", R"("filters": 1, "kernel_size": 9)", {"9", "8"}, "8, 3"},
      {"PaddingUnknown",
       "Conv1D",
       R"("filters": 1, "kernel_size": 3, "padding": "full")",
       {"'padding'", "causal"},
       "8, 3"},
      {"CausalDepthwise",
       "DepthwiseConv1D",
       R"("kernel_size": 3, "padding": "causal")",
       {"'padding'"},
       "8, 3"},
      {"DepthwiseWithoutKernel", "DepthwiseConv2D", "", {"'kernel_size' is missing"}},
      {"DepthMultiplierZero",
       "DepthwiseConv2D",
       R"("kernel_size": 3, "depth_multiplier": 0)",
       {"'depth_multiplier'"}},
      {"DepthMultiplierAbsurd",
       "DepthwiseConv2D",
       R"("kernel_size": 3, "depth_multiplier": 10000000)",
       {"'depth_multiplier'"}},
      {"DepthwiseConstraint",
       "DepthwiseConv2D",
       R"("kernel_size": 3, "depthwise_constraint": {"class_name": "MaxNorm", "config": {"axis": 4}})",
       {"'depthwise_constraint'", "from -4 to 3"}},
      {"SeparableWithoutFilters", "SeparableConv2D", R"("kernel_size": 3)", {"'filters'"}},
      {"SeparableGroups",
       "SeparableConv2D",
       R"("filters": 2, "kernel_size": 3, "groups": 3)",
       {"'groups'"}},
      {"SeparableTooLarge", "SeparableConv2D", R"("filters": 2, "kernel_size": 9)", {"8 rows"}},
      {"TransposeGroups",
       "Conv2DTranspose",
       R"("filters": 2, "kernel_size": 3, "groups": 3)",
       {"'groups'"}},
      {"OutputPaddingBeyondStride",
       "Conv2DTranspose",
       R"("filters": 2, "kernel_size": 3, "strides": 2, "output_padding": 2)",
       {"'output_padding'", "smaller than the strides"}},
      {"OutputPaddingOfThree",
       "Conv2DTranspose",
       R"("filters": 2, "kernel_size": 3, "output_padding": [0, 0, 0])",
       {"'output_padding'"}},
      {"TransposeAbsurd",
       "Conv2DTranspose",
       R"("filters": 2, "kernel_size": 3, "strides": 4000000000)",
       {"longer than"}},
  };
}

std::vector<BadLayer> Images() {
  return {
      {"PoolZero", "MaxPooling2D", R"("pool_size": 0)", {"'pool_size'"}},
      {"PoolTooLarge", "AveragePooling2D", R"("pool_size": 9)", {"9", "8 rows"}},
      {"PoolOfSteps", "MaxPooling1D", R"("pool_size": [2, 2])", {"one number"}, "8, 3"},
      {"PoolOfVectors", "MaxPooling2D", "", {"3 dimension(s)"}, "8"},
      {"PoolChannelsFirst",
       "MaxPooling2D",
       R"("data_format": "channels_first")",
       {"'data_format'"}},
      {"GlobalPoolOfVectors", "GlobalMaxPooling1D", "", {"2 dimension(s)"}, "8"},
      {"GlobalPoolUnknownArgument",
       "GlobalAveragePooling2D",
       R"("keep_dims": true)",
       {"unknown argument 'keep_dims'", "keepdims"}},
      {"PaddingNegative", "ZeroPadding2D", R"("padding": -1)", {"'padding'", "0 to"}},
      {"PaddingOfThree", "ZeroPadding2D", R"("padding": [1, 2, 3])", {"'padding'", "3 numbers"}},
      {"PaddingOfTwoIn3D",
       "ZeroPadding3D",
       R"("padding": [1, 2])",
       {"'padding'", "2 numbers; it takes 1, 3 or 6"},
       "2, 3, 4, 2"},
      {"CroppedPlanes", "Cropping3D", "", {"nothing of 2 planes"}, "2, 3, 4, 2"},
      {"PaddingFractional", "ZeroPadding2D", R"("padding": 1.5)", {"'padding'"}},
      {"PaddingAbsurd", "ZeroPadding2D", R"("padding": 10000000)", {"'padding'"}},
      {"PaddingAsText", "ZeroPadding2D", R"("padding": "same")", {"'padding'", "numbers"}},
      {"CroppedAway", "Cropping2D", R"("cropping": 4)", {"nothing of 8 rows"}},
      {"CroppedColumns", "Cropping2D", R"("cropping": [[0, 0], [5, 3]])", {"columns"}},
      {"UpSamplingZero", "UpSampling2D", R"("size": 0)", {"'size'"}},
      {"UpSamplingAbsurd", "UpSampling2D", R"("size": 4000000000)", {"'size'"}},
      {"UpSamplingBicubic",
       "UpSampling2D",
       R"("interpolation": "bicubic")",
       {"'interpolation'", "nearest, bilinear"}},
      {"ResizingWithoutHeight", "Resizing", R"("width": 3)", {"'height' is missing"}},
      {"ResizingLanczos",
       "Resizing",
       R"("height": 3, "width": 3, "interpolation": "lanczos3")",
       {"'interpolation'", "bilinear, nearest"}},
      {"ResizingPadded",
       "Resizing",
       R"("height": 3, "width": 3, "pad_to_aspect_ratio": true)",
       {"'pad_to_aspect_ratio' is not supported"}},
      {"FlipUnknown", "RandomFlip", R"("mode": "diagonal")", {"'mode'", "vertical"}},
      {"FlipOfVectors", "RandomFlip", "", {"3 dimension(s)"}, "8"},
      {"BrightnessWithoutFactor", "RandomBrightness", "", {"'factor' is missing"}},
      {"BrightnessTooBright", "RandomBrightness", R"("factor": 2)", {"'factor'", "-1 to 1"}},
      {"ContrastNegative", "RandomContrast", R"("factor": [-0.5, 0.5])", {"'factor'", "0 to 1"}},
      {"ContrastWithoutARange",
       "RandomContrast",
       R"("factor": 0.5, "value_range": [1, 1])",
       {"'value_range'"}},
      {"CropWithoutWidth", "RandomCrop", R"("height": 3)", {"'width' is missing"}},
      {"CropNegative", "RandomCrop", R"("height": 3, "width": -3)", {"'width'"}},
  };
}

std::vector<BadLayer> Elements() {
  return {
      {"RateMissing", "SpatialDropout2D", "", {"'rate'"}},
      {"SpatialOfVectors", "SpatialDropout2D", R"("rate": 0.5)", {"3 dimension(s)"}, "8"},
      {"NoiseShape",
       "Dropout",
       R"("rate": 0.5, "noise_shape": [1, 8])",
       {"'noise_shape' is not supported"},
       "8"},
      {"StddevMissing", "GaussianNoise", "", {"'stddev'"}},
      {"StddevNegative", "GaussianNoise", R"("stddev": -0.5)", {"'stddev'"}},
      {"GaussianRateOne", "GaussianDropout", R"("rate": 1)", {"'rate'", "smaller than 1"}},
      {"ReLUNegativeMaximum", "ReLU", R"("max_value": -1)", {"'max_value'"}},
      {"LeakyReLUText", "LeakyReLU", R"("alpha": "big")", {"'alpha'"}},
      {"PReLUSharesNoAxis", "PReLU", R"("shared_axes": [4])", {"'shared_axes'", "1 to 3"}},
      {"PReLUSharesTheBatch", "PReLU", R"("shared_axes": [0])", {"'shared_axes'"}},
      {"SoftmaxOverRows", "Softmax", R"("axis": 1)", {"'axis'", "last"}},
      {"ActivationMissing", "Activation", "", {"'activation' is missing"}},
      {"NormalizationOverTheBatch", "LayerNormalization", R"("axis": 0)", {"'axis'", "last"}},
      {"NormalizationOverTheFirst", "LayerNormalization", R"("axis": [1, 3])", {"'axis'"}},
      {"NormalizationTwiceTheSame", "LayerNormalization", R"("axis": [3, 3])", {"'axis'"}},
      {"RmsScaling", "LayerNormalization", R"("rms_scaling": true)", {"'rms_scaling'"}},
      {"TimeDistributedWithoutALayer", "TimeDistributed", "", {"'layer' must be a layer"}},
      {"TimeDistributedOfVectors",
       "TimeDistributed",
       R"("layer": {"class_name": "Dense", "config": {"units": 1}})",
       {"2 or more dimensions"},
       "8"},
      {"TimeDistributedNormalization",
       "TimeDistributed",
       R"("layer": {"class_name": "BatchNormalization", "config": {}})",
       {"'layer'", "BatchNormalization that trains"}},
      {"TimeDistributedEmbedding",
       "TimeDistributed",
       R"("layer": {"class_name": "Embedding", "config": {"input_dim": 3, "output_dim": 2,
          "mask_zero": true}})",
       {"'layer'", "makes a mask"}},
      {"AlphaDropoutOfAll", "AlphaDropout", R"("rate": 1)", {"'rate'", "smaller than 1"}},
      {"GroupsDoNotDivide", "GroupNormalization", R"("groups": 2)", {"'groups'", "3 channels"}},
      {"GroupsZero", "GroupNormalization", R"("groups": 0)", {"'groups'"}},
      {"GroupsOverRows", "GroupNormalization", R"("axis": 1)", {"'axis'", "last"}},
      {"RmsOverTheFirst", "RMSNormalization", R"("axis": 1)", {"'axis'", "last"}},
      {"UnitOverTheBatch", "UnitNormalization", R"("axis": [0, 1])", {"'axis'", "batch"}},
      {"UnitWithAGap", "UnitNormalization", R"("axis": [1, 3])", {"'axis'", "adjacent"}},
      {"EpsilonNegative", "BatchNormalization", R"("epsilon": -1)", {"'epsilon'"}},
      {"MomentumAboveOne", "BatchNormalization", R"("momentum": 1.5)", {"'momentum'"}},
      {"Renormalization", "BatchNormalization", R"("renorm": true)", {"'renorm'"}},
      {"MeanWithoutVariance", "Normalization", R"("mean": 1)", {"'mean' and 'variance'"}},
      {"VarianceNegative", "Normalization", R"("mean": 1, "variance": -1)", {"negative: -1"}},
      {"MeansDoNotFit",
       "Normalization",
       R"("mean": [1, 2], "variance": [1, 2])",
       {"'mean'", "2 numbers", "1 or 3"}},
      {"ScaleMissing", "Rescaling", "", {"'scale' is missing"}},
      {"ScaleAsText", "Rescaling", R"("scale": "1/255")", {"'scale'", "numbers"}},
  };
}

std::vector<BadLayer> Shapes() {
  return {
      {"TokensMissing", "CategoryEncoding", "", {"'num_tokens' is missing"}},
      {"OutputModeUnknown",
       "CategoryEncoding",
       R"("num_tokens": 3, "output_mode": "int")",
       {"'output_mode'", "multi_hot"}},
      {"TokensAbsurd", "CategoryEncoding", R"("num_tokens": 4000000000)", {"'num_tokens'"}},
      {"VocabularyMissing", "StringLookup", "", {"'vocabulary' is missing", "adapt()"}},
      {"VocabularyOfNumbers", "StringLookup", R"("vocabulary": [1])", {"'vocabulary'", "no text"}},
      {"TermTwice", "StringLookup", R"("vocabulary": ["a", "a"])", {"\"a\" twice"}},
      {"MaskToken",
       "StringLookup",
       R"("vocabulary": ["a"], "mask_token": "")",
       {"'mask_token' is not supported"}},
      {"NumbersLookedUp",
       "StringLookup",
       R"("vocabulary": ["a"])",
       {"is not an InputLayer of dtype string"}},
      {"BinsMissing", "Discretization", "", {"'bin_boundaries' is missing"}},
      {"BinsDescending", "Discretization", R"("bin_boundaries": [2, 1])", {"ascending"}},
      {"EquationMissing",
       "EinsumDense",
       R"("output_shape": 3)",
       {"'equation'", "abc,cd->abd"},
       "8"},
      {"EquationOfTheBatch",
       "EinsumDense",
       R"("equation": "ab,ac->bc", "output_shape": 3)",
       {"'equation'", "batch"},
       "8"},
      {"EquationSums",
       "EinsumDense",
       R"("equation": "abc,cd->ad", "output_shape": 3)",
       {"'equation'", "'b' in the input only"},
       "8, 3"},
      {"EquationOfOtherRank",
       "EinsumDense",
       R"("equation": "abc,cd->abd", "output_shape": [8, 3])",
       {"'equation'", "3 axes", "has 2"},
       "8"},
      {"EquationWithoutAUnit",
       "EinsumDense",
       R"("equation": "ab,bc->ac", "output_shape": [null])",
       {"'output_shape'"},
       "8"},
      {"EquationBiasOfTheInput",
       "EinsumDense",
       R"("equation": "ab,bc->ac", "output_shape": 3, "bias_axes": "b")",
       {"'bias_axes'"},
       "8"},
      {"DimsMissing", "Permute", "", {"'dims'"}},
      {"DimsTwice", "Permute", R"("dims": [1, 1, 2])", {"'dims'", "once"}},
      {"DimsTooFew", "Permute", R"("dims": [2, 1])", {"'dims'", "1 to 3"}},
      {"DimsOfNothing", "Permute", R"("dims": [4, 2, 1])", {"'dims'"}},
      {"RepeatZero", "RepeatVector", R"("n": 0)", {"'n'"}, "8"},
      {"RepeatOfImages", "RepeatVector", R"("n": 2)", {"1 dimension(s)"}},
      {"EmbeddingWithoutRows", "Embedding", R"("output_dim": 3)", {"'input_dim'"}, "8"},
      {"EmbeddingAbsurd",
       "Embedding",
       R"("input_dim": 2147483647, "output_dim": 1000000)",
       {"elements"},
       "8"},
  };
}

std::vector<BadLayer> Merges() {
  return {
      {"SubtractOne", "Subtract", "", {"at least 2"}, "8"},
      {"MultiplyOne", "Multiply", "", {"at least 2"}, "8"},
      {"DotWithoutAxes", "Dot", "", {"'axes'"}, "8", 2},
      {"DotOfTheBatch", "Dot", R"("axes": 0)", {"'axes'", "batch"}, "8", 2},
      {"DotBeyondTheAxes", "Dot", R"("axes": 3)", {"'axes'", "(8,)"}, "8", 2},
      {"DotOfDifferentLengths", "Dot", R"("axes": [1, 2])", {"different lengths"}, "8, 3", 2},
      {"AttentionOfOne", "Attention", "", {"at least 2"}, "8, 3"},
      {"AttentionOfVectors", "Attention", "", {"(steps, width)"}, "8", 2},
      {"ScoreModeUnknown", "Attention", R"("score_mode": "sum")", {"dot, concat"}, "8, 3", 2},
      {"AdditiveAttentionDropsAll",
       "AdditiveAttention",
       R"("dropout": 1)",
       {"'dropout'"},
       "8, 3",
       2},
      {"DotOfThreeAxes", "Dot", R"("axes": [1, 1, 1])", {"'axes'"}, "8", 2},
  };
}

std::vector<BadLayer> RandomImages() {
  return {
      {"OutputSizeMissing", "AdaptiveMaxPooling2D", "", {"'output_size' is missing"}},
      {"OutputSizeZero", "AdaptiveMaxPooling2D", R"("output_size": 0)", {"'output_size'", "1 to"}},
      {"OutputSizeOfOne",
       "AdaptiveAveragePooling2D",
       R"("output_size": [2, 2, 2])",
       {"'output_size'", "one number or 2 numbers, has 3"}},
      {"OutputSizeOfImages",
       "AdaptiveAveragePooling1D",
       R"("output_size": [2, 3])",
       {"'output_size'", "1 number, has 2"},
       "8, 3"},
      {"RotationWithoutFactor", "RandomRotation", "", {"'factor' is missing"}},
      {"RotationOfThree", "RandomRotation", R"("factor": [0, 1, 1])", {"'factor'", "one or two"}},
      {"TranslationTooFar",
       "RandomTranslation",
       R"("height_factor": 1.5, "width_factor": 0)",
       {"'height_factor'", "-1 to 1"}},
      {"TranslationWithoutWidth",
       "RandomTranslation",
       R"("height_factor": 0.5)",
       {"'width_factor' is missing"}},
      {"ZoomWithoutFactor", "RandomZoom", "", {"'height_factor' is missing"}},
      {"ShearFillUnknown",
       "RandomShear",
       R"("x_factor": 0.5, "fill_mode": "mirror")",
       {"'fill_mode'", "reflect, wrap, constant, nearest"}},
      {"ShearInterpolationUnknown",
       "RandomShear",
       R"("interpolation": "bicubic")",
       {"'interpolation'", "bilinear, nearest"}},
      {"RotationOfVectors", "RandomRotation", R"("factor": 0.5)", {"3 dimension(s)"}, "8"},
      {"InvertTooOften", "RandomInvert", R"("factor": 1.5)", {"'factor'", "0 to 1"}},
      {"ValueRangeDescending",
       "RandomErasing",
       R"("value_range": [1, 0])",
       {"'value_range'", "smaller one first"}},
      {"FillOfTwo",
       "RandomErasing",
       R"("fill_value": [1, 0])",
       {"'fill_value'", "3 channels, has 2"}},
      {"ErasingMoreThanAll", "RandomErasing", R"("scale": [0.5, 2])", {"'scale'", "0 to 1"}},
      {"GrayscaleOfTwo", "RandomGrayscale", "", {"1 or 3 channels, has 2"}, "8, 8, 2"},
      {"SolarizationBelowZero",
       "Solarization",
       R"("addition_factor": -0.5)",
       {"'addition_factor'", "0 to 1"}},
  };
}

std::vector<BadLayer> CellsMasksAndPenalties() {
  return {
      {"MaskingOfVectors", "Masking", "", {"2 dimension(s)"}, "8"},
      {"MaskValueAsText", "Masking", R"("mask_value": "x")", {"'mask_value'"}, "8, 3"},
      {"MaskingOfSteps",
       "TimeDistributed",
       R"("layer": {"class_name": "Masking", "config": {}})",
       {"'layer'", "makes a mask"},
       "4, 8, 3"},
      {"ActivityRegularizerInAWrapper",
       "Bidirectional",
       R"("layer": {"class_name": "LSTM", "config": {"units": 3, "activity_regularizer": "l2"}})",
       {"'layer'", "give it to the Bidirectional"},
       "8, 3"},
      {"ActivityRegularizerOfSteps",
       "TimeDistributed",
       R"("layer": {"class_name": "Dense", "config": {"units": 3, "activity_regularizer": "l2"}})",
       {"'layer'", "give it to the TimeDistributed"},
       "8, 3"},
      {"ActivityRegularizationBelowZero",
       "ActivityRegularization",
       R"("l1": -1)",
       {"'l1'", "0 or more"},
       "8"},
      {"OrthogonalBias",
       "Dense",
       R"("units": 3, "bias_regularizer": {"class_name": "OrthogonalRegularizer", "config": {}})",
       {"'bias_regularizer'", "matrices", "not for (3,)"},
       "8"},
      {"OrthogonalOutput",
       "Dense",
       R"("units": 3,
          "activity_regularizer": {"class_name": "OrthogonalRegularizer", "config": {}})",
       {"'activity_regularizer'", "not for outputs"},
       "8"},
      {"ConvLSTMOfImages", "ConvLSTM2D", R"("filters": 2, "kernel_size": 2)", {"4 dimension(s)"}},
      {"ConvLSTMDropout",
       "ConvLSTM1D",
       R"("filters": 2, "kernel_size": 2, "dropout": 0.5)",
       {"'dropout'", "not supported"}},
      {"ConvLSTMBeyondTheImage",
       "ConvLSTM2D",
       R"("filters": 2, "kernel_size": 9)",
       {"a window of 9 does not fit"},
       "3, 8, 8, 3"},
      {"ConvLSTMReturnsState",
       "ConvLSTM1D",
       R"("filters": 2, "kernel_size": 2, "return_state": true)",
       {"'return_state'"}},
      {"RNNWithoutCell", "RNN", "", {"'cell'", "LSTMCell"}, "8, 3"},
      {"RNNOfALayer",
       "RNN",
       R"("cell": {"class_name": "LSTM", "config": {"units": 3}})",
       {"'cell'", "is a LSTM", "LSTMCell"},
       "8, 3"},
      {"RNNOfStackedCells",
       "RNN",
       R"("cell": {"class_name": "StackedRNNCells", "config": {"cells": []}})",
       {"'cell'", "one RNN for each"},
       "8, 3"},
  };
}

std::vector<BadLayer> Sequences() {
  return {
      {"UnitsMissing", "LSTM", "", {"'units' is missing"}, "8, 3"},
      {"UnitsAbsurd", "GRU", R"("units": 1000000000)", {"'units'"}, "8, 3"},
      {"SequencesOfVectors", "LSTM", R"("units": 3)", {"2 dimension(s)"}, "8"},
      {"Stateful", "LSTM", R"("units": 3, "stateful": true)", {"'stateful'"}, "8, 3"},
      {"StepsReturnState",
       "TimeDistributed",
       R"("layer": {"class_name": "GRU", "config": {"units": 3, "return_state": true}})",
       {"'layer'", "returns its states"},
       "2, 8, 3"},
      {"OutputOfALayerWithOne",
       "LayerOutput",
       R"("output": 1)",
       {"'a' has one output", "return_state"},
       "8, 3"},
      {"RecurrentDropout",
       "LSTM",
       R"("units": 3, "recurrent_dropout": 1)",
       {"'recurrent_dropout'", "smaller than 1"},
       "8, 3"},
      {"SoftmaxGates",
       "LSTM",
       R"("units": 3, "recurrent_activation": "softmax")",
       {"'recurrent_activation'"},
       "8, 3"},
      {"GeluCell", "SimpleRNN", R"("units": 3, "activation": "gelu")", {"'activation'"}, "8, 3"},
      {"OrthogonalTooLarge",
       "LSTM",
       R"("units": 4096)",
       {"Orthogonal", "recurrent_kernel"},
       "8, 3"},
      {"UnknownRecurrentArgument",
       "SimpleRNN",
       R"("units": 3, "reset_after": true)",
       {"unknown argument 'reset_after'"},
       "8, 3"},
      {"BidirectionalOfNothing", "Bidirectional", "", {"'layer'", "LSTM"}, "8, 3"},
      {"BidirectionalOfDense",
       "Bidirectional",
       R"("layer": {"class_name": "Dense", "config": {"units": 3}})",
       {"'layer'"},
       "8, 3"},
      {"BidirectionalMerge",
       "Bidirectional",
       R"("layer": {"class_name": "LSTM", "config": {"units": 3}}, "merge_mode": "max")",
       {"'merge_mode'", "concat"},
       "8, 3"},
      {"BidirectionalForwardsTwice",
       "Bidirectional",
       R"("layer": {"class_name": "GRU", "config": {"units": 3}},
          "backward_layer": {"class_name": "GRU", "config": {"units": 3}})",
       {"'backward_layer' backwards"},
       "8, 3"},
  };
}

std::vector<BadLayer> AttentionsAndInitializers() {
  return {
      {"HeadsMissing", "MultiHeadAttention", R"("key_dim": 3)", {"'num_heads'"}, "8, 3", 2},
      {"AttentionOfOneInput",
       "MultiHeadAttention",
       R"("num_heads": 1, "key_dim": 3)",
       {"at least 2"},
       "8, 3"},
      {"AttentionOfImages",
       "MultiHeadAttention",
       R"("num_heads": 1, "key_dim": 3)",
       {"(steps, width)"},
       "8, 8, 3",
       2},
      {"AttentionAlongTwoAxes",
       "MultiHeadAttention",
       R"("num_heads": 1, "key_dim": 3, "attention_axes": [1, 2])",
       {"'attention_axes'"},
       "8, 3",
       2},
      {"AttentionMaskMissing",
       "MultiHeadAttention",
       R"("num_heads": 1, "key_dim": 3, "attention_mask": true)",
       {"at least 3"},
       "8, 3",
       2},
      {"AttentionMaskOfOtherSteps",
       "MultiHeadAttention",
       R"("num_heads": 1, "key_dim": 3, "attention_mask": true)",
       {"its attention_mask has shape (8, 3); the scores have (1, 8, 8)"},
       "8, 3",
       3},
      {"AttentionDropsAll",
       "MultiHeadAttention",
       R"("num_heads": 1, "key_dim": 3, "dropout": 1)",
       {"'dropout'"},
       "8, 3",
       2},
      {"IdentityKernel",
       "Conv2D",
       R"("filters": 3, "kernel_size": 1, "kernel_initializer": "identity")",
       {"Identity", "two dimensions"}},
      {"OrthogonalVector",
       "Dense",
       R"("units": 3, "bias_initializer": "orthogonal")",
       {"Orthogonal", "bad/bias"},
       "8"},
  };
}

std::string NameOf(const ::testing::TestParamInfo<BadLayer>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(Convolutions, BadLayerTest, ::testing::ValuesIn(Convolutions()), NameOf);
INSTANTIATE_TEST_SUITE_P(Images, BadLayerTest, ::testing::ValuesIn(Images()), NameOf);
INSTANTIATE_TEST_SUITE_P(Elements, BadLayerTest, ::testing::ValuesIn(Elements()), NameOf);
INSTANTIATE_TEST_SUITE_P(OtherConvolutions, BadLayerTest, ::testing::ValuesIn(OtherConvolutions()),
                         NameOf);
INSTANTIATE_TEST_SUITE_P(Shapes, BadLayerTest, ::testing::ValuesIn(Shapes()), NameOf);
INSTANTIATE_TEST_SUITE_P(Merges, BadLayerTest, ::testing::ValuesIn(Merges()), NameOf);
INSTANTIATE_TEST_SUITE_P(Attentions, BadLayerTest, ::testing::ValuesIn(AttentionsAndInitializers()),
                         NameOf);
INSTANTIATE_TEST_SUITE_P(RandomImages, BadLayerTest, ::testing::ValuesIn(RandomImages()), NameOf);
INSTANTIATE_TEST_SUITE_P(CellsMasksAndPenalties, BadLayerTest,
                         ::testing::ValuesIn(CellsMasksAndPenalties()), NameOf);
INSTANTIATE_TEST_SUITE_P(Sequences, BadLayerTest, ::testing::ValuesIn(Sequences()), NameOf);

// Invalid graphs.
absl::Status Refusal(const std::vector<TestLayer>& layers) {
  return Model::Create(SpecOf(layers)).status();
}

const TestLayer kInput = {"input", "InputLayer", R"({"batch_shape": [null, 5]})"};

TEST(BadGraphTest, ASharedLayerWhoseCallsDifferInShapeIsRefused) {
  const absl::Status status =
      Refusal({kInput,
               {"d", "Dense", R"({"units": 3})"},
               {.name = "d:1", .class_name = "Dense", .config = R"({"units": 3})", .shares = "d"}});
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(status.message().find("other shapes in this call than in the call 'd'"),
            std::string::npos)
      << status;
}

TEST(BadGraphTest, ASharedLayerWithoutOwnerIsRefused) {
  const absl::Status status = Refusal(
      {kInput,
       {.name = "d", .class_name = "Dense", .config = R"({"units": 3})", .shares = "nobody"}});
  EXPECT_NE(status.message().find("'nobody', which is not a layer before it"), std::string::npos)
      << status;
}

TEST(BadGraphTest, WrongStatesAreRefused) {
  const TestLayer steps = {"steps", "InputLayer", R"({"batch_shape": [null, 4, 2]})"};
  const TestLayer state = {"state", "InputLayer", R"({"batch_shape": [null, 3]})"};
  const TestLayer encoder = {"encoder", "LSTM", R"({"units": 3, "return_state": true})", {"steps"}};
  const struct {
    std::vector<TestLayer> layers;
    std::string message;
  } cases[] = {
      {{steps, state, {"d", "LSTM", R"({"units": 3})", {"steps", "state"}}},
       "takes 2 initial state(s), has 1"},
      {{steps, state, {"d", "GRU", R"({"units": 3})", {"steps", "state", "state"}}},
       "takes 1 initial state(s), has 2"},
      {{steps, state, {"d", "GRU", R"({"units": 2})", {"steps", "state"}}},
       "initial state 0 has the shape (3,), not (2,)"},
      {{steps, state, {"d", "GRU", R"({"units": 3})", {"state", "state"}}},
       "takes a sequence with 2 dimensions beside the batch, has (3,)"},
      {{steps, encoder, {"s", "LayerOutput", R"({"output": 3})"}},
       "argument 'output' is 3, and layer 'encoder' has 3 outputs, from 0"},
      {{steps, encoder, {"s", "LayerOutput"}}, "argument 'output' is missing"},
      {{steps, encoder}, "the model's output 'encoder' has several outputs"},
      {{steps, encoder, {"d", "Dense", R"({"units": 3})"}},
       "its input 'encoder' has several outputs (return_state); it takes one"},
      {{steps,
        encoder,
        {"d",
         "Bidirectional",
         R"({"layer": {"class_name": "LSTM", "config": {"units": 3, "return_state": true}},
             "backward_layer": {"class_name": "GRU", "config": {"units": 3, "return_state": true,
                                "go_backwards": true}}})",
         {"steps"}}},
       "'backward_layer' must be of the class of 'layer'"},
  };
  for (const auto& c : cases) {
    const absl::Status status = Refusal(c.layers);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_NE(status.message().find(c.message), std::string::npos) << status;
  }
}

TEST(BadGraphTest, AMaskThatReachesTheOutputIsRefused) {
  const absl::Status status =
      Refusal({{"ids", "InputLayer", R"({"batch_shape": [null, 3], "dtype": "int32"})"},
               {"table", "Embedding", R"({"input_dim": 3, "output_dim": 2, "mask_zero": true})"},
               {"d", "Dense", R"({"units": 3})"}});
  EXPECT_NE(status.message().find("the model's output 'd' has a mask"), std::string::npos)
      << status;
}

TEST(BadGraphTest, ValuesThatDependOnDifferentMasksAreRefused) {
  const absl::Status status =
      Refusal({{"ids", "InputLayer", R"({"batch_shape": [null, 3], "dtype": "int32"})"},
               {"s", "Embedding", R"({"input_dim": 3, "output_dim": 2, "mask_zero": true})"},
               {"t", "Embedding", R"({"input_dim": 3, "output_dim": 2})", {"ids"}},
               {"most", "Maximum", "{}", {"s", "t"}},
               {"pool", "GlobalAveragePooling1D"}});
  EXPECT_NE(
      status.message().find("layer 'most' (Maximum): its inputs have different masks, or only "
                            "some have one"),
      std::string::npos)
      << status;
}

TEST(BadGraphTest, MasksOfDifferentLengthsAreRefused) {
  const absl::Status status = Refusal(
      {{"ids", "InputLayer", R"({"batch_shape": [null, 3], "dtype": "int32"})"},
       {"others", "InputLayer", R"({"batch_shape": [null, 1], "dtype": "int32"})"},
       {"s", "Embedding", R"({"input_dim": 3, "output_dim": 2, "mask_zero": true})", {"ids"}},
       {"t", "Embedding", R"({"input_dim": 3, "output_dim": 2, "mask_zero": true})", {"others"}},
       {"sum", "Add", "{}", {"s", "t"}},
       {"pool", "GlobalAveragePooling1D"}});
  EXPECT_NE(status.message().find("layer 'sum' (Add): the mask of layer 'others' has 1 steps, the "
                                  "output (3, 2)"),
            std::string::npos)
      << status;
}

}  // namespace
}  // namespace cairn::nn::testing
