#ifndef CAIRN_NN_CPU_ADD_RELU_KERNEL_H_
#define CAIRN_NN_CPU_ADD_RELU_KERNEL_H_

#include <memory>

#include "nn/cpu/kernel_context.h"

namespace cairn::nn {

// For an Add of two inputs of its output's shape and the plain relu that is its options.next.
std::unique_ptr<Kernel> CreateAddReluKernel(const Layer& add, const KernelContext& context);

}  // namespace cairn::nn

#endif  // CAIRN_NN_CPU_ADD_RELU_KERNEL_H_
