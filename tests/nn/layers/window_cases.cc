// Convolution, pooling, and other layers for images and sequences.

#include "tests/nn/layers/conformance_cases.h"

namespace cairn::nn::testing {
namespace {

using Case = ConformanceCase;

Case Convolution(const std::string& name, const std::string& shape, const std::string& config) {
  return Between(name, shape, {"layer", "Conv2D", "{" + config + "}"});
}

std::vector<Case> ConvolutionCases() {
  return {
      Convolution("ConvolutionSame", "7, 5, 2", R"("filters": 5, "kernel_size": 3,
                  "padding": "same", "activation": "relu")"),
      Convolution("ConvolutionValid", "7, 5, 2", R"("filters": 5, "kernel_size": [3, 2])"),
      Convolution("ConvolutionStrided", "8, 5, 3", R"("filters": 6, "kernel_size": [3, 3],
                  "strides": [2, 3], "padding": "same", "activation": "gelu")"),
      Convolution("ConvolutionDilated", "9, 8, 3", R"("filters": 3, "kernel_size": [3, 2],
                  "dilation_rate": [2, 3], "padding": "same", "use_bias": false)"),
      Convolution("ConvolutionGrouped", "5, 5, 3", R"("filters": 6, "kernel_size": 3,
                  "groups": 2, "padding": "same")"),
      Convolution("ConvolutionDepthwise", "5, 5, 3", R"("filters": 4, "kernel_size": 2,
                  "groups": 4)"),
      Convolution("ConvolutionWide", "6, 6, 3", R"("filters": 32, "kernel_size": 3,
                  "padding": "same", "activation": "relu")"),
      Convolution("ConvolutionOfOnePixel", "4, 3, 2", R"("filters": 17, "kernel_size": 1)"),
      Convolution("ConvolutionOfTheWholeImage", "4, 3, 2", R"("filters": 5,
                  "kernel_size": [4, 3])"),
      Convolution("ConvolutionEvenSame", "5, 6, 2", R"("filters": 5, "kernel_size": [2, 4],
                  "padding": "same", "strides": 2)"),
      {"ConvolutionOfTheInput",
       {{"input", "InputLayer", R"({"batch_shape": [null, 7, 9, 1]})"},
        {"layer", "Conv2D",
         R"({"filters": 32, "kernel_size": 3, "padding": "same", "activation": "relu"})"},
        {"pool", "MaxPooling2D"},
        {"flat", "Flatten"},
        {"after", "Dense", R"({"units": 3})"}}},
      {"ConvolutionOfColours",
       {{"input", "InputLayer", R"({"batch_shape": [null, 6, 5, 3]})"},
        {"layer", "Conv2D", R"({"filters": 16, "kernel_size": 3, "activation": "relu"})"},
        {"after", "Dense", R"({"units": 3})"}}},
  };
}

std::vector<Case> PoolingCases() {
  return {
      Between("MaxPooling", "6, 4, 2", {"layer", "MaxPooling2D"}),
      Between("MaxPoolingCutsOff", "7, 5, 2", {"layer", "MaxPooling2D"}),
      Between("MaxPoolingOverlapping", "7, 5, 2",
              {"layer", "MaxPooling2D", R"({"pool_size": 3, "strides": [1, 2]})"}),
      Between("MaxPoolingSame", "7, 5, 2",
              {"layer", "MaxPooling2D", R"({"pool_size": [3, 2], "padding": "same"})"}),
      Between("AdaptiveAveragePooling", "7, 5, 2",
              {"layer", "AdaptiveAveragePooling2D", R"({"output_size": [3, 2]})"}),
      Between("AdaptiveAveragePoolingUp", "3, 4, 2",
              {"layer", "AdaptiveAveragePooling2D", R"({"output_size": 5})"}),
      Between("AdaptiveAveragePoolingOfSteps", "7, 2",
              {"layer", "AdaptiveAveragePooling1D", R"({"output_size": [4]})"}),
      Between("AdaptiveAveragePoolingOfVolumes", "4, 3, 5, 2",
              {"layer", "AdaptiveAveragePooling3D", R"({"output_size": [3, 1, 2]})"}),
      Between("AdaptiveMaxPooling", "7, 5, 2",
              {"layer", "AdaptiveMaxPooling2D", R"({"output_size": [4, 3]})"}),
      Between("AdaptiveMaxPoolingOfSteps", "5, 2",
              {"layer", "AdaptiveMaxPooling1D", R"({"output_size": 2})"}),
      Between("AdaptiveMaxPoolingOfVolumes", "4, 3, 5, 2",
              {"layer", "AdaptiveMaxPooling3D", R"({"output_size": 2})"}),
      Between("AveragePooling", "6, 4, 2", {"layer", "AveragePooling2D"}),
      Between("AveragePoolingOverlapping", "7, 5, 2",
              {"layer", "AveragePooling2D", R"({"pool_size": [3, 2], "strides": 1})"}),
      Between("AveragePoolingSameWithoutPadding", "6, 4, 2",
              {"layer", "AveragePooling2D", R"({"pool_size": 2, "padding": "same"})"}),
      Between("AveragePoolingSame", "7, 5, 2",
              {"layer", "AveragePooling2D", R"({"pool_size": [3, 2], "padding": "same"})"}),
      Between("GlobalAverage", "5, 3, 2", {"layer", "GlobalAveragePooling2D"}),
      Between("GlobalAverageKeepingDimensions", "5, 3, 2",
              {"layer", "GlobalAveragePooling2D", R"({"keepdims": true})"}),
  };
}

// A layer of one dimension over `shape`, steps and then channels, which become 4.
Case Steps(const std::string& name, const std::string& shape, const std::string& class_name,
           const std::string& config) {
  return Between(name, shape, {"layer", class_name, "{" + config + "}"});
}

std::vector<Case> DepthwiseCases() {
  const auto depthwise = [](const std::string& name, const std::string& shape,
                            const std::string& config) {
    return Between(name, shape, {"layer", "DepthwiseConv2D", "{" + config + "}"});
  };
  const auto separable = [](const std::string& name, const std::string& shape,
                            const std::string& config) {
    return Between(name, shape, {"layer", "SeparableConv2D", "{" + config + "}"});
  };
  return {
      depthwise("DepthwiseSame", "5, 4, 2",
                R"("kernel_size": 3, "padding": "same", "activation": "relu6")"),
      depthwise("DepthwiseMultiplied", "5, 3, 2", R"("kernel_size": 2, "depth_multiplier": 3)"),
      depthwise("DepthwiseStrided", "7, 5, 2",
                R"("kernel_size": 3, "strides": 2, "padding": "same", "use_bias": false)"),
      depthwise("DepthwiseStridesBeyondTheKernel", "7, 7, 2", R"("kernel_size": 2, "strides": 3)"),
      depthwise("DepthwiseDilated", "7, 7, 2",
                R"("kernel_size": 3, "dilation_rate": 2, "padding": "same")"),
      {"DepthwiseOfSeventeenChannels",
       {{"input", "InputLayer", R"({"batch_shape": [null, 4, 3, 2]})"},
        {"before", "Dense", R"({"units": 17})"},
        {"layer", "DepthwiseConv2D", R"({"kernel_size": 3, "padding": "same"})"},
        {"after", "Dense", R"({"units": 2})"}}},
      separable("Separable", "5, 4, 2", R"("filters": 5, "kernel_size": 3, "padding": "same")"),
      separable("SeparableMultiplied", "6, 5, 2", R"("filters": 3, "kernel_size": [2, 3],
                "strides": 2, "depth_multiplier": 2, "activation": "gelu")"),
      separable("SeparableWithoutBias", "4, 4, 2", R"("filters": 1, "kernel_size": 2,
                "use_bias": false, "activation": "relu")"),
  };
}

std::vector<Case> TransposedCases() {
  const auto transposed = [](const std::string& name, const std::string& shape,
                             const std::string& config) {
    return Between(name, shape, {"layer", "Conv2DTranspose", "{" + config + "}"});
  };
  return {
      transposed("TransposedSame", "3, 4, 2",
                 R"("filters": 5, "kernel_size": 4, "strides": 2, "padding": "same")"),
      transposed("TransposedValid", "3, 2, 2",
                 R"("filters": 3, "kernel_size": 3, "strides": 2, "activation": "relu")"),
      transposed("TransposedStridesBeyondTheKernel", "2, 3, 2",
                 R"("filters": 3, "kernel_size": 2, "strides": 3)"),
      transposed("TransposedUnstrided", "4, 3, 2",
                 R"("filters": 2, "kernel_size": [2, 3], "padding": "same", "use_bias": false)"),
      transposed("TransposedWithOutputPadding", "3, 3, 2", R"("filters": 3, "kernel_size": 3,
                 "strides": 2, "padding": "same", "output_padding": 1, "activation": "gelu")"),
      transposed("TransposedDilated", "4, 3, 2",
                 R"("filters": 2, "kernel_size": 2, "dilation_rate": 2)"),
      Steps("TransposedOfSteps", "5, 2", "Conv1DTranspose",
            R"("filters": 3, "kernel_size": 3, "strides": 2, "padding": "same")"),
  };
}

std::vector<Case> StepsCases() {
  return {
      Steps("StepsConvolution", "7, 2", "Conv1D", R"("filters": 5, "kernel_size": 3)"),
      Steps("StepsConvolutionSame", "7, 2", "Conv1D",
            R"("filters": 3, "kernel_size": 4, "strides": 2, "padding": "same")"),
      Steps("StepsConvolutionCausal", "6, 2", "Conv1D", R"("filters": 3, "kernel_size": 3,
            "padding": "causal", "dilation_rate": 2, "activation": "relu")"),
      Steps("StepsConvolutionCausalStrided", "7, 2", "Conv1D",
            R"("filters": 3, "kernel_size": 3, "padding": "causal", "strides": 2)"),
      Steps("StepsConvolutionGrouped", "5, 2", "Conv1D",
            R"("filters": 6, "kernel_size": 2, "groups": 2)"),
      Steps("StepsOfOne", "1, 2", "Conv1D", R"("filters": 3, "kernel_size": 3, "padding": "same")"),
      Steps("StepsDepthwise", "5, 2", "DepthwiseConv1D", R"("kernel_size": 3)"),
      Steps("StepsSeparable", "6, 2", "SeparableConv1D",
            R"("filters": 3, "kernel_size": 3, "padding": "causal")"),
      Steps("StepsMaxPooling", "7, 2", "MaxPooling1D", ""),
      Steps("StepsMaxPoolingSame", "7, 2", "MaxPooling1D",
            R"("pool_size": 3, "strides": 2, "padding": "same")"),
      Steps("StepsAveragePooling", "7, 2", "AveragePooling1D", R"("pool_size": 3, "strides": 1)"),
      Steps("StepsGlobalAverage", "5, 2", "GlobalAveragePooling1D", ""),
      Steps("StepsGlobalMaximum", "5, 2", "GlobalMaxPooling1D", R"("keepdims": true)"),
      Between("GlobalMaximum", "3, 5, 2", {"layer", "GlobalMaxPooling2D"}),
      Between("MaxPoolingStridesBeyondThePool", "7, 8, 2",
              {"layer", "MaxPooling2D", R"({"pool_size": 2, "strides": 3})"}),
      Steps("StepsPadding", "3, 2", "ZeroPadding1D", R"("padding": [2, 1])"),
      Steps("StepsCropping", "5, 2", "Cropping1D", ""),
      Steps("StepsUpSampling", "3, 2", "UpSampling1D", R"("size": 3)"),
  };
}

std::vector<Case> ImageCases() {
  const auto images = [](const std::string& name, const std::string& shape,
                         const std::string& class_name, const std::string& config) {
    return Between(name, shape, {"layer", class_name, "{" + config + "}"});
  };
  return {
      images("Padding", "2, 3, 2", "ZeroPadding2D", ""),
      images("PaddingUneven", "2, 3, 2", "ZeroPadding2D", R"("padding": [[0, 1], [2, 0]])"),
      images("PaddingOfRowsAndColumns", "2, 3, 2", "ZeroPadding2D", R"("padding": [2, 1])"),
      images("Cropping", "4, 5, 2", "Cropping2D", R"("cropping": [[1, 0], [2, 1]])"),
      images("CroppingOfNothing", "2, 3, 2", "Cropping2D", ""),
      images("UpSampling", "2, 3, 2", "UpSampling2D", ""),
      images("UpSamplingUneven", "2, 3, 2", "UpSampling2D", R"("size": [1, 3])"),
      images("UpSamplingBilinear", "3, 2, 2", "UpSampling2D",
             R"("size": [2, 3], "interpolation": "bilinear")"),
      images("ResizingUp", "3, 2, 2", "Resizing", R"("height": 5, "width": 3)"),
      images("ResizingDown", "7, 5, 2", "Resizing", R"("height": 3, "width": 2)"),
      images("ResizingNearest", "3, 5, 2", "Resizing",
             R"("height": 4, "width": 2, "interpolation": "nearest")"),
      images("ResizingToProportions", "6, 4, 2", "Resizing",
             R"("height": 3, "width": 3, "crop_to_aspect_ratio": true)"),
      images("CenterCrop", "5, 6, 2", "CenterCrop", R"("height": 2, "width": 3)"),
      images("CenterCropOfLittle", "2, 5, 2", "CenterCrop", R"("height": 3, "width": 3)"),
      {"ImagesOfWholeNumbers",
       {{"input", "InputLayer", R"({"batch_shape": [null, 3, 4, 2], "dtype": "uint8"})"},
        {"resize", "Resizing", R"({"height": 4, "width": 5})"},
        {"flip", "RandomFlip"},
        {"scale", "Rescaling", R"({"scale": 0.25, "offset": -0.5})"},
        {"after", "Dense", R"({"units": 2})"}}},
  };
}

std::vector<Case> RandomImageCases() {
  const auto images = [](const std::string& name, const std::string& shape,
                         const std::string& class_name, const std::string& config) {
    return Between(name, shape, {"layer", class_name, "{" + config + "}"});
  };
  return {
      images("RandomFlip", "3, 2, 2", "RandomFlip", ""),
      images("RandomFlipHorizontal", "3, 4, 2", "RandomFlip", R"("mode": "horizontal")"),
      images("RandomFlipVertical", "3, 4, 2", "RandomFlip", R"("mode": "vertical")"),
      images("RandomBrightness", "3, 2, 2", "RandomBrightness",
             R"("factor": 0.4, "value_range": [-1, 1])"),
      images("RandomBrightnessOfTwo", "3, 2, 2", "RandomBrightness",
             R"("factor": [0.1, 0.3], "value_range": [-0.5, 0.5])"),
      images("RandomContrast", "3, 4, 2", "RandomContrast",
             R"("factor": 0.8, "value_range": [-1, 1])"),
      images("RandomContrastOfTwo", "3, 4, 2", "RandomContrast",
             R"("factor": [0.5, 0.9], "value_range": [-0.5, 0.5])"),
      images("RandomTranslation", "5, 6, 2", "RandomTranslation",
             R"("height_factor": 0.6, "width_factor": [0.2, 0.9])"),
      images("RandomTranslationConstant", "5, 6, 2", "RandomTranslation",
             R"("height_factor": 0.4, "width_factor": 0.4, "fill_mode": "constant",
             "fill_value": 0.7)"),
      images("RandomTranslationOfOneRow", "1, 6, 2", "RandomTranslation",
             R"("height_factor": 0.4, "width_factor": 0.4, "interpolation": "nearest")"),
      images("RandomRotation", "5, 6, 2", "RandomRotation", R"("factor": 0.5)"),
      images("RandomRotationWrap", "4, 6, 2", "RandomRotation",
             R"("factor": 0.2, "fill_mode": "wrap")"),
      images("RandomRotationNearest", "5, 6, 2", "RandomRotation",
             R"("factor": [-0.3, 0.1], "interpolation": "nearest", "fill_mode": "constant")"),
      images("RandomZoom", "5, 6, 2", "RandomZoom", R"("height_factor": 0.8)"),
      images("RandomZoomNearest", "5, 6, 2", "RandomZoom",
             R"("height_factor": [0.2, 0.9], "width_factor": -0.5, "fill_mode": "nearest")"),
      images("RandomShear", "5, 6, 2", "RandomShear", R"("x_factor": 0.8, "y_factor": 0.3)"),
      images("RandomShearWrap", "5, 6, 2", "RandomShear",
             R"("x_factor": [0.2, 0.5], "fill_mode": "wrap", "interpolation": "nearest")"),
      {"InferringRandomRotation",
       {{"input", "InputLayer", R"({"batch_shape": [null, 3, 4, 2], "dtype": "uint8"})"},
        {"turn", "RandomRotation", R"({"factor": 0.3})", {}, "", true},
        {"before", "Dense", R"({"units": 2})"},
        {"again", "RandomRotation", R"({"factor": 0.3})", {}, "", true},
        {"after", "Dense", R"({"units": 2})"}}},
      images("RandomInvert", "3, 2, 2", "RandomInvert", R"("value_range": [0, 1])"),
      images("RandomInvertAlways", "3, 2, 2", "RandomInvert", R"("factor": [1, 1])"),
      images("Solarization", "4, 3, 2", "Solarization",
             R"("value_range": [-1, 1], "addition_factor": [0.1, 0.5],
             "threshold_factor": [0.1, 0.9])"),
      images("SolarizationOfAll", "3, 2, 2", "Solarization", ""),
      images("RandomErasing", "5, 6, 2", "RandomErasing",
             R"("factor": [1, 1], "scale": [0.2, 0.5], "fill_value": [0.2, 2, 0.5, -1],
             "value_range": [0, 1])"),
      images("RandomErasingByNoise", "5, 6, 2", "RandomErasing",
             R"("factor": 1, "value_range": [-1, 1])"),
      {"RandomGrayscale",
       {{"input", "InputLayer", R"({"batch_shape": [null, 3, 4, 2]})"},
        {"before", "Dense", R"({"units": 3})"},
        {"layer", "RandomGrayscale"},
        {"gray", "Dense", R"({"units": 1})"},
        {"again", "RandomGrayscale", R"({"factor": 1})"},
        {"invert", "RandomInvert", R"({"factor": 1})", {}, "", true},
        {"after", "Dense", R"({"units": 2})"}}},
      images("RandomCrop", "5, 6, 2", "RandomCrop", R"("height": 3, "width": 2)"),
      images("RandomCropOfAll", "3, 4, 2", "RandomCrop", R"("height": 3, "width": 4)"),
      images("RandomCropOfLittle", "2, 3, 2", "RandomCrop", R"("height": 4, "width": 4)"),
  };
}

std::vector<Case> VolumeCases() {
  const auto volumes = [](const std::string& name, const std::string& shape,
                          const std::string& class_name, const std::string& config) {
    return Between(name, shape, {"layer", class_name, "{" + config + "}"});
  };
  return {
      volumes("VolumeConvolution", "3, 4, 5, 2", "Conv3D",
              R"("filters": 3, "kernel_size": [2, 3, 2], "activation": "relu")"),
      volumes("VolumeTransposedConvolution", "2, 3, 2, 2", "Conv3DTranspose",
              R"("filters": 3, "kernel_size": [2, 3, 2], "activation": "relu")"),
      volumes("VolumeTransposedConvolutionSame", "2, 3, 2, 2", "Conv3DTranspose",
              R"("filters": 2, "kernel_size": 3, "strides": [1, 2, 2], "padding": "same",
              "use_bias": false, "activation": "softmax")"),
      volumes("VolumeTransposedConvolutionPadded", "2, 2, 2, 2", "Conv3DTranspose",
              R"("filters": 2, "kernel_size": [1, 2, 3], "strides": 2,
              "output_padding": [0, 1, 1])"),
      volumes("VolumeTransposedConvolutionDilated", "2, 3, 2, 2", "Conv3DTranspose",
              R"("filters": 1, "kernel_size": 2, "dilation_rate": [2, 1, 3])"),
      volumes("VolumeConvolutionSame", "3, 4, 2, 2", "Conv3D",
              R"("filters": 2, "kernel_size": 3, "strides": [1, 2, 1], "padding": "same",
              "use_bias": false, "activation": "gelu")"),
      volumes("VolumeConvolutionDilated", "3, 5, 4, 2", "Conv3D",
              R"("filters": 2, "kernel_size": 2, "dilation_rate": [1, 3, 2])"),
      {"VolumeConvolutionOfTheInput",
       {{"input", "InputLayer", R"({"batch_shape": [null, 2, 3, 4, 2]})"},
        {"layer", "Conv3D", R"({"filters": 3, "kernel_size": 2, "padding": "same"})"},
        {"after", "Dense", R"({"units": 2})"}}},
      volumes("VolumeMaxPooling", "4, 5, 2, 2", "MaxPooling3D", ""),
      volumes("VolumeMaxPoolingSame", "3, 4, 5, 2", "MaxPooling3D",
              R"("pool_size": [3, 2, 2], "strides": [1, 2, 3], "padding": "same")"),
      volumes("VolumeAveragePooling", "4, 3, 2, 2", "AveragePooling3D",
              R"("pool_size": [2, 3, 1], "strides": 1)"),
      volumes("VolumeAveragePoolingSame", "3, 4, 3, 2", "AveragePooling3D",
              R"("pool_size": 2, "padding": "same")"),
      volumes("VolumeGlobalMaximum", "2, 3, 2, 2", "GlobalMaxPooling3D", ""),
      volumes("VolumeGlobalAverage", "2, 3, 2, 2", "GlobalAveragePooling3D", R"("keepdims": true)"),
      volumes("VolumePadding", "2, 3, 1, 2", "ZeroPadding3D", ""),
      volumes("VolumePaddingUneven", "1, 2, 3, 2", "ZeroPadding3D",
              R"("padding": [[0, 1], [2, 0], [1, 1]])"),
      volumes("VolumePaddingByAxis", "1, 2, 2, 2", "ZeroPadding3D", R"("padding": [0, 1, 2])"),
      volumes("VolumeCropping", "3, 4, 3, 2", "Cropping3D", ""),
      volumes("VolumeCroppingUneven", "3, 4, 3, 2", "Cropping3D",
              R"("cropping": [[1, 0], [1, 2], [0, 2]])"),
      volumes("VolumeUpSampling", "2, 1, 3, 2", "UpSampling3D", ""),
      volumes("VolumeUpSamplingUneven", "2, 2, 1, 2", "UpSampling3D", R"("size": [1, 3, 2])"),
  };
}

}  // namespace

std::vector<Case> WindowCases() {
  std::vector<Case> all;
  for (const auto& cases : {ConvolutionCases(), PoolingCases(), DepthwiseCases(), TransposedCases(),
                            StepsCases(), ImageCases(), RandomImageCases(), VolumeCases()}) {
    all.insert(all.end(), cases.begin(), cases.end());
  }
  return all;
}

}  // namespace cairn::nn::testing
