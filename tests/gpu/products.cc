// Which algorithms cuBLASLt has for the products of shapes.txt, how long they take, how exact they are, and whether the
// same algorithm gives the same bits in another process.
//
//   products SHAPES write FILE    times the algorithms, and writes the best ones and checksums of their results to FILE
//   products SHAPES read FILE     executes the algorithms of FILE, and compares the checksums
#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <map>
#include <stdexcept>

#include "tests/gpu/device.h"
#include "tests/gpu/product_calls.h"
#include "tests/gpu/reference.h"

namespace longshore::gpu {
namespace {

constexpr int64_t kBatches[] = {1, 8, 32};
constexpr int kAlgorithmsMax = 16;
constexpr int kComparedAlgorithmsMax = 4;  // With an epilogue or tensor cores: their times are only for comparison.
constexpr size_t kWorkspaceBytes = 64 << 20;
constexpr int kRoughSamples = 5;
constexpr int kSamples = 50;
constexpr int kComparedRuns = 5;

// What another process needs to repeat a product. Written to a file as it is.
struct Repeatable {
  int64_t index;  // The place of the product in the order of this program.
  cublasLtMatmulAlgo_t first;
  cublasLtMatmulAlgo_t best;
  uint64_t checksum;
};

struct Timed {
  cublasLtMatmulAlgo_t algorithm{};
  size_t workspace_bytes = 0;
  double us = 0;  // 0 if no algorithm runs.
  double first_us = 0;
  int offered = 0;
  std::string error;
};

class ProductBench {
 public:
  explicit ProductBench(const std::vector<Product>& products) : stream_(MakeStream()) {
    CheckBlas(cublasLtCreate(&handle_));
    int64_t left = 0, right = 0, output = 0;
    for (const Product& product : products) {
      left = std::max(left, product.batches * product.rows * product.inner);
      right = std::max(right, product.batches * product.inner * product.columns);
      output = std::max(output, product.batches * product.rows * product.columns);
    }
    const auto bytes = [](int64_t count) { return static_cast<size_t>(count) * sizeof(float); };
    for (DeviceMemory* memory : {&left_, &narrow_left_}) *memory = MakeDeviceMemory(bytes(left));
    for (DeviceMemory* memory : {&right_, &narrow_right_, &bias_}) *memory = MakeDeviceMemory(bytes(right));
    for (DeviceMemory* memory : {&output_, &second_output_}) *memory = MakeDeviceMemory(bytes(output));
    workspace_ = MakeDeviceMemory(kWorkspaceBytes);
    FillFloats(static_cast<float*>(left_.get()), static_cast<size_t>(left), 1, stream_.get());
    FillFloats(static_cast<float*>(right_.get()), static_cast<size_t>(right), 2, stream_.get());
    FillFloats(static_cast<float*>(bias_.get()), static_cast<size_t>(right), 3, stream_.get());
    FillBfloat16s(narrow_left_.get(), static_cast<size_t>(left), 4, stream_.get());
    FillBfloat16s(narrow_right_.get(), static_cast<size_t>(right), 5, stream_.get());
  }

  Timed Time(const Product& product, Precision precision, cublasLtEpilogue_t epilogue, int algorithms_max) {
    Timed timed;
    try {
      ProductCall call(product, precision, epilogue);
      if (epilogue != CUBLASLT_EPILOGUE_DEFAULT) call.SetBias(bias_.get());
      const auto algorithms = call.Algorithms(handle_, algorithms_max, kWorkspaceBytes);
      timed.offered = static_cast<int>(algorithms.size());
      for (const auto& found : algorithms) AddRoughTime(call, found, precision, timed);
      if (timed.us > 0) timed.us = Median(call, timed.algorithm, precision, timed.us, kSamples);
    } catch (const std::exception& error) {
      timed.error = error.what();
    }
    return timed;
  }

  // Whether several runs give the same bits as the first one, whose output remains.
  bool IsBitEqual(const Product& product, const cublasLtMatmulAlgo_t& algorithm) {
    const size_t words = Execute(product, algorithm, output_.get());
    bool is_equal = true;
    for (int run = 0; run < kComparedRuns; ++run) {
      Execute(product, algorithm, second_output_.get());
      is_equal &= CountDifferences(output_.get(), second_output_.get(), words, stream_.get()) == 0;
    }
    return is_equal;
  }

  double Error(const Product& product) const {
    return ProductError(product,
                        {static_cast<const float*>(left_.get()), static_cast<const float*>(right_.get()),
                         static_cast<const float*>(output_.get())},
                        stream_.get());
  }

  uint64_t ChecksumOf(const Product& product, const cublasLtMatmulAlgo_t& algorithm) {
    const size_t words = Execute(product, algorithm, output_.get());
    return Checksum(output_.get(), words, stream_.get());
  }

  cublasLtMatmulAlgo_t FirstAlgorithm(const Product& product) {
    ProductCall call(product, Precision::kFloat32, CUBLASLT_EPILOGUE_DEFAULT);
    const auto algorithms = call.Algorithms(handle_, kAlgorithmsMax, kWorkspaceBytes);
    if (algorithms.empty()) throw std::runtime_error("no algorithm for " + product.Text());
    return algorithms[0].algo;
  }

 private:
  Matrices MatricesOf(Precision precision, void* output) const {
    const bool is_narrow = precision == Precision::kBfloat16;
    return {.left = is_narrow ? narrow_left_.get() : left_.get(),
            .right = is_narrow ? narrow_right_.get() : right_.get(),
            .output = output,
            .workspace = workspace_.get(),
            .workspace_bytes = kWorkspaceBytes};
  }

  // Fills the output with NaN, runs the product in float32, and returns the number of words of the output.
  size_t Execute(const Product& product, const cublasLtMatmulAlgo_t& algorithm, void* output) {
    const auto words = static_cast<size_t>(product.batches * product.rows * product.columns);
    Check(cudaMemsetAsync(output, 0xff, words * sizeof(float), stream_.get()));
    const ProductCall call(product, Precision::kFloat32, CUBLASLT_EPILOGUE_DEFAULT);
    call.Run(handle_, algorithm, MatricesOf(Precision::kFloat32, output), stream_.get());
    return words;
  }

  void AddRoughTime(const ProductCall& call, const cublasLtMatmulHeuristicResult_t& found, Precision precision,
                    Timed& timed) {
    double us = 0;
    try {
      call.Run(handle_, found.algo, MatricesOf(precision, output_.get()), stream_.get());  // Loads the kernels.
      const auto work = [&] { call.Run(handle_, found.algo, MatricesOf(precision, output_.get()), stream_.get()); };
      us = Median(call, found.algo, precision, DeviceTimes(stream_.get(), 1, work)[0], kRoughSamples);
    } catch (const std::exception& error) {
      timed.error = error.what();
      cudaGetLastError();
      return;
    }
    if (timed.us == 0) timed.first_us = us;
    if (timed.us != 0 && us >= timed.us) return;
    timed.us = us;
    timed.algorithm = found.algo;
    timed.workspace_bytes = found.workspaceSize;
  }

  double Median(const ProductCall& call, const cublasLtMatmulAlgo_t& algorithm, Precision precision, double rough_us,
                int samples) {
    const auto work = [&] { call.Run(handle_, algorithm, MatricesOf(precision, output_.get()), stream_.get()); };
    return Quantile(GraphTimes(stream_.get(), RepeatsFor(rough_us), samples, work), 0.5);
  }

  Stream stream_;
  cublasLtHandle_t handle_ = nullptr;
  DeviceMemory left_, right_, bias_, narrow_left_, narrow_right_, output_, second_output_, workspace_;
};

// All products at all batches, in an order that is the same in every process, and a large one, which shows the most
// that the library reaches.
std::vector<Product> AllProducts(const Shapes& shapes) {
  std::vector<Product> all;
  for (const int64_t batch : kBatches) {
    for (const Product& product : shapes.products) all.push_back(product.For(batch));
  }
  all.push_back({.rows = 4096, .inner = 4096, .columns = 4096, .models = ""});
  return all;
}

// How many products had the same bits in every run, and the largest error.
struct Repeated {
  int products = 0;
  int bit_equal = 0;
  double error_max = 0;
};

void WriteRow(const Table& table, ProductBench& bench, const Product& product, Repeatable& repeatable,
              Repeated& repeated) {
  const Timed plain = bench.Time(product, Precision::kFloat32, CUBLASLT_EPILOGUE_DEFAULT, kAlgorithmsMax);
  if (plain.us == 0) throw std::runtime_error("no algorithm runs: " + plain.error);
  repeated.bit_equal += bench.IsBitEqual(product, plain.algorithm);
  const double error = bench.Error(product);
  repeated.error_max = std::max(repeated.error_max, error);
  ++repeated.products;
  const auto us = [&](Precision precision, cublasLtEpilogue_t epilogue) {
    const double best = bench.Time(product, precision, epilogue, kComparedAlgorithmsMax).us;
    return best > 0 ? Rounded(best) : std::nan("");
  };
  table.Add({product.Text(), plain.offered, Rounded(static_cast<double>(plain.workspace_bytes) / (1 << 20)),
             Rounded(plain.first_us), Rounded(plain.us), us(Precision::kFloat32, CUBLASLT_EPILOGUE_RELU_BIAS),
             us(Precision::kFloat32, CUBLASLT_EPILOGUE_GELU_BIAS), us(Precision::kTf32, CUBLASLT_EPILOGUE_DEFAULT),
             us(Precision::kBfloat16, CUBLASLT_EPILOGUE_DEFAULT)});
  repeatable.first = bench.FirstAlgorithm(product);
  repeatable.best = plain.algorithm;
  repeatable.checksum = bench.ChecksumOf(product, plain.algorithm);
}

void Measure(const std::vector<Product>& products, const char* path) {
  ProductBench bench(products);
  std::ofstream file(path, std::ios::binary);
  const Table table("products", {"shape", "algorithms", "workspace MiB", "us of the first", "us",
                                 "with bias and relu us", "with bias and gelu us", "TF32 us", "bfloat16 us"});
  Repeated repeated;
  for (size_t i = 0; i < products.size(); ++i) {
    Try(products[i].Text(), [&] {
      Repeatable repeatable{.index = static_cast<int64_t>(i), .first = {}, .best = {}, .checksum = 0};
      WriteRow(table, bench, products[i], repeatable, repeated);
      file.write(reinterpret_cast<const char*>(&repeatable), sizeof repeatable);
    });
  }
  Fact("best algorithms")
      .With("products", repeated.products)
      .With("with_the_same_bits_in_six_runs", repeated.bit_equal)
      .With("largest_error", repeated.error_max);
}

// The checksum is that of the algorithms that the library proposes first: cards of one kind can be compared by it.
void Repeat(const std::vector<Product>& products, const char* path) {
  ProductBench bench(products);
  std::ifstream file(path, std::ios::binary);
  int same_bits = 0, same_choice = 0, total = 0;
  uint64_t checksum = 0;
  for (Repeatable read{}; file.read(reinterpret_cast<char*>(&read), sizeof read);) {
    const Product& product = products.at(static_cast<size_t>(read.index));
    ++total;
    same_bits += bench.ChecksumOf(product, read.best) == read.checksum;
    const cublasLtMatmulAlgo_t first = bench.FirstAlgorithm(product);
    same_choice += std::memcmp(&first, &read.first, sizeof first) == 0;
    checksum += bench.ChecksumOf(product, first);
  }
  Fact("products repeated in another process")
      .With("products", total)
      .With("with_the_same_bits", same_bits)
      .With("with_the_same_first_algorithm", same_choice)
      .With("checksum_of_the_first_algorithms", std::to_string(checksum));
}

}  // namespace
}  // namespace longshore::gpu

int main(int argc, char** argv) {
  using namespace longshore::gpu;
  return RunPart([&] {
    if (argc != 4) throw std::runtime_error("usage: products SHAPES write|read FILE");
    const std::vector<Product> products = AllProducts(ReadShapes(argv[1]));
    std::string(argv[2]) == "write" ? Measure(products, argv[3]) : Repeat(products, argv[3]);
  });
}
