#include "tests/gpu/dnn.h"

#include <array>
#include <stdexcept>

namespace longshore::gpu {

void CheckDnn(cudnnStatus_t status, std::source_location where) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  std::array<char, 300> reason{};
  cudnnGetLastErrorString(reason.data(), reason.size());
  throw std::runtime_error(std::string(cudnnGetErrorString(status)) + " in dnn.cc or its caller, line " +
                           std::to_string(where.line()) + ": " + reason.data());
}

Descriptor::Descriptor(cudnnBackendDescriptorType_t type) {
  cudnnBackendDescriptor_t created = nullptr;
  CheckDnn(cudnnBackendCreateDescriptor(type, &created));
  raw_.reset(created);
}

Descriptor& Descriptor::Set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t count,
                            const void* values) {
  CheckDnn(cudnnBackendSetAttribute(raw(), name, type, count, values));
  return *this;
}

Descriptor& Descriptor::Set(cudnnBackendAttributeName_t name, std::span<const int64_t> values) {
  return Set(name, CUDNN_TYPE_INT64, static_cast<int64_t>(values.size()), values.data());
}

Descriptor& Descriptor::Set(cudnnBackendAttributeName_t name, int64_t value) {
  return Set(name, CUDNN_TYPE_INT64, 1, &value);
}

Descriptor& Descriptor::Set(cudnnBackendAttributeName_t name, cudnnDataType_t value) {
  return Set(name, CUDNN_TYPE_DATA_TYPE, 1, &value);
}

Descriptor& Descriptor::Set(cudnnBackendAttributeName_t name, const Descriptor& value) {
  const cudnnBackendDescriptor_t descriptor = value.raw();
  return Set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &descriptor);
}

Descriptor& Descriptor::Finalize() {
  CheckDnn(cudnnBackendFinalize(raw()));
  return *this;
}

int64_t Descriptor::GetInteger(cudnnBackendAttributeName_t name) const {
  int64_t value = 0, count = 0;
  CheckDnn(cudnnBackendGetAttribute(raw(), name, CUDNN_TYPE_INT64, 1, &count, &value));
  return value;
}

void Descriptor::Get(cudnnBackendAttributeName_t name, Descriptor& into) const {
  cudnnBackendDescriptor_t descriptor = into.raw();
  int64_t count = 0;
  CheckDnn(cudnnBackendGetAttribute(raw(), name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &count, &descriptor));
}

int64_t Descriptor::Get(cudnnBackendAttributeName_t name, std::span<Descriptor> into) const {
  std::vector<cudnnBackendDescriptor_t> descriptors;
  for (const Descriptor& descriptor : into) descriptors.push_back(descriptor.raw());
  int64_t count = 0;
  CheckDnn(cudnnBackendGetAttribute(raw(), name, CUDNN_TYPE_BACKEND_DESCRIPTOR, static_cast<int64_t>(into.size()),
                                    &count, descriptors.data()));
  return count;
}

std::vector<int> Descriptor::GetNotes(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type) const {
  std::array<int, 32> notes{};
  int64_t count = 0;
  CheckDnn(cudnnBackendGetAttribute(raw(), name, type, notes.size(), &count, notes.data()));
  return {notes.begin(), notes.begin() + count};
}

std::vector<Descriptor> MakeDescriptors(cudnnBackendDescriptorType_t type, int64_t count) {
  std::vector<Descriptor> made;
  for (int64_t i = 0; i < count; ++i) made.emplace_back(type);
  return made;
}

Target Target::CurrentDevice() {
  Target target;
  cudnnHandle_t handle = nullptr;
  CheckDnn(cudnnCreate(&handle));
  target.handle_.reset(handle);
  return target;
}

Target Target::Described(const std::string& json) {
  Target target;
  target.properties_ = std::make_unique<Descriptor>(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
  target.properties_->Set(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR, static_cast<int64_t>(json.size()),
                          json.data());
  target.properties_->Finalize();
  return target;
}

void Target::SetOn(Descriptor& descriptor, cudnnBackendAttributeName_t of_handle,
                   cudnnBackendAttributeName_t of_properties) const {
  if (handle_ == nullptr) {
    SetOn(descriptor, of_properties);
    return;
  }
  const cudnnHandle_t handle = handle_.get();
  descriptor.Set(of_handle, CUDNN_TYPE_HANDLE, 1, &handle);
}

void Target::SetOn(Descriptor& descriptor, cudnnBackendAttributeName_t of_properties) const {
  if (properties_ != nullptr) descriptor.Set(of_properties, *properties_);
}

}  // namespace longshore::gpu
