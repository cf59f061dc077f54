#ifndef CAIRN_TESTS_NN_CUDA_ON_HOST_GRID_H_
#define CAIRN_TESTS_NN_CUDA_ON_HOST_GRID_H_

#include <cstddef>
#include <cstdint>

#include "cuda_runtime_api.h"

namespace cuda_on_host {

// Runs `body` for each thread of a grid on the calling thread, in an order that is drawn from
// `key`. Each block has `shared` bytes of memory of its own, filled with NaN. Returns false if a
// barrier was reached by some of a block's threads only; the rest of the grid is then not run.
bool RunGrid(const ThreadBody& body, dim3 grid, dim3 block, size_t shared, uint64_t key);

}  // namespace cuda_on_host

#endif  // CAIRN_TESTS_NN_CUDA_ON_HOST_GRID_H_
