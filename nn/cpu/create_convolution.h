#ifndef CAIRN_NN_CPU_CREATE_CONVOLUTION_H_
#define CAIRN_NN_CPU_CREATE_CONVOLUTION_H_

#include <memory>

#include "nn/cpu/convolution.h"
#include "nn/cpu/dnnl_context.h"

namespace cairn::nn {

// The fastest way for the layer's and the batch's size, from which and the kind of CPU alone the
// choice follows. Throws dnnl::error and std::bad_alloc, which CpuDevice turns into a status.
std::unique_ptr<Convolution> CreateConvolution(const Convolution::Options& options,
                                               const DnnlContext* context);

}  // namespace cairn::nn

#endif  // CAIRN_NN_CPU_CREATE_CONVOLUTION_H_
