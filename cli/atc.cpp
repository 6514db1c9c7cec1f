// `cistern atc`: an ONNX model becomes an .om file for the AscendCL library, its shapes chosen once and for all, as the
// vendor's compiler of that name does it; the model inside stays ONNX.
#include <sys/stat.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/crc32c.hpp"
#include "base/json_writer.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "cli/atc_shapes.hpp"
#include "cli/ui/output.hpp"
#include "cli/verbs.hpp"
#include "engine/mapped_file.hpp"
#include "engine/om_model.hpp"
#include "engine/onnx_weights.hpp"
#include "engine/onnxruntime_api.hpp"

namespace cistern::cli {
namespace {

bool is_same_file(const std::string& one, const std::string& other) {
  struct stat first {};
  struct stat second {};
  return ::stat(one.c_str(), &first) == 0 && ::stat(other.c_str(), &second) == 0 && first.st_dev == second.st_dev &&
         first.st_ino == second.st_ino;
}

std::uint32_t sum_of(const engine::MappedFile& file) {
  return base::crc32c({reinterpret_cast<const char*>(file.contents().data()), file.contents().size()});
}

std::string extents_text(const engine::TensorOutline& tensor, bool has_batches) {
  std::string text;
  for (std::size_t axis = 0; axis < tensor.extents.size(); ++axis) {
    const bool is_batch = has_batches && tensor.has_batch && axis == 0;
    text += (text.empty() ? "" : ",") + (is_batch ? "batch" : std::to_string(tensor.extents[axis]));
  }
  return "[" + text + "]";
}

std::string as_text(const engine::ModelOutline& outline, const std::string& path, std::size_t file_bytes) {
  std::string text = path + ": " + base::format_bytes(file_bytes) + "\n";
  const auto add = [&](const char* what, const std::vector<engine::TensorOutline>& tensors) {
    for (const engine::TensorOutline& tensor : tensors) {
      text += std::string("  ") + what + std::string(engine::element_type_name(tensor.type)) + " " + tensor.name +
              extents_text(tensor, outline.has_dynamic_batch()) + ", " + std::to_string(tensor.bytes) + " bytes\n";
    }
  };
  add("input   ", outline.inputs);
  add("output  ", outline.outputs);
  std::string batches;
  for (const std::uint64_t batch : outline.batches) batches += (batches.empty() ? "" : ", ") + std::to_string(batch);
  if (outline.has_dynamic_batch()) text += "  batches " + batches + "\n";
  text += "  weights " + std::to_string(outline.weight_bytes) + " bytes\n";
  return text + "  work    " + std::to_string(outline.work_bytes) + " bytes, measured with ONNX Runtime " +
         outline.measured_by + "\n";
}

std::string as_json(const engine::ModelOutline& outline, const std::string& path, std::size_t file_bytes) {
  std::string out;
  base::JsonWriter json(&out, base::JsonWriter::Style::pretty);
  json.begin_object().member("path", path).member("file_bytes", file_bytes).member("model", outline.name);
  const auto add = [&json](const char* key, const std::vector<engine::TensorOutline>& tensors) {
    json.key(key).begin_array();
    for (const engine::TensorOutline& tensor : tensors) {
      json.begin_object().member("name", tensor.name).member("type", engine::element_type_name(tensor.type));
      json.key("extents").begin_array();
      for (const std::int64_t extent : tensor.extents) json.value(extent);
      json.end_array().member("bytes", tensor.bytes).member("has_batch", tensor.has_batch).end_object();
    }
    json.end_array();
  };
  add("inputs", outline.inputs);
  add("outputs", outline.outputs);
  json.key("batches").begin_array();
  for (const std::uint64_t batch : outline.batches) json.value(batch);
  json.end_array().member("weight_bytes", outline.weight_bytes).member("work_bytes", outline.work_bytes);
  json.member("onnxruntime", outline.measured_by).end_object();
  return out + "\n";
}

class AtcVerb final : public Verb {
 public:
  std::string_view name() const override { return "atc"; }
  std::string_view summary() const override {
    return "Make an .om file of an ONNX model, for programs that use AscendCL";
  }
  std::vector<Example> examples() const override {
    return {{"cistern atc rec.onnx -o rec.om --input-shape x:1,3,48,320", "one shape"},
            {"cistern atc cls.onnx -o cls.om --input-shape x:-1,3,48,192 --dynamic-batch-size 1,2,4",
             "the program chooses the batch"}};
  }
  void declare(Arguments* arguments) override {
    arguments->positional("MODEL.onnx", &paths_, 1, "the model");
    arguments->text("-o,--output", &output_, "MODEL.om", "the file to write; it appears whole or not at all");
    arguments->text("--input-shape", &shapes_text_, "\"NAME:EXTENT,...;...\"",
                    "the extents of inputs; inputs without dynamic axes may be left out");
    arguments->text("--dynamic-batch-size", &batches_text_, "BATCH,BATCH,...",
                    "the batches that a program may choose from; they stand where axis 0 was given as -1");
    arguments->text("--onnxruntime", &onnxruntime_, "PATH", "ONNX Runtime's library, if not the one that is found");
    arguments->flag("--json", &json_, "what was written, as JSON");
  }
  base::Result<ExitCode> run(const base::OptionSet& settings) override {
    if (base::Status wrong = read_arguments(settings); !wrong.is_ok()) return wrong;
    const std::string& path = paths_.front();
    auto outline = measure(path);
    if (!outline.is_ok()) return outline.take_status();
    auto model = engine::MappedFile::open(path);
    if (!model.is_ok()) return model.take_status();
    if (sum_of(model.value()) != sum_) {
      return base::Status(base::StatusCode::busy, path + " was changed while it was measured; try again");
    }
    auto file = engine::write_om_model(outline.value(), model.value().contents());
    if (!file.is_ok()) return file.status().with_context(path);
    if (base::Status failed = write_file(output_, "the model", file.value()); !failed.is_ok()) return failed;
    const std::size_t bytes = file.value().size();
    print(json_ ? as_json(outline.value(), output_, bytes) : as_text(outline.value(), output_, bytes));
    return ExitCode::ok;
  }

 private:
  base::Status read_arguments(const base::OptionSet& settings) {
    if (paths_.size() != 1) {
      return base::invalid_argument("one model at a time; there are " + std::to_string(paths_.size()));
    }
    if (output_.empty()) return base::invalid_argument("where to? --output MODEL.om is missing");
    if (is_same_file(paths_.front(), output_)) {
      return base::invalid_argument("--output: " + base::in_quotes(output_) + " is the model itself");
    }
    auto shapes = parse_input_shapes(shapes_text_);
    if (!shapes.is_ok()) return shapes.take_status();
    auto batches = parse_batches(batches_text_);
    if (!batches.is_ok()) return batches.take_status();
    shapes_ = shapes.take();
    batches_ = batches.take();
    if (onnxruntime_.empty()) onnxruntime_ = settings.text("CISTERN_ONNXRUNTIME");
    return {};
  }

  base::Result<engine::ModelOutline> measure(const std::string& path) {
    auto model = engine::MappedFile::open(path);
    if (!model.is_ok()) return model.take_status();
    sum_ = sum_of(model.value());
    if (engine::needs_other_files(model.value().contents())) {
      return base::unsupported(path +
                               ": some of its data is in other files, and an .om file has room for one; save the "
                               "model with all its data in it");
    }
    auto runtime = engine::OnnxRuntime::load({.path = {}, .configured = onnxruntime_});
    if (!runtime.is_ok()) return runtime.take_status();
    auto environment = engine::Environment::create(runtime.take());
    if (!environment.is_ok()) return environment.take_status();
    auto probe = engine::ModelProbe::open(environment.value(), path);
    if (!probe.is_ok()) return probe.take_status();
    auto rules = rules_for(probe.value().model().inputs(), shapes_, batches_);
    if (!rules.is_ok()) return rules.take_status();
    auto outline = probe.value().measure(rules.value(), batches_);
    return outline.is_ok() ? outline.take() : base::Result<engine::ModelOutline>(outline.status().with_context(path));
  }

  std::vector<std::string> paths_;
  std::string output_;
  std::string shapes_text_;
  std::string batches_text_;
  std::string onnxruntime_;
  std::vector<InputShape> shapes_;
  std::vector<std::uint64_t> batches_;
  std::uint32_t sum_ = 0;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Verb> make_atc_verb() { return std::make_unique<AtcVerb>(); }

}  // namespace cistern::cli
