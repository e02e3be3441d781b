#include "serving-node/engine/kernels/base/resources.h"

namespace longshore::engine::kernels {
namespace {

template <typename T>
std::shared_ptr<T> FindOrMake(const std::string& name, std::map<std::string, std::shared_ptr<T>>* held) {
  auto& found = (*held)[name];
  if (!found) found = std::make_shared<T>();
  return found;
}

}  // namespace

tensor::Tensor Variable::Get() const {
  const std::lock_guard lock(mutex_);
  return value_;
}

void Variable::Set(tensor::Tensor value) {
  const std::lock_guard lock(mutex_);
  value_ = std::move(value);
}

int64_t Table::value_elements() const {
  int64_t product = 1;
  for (const int64_t size : value_shape) product *= size;
  return product;
}

std::shared_ptr<Variable> Resources::FindOrMakeVariable(const std::string& name) {
  const std::lock_guard lock(mutex_);
  return FindOrMake(name, &variables_);
}

std::shared_ptr<Table> Resources::FindOrMakeTable(const std::string& name) {
  const std::lock_guard lock(mutex_);
  return FindOrMake(name, &tables_);
}

int64_t UncountedBytes(const tensor::Tensor& tensor, CountedBuffers* counted) {
  return counted->insert(tensor.data()).second ? static_cast<int64_t>(tensor.bytes()) : 0;
}

std::shared_ptr<RandomStream> Resources::FindOrMakeRandomStream(const std::string& node_name) {
  const std::lock_guard lock(mutex_);
  return FindOrMake(node_name, &random_streams_);
}

void Resources::DropUnusedVariables() {
  const std::lock_guard lock(mutex_);
  std::erase_if(variables_, [](const auto& named) { return named.second.use_count() == 1; });
}

int64_t Resources::memory_bytes(CountedBuffers* counted) const {
  const std::lock_guard lock(mutex_);
  int64_t sum = 0;
  for (const auto& [name, variable] : variables_) sum += UncountedBytes(variable->Get(), counted);
  for (const auto& [name, table] : tables_) sum += static_cast<int64_t>(table->rows.bytes());
  return sum;
}

tensor::Tensor HandleOf(std::shared_ptr<Resource> resource) {
  auto* data = reinterpret_cast<std::byte*>(resource.get());
  return tensor::Tensor::Wrap(tensor::DType::kResource, {}, data, std::move(resource));
}

}  // namespace longshore::engine::kernels
