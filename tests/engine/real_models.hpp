// The real runtime and models for tests. They are fetched, not stored, so a test that needs them fails with the command
// that gets them instead of passing without having run.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "engine/session.hpp"
#include "engine/shape_rules.hpp"
#include "engine/tensor_source.hpp"

namespace cistern::engine::testing {

inline const char* const kModelNames[] = {"detection", "recognition", "classification"};

inline std::string model_path(const std::string& name) {
  return std::string(DEPS_DIRECTORY "/models/") + name + ".onnx";
}

class RealModels : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string library = DEPS_DIRECTORY "/onnxruntime/libonnxruntime.so.1";
    bool is_complete = std::filesystem::exists(library);
    for (const char* name : kModelNames) is_complete = is_complete && std::filesystem::exists(model_path(name));
    if (!is_complete) FAIL() << "ONNX Runtime or the models are not in " DEPS_DIRECTORY ": run ./dev setup";
    auto runtime = OnnxRuntime::load({library, ""});
    ASSERT_TRUE(runtime.is_ok()) << runtime.status().to_string();
    auto made = Environment::create(runtime.take());
    ASSERT_TRUE(made.is_ok()) << made.status().to_string();
    environment_ = std::make_unique<Environment>(made.take());
  }
  void TearDown() override {
    if (environment_ == nullptr) return;
    EXPECT_EQ(environment_->misuses(), 0U) << environment_->first_misuse();
  }

  Model load(const std::string& name, std::shared_ptr<MemorySource> source,
             GraphOptimization optimization = GraphOptimization::extended) {
    auto loaded = environment_->load(model_path(name), std::move(source), optimization);
    EXPECT_TRUE(loaded.is_ok()) << loaded.status().to_string();
    return loaded.take();
  }

  // The inputs of request `request`, as small as the model's rules allow unless told.
  static std::vector<Tensor> inputs_of(const Model& model, std::uint64_t request,
                                       const std::vector<Binding>& bindings = small_images()) {
    auto rules = resolve_shape_rules(model.name(), model.inputs(), bindings);
    EXPECT_TRUE(rules.is_ok()) << rules.status().to_string();
    auto inputs = make_inputs(model.inputs(), draw_shapes(rules.value(), 1, request), request);
    EXPECT_TRUE(inputs.is_ok());
    return inputs.take();
  }
  static std::vector<Binding> small_images() {
    return {{"detection", "*", "2", {64, 128, 32}},
            {"detection", "*", "3", {64, 128, 32}},
            {"recognition", "*", "3", {48, 96, 1}}};
  }

  std::unique_ptr<Environment> environment_;
};

}  // namespace cistern::engine::testing
