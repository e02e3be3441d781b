// The state that a model keeps between runs: variables, tables and random streams. Also the files that its initialiser
// may read while the model loads.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "serving-node/engine/kernels/base/table_rows.h"
#include "serving-node/saved_model/bundle.h"
#include "serving-node/tensor/tensor.h"

namespace longshore::engine::kernels {

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

// A lookup table from scalar keys to values of one shape. It is filled while the model loads and only read afterwards,
// so requests need no lock. A table that a run makes is used by that run alone.
struct Table final : Resource {
  explicit Table(std::shared_ptr<size_t> run_bytes = nullptr) : rows(std::move(run_bytes)) {}

  tensor::DType key_type = tensor::DType::kInvalid;
  tensor::DType value_type = tensor::DType::kInvalid;
  tensor::Shape value_shape;
  bool is_mutable = false;  // Accepts more rows, and new values for its keys; otherwise it is filled once.
  bool is_filled = false;
  std::string name;                     // The name of the node that made the table, for error messages.
  std::set<std::string> reserved_keys;  // Reserved keys: lookups and inserts of them are errors.
  TableRows rows;

  int64_t value_elements() const;
};

// The memory of the tables that one run makes. Each of these tables shares the counter, because a table may outlive the
// run.
class RunTables {
 public:
  size_t bytes() const { return bytes_ ? *bytes_ : 0; }
  const std::shared_ptr<size_t>& count() {
    if (!bytes_) bytes_ = std::make_shared<size_t>(0);
    return bytes_;
  }

 private:
  std::shared_ptr<size_t> bytes_;  // Allocated with the first table: most runs make no table.
};

// Buffers that are already counted: several tensors may share one buffer.
using CountedBuffers = std::set<const std::byte*>;
// The bytes of the tensor's buffer; 0 if the buffer is already in `counted`. Adds it to `counted`.
int64_t UncountedBytes(const tensor::Tensor& tensor, CountedBuffers* counted);

// The position of a random op in the stream of its seed. Thread-safe.
class RandomStream final : public Resource {
 public:
  // Reserves `count` blocks for the caller and returns the index of the first one.
  uint64_t Take(uint64_t count) { return next_.fetch_add(count); }

 private:
  std::atomic<uint64_t> next_ = 0;
};

// One per loaded model. Thread-safe, except for the public members, which are only written while the model loads.
class Resources {
 public:
  std::shared_ptr<Variable> FindOrMakeVariable(const std::string& name);
  std::shared_ptr<Table> FindOrMakeTable(const std::string& name);
  // Removes the variables without a handle. Call it when all nodes that may make handles have run.
  void DropUnusedVariables();
  int64_t memory_bytes(CountedBuffers* counted) const;
  std::shared_ptr<RandomStream> FindOrMakeRandomStream(const std::string& node_name);

  // The variables on disk. Set only while the model loads, so that requests never read files.
  std::optional<saved_model::Bundle> bundle;
  size_t restored_bytes = 0;             // Restored from the bundle by all restore ops.
  size_t read_bytes = 0;                 // Read from disk for that, which may be more.
  size_t folded_bytes = 0;               // Results computed at load, without constants and variables.
  std::set<std::string> readable_files;  // The files of the model that an initialiser may read.
  bool is_serving = false;               // Tables of the model must not change any more.

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Variable>> variables_;
  std::map<std::string, std::shared_ptr<Table>> tables_;
  std::map<std::string, std::shared_ptr<RandomStream>> random_streams_;
};

// A handle of the resource: a scalar tensor of DT_RESOURCE, which keeps the resource alive.
tensor::Tensor HandleOf(std::shared_ptr<Resource> resource);

// The resource of a handle; nullptr if the tensor is not a handle of a T.
template <typename T>
T* ResourceOf(const tensor::Tensor& handle) {
  if (handle.type() != tensor::DType::kResource || handle.data() == nullptr) return nullptr;
  return dynamic_cast<T*>(reinterpret_cast<Resource*>(const_cast<std::byte*>(handle.data())));
}

}  // namespace longshore::engine::kernels
