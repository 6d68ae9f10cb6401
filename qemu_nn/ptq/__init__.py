"""Post-training quantization: the pipeline of steps, candidates, mixed precision, checkpoints."""
