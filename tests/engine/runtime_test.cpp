// The engine against a runtime that is absent, old, failing, or wrong in its use of the allocator.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "engine/session.hpp"
#include "engine/tensor_source.hpp"
#include "fake_onnxruntime.hpp"
#include "heap_memory.hpp"

namespace cistern::engine {
namespace {

using base::StatusCode;
using testing::FakeScript;
using testing::HeapMemory;
using testing::Misbehaviour;

void expect_text(const base::Status& status, StatusCode code, std::initializer_list<std::string_view> parts) {
  EXPECT_EQ(status.code(), code) << status.to_string();
  for (const std::string_view part : parts) {
    EXPECT_NE(status.text().find(part), std::string_view::npos) << "'" << part << "' is not in: " << status.text();
  }
  EXPECT_EQ(status.text().find('\n'), std::string_view::npos) << "more than one line: " << status.text();
}

FakeScript& script() {
  static FakeScript* found = [] {
    void* library = dlopen(FAKE_ONNXRUNTIME, RTLD_NOW | RTLD_LOCAL);
    return reinterpret_cast<FakeScript* (*)()>(dlsym(library, "fake_script"))();
  }();
  return *found;
}

class FakeRuntime : public ::testing::Test {
 protected:
  void SetUp() override {
    script() = FakeScript{};
    std::ofstream(model_path_) << "not read by the fake";
  }
  void TearDown() override {
    std::filesystem::remove(model_path_);
    EXPECT_EQ(script().environments, 0);
    EXPECT_EQ(script().sessions, 0);
    EXPECT_EQ(script().values, 0);
    EXPECT_EQ(script().failures, 0) << "failure objects that were never given back";
    EXPECT_EQ(script().options, 0);
  }

  Environment environment() {
    auto made = Environment::create(OnnxRuntime::load({FAKE_ONNXRUNTIME, ""}).take());
    EXPECT_TRUE(made.is_ok()) << made.status().to_string();
    return made.take();
  }
  static std::vector<Tensor> input(std::int64_t rows = 3) {
    std::vector<Tensor> inputs;
    inputs.push_back(make_tensor(ElementType::float32, {rows, 4}, 1).take());
    return inputs;
  }

  const std::string model_path_ = ::testing::TempDir() + "doubling.onnx";
  std::shared_ptr<HeapMemory> memory_ = std::make_shared<HeapMemory>();
};

TEST(RuntimeSearch, AbsentLibraryNamesThePathAndTheCommandThatGetsOne) {
  expect_text(OnnxRuntime::load({"/nowhere/libonnxruntime.so.1", ""}).status(), StatusCode::not_found,
              {"/nowhere/libonnxruntime.so.1", "./dev setup"});
  expect_text(OnnxRuntime::load({"", "/nowhere/lib.so"}).status(), StatusCode::not_found,
              {"/nowhere/lib.so", "CISTERN_ONNXRUNTIME", "./dev setup"});
}

TEST(RuntimeSearch, APathGivenByTheCallerWinsOverTheEnvironment) {
  auto runtime = OnnxRuntime::load({FAKE_ONNXRUNTIME, "/nowhere/lib.so"});
  ASSERT_TRUE(runtime.is_ok()) << runtime.status().to_string();
  EXPECT_EQ(runtime.value()->version(), "1.99.0");
  EXPECT_EQ(runtime.value()->path(), FAKE_ONNXRUNTIME);
}

TEST(RuntimeSearch, TheUsualPlacesStartAtTheWorkingDirectoryAndEndWithPlainNames) {
  const auto places = usual_runtime_places();
  ASSERT_GE(places.size(), 4U);
  EXPECT_EQ(places.front(), ".deps/onnxruntime/libonnxruntime.so.1");
  EXPECT_EQ(places.back(), "libonnxruntime.so");
  EXPECT_NE(places[1].find("/.deps/onnxruntime/libonnxruntime.so.1"), std::string::npos);
}

TEST(RuntimeSearch, ALibraryWithoutTheEntryPointIsRefused) {
  expect_text(OnnxRuntime::load({NOT_ONNXRUNTIME, ""}).status(), StatusCode::unsupported,
              {"OrtGetApiBase", NOT_ONNXRUNTIME, "./dev setup"});
}

TEST(RuntimeSearch, AFileThatIsNoLibraryIsRefusedWithTheLoadersReason) {
  const std::string path = ::testing::TempDir() + "no_library.so";
  std::ofstream(path) << "text";
  expect_text(OnnxRuntime::load({path, ""}).status(), StatusCode::io_error, {path, "./dev setup"});
  std::filesystem::remove(path);
}

TEST_F(FakeRuntime, TooOldARuntimeIsRefusedWithItsVersion) {
  script().newest_api = 17;
  expect_text(OnnxRuntime::load({FAKE_ONNXRUNTIME, ""}).status(), StatusCode::unsupported,
              {"1.99.0", "too old", "API version 18", "./dev setup"});
  script().newest_api = 18;
  EXPECT_TRUE(OnnxRuntime::load({FAKE_ONNXRUNTIME, ""}).is_ok());
}

TEST_F(FakeRuntime, RunsAndGivesEverythingBack) {
  Environment env = environment();
  EXPECT_EQ(script().registered_version, 18);
  auto loaded = env.load(model_path_, memory_);
  ASSERT_TRUE(loaded.is_ok()) << loaded.status().to_string();
  Model model = loaded.take();
  EXPECT_EQ(model.name(), "doubling");
  EXPECT_EQ(model.load_usage().weight_allocations, 2U);
  EXPECT_EQ(model.load_usage().weight_bytes, 4196U);
  EXPECT_EQ(model.held().bytes, 4196U);
  ASSERT_EQ(model.inputs().size(), 1U);
  EXPECT_EQ(describe(model.inputs()[0]), "float32 x[?,4]");

  const auto inputs = input();
  auto ran = model.run(inputs);
  ASSERT_TRUE(ran.is_ok()) << ran.status().to_string();
  Outputs outputs = ran.take();
  ASSERT_EQ(outputs.tensors().size(), 1U);
  EXPECT_EQ(outputs.tensors()[0].shape, (std::vector<std::int64_t>{3, 4}));
  float given = 0;
  float got = 0;
  std::memcpy(&given, inputs[0].bytes.data() + 20, 4);
  std::memcpy(&got, outputs.tensors()[0].bytes.data() + 20, 4);
  EXPECT_EQ(got, 2 * given);
  EXPECT_EQ(outputs.usage().activation_allocations, 3U);  // input, scratch, output
  EXPECT_EQ(outputs.usage().activation_bytes, 48U + 1000U + 48U);
  EXPECT_EQ(outputs.usage().frees, 2U);
  EXPECT_EQ(outputs.usage().modelled_ns, 3000U);
  outputs.release();
  EXPECT_EQ(outputs.usage().frees, 3U);
  EXPECT_EQ(model.held().peak_bytes, 4196U + 48U + 1000U);

  EXPECT_EQ(model.unload().blocks, 0U);
  EXPECT_EQ(memory_->live_blocks(), 0U);
  EXPECT_EQ(env.misuses(), 0U) << env.first_misuse();
}

TEST_F(FakeRuntime, OutputsMayOutliveModelAndEnvironment) {
  std::unique_ptr<Outputs> outputs;
  {
    Environment env = environment();
    Model model = env.load(model_path_, memory_).take();
    outputs = std::make_unique<Outputs>(model.run(input()).take());
    EXPECT_EQ(model.unload().blocks, 1U) << "the output is still held";
  }
  EXPECT_EQ(script().environments, 1);
  EXPECT_EQ(outputs->tensors()[0].bytes.size(), 48U);
  outputs.reset();
  EXPECT_EQ(memory_->live_blocks(), 0U);
}

TEST_F(FakeRuntime, ASecondEnvironmentIsBusyUntilTheFirstEnds) {
  auto runtime = OnnxRuntime::load({FAKE_ONNXRUNTIME, ""}).take();
  {
    auto first = Environment::create(runtime);
    ASSERT_TRUE(first.is_ok());
    expect_text(Environment::create(runtime).status(), StatusCode::busy, {"already"});
  }
  EXPECT_TRUE(Environment::create(runtime).is_ok());
}

TEST_F(FakeRuntime, AFailedStartCarriesTheRuntimesWordsAndCanBeTriedAgain) {
  auto runtime = OnnxRuntime::load({FAKE_ONNXRUNTIME, ""}).take();
  script().fail_environment = true;
  const auto status = Environment::create(runtime).status();
  expect_text(status, StatusCode::device_error, {"no environment today"});
  EXPECT_EQ(status.native_code(), 1);
  script().fail_environment = false;
  script().fail_registration = true;
  expect_text(Environment::create(runtime).status(), StatusCode::invalid_argument,
              {"no allocator wanted", "allocator"});
  script().fail_registration = false;
  EXPECT_TRUE(Environment::create(runtime).is_ok());
}

TEST_F(FakeRuntime, AFailedSessionNamesTheFileAndLeavesNothing) {
  Environment env = environment();
  script().fail_session = true;
  expect_text(env.load(model_path_, memory_).status(), StatusCode::corrupted,
              {model_path_, "Protobuf parsing failed."});
  EXPECT_EQ(memory_->live_blocks(), 0U);
}

TEST_F(FakeRuntime, ElementTypesAndKindsThatTheEngineDoesNotServeAreNamed) {
  Environment env = environment();
  script().input_type = 8;
  expect_text(env.load(model_path_, memory_).status(), StatusCode::unsupported, {"input 'x'", "string", "float32"});
  script().input_type = 1;
  script().input_kind = 4;
  expect_text(env.load(model_path_, memory_).status(), StatusCode::unsupported, {"input 'x'", "no tensor"});
  EXPECT_EQ(memory_->live_blocks(), 0U);
}

TEST_F(FakeRuntime, AFailedRunGivesBackItsMemory) {
  Environment env = environment();
  Model model = env.load(model_path_, memory_).take();
  script().fail_run = true;
  expect_text(model.run(input()).status(), StatusCode::device_error, {"doubling", "Mul node"});
  EXPECT_EQ(memory_->live_blocks(), 2U) << "the weights only";
  script().fail_run = false;
  EXPECT_TRUE(model.run(input()).is_ok());
}

TEST_F(FakeRuntime, InputsThatDoNotFitAreRefusedBeforeTheRun) {
  Environment env = environment();
  Model model = env.load(model_path_, memory_).take();
  expect_text(model.run({}).status(), StatusCode::invalid_argument, {"1 inputs", "0 were given"});
  std::vector<Tensor> wrong;
  wrong.push_back(make_tensor(ElementType::int64, {3, 4}, 1).take());
  expect_text(model.run(wrong).status(), StatusCode::invalid_argument, {"float32 x[?,4]", "int64"});
  wrong[0] = make_tensor(ElementType::float32, {3, 5}, 1).take();
  expect_text(model.run(wrong).status(), StatusCode::invalid_argument, {"float32 x[?,4]", "[3,5]"});
  wrong[0] = make_tensor(ElementType::float32, {3, 4}, 1).take();
  wrong[0].bytes.pop_back();
  expect_text(model.run(wrong).status(), StatusCode::invalid_argument, {"47 bytes", "48"});
  EXPECT_EQ(memory_->activation_calls, 0U);
}

TEST_F(FakeRuntime, AnyRefusalOfTheSourceComesBackAsItsOwnStatusAndLeaksNothing) {
  Environment env = environment();
  for (std::uint64_t refused = 1; refused <= 5; ++refused) {
    auto memory = std::make_shared<HeapMemory>();
    memory->fail_at = refused;
    auto loaded = env.load(model_path_, memory);
    if (refused <= 2) {
      expect_text(loaded.status(), StatusCode::out_of_memory, {"scripted refusal", model_path_});
    } else {
      ASSERT_TRUE(loaded.is_ok());
      expect_text(loaded.value().run(input()).status(), StatusCode::out_of_memory, {"scripted refusal", "doubling"});
      EXPECT_EQ(loaded.value().unload().blocks, 0U);
    }
    EXPECT_EQ(memory->live_blocks(), 0U) << "call " << refused;
    EXPECT_EQ(script().runs, refused <= 3 ? 0 : static_cast<int>(refused) - 3) << "no run without its inputs";
  }
  EXPECT_EQ(env.misuses(), 0U) << env.first_misuse();
}

TEST_F(FakeRuntime, WrongFreesAreRefusedAndReported) {
  for (const Misbehaviour wrong :
       {Misbehaviour::double_free, Misbehaviour::foreign_free, Misbehaviour::interior_free}) {
    Environment env = environment();
    Model model = env.load(model_path_, memory_).take();
    script().misbehaviour = wrong;
    EXPECT_TRUE(model.run(input()).is_ok());
    EXPECT_EQ(env.misuses(), 1U);
    EXPECT_NE(env.first_misuse().find("does not hold"), std::string::npos) << env.first_misuse();
    EXPECT_EQ(model.unload().blocks, 0U);
    EXPECT_EQ(memory_->wrong_frees, 0U) << "the source must not see it";
  }
}

TEST_F(FakeRuntime, WhatTheRuntimeKeepsIsToldAtUnloadAndGivenBackAtTheEnd) {
  for (const Misbehaviour wrong : {Misbehaviour::leak, Misbehaviour::late_free}) {
    {
      Environment env = environment();
      Model model = env.load(model_path_, memory_).take();
      script().misbehaviour = wrong;
      EXPECT_TRUE(model.run(input()).is_ok());
      const MemoryHeld left = model.unload();
      EXPECT_EQ(left.blocks, 1U);
      EXPECT_EQ(left.bytes, 1000U);
      EXPECT_EQ(memory_->live_blocks(), 1U);
    }
    EXPECT_EQ(memory_->live_blocks(), 0U);
    EXPECT_EQ(memory_->wrong_frees, 0U);
  }
}

TEST_F(FakeRuntime, ARequestOutsideAnyModelIsServedFromTheHeapAndReported) {
  script().misbehaviour = Misbehaviour::stray_allocation;
  { Environment env = environment(); }
  EXPECT_EQ(memory_->calls, 0U);
}

}  // namespace
}  // namespace cistern::engine
