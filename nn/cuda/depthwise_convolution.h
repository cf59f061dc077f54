#ifndef CAIRN_NN_CUDA_DEPTHWISE_CONVOLUTION_H_
#define CAIRN_NN_CUDA_DEPTHWISE_CONVOLUTION_H_

#include <cstddef>

#include "nn/cuda/context.h"
#include "nn/cuda/convolution.h"

namespace cairn::nn::cuda {

// The forward pass and the two gradients of a convolution with one group for each input channel.
// It has too few multiplications for products of matrices: memory limits it, so nothing is
// unfolded. Sums have a fixed order.

void DepthwiseForward(Context* context, const ConvolutionGeometry& geometry, const float* input,
                      const float* kernel, float* output);
void DepthwiseInputGradient(Context* context, const ConvolutionGeometry& geometry,
                            const float* output_gradient, const float* kernel,
                            float* input_gradient);

// Uses the scratch memory.
void DepthwiseKernelGradient(Context* context, const ConvolutionGeometry& geometry,
                             const float* input, const float* output_gradient,
                             float* kernel_gradient);
size_t DepthwiseScratchBytes(const ConvolutionGeometry& geometry);

}  // namespace cairn::nn::cuda

#endif  // CAIRN_NN_CUDA_DEPTHWISE_CONVOLUTION_H_
