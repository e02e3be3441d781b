// The backend interface of cuDNN: descriptors with attributes, as objects that throw.
#pragma once

#include <cudnn.h>

#include <cstdint>
#include <memory>
#include <source_location>
#include <span>
#include <string>
#include <vector>

namespace longshore::gpu {

// Throws with cuDNN's own words if the call failed.
void CheckDnn(cudnnStatus_t status, std::source_location where = std::source_location::current());

class Descriptor {
 public:
  explicit Descriptor(cudnnBackendDescriptorType_t type);

  Descriptor& Set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t count,
                  const void* values);
  Descriptor& Set(cudnnBackendAttributeName_t name, std::span<const int64_t> values);
  Descriptor& Set(cudnnBackendAttributeName_t name, int64_t value);
  Descriptor& Set(cudnnBackendAttributeName_t name, cudnnDataType_t value);
  Descriptor& Set(cudnnBackendAttributeName_t name, const Descriptor& value);
  Descriptor& Finalize();

  int64_t GetInteger(cudnnBackendAttributeName_t name) const;
  void Get(cudnnBackendAttributeName_t name, Descriptor& into) const;

  // Fills as many of `into` as there are, and returns their number.
  int64_t Get(cudnnBackendAttributeName_t name, std::span<Descriptor> into) const;
  std::vector<int> GetNotes(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type) const;

  cudnnBackendDescriptor_t raw() const { return raw_.get(); }

 private:
  struct Deleter {
    void operator()(void* descriptor) const { cudnnBackendDestroyDescriptor(descriptor); }
  };
  std::unique_ptr<void, Deleter> raw_;
};

std::vector<Descriptor> MakeDescriptors(cudnnBackendDescriptorType_t type, int64_t count);

// The device that cuDNN plans for: the current one, or one described by a file on a machine without a GPU.
class Target {
 public:
  static Target CurrentDevice();

  // `json`: the text that cuDNN gives for a device; see properties.cc. Plans of this target cannot be executed.
  static Target Described(const std::string& json);

  bool is_current_device() const { return handle_ != nullptr; }
  cudnnHandle_t handle() const { return handle_.get(); }

  // Sets the target on a descriptor, in one of its two attributes.
  void SetOn(Descriptor& descriptor, cudnnBackendAttributeName_t of_handle,
             cudnnBackendAttributeName_t of_properties) const;

  // For descriptors that know the target already if it is the current device.
  void SetOn(Descriptor& descriptor, cudnnBackendAttributeName_t of_properties) const;

 private:
  struct HandleDeleter {
    void operator()(cudnnContext* handle) const { cudnnDestroy(handle); }
  };
  std::unique_ptr<cudnnContext, HandleDeleter> handle_;
  std::unique_ptr<Descriptor> properties_;
};

}  // namespace longshore::gpu
