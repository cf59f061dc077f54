#ifndef CAIRN_NN_CPU_KERNEL_CONTEXT_H_
#define CAIRN_NN_CPU_KERNEL_CONTEXT_H_

#include "nn/device.h"
#include "nn/kernel.h"
#include "nn/layer.h"

namespace cairn::nn {

struct DnnlContext;

// What the factories of CPU kernels get. They throw dnnl::error and std::bad_alloc, which
// CpuDevice::CreateKernel turns into a status; their layer is of the class that they are for.
struct KernelContext {
  Device::KernelOptions options;
  const DnnlContext* dnnl = nullptr;
};

}  // namespace cairn::nn

#endif  // CAIRN_NN_CPU_KERNEL_CONTEXT_H_
