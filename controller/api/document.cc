#include "controller/api/document.h"

#include <yaml-cpp/yaml.h>

#include <charconv>
#include <regex>

namespace longshore::api {
namespace {

// Converts an unquoted scalar as in YAML 1.2.2, section 10.3.2. But octal and hexadecimal numbers, infinity and NaN
// stay text.
Json FromPlain(const std::string& text) {
  if (text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL") return nullptr;
  if (text == "true" || text == "True" || text == "TRUE") return true;
  if (text == "false" || text == "False" || text == "FALSE") return false;
  static const std::regex kInteger("[-+]?[0-9]+");
  static const std::regex kFloat("[-+]?(\\.[0-9]+|[0-9]+(\\.[0-9]*)?)([eE][-+]?[0-9]+)?");
  if (text.size() > 40) return text;
  const char* begin = text.data() + (text[0] == '+' ? 1 : 0);
  const char* end = text.data() + text.size();
  if (std::regex_match(text, kInteger)) {
    int64_t value = 0;
    if (std::from_chars(begin, end, value).ec == std::errc()) return value;
  }
  double value = 0;
  if (std::regex_match(text, kFloat) && std::from_chars(begin, end, value).ec == std::errc()) return value;
  return text;
}

class Converter {
 public:
  explicit Converter(Origin& origin) : origin_(origin) {}

  Result<Json> Convert(const YAML::Node& node, const std::string& path, int depth) {
    if (depth > kYamlDepthMax)
      return InvalidArgument("{}nested deeper than {} levels", origin_.At(path), kYamlDepthMax);
    if (++nodes_ > kYamlNodesMax)
      return ResourceExhausted("{}the document has more than {} values", origin_.At(path), kYamlNodesMax);
    origin_.lines.try_emplace(path, node.Mark().line + 1);
    if (node.IsMap()) return Mapping(node, path, depth);
    if (node.IsSequence()) return Sequence(node, path, depth);
    if (node.IsScalar())
      return node.Tag() == "?" || node.Tag().empty() ? FromPlain(node.Scalar()) : Json(node.Scalar());
    return Json(nullptr);
  }

 private:
  Result<Json> Mapping(const YAML::Node& node, const std::string& path, int depth) {
    Json out = Json::object();
    for (const auto& entry : node) {
      const YAML::Node& key = entry.first;
      if (!key.IsScalar()) return InvalidArgument("{}a key must be a scalar", origin_.At(path));
      const std::string child = path.empty() ? key.Scalar() : path + "." + key.Scalar();
      const bool first = !out.contains(key.Scalar());
      origin_.lines[child] = key.Mark().line + 1;
      if (!first) return InvalidArgument("{}written twice", origin_.At(child));
      ASSIGN_OR_RETURN(out[key.Scalar()], Convert(entry.second, child, depth + 1));
    }
    return out;
  }

  Result<Json> Sequence(const YAML::Node& node, const std::string& path, int depth) {
    Json out = Json::array();
    for (size_t i = 0; i < node.size(); ++i) {
      ASSIGN_OR_RETURN(Json item, Convert(node[i], fmt::format("{}[{}]", path, i), depth + 1));
      out.push_back(std::move(item));
    }
    return out;
  }

  Origin& origin_;
  int nodes_ = 0;
};

Result<std::vector<YAML::Node>> Load(std::string_view file, std::string_view text) {
  try {
    return YAML::LoadAll(std::string(text));
  } catch (const YAML::ParserException& error) {
    return InvalidArgument("{}:{}: not YAML: {}", file, error.mark.line + 1, error.msg);
  } catch (const YAML::Exception& error) {
    return InvalidArgument("{}: not YAML: {}", file, error.msg);
  }
}

void Emit(YAML::Emitter& out, const Json& value) {
  if (value.is_object()) {
    out << YAML::BeginMap;
    for (const auto& [key, item] : value.items()) {
      out << YAML::Key << key << YAML::Value;
      Emit(out, item);
    }
    out << YAML::EndMap;
  } else if (value.is_array()) {
    out << YAML::BeginSeq;
    for (const Json& item : value) Emit(out, item);
    out << YAML::EndSeq;
  } else if (value.is_string()) {
    const std::string& text = value.get_ref<const std::string&>();
    if (!FromPlain(text).is_string()) out << YAML::DoubleQuoted;
    out << text;
  } else {
    out << DumpJson(value);
  }
}

}  // namespace

std::string Origin::At(const std::string& path) const {
  const std::string shown = path.empty() ? "" : path + ": ";
  return file.empty() ? shown : fmt::format("{}:{}: {}", file, LineOf(path), shown);
}

int Origin::LineOf(const std::string& path) const {
  for (std::string above = path;; above = above.substr(0, above.find_last_of(".["))) {
    if (const auto line = lines.find(above); line != lines.end()) return line->second;
    if (above.find_last_of(".[") == std::string::npos) break;
  }
  const auto root = lines.find("");
  return root == lines.end() ? 1 : root->second;
}

Result<std::vector<YamlDocument>> LoadYaml(std::string_view file, std::string_view text, size_t documents_max) {
  ASSIGN_OR_RETURN(const std::vector<YAML::Node> nodes, Load(file, text));
  if (nodes.size() > documents_max) return ResourceExhausted("{}: more than {} documents", file, documents_max);
  std::vector<YamlDocument> documents;
  for (const YAML::Node& node : nodes) {
    if (!node.IsDefined() || node.IsNull()) continue;
    YamlDocument document{nullptr, {std::string(file), {}}, node.Mark().line + 1};
    ASSIGN_OR_RETURN(document.root, Converter(document.origin).Convert(node, "", 0));
    documents.push_back(std::move(document));
  }
  return documents;
}

std::string EmitYaml(const Json& root) {
  YAML::Emitter out;
  Emit(out, root);
  return std::string(out.c_str()) + "\n";
}

}  // namespace longshore::api
