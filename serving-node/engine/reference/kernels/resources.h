// What a model keeps between runs: variables and tables. And what its initialiser may read while it loads, nothing else
// ever.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "serving-node/engine/reference/kernels/table_rows.h"
#include "serving-node/saved_model/bundle.h"
#include "serving-node/tensor/tensor.h"

namespace longshore::engine::reference::kernels {

class Resource {
 public:
  virtual ~Resource() = default;
};

// Thread-safe.
class Variable final : public Resource {
 public:
  tensor::Tensor Get() const;
  void Set(tensor::Tensor value);

 private:
  mutable std::mutex mutex_;
  tensor::Tensor value_;
};

// A lookup table from scalars to values of one shape. Filled while the model loads and only read afterwards, so that
// requests need no lock; one that is made within a run is that run's alone.
struct Table final : Resource {
  explicit Table(std::shared_ptr<size_t> run_bytes = nullptr) : rows(std::move(run_bytes)) {}

  tensor::DType key_type = tensor::DType::kInvalid;
  tensor::DType value_type = tensor::DType::kInvalid;
  tensor::Shape value_shape;
  bool is_mutable = false;  // Takes more rows, and others for the same keys; else it is filled once.
  bool is_filled = false;
  std::string name;                    // Of the node that made it, for messages.
  std::set<std::string> keys_refused;  // Keys that may not occur.
  TableRows rows;

  int64_t value_elements() const;
};

// The memory of the tables that one run makes. They share the count with it, as they may be held for longer.
class RunTables {
 public:
  size_t bytes() const { return bytes_ ? *bytes_ : 0; }
  const std::shared_ptr<size_t>& count() {
    if (!bytes_) bytes_ = std::make_shared<size_t>(0);
    return bytes_;
  }

 private:
  std::shared_ptr<size_t> bytes_;  // Made with the first table: most runs have none.
};

// Buffers whose bytes are counted already: tensors share them.
using CountedBuffers = std::set<const std::byte*>;
// 0 for a buffer that is counted already.
int64_t UncountedBytes(const tensor::Tensor& tensor, CountedBuffers* counted);

// How far a random op has read the stream of its seed. Thread-safe.
class RandomStream final : public Resource {
 public:
  // The number of the first block for the caller, to whom `count` of them belong now.
  uint64_t Take(uint64_t count) { return next_.fetch_add(count); }

 private:
  std::atomic<uint64_t> next_ = 0;
};

// One per loaded model. Thread-safe, but what is set while loading.
class Resources {
 public:
  std::shared_ptr<Variable> FindOrMakeVariable(const std::string& name);
  std::shared_ptr<Table> FindOrMakeTable(const std::string& name);
  // Those that nobody has a handle of are gone.
  void ForgetVariables();
  int64_t memory_bytes(CountedBuffers* counted) const;
  std::shared_ptr<RandomStream> FindOrMakeRandomStream(const std::string& node_name);

  // Only while loading; then empty, so that no request makes an op read a file.
  std::optional<saved_model::Bundle> bundle;
  size_t restored_bytes = 0;  // Of the bundle, by all runs of all nodes.
  size_t read_bytes = 0;      // As those, with what was read to give them.
  size_t folded_bytes = 0;    // Computed at load, beside constants and variables.
  std::set<std::string> readable_files;
  bool is_serving = false;  // Then nothing fills a table any more.

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Variable>> variables_;
  std::map<std::string, std::shared_ptr<Table>> tables_;
  std::map<std::string, std::shared_ptr<RandomStream>> random_streams_;
};

// A resource as a scalar tensor of DT_RESOURCE, which keeps it alive.
tensor::Tensor HandleOf(std::shared_ptr<Resource> resource);

// nullptr when the tensor is no handle of such a resource.
template <typename T>
T* ResourceOf(const tensor::Tensor& handle) {
  if (handle.type() != tensor::DType::kResource || handle.data() == nullptr) return nullptr;
  return dynamic_cast<T*>(reinterpret_cast<Resource*>(const_cast<std::byte*>(handle.data())));
}

}  // namespace longshore::engine::reference::kernels
