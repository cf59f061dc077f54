#ifndef CAIRN_TESTS_NN_CUDA_ON_HOST_CUDA_ON_HOST_H_
#define CAIRN_TESTS_NN_CUDA_ON_HOST_CUDA_ON_HOST_H_

#include <cstdint>
#include <string>

#include "cuda_runtime_api.h"

// A stand-in for the CUDA runtime and cuBLAS on the host, for tests. Kernels are compiled by the
// host's compiler from the same source as for a GPU; the folder include/ has CUDA's headers.
//
// It is made to find errors, not to be fast:
//
// - A block's threads are fibers. The threads between two barriers run one after another, in a
//   random order that is drawn from the seed. So do the blocks of a grid. A result that depends on
//   an order which CUDA does not promise is different with another seed.
// - A block's shared memory, and memory from cudaMalloc, is filled with NaN. So a value that is
//   read before it is written is seen in the result.
// - Device memory is inaccessible to the host except while device work runs. The host gets a
//   segmentation fault.
// - Streams do nothing until somebody waits for them, and then run in a random order as far as
//   their events allow. Copies of pinned memory read it that late, too.
// - A write behind the end of an allocation ends the program when the memory is freed.
// - A barrier that only some of a block's threads reach is cudaErrorLaunchFailure.
//
// Errors of device work are returned by the call that waits for it, and by all later calls of the
// device, as with CUDA.
//
// Thread-safe; one thread runs at a time.
namespace cuda_on_host {

// Sets the seed of all random orders. Initially that in the environment's CAIRN_CUDA_SEED, else 1.
void SetSeed(uint64_t seed);

// Lets the call of this name ("cudaMalloc") return `error`, after `calls` calls that do not.
void FailCall(const std::string& name, cudaError_t error, int calls = 0);
// The device does not answer any more: its calls return cudaErrorLaunchFailure. In a daemon this
// happens after the number of kernels in the environment's CAIRN_CUDA_LOSE_AFTER.
void LoseDevice(int ordinal);
// Ends the effects of FailCall and LoseDevice, and forgets errors of device work.
void Recover();

// The number of devices, which have separate memories. Initially 2.
void SetDeviceCount(int count);

// The number of kernels that have run since the program started.
int64_t KernelCount();

// The calls since ResetCounts.
struct Counts {
  int64_t kernels = 0;   // Launches of kernels.
  int64_t products = 0;  // Calls of cuBLAS.
  int64_t fills = 0;     // cudaMemsetAsync, and copies within the device.
  int64_t copies_to_device = 0;
  int64_t copies_from_device = 0;
  int64_t bytes_to_device = 0;
  int64_t bytes_from_device = 0;
  int64_t waits = 0;  // Calls that block the host until a device has worked.
  // Work that the host submitted after it had waited.
  int64_t submitted_after_wait = 0;
  // Between StartMeasuring and StopMeasuring. The bytes of device memory that each launch has read
  // before it wrote them, and written, in whole pages of 4 KiB. What a launch reads again counts
  // once, as on a GPU whose cache holds it. Multiplications are those of cuBLAS.
  int64_t bytes_read = 0;
  int64_t bytes_written = 0;
  int64_t multiplications = 0;

  int64_t launches() const { return kernels + products + fills; }
};
Counts CountsOfCalls();
void ResetCounts();

// Counts the bytes of launches that run from now on. Products then read and write their matrices,
// but compute nothing: their results are 0.
void StartMeasuring();
void StopMeasuring();

}  // namespace cuda_on_host

#endif  // CAIRN_TESTS_NN_CUDA_ON_HOST_CUDA_ON_HOST_H_
