#include "serving-node/graph/attributes.h"

#include <algorithm>

namespace longshore::graph {

using tensorflow::AttrValue;

Attributes::Attributes(const google::protobuf::Map<std::string, AttrValue>& values) {
  for (const auto& [name, value] : values) Set(name, value);
}

void Attributes::Set(const std::string& name, AttrValue value) {
  values_[name] = std::make_shared<const AttrValue>(std::move(value));
}

const AttrValue* Attributes::Find(const std::string& name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? nullptr : found->second.get();
}

size_t Attributes::bytes() const {
  size_t sum = 0;
  for (const auto& [name, value] : values_) sum += sizeof(*values_.begin()) + name.size() + value->ByteSizeLong();
  return sum;
}

int64_t Attributes::Int(const std::string& name, int64_t absent) const {
  const auto* value = Find(name);
  return value != nullptr && value->value_case() == AttrValue::kI ? value->i() : absent;
}

float Attributes::Float(const std::string& name, float absent) const {
  const auto* value = Find(name);
  return value != nullptr && value->value_case() == AttrValue::kF ? value->f() : absent;
}

bool Attributes::Bool(const std::string& name, bool absent) const {
  const auto* value = Find(name);
  return value != nullptr && value->value_case() == AttrValue::kB ? value->b() : absent;
}

std::string Attributes::Text(const std::string& name, const std::string& absent) const {
  const auto* value = Find(name);
  return value != nullptr && value->value_case() == AttrValue::kS ? value->s() : absent;
}

std::vector<int64_t> Attributes::Ints(const std::string& name) const {
  const auto* value = Find(name);
  if (value == nullptr) return {};
  return {value->list().i().begin(), value->list().i().end()};
}

tensor::DType Attributes::Type(const std::string& name, tensor::DType absent) const {
  const auto* value = Find(name);
  if (value == nullptr || value->value_case() != AttrValue::kType) return absent;
  return static_cast<tensor::DType>(value->type());
}

bool Attributes::operator==(const Attributes& other) const {
  const auto is_same = [](const auto& a, const auto& b) {
    if (a.first != b.first) return false;
    return a.second == b.second || a.second->SerializeAsString() == b.second->SerializeAsString();
  };
  return std::ranges::equal(values_, other.values_, is_same);
}

}  // namespace longshore::graph
