#ifndef CAIRN_NN_FORMATS_ONNX_WINDOWS_H_
#define CAIRN_NN_FORMATS_ONNX_WINDOWS_H_

#include "nn/formats/onnx_call.h"

namespace cairn::nn {

// Operators on images, volumes and sequences whose channels are ONNX's axis 1.
OnnxOutputs ReadOnnxConv(const OnnxCall& call);
OnnxOutputs ReadOnnxConvTranspose(const OnnxCall& call);
OnnxOutputs ReadOnnxPool(const OnnxCall& call);        // MaxPool, AveragePool.
OnnxOutputs ReadOnnxGlobalPool(const OnnxCall& call);  // GlobalMaxPool, GlobalAveragePool.
OnnxOutputs ReadOnnxResize(const OnnxCall& call);      // Resize, Upsample.

// ReduceMean, ReduceMax and ReduceSum over any axes but the batch: global pooling.
OnnxOutputs ReadOnnxReduce(const OnnxCall& call);

}  // namespace cairn::nn

#endif  // CAIRN_NN_FORMATS_ONNX_WINDOWS_H_
