/* acl_mdl.h: the models part of Cistern's AscendCL interface: loading, sizes, running, datasets.
 *
 * A model is an ONNX file, run by ONNX Runtime with all its tensors in device memory. Two ranges hold them: weights,
 * for as long as the model is loaded, and work, which the models of a context share, since they run one after the
 * other. Extents of dynamic axes are the environment's (CISTERN_MODEL_SHAPES) or stated defaults; a range of axis 0
 * makes a model with dynamic batch, which has one input more, ACL_DYNAMIC_TENSOR_NAME.
 */
#ifndef CISTERN_ACL_MDL_H
#define CISTERN_ACL_MDL_H

#include "acl/acl_base.h"
#include "acl/acl_rt.h"

#ifdef __cplusplus
extern "C" {
#endif

#define ACL_MAX_DIM_CNT 128
#define ACL_MAX_TENSOR_NAME_LEN 128
#define ACL_MAX_BATCH_NUM 128
#define ACL_MAX_HW_NUM 128
#define ACL_MAX_SHAPE_COUNT 128
#define ACL_INVALID_NODE_INDEX 0xFFFFFFFF
#define ACL_DYNAMIC_TENSOR_NAME "ascend_mbatch_shape_data"

typedef struct aclmdlDataset aclmdlDataset;
typedef struct aclmdlDesc aclmdlDesc;

typedef struct aclmdlIODims {
  char name[ACL_MAX_TENSOR_NAME_LEN];
  size_t dimCount;
  int64_t dims[ACL_MAX_DIM_CNT]; /* -1: the batch of a model with dynamic batch */
} aclmdlIODims;

typedef struct aclmdlBatch {
  size_t batchCount; /* 0: the batch is fixed */
  uint64_t batch[ACL_MAX_BATCH_NUM];
} aclmdlBatch;

typedef struct aclmdlHW {
  size_t hwCount;
  uint64_t hw[ACL_MAX_HW_NUM][2];
} aclmdlHW;

/* ---- Sizes and loading ---- */

/* Bytes of the two ranges that the model needs. Of an .om file they are read; an ONNX file is measured: the first call
 * for it loads it and runs it once, on the host. ACL_ERROR_INVALID_FILE, ACL_ERROR_PARSE_MODEL, ACL_ERROR_GE_FAILURE
 * (no ONNX Runtime: the text says how to get one); the text of ACL_ERROR_INVALID_PARAM names the axis whose extent is
 * not known. */
ACL_FUNC_VISIBILITY aclError aclmdlQuerySize(const char* fileName, size_t* workSize, size_t* weightSize);
ACL_FUNC_VISIBILITY aclError aclmdlQuerySizeFromMem(const void* model, size_t modelSize, size_t* workSize,
                                                    size_t* weightSize);
/* Into the current context; ids begin at 1. One block for the weights, and the context's work window made large enough:
 * ACL_ERROR_RT_MEMORY_ALLOCATION leaves everything as it was. Cost: that of reading the model, and of aclmdlQuerySize()
 * where that was not called before. */
ACL_FUNC_VISIBILITY aclError aclmdlLoadFromFile(const char* modelPath, uint32_t* modelId);
ACL_FUNC_VISIBILITY aclError aclmdlLoadFromMem(const void* model, size_t modelSize, uint32_t* modelId);
/* Into memory of the program's, each range of at least what aclmdlQuerySize() says (ACL_ERROR_MODEL_SIZE_INVALID),
 * which must live as long as the model. NULL: from the pool. Models that never run at the same time may share
 * `workPtr`. */
ACL_FUNC_VISIBILITY aclError aclmdlLoadFromFileWithMem(const char* modelPath, uint32_t* modelId, void* workPtr,
                                                       size_t workSize, void* weightPtr, size_t weightSize);
ACL_FUNC_VISIBILITY aclError aclmdlLoadFromMemWithMem(const void* model, size_t modelSize, uint32_t* modelId,
                                                      void* workPtr, size_t workSize, void* weightPtr,
                                                      size_t weightSize);
/* The model ends when its last run does. ACL_ERROR_INVALID_MODEL_ID. */
ACL_FUNC_VISIBILITY aclError aclmdlUnload(uint32_t modelId);

/* ---- Running ---- */

/* One buffer an input, in order, of at least its size; one an output. ACL_ERROR_MODEL_INPUT_NOT_MATCH,
 * ACL_ERROR_MODEL_OUTPUT_NOT_MATCH: the text says which and why. Host memory: see aclrtMemcpy(). Runs on this machine's
 * processor, in the calling thread. */
ACL_FUNC_VISIBILITY aclError aclmdlExecute(uint32_t modelId, const aclmdlDataset* input, aclmdlDataset* output);
/* The same in the order of the stream; what fails then is the error of its next synchronisation. */
ACL_FUNC_VISIBILITY aclError aclmdlExecuteAsync(uint32_t modelId, const aclmdlDataset* input, aclmdlDataset* output,
                                                aclrtStream stream);
/* For the next runs with this dataset; `index` is that of the input ACL_DYNAMIC_TENSOR_NAME.
 * ACL_ERROR_MODEL_NOT_DYNAMIC. */
ACL_FUNC_VISIBILITY aclError aclmdlSetDynamicBatchSize(uint32_t modelId, aclmdlDataset* dataset, size_t index,
                                                       uint64_t batchSize);
/* Refused: only the batch can be dynamic. */
ACL_FUNC_VISIBILITY aclError aclmdlSetDynamicHWSize(uint32_t modelId, aclmdlDataset* dataset, size_t index,
                                                    uint64_t height, uint64_t width);
ACL_FUNC_VISIBILITY aclError aclmdlSetInputDynamicDims(uint32_t modelId, aclmdlDataset* dataset, size_t index,
                                                       const aclmdlIODims* dims);

/* ---- Descriptions ---- */

ACL_FUNC_VISIBILITY aclmdlDesc* aclmdlCreateDesc(void); /* NULL: no host memory */
ACL_FUNC_VISIBILITY aclError aclmdlDestroyDesc(aclmdlDesc* modelDesc);
/* Fills it in; it stays good when the model is unloaded. */
ACL_FUNC_VISIBILITY aclError aclmdlGetDesc(aclmdlDesc* modelDesc, uint32_t modelId);
/* 0: no description, or one that is not filled in. */
ACL_FUNC_VISIBILITY size_t aclmdlGetNumInputs(aclmdlDesc* modelDesc);
ACL_FUNC_VISIBILITY size_t aclmdlGetNumOutputs(aclmdlDesc* modelDesc);
/* Bytes at the largest extents; 0: no such tensor. */
ACL_FUNC_VISIBILITY size_t aclmdlGetInputSizeByIndex(aclmdlDesc* modelDesc, size_t index);
ACL_FUNC_VISIBILITY size_t aclmdlGetOutputSizeByIndex(aclmdlDesc* modelDesc, size_t index);
ACL_FUNC_VISIBILITY aclError aclmdlGetInputDims(const aclmdlDesc* modelDesc, size_t index, aclmdlIODims* dims);
ACL_FUNC_VISIBILITY aclError aclmdlGetInputDimsV2(const aclmdlDesc* modelDesc, size_t index, aclmdlIODims* dims);
ACL_FUNC_VISIBILITY aclError aclmdlGetOutputDims(const aclmdlDesc* modelDesc, size_t index, aclmdlIODims* dims);
/* As the model's last run had them. */
ACL_FUNC_VISIBILITY aclError aclmdlGetCurOutputDims(const aclmdlDesc* modelDesc, size_t index, aclmdlIODims* dims);
/* Valid as long as the description; NULL: no such tensor. */
ACL_FUNC_VISIBILITY const char* aclmdlGetInputNameByIndex(const aclmdlDesc* modelDesc, size_t index);
ACL_FUNC_VISIBILITY const char* aclmdlGetOutputNameByIndex(const aclmdlDesc* modelDesc, size_t index);
/* ACL_FORMAT_NCHW for four axes, else ACL_FORMAT_ND: an ONNX file does not say. */
ACL_FUNC_VISIBILITY aclFormat aclmdlGetInputFormat(const aclmdlDesc* modelDesc, size_t index);
ACL_FUNC_VISIBILITY aclFormat aclmdlGetOutputFormat(const aclmdlDesc* modelDesc, size_t index);
ACL_FUNC_VISIBILITY aclDataType aclmdlGetInputDataType(const aclmdlDesc* modelDesc, size_t index);
ACL_FUNC_VISIBILITY aclDataType aclmdlGetOutputDataType(const aclmdlDesc* modelDesc, size_t index);
ACL_FUNC_VISIBILITY aclError aclmdlGetInputIndexByName(const aclmdlDesc* modelDesc, const char* name, size_t* index);
ACL_FUNC_VISIBILITY aclError aclmdlGetOutputIndexByName(const aclmdlDesc* modelDesc, const char* name, size_t* index);
ACL_FUNC_VISIBILITY aclError aclmdlGetDynamicBatch(const aclmdlDesc* modelDesc, aclmdlBatch* batch);
/* There are none: the count is 0. */
ACL_FUNC_VISIBILITY aclError aclmdlGetDynamicHW(const aclmdlDesc* modelDesc, size_t index, aclmdlHW* hw);
ACL_FUNC_VISIBILITY aclError aclmdlGetInputDynamicGearCount(const aclmdlDesc* modelDesc, size_t index,
                                                            size_t* gearCount);

/* ---- Datasets ---- */

ACL_FUNC_VISIBILITY aclmdlDataset* aclmdlCreateDataset(void); /* NULL: no host memory */
/* Ends the dataset; its buffers live on. */
ACL_FUNC_VISIBILITY aclError aclmdlDestroyDataset(const aclmdlDataset* dataset);
ACL_FUNC_VISIBILITY aclError aclmdlAddDatasetBuffer(aclmdlDataset* dataset, aclDataBuffer* dataBuffer);
ACL_FUNC_VISIBILITY size_t aclmdlGetDatasetNumBuffers(const aclmdlDataset* dataset); /* 0: no dataset, too */
ACL_FUNC_VISIBILITY aclDataBuffer* aclmdlGetDatasetBuffer(const aclmdlDataset* dataset, size_t index);

#ifdef __cplusplus
}
#endif

#endif /* CISTERN_ACL_MDL_H */
