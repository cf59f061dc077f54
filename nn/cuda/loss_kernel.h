#ifndef CAIRN_NN_CUDA_LOSS_KERNEL_H_
#define CAIRN_NN_CUDA_LOSS_KERNEL_H_

#include <memory>
#include <vector>

#include "nn/device.h"
#include "nn/kernel.h"
#include "nn/loss.h"
#include "nn/metric.h"

namespace cairn::nn::cuda {

// The kernel of every loss and metric. It copies outputs and labels to the host, which computes,
// and copies the gradient back. These are the model's smallest tensors, but the GPU waits
// meanwhile. All pointers must outlive the kernel.
std::unique_ptr<LossKernel> CreateLossKernel(const Loss& loss, std::vector<const Metric*> metrics,
                                             Device* device);

}  // namespace cairn::nn::cuda

#endif  // CAIRN_NN_CUDA_LOSS_KERNEL_H_
