#include "tests/gpu/shapes.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace longshore::gpu {
namespace {

Convolution ReadConvolution(std::istream& line, bool is_depthwise) {
  Convolution read;
  read.is_depthwise = is_depthwise;
  line >> read.image >> read.channels >> read.filters >> read.kernel >> read.stride >> read.pad_before >>
      read.pad_after >> read.models;
  return read;
}

Product ReadProduct(std::istream& line) {
  Product read;
  line >> read.rows >> read.inner >> read.columns >> read.batches >> read.is_transposed >> read.models;
  return read;
}

void AddLine(Shapes& shapes, std::istream& line, const std::string& kind) {
  if (kind == "product") {
    shapes.products.push_back(ReadProduct(line));
    return;
  }
  if (kind != "conv" && kind != "depthwise") throw std::runtime_error("shapes.txt: unknown kind " + kind);
  const Convolution& added = shapes.convolutions.emplace_back(ReadConvolution(line, kind == "depthwise"));
  if (added.is_depthwise) return;
  const Product product{.rows = added.Output() * added.Output(),
                        .inner = added.kernel * added.kernel * added.channels,
                        .columns = added.filters,
                        .models = added.models};
  const auto is_same = [&](const Product& other) { return other.Text() == product.Text(); };
  if (std::ranges::none_of(shapes.products, is_same)) shapes.products.push_back(product);
}

}  // namespace

double Convolution::Flop(int64_t batch) const {
  return 2.0 * static_cast<double>(OutputCount(batch) * ChannelsPerFilter() * kernel * kernel);
}

std::string Convolution::Text() const {
  const std::string size = std::to_string(image), window = std::to_string(kernel);
  const std::string same_padding =
      pad_before == pad_after ? "" : " pad " + std::to_string(pad_before) + "," + std::to_string(pad_after);
  return size + "x" + size + "x" + std::to_string(channels) + " " + window + "x" + window + "/" +
         std::to_string(stride) + " " + (is_depthwise ? "depthwise" : std::to_string(filters)) + same_padding;
}

Product Product::For(int64_t batch) const {
  Product grown = *this;
  (batches > 1 ? grown.batches : grown.rows) *= batch;
  return grown;
}

double Product::Flop() const { return 2.0 * static_cast<double>(batches * rows * inner * columns); }

std::string Product::Text() const {
  return (batches > 1 ? std::to_string(batches) + " x " : "") + std::to_string(rows) + "x" + std::to_string(inner) +
         "x" + std::to_string(columns) + (is_transposed ? "T" : "");
}

Shapes ReadShapes(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error(path + " cannot be opened");
  Shapes shapes;
  for (std::string text; std::getline(file, text);) {
    std::istringstream line(text);
    std::string kind;
    if (!(line >> kind) || kind[0] == '#') continue;
    AddLine(shapes, line, kind);
    if (!line) throw std::runtime_error(path + ": not understood: " + text);
  }
  return shapes;
}

}  // namespace longshore::gpu
