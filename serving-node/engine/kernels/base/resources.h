// The state that a model keeps between runs: variables, tables and random streams. Also the files that the initialiser
// of the model may read while it loads.
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
  // If false, the table is filled once. If true, rows can be added, replaced and removed repeatedly: in a table that
  // belongs to the model, only while the model loads.
  bool is_mutable = false;
  bool is_filled = false;
  std::string name;                     // The name of the node that made the table, for error messages.
  std::set<std::string> reserved_keys;  // Lookups and inserts of these keys are errors.
  TableRows rows;

  int64_t value_elements() const;
};

// Counts the memory of the tables that one run makes. Each of these tables shares the ownership of the counter, because
// a table may outlive the run.
class RunTables {
 public:
  size_t bytes() const { return bytes_ ? *bytes_ : 0; }
  const std::shared_ptr<size_t>& count() {
    if (!bytes_) bytes_ = std::make_shared<size_t>(0);
    return bytes_;
  }

 private:
  std::shared_ptr<size_t> bytes_;  // Allocated with the first table, because most runs make no table.
};

// The buffers that are already counted. Several tensors may share one buffer.
using CountedBuffers = std::set<const std::byte*>;
// Returns the bytes of the tensor's buffer and adds the buffer to `counted`; returns 0 if the buffer is already there.
int64_t UncountedBytes(const tensor::Tensor& tensor, CountedBuffers* counted);

// The position of a random op in the stream of its seed. Thread-safe.
class RandomStream final : public Resource {
 public:
  // Reserves `count` blocks for the caller and returns the index of the first one.
  uint64_t Take(uint64_t count) { return next_.fetch_add(count); }

 private:
  std::atomic<uint64_t> next_ = 0;
};

// One object per loaded model. Thread-safe, except for the public members, which are only written while the model
// loads.
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
  size_t restored_bytes = 0;             // Bytes of the tensors that restore ops made from `bundle`.
  size_t read_bytes = 0;                 // Bytes read from disk for these tensors; may exceed restored_bytes.
  size_t folded_bytes = 0;               // Bytes of results computed at load, without constants and variables.
  std::set<std::string> readable_files;  // The files of the model that an initialiser may read.
  bool is_serving = false;               // If true, tables of the model must not change any more.

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Variable>> variables_;
  std::map<std::string, std::shared_ptr<Table>> tables_;
  std::map<std::string, std::shared_ptr<RandomStream>> random_streams_;
};

// Returns a handle of the resource: a scalar tensor of DT_RESOURCE, which keeps the resource alive.
tensor::Tensor HandleOf(std::shared_ptr<Resource> resource);

// Returns the resource of a handle; nullptr if the tensor is not a handle of a T.
template <typename T>
T* ResourceOf(const tensor::Tensor& handle) {
  if (handle.type() != tensor::DType::kResource || handle.data() == nullptr) return nullptr;
  return dynamic_cast<T*>(reinterpret_cast<Resource*>(const_cast<std::byte*>(handle.data())));
}

}  // namespace longshore::engine::kernels
