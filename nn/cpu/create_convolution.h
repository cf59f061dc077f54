#ifndef CAIRN_NN_CPU_CREATE_CONVOLUTION_H_
#define CAIRN_NN_CPU_CREATE_CONVOLUTION_H_

#include <memory>

#include "nn/cpu/convolution.h"
#include "nn/cpu/dnnl_context.h"

namespace cairn::nn {

// Creates the fastest implementation for this convolution. The choice depends only on the options
// and the kind of CPU, so a batch gives the same result wherever it is computed. Throws dnnl::error
// and std::bad_alloc, which CpuDevice turns into a status.
std::unique_ptr<Convolution> CreateConvolution(const Convolution::Options& options,
                                               const DnnlContext* context);

}  // namespace cairn::nn

#endif  // CAIRN_NN_CPU_CREATE_CONVOLUTION_H_
