#ifndef CAIRN_NN_CPU_EMBEDDING_KERNEL_H_
#define CAIRN_NN_CPU_EMBEDDING_KERNEL_H_

#include <memory>

#include "nn/cpu/kernel_context.h"

namespace cairn::nn {

// For EmbeddingLayer.
std::unique_ptr<Kernel> CreateEmbeddingKernel(const Layer& layer, const KernelContext& context);

}  // namespace cairn::nn

#endif  // CAIRN_NN_CPU_EMBEDDING_KERNEL_H_
