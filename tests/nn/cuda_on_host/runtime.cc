#include "tests/nn/cuda_on_host/runtime.h"

#include <sys/mman.h>
#include <ucontext.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "common/random.h"
#include "tests/nn/cuda_on_host/cuda_on_host.h"
#include "tests/nn/cuda_on_host/grid.h"

namespace cuda_on_host {

// An event is complete when its last record has run. `recorded` and `done` count records.
struct Event {
  int64_t recorded = 0;
  int64_t done = 0;
};

// An entry of a stream: work, the record of an event, or a wait for one.
struct Entry {
  Work work;
  std::shared_ptr<Event> records;
  std::shared_ptr<Event> awaits;
  int64_t number = 0;
  bool is_launch = false;
};

struct Stream {
  int device = 0;
  std::deque<Entry> entries;
};

namespace {

constexpr size_t kPage = 4096;
// Address space only. Memory that was freed is never used again, so that late accesses find nothing
// of another allocation.
constexpr size_t kHeapBytes = size_t{64} << 30;
constexpr size_t kAllocationMax = size_t{16} << 30;
constexpr int kThreadsMax = 1024;
constexpr size_t kSharedMax = 48 << 10;
constexpr unsigned char kPoison = 0xff;  // NaN for float and double.

[[noreturn]] void Die(const std::string& text) {
  std::fprintf(stderr, "cuda_on_host: %s\n", text.c_str());
  std::abort();
}

// The memory of one device.
class Heap {
 public:
  Heap() {
    void* const memory =
        mmap(nullptr, kHeapBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) Die("no address space");
    memory_ = static_cast<unsigned char*>(memory);
  }

  void* Allocate(size_t bytes) {
    // At least one canary follows the allocation.
    const size_t pages = (bytes + kPage) / kPage * kPage;
    if (bytes > kAllocationMax || used_ + pages > kHeapBytes) return nullptr;
    unsigned char* const memory = memory_ + used_;
    used_ += pages;
    SetAccess(true);
    std::memset(memory, kPoison, pages);
    SetAccess(false);
    sizes_[memory] = bytes;
    return memory;
  }

  bool Free(void* memory) {
    const auto found = sizes_.find(static_cast<unsigned char*>(memory));
    if (found == sizes_.end()) return false;
    const auto [begin, bytes] = *found;
    const size_t pages = (bytes + kPage) / kPage * kPage;
    SetAccess(true);
    for (size_t i = bytes; i < pages; ++i) {
      if (begin[i] != kPoison) {
        Die("byte " + std::to_string(i) + " was written of an allocation of " +
            std::to_string(bytes) + " bytes");
      }
    }
    SetAccess(false);
    madvise(begin, pages, MADV_DONTNEED);
    sizes_.erase(found);
    return true;
  }

  size_t used() const { return used_; }
  bool Owns(const void* memory) const { return memory >= memory_ && memory < memory_ + kHeapBytes; }

  // Forgets the pages that were touched. The first access to each is then a fault.
  void StartMeasuring() {
    SetAccess(false);
    touched_.assign(used_ / kPage, 0);
  }
  // Notes the access and allows it. False if the memory is not of this heap.
  bool Touch(void* memory, bool writes) {
    const size_t page = (static_cast<unsigned char*>(memory) - memory_) / kPage;
    if (!Owns(memory) || page >= touched_.size()) return false;
    touched_[page] |= writes ? kWritten : kRead;
    return mprotect(memory_ + page * kPage, kPage, writes ? PROT_READ | PROT_WRITE : PROT_READ) ==
           0;
  }
  int64_t BytesTouched(unsigned char how) const {
    return kPage * std::count_if(touched_.begin(), touched_.end(),
                                 [how](unsigned char touched) { return (touched & how) != 0; });
  }
  static constexpr unsigned char kRead = 1;
  static constexpr unsigned char kWritten = 2;

  // Lets the host access the memory, or not.
  void SetAccess(bool access) {
    const int protection = access ? PROT_READ | PROT_WRITE : PROT_NONE;
    if (used_ != 0 && mprotect(memory_, used_, protection) != 0) Die("mprotect failed");
  }

 private:
  unsigned char* memory_ = nullptr;
  size_t used_ = 0;
  std::map<unsigned char*, size_t> sizes_;
  std::vector<unsigned char> touched_;  // By page.
};

struct Device {
  Heap heap;
  // The error of this device's work, which all later calls return.
  cudaError_t error = cudaSuccess;
};

struct PlannedFailure {
  cudaError_t error = cudaSuccess;
  int calls = 0;
};

struct Runtime {
  std::recursive_mutex mutex;
  uint64_t seed = 1;
  uint64_t draws = 0;
  int64_t kernels = 0;
  bool measures = false;
  int64_t lost_after = std::numeric_limits<int64_t>::max();
  Counts counts;
  std::vector<std::unique_ptr<Device>> devices;
  std::vector<Stream*> streams;
  std::map<Event*, std::shared_ptr<Event>> events;
  std::map<void*, size_t> pinned;
  std::map<std::string, PlannedFailure> failures;

  uint64_t Draw() { return cairn::RandomBits(seed, draws++); }
};

void SetCount(Runtime* runtime, int count) {
  while (static_cast<int>(runtime->devices.size()) < count) {
    runtime->devices.push_back(std::make_unique<Device>());
  }
  runtime->devices.resize(count);
}

// Never destroyed: threads may use it until the end.
Runtime& TheRuntime() {
  static Runtime* const runtime = [] {
    auto* created = new Runtime;
    SetCount(created, 2);
    // For daemons, which tests start as processes of their own.
    if (const char* seed = std::getenv("CAIRN_CUDA_SEED")) {
      created->seed = std::strtoull(seed, nullptr, 10);
    }
    if (const char* kernels = std::getenv("CAIRN_CUDA_LOSE_AFTER")) {
      created->lost_after = std::strtoll(kernels, nullptr, 10);
    }
    return created;
  }();
  return *runtime;
}

thread_local int current_device = 0;
thread_local cudaError_t last_error = cudaSuccess;

// A call of the runtime. Holds the lock; its error is the call's last one.
class Call {
 public:
  explicit Call(const char* name) : runtime(TheRuntime()), lock_(runtime.mutex), name_(name) {}

  // The error that the call must return now, if any.
  cudaError_t Failure() {
    const auto found = runtime.failures.find(name_);
    if (found != runtime.failures.end() && found->second.calls-- <= 0) {
      const cudaError_t error = found->second.error;
      runtime.failures.erase(found);
      return Return(error);
    }
    if (current_device >= static_cast<int>(runtime.devices.size())) {
      return Return(cudaErrorInvalidDevice);
    }
    return Return(runtime.devices[current_device]->error);
  }

  cudaError_t Return(cudaError_t error) {
    if (error != cudaSuccess) last_error = error;
    return error;
  }

  Device& device() { return *runtime.devices[current_device]; }

  Runtime& runtime;

 private:
  const std::lock_guard<std::recursive_mutex> lock_;
  const std::string name_;
};

// The heap of the launch that is measured now.
Heap* measured_heap = nullptr;

// A launch has touched a page for the first time, or has written one that it only read before.
void OnFault(int /*signal*/, siginfo_t* info, void* context) {
  constexpr int64_t kIsWrite = 2;  // Of a page fault's error code on x86-64.
  const bool writes =
      (static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_ERR] & kIsWrite) != 0;
  if (measured_heap != nullptr && measured_heap->Touch(info->si_addr, writes)) return;
  std::signal(SIGSEGV, SIG_DFL);  // An error: the access is repeated, and ends the program.
}

cudaError_t RunMeasured(Runtime* runtime, Heap* heap, const Work& work) {
  heap->StartMeasuring();
  measured_heap = heap;
  const cudaError_t error = work();
  measured_heap = nullptr;
  runtime->counts.bytes_read += heap->BytesTouched(Heap::kRead);
  runtime->counts.bytes_written += heap->BytesTouched(Heap::kWritten);
  heap->SetAccess(true);
  return error;
}

bool IsBlocked(const Stream& stream) {
  const Entry& first = stream.entries.front();
  return first.awaits != nullptr && first.awaits->done < first.number;
}

// Runs the first entry of a stream that can run; any of them, as the seed has it.
void RunOne(Runtime* runtime) {
  std::vector<Stream*> ready;
  for (Stream* stream : runtime->streams) {
    if (!stream->entries.empty() && !IsBlocked(*stream)) ready.push_back(stream);
  }
  if (ready.empty()) Die("streams wait for each other");
  Stream* const stream = ready[runtime->Draw() % ready.size()];
  const Entry entry = std::move(stream->entries.front());
  stream->entries.pop_front();
  Device* const device = runtime->devices[stream->device].get();
  if (entry.work && device->error == cudaSuccess) {
    device->error = runtime->measures && entry.is_launch
                        ? RunMeasured(runtime, &device->heap, entry.work)
                        : entry.work();
  }
  if (entry.records != nullptr) entry.records->done = entry.number;
}

template <typename Done>
void RunUntil(Runtime* runtime, const Done& done) {
  if (done()) return;
  for (const auto& device : runtime->devices) device->heap.SetAccess(true);
  while (!done()) RunOne(runtime);
  for (const auto& device : runtime->devices) device->heap.SetAccess(false);
}

void Drain(Runtime* runtime, int device) {
  RunUntil(runtime, [runtime, device] {
    return std::all_of(runtime->streams.begin(), runtime->streams.end(), [device](Stream* stream) {
      return stream->device != device || stream->entries.empty();
    });
  });
}

bool IsDeviceMemory(const Runtime& runtime, const void* memory) {
  return std::any_of(runtime.devices.begin(), runtime.devices.end(),
                     [memory](const auto& device) { return device->heap.Owns(memory); });
}

bool IsPinned(const Runtime& runtime, const void* memory) {
  const auto* const at = static_cast<const char*>(memory);
  return std::any_of(runtime.pinned.begin(), runtime.pinned.end(), [at](const auto& range) {
    const auto* const begin = static_cast<const char*>(range.first);
    return at >= begin && at < begin + range.second;
  });
}

}  // namespace

void SetSeed(uint64_t seed) {
  Call call("");
  call.runtime.seed = seed;
  call.runtime.draws = 0;
}

void FailCall(const std::string& name, cudaError_t error, int calls) {
  Call call("");
  call.runtime.failures[name] = {error, calls};
}

void LoseDevice(int ordinal) {
  Call call("");
  call.runtime.devices[ordinal]->error = cudaErrorLaunchFailure;
}

void Recover() {
  Call call("");
  call.runtime.failures.clear();
  for (const auto& device : call.runtime.devices) device->error = cudaSuccess;
  last_error = cudaSuccess;
}

void SetDeviceCount(int count) {
  Call call("");
  SetCount(&call.runtime, count);
}

int64_t KernelCount() { return TheRuntime().kernels; }

Counts CountsOfCalls() {
  Call call("");
  return call.runtime.counts;
}

void ResetCounts() {
  Call call("");
  call.runtime.counts = {};
}

void StartMeasuring() {
  Call call("");
  call.runtime.measures = true;
  struct sigaction action = {};
  action.sa_sigaction = OnFault;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGSEGV, &action, nullptr);
}

void StopMeasuring() {
  Call call("");
  call.runtime.measures = false;
  std::signal(SIGSEGV, SIG_DFL);
}

bool IsMeasuring(int64_t multiplications) {
  Runtime& runtime = TheRuntime();
  if (runtime.measures) runtime.counts.multiplications += multiplications;
  return runtime.measures;
}

cudaError_t Enqueue(const char* name, cudaStream_t stream, Work work, bool is_launch) {
  Call call(name);
  if (const cudaError_t error = call.Failure(); error != cudaSuccess) return error;
  Counts& counts = call.runtime.counts;
  counts.kernels += std::strcmp(name, "cudaLaunchKernel") == 0;
  counts.products += std::strncmp(name, "cublas", 6) == 0;
  counts.fills += std::strcmp(name, "cudaMemsetAsync") == 0;
  counts.submitted_after_wait += counts.waits > 0;
  stream->entries.push_back({.work = std::move(work), .is_launch = is_launch});
  return cudaSuccess;
}

cudaError_t EnqueueKernel(ThreadBody body, dim3 grid, dim3 block, size_t shared,
                          cudaStream_t stream) {
  Call call("cudaLaunchKernel");
  const uint64_t threads = uint64_t{block.x} * block.y * block.z;
  const uint64_t blocks = uint64_t{grid.x} * grid.y * grid.z;
  if (threads == 0 || threads > kThreadsMax || blocks == 0 || grid.x > 0x7fffffff ||
      grid.y > 0xffff || grid.z > 0xffff || shared > kSharedMax) {
    return call.Return(cudaErrorInvalidConfiguration);
  }
  return Enqueue("cudaLaunchKernel", stream, [body = std::move(body), grid, block, shared] {
    Runtime& runtime = TheRuntime();
    if (++runtime.kernels > runtime.lost_after) return cudaErrorLaunchFailure;
    return RunGrid(body, grid, block, shared, runtime.Draw()) ? cudaSuccess
                                                              : cudaErrorLaunchFailure;
  });
}

}  // namespace cuda_on_host

using cuda_on_host::Call;

cudaError_t cudaGetDeviceCount(int* count) {
  Call call("cudaGetDeviceCount");
  *count = static_cast<int>(call.runtime.devices.size());
  if (*count == 0) return call.Return(cudaErrorNoDevice);
  return call.Failure();
}

cudaError_t cudaSetDevice(int ordinal) {
  Call call("cudaSetDevice");
  if (ordinal < 0 || ordinal >= static_cast<int>(call.runtime.devices.size())) {
    return call.Return(cudaErrorInvalidDevice);
  }
  cuda_on_host::current_device = ordinal;
  return call.Failure();
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int ordinal) {
  Call call("cudaGetDeviceProperties");
  std::snprintf(properties->name, sizeof(properties->name), "stand-in on the host");
  return call.Failure();
}

cudaError_t cudaDriverGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}

cudaError_t cudaGetLastError() { return std::exchange(cuda_on_host::last_error, cudaSuccess); }

const char* cudaGetErrorString(cudaError_t error) {
  switch (error) {
    case cudaErrorMemoryAllocation:
      return "out of memory";
    case cudaErrorInvalidConfiguration:
      return "invalid configuration argument";
    case cudaErrorLaunchFailure:
      return "unspecified launch failure";
    case cudaErrorNoDevice:
      return "no CUDA-capable device is detected";
    default:
      return "an error of the stand-in";
  }
}

const char* cudaGetErrorName(cudaError_t error) {
  switch (error) {
    case cudaErrorMemoryAllocation:
      return "cudaErrorMemoryAllocation";
    case cudaErrorInvalidConfiguration:
      return "cudaErrorInvalidConfiguration";
    case cudaErrorLaunchFailure:
      return "cudaErrorLaunchFailure";
    case cudaErrorNoDevice:
      return "cudaErrorNoDevice";
    default:
      return "cudaError";
  }
}

cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  Call call("cudaMemGetInfo");
  if (const cudaError_t error = call.Failure(); error != cudaSuccess) return error;
  *free = cuda_on_host::kHeapBytes - call.device().heap.used();
  *total = cuda_on_host::kHeapBytes;
  return cudaSuccess;
}

cudaError_t cudaMalloc(void** memory, size_t bytes) {
  Call call("cudaMalloc");
  if (const cudaError_t error = call.Failure(); error != cudaSuccess) return error;
  *memory = bytes == 0 ? nullptr : call.device().heap.Allocate(bytes);
  if (*memory == nullptr && bytes != 0) return call.Return(cudaErrorMemoryAllocation);
  return cudaSuccess;
}

cudaError_t cudaFree(void* memory) {
  Call call("cudaFree");
  if (memory == nullptr) return cudaSuccess;
  ++call.runtime.counts.waits;
  cuda_on_host::Drain(&call.runtime, cuda_on_host::current_device);
  if (!call.device().heap.Free(memory)) return call.Return(cudaErrorInvalidValue);
  return call.Failure();
}

cudaError_t cudaMallocHost(void** memory, size_t bytes) {
  Call call("cudaMallocHost");
  if (const cudaError_t error = call.Failure(); error != cudaSuccess) return error;
  *memory = std::malloc(bytes);
  std::memset(*memory, cuda_on_host::kPoison, bytes);
  call.runtime.pinned[*memory] = bytes;
  return cudaSuccess;
}

cudaError_t cudaFreeHost(void* memory) {
  Call call("cudaFreeHost");
  cuda_on_host::Drain(&call.runtime, cuda_on_host::current_device);
  call.runtime.pinned.erase(memory);
  std::free(memory);
  return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  Call call("cudaMemcpyAsync");
  const bool to_device = kind != cudaMemcpyDeviceToHost;
  const bool from_device = kind != cudaMemcpyHostToDevice;
  if (bytes != 0 && (cuda_on_host::IsDeviceMemory(call.runtime, to) != to_device ||
                     cuda_on_host::IsDeviceMemory(call.runtime, from) != from_device)) {
    return call.Return(cudaErrorInvalidValue);
  }
  cuda_on_host::Counts& counts = call.runtime.counts;
  counts.fills += to_device && from_device;
  counts.copies_to_device += !from_device;
  counts.copies_from_device += !to_device;
  counts.bytes_to_device += from_device ? 0 : static_cast<int64_t>(bytes);
  counts.bytes_from_device += to_device ? 0 : static_cast<int64_t>(bytes);
  if (!from_device && !cuda_on_host::IsPinned(call.runtime, from)) {
    // CUDA has read pageable memory when the call returns.
    const std::string copy(static_cast<const char*>(from), bytes);
    const auto write = [to, copy] {
      std::memcpy(to, copy.data(), copy.size());
      return cudaSuccess;
    };
    return cuda_on_host::Enqueue("cudaMemcpyAsync", stream, write, /*is_launch=*/false);
  }
  const auto write = [to, from, bytes] {
    std::memcpy(to, from, bytes);
    return cudaSuccess;
  };
  const cudaError_t error = cuda_on_host::Enqueue("cudaMemcpyAsync", stream, write,
                                                  /*is_launch=*/to_device && from_device);
  if (error != cudaSuccess || to_device || cuda_on_host::IsPinned(call.runtime, to)) return error;
  return cudaStreamSynchronize(stream);
}

cudaError_t cudaMemsetAsync(void* memory, int value, size_t bytes, cudaStream_t stream) {
  return cuda_on_host::Enqueue("cudaMemsetAsync", stream, [memory, value, bytes] {
    std::memset(memory, value, bytes);
    return cudaSuccess;
  });
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  Call call("cudaStreamCreateWithFlags");
  if (const cudaError_t error = call.Failure(); error != cudaSuccess) return error;
  *stream = new cuda_on_host::Stream{.device = cuda_on_host::current_device};
  call.runtime.streams.push_back(*stream);
  return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  Call call("cudaStreamDestroy");
  cuda_on_host::RunUntil(&call.runtime, [stream] { return stream->entries.empty(); });
  auto& streams = call.runtime.streams;
  streams.erase(std::find(streams.begin(), streams.end(), stream));
  delete stream;
  return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  Call call("cudaStreamSynchronize");
  ++call.runtime.counts.waits;
  cuda_on_host::RunUntil(&call.runtime, [stream] { return stream->entries.empty(); });
  return call.Failure();
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  Call call("cudaStreamWaitEvent");
  if (const cudaError_t error = call.Failure(); error != cudaSuccess) return error;
  stream->entries.push_back({.awaits = call.runtime.events[event], .number = event->recorded});
  return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  Call call("cudaEventCreateWithFlags");
  if (const cudaError_t error = call.Failure(); error != cudaSuccess) return error;
  auto created = std::make_shared<cuda_on_host::Event>();
  *event = created.get();
  call.runtime.events[created.get()] = std::move(created);
  return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  Call call("cudaEventDestroy");
  call.runtime.events.erase(event);
  return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  Call call("cudaEventRecord");
  if (const cudaError_t error = call.Failure(); error != cudaSuccess) return error;
  stream->entries.push_back({.records = call.runtime.events[event], .number = ++event->recorded});
  return cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  Call call("cudaEventSynchronize");
  ++call.runtime.counts.waits;
  cuda_on_host::RunUntil(&call.runtime, [event] { return event->done >= event->recorded; });
  return call.Failure();
}
