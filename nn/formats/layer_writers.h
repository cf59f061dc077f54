#ifndef CAIRN_NN_FORMATS_LAYER_WRITERS_H_
#define CAIRN_NN_FORMATS_LAYER_WRITERS_H_

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace cairn::nn {

// The layers that formats of graphs (ONNX, SavedModel) can express, with the method of the format's
// Writer that adds the operators of a layer and returns the name of its output. A Writer has all of
// these methods, and this class as a friend. It refuses the arguments that its format does not
// have.
template <typename Writer>
class LayerWriters {
 public:
  using Write = absl::StatusOr<std::string> (Writer::*)();

  // Null: there is no such layer in graphs.
  static Write Find(std::string_view class_name) {
    const auto* const row =
        std::find_if(std::begin(kRows), std::end(kRows),
                     [class_name](const Row& each) { return class_name == each.class_name; });
    return row == std::end(kRows) ? nullptr : row->write;
  }

 private:
  struct Row {
    const char* class_name;
    Write write;
  };
  static constexpr Row kRows[] = {
      {"Activation", &Writer::OnlyActivation},
      {"ActivityRegularization", &Writer::Same},
      {"Add", &Writer::Merge},
      {"Average", &Writer::Merge},
      {"AveragePooling1D", &Writer::Pooling},
      {"AveragePooling2D", &Writer::Pooling},
      {"BatchNormalization", &Writer::BatchNormalization},
      {"Bidirectional", &Writer::Recurrent},
      {"CategoryEncoding", &Writer::CategoryEncoding},
      {"Concatenate", &Writer::Concatenate},
      {"Conv1D", &Writer::Convolution},
      {"Conv1DTranspose", &Writer::TransposedConvolution},
      {"Conv2D", &Writer::Convolution},
      {"Conv2DTranspose", &Writer::TransposedConvolution},
      {"Cos", &Writer::OnlyActivation},
      {"Cropping1D", &Writer::Pad},
      {"Cropping2D", &Writer::Pad},
      {"Dense", &Writer::Dense},
      {"DepthwiseConv1D", &Writer::Convolution},
      {"DepthwiseConv2D", &Writer::Convolution},
      {"Dot", &Writer::Dot},
      {"Dropout", &Writer::Same},
      {"ELU", &Writer::OnlyActivation},
      {"Embedding", &Writer::Embedding},
      {"Erf", &Writer::OnlyActivation},
      {"Flatten", &Writer::Reshape},
      {"Floor", &Writer::OnlyActivation},
      {"GRU", &Writer::Recurrent},
      {"GaussianDropout", &Writer::Same},
      {"GaussianNoise", &Writer::Same},
      {"GlobalAveragePooling1D", &Writer::GlobalPooling},
      {"GlobalAveragePooling2D", &Writer::GlobalPooling},
      {"GlobalMaxPooling1D", &Writer::GlobalPooling},
      {"GlobalMaxPooling2D", &Writer::GlobalPooling},
      {"Hashing", &Writer::Hashing},
      {"Identity", &Writer::Identity},
      {"InputLayer", &Writer::Input},
      {"IntegerLookup", &Writer::IntegerLookup},
      {"LSTM", &Writer::Recurrent},
      {"LayerNormalization", &Writer::LayerNormalization},
      {"LayerOutput", &Writer::LayerOutput},
      {"LeakyReLU", &Writer::OnlyActivation},
      {"Log", &Writer::OnlyActivation},
      {"Masking", &Writer::Masking},
      {"MaxPooling1D", &Writer::Pooling},
      {"MaxPooling2D", &Writer::Pooling},
      {"Maximum", &Writer::Merge},
      {"Minimum", &Writer::Merge},
      {"MultiHeadAttention", &Writer::Attention},
      {"Multiply", &Writer::Merge},
      {"Normalization", &Writer::Affine},
      {"PReLU", &Writer::PRelu},
      {"Permute", &Writer::Permute},
      {"RNN", &Writer::Recurrent},
      {"RandomBrightness", &Writer::Same},
      {"RandomContrast", &Writer::Same},
      {"RandomErasing", &Writer::Same},
      {"RandomFlip", &Writer::Same},
      {"RandomGrayscale", &Writer::Same},
      {"RandomInvert", &Writer::Same},
      {"RandomRotation", &Writer::Same},
      {"RandomShear", &Writer::Same},
      {"RandomTranslation", &Writer::Same},
      {"RandomZoom", &Writer::Same},
      {"ReLU", &Writer::OnlyActivation},
      {"Reciprocal", &Writer::OnlyActivation},
      {"RepeatVector", &Writer::Repeat},
      {"Rescaling", &Writer::Affine},
      {"Reshape", &Writer::Reshape},
      {"Resizing", &Writer::Resizing},
      {"SeparableConv1D", &Writer::SeparableConvolution},
      {"SeparableConv2D", &Writer::SeparableConvolution},
      {"Sign", &Writer::OnlyActivation},
      {"SimpleRNN", &Writer::Recurrent},
      {"Sin", &Writer::OnlyActivation},
      {"Softmax", &Writer::OnlyActivation},
      {"Solarization", &Writer::Same},
      {"SpatialDropout1D", &Writer::Same},
      {"SpatialDropout2D", &Writer::Same},
      {"Sqrt", &Writer::OnlyActivation},
      {"StringLookup", &Writer::StringLookup},
      {"Subtract", &Writer::Merge},
      {"TextVectorization", &Writer::TextVectorization},
      {"UpSampling1D", &Writer::Resizing},
      {"UpSampling2D", &Writer::Resizing},
      {"ZeroPadding1D", &Writer::Pad},
      {"ZeroPadding2D", &Writer::Pad},
  };
};

// Columns [begin, end) of rows of `width`.
std::vector<float> Columns(const std::vector<float>& values, int64_t width, int64_t begin,
                           int64_t end);

}  // namespace cairn::nn

#endif  // CAIRN_NN_FORMATS_LAYER_WRITERS_H_
