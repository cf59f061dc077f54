#include "nn/layers/create_layer.h"

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "nn/layer_config.h"
#include "nn/layers/activation_layer.h"
#include "nn/layers/adaptive_pooling.h"
#include "nn/layers/affine.h"
#include "nn/layers/attention.h"
#include "nn/layers/batch_normalization.h"
#include "nn/layers/category_encoding.h"
#include "nn/layers/concatenate.h"
#include "nn/layers/conv2d.h"
#include "nn/layers/conv2d_transpose.h"
#include "nn/layers/conv3d.h"
#include "nn/layers/conv_lstm.h"
#include "nn/layers/dense.h"
#include "nn/layers/discretization.h"
#include "nn/layers/dot.h"
#include "nn/layers/dropout.h"
#include "nn/layers/einsum_dense.h"
#include "nn/layers/embedding.h"
#include "nn/layers/gaussian_noise.h"
#include "nn/layers/global_pooling.h"
#include "nn/layers/input.h"
#include "nn/layers/layer_normalization.h"
#include "nn/layers/masking.h"
#include "nn/layers/merge.h"
#include "nn/layers/pooling2d.h"
#include "nn/layers/prelu.h"
#include "nn/layers/preparation.h"
#include "nn/layers/random_affine.h"
#include "nn/layers/random_color.h"
#include "nn/layers/random_crop.h"
#include "nn/layers/random_flip.h"
#include "nn/layers/random_pixels.h"
#include "nn/layers/rearranging.h"
#include "nn/layers/recurrent.h"
#include "nn/layers/reshape.h"
#include "nn/layers/resizing.h"
#include "nn/layers/score_attention.h"
#include "nn/layers/separable_conv2d.h"
#include "nn/layers/string_lookup.h"
#include "nn/layers/time_distributed.h"

namespace cairn::nn {
namespace {

struct KnownLayer {
  const char* class_name;
  absl::StatusOr<std::unique_ptr<const Layer>> (*create)(LayerConfig& config);
};

absl::StatusOr<std::unique_ptr<const Layer>> CreateTimeDistributed(LayerConfig& config) {
  return TimeDistributedLayer::Create(config, CreateLayer);
}

// All supported layers. A new layer is a pair of files here, one kernel per device, and one line.
constexpr KnownLayer kKnownLayers[] = {
    {"Activation", ActivationLayer::Create},
    {"ActivityRegularization", ReshapeLayer::Create},
    {"AdaptiveAveragePooling1D", AdaptivePoolingLayer::Create},
    {"AdaptiveAveragePooling2D", AdaptivePoolingLayer::Create},
    {"AdaptiveAveragePooling3D", AdaptivePoolingLayer::Create},
    {"AdaptiveMaxPooling1D", AdaptivePoolingLayer::Create},
    {"AdaptiveMaxPooling2D", AdaptivePoolingLayer::Create},
    {"AdaptiveMaxPooling3D", AdaptivePoolingLayer::Create},
    {"Add", MergeLayer::Create},
    {"AdditiveAttention", ScoreAttentionLayer::Create},
    {"AlphaDropout", DropoutLayer::Create},
    {"Attention", ScoreAttentionLayer::Create},
    {"Average", MergeLayer::Create},
    {"AveragePooling1D", Pooling2DLayer::Create},
    {"AveragePooling2D", Pooling2DLayer::Create},
    {"AveragePooling3D", Pooling2DLayer::Create},
    {"BatchNormalization", BatchNormalizationLayer::Create},
    {"Bidirectional", RecurrentLayer::CreateBidirectional},
    {"CategoryEncoding", CategoryEncodingLayer::Create},
    {"CenterCrop", ResizingLayer::Create},
    {"Concatenate", ConcatenateLayer::Create},
    {"Conv1D", Conv2DLayer::Create},
    {"Conv1DTranspose", Conv2DTransposeLayer::Create},
    {"Conv2D", Conv2DLayer::Create},
    {"Conv2DTranspose", Conv2DTransposeLayer::Create},
    {"Conv3D", Conv3DLayer::Create},
    {"Conv3DTranspose", Conv3DLayer::CreateTransposed},
    {"ConvLSTM1D", ConvLstmLayer::Create},
    {"ConvLSTM2D", ConvLstmLayer::Create},
    {"Cos", ActivationLayer::Create},
    {"Cropping1D", RearrangingLayer::Create},
    {"Cropping2D", RearrangingLayer::Create},
    {"Cropping3D", RearrangingLayer::Create},
    {"Dense", DenseLayer::Create},
    {"DepthwiseConv1D", Conv2DLayer::Create},
    {"DepthwiseConv2D", Conv2DLayer::Create},
    {"Discretization", DiscretizationLayer::Create},
    {"Dot", DotLayer::Create},
    {"Dropout", DropoutLayer::Create},
    {"ELU", ActivationLayer::Create},
    {"EinsumDense", EinsumDenseLayer::Create},
    {"Embedding", EmbeddingLayer::Create},
    {"Erf", ActivationLayer::Create},
    {"Flatten", ReshapeLayer::Create},
    {"Floor", ActivationLayer::Create},
    {"GRU", RecurrentLayer::Create},
    {"GaussianDropout", GaussianNoiseLayer::Create},
    {"GaussianNoise", GaussianNoiseLayer::Create},
    {"GlobalAveragePooling1D", GlobalPoolingLayer::Create},
    {"GlobalAveragePooling2D", GlobalPoolingLayer::Create},
    {"GlobalAveragePooling3D", GlobalPoolingLayer::Create},
    {"GlobalMaxPooling1D", GlobalPoolingLayer::Create},
    {"GlobalMaxPooling2D", GlobalPoolingLayer::Create},
    {"GlobalMaxPooling3D", GlobalPoolingLayer::Create},
    {"GroupNormalization", LayerNormalizationLayer::CreateGroup},
    {"Identity", ReshapeLayer::Create},
    {"InputLayer", InputLayer::Create},
    {"LSTM", RecurrentLayer::Create},
    {"LayerNormalization", LayerNormalizationLayer::Create},
    {"LeakyReLU", ActivationLayer::Create},
    {"Log", ActivationLayer::Create},
    {"Masking", MaskingLayer::Create},
    {"MaxPooling1D", Pooling2DLayer::Create},
    {"MaxPooling2D", Pooling2DLayer::Create},
    {"MaxPooling3D", Pooling2DLayer::Create},
    {"Maximum", MergeLayer::Create},
    {"Minimum", MergeLayer::Create},
    {"MultiHeadAttention", AttentionLayer::Create},
    {"Multiply", MergeLayer::Create},
    {"Normalization", AffineLayer::Create},
    {"PReLU", PReLULayer::Create},
    {"Permute", RearrangingLayer::Create},
    {"RMSNormalization", LayerNormalizationLayer::CreateRms},
    {"RNN", RecurrentLayer::CreateRnn},
    {"RandomBrightness", RandomColorLayer::Create},
    {"RandomContrast", RandomColorLayer::Create},
    {"RandomCrop", RandomCropLayer::Create},
    {"RandomErasing", RandomPixelsLayer::Create},
    {"RandomFlip", RandomFlipLayer::Create},
    {"RandomGrayscale", RandomPixelsLayer::Create},
    {"RandomInvert", RandomPixelsLayer::Create},
    {"RandomRotation", RandomAffineLayer::Create},
    {"RandomShear", RandomAffineLayer::Create},
    {"RandomTranslation", RandomAffineLayer::Create},
    {"RandomZoom", RandomAffineLayer::Create},
    {"ReLU", ActivationLayer::Create},
    {"Reciprocal", ActivationLayer::Create},
    {"RepeatVector", RearrangingLayer::Create},
    {"Rescaling", AffineLayer::Create},
    {"Reshape", ReshapeLayer::Create},
    {"Resizing", ResizingLayer::Create},
    {"SeparableConv1D", SeparableConv2DLayer::Create},
    {"SeparableConv2D", SeparableConv2DLayer::Create},
    {"Sign", ActivationLayer::Create},
    {"SimpleRNN", RecurrentLayer::Create},
    {"Sin", ActivationLayer::Create},
    {"Softmax", ActivationLayer::Create},
    {"Solarization", RandomPixelsLayer::Create},
    {"SpatialDropout1D", DropoutLayer::Create},
    {"SpatialDropout2D", DropoutLayer::Create},
    {"SpatialDropout3D", DropoutLayer::Create},
    {"Sqrt", ActivationLayer::Create},
    {"StringLookup", StringLookupLayer::Create},
    {"Subtract", MergeLayer::Create},
    {"TimeDistributed", CreateTimeDistributed},
    {"UnitNormalization", LayerNormalizationLayer::CreateUnit},
    {"UpSampling1D", ResizingLayer::Create},
    {"UpSampling2D", ResizingLayer::Create},
    {"UpSampling3D", RearrangingLayer::Create},
    {"ZeroPadding1D", RearrangingLayer::Create},
    {"ZeroPadding2D", RearrangingLayer::Create},
    {"ZeroPadding3D", RearrangingLayer::Create},
};

// Layers that only exported models have.
constexpr KnownLayer kExportedLayers[] = {
    {"Hashing", HashingLayer::Create},
    {"IntegerLookup", IntegerLookupLayer::Create},
    {"TextVectorization", TextVectorizationLayer::Create},
};

}  // namespace

absl::StatusOr<std::unique_ptr<const Layer>> CreateLayer(const proto::LayerSpec& spec,
                                                         std::vector<TensorSpec> inputs) {
  std::string known_names;
  for (const KnownLayer& known : kKnownLayers) {
    if (spec.class_name() == known.class_name) {
      LayerConfig config(spec, std::move(inputs));
      return known.create(config);
    }
    absl::StrAppend(&known_names, known_names.empty() ? "" : ", ", known.class_name);
  }
  return absl::InvalidArgumentError(absl::StrCat("layer '", spec.name(), "': unknown class '",
                                                 spec.class_name(), "'; known: ", known_names));
}

absl::StatusOr<std::unique_ptr<const Layer>> CreateLayerForExport(const proto::LayerSpec& spec,
                                                                  std::vector<TensorSpec> inputs) {
  for (const KnownLayer& exported : kExportedLayers) {
    if (spec.class_name() != exported.class_name) continue;
    LayerConfig config(spec, std::move(inputs));
    return exported.create(config);
  }
  return CreateLayer(spec, std::move(inputs));
}

}  // namespace cairn::nn
