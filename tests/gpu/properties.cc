// Versions, and everything that CUDA and cuDNN say about the device.
#include <cublasLt.h>
#include <cudnn.h>

#include <stdexcept>
#include <string>
#include <type_traits>

#include "tests/gpu/device.h"

namespace longshore::gpu {
namespace {

void WriteVersions() {
  int driver = 0, runtime = 0;
  Check(cudaDriverGetVersion(&driver));
  Check(cudaRuntimeGetVersion(&runtime));
  Fact("versions")
      .With("newest_cuda_of_driver", driver)
      .With("cuda_runtime", runtime)
      .With("cudnn", cudnnGetVersion())
      .With("cudnn_built_for_cuda", cudnnGetCudartVersion())
      .With("cublaslt", cublasLtGetVersion())
      .With("cudnn_headers", size_t{CUDNN_VERSION})
      .With("cublaslt_headers", CUBLAS_VERSION);
}

// Adds a field of cudaDeviceProp: a number, a text, or an array of numbers.
template <class T>
void AddField(Fact& fact, const char* name, const T& field) {
  if constexpr (std::is_arithmetic_v<T>) {
    fact.With(name, static_cast<int64_t>(field));
  } else if constexpr (std::is_same_v<std::remove_extent_t<T>, char>) {
    fact.With(name, std::string(field));
  } else {
    std::vector<Value> values;
    for (const auto& one : field) values.emplace_back(static_cast<int64_t>(one));
    fact.WithList(name, values);
  }
}

void WriteFields() {
  cudaDeviceProp properties{};
  Check(cudaGetDeviceProperties(&properties, 0));
  Fact fact("fields of cudaDeviceProp");
#define GPU_FIELD(field) AddField(fact, #field, properties.field);
#include "device_fields.inc"  // The fields that the headers of CUDA have; toolchain.py makes this file.
#undef GPU_FIELD
}

void AddAttribute(Fact& fact, const char* name, cudaDeviceAttr attribute) {
  int value = 0;
  if (cudaDeviceGetAttribute(&value, attribute, 0) == cudaSuccess) {
    fact.With(name, value);
  } else {
    fact.With(name, cudaGetErrorName(cudaGetLastError()));
  }
}

void WriteAttributes() {
  Fact fact("attributes");
#define GPU_ATTRIBUTE(attribute) AddAttribute(fact, #attribute, cudaDevAttr##attribute);
#include "device_attributes.inc"
#undef GPU_ATTRIBUTE
}

void CheckDnn(cudnnStatus_t status) {
  if (status != CUDNN_STATUS_SUCCESS) throw std::runtime_error(cudnnGetErrorString(status));
}

// What cuDNN plans with. The text is the format in which a machine without a GPU can give it to cuDNN.
void WriteDnnProperties() {
  cudnnHandle_t handle = nullptr;
  CheckDnn(cudnnCreate(&handle));
  cudnnBackendDescriptor_t properties = nullptr;
  CheckDnn(cudnnBackendCreateDescriptor(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR, &properties));
  CheckDnn(cudnnBackendSetAttribute(properties, CUDNN_ATTR_DEVICEPROP_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle));
  CheckDnn(cudnnBackendFinalize(properties));
  int64_t size = 0;
  const auto read = [&](int64_t room, char* text) {
    CheckDnn(cudnnBackendGetAttribute(properties, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR, room,
                                      &size, text));
  };
  read(0, nullptr);
  std::string text(static_cast<size_t>(size), '\0');
  read(size, text.data());
  Fact("device properties of cuDNN").With("json", text.c_str());
  cudnnBackendDestroyDescriptor(properties);
  cudnnDestroy(handle);
}

}  // namespace
}  // namespace longshore::gpu

int main() {
  using namespace longshore::gpu;
  Try("versions", WriteVersions);
  Try("fields of cudaDeviceProp", WriteFields);
  Try("attributes", WriteAttributes);
  Try("device properties of cuDNN", WriteDnnProperties);
}
