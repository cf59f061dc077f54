#ifndef CAIRN_NN_FORMATS_ONNX_OPERATORS_H_
#define CAIRN_NN_FORMATS_ONNX_OPERATORS_H_

#include "nn/formats/onnx_call.h"
#include "nn/formats/onnx_pattern.h"

namespace cairn::nn {

// Activations: Relu, Sigmoid, Softmax and others.
OnnxOutputs ReadOnnxActivation(const OnnxCall& call);
OnnxOutputs ReadOnnxSoftmax(const OnnxCall& call);
OnnxOutputs ReadOnnxClip(const OnnxCall& call);
OnnxOutputs ReadOnnxPRelu(const OnnxCall& call);

// Arithmetic: of computed values a merging layer, with constants the bias of the layer before or a
// Rescaling.
OnnxOutputs ReadOnnxAdd(const OnnxCall& call);
OnnxOutputs ReadOnnxSub(const OnnxCall& call);
OnnxOutputs ReadOnnxMul(const OnnxCall& call);
OnnxOutputs ReadOnnxDiv(const OnnxCall& call);
OnnxOutputs ReadOnnxNeg(const OnnxCall& call);
OnnxOutputs ReadOnnxPow(const OnnxCall& call);
OnnxOutputs ReadOnnxMean(const OnnxCall& call);
OnnxOutputs ReadOnnxMax(const OnnxCall& call);
OnnxOutputs ReadOnnxMin(const OnnxCall& call);

// Products and normalizations.
OnnxOutputs ReadOnnxGemm(const OnnxCall& call);
OnnxOutputs ReadOnnxMatMul(const OnnxCall& call);
OnnxOutputs ReadOnnxEinsum(const OnnxCall& call);  // The one that a Dot is exported as.
OnnxOutputs ReadOnnxBatchNormalization(const OnnxCall& call);
OnnxOutputs ReadOnnxLayerNormalization(const OnnxCall& call);
OnnxOutputs ReadOnnxGroupNormalization(const OnnxCall& call);

// Applies an activation that several operators compute to the only value of the call.
OnnxOutputs ApplyOnnxActivation(const OnnxCall& call, const OnnxActivation& activation);

// Reads an attention, whose inputs are those of the call.
OnnxOutputs ReadOnnxAttention(const OnnxCall& call, const OnnxAttention& attention);

}  // namespace cairn::nn

#endif  // CAIRN_NN_FORMATS_ONNX_OPERATORS_H_
