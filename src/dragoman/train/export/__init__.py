"""Export of trained models to ONNX, calibrated on what was exported."""
