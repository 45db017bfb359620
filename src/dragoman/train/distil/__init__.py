"""Distillation of a static encoder from a neural one."""
