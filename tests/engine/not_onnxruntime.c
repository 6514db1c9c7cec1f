// A library that loads but is not ONNX Runtime.
int not_onnxruntime_answer(void);
int not_onnxruntime_answer(void) { return 42; }
