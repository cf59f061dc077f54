#include "nn/cuda/load_cuda_device.h"

#include <dlfcn.h>

#include <filesystem>
#include <string>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "common/version.h"
#include "nn/cuda/cuda_factory.h"

namespace cairn::nn {
namespace {

std::string LoaderError() {
  const char* error = dlerror();
  return error == nullptr ? "no reason given" : error;
}

// The library's path, or its bare name if only the dynamic loader can find it.
std::string FindLibrary() {
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (!error) {
    const std::filesystem::path folder = program.parent_path();
    for (const auto& place : {folder, folder.parent_path() / "nn" / "cuda"}) {
      const std::filesystem::path library = place / kCudaLibrary;
      if (std::filesystem::exists(library, error)) return library.string();
    }
  }
  return kCudaLibrary;
}

absl::StatusOr<CudaFactory*> LoadFactory() {
  // RTLD_LOCAL keeps the symbols of the program and the library apart.
  void* library = dlopen(FindLibrary().c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return absl::FailedPreconditionError(absl::StrCat(
        "cannot load the GPU library (searched beside the program and on the loader's path): ",
        LoaderError()));
  }
  void* factory = dlsym(library, kCudaFactory);
  if (factory == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat("the GPU library has another version: ", LoaderError()));
  }
  return reinterpret_cast<CudaFactory*>(factory);
}

}  // namespace

absl::Status FindCudaDriver() {
  if (dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL) != nullptr) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("no NVIDIA driver is installed: ", LoaderError()));
}

absl::StatusOr<std::unique_ptr<Device>> LoadCudaDevice(int ordinal) {
  CAIRN_ASSIGN_OR_RETURN(CudaFactory * factory, LoadFactory());
  absl::StatusOr<std::unique_ptr<Device>> device;
  factory(kVersion, ordinal, &device);
  return device;
}

}  // namespace cairn::nn
