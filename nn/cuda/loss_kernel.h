#ifndef CAIRN_NN_CUDA_LOSS_KERNEL_H_
#define CAIRN_NN_CUDA_LOSS_KERNEL_H_

#include <memory>
#include <vector>

#include "nn/cuda/context.h"
#include "nn/kernel.h"
#include "nn/loss.h"
#include "nn/metric.h"

namespace cairn::nn::cuda {

// The kernel of a loss and of the metrics of the same output. If the GPU does not compute one of
// them (CanComputeLoss, CanComputeMetric), the host computes all: outputs and labels are copied to
// it and the gradient is copied back, and the GPU waits meanwhile. All pointers must outlive the
// kernel. Throws OutOfMemory.
std::unique_ptr<LossKernel> CreateLossKernel(const Loss& loss, std::vector<const Metric*> metrics,
                                             Context* context);

}  // namespace cairn::nn::cuda

#endif  // CAIRN_NN_CUDA_LOSS_KERNEL_H_
