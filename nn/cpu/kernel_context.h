#ifndef CAIRN_NN_CPU_KERNEL_CONTEXT_H_
#define CAIRN_NN_CPU_KERNEL_CONTEXT_H_

#include "nn/device.h"
#include "nn/kernel.h"
#include "nn/layer.h"

namespace cairn::nn {

struct DnnlContext;

// The arguments of all CPU kernel factories. A factory may throw dnnl::error and std::bad_alloc,
// which CpuDevice::CreateKernel turns into a status.
struct KernelContext {
  Device::KernelOptions options;
  const DnnlContext* dnnl = nullptr;
};

}  // namespace cairn::nn

#endif  // CAIRN_NN_CPU_KERNEL_CONTEXT_H_
